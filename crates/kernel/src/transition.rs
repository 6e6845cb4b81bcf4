//! What a worker wants to commit, and what every write of an execution comes down to.

use std::sync::Arc;

use uuid::Uuid;

use crate::execution::{
    Control, Ending, Execution, Head, Hold, LogRecord, Position, Signal, State, Status, Step,
    Subject, Wait,
};
use crate::id::ExecutionId;
use crate::ports::store::Dispatch;
use crate::quota::{self, QuotaChange};
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

    /// The columns that decisions look at, once this is written.
    pub fn head_after(&self, mut head: Head) -> Head {
        head.status = self.status.unwrap_or(head.status);
        head.queued_at = self.queued_at.or(head.queued_at);
        head.started_at = self.started_at.or(head.started_at);
        if let Some((ending, at)) = &self.ending {
            head.status = ending.status;
            head.finished_at = Some(*at);
        }
        head
    }

    /// The whole row of `executions`, once this is written.
    pub fn execution_after(&self, execution: Execution) -> Execution {
        let Execution { head, mut record } = execution;
        if let Some((ending, _)) = &self.ending {
            record.output.clone_from(&ending.output);
            record.error.clone_from(&ending.error);
        }
        let head = self.head_after(head);
        Execution { head, record }
    }

    pub fn outcome(&self) -> CommitReport {
        CommitReport {
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

/// A change and the rows it was decided on: what a store writes, guarded by the version and the lease of `before`.
#[derive(Clone, Debug)]
pub struct Decision {
    pub before: Subject,
    pub change: Change,
}

impl Decision {
    pub fn id(&self) -> ExecutionId {
        self.before.head.id
    }

    /// The message that the change asks for.
    pub fn dispatch(&self) -> Option<Dispatch> {
        let asks = self.change.dispatch;
        asks.then(|| Dispatch::of(&self.before.head, &self.change.state))
    }

    /// What the change does to the quotas of the execution.
    pub fn quota_change(&self) -> QuotaChange {
        quota::quota_change(&self.before.head, &self.before.state, &self.change)
    }

    /// The rows once the change is written.
    pub fn after(self) -> Subject {
        Subject {
            head: self.change.head_after(self.before.head),
            state: self.change.state,
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
pub struct CommitReport {
    pub seq: u64,
    pub version: u64,
    pub inbox: u64,
    pub hold: Option<Hold>,
    pub control: Option<Control>,
    pub lease_kept: bool,
    pub ended: Option<Status>,
    pub dispatch: bool,
    /// An execution that waits for a quota may come in now.
    pub frees_places: bool,
    pub wake_at: Option<Timestamp>,
}

impl WaitTimer {
    /// An execution that begins with a wait (a delayed start) needs its wake-up from the first moment.
    pub fn of_start(state: &State) -> Option<Self> {
        let wait = state.wait.as_ref()?;
        Some(Self {
            execution_id: state.execution_id,
            wait_id: wait.id,
            at: wait.wake_at?,
        })
    }
}

/// The steps of one write follow each other, and the last one is the one that the row stands at.
pub fn check_steps(state: &State, steps: &[Step]) -> Result<(), String> {
    let base = state.seq - steps.len() as u64;
    let wrong = steps
        .iter()
        .zip(base + 1..)
        .find(|(step, seq)| step.seq != *seq);
    wrong.map_or(Ok(()), |(step, seq)| {
        let (found, id) = (step.seq, state.execution_id);
        Err(format!("step {found} where step {seq} of {id} is due"))
    })
}

impl CommitReport {
    /// The answer that a commit which left the rows like this must have given: for the worker that never got it.
    pub fn standing(head: &Head, state: &State) -> Self {
        let ended = Some(head.status).filter(|status| status.is_terminal());
        Self {
            seq: state.seq,
            version: state.version,
            inbox: state.inbox,
            hold: state.hold,
            control: state.control,
            lease_kept: state.lease.is_some(),
            ended,
            dispatch: ended.is_none() && state.lease.is_none() && state.is_runnable(),
            frees_places: ended.is_some() && !head.quotas.is_empty(),
            wake_at: state.wait.as_ref().and_then(|wait| wait.wake_at),
        }
    }
}
