//! What no hint tells of: dead letters, workers, schemas. One look every other second for all streams of this process,
//! for as long as there is one.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pawl_engine::alive_since;
use pawl_kernel::ports::store::{LetterPulse, SchemaPulse, StoreResult};
use tokio::sync::watch;

use crate::api::ApiState;

const LOOK_EVERY: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
pub(super) struct PulseTopics {
    pub(super) letters: bool,
    pub(super) workers: bool,
    pub(super) schemas: bool,
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
}

impl Default for PulseDesk {
    fn default() -> Self {
        Self {
            latest: watch::Sender::new(None),
            is_looking: Mutex::new(false),
        }
    }
}

impl PulseDesk {
    pub(super) fn watch(&self, state: &ApiState, wanted: PulseTopics) -> PulseWatcher {
        let mut latest = self.latest.subscribe();
        let known = latest.borrow_and_update().clone();
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
            known,
            wanted,
        }
    }

    /// Nobody watches any more, and whoever comes now starts the looking anew.
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
    while !state.pulses.has_stopped() {
        match PulseState::look(&state).await {
            Ok(new) => state.pulses.seen(new),
            Err(error) => tracing::debug!(%error, "the store was not looked at for open pages"),
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
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
                _ => Vec::new(),
            };
            if !topics.is_empty() {
                return topics;
            }
        }
    }
}

fn changed_topics(known: &PulseState, new: &PulseState, wanted: PulseTopics) -> Vec<&'static str> {
    let topics = [
        ("letters", wanted.letters && known.letters != new.letters),
        ("workers", wanted.workers && known.workers != new.workers),
        ("schemas", wanted.schemas && known.schemas != new.schemas),
    ];
    let changed = topics.into_iter().filter(|(_, changed)| *changed);
    changed.map(|(topic, _)| topic).collect()
}
