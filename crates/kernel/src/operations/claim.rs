//! Taking the leases that many messages ask for.

use std::collections::HashMap;

use crate::execution::Subject;
use crate::id::ExecutionId;
use crate::lifecycle::{self, ClaimDecision, ClaimRequest, Skip};
use crate::ports::store::{Claim, ClaimedExecution};
use crate::time::Timestamp;
use crate::transition::Decision;

/// One claim for each request, in the order asked, and the decisions to write. Of several messages about one execution
/// only the first can take the lease: the later ones are judged by what it has made of the row.
pub fn decide_claims<'a>(
    mut rows: HashMap<ExecutionId, ClaimedExecution>,
    requests: impl IntoIterator<Item = &'a ClaimRequest>,
    now: Timestamp,
) -> (Vec<Claim>, Vec<Decision>) {
    let mut decisions = Vec::new();
    let decide = |request: &ClaimRequest| match rows.get_mut(&request.execution_id) {
        None => Claim::Skipped(Skip::Unknown),
        Some(row) => decide_claim(row, request, now, &mut decisions),
    };
    let claims = requests.into_iter().map(decide).collect();
    (claims, decisions)
}

fn decide_claim(
    row: &mut ClaimedExecution,
    request: &ClaimRequest,
    now: Timestamp,
    decisions: &mut Vec<Decision>,
) -> Claim {
    let head = &row.execution.head;
    let (change, is_taken) = match lifecycle::claim(head, &row.state, request, now) {
        ClaimDecision::Skip(skip) => return Claim::Skipped(skip),
        ClaimDecision::End(change) => (*change, false),
        ClaimDecision::Take(change) => (*change, true),
    };
    let before = Subject {
        head: head.clone(),
        state: row.state.clone(),
    };
    row.execution = change.execution_after(row.execution.clone());
    row.state = change.state.clone();
    let claim = if is_taken {
        Claim::Taken(Box::new(row.clone()))
    } else {
        Claim::Ended(change.outcome())
    };
    decisions.push(Decision { before, change });
    claim
}
