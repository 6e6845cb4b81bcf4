//! The one stream of a page: which executions change, what some of them do, and that dead letters, workers or schemas have
//! changed. A browser has one, whatever it shows and in however many tabs.
//!
//! Executions are heard of by hints, of other processes too. Letters, workers and schemas are looked at now and then, once
//! for all streams of a process ([`pulse`]), and not at all without one.

pub(super) mod pulse;
mod topics;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use futures_util::future::{self, FutureExt as _};
use futures_util::stream;
use pawl_engine::{AllWatcher, Roundup};
use pawl_kernel::id::ExecutionId;
use tokio::time::{Instant, sleep_until};

use super::ApiState;
use super::error::ApiResult;
use super::events::{self, Feed, Shape, event};
use super::query::Query;
use crate::ui;
use crate::wire::{ChangeEvent, HelloEvent, RunEvent, RunsEvent, Time};
use pulse::PulseWatcher;
use topics::Topics;

pub(super) use topics::RUNS_MAX;

/// Lists are read again after this event, so it comes no more often.
const RUNS_PAUSE: Duration = Duration::from_secs(1);
/// While other processes are not heard, a list is read again so often.
const DEAF_PAUSE: Duration = Duration::from_secs(2);

pub(super) async fn events(State(state): State<ApiState>, query: Query) -> ApiResult {
    let topics = Topics::read(&query)?;
    let live = Box::pin(Live::open(state, &topics)).await?;
    let stream = stream::unfold(Box::new(live), |mut live| async {
        let chunk = Box::pin(live.next()).await?;
        Some((Ok::<_, Infallible>(chunk), live))
    });
    Ok(events::answer(stream))
}

struct Live {
    state: ApiState,
    all: Option<AllWatcher>,
    /// No `runs` before that, and one in any case at `reread_at` if changes may be missed.
    runs_pause: Instant,
    reread_at: Instant,
    comment_at: Instant,
    runs: Vec<WatchedRun>,
    /// Which of them is looked at next, if it is due: they take turns.
    turn: usize,
    pulse: Option<PulseWatcher>,
    ready: VecDeque<Bytes>,
}

struct WatchedRun {
    id: ExecutionId,
    feed: Feed,
    /// There may be something to tell.
    is_due: bool,
}

/// What a stream waits for.
enum Wake {
    Changed(Roundup),
    Run(usize),
    Pulse(Vec<&'static str>),
    Clock,
}

impl Live {
    async fn open(state: ApiState, topics: &Topics) -> ApiResult<Self> {
        let now = Instant::now();
        let hello = HelloEvent {
            version: env!("CARGO_PKG_VERSION").into(),
            ui_build: ui::build().into(),
            server_time: Time(state.now()),
        };
        let mut live = Self {
            all: topics.executions.then(|| state.runtime().hints.watch_all()),
            runs_pause: now,
            reread_at: now + state.limits.reread,
            comment_at: now + state.limits.reread,
            runs: Vec::new(),
            turn: 0,
            pulse: topics
                .pulse()
                .map(|wanted| state.pulses.watch(&state, wanted)),
            ready: VecDeque::from([event(None, "hello", &hello)?]),
            state,
        };
        for (id, seen) in &topics.runs {
            live.watch(*id, *seen, topics).await?;
        }
        Ok(live)
    }

    async fn watch(&mut self, id: ExecutionId, seen: u64, topics: &Topics) -> ApiResult<()> {
        let brief = topics.brief;
        match Feed::open(&self.state, id, seen, Shape::Shared { brief }).await {
            Ok(mut feed) => {
                if topics.logs {
                    feed.tell_logs().await?;
                }
                let is_due = true;
                self.runs.push(WatchedRun { id, feed, is_due });
                Ok(())
            }
            Err(error) if error.is_not_found() => self.tell_gone(id),
            Err(error) => Err(error),
        }
    }

