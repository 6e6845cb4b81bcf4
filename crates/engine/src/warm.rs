//! Contexts of executions that this worker has just handed on with a message. If the next message comes here too, the
//! history need not be read and replayed. The version tells whether anybody has touched the execution in between.

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
pub(crate) struct Kept {
    pub(crate) context: Context,
    pub(crate) unsnapshotted_bytes: usize,
    pub(crate) snapshot_bytes: usize,
}

impl Kept {
    /// A context that no step has touched.
    pub(crate) fn of(context: Context) -> Self {
        Self {
            context,
            unsnapshotted_bytes: 0,
            snapshot_bytes: 0,
        }
    }
}

pub(crate) struct Warm(Mutex<Recent<ExecutionId, (Moment, Kept)>>);

/// A version alone could be that of another history, after a failover that lost commits.
type Moment = (u64, Option<Uuid>);

impl Default for Warm {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(LIMIT)))
    }
}

impl Warm {
    /// `state` as it was committed when the lease was given up.
    pub(crate) fn keep(&self, state: &State, kept: Kept) {
        let weight = kept.context.bytes() + ENTRY;
        let moment = (state.version, state.commit_id);
        lock(&self.0).insert(state.execution_id, (moment, kept), weight);
    }

    /// `state` as it was claimed: the claim must be all that has happened since.
    pub(crate) fn take(&self, state: &State) -> Option<Kept> {
        let ((version, commit_id), kept) = lock(&self.0).take(&state.execution_id)?;
        (version + 1 == state.version && commit_id == state.commit_id).then_some(kept)
    }
}
