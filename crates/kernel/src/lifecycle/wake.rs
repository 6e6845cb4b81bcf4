//! A timer's firing.

use uuid::Uuid;

use super::admit::in_line;
use super::{derive_status, touched};
use crate::execution::{Head, State, WaitKind};
use crate::time::Timestamp;
use crate::transition::Change;

/// Ends the wait that the timer was made for, also while held. `None`: the wait is over, another one, or
/// not due; a late or doubled firing can do nothing.
pub fn fire(head: &Head, state: &State, wait_id: Uuid, now: Timestamp) -> Option<Change> {
    let wait = state.wait.as_ref().filter(|wait| wait.id == wait_id)?;
    let due = wait.wake_at.is_some_and(|at| at <= now);
    if !due || head.status.is_terminal() {
        return None;
    }
    let mut change = Change::of(touched(state, now));
    change.state.wait = match wait.kind {
        // Its time has come; now it stands in line like every other execution.
        WaitKind::Start if !head.quotas.is_empty() => Some(in_line(wait.id)),
        _ => None,
    };
    if wait.kind == WaitKind::Start {
        // The time until its start is not the first node's.
        change.state.position.entered_at = now;
    }
    let status = derive_status(head, &change.state, now);
    if status != head.status {
        change.status = Some(status);
    }
    change.dispatch = change.state.is_runnable();
    Some(change)
}
