//! The rows of executions that a worker holds, as the writer last wrote them.
//!
//! Most commits come from a holder that has just committed: the writer knows the row already and need not read it
//! again. There is one writer thread, so what it remembers is what is in the transaction; whatever is rolled back
//! or written in another way is forgotten. Bounded by the number of leases.

use std::cell::RefCell;
use std::collections::HashMap;

use pawl_kernel::execution::Subject;
use pawl_kernel::id::ExecutionId;

use crate::{deferred, quotas};

/// Beyond this, all is forgotten: it can only mean that leases were lost without a word.
const ROWS_MAX: usize = 10_000;

thread_local! {
    /// Only the writer thread runs the jobs that come here.
    static ROWS: RefCell<HashMap<ExecutionId, Subject>> = RefCell::new(HashMap::new());
}

/// Gives the row away: a caller that changes it gives it back with [`remember`].
pub(crate) fn take(id: ExecutionId) -> Option<Subject> {
    ROWS.with_borrow_mut(|rows| rows.remove(&id))
}

/// Keeps a row as it was just written, if a worker holds it.
pub(crate) fn remember(row: Subject) {
    if row.state.lease.is_none() || row.head.status.is_terminal() {
        return;
    }
    ROWS.with_borrow_mut(|rows| {
        if rows.len() >= ROWS_MAX {
            rows.clear();
        }
        rows.insert(row.head.id, row);
    });
}

pub(crate) fn forget(id: ExecutionId) {
    take(id);
}

/// After a rollback nothing remembered is certain.
pub(crate) fn forget_all() {
    ROWS.with_borrow_mut(HashMap::clear);
    deferred::forget();
    quotas::forget_set_names();
}
