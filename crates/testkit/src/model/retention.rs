//! Removing what ended long ago.

use std::ops::Bound;

use async_trait::async_trait;

use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::retention::{
    Cutoff, OutdatedPage, OutdatedRequest, ReclaimReport, RemovalReport, RemoveRequest,
    RetentionStore,
};
use pawl_kernel::ports::store::{StoreError, StoreResult};
use pawl_kernel::time::Timestamp;

use super::ModelStore;
use super::tables::Tables;

impl ModelStore {
    /// From now on this one cannot be removed, nor any other together with it.
    pub fn keep_from_removal(&self, id: ExecutionId) {
        self.lock().stuck.insert(id);
    }

    /// From now on the store cannot tell what of this schema is old.
    pub fn keep_from_looking(&self, schema_id: SchemaId) {
        self.lock().unreadable.insert(schema_id);
    }
}

#[async_trait]
impl RetentionStore for ModelStore {
    async fn published_versions(
        &self,
        after: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<(SchemaId, u32)>> {
        let tables = self.lock();
        let all = tables.catalog.published_versions();
        let later = all.filter(|(id, _)| after.is_none_or(|after| *id > after));
        Ok(later.take(limit as usize).collect())
    }

    async fn outdated(&self, request: OutdatedRequest) -> StoreResult<OutdatedPage> {
        let tables = self.lock();
        match tables.unreadable.contains(&request.schema_id) {
            true => Err(too_slow()),
            false => Ok(tables.outdated(&request)),
        }
    }

    async fn remove(&self, request: RemoveRequest) -> StoreResult<RemovalReport> {
        let mut tables = self.lock();
        if request.ids.iter().any(|id| tables.stuck.contains(id)) {
            return Err(too_slow());
        }
        let mut removed = RemovalReport::default();
        for id in request.ids {
            removed += tables.remove(id, &request.cutoff);
        }
        Ok(removed)
    }

    async fn outdated_actions(
        &self,
        finished_before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<String>> {
        let tables = self.lock();
        let mut old: Vec<_> = tables
            .actions
            .rows
            .values()
            .filter_map(|row| Some((row.status.finished_at?, row.id.clone())))
            .filter(|(at, _)| *at < finished_before)
            .collect();
        old.sort_unstable();
        old.truncate(limit as usize);
        Ok(old.into_iter().map(|(_, id)| id).collect())
    }

    async fn remove_actions(
        &self,
        ids: Vec<String>,
        finished_before: Timestamp,
    ) -> StoreResult<RemovalReport> {
        let actions = &mut self.lock().actions;
        let mut removed = RemovalReport::default();
        for id in ids {
            let finished_at = actions.rows.get(&id).and_then(|row| row.status.finished_at);
            if finished_at.is_some_and(|at| at < finished_before) {
                actions.rows.remove(&id);
                let past = actions.attempts.remove(&id).unwrap_or_default();
                removed.actions += 1;
                removed.history += past.len() as u64;
            }
        }
        Ok(removed)
    }

    /// Memory gives itself back.
    async fn reclaim(&self, _now: Timestamp) -> StoreResult<ReclaimReport> {
        Ok(ReclaimReport::default())
    }

    async fn maintain(&self, _now: Timestamp) -> StoreResult<()> {
        Ok(())
    }
}

fn too_slow() -> StoreError {
    StoreError::Unavailable("canceling statement due to statement timeout".into())
}

impl Tables {
    fn outdated(&self, request: &OutdatedRequest) -> OutdatedPage {
        let from = request.after.map_or(Bound::Unbounded, Bound::Excluded);
        let to = Bound::Excluded(request.cutoff.first_id_kept());
        if request
            .after
            .is_some_and(|after| after >= request.cutoff.first_id_kept())
        {
            return OutdatedPage::default();
        }
        let rows = self.rows.range((from, to));
        let page: Vec<ExecutionId> = rows
            .filter(|(_, row)| row.execution.head.schema_id == request.schema_id)
            .map(|(id, _)| *id)
            .take(request.limit as usize)
            .collect();
        let full = page.len() == request.limit as usize;
        OutdatedPage {
            next: page.last().copied().filter(|_| full),
            ids: page
                .into_iter()
                .filter(|id| self.may_go(*id, &request.cutoff))
                .collect(),
        }
    }

    fn may_go(&self, id: ExecutionId, cutoff: &Cutoff) -> bool {
        let Some(row) = self.row(id) else {
            return false;
        };
        let parent = row
            .execution
            .record
            .parent_id
            .and_then(|parent| self.row(parent));
        let parent_open = parent.is_some_and(|parent| parent.execution.head.finished_at.is_none());
        cutoff.is_past(&row.execution) && !parent_open
    }

    fn remove(&mut self, id: ExecutionId, cutoff: &Cutoff) -> RemovalReport {
        if !self.may_go(id, cutoff) {
            return RemovalReport::default();
        }
        let Some(row) = self.rows.remove(&id) else {
            return RemovalReport::default();
        };
        if let Some(key) = &row.execution.record.idempotency_key {
            self.keys.remove(key);
        }
        RemovalReport {
            executions: 1,
            history: (row.steps.len() + row.snapshots.len() + row.logs.len()) as u64,
            signals: row.signals.len() as u64,
            dead_letters: self.letters.remove_of(id),
            ..RemovalReport::default()
        }
    }
}
