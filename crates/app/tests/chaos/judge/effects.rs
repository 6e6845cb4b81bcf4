//! The sink's side: every recorded effect was called for, under its key, with the same request each time, and not more
//! often than the faults explain.

use std::collections::BTreeSet;

use super::{Case, Verdict};
use crate::orders::Verb;
use crate::rows::{COMPLETED, Entry, Step};
use crate::sink::Request;

pub(super) fn check(case: &Case<'_>, verdict: &mut Verdict) {
    let mut recorded = BTreeSet::new();
    for step in case
        .run
        .steps
        .iter()
        .filter(|step| step.node_type == "http_request")
    {
        let key = format!("{}:{}", case.run.id, step.seq);
        effect(case, step, &key, verdict);
        recorded.insert(key);
    }
    for (key, requests) in &case.requests {
        verdict.tally.calls += requests.len();
        same_request(case, key, requests, verdict);
        entered_before(case, key, requests[0], verdict);
        // Only the node at which an execution was stopped, or its worker lost, may have called without a step.
        let at_the_end = case.run.state["effect_key"] == *key && case.run.status != COMPLETED;
        verdict.hold(recorded.contains(*key) || at_the_end, || {
            format!("no step belongs to the calls under {key}: {requests:?}")
        });
    }
    for (verb, answered_at) in &case.order.answered {
        nothing_new_after(case, *verb, *answered_at, verdict);
    }
}

fn same_request(case: &Case<'_>, key: &str, requests: &[&Request], verdict: &mut Verdict) {
    let first = requests[0];
    for request in requests {
        let same = (&request.method, &request.target, &request.body)
            == (&first.method, &first.target, &first.body)
            && request.correlation_id == case.run.correlation_id;
        verdict.hold(same, || format!("{key}: {request:?} is not {first:?}"));
    }
}

/// Nothing is called before its position and key are in the database.
fn entered_before(case: &Case<'_>, key: &str, first: &Request, verdict: &mut Verdict) {
    let mut entries = case.run.journal.iter();
    let entered = entries.find(|entry| entry.after["effect_key"] == key);
    verdict.hold(
        entered.is_some_and(|entry| entry.at <= first.arrived_at),
        || {
            format!(
                "{key} was called at {} and entered at {:?}",
                first.arrived_at,
                entered.map(|entry| entry.at)
            )
        },
    );
}

/// One call per recorded try; one more only for each holder of the lease that did not come to its end.
fn effect(case: &Case<'_>, step: &Step, key: &str, verdict: &mut Verdict) {
    let none = Vec::new();
    let requests = case.requests.get(key).unwrap_or(&none);
    let interrupted = step.error["code"] == "INTERRUPTED";
    let cancelled = step.error["code"] == "CANCELLED";
    verdict.tally.effects += 1;
    verdict.tally.given_up += usize::from(interrupted);
    verdict.hold(step.succeeded() || interrupted || cancelled, || {
        format!("{key} failed: {}", step.error)
    });
    let tries = match step.attempts.as_array() {
        Some(attempts) => attempts
            .iter()
            .filter(|one| one["error"]["code"] != "INTERRUPTED")
            .count(),
        None => usize::from(!interrupted),
    };
    let holders = holders(case, key);
    // Whoever gave up for good, or was stopped in between, has recorded no call of its own.
    let unfinished = holders - usize::from(step.succeeded());
    verdict.hold(requests.len() <= tries + unfinished, || {
        format!(
            "{key}: {} calls for {tries} tries by {holders} holders: {requests:?}",
            requests.len()
        )
    });
    verdict.tally.repeated += requests.len().saturating_sub(tries.max(1));
    if step.succeeded() {
        let hit = step.output["body"]["hit"].as_u64().unwrap_or(0);
        let answered = hit >= 1
            && requests
                .get(hit as usize - 1)
                .is_some_and(|one| one.answered == Some(200));
        verdict.hold(answered, || {
            format!("{key}: the answer on record is none of {requests:?}")
        });
    }
    if step.node_id == "pay" {
        verdict.hold(requests.len() <= 1, || {
            format!("{key} was to be sent once: {requests:?}")
        });
    }
}

/// How many leases there were while this effect was the one to come.
fn holders(case: &Case<'_>, key: &str) -> usize {
    let states = case
        .run
        .journal
        .iter()
        .filter(|entry| entry.what == "state");
    let tokens: BTreeSet<&str> = states
        .filter(|entry| entry.after["effect_key"] == key)
        .filter_map(|entry| entry.after["lease_token"].as_str())
        .collect();
    tokens.len()
}

/// After the answer to a stop or a pause no effect begins but the one already entered.
fn nothing_new_after(case: &Case<'_>, verb: Verb, answered_at: i64, verdict: &mut Verdict) {
    let column = match verb {
        Verb::Resume => return,
        Verb::Pause => "hold",
        Verb::Stop => "control",
    };
    let states: Vec<&Entry> = case
        .run
        .journal
        .iter()
        .filter(|entry| entry.what == "state")
        .collect();
    let set = |entry: &&Entry| {
        entry.before[column] != 1 && entry.after[column] == 1 && entry.at <= answered_at
    };
    // Not found: there was no lease, and the execution ended or was held on the spot.
    let Some(place) = states.iter().rposition(set) else {
        return;
    };
    let until = states[place + 1..]
        .iter()
        .find(|entry| entry.after[column] != 1);
    let until = until
        .filter(|_| verb == Verb::Pause)
        .map_or(i64::MAX, |entry| entry.at);
    verdict.tally.commands += 1;
    for (key, requests) in &case.requests {
        let first = requests[0].arrived_at;
        let new = first > answered_at && first < until && states[place].after["effect_key"] != *key;
        verdict.hold(!new, || {
            format!("{key} was called at {first}, after {verb:?} was answered at {answered_at}: {requests:?}")
        });
    }
}
