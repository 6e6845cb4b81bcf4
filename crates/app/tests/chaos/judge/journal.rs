//! What triggers saw: one writer at a time, nobody without the lease, nothing after the end, no timer early.

use serde_json::Value;

use super::history::moment;
use super::{Case, Verdict};
use crate::rows::{Entry, TERMINAL};

/// The clocks of the processes follow the database's to within this, in microseconds.
const CLOCK_ERROR: i64 = 50_000;

pub(super) fn check(case: &Case<'_>, verdict: &mut Verdict) {
    let of = |what: &str| -> Vec<&Entry> {
        case.run
            .journal
            .iter()
            .filter(|entry| entry.what == what)
            .collect()
    };
    let (states, statuses) = (of("state"), of("status"));
    let strange = case.run.journal.len() - states.len() - statuses.len();
    verdict.hold(strange == 0, || {
        format!(
            "{}: rows were changed in silence, or steps rewritten",
            case.run.id
        )
    });
    one_end(case, &statuses, verdict);
    unbroken(case, &states, verdict);
    for (place, entry) in states.iter().enumerate() {
        let last = place + 1 == states.len();
        commit(case, entry, last, verdict);
        lease(case, entry, verdict);
        if !last {
            wait(case, entry, verdict);
        }
    }
}

/// A terminal status never changes.
fn one_end(case: &Case<'_>, statuses: &[&Entry], verdict: &mut Verdict) {
    let terminal = |row: &Value| {
        row["status"]
            .as_i64()
            .is_some_and(|status| TERMINAL.contains(&status))
    };
    let left = statuses.iter().find(|entry| terminal(&entry.before));
    verdict.hold(left.is_none(), || {
        let change = left.map(|entry| (&entry.before, &entry.after, &entry.writer));
        format!("{} had ended and changed: {change:?}", case.run.id)
    });
    let ends = statuses
        .iter()
        .filter(|entry| terminal(&entry.after))
        .count();
    verdict.hold(ends == 1, || format!("{} ended {ends} times", case.run.id));
}

/// Every change was made to what the change before had left.
fn unbroken(case: &Case<'_>, states: &[&Entry], verdict: &mut Verdict) {
    let version = |row: &Value| row["version"].as_i64().unwrap();
    let mut expected = 1;
    for entry in states {
        let (before, after) = (version(&entry.before), version(&entry.after));
        verdict.hold(before == expected && after == before + 1, || {
            format!(
                "{}: version {before} became {after}, expected {expected}",
                case.run.id
            )
        });
        expected = after;
    }
    verdict.hold(version(&case.run.state) == expected, || {
        format!(
            "{}: version {}, {expected} by the journal",
            case.run.id, case.run.state["version"]
        )
    });
}

/// Only who holds the lease commits; whoever was told to stop or pause commits once more and lets go.
fn commit(case: &Case<'_>, entry: &Entry, last: bool, verdict: &mut Verdict) {
    let (id, before, after) = (&case.run.id, &entry.before, &entry.after);
    let seq = |row: &Value| row["seq"].as_i64().unwrap();
    let steps = seq(after) - seq(before);
    if before["commit_id"] == after["commit_id"] {
        let edit = steps == 1 && entry.writer.starts_with("server");
        verdict.hold(steps == 0 || edit, || {
            format!("{id}: {steps} steps without a commit by {}", entry.writer)
        });
        return;
    }
    verdict.tally.commits += 1;
    verdict.hold(steps >= 0, || {
        format!("{id}: seq went from {} to {}", seq(before), seq(after))
    });
    let owner = owner(case, before);
    verdict.hold(owner == Some(entry.writer.as_str()), || {
        format!(
            "{id}: {} committed, and the lease was {owner:?}'s: {before}",
            entry.writer
        )
    });
    effects_were_entered(case, before, seq(after), verdict);
    let let_go = after["lease_token"].is_null();
    let kept = after["lease_token"] == before["lease_token"];
    verdict.hold(let_go || kept, || {
        format!("{id}: a commit changed the lease: {before} {after}")
    });
    verdict.hold(before["hold"].is_null() || let_go, || {
        format!("{id} was held and went on: {before} {after}")
    });
    verdict.hold(before["control"].is_null() || last, || {
        format!("{id} was stopped and went on: {before} {after}")
    });
    // Editing the debugger's flag is left to the debugger, which stops after each step.
    let stepping = before["debug"].is_string();
    verdict.hold(!stepping || steps <= 1, || {
        format!("{id}: {steps} steps at once in the debugger")
    });
}

/// No step of an effect is committed unless its position and key were on disk before.
fn effects_were_entered(case: &Case<'_>, before: &Value, last: i64, verdict: &mut Verdict) {
    let first = before["seq"].as_i64().unwrap() + 1;
    for step in &case.run.steps {
        let effect = step.node_type == "http_request" && (first..=last).contains(&step.seq);
        let entered =
            step.seq == first && before["effect_key"] == format!("{}:{first}", case.run.id);
        verdict.hold(!effect || entered, || {
            format!(
                "{}: step {} was not entered before: {before}",
                case.run.id, step.seq
            )
        });
    }
}

/// Leases are taken when they are free or have run out, by those who then are named in them.
fn lease(case: &Case<'_>, entry: &Entry, verdict: &mut Verdict) {
    let (id, before, after) = (&case.run.id, &entry.before, &entry.after);
    if before["lease_token"] == after["lease_token"] || before["commit_id"] != after["commit_id"] {
        return;
    }
    let expired = || moment(&before["lease_until"]) <= entry.at + CLOCK_ERROR;
    let was_held = before["lease_token"].is_string();
    if after["lease_token"].is_null() {
        let by_owner = owner(case, before) == Some(entry.writer.as_str());
        verdict.tally.reaped += usize::from(!by_owner);
        verdict.hold(by_owner || expired(), || {
            format!(
                "{id}: {} took a live lease away at {}: {before}",
                entry.writer, entry.at
            )
        });
        return;
    }
    verdict.tally.claims += 1;
    verdict.tally.reaped += usize::from(was_held);
    let free = ["hold", "control", "wait_kind"]
        .iter()
        .all(|column| before[column].is_null());
    verdict.hold(free, || format!("{id}: claimed although {before}"));
    verdict.hold(!was_held || expired(), || {
        format!("{id}: a live lease was claimed at {}: {before}", entry.at)
    });
    let owner = owner(case, after);
    verdict.hold(owner == Some(entry.writer.as_str()), || {
        format!("{id}: {} claimed in the name of {owner:?}", entry.writer)
    });
}

/// The name of the process that the lease in this row is for: `host/pid`.
fn owner<'e>(case: &Case<'e>, row: &Value) -> Option<&'e str> {
    let pid = row["lease_owner"].as_str()?.rsplit('/').next()?;
    case.names.get(&pid.parse().ok()?).map(String::as_str)
}

/// A wait ends when its time has come, or when something has come for it.
fn wait(case: &Case<'_>, entry: &Entry, verdict: &mut Verdict) {
    let (before, after) = (&entry.before, &entry.after);
    let over = before["wait_id"].is_string() && after["wait_id"].is_null();
    let called = before["inbox"] != after["inbox"];
    if !over || called || before["wake_at"].is_null() {
        return;
    }
    let late = entry.at - moment(&before["wake_at"]);
    verdict.tally.timers += 1;
    verdict.tally.latest_timer = verdict.tally.latest_timer.max(late);
    verdict.hold(late >= -CLOCK_ERROR, || {
        format!(
            "{}: a timer fired {} µs early: {before}",
            case.run.id, -late
        )
    });
}
