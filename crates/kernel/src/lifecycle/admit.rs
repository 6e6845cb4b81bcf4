//! Standing in line for a quota, and leaving it by being admitted. Who is admitted when, [`crate::quota`] decides.

use uuid::Uuid;

use super::{derive_status, touched};
use crate::execution::{Head, State, Status, Wait, WaitKind};
use crate::ports::store::NewExecution;
use crate::quota::{AdmissionState, admission_state};
use crate::time::Timestamp;
use crate::transition::Change;

/// A wait that no timer ends.
pub(super) fn in_line(id: Uuid) -> Wait {
    Wait {
        kind: WaitKind::Admission,
        id,
        wake_at: None,
        name: None,
    }
}

/// An execution to be created finds its quotas full: whatever it was meant to be born as, it is born waiting.
pub fn enqueue_for_admission(new: &mut NewExecution) {
    // Only timers compare the id of a wait, and this one has none.
    new.state.wait = Some(in_line(new.execution.head.id.0));
    new.state.lease = None;
    new.state.recoveries = 0;
    new.execution.head.status = Status::Pending;
    new.execution.head.queued_at = None;
    new.execution.head.started_at = None;
}

/// `None`: it does not stand in line (any more).
pub fn admit(head: &Head, state: &State, now: Timestamp) -> Option<Change> {
    if admission_state(head, state) != AdmissionState::InLine {
        return None;
    }
    let mut change = Change::of(touched(state, now));
    change.state.wait = None;
    // The time in line is not the first node's.
    if !state.repeats_an_effect() {
        change.state.position.entered_at = now;
    }
    change.queued_at = Some(now);
    change.status = Some(derive_status(head, &change.state, now));
    change.dispatch = change.state.is_runnable();
    Some(change)
}
