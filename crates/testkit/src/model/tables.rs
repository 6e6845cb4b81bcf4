//! The tables, and the one place that writes a [`Change`].

use std::collections::{BTreeMap, BTreeSet};

use pawl_kernel::execution::{Execution, LogRecord, Signal, State, Step, Subject, WaitKind};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::operations::{Note, finish_now, follow_decisions};
use pawl_kernel::ports::letters::NewLetter;
use pawl_kernel::quota::{self, QuotaChange};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{Change, CommitReport, Decision, Snapshot, WaitTimer};

use super::catalog::Catalog;
use super::editor::Drawings;
use super::keys::Keys;
use super::letters::Letters;
use super::quota::Quotas;
use super::schedule::Actions;
use super::sessions::Sessions;
use super::timer::Timers;
use super::workers::Workers;
use super::{Dump, JournalEntry, Presence};

#[derive(Default)]
pub(super) struct Tables {
    pub(super) rows: BTreeMap<ExecutionId, Row>,
    /// Ids of the executions that have not ended: what the reaper and the sweeper read.
    pub(super) open: BTreeSet<ExecutionId>,
    pub(super) keys: BTreeMap<String, ExecutionId>,
    pub(super) letters: Letters,
    pub(super) workers: Workers,
    pub(super) api_keys: Keys,
    pub(super) sessions: Sessions,
    pub(super) timers: Timers,
    pub(super) actions: Actions,
    pub(super) quotas: Quotas,
    pub(super) catalog: Catalog,
    pub(super) drawings: Drawings,
    pub(super) journal: Vec<JournalEntry>,
    pub(super) fenced: u64,
    pub(super) presence: Vec<(ExecutionId, Presence)>,
    /// Executions whose removal fails.
    pub(super) stuck: BTreeSet<ExecutionId>,
    /// Schemas whose old executions cannot be listed.
    pub(super) unreadable: BTreeSet<SchemaId>,
}

/// One execution with all that belongs to it.
pub(super) struct Row {
    pub(super) execution: Execution,
    pub(super) state: State,
    pub(super) steps: Vec<(Step, u64)>,
    pub(super) logs: Vec<LogRecord>,
    pub(super) signals: Vec<Signal>,
    pub(super) snapshots: BTreeMap<u64, Snapshot>,
    pub(super) notes: Vec<Note>,
    /// Sweeps since the last change: how often the back-off has doubled.
    pub(super) sweeps: u32,
}

impl Row {
    pub(super) fn new(execution: Execution, state: State) -> Self {
        Self {
            execution,
            state,
            steps: Vec::new(),
            logs: Vec::new(),
            signals: Vec::new(),
            snapshots: BTreeMap::new(),
            notes: Vec::new(),
            sweeps: 0,
        }
    }

    /// Everything of the change that concerns this execution alone.
    fn apply(&mut self, change: Change) {
        self.append(&change.steps, change.state.seq, change.state.version);
        self.state = change.state;
        self.sweeps = 0;
        self.logs.extend(change.logs.iter().cloned());
        self.signals.extend(change.signal);
        if let Some(snapshot) = change.snapshot {
            self.snapshots.insert(snapshot.seq, snapshot);
        }
        for (id, seq) in change.consumed {
            let taken = self.signals.iter_mut().find(|signal| signal.id == id);
            taken.expect("a signal that is there").consumed_seq = Some(seq);
        }
        if let Some(status) = change.status {
            self.execution.head.status = status;
        }
        if change.queued_at.is_some() {
            self.execution.head.queued_at = change.queued_at;
        }
        if change.started_at.is_some() {
            self.execution.head.started_at = change.started_at;
        }
        if let Some((ending, at)) = change.ending {
            self.execution.record.output = ending.output;
            self.execution.record.error = ending.error;
            self.execution.head.finished_at = Some(at);
        }
    }

    fn append(&mut self, steps: &[Step], seq: u64, version: u64) {
        for step in steps {
            let expected = self
                .steps
                .last()
                .map_or(self.execution.head.base_seq, |(last, _)| last.seq)
                + 1;
            assert_eq!(step.seq, expected, "steps have no gaps");
            self.steps.push((step.clone(), version));
        }
        let last = self
            .steps
            .last()
            .map_or(self.execution.head.base_seq, |(last, _)| last.seq);
        assert_eq!(last, seq, "seq is the number of the last step");
    }
}

/// Before its first node: not yet due, or in line.
pub(super) fn was_kept_out(state: &State) -> bool {
    let kind = state.wait.as_ref().map(|wait| wait.kind);
    matches!(kind, Some(WaitKind::Start | WaitKind::Admission))
}

impl Tables {
    pub(super) fn row(&self, id: ExecutionId) -> Option<&Row> {
        self.rows.get(&id)
    }

    pub(super) fn apply(&mut self, change: Change) -> CommitReport {
        let applied = change.outcome();
        let id = change.state.execution_id;
        let now = change.state.updated_at;
        if let Some(timer) = &change.timer {
            self.timers.add(timer, now);
        }
        if let Some(reason) = &change.dead_letter {
            self.letters.add(NewLetter {
                execution_id: Some(id),
                reason: reason.clone(),
                message: None,
                now,
            });
        }
        if change.ending.is_some() {
            self.open.remove(&id);
        }
        let row = self.rows.get_mut(&id).unwrap();
        let (head, state) = (&row.execution.head, &row.state);
        let moves = quota::quota_change(head, state, &change) != QuotaChange::None;
        let decision = moves.then(|| Decision {
            before: Subject {
                head: head.clone(),
                state: state.clone(),
            },
            change: change.clone(),
        });
        let came = was_kept_out(&row.state) && !was_kept_out(&change.state);
        if change.ending.is_some() {
            self.presence.push((id, Presence::Went));
        } else if came {
            self.presence.push((id, Presence::Came));
        }
        row.apply(change);
        let followed = finish_now(follow_decisions(self, decision.as_slice()));
        followed.expect("rows in memory cannot fail");
        applied
    }

    /// An execution that is created waiting needs its wake-up as much as one that waits later.
    pub(super) fn add_start_timer(&mut self, state: &State, now: Timestamp) {
        if let Some(timer) = WaitTimer::of_start(state) {
            self.timers.add(&timer, now);
        }
    }

    pub(super) fn dump(&self) -> Dump {
        let mut dump = Dump {
            dead_letters: self.letters.all(),
            incoming: self.timers.incoming(),
            processing: self.timers.processing(),
            actions: self.actions.all(),
            attempts: self.actions.history(),
            holders: self.quotas.holders(),
            fenced: self.fenced,
            ..Dump::default()
        };
        for (id, row) in &self.rows {
            dump.executions.push(row.execution.clone());
            dump.states.push(row.state.clone());
            dump.steps.insert(*id, row.steps.clone());
            dump.signals.insert(*id, row.signals.clone());
            dump.snapshots
                .insert(*id, row.snapshots.values().cloned().collect());
        }
        dump
    }
}
