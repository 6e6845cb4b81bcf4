//! Hints between processes: "look now". They make things fast; nothing breaks when one is lost, late or doubled.

use std::time::Duration;

use crate::execution::Status;
use crate::id::ExecutionId;
use crate::time::Timestamp;

/// Executions that one [`Hint::Roundup`] names.
pub const ROUNDUP_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A timer that is due soon was committed.
    Timer { at: Timestamp },
    /// A person stopped an execution that some worker is running.
    Stop { execution_id: ExecutionId },
    /// A process has begun to listen, and has not heard what the others watch.
    Hello,
    /// A process watches this execution and wants to hear of its changes.
    Watch { execution_id: ExecutionId },
    /// A watched execution has changed.
    Changed {
        execution_id: ExecutionId,
        version: u64,
        ended: Option<Status>,
        /// It has answered the caller that waits for an answer.
        responded: bool,
    },
    /// A process watches all executions, for a list that is open, and wants to hear which have changed.
    WatchAll,
    /// These are new or have changed; `more`: others too.
    Roundup { ids: Vec<ExecutionId>, more: bool },
    /// A quota may have room, or a new execution stands in line.
    Admission,
    /// How long the messages waited that a worker receives, by class: high, normal, low.
    Backlog { ages: [Duration; 3] },
}

pub trait HintBus: Send + Sync {
    /// To all other processes, as soon as may be. Never waits and never fails.
    fn send(&self, hint: Hint);

    /// Do hints of others arrive here just now?
    fn is_connected(&self) -> bool;
}
