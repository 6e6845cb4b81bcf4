//! Contexts of executions that this worker has just handed on with a message. If the next message comes here too, the
//! history need not be read and replayed. The version tells if another transaction has changed the execution since.

use std::sync::Mutex;

use pawl_kernel::context::Context;
use pawl_kernel::execution::State;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::recent::Recent;

use uuid::Uuid;

use crate::sync::lock;

/// Bytes of JSON kept in all; parsed they take a few times as much.
const LIMIT: usize = 16 << 20;
/// What an entry weighs besides its JSON.
const ENTRY: usize = 1 << 10;

/// A context with what the next snapshot depends on.
pub(crate) struct CachedContext {
    pub(crate) context: Context,
    pub(crate) unsnapshotted_bytes: usize,
    pub(crate) snapshot_bytes: usize,
}

impl CachedContext {
    /// A context that no step has touched.
    pub(crate) fn of(context: Context) -> Self {
        Self {
            context,
            unsnapshotted_bytes: 0,
            snapshot_bytes: 0,
        }
    }
}

pub(crate) struct ContextCache(Mutex<Recent<ExecutionId, (Moment, CachedContext)>>);

/// A version alone could be that of another history, after a failover that lost commits.
type Moment = (u64, Option<Uuid>);

impl Default for ContextCache {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(LIMIT)))
    }
}

impl ContextCache {
    /// `state` as it was committed when the lease was given up.
    pub(crate) fn keep(&self, state: &State, cached: CachedContext) {
        let weight = cached.context.bytes() + ENTRY;
        let moment = (state.version, state.commit_id);
        lock(&self.0).insert(state.execution_id, (moment, cached), weight);
    }

    /// `state` as it was claimed: the claim must be all that has happened since.
    pub(crate) fn take(&self, state: &State) -> Option<CachedContext> {
        let ((version, commit_id), cached) = lock(&self.0).take(&state.execution_id)?;
        (version + 1 == state.version && commit_id == state.commit_id).then_some(cached)
    }
}
