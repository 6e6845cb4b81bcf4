//! The key under which an effect is known to the other side.

use crate::id::ExecutionId;

/// Committed with the position before the effect; the same for every try, retry and recovery of it.
pub fn key(execution_id: ExecutionId, seq: u64) -> String {
    format!("{execution_id}:{seq}")
}
