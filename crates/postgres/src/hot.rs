//! The rows of executions as this process last wrote them.
//!
//! Most commits come from a holder that has just committed, and many claims from the worker that has just handed the
//! execution on: what the row looks like is known, and it can be written without being read first. This is a guess,
//! never the truth: every write is guarded by the version it was decided on, and where the guess was wrong nothing is
//! written and the row is read.

use std::sync::{Mutex, PoisonError};

use pawl_kernel::execution::{Execution, Record, Subject};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::ClaimRequest;
use pawl_kernel::ports::store::{ClaimedExecution, NewExecution};
use pawl_kernel::recent::Recent;

/// What all rows together may weigh. Forgetting one costs a read.
const LIMIT: usize = 48 << 20;
/// What a row weighs without its start record.
const ROW: usize = 1 << 10;
/// A start record that is larger is not kept: the next claim reads it.
const TEXT_MAX: usize = 8 << 10;

/// A row as this process last wrote it.
pub(crate) struct CacheRow {
    pub(crate) subject: Subject,
    /// Known if it was read or written here, and small enough to be kept.
    pub(crate) record: Option<Record>,
}

impl CacheRow {
    pub(crate) fn of_claim(claimed: &ClaimedExecution) -> Self {
        let Execution { head, record } = claimed.execution.clone();
        let state = claimed.state.clone();
        Self {
            subject: Subject { head, state },
            record: Some(record),
        }
    }

    pub(crate) fn of(new: NewExecution) -> Self {
        let (Execution { head, record }, state) = (new.execution, new.state);
        Self {
            subject: Subject { head, state },
            record: Some(record),
        }
    }
}

pub(crate) struct RowCache(Mutex<Recent<ExecutionId, CacheRow>>);

impl Default for RowCache {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(LIMIT)))
    }
}

impl RowCache {
    /// Gives the row away: a caller that changes it gives it back with [`RowCache::remember`].
    pub(crate) fn take(&self, id: ExecutionId) -> Option<CacheRow> {
        self.lock().take(&id)
    }

    /// The row that a message is about, if no write to it is known since the message was made.
    pub(crate) fn take_for(&self, request: &ClaimRequest) -> Option<(Subject, Record)> {
        let CacheRow { subject, record } = self.take(request.execution_id)?;
        let fits = subject.state.lease.is_none()
            && !request.redelivered
            && request.message_seq == Some(subject.state.seq);
        record.filter(|_| fits).map(|record| (subject, record))
    }

    /// Keeps a row as it was just written, if it is likely to be written here again: a worker holds its lease, or the
    /// next message is about it.
    pub(crate) fn remember(&self, row: CacheRow) {
        let CacheRow { subject, record } = row;
        let state = &subject.state;
        let runs_on = state.lease.is_some() || (state.is_runnable() && record.is_some());
        if !runs_on || subject.head.status.is_terminal() {
            return;
        }
        let record = record.filter(|record| record.initial.len() <= TEXT_MAX);
        let text = record.as_ref().map_or(0, |record| record.initial.len());
        let row = CacheRow { subject, record };
        self.lock().insert(row.subject.head.id, row, ROW + text);
    }

    /// An execution that was just created and that no quota concerns.
    pub(crate) fn remember_new(&self, new: &NewExecution) {
        if new.state.lease.is_none() {
            return;
        }
        let mut row = CacheRow::of(new.clone());
        row.subject.head.quotas.clear();
        self.remember(row);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recent<ExecutionId, CacheRow>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
