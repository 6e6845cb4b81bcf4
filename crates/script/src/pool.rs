//! The pool: a bounded queue in front of a few children, each used by one run at a time.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::data::{self, Data};
use crate::error::{Code, ScriptError};
use crate::places::{ChildPermit, FairSemaphore};
use crate::process::{End, Process};
use crate::spawner::ChildSpawner;
use crate::wire::{self, FailureFrame, Run};
use crate::{Limits, LogLine};

/// How long after its time a child may take to say that the time is over, before it is killed.
const GRACE: Duration = Duration::from_millis(300);
const RUNS_PER_MEMORY_CHECK: u32 = 32;
const RESTART_DELAY_MIN: Duration = Duration::from_millis(100);
const RESTART_DELAY_MAX: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct Options {
    /// The program whose children run scripts, and what makes it run [`crate::child::main`].
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Children at the same time.
    pub children: usize,
    /// Runs that may wait for a child.
    pub queue_max: usize,
    /// Whatever a child might gather over time ends after so many runs. With 1, code that broke out of the engine
    /// finds no other run's data, at the price of a new process for each run.
    pub runs_per_child: u32,
    pub limits: Limits,
}

impl Options {
    /// One child more than there are processors: one schema cannot have them all.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            children: std::thread::available_parallelism().map_or(1, usize::from) + 1,
            queue_max: 1_024,
            runs_per_child: 2_000,
            limits: Limits::default(),
        }
    }
}

/// One run of one source.
#[derive(Clone)]
pub struct Job<'a> {
    pub source: Arc<str>,
    pub data: Arc<dyn Data + 'a>,
    /// `$now`, `Date.now()` and `new Date()`: when the position was entered, so that a repeated run does the same.
    pub entered_at_ms: i64,
    /// Of `Math.random()`, for the same reason.
    pub seed: u64,
    /// Instead of the limit of the pool.
    pub time: Option<Duration>,
    /// When the caller waits for it no longer, including the waiting for a child.
    pub until: Option<Instant>,
    /// Who it is for: no owner gets all children at once.
    pub owner: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub value: Value,
    pub logs: Vec<LogLine>,
}

/// Runs scripts in children. Share it; dropping it ends the children.
pub struct Pool {
    spawner: ChildSpawner,
    limits: Limits,
    runs_per_child: u32,
    places: Arc<FairSemaphore>,
    idle: Mutex<Vec<Process>>,
    health: Mutex<Health>,
}

/// Remembers that children do not start, so that not every run tries it anew.
#[derive(Default)]
struct Health {
    failures: u32,
    retry_at: Option<Instant>,
    why: String,
}

impl Pool {
    /// Children are started when they are needed.
    pub fn new(options: Options) -> io::Result<Self> {
        Ok(Self {
            spawner: ChildSpawner::open(options.program, options.args)?,
            limits: options.limits,
            runs_per_child: options.runs_per_child,
            places: FairSemaphore::new(options.children, options.queue_max),
            idle: Mutex::default(),
            health: Mutex::default(),
        })
    }

    /// Process ids of the children that wait for work.
    pub fn idle_children(&self) -> Vec<u32> {
        lock(&self.idle).iter().filter_map(Process::id).collect()
    }

    /// Runs the source as the body of an async function. Dropping the future kills the child that works on it.
    pub async fn run(&self, job: Job<'_>) -> Result<Answer, ScriptError> {
        self.check_size(&job.source)?;
        let asked_at = Instant::now();
        // The place is held to the end: a child in use or on its way back counts.
        let (_place, process) = self.child(&job).await?;
        let waited = asked_at.elapsed();
        let wanted = job.time.unwrap_or(self.limits.time);
        let time = job.until.map_or(wanted, |until| {
            wanted.min(until.saturating_duration_since(Instant::now()))
        });
        let result = self.exchange(process, &job, time).await;
        match result {
            // Not the fault of the code.
            Err(error) if error.code == Code::Timeout && time < wanted => Err(ScriptError {
                logs: error.logs,
                ..cut_short(time, waited)
            }),
            result => result,
        }
    }

    /// A place, and a child for it.
    async fn child(&self, job: &Job<'_>) -> Result<(ChildPermit, Process), ScriptError> {
        let child = async {
            let place = self.places.take(job.owner.clone()).await?;
            Ok((place, self.process().await?))
        };
        match job.until {
            Some(until) => tokio::time::timeout_at(until, child)
                .await
                .unwrap_or_else(|_| Err(none_free())),
            None => child.await,
        }
    }

