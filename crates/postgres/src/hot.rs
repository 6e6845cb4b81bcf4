//! The rows of executions that this process holds, as it last wrote them.
//!
//! Most commits come from a holder that has just committed: what its row looks like is known, and the commit can be
//! sent without reading it first. This is a guess, never the truth: every write is guarded by the version it was
//! decided on, and where the guess was wrong nothing is written and the row is read.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pawl_kernel::execution::{Execution, State};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::NewExecution;

use crate::rows::{Loaded, without_texts};

/// Beyond this, all is forgotten: it can only mean that leases were lost without a word.
const ROWS_MAX: usize = 20_000;

#[derive(Default)]
pub(crate) struct Hot(Mutex<HashMap<ExecutionId, Loaded>>);

impl Hot {
    /// Gives the row away: whoever changes it gives it back with [`Hot::remember`].
    pub(crate) fn take(&self, id: ExecutionId) -> Option<Loaded> {
        self.lock().remove(&id)
    }

    /// Keeps a row as it was just written, if a worker holds it.
    pub(crate) fn remember(&self, execution: &Execution, state: &State) {
        if state.lease.is_none() || execution.status.is_terminal() {
            return;
        }
        let mut rows = self.lock();
        if rows.len() >= ROWS_MAX {
            rows.clear();
        }
        let loaded = Loaded {
            execution: without_texts(execution),
            state: state.clone(),
        };
        rows.insert(state.execution_id, loaded);
    }

    /// An execution that was just created and that no quota concerns.
    pub(crate) fn remember_new(&self, new: &NewExecution) {
        if new.state.lease.is_none() {
            return;
        }
        let mut execution = without_texts(&new.execution);
        execution.quotas.clear();
        self.remember(&execution, &new.state);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ExecutionId, Loaded>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
