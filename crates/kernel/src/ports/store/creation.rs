//! An execution on its way into the store, and what became of it.

use crate::execution::{Execution, State, Step};
use crate::id::ExecutionId;
use crate::transition::Snapshot;

/// An execution to be created, with everything its two rows need.
#[derive(Clone, Debug)]
pub struct NewExecution {
    pub execution: Execution,
    pub state: State,
    /// The context it starts from, for forks and retries.
    pub snapshot: Option<Snapshot>,
    /// What a person changed in that context: a step of the new execution, the last one in `state.seq`.
    pub edit: Option<Step>,
    /// A retry of what was retried before.
    pub again: bool,
}

impl NewExecution {
    pub fn new(execution: Execution, state: State) -> Self {
        Self {
            execution,
            state,
            snapshot: None,
            edit: None,
            again: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateOutcome {
    /// No quota concerns it, or none yet.
    New,
    /// New, and it holds a place in its quotas.
    Admitted,
    /// New, and it stands in line for a quota: no worker may run it yet.
    InLine,
    /// The idempotency key was seen before: this is the execution it made.
    Existing(ExecutionId),
    /// A retry of an execution that was retried before, as this one; nothing was made.
    AlreadyRetried(ExecutionId),
}
