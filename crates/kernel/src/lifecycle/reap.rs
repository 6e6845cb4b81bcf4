//! Taking and giving back leases outside a commit.

use std::time::Duration;

use uuid::Uuid;

use super::{derive_status, end, stopped, stuck, touched};
use crate::execution::{Head, State};
use crate::schema::definition::OnStuck;
use crate::time::Timestamp;
use crate::transition::Change;

/// Takes an expired lease from its holder. `None`: the lease is alive or gone.
pub fn reap(head: &Head, state: &State, on_stuck: OnStuck, now: Timestamp) -> Option<Change> {
    let lease = state.lease.as_ref().filter(|lease| lease.until <= now)?;
    if head.status.is_terminal() {
        return None;
    }
    if on_stuck == OnStuck::Fail && state.control.is_none() {
        let message = format!(
            "the worker {} stopped answering at node `{}`, and the schema says on_stuck: fail",
            lease.owner, state.position.node_id
        );
        let mut change = Change::of(touched(state, now));
        change.dead_letter = Some(message.clone());
        end(&mut change, stuck(message), now);
        return Some(change);
    }
    recover(head, state, now)
}

/// Clears a lease whose holder is known to be gone (an embedded store at its start: every lease).
pub fn recover(head: &Head, state: &State, now: Timestamp) -> Option<Change> {
    state.lease.as_ref()?;
    if head.status.is_terminal() {
        return None;
    }
    let mut change = Change::of(touched(state, now));
    change.state.interrupted |= state.effect_may_have_begun(now);
    change.state.lease = None;
    if state.control.is_some() {
        end(&mut change, stopped(), now);
        return Some(change);
    }
    set_free(head, &mut change, now);
    Some(change)
}

/// How a worker gives a lease back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Nothing was done under it: the claim counts for nothing.
    Unbegun,
    /// A node was running: its effect may have happened.
    Begun,
    /// This worker does not know the node's type. A worker that does is found by sweeps, with a growing pause between
    /// them; a message at once would most likely come back here.
    NotHere,
}

/// The pause grows with the time that the execution has stood there already.
const NOT_HERE_PAUSE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60));

pub fn release(
    head: &Head,
    state: &State,
    token: Uuid,
    how: Release,
    now: Timestamp,
) -> Option<Change> {
    state.lease.as_ref().filter(|lease| lease.token == token)?;
    let mut change = Change::of(touched(state, now));
    change.state.lease = None;
    change.state.recoveries = state.recoveries.saturating_sub(1);
    change.state.interrupted |= how == Release::Begun && state.effect_may_have_begun(now);
    if state.control.is_some() {
        end(&mut change, stopped(), now);
        return Some(change);
    }
    set_free(head, &mut change, now);
    if how == Release::NotHere {
        let (least, most) = NOT_HERE_PAUSE;
        let stood = now.since(state.position.entered_at);
        change.state.next_sweep_at = Some(now.plus((stood / 2).clamp(least, most)));
        change.dispatch = false;
    }
    Some(change)
}

fn set_free(head: &Head, change: &mut Change, now: Timestamp) {
    let status = derive_status(head, &change.state, now);
    if status != head.status {
        change.status = Some(status);
    }
    change.dispatch = change.state.is_runnable();
}
