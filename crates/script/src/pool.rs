//! The pool: a bounded queue in front of a few children, each used by one run at a time.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::data::{self, Data};
use crate::error::{Code, ScriptError};
use crate::nursery::Nursery;
use crate::process::{End, Process};
use crate::wire::{self, Failed, Run};
use crate::{Document, Limits, LogLine};

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
    /// finds nobody else's data, at the price of a new process for each run.
    pub runs_per_child: u32,
    pub limits: Limits,
}

impl Options {
    /// As many children as there are processors.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            children: std::thread::available_parallelism().map_or(1, usize::from),
            queue_max: 1_024,
            runs_per_child: 2_000,
            limits: Limits::default(),
        }
    }
}

/// One run of one source.
#[derive(Clone)]
pub struct Job {
    pub source: Arc<str>,
    pub data: Arc<dyn Data>,
    /// `$now`, `Date.now()` and `new Date()`: when the position was entered, so that a repeated run does the same.
    pub entered_at_ms: i64,
    /// Of `Math.random()`, for the same reason.
    pub seed: u64,
    /// Instead of the limit of the pool.
    pub time: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub value: Value,
    pub logs: Vec<LogLine>,
}

/// Runs scripts in children. Share it; dropping it ends the children.
pub struct Pool {
    nursery: Nursery,
    limits: Limits,
    queue_max: usize,
    runs_per_child: u32,
    waiting: AtomicUsize,
    permits: Arc<Semaphore>,
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
            nursery: Nursery::open(options.program, options.args)?,
            limits: options.limits,
            queue_max: options.queue_max,
            runs_per_child: options.runs_per_child,
            waiting: AtomicUsize::new(0),
            permits: Arc::new(Semaphore::new(options.children.max(1))),
            idle: Mutex::default(),
            health: Mutex::default(),
        })
    }

    /// How long a run may take unless it says otherwise.
    pub fn time_limit(&self) -> Duration {
        self.limits.time
    }

    /// Runs the source as the body of an async function. Dropping the future kills the child that works on it.
    pub async fn run(&self, job: Job) -> Result<Answer, ScriptError> {
        self.exchange(wire::RUN, &job).await
    }

    /// Whether the source can be parsed; an error has line and column. Nothing of it is run.
    pub async fn check(&self, source: &str) -> Result<(), ScriptError> {
        let job = Job {
            source: source.into(),
            data: Arc::new(Document::default()),
            entered_at_ms: 0,
            seed: 0,
            time: None,
        };
        self.exchange(wire::CHECK, &job).await.map(|_| ())
    }

    /// Process ids of the children that wait for work.
    pub fn idle_children(&self) -> Vec<u32> {
        lock(&self.idle).iter().filter_map(Process::id).collect()
    }

    async fn exchange(&self, kind: u8, job: &Job) -> Result<Answer, ScriptError> {
        self.check_size(&job.source)?;
        // Held to the end: a child in use or on its way back counts.
        let _permit = self.permit().await?;
        let time = job.time.unwrap_or(self.limits.time);
        let run = Run {
            source: job.source.as_ref().into(),
            now_ms: job.entered_at_ms,
            seed: job.seed,
            time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            // Only a shortcut.
            given: data::given(job.data.as_ref(), &job.source).unwrap_or_default(),
        };
        loop {
            let mut process = self.process().await?;
            let mut logs = Vec::new();
            let exchange = process.exchange(kind, &run, job, &self.limits, &mut logs);
            // Killed after its time: the engine does not look at the clock inside of some built-ins.
            let error = match tokio::time::timeout(time.saturating_add(GRACE), exchange).await {
                Ok(Ok(value)) => {
                    self.give_back(process, false);
                    return Ok(Answer { value, logs });
                }
                // It may have died while it waited; a new child cannot say that again.
                Ok(Err(End::WasDead)) => continue,
                Ok(Err(End::Failed(failed))) => {
                    self.give_back(process, true);
                    described(failed)
                }
                Ok(Err(End::Broken(why))) => ScriptError::new(Code::Crashed, crashed(&why)),
                Err(_) => ScriptError::timeout(time),
            };
            return Err(ScriptError { logs, ..error });
        }
    }

    fn check_size(&self, source: &str) -> Result<(), ScriptError> {
        if source.len() <= self.limits.source_bytes {
            return Ok(());
        }
        let message = format!(
            "the code has {} bytes, at most {} are allowed; move data out of it",
            source.len(),
            self.limits.source_bytes
        );
        Err(ScriptError::new(Code::Syntax, message).at(1, 1))
    }

    /// First come, first served.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, ScriptError> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = Waiting::enter(&self.waiting, self.queue_max)?;
        Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| ScriptError::new(Code::Crashed, "the script pool is closed"))
    }

    async fn process(&self) -> Result<Process, ScriptError> {
        while let Some(mut process) = self.take_idle() {
            if process.is_alive() {
                return Ok(process);
            }
        }
        self.check_health()?;
        match Process::start(&self.nursery, &self.limits).await {
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

/// A place in the queue, left on drop.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize, queue_max: usize) -> Result<Self, ScriptError> {
        let place = Self(count);
        if count.fetch_add(1, Ordering::Relaxed) < queue_max {
            return Ok(place);
        }
        Err(ScriptError::new(
            Code::Busy,
            format!(
                "{queue_max} runs of code are waiting already; try again later, or allow more children"
            ),
        ))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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

fn crashed(why: &str) -> String {
    format!("{why} while it ran this code; the code may need much more memory than it may have")
}

fn described(failed: Failed) -> ScriptError {
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
