//! Operations on the model: the tables are locked while one runs.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;

use pawl_kernel::execution::Subject;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{
    AnyAnswer, AnyOperation, FreeSubjects, Note, OperationStore, Subjects, SweepDelay, Transaction,
    finish_now,
};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::transition::Decision;

use super::ModelStore;
use super::tables::Tables;

#[async_trait]
impl OperationStore for ModelStore {
    async fn transact(&self, operation: Arc<dyn AnyOperation>) -> StoreResult<AnyAnswer> {
        finish_now(operation.run(&mut *self.lock()))
    }
}

#[async_trait]
impl Transaction for Tables {
    async fn subjects(&mut self, ids: &[ExecutionId]) -> StoreResult<Subjects> {
        let subject = |id: &ExecutionId| {
            let row = self.row(*id)?;
            let (head, state) = (row.execution.head.clone(), row.state.clone());
            Some((*id, Subject { head, state }))
        };
        Ok(ids.iter().filter_map(subject).collect())
    }

    async fn free_subjects(&mut self, ids: &[ExecutionId]) -> StoreResult<FreeSubjects> {
        let rows = self.subjects(ids).await?;
        Ok(FreeSubjects {
            rows,
            ..FreeSubjects::default()
        })
    }

    async fn has_signal(&mut self, id: ExecutionId, signal: &str) -> StoreResult<bool> {
        let row = self.row(id);
        Ok(row.is_some_and(|row| row.signals.iter().any(|stored| stored.id == signal)))
    }

    async fn sweep_counts(
        &mut self,
        ids: &[ExecutionId],
    ) -> StoreResult<HashMap<ExecutionId, u32>> {
        let count = |id: &ExecutionId| Some((*id, self.row(*id)?.sweeps));
        Ok(ids.iter().filter_map(count).collect())
    }

    async fn put_off_sweeps(&mut self, sweeps: &[SweepDelay]) -> StoreResult<()> {
        for sweep in sweeps {
            let row = self.rows.get_mut(&sweep.execution_id).unwrap();
            row.state.next_sweep_at = Some(sweep.until);
            row.sweeps += 1;
        }
        Ok(())
    }

    async fn notes(&mut self, id: ExecutionId) -> StoreResult<Vec<Note>> {
        Ok(self
            .row(id)
            .map(|row| row.notes.clone())
            .unwrap_or_default())
    }

    async fn add_note(&mut self, id: ExecutionId, note: &Note) -> StoreResult<()> {
        let row = self.rows.get_mut(&id).unwrap();
        row.notes.push(note.clone());
        Ok(())
    }

    async fn write(&mut self, decisions: Vec<Decision>) -> StoreResult<()> {
        for decision in decisions {
            self.apply(decision.change);
        }
        Ok(())
    }
}
