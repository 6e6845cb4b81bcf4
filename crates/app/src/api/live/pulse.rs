//! What no hint tells of: dead letters, workers, schemas. One look now and then for all streams of this process, for as
//! long as there is one, and one right after a request that changed something here.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pawl_engine::alive_since;
use pawl_kernel::ports::store::{LetterPulse, SchemaPulse, StoreResult};
use tokio::sync::{Notify, watch};

use crate::api::ApiState;

/// Others may change something at any time.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// A process that is alone hears of nearly all changes by itself, and sleeps better.
const LOOK_ALONE: Duration = Duration::from_secs(10);
/// Between two looks, however much is changed.
const LOOK_PAUSE: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug)]
pub(super) struct PulseTopics {
    pub(super) letters: bool,
    pub(super) workers: bool,
    pub(super) schemas: bool,
}

impl PulseTopics {
    fn names(self) -> Vec<&'static str> {
        let topics = [
            ("letters", self.letters),
            ("workers", self.workers),
            ("schemas", self.schemas),
        ];
        let wanted = topics.into_iter().filter(|(_, wanted)| *wanted);
        wanted.map(|(topic, _)| topic).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PulseState {
    letters: LetterPulse,
    schemas: SchemaPulse,
    /// Who they are and what they are doing.
    workers: Vec<(String, Vec<String>)>,
}

impl PulseState {
    async fn look(state: &ApiState) -> StoreResult<Self> {
        let pulse = state.store().pulse().await?;
        let since = alive_since(&state.runtime().options, state.now());
        let workers = state.store().workers(since).await?;
        let workers = workers.into_iter().map(|worker| (worker.id, worker.doing));
        Ok(Self {
            letters: pulse.letters,
            schemas: pulse.schemas,
            workers: workers.collect(),
        })
    }
}

/// `None`: not looked yet.
type Latest = Option<PulseState>;

pub(in crate::api) struct PulseDesk {
    latest: watch::Sender<Latest>,
    is_looking: Mutex<bool>,
    bell: Notify,
}

impl Default for PulseDesk {
    fn default() -> Self {
        Self {
            latest: watch::Sender::new(None),
            is_looking: Mutex::new(false),
            bell: Notify::new(),
        }
    }
}

impl PulseDesk {
    pub(super) fn watch(&self, state: &ApiState, wanted: PulseTopics) -> PulseWatcher {
        let mut latest = self.latest.subscribe();
        // What is known already is told like the first look.
        latest.mark_changed();
        let mut is_looking = self
            .is_looking
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !*is_looking {
            *is_looking = true;
            tokio::spawn(look_on(state.clone()));
        }
        PulseWatcher {
            latest,
            known: None,
            wanted,
        }
    }

    /// Something was changed by a request to this process.
    pub(in crate::api) fn ring(&self) {
        if self.latest.receiver_count() > 0 {
            self.bell.notify_one();
        }
    }

    async fn rest(&self, is_alone: bool) {
        let pause = if is_alone { LOOK_ALONE } else { LOOK_EVERY };
        tokio::time::sleep(LOOK_PAUSE).await;
        let rung = self.bell.notified();
        // In time or not, the next look comes.
        let _ = tokio::time::timeout(pause - LOOK_PAUSE, rung).await;
    }

    /// True when no stream is left: then the next stream that opens starts the looking anew.
    fn has_stopped(&self) -> bool {
        let mut is_looking = self
            .is_looking
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *is_looking = self.latest.receiver_count() > 0;
        !*is_looking
    }

    fn seen(&self, new: PulseState) {
        self.latest.send_if_modified(|latest| {
            let is_new = latest.as_ref() != Some(&new);
            *latest = Some(new);
            is_new
        });
    }
}

async fn look_on(state: ApiState) {
    let is_alone = !state.runtime().hints.has_others();
    while !state.pulses.has_stopped() {
        match PulseState::look(&state).await {
            Ok(new) => state.pulses.seen(new),
            Err(error) => tracing::debug!(%error, "the store was not looked at for open pages"),
        }
        tokio::select! {
            () = state.pulses.rest(is_alone) => {}
            () = state.stop.cancelled() => return,
        }
    }
}

pub(super) struct PulseWatcher {
    latest: watch::Receiver<Latest>,
    known: Latest,
    wanted: PulseTopics,
}

impl PulseWatcher {
    /// The topics in which something has changed.
    pub(super) async fn changed(&mut self) -> Vec<&'static str> {
        loop {
            if self.latest.changed().await.is_err() {
                // The server is going down.
                return std::future::pending().await;
            }
            let new = self.latest.borrow_and_update().clone();
            let known = std::mem::replace(&mut self.known, new.clone());
            let topics = match (known, new) {
                (Some(known), Some(new)) => changed_topics(&known, &new, self.wanted),
                // The page was read before the stream was opened: what changed in between would not be told.
                (None, Some(_)) => self.wanted.names(),
                (_, None) => Vec::new(),
            };
            if !topics.is_empty() {
                return topics;
            }
        }
    }
}

fn changed_topics(known: &PulseState, new: &PulseState, wanted: PulseTopics) -> Vec<&'static str> {
    let changed = PulseTopics {
        letters: wanted.letters && known.letters != new.letters,
        workers: wanted.workers && known.workers != new.workers,
        schemas: wanted.schemas && known.schemas != new.schemas,
    };
    changed.names()
}
