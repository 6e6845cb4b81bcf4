//! Every way an execution can change, as pure functions: row in, [`Change`] out.
//!
//! Stores load the row, ask here and write the answer in the same transaction, so that no rule of the
//! protocol lives in SQL and every store decides alike.
//!
//! | function | who asks | what it does |
//! |---|---|---|
//! | [`claim`] | a worker with a message | takes the lease, or says why not |
//! | [`commit`] | the lease's holder | adds steps, moves on, waits or ends |
//! | [`release`] | a worker shutting down | gives the lease back as if never taken |
//! | [`command`] | a person or program | pause, resume, stop, signal, debug, continue |
//! | [`fire`] | the timers | ends the wait that the timer was made for |
//! | [`admit`] | the scheduler | ends the wait for a place in a quota |
//! | [`reap`] | the reaper | takes the lease from a holder that vanished |

mod admit;
mod claim;
mod command;
mod commit;
mod reap;
mod wake;

pub use admit::{admit, enqueue_for_admission};
pub use claim::{ClaimDecision, ClaimRequest, Skip, claim};
pub use command::{Command, ContinueMode, Refusal, command};
pub use commit::{CommitRefusal, commit};
pub use reap::{Release, reap, recover, release};
pub use wake::fire;

use serde_json::json;

use crate::execution::{Ending, Head, Hold, State, Status, WaitKind};
use crate::time::Timestamp;
use crate::transition::Change;

/// The status that follows from the row of an execution that has not ended.
pub fn derive_status(head: &Head, state: &State, now: Timestamp) -> Status {
    if state.has_live_lease(now) {
        return Status::Running;
    }
    match (state.hold, state.wait.as_ref().map(|wait| wait.kind)) {
        (Some(Hold::Pause), _) => Status::Paused,
        (_, Some(WaitKind::Sleep | WaitKind::Retry)) => Status::Sleeping,
        (_, Some(WaitKind::Event | WaitKind::Children)) => Status::Waiting,
        (_, Some(WaitKind::Start | WaitKind::Admission)) => Status::Pending,
        (Some(Hold::Debug), None) => Status::WaitingDebug,
        (None, None) if head.has_begun(state) => Status::Running,
        (None, None) => Status::Queued,
    }
}

/// Every change bumps the version and the time.
fn touched(state: &State, now: Timestamp) -> State {
    let mut next = state.clone();
    next.version += 1;
    next.updated_at = now;
    next.next_sweep_at = None;
    next
}

/// Ends the execution: no lease, no wait, no hold survive it.
fn end(change: &mut Change, ending: Ending, now: Timestamp) {
    change.state.lease = None;
    change.state.wait = None;
    change.state.hold = None;
    change.state.control = None;
    change.timer = None;
    change.dispatch = false;
    change.status = Some(ending.status);
    change.ending = Some((ending, now));
}

fn stopped() -> Ending {
    let error =
        json!({"code": "CANCELLED", "message": "the execution was stopped", "retryable": false});
    Ending {
        status: Status::Stopped,
        output: None,
        error: Some(error.to_string()),
    }
}

fn stuck(message: String) -> Ending {
    let error = json!({"code": "STUCK", "message": message, "retryable": false});
    Ending {
        status: Status::FailedStuck,
        output: None,
        error: Some(error.to_string()),
    }
}
