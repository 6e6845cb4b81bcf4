//! A store in memory, as plain as can be: ordered maps behind one lock, every verb a load, a call of the
//! lifecycle and a write. It is the reference that the real stores are compared with, and the store that
//! the simulation runs on.
//!
//! Iteration is by key everywhere, so that the same calls give the same answers in the same order.

mod catalog;
mod editor;
mod execution;
mod history;
mod keys;
mod letters;
mod overview;
mod query;
mod quota;
mod recovery;
mod retention;
mod schedule;
mod sessions;
mod tables;
mod timer;
mod transaction;
mod webhooks;
mod workers;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use uuid::Uuid;

use pawl_kernel::execution::{Execution, Signal, State, Step};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::DeadLetter;
use pawl_kernel::ports::store::DueTimer;
use pawl_kernel::schedule::{PastAttempt, ScheduledAction};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Snapshot;

use tables::Tables;

#[derive(Default)]
pub struct ModelStore {
    tables: Mutex<Tables>,
}

/// Everything stored, for checkers.
#[derive(Clone, Debug, Default)]
pub struct Dump {
    pub executions: Vec<Execution>,
    pub states: Vec<State>,
    /// Each step with the version of the commit that wrote it.
    pub steps: BTreeMap<ExecutionId, Vec<(Step, u64)>>,
    pub signals: BTreeMap<ExecutionId, Vec<Signal>>,
    pub snapshots: BTreeMap<ExecutionId, Vec<Snapshot>>,
    pub dead_letters: Vec<DeadLetter>,
    /// Timer rows not yet collected, and those that are.
    pub incoming: Vec<DueTimer>,
    pub processing: Vec<DueTimer>,
    pub actions: Vec<ScheduledAction>,
    /// What is known of the attempts of each action, by generation and ordinal.
    pub attempts: BTreeMap<String, BTreeMap<(u64, u64), PastAttempt>>,
    /// Who holds a place in which quota.
    pub holders: Vec<(String, ExecutionId)>,
    /// How many commits were refused because the lease was lost.
    pub fenced: u64,
}

/// One accepted commit, with what the row said just before it. Written without asking the lifecycle, so
/// that a broken fence shows: `row_token` must be `token` and `row_seq` must be `expected_seq`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    pub execution_id: ExecutionId,
    pub token: Uuid,
    pub expected_seq: u64,
    pub new_seq: u64,
    pub commit_id: Uuid,
    pub at: Timestamp,
    pub row_token: Option<Uuid>,
    pub row_seq: u64,
    /// The execution had a terminal status already.
    pub row_ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Came,
    Went,
}

impl ModelStore {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn dump(&self) -> Dump {
        self.lock().dump()
    }

    /// Who could be run from when on, and who ended, in the order in which it happened. Written without asking the
    /// quotas, so that a limit that was exceeded shows.
    pub fn comings_and_goings(&self) -> Vec<(ExecutionId, Presence)> {
        self.lock().presence.clone()
    }

    pub fn journal(&self) -> Vec<JournalEntry> {
        self.lock().journal.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap()
    }
}
