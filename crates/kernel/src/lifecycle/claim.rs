//! Taking the lease.

use super::{end, stopped, stuck, touched};
use crate::execution::{Head, Lease, State, Status};
use crate::planted::{self, Bug};
use crate::time::Timestamp;
use crate::transition::Change;

#[derive(Clone, Debug)]
pub struct ClaimRequest {
    pub execution_id: crate::id::ExecutionId,
    /// The seq the message was made at; `None` for a look that claims nothing to know.
    pub message_seq: Option<u64>,
    /// The broker has delivered this message before.
    pub redelivered: bool,
    pub lease: Lease,
    /// The worker has its one place for suspects free.
    pub allow_suspect: bool,
    pub max_recoveries: u32,
}

#[derive(Clone, Debug)]
pub enum ClaimDecision {
    /// Write it; the lease is the worker's.
    Take(Box<Change>),
    /// Write it; the execution is over.
    End(Box<Change>),
    Skip(Skip),
}

/// Why a message led to nothing. All but `Suspect` are acknowledged and forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    Ended,
    Duplicate,
    Leased,
    Waiting,
    Held,
    /// It has cost workers their life before; try again when this worker has its place for suspects free.
    Suspect,
    /// There is no such execution.
    Unknown,
    /// Another transaction has had its row locked for longer than a store waits. The sweeper offers it again.
    Busy,
}

/// From this many unfinished claims on, an execution may be what kills workers.
const SUSPECT_FROM: u32 = 2;

pub fn claim(head: &Head, state: &State, request: &ClaimRequest, now: Timestamp) -> ClaimDecision {
    if let Some(skip) = reason_to_skip(head, state, request, now) {
        return ClaimDecision::Skip(skip);
    }
    let mut change = Change::of(touched(state, now));
    if state.control.is_some() {
        end(&mut change, stopped(), now);
        return ClaimDecision::End(Box::new(change));
    }
    if state.recoveries >= request.max_recoveries {
        let message = format!(
            "{} workers took the node `{}` and none of them came back; see max_recoveries",
            state.recoveries, state.position.node_id
        );
        change.dead_letter = Some(message.clone());
        end(&mut change, stuck(message), now);
        return ClaimDecision::End(Box::new(change));
    }
    if state.recoveries >= SUSPECT_FROM && !request.allow_suspect {
        return ClaimDecision::Skip(Skip::Suspect);
    }
    take(head, &mut change, request, now);
    ClaimDecision::Take(Box::new(change))
}

fn take(head: &Head, change: &mut Change, request: &ClaimRequest, now: Timestamp) {
    let state = &mut change.state;
    // The holder of the lease until now did not finish: an effect may have been under way.
    state.interrupted |= state.lease.is_some() && state.effect_may_have_begun(now);
    if !planted::has(Bug::AttemptCountedLate) {
        state.recoveries += 1;
    }
    state.lease = Some(request.lease.clone());
    if head.status != Status::Running {
        change.status = Some(Status::Running);
    }
    if head.started_at.is_none() {
        change.started_at = Some(now);
    }
}

fn reason_to_skip(
    head: &Head,
    state: &State,
    request: &ClaimRequest,
    now: Timestamp,
) -> Option<Skip> {
    if head.status.is_terminal() {
        return Some(Skip::Ended);
    }
    if state.has_live_lease(now) {
        return Some(Skip::Leased);
    }
    if state.control.is_some() {
        return None;
    }
    if is_duplicate(state, request) {
        return Some(Skip::Duplicate);
    }
    if state.hold.is_some() {
        return Some(Skip::Held);
    }
    state.wait.as_ref().map(|_| Skip::Waiting)
}

/// A first delivery that the state has moved past. A redelivered one means that its worker died between
/// commit and publish, and one from the future that the database was rewound: both go on from the row.
fn is_duplicate(state: &State, request: &ClaimRequest) -> bool {
    let Some(seq) = request.message_seq else {
        return false;
    };
    if request.redelivered {
        return false;
    }
    if planted::has(Bug::SeqCompareInclusive) {
        seq <= state.seq
    } else {
        seq < state.seq
    }
}
