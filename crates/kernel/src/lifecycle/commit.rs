//! The holder's commit.

use super::{derive_status, end, stopped, touched};
use crate::execution::{Control, DebugMode, Head, Hold, State};
use crate::planted::{self, Bug};
use crate::quota::{self, QuotaChange};
use crate::time::Timestamp;
use crate::transition::{Change, Next, Transition, WaitTimer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitRefusal {
    /// The lease is another worker's, or the execution has moved on: drop everything.
    Fenced,
    /// Something arrived that the worker has not seen: look again, then commit again.
    InboxChanged,
}

pub fn commit(head: &Head, state: &State, transition: Transition) -> Result<Change, CommitRefusal> {
    check_fence(head, state, &transition)?;
    let now = transition.now;
    let mut next = touched(state, now);
    next.seq += transition.steps.len() as u64;
    next.commit_id = Some(transition.commit_id);
    next.recoveries = 0;
    next.interrupted = false;
    next.calls_spent = transition.calls_spent;
    next.bytes_spent = transition.bytes_spent;
    let mut change = Change::of(next);
    let stepped = !transition.steps.is_empty();
    change.steps = transition.steps;
    change.logs = transition.logs;
    change.consumed = transition.consumed;
    change.snapshot = transition.snapshot;
    move_on(&mut change, transition.next, stepped, now);
    store_status(head, &mut change, now);
    change.frees_places = quota::quota_change(head, state, &change) == QuotaChange::Release;
    Ok(change)
}

fn check_fence(head: &Head, state: &State, transition: &Transition) -> Result<(), CommitRefusal> {
    let token_fits = state
        .lease
        .as_ref()
        .is_some_and(|lease| lease.token == transition.lease_token);
    let mine = token_fits || planted::has(Bug::NoTokenGuard);
    if head.status.is_terminal() || !mine || state.seq != transition.expected_seq {
        return Err(CommitRefusal::Fenced);
    }
    if transition
        .inbox_seen
        .is_some_and(|seen| seen != state.inbox)
    {
        return Err(CommitRefusal::InboxChanged);
    }
    Ok(())
}

fn move_on(change: &mut Change, next: Next, stepped: bool, now: Timestamp) {
    match next {
        Next::End { position, ending } => {
            change.state.position = position;
            return end(change, ending, now);
        }
        Next::Wait { position, wait } => {
            change.state.position = position;
            change.state.lease = None;
            change.timer = wait.wake_at.map(|at| WaitTimer {
                execution_id: change.state.execution_id,
                wait_id: wait.id,
                at,
            });
            change.state.wait = Some(wait);
        }
        Next::Continue {
            position,
            keep_until,
        } => {
            change.state.position = position;
            keep_or_drop_lease(&mut change.state, keep_until);
        }
    }
    if change.state.control == Some(Control::Stop) {
        return end(change, stopped(), now);
    }
    if stepped {
        stop_for_debugger(&mut change.state);
    }
    if change.state.hold.is_some() {
        change.state.lease = None;
    }
    change.dispatch = change.state.lease.is_none() && change.state.is_runnable();
}

fn keep_or_drop_lease(state: &mut State, keep_until: Option<Timestamp>) {
    match (keep_until, state.lease.as_mut()) {
        // A commit that was long under way must not shorten what heartbeats have extended since.
        (Some(until), Some(lease)) => lease.until = lease.until.max(until),
        _ => state.lease = None,
    }
}

/// In debug mode every committed step ends in a hold; a run to a node holds once that node is next.
fn stop_for_debugger(state: &mut State) {
    let stop = match &state.debug {
        DebugMode::Off => false,
        DebugMode::Step => true,
        DebugMode::Until(nodes) => nodes.iter().any(|node| **node == *state.position.node_id),
    };
    // A wait is begun, so it ends before it stands still.
    if stop && state.wait.is_none() {
        state.debug = DebugMode::Step;
        state.hold = state.hold.or(Some(Hold::Debug));
    }
}

/// `executions.status` changes only when the execution blocks or unblocks; ending set it already.
fn store_status(head: &Head, change: &mut Change, now: Timestamp) {
    if change.ending.is_some() {
        return;
    }
    let status = derive_status(head, &change.state, now);
    let status = if status == crate::execution::Status::Queued {
        head.status
    } else {
        status
    };
    if status != head.status {
        change.status = Some(status);
    }
}
