//! Scheduled actions and the history of their attempts.

use std::collections::BTreeMap;

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::ports::schedule::{
    ATTEMPTS_KEPT, ActionCommand, ActionError, ActionFilter, PutError, QueueRow, RecordRequest,
    ScheduleStore, SyncMark, Written, decide_command, decide_put, is_time_to_forget,
};
use pawl_kernel::ports::store::{DueTimer, ShardPass, StoreResult};
use pawl_kernel::schedule::{
    Begin, Limits, Moved, PastAttempt, Previous, Put, Record, Recorded, Run, ScheduledAction,
    begin, record,
};
use pawl_kernel::time::Timestamp;

use super::ModelStore;
use super::tables::Tables;
use super::timer::SHARDS;

type History = BTreeMap<(u64, u64), PastAttempt>;

#[derive(Default)]
pub(super) struct Actions {
    pub(super) rows: BTreeMap<String, ScheduledAction>,
    pub(super) attempts: BTreeMap<String, History>,
}

impl Actions {
    pub(super) fn all(&self) -> Vec<ScheduledAction> {
        self.rows.values().cloned().collect()
    }

    pub(super) fn history(&self) -> BTreeMap<String, History> {
        self.attempts.clone()
    }

    /// What is known about an attempt does not change.
    fn remember(&mut self, id: &str, generation: u64, past: Option<PastAttempt>) {
        let Some(past) = past else { return };
        let ordinal = past.attempt.ordinal;
        let history = self.attempts.entry(id.to_owned()).or_default();
        history.entry((generation, ordinal)).or_insert(past);
        while is_time_to_forget(ordinal) && history.len() > ATTEMPTS_KEPT as usize {
            history.pop_first();
        }
    }
}

impl Tables {
    /// As a user writes it: with a new row in the queue.
    fn write_action(&mut self, written: Written, now: Timestamp) -> ScheduledAction {
        let row = match written {
            Written::Same(row) => return row,
            Written::New(row) => row,
        };
        if let Some(timer) = DueTimer::of_action(&row, SHARDS) {
            self.timers.enqueue(timer, now);
        }
        self.actions.rows.insert(row.id.clone(), row.clone());
        row
    }

    fn previous(&self, row: &ScheduledAction) -> Previous {
        let is_running = |key: &String| {
            let started = self.keys.get(key).and_then(|id| self.row(*id));
            started.is_some_and(|row| row.execution.head.finished_at.is_none())
        };
        if row.previous_keys().iter().any(is_running) {
            Previous::Running
        } else {
            Previous::Over
        }
    }

    fn begin_action(
        &mut self,
        timer: &DueTimer,
        limits: &Limits,
        mark: SyncMark,
    ) -> Option<(DueTimer, Run)> {
        let row = self.actions.rows.get(&timer.action_id);
        let Some(row) = row.filter(|row| row.guid == timer.guid) else {
            // Of an action that was written anew, or is gone.
            self.timers.move_row(timer, None, mark);
            return None;
        };
        match begin(Some(row), timer.guid, self.previous(row), limits, mark.at) {
            Begin::Run(run) => {
                let begun = self.moved(timer, run.row.clone(), run.interrupted.clone(), mark);
                begun.then(|| (timer.clone(), *run))
            }
            Begin::Moved(moved) => {
                let Moved { row, interrupted } = *moved;
                self.moved(timer, row, interrupted, mark);
                None
            }
            Begin::NotDue { at } => {
                self.timers.move_row(timer, Some(at), mark);
                None
            }
            Begin::Stale => {
                self.timers.move_row(timer, None, mark);
                None
            }
        }
    }

    /// Nothing is written for a row of the queue that is not there.
    fn moved(
        &mut self,
        timer: &DueTimer,
        row: ScheduledAction,
        interrupted: Option<PastAttempt>,
        mark: SyncMark,
    ) -> bool {
        let found = self.timers.move_row(timer, row.due_at(), mark);
        if found {
            let generation = row.status.generation;
            self.actions.remember(&row.id, generation, interrupted);
            self.actions.rows.insert(row.id.clone(), row);
        }
        found
    }

    fn record_action(
        &mut self,
        request: &RecordRequest,
        limits: &Limits,
        mark: SyncMark,
    ) -> Record {
        let now = mark.at;
        let id = &request.timer.action_id;
        let before = self.actions.rows.get(id).cloned();
        let outcome = request.outcome.clone();
        let recorded = record(
            before.as_ref(),
            &request.ticket,
            outcome,
            request.fresh,
            limits,
            now,
        );
        match (&recorded, before) {
            (Record::Written(recorded), Some(before)) => {
                self.write_recorded(request, &before, recorded, mark);
            }
            (Record::Late(late), Some(_)) => {
                let past = request.past(now);
                self.actions.remember(id, late.ticket.generation, past);
            }
            (_, None) | (Record::Busy, _) => {}
        }
        recorded
    }

