//! The step protocol.

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::execution::Signal;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{self, ClaimRequest, CommitRefusal};
use pawl_kernel::operations::decide_claims;
use pawl_kernel::ports::store::{
    Beat, Claim, ClaimedExecution, CommitError, CreateOutcome, ExecutionStore, History,
    NewExecution, Probe, StoreError, StoreResult,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{CommitReport, Transition};

use super::tables::{Row, Tables, was_kept_out};
use super::{JournalEntry, ModelStore, Presence};

#[async_trait]
impl ExecutionStore for ModelStore {
    async fn create(&self, new: NewExecution) -> StoreResult<CreateOutcome> {
        self.lock().create(new)
    }

    async fn claim(&self, requests: Vec<ClaimRequest>, now: Timestamp) -> StoreResult<Vec<Claim>> {
        Ok(self.lock().claim(&requests, now))
    }

    async fn commit(&self, transition: Transition) -> Result<CommitReport, CommitError> {
        self.lock().commit(transition)
    }

    async fn probe(&self, id: ExecutionId) -> StoreResult<Option<Probe>> {
        Ok(self
            .lock()
            .row(id)
            .map(|row| Probe::of(&row.execution.head, &row.state)))
    }

    async fn heartbeat(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        until: Timestamp,
    ) -> StoreResult<Vec<Beat>> {
        let mut tables = self.lock();
        Ok(leases
            .into_iter()
            .filter_map(|(id, token)| tables.beat(id, token, until))
            .collect())
    }

    async fn open_signals(&self, id: ExecutionId) -> StoreResult<(u64, Vec<Signal>)> {
        let tables = self.lock();
        let Some(row) = tables.row(id) else {
            return Ok((0, Vec::new()));
        };
        let open = row.signals.iter().filter(|s| s.consumed_seq.is_none());
        Ok((row.state.inbox, open.cloned().collect()))
    }

    async fn history(&self, id: ExecutionId, seq: u64) -> StoreResult<History> {
        Ok(self
            .lock()
            .row(id)
            .map(|row| history(row, seq))
            .unwrap_or_default())
    }
}

impl Tables {
    fn create(&mut self, mut new: NewExecution) -> StoreResult<CreateOutcome> {
        let id = new.execution.head.id;
        let key = new.execution.record.idempotency_key.clone();
        if let Some(known) = key.as_ref().and_then(|key| self.keys.get(key)) {
            return Ok(CreateOutcome::Existing(*known));
        }
        let origin = new.execution.record.retry_of;
        if let Some(before) = origin
            .and_then(|origin| self.row(origin)?.execution.record.retried_as)
            .filter(|_| !new.again)
        {
            return Ok(CreateOutcome::AlreadyRetried(before));
        }
        if self.rows.contains_key(&id) {
            return Err(StoreError::Rejected(format!("{id} exists already")));
        }
        self.keys.extend(key.map(|key| (key, id)));
        let created = self.enter(&mut new)?;
        self.add_start_timer(&new.state, new.execution.head.created_at);
        if !was_kept_out(&new.state) {
            self.presence.push((id, Presence::Came));
        }
        if let Some(origin) = origin.and_then(|origin| self.rows.get_mut(&origin)) {
            origin.execution.record.retried_as = Some(id);
        }
        let version = new.state.version;
        let mut row = Row::new(new.execution, new.state);
        row.steps.extend(new.edit.map(|step| (step, version)));
        if let Some(snapshot) = new.snapshot {
            row.snapshots.insert(snapshot.seq, snapshot);
        }
        self.rows.insert(id, row);
        self.open.insert(id);
        Ok(created)
    }

    fn claim(&mut self, requests: &[ClaimRequest], now: Timestamp) -> Vec<Claim> {
        let row = |request: &ClaimRequest| {
            let row = self.row(request.execution_id)?;
            let (execution, state) = (row.execution.clone(), row.state.clone());
            Some((request.execution_id, ClaimedExecution { execution, state }))
        };
        let rows = requests.iter().filter_map(row).collect();
        let (claims, decisions) = decide_claims(rows, requests, now);
        for decision in decisions {
            self.apply(decision.change);
        }
        claims
    }

    fn commit(&mut self, transition: Transition) -> Result<CommitReport, CommitError> {
        let id = transition.execution_id;
        let Some(row) = self.row(id) else {
            return Err(CommitError::Refused(CommitRefusal::Fenced));
        };
        let mut entry = journal_entry(row, &transition);
        match lifecycle::commit(&row.execution.head, &row.state, transition) {
            Ok(change) => {
                let applied = self.apply(change);
                entry.new_seq = self.rows[&id].state.seq;
                self.journal.push(entry);
                Ok(applied)
            }
            Err(refusal) => {
                self.fenced += u64::from(refusal == CommitRefusal::Fenced);
                Err(CommitError::Refused(refusal))
            }
        }
    }

    fn beat(&mut self, id: ExecutionId, token: Uuid, until: Timestamp) -> Option<Beat> {
        let state = &mut self.rows.get_mut(&id)?.state;
        let lease = state.lease.as_mut().filter(|lease| lease.token == token)?;
        lease.until = lease.until.max(until);
        let until = lease.until;
        Some(Beat {
            execution_id: id,
            token,
            stop_requested: state.control.is_some(),
            until,
        })
    }
}

fn journal_entry(row: &Row, transition: &Transition) -> JournalEntry {
    JournalEntry {
        execution_id: transition.execution_id,
        token: transition.lease_token,
        expected_seq: transition.expected_seq,
        new_seq: row.state.seq,
        commit_id: transition.commit_id,
        at: transition.now,
        row_token: row.state.lease.as_ref().map(|lease| lease.token),
        row_seq: row.state.seq,
        row_ended: row.execution.head.status.is_terminal(),
    }
}

fn history(row: &Row, seq: u64) -> History {
    let snapshot = row.snapshots.range(..=seq).next_back().map(|(_, s)| s);
    let from = snapshot.map_or(0, |snapshot| snapshot.seq);
    let within = |step: &u64| *step > from && *step <= seq;
    let steps = row.steps.iter().map(|(step, _)| step);
    History {
        snapshot: snapshot.cloned(),
        steps: steps.filter(|step| within(&step.seq)).cloned().collect(),
    }
}
