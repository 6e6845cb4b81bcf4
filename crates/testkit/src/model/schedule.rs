//! Scheduled actions and the history of their attempts.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::operations::{
    ActionContent, AttemptRecord, FreeAction, ScheduleRows, TimerKey, TimerMove,
};
use pawl_kernel::ports::schedule::{
    ATTEMPTS_KEPT, ActionFilter, DuePlace, QueueRow, ScheduleStore, SyncMark,
};
use pawl_kernel::ports::store::{DueTimer, StoreResult};
use pawl_kernel::schedule::{PastAttempt, ScheduledAction};
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
}

#[async_trait]
impl ScheduleRows for Tables {
    async fn owned_shards(&mut self, locks: &[Uuid]) -> StoreResult<BTreeMap<u32, Uuid>> {
        Ok(self.timers.owned(locks))
    }

    fn shard_count(&self) -> u32 {
        SHARDS
    }

    async fn enqueue_timers(&mut self, timers: Vec<DueTimer>, now: Timestamp) -> StoreResult<()> {
        for timer in timers {
            self.timers.enqueue(timer, now);
        }
        Ok(())
    }

    async fn move_timers(
        &mut self,
        moves: &[TimerMove],
        mark: SyncMark,
    ) -> StoreResult<HashSet<TimerKey>> {
        let mut there = HashSet::new();
        for TimerMove { timer, to } in moves {
            if self.timers.move_row(timer, *to, mark) {
                there.insert((timer.action_id.clone(), timer.guid));
            }
        }
        Ok(there)
    }

    async fn delete_timers(&mut self, timers: &[DueTimer]) -> StoreResult<HashSet<TimerKey>> {
        let there = timers.iter().filter(|timer| self.timers.delete_row(timer));
        Ok(there
            .map(|timer| (timer.action_id.clone(), timer.guid))
            .collect())
    }

    async fn action(&mut self, id: &str) -> StoreResult<Option<ScheduledAction>> {
        Ok(self.actions.rows.get(id).cloned())
    }

    async fn free_actions(
        &mut self,
        ids: HashSet<String>,
    ) -> StoreResult<HashMap<String, FreeAction>> {
        let free = |id: String| {
            let row = self.actions.rows.get(&id)?.clone();
            let guid = row.guid;
            let content = ActionContent::Row(Box::new(row));
            Some((id, FreeAction { guid, content }))
        };
        Ok(ids.into_iter().filter_map(free).collect())
    }

    async fn running_keys(&mut self, keys: &[String]) -> StoreResult<HashSet<String>> {
        let is_running = |key: &&String| {
            let started = self.keys.get(*key).and_then(|id| self.row(*id));
            started.is_some_and(|row| row.execution.head.finished_at.is_none())
        };
        Ok(keys.iter().filter(is_running).cloned().collect())
    }

    async fn put_action(
        &mut self,
        action: &ScheduledAction,
        _over: Option<Uuid>,
    ) -> StoreResult<bool> {
        self.actions.rows.insert(action.id.clone(), action.clone());
        Ok(true)
    }

    async fn update_actions(&mut self, actions: Vec<ScheduledAction>) -> StoreResult<()> {
        for action in actions {
            self.actions.rows.insert(action.id.clone(), action);
        }
        Ok(())
    }

    async fn delete_action(&mut self, id: &str) -> StoreResult<bool> {
        self.actions.attempts.remove(id);
        Ok(self.actions.rows.remove(id).is_some())
    }

    async fn add_attempts(&mut self, attempts: Vec<AttemptRecord>) -> StoreResult<()> {
        for record in attempts {
            let history = self.actions.attempts.entry(record.action_id).or_default();
            let place = (record.generation, record.past.attempt.ordinal);
            history.entry(place).or_insert(record.past);
        }
        Ok(())
    }

    async fn forget_attempts(&mut self, ids: Vec<String>) -> StoreResult<()> {
        for id in ids {
            let history = self.actions.attempts.entry(id).or_default();
            while history.len() > ATTEMPTS_KEPT as usize {
                history.pop_first();
            }
        }
        Ok(())
    }
}

#[async_trait]
impl ScheduleStore for ModelStore {
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

    async fn actions_by_due(
        &self,
        before: Option<Timestamp>,
        after: Option<DuePlace>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>> {
        let tables = self.lock();
        let rows = tables.actions.rows.values();
        let mut rows: Vec<(DuePlace, &ScheduledAction)> = rows
            .filter(|row| !row.status.is_finished())
            .map(|row| (DuePlace::of(row), row))
            .filter(|(place, _)| after.as_ref().is_none_or(|after| place > after))
            .filter(|(place, _)| before.is_none_or(|end| place.due.is_some_and(|due| due < end)))
            .collect();
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        let page = rows.into_iter().take(limit as usize);
        Ok(page.map(|(_, row)| row.clone()).collect())
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
}