    fn write_recorded(
        &mut self,
        request: &RecordRequest,
        before: &ScheduledAction,
        recorded: &Recorded,
        mark: SyncMark,
    ) {
        let row = &recorded.row;
        let own = DueTimer {
            at: before.status.scheduled_at.unwrap_or_default(),
            guid: request.ticket.guid,
            ..request.timer.clone()
        };
        let stays = row.due_at().filter(|_| !recorded.requeue);
        self.timers.move_row(&own, stays, mark);
        if let Some(timer) = DueTimer::of_action(row, SHARDS).filter(|_| recorded.requeue) {
            self.timers.enqueue(timer, mark.at);
        }
        let generation = row.status.generation;
        self.actions
            .remember(&row.id, generation, recorded.past.clone());
        self.actions.rows.insert(row.id.clone(), row.clone());
    }
}

#[async_trait]
impl ScheduleStore for ModelStore {
    async fn put_action(&self, put: Put, now: Timestamp) -> Result<ScheduledAction, PutError> {
        let mut tables = self.lock();
        let written = decide_put(tables.actions.rows.get(&put.id), put, now)?;
        Ok(tables.write_action(written, now))
    }

    async fn action(&self, id: &str) -> StoreResult<Option<ScheduledAction>> {
        Ok(self.lock().actions.rows.get(id).cloned())
    }

    async fn actions(
        &self,
        filter: ActionFilter,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>> {
        let tables = self.lock();
        let later = |row: &&ScheduledAction| after.as_ref().is_none_or(|after| row.id > *after);
        let rows = tables.actions.rows.values();
        let wanted = rows.filter(later).filter(|row| filter.matches(row));
        Ok(wanted.take(limit as usize).cloned().collect())
    }

    async fn delete_action(&self, id: &str) -> StoreResult<bool> {
        let mut tables = self.lock();
        tables.actions.attempts.remove(id);
        Ok(tables.actions.rows.remove(id).is_some())
    }

    async fn command_action(
        &self,
        id: &str,
        command: ActionCommand,
        guid: Uuid,
        now: Timestamp,
    ) -> Result<ScheduledAction, ActionError> {
        let mut tables = self.lock();
        let written = decide_command(tables.actions.rows.get(id), command, guid, now)?;
        Ok(tables.write_action(written, now))
    }

    async fn attempts(
        &self,
        id: &str,
        before: Option<(u64, u64)>,
        limit: u32,
    ) -> StoreResult<Vec<(u64, PastAttempt)>> {
        let tables = self.lock();
        let all = tables.actions.attempts.get(id).into_iter().flatten().rev();
        let older = all.filter(|(place, _)| before.is_none_or(|before| **place < before));
        let page = older.take(limit as usize);
        Ok(page
            .map(|((generation, _), past)| (*generation, past.clone()))
            .collect())
    }

    async fn queued(&self, id: &str) -> StoreResult<Vec<QueueRow>> {
        let tables = self.lock();
        let row = tables.actions.rows.get(id);
        let rows = row.map(|row| tables.timers.queued(id, row.guid));
        Ok(rows.unwrap_or_default())
    }

    async fn begin_actions(
        &self,
        pass: ShardPass,
        due: Vec<DueTimer>,
        limits: Limits,
        now: Timestamp,
    ) -> StoreResult<Vec<(DueTimer, Run)>> {
        let mut tables = self.lock();
        let mut begun = Vec::new();
        let mark = SyncMark {
            at: now,
            sync: pass.sync,
        };
        let owned = |shard| tables.timers.owns(&pass.locks, shard);
        for timer in DueTimer::actions_once(due, owned, now) {
            begun.extend(tables.begin_action(&timer, &limits, mark));
        }
        Ok(begun)
    }

    async fn record_actions(
        &self,
        sync: Uuid,
        requests: Vec<RecordRequest>,
        limits: Limits,
        now: Timestamp,
    ) -> StoreResult<Vec<Option<Record>>> {
        let mut tables = self.lock();
        let mut record = |request: &RecordRequest| {
            let owned = tables.timers.owns(&[request.lock], request.timer.shard_id);
            let mark = SyncMark { at: now, sync };
            owned.then(|| tables.record_action(request, &limits, mark))
        };
        Ok(requests.iter().map(&mut record).collect())
    }
}