    /// One run in a child, within one deadline whatever happens.
    async fn exchange(
        &self,
        process: Process,
        job: &Job<'_>,
        time: Duration,
    ) -> Result<Answer, ScriptError> {
        let mut logs = Vec::new();
        let exchange = async {
            let mut process = self.begin(process, job, time).await?;
            let end = process.attend(job, &self.limits, &mut logs).await;
            Ok((process, end))
        };
        // Killed after its time: the engine does not look at the clock inside of some built-ins.
        let error = match tokio::time::timeout(time.saturating_add(GRACE), exchange).await {
            Ok(Ok((process, Ok(value)))) => {
                self.give_back(process, false);
                return Ok(Answer { value, logs });
            }
            Ok(Ok((process, Err(End::Failed(failed))))) => {
                let error = match failed.maybe_memory && process.was_full(self.limits.memory_bytes)
                {
                    true => ScriptError::memory(self.limits.memory_bytes),
                    false => described(failed),
                };
                // One that was full stays large, and would be taken for full after the next run too.
                if error.code != Code::Memory {
                    self.give_back(process, true);
                }
                error
            }
            Ok(Ok((_, Err(End::Broken(why))))) => ScriptError::new(Code::Crashed, crashed(&why)),
            Ok(Err(error)) => error,
            Err(_) => ScriptError::timeout(time),
        };
        Err(ScriptError { logs, ..error })
    }

    /// Hands the job over. A child that died while it waited takes none, and then a new one gets it. Once a child has
    /// taken the job there is no second: code that ends its child must not be run again.
    async fn begin(
        &self,
        mut process: Process,
        job: &Job<'_>,
        time: Duration,
    ) -> Result<Process, ScriptError> {
        let run = Run {
            source: job.source.as_ref().into(),
            now_ms: job.entered_at_ms,
            seed: job.seed,
            time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            // Only a shortcut.
            given: data::given(job.data.as_ref(), &job.source).unwrap_or_default(),
        };
        let broken =
            |error: io::Error| ScriptError::new(Code::Crashed, crashed(&error.to_string()));
        let message = wire::message(wire::RUN, &run).map_err(broken)?;
        if process.begin(&message).await.is_err() {
            process = self.new_process().await?;
            process.begin(&message).await.map_err(broken)?;
        }
        Ok(process)
    }

    fn check_size(&self, source: &str) -> Result<(), ScriptError> {
        if source.len() <= self.limits.source_bytes {
            return Ok(());
        }
        let message = format!(
            "the code has {} bytes, at most {} are allowed; move data out of it, or raise code.source",
            source.len(),
            self.limits.source_bytes
        );
        Err(ScriptError::new(Code::Syntax, message).at(1, 1))
    }

    async fn process(&self) -> Result<Process, ScriptError> {
        while let Some(mut process) = self.take_idle() {
            if process.is_alive() {
                return Ok(process);
            }
        }
        self.new_process().await
    }

    async fn new_process(&self) -> Result<Process, ScriptError> {
        self.check_health()?;
        match Process::start(&self.spawner, &self.limits).await {
            Ok(process) => {
                *lock(&self.health) = Health::default();
                Ok(process)
            }
            Err(error) => Err(self.failed_to_start(&error)),
        }
    }

    fn take_idle(&self) -> Option<Process> {
        lock(&self.idle).pop()
    }

    fn check_health(&self) -> Result<(), ScriptError> {
        let health = lock(&self.health);
        match health.retry_at {
            Some(at) if Instant::now() < at => Err(unavailable(&health.why)),
            _ => Ok(()),
        }
    }

    fn failed_to_start(&self, error: &io::Error) -> ScriptError {
        let mut health = lock(&self.health);
        let delay = RESTART_DELAY_MIN * 2_u32.saturating_pow(health.failures.min(16));
        health.failures = health.failures.saturating_add(1);
        health.retry_at = Some(Instant::now() + delay.min(RESTART_DELAY_MAX));
        health.why = error.to_string();
        tracing::warn!(%error, failures = health.failures, "a script child does not start");
        unavailable(&health.why)
    }

    /// Keeps the child for the next run, unless it is old or has grown.
    fn give_back(&self, mut process: Process, look: bool) {
        if process.runs >= self.runs_per_child {
            return;
        }
        if (look || process.runs % RUNS_PER_MEMORY_CHECK == 1) && self.has_grown(&mut process) {
            return;
        }
        lock(&self.idle).push(process);
    }

    fn has_grown(&self, process: &mut Process) -> bool {
        let Some(now) = process.resident_bytes() else {
            return false;
        };
        let first = *process.resident_bytes_first.get_or_insert(now);
        now > first + self.limits.memory_bytes as u64 / 2
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unavailable(why: &str) -> ScriptError {
    ScriptError::new(
        Code::Crashed,
        format!(
            "no process for code could be started: {why}; the machine may be out of memory or processes"
        ),
    )
}

fn none_free() -> ScriptError {
    let message = "no process for code was free in the time of the node; try again later, or raise code.children";
    ScriptError::new(Code::Busy, message)
}

fn cut_short(time: Duration, waited: Duration) -> ScriptError {
    let message = format!(
        "after {} ms of waiting for a free process the code had {} ms left, which was not enough; try again later, \
         raise code.children, or give the node a longer timeout",
        waited.as_millis(),
        time.as_millis(),
    );
    ScriptError::new(Code::Busy, message)
}

fn crashed(why: &str) -> String {
    format!("{why} while it ran this code; the code may need much more memory than it may have")
}

fn described(failed: FailureFrame) -> ScriptError {
    ScriptError {
        code: failed.code,
        message: failed.message,
        name: failed.name,
        line: failed.line,
        column: failed.column,
        stack: failed.stack,
        logs: Vec::new(),
    }
}
