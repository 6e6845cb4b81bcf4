//! Rows that another transaction has locked for long.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::StoreError;
use pawl_kernel::transition::Transition;
use uuid::Uuid;

use crate::commits::Answers;
use crate::error::Outcome;
use crate::session::Session;
use crate::sql;

/// Executions whose rows another transaction had locked for longer than we wait. They are not waited for again before
/// they are free: one transaction that a person forgot must not hold up all other commits time after time.
#[derive(Default)]
pub(crate) struct LockedRows(Mutex<HashSet<ExecutionId>>);

impl LockedRows {
    fn ids(&self) -> std::sync::MutexGuard<'_, HashSet<ExecutionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of these executions that were locked and still are, each with its answer.
    pub(crate) async fn among(
        &self,
        session: &Session,
        transitions: &[Transition],
    ) -> Outcome<Answers> {
        let ids = transitions.iter().map(|transition| transition.execution_id);
        let suspects: Vec<ExecutionId> = {
            let known = self.ids();
            ids.filter(|id| known.contains(id)).collect()
        };
        if suspects.is_empty() {
            return Ok(Answers::new());
        }
        let locked = self.look(session, suspects.into_iter()).await?;
        let text = "another transaction has locked the row of this execution";
        let answer = |id| (id, Err(StoreError::Unavailable(text.into()).into()));
        Ok(locked.into_iter().map(answer).collect())
    }

    /// Which of these rows are locked now? Remembers the answer.
    pub(crate) async fn look(
        &self,
        session: &Session,
        ids: impl Iterator<Item = ExecutionId>,
    ) -> Outcome<HashSet<ExecutionId>> {
        let mut locked: HashSet<ExecutionId> = ids.collect();
        let wanted: Vec<Uuid> = locked.iter().map(|id| id.0).collect();
        let rows = session.alone(&sql::STATES_FREE, &[&wanted]).await?;
        let mut remembered = self.ids();
        for row in rows {
            let free = ExecutionId(row.try_get(0)?);
            locked.remove(&free);
            remembered.remove(&free);
        }
        remembered.extend(&locked);
        Ok(locked)
    }
}
