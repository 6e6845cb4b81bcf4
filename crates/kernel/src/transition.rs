//! What a worker wants to commit, and what every write of an execution comes down to.

use std::sync::Arc;

use uuid::Uuid;

use crate::execution::{
    Control, Ending, Execution, Hold, LogRecord, Position, Signal, State, Status, Step, Wait,
};
use crate::id::ExecutionId;
use crate::time::Timestamp;

/// The result of a worker's pass, or of a part of it. Committed whole or not at all.
#[derive(Clone, Debug)]
pub struct Transition {
    pub execution_id: ExecutionId,
    /// The seq that the worker built on: the fence together with the token.
    pub expected_seq: u64,
    pub lease_token: Uuid,
    /// Random: a result that stays unknown is resolved by looking for it.
    pub commit_id: Uuid,
    /// Given when it enters a wait or takes a signal: all that had arrived was seen.
    pub inbox_seen: Option<u64>,
    /// Shared, because a transition may be sent more than once and its payloads are most of it.
    pub steps: Arc<Vec<Step>>,
    pub logs: Arc<Vec<LogRecord>>,
    /// Ids of the signals taken, with the seq of the step that took them.
    pub consumed: Vec<(String, u64)>,
    /// A new snapshot of the context after `seq`.
    pub snapshot: Option<Snapshot>,
    pub next: Next,
    pub calls_spent: u64,
    pub bytes_spent: u64,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub seq: u64,
    pub context: String,
}

#[derive(Clone, Debug)]
pub enum Next {
    /// Goes on at `position`: under the same lease until `keep_until`, or by a new message.
    Continue {
        position: Position,
        keep_until: Option<Timestamp>,
    },
    Wait {
        position: Position,
        wait: Wait,
    },
    End {
        position: Position,
        ending: Ending,
    },
}

impl Next {
    pub fn position(&self) -> &Position {
        match self {
            Self::Continue { position, .. }
            | Self::Wait { position, .. }
            | Self::End { position, .. } => position,
        }
    }
}

/// What a store writes for one execution, in one transaction. Made by [`crate::lifecycle`], never by hand.
#[derive(Clone, Debug)]
pub struct Change {
    /// The whole new row.
    pub state: State,
    /// New values for `executions`, if its row changes.
    pub status: Option<Status>,
    pub queued_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub ending: Option<(Ending, Timestamp)>,
    pub steps: Arc<Vec<Step>>,
    pub logs: Arc<Vec<LogRecord>>,
    pub consumed: Vec<(String, u64)>,
    pub snapshot: Option<Snapshot>,
    pub signal: Option<Signal>,
    /// A wait's wake-up: a row for `incoming_queue`.
    pub timer: Option<WaitTimer>,
    /// Why the execution goes to `dead_letters`.
    pub dead_letter: Option<String>,
    /// A message is to be published once this is committed.
    pub dispatch: bool,
    /// The holder ended an execution that held places in quotas.
    pub frees_places: bool,
}

impl Change {
    pub fn of(state: State) -> Self {
        Self {
            state,
            status: None,
            queued_at: None,
            started_at: None,
            ending: None,
            steps: Arc::default(),
            logs: Arc::default(),
            consumed: Vec::new(),
            snapshot: None,
            signal: None,
            timer: None,
            dead_letter: None,
            dispatch: false,
            frees_places: false,
        }
    }

    /// The row of `executions` once this is written: for stores that write it only then.
    pub fn execution_after(&self, mut execution: Execution) -> Execution {
        execution.status = self.status.unwrap_or(execution.status);
        execution.queued_at = self.queued_at.or(execution.queued_at);
        execution.started_at = self.started_at.or(execution.started_at);
        if let Some((ending, at)) = &self.ending {
            execution.status = ending.status;
            execution.output.clone_from(&ending.output);
            execution.error.clone_from(&ending.error);
            execution.finished_at = Some(*at);
        }
        execution
    }

    pub fn outcome(&self) -> Applied {
        Applied {
            seq: self.state.seq,
            version: self.state.version,
            inbox: self.state.inbox,
            hold: self.state.hold,
            control: self.state.control,
            lease_kept: self.state.lease.is_some(),
            ended: self.ending.as_ref().map(|(ending, _)| ending.status),
            dispatch: self.dispatch,
            frees_places: self.frees_places,
            wake_at: self.timer.as_ref().map(|timer| timer.at),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitTimer {
    pub execution_id: ExecutionId,
    pub wait_id: Uuid,
    pub at: Timestamp,
}

/// What a store tells after a [`Change`] was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub seq: u64,
    pub version: u64,
    pub inbox: u64,
    pub hold: Option<Hold>,
    pub control: Option<Control>,
    pub lease_kept: bool,
    pub ended: Option<Status>,
    pub dispatch: bool,
    /// Somebody who waits for a quota may come in now.
    pub frees_places: bool,
    pub wake_at: Option<Timestamp>,
}

impl Applied {
    /// The answer that a commit which left the rows like this must have given: for whoever never got it.
    pub fn standing(execution: &Execution, state: &State) -> Self {
        let ended = Some(execution.status).filter(|status| status.is_terminal());
        Self {
            seq: state.seq,
            version: state.version,
            inbox: state.inbox,
            hold: state.hold,
            control: state.control,
            lease_kept: state.lease.is_some(),
            ended,
            dispatch: ended.is_none() && state.lease.is_none() && state.is_runnable(),
            frees_places: ended.is_some() && !execution.quotas.is_empty(),
            wake_at: state.wait.as_ref().and_then(|wait| wait.wake_at),
        }
    }
}
