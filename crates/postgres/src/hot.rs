//! The rows of executions as this process last wrote them.
//!
//! Most commits come from a holder that has just committed, and many claims from the worker that has just handed the
//! execution on: what the row looks like is known, and it can be written without being read first. This is a guess,
//! never the truth: every write is guarded by the version it was decided on, and where the guess was wrong nothing is
//! written and the row is read.

use std::sync::{Mutex, PoisonError};

use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::ClaimRequest;
use pawl_kernel::ports::store::NewExecution;
use pawl_kernel::recent::Recent;

use crate::rows::Loaded;

/// What all rows together may weigh. Forgetting one costs a read.
const LIMIT: usize = 48 << 20;
/// What a row weighs without its start record.
const ROW: usize = 1 << 10;
/// A start record that is larger is not kept: the next claim reads it.
const TEXT_MAX: usize = 8 << 10;

pub(crate) struct Hot(Mutex<Recent<ExecutionId, Loaded>>);

impl Default for Hot {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(LIMIT)))
    }
}

impl Hot {
    /// Gives the row away: whoever changes it gives it back with [`Hot::remember`].
    pub(crate) fn take(&self, id: ExecutionId) -> Option<Loaded> {
        self.lock().take(&id)
    }

    /// The row that a message is about, if nobody is known to have touched it since the message was made.
    pub(crate) fn take_for(&self, request: &ClaimRequest) -> Option<Loaded> {
        let row = self.take(request.execution_id)?;
        let fits = row.whole
            && row.state.lease.is_none()
            && !request.redelivered
            && request.message_seq == Some(row.state.seq);
        fits.then_some(row)
    }

    /// Keeps a row as it was just written, if it is likely to be written here again: somebody holds it, or the next
    /// message is about it.
    pub(crate) fn remember(&self, row: Loaded) {
        let state = &row.state;
        let runs_on = state.lease.is_some() || (state.is_runnable() && row.whole);
        if !runs_on || row.execution.status.is_terminal() {
            return;
        }
        let row = match row.execution.initial.len() > TEXT_MAX {
            true => row.without_texts(),
            false => row,
        };
        let weight = ROW + row.execution.initial.len();
        self.lock().insert(row.state.execution_id, row, weight);
    }

    /// An execution that was just created and that no quota concerns.
    pub(crate) fn remember_new(&self, new: &NewExecution) {
        if new.state.lease.is_none() {
            return;
        }
        let mut execution = new.execution.clone();
        execution.quotas.clear();
        self.remember(Loaded {
            execution,
            state: new.state.clone(),
            whole: true,
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recent<ExecutionId, Loaded>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
