//! The rows of executions that a worker holds, as the writer last wrote them.
//!
//! Most commits come from a holder that has just committed: the writer knows the row already and need not read it
//! again. There is one writer thread, so what it remembers is what is in the transaction; whatever is rolled back
//! or written in another way is forgotten. Bounded by the number of leases.

use std::cell::RefCell;
use std::collections::HashMap;

use pawl_kernel::execution::{Execution, State};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::quota::QuotaClaim;

use crate::quotas;
use crate::rows::Loaded;

/// Beyond this, all is forgotten: it can only mean that leases were lost without a word.
const ROWS_MAX: usize = 10_000;

thread_local! {
    /// Only the writer thread runs the jobs that come here.
    static ROWS: RefCell<HashMap<ExecutionId, Loaded>> = RefCell::new(HashMap::new());
}

/// Gives the row away: whoever changes it gives it back with [`remember`].
pub(crate) fn take(id: ExecutionId) -> Option<Loaded> {
    ROWS.with_borrow_mut(|rows| rows.remove(&id))
}

/// Keeps a row as it was just written, if a worker holds it.
pub(crate) fn remember(execution: Execution, state: State) {
    if state.lease.is_none() || execution.status.is_terminal() {
        return;
    }
    ROWS.with_borrow_mut(|rows| {
        if rows.len() >= ROWS_MAX {
            rows.clear();
        }
        rows.insert(state.execution_id, Loaded { execution, state });
    });
}

/// What decisions look at, as [`crate::rows::load_head`] reads it.
pub(crate) fn without_texts(execution: &Execution, claims: &[QuotaClaim]) -> Execution {
    Execution {
        tenant: None,
        labels: None,
        quotas: claims.to_vec(),
        created_by: String::new(),
        correlation_id: String::new(),
        idempotency_key: None,
        initial: "".into(),
        output: None,
        error: None,
        ..execution.clone()
    }
}

pub(crate) fn forget(id: ExecutionId) {
    take(id);
}

/// After a rollback nothing remembered is certain.
pub(crate) fn forget_all() {
    ROWS.with_borrow_mut(HashMap::clear);
    quotas::forget_set_names();
}