    fn tell_gone(&mut self, id: ExecutionId) -> ApiResult<()> {
        let gone = event(None, "run", &RunEvent::new(id, "gone", 0))?;
        self.ready.push_back(gone);
        Ok(())
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(chunk);
            }
            if self.state.stop.is_cancelled() {
                return None;
            }
            let done = match self.due() {
                Some(due) => match self.look(due).await {
                    Ok(()) => self.glance(),
                    failed => failed,
                },
                None => self.rest().await,
            };
            if let Err(error) = done {
                // The client comes back by itself, and reads again what it shows.
                tracing::warn!(error = error.message(), "a stream of events broke off");
                return None;
            }
        }
    }

    /// The next execution that is due, after the one that was looked at last.
    fn due(&mut self) -> Option<usize> {
        let count = self.runs.len();
        let mut all = (0..count).map(|step| (self.turn + step) % count);
        let due = all.find(|at| self.runs[*at].is_due)?;
        self.turn = due + 1;
        Some(due)
    }

    /// At an execution: it is looked at until there is nothing new, like in a stream of its own.
    async fn look(&mut self, at: usize) -> ApiResult<()> {
        let run = &mut self.runs[at];
        let id = run.id;
        match run.feed.look().await {
            Ok(()) => {
                run.is_due = !run.feed.ready.is_empty();
                self.ready.append(&mut run.feed.ready);
                if run.feed.over {
                    self.runs.remove(at);
                }
                Ok(())
            }
            Err(error) if error.is_not_found() => {
                self.runs.remove(at);
                self.tell_gone(id)
            }
            Err(error) => Err(error),
        }
    }

    async fn rest(&mut self) -> ApiResult<()> {
        match self.wake().await {
            Some(wake) => self.woken(wake),
            None => Ok(()),
        }
    }

    /// At all that does not have to be waited for: an execution that always has something to tell holds up nothing else.
    fn glance(&mut self) -> ApiResult<()> {
        match self.wake().now_or_never().flatten() {
            Some(wake) => self.woken(wake),
            None => Ok(()),
        }
    }

    /// `None`: the server goes down.
    async fn wake(&mut self) -> Option<Wake> {
        {
            let (all, pause) = (self.all.as_mut(), self.runs_pause);
            let changed = async {
                match all {
                    Some(all) => {
                        sleep_until(pause).await;
                        all.changed().await
                    }
                    None => future::pending().await,
                }
            };
            let pulse = self.pulse.as_mut();
            let beaten = async {
                match pulse {
                    Some(pulse) => pulse.changed().await,
                    None => future::pending().await,
                }
            };
            let clock = self.reread_at.min(self.comment_at);
            tokio::select! {
                roundup = changed => Some(Wake::Changed(roundup)),
                at = any_changed(&mut self.runs) => Some(Wake::Run(at)),
                topics = beaten => Some(Wake::Pulse(topics)),
                () = sleep_until(clock) => Some(Wake::Clock),
                () = self.state.stop.cancelled() => None,
            }
        }
    }

    fn woken(&mut self, wake: Wake) -> ApiResult<()> {
        match wake {
            Wake::Changed(roundup) => self.tell_changed(roundup)?,
            Wake::Run(at) => self.runs[at].is_due = true,
            Wake::Pulse(topics) => {
                for topic in topics {
                    let changed = event(None, topic, &ChangeEvent {})?;
                    self.ready.push_back(changed);
                }
            }
            Wake::Clock => self.clock_rang()?,
        }
        // While other processes are not heard the next look at a list cannot wait for long.
        if self.state.runtime().hints.is_deaf() {
            self.reread_at = self.reread_at.min(Instant::now() + DEAF_PAUSE);
        }
        Ok(())
    }

    fn tell_changed(&mut self, roundup: Roundup) -> ApiResult<()> {
        let told = RunsEvent {
            ids: roundup.ids.iter().map(|id| id.0).collect(),
            more: roundup.more,
        };
        self.ready.push_back(event(None, "runs", &told)?);
        self.runs_pause = Instant::now() + RUNS_PAUSE;
        Ok(())
    }

    /// A sign of life, and what makes up for a hint that was lost: only those of other processes can be.
    fn clock_rang(&mut self) -> ApiResult<()> {
        let now = Instant::now();
        let hints = &self.state.runtime().hints;
        let may_miss = hints.has_others();
        if now >= self.comment_at {
            self.comment_at = now + self.state.limits.reread;
            self.ready
                .push_back(Bytes::from_static(b": still here\n\n"));
        }
        if now < self.reread_at {
            return Ok(());
        }
        self.reread_at = now + self.state.limits.reread;
        if may_miss {
            self.runs.iter_mut().for_each(|run| run.is_due = true);
        }
        match may_miss && self.all.is_some() {
            true => self.tell_changed(Roundup {
                ids: Vec::new(),
                more: true,
            }),
            false => Ok(()),
        }
    }
}

/// Which of them has changed.
async fn any_changed(runs: &mut [WatchedRun]) -> usize {
    if runs.is_empty() {
        return future::pending().await;
    }
    let changes = runs
        .iter_mut()
        .map(|run| run.feed.watcher.changed().boxed());
    let (_, at, _) = future::select_all(changes).await;
    at
}
