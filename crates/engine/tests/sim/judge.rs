//! Reads what a schedule left behind and checks I1-I8 in its own words: nothing in here calls the engine or the
//! kernel's decisions.

use std::collections::{BTreeMap, BTreeSet};

use pawl_kernel::execution::{Execution, Status, Step, StepStatus};
use pawl_kernel::id::ExecutionId;
use pawl_testkit::model::{Dump, JournalEntry, Presence};
use serde_json::{Map, Value, json};

use crate::flows;
use crate::observer::Observer;

pub(crate) fn judge(
    observer: &Observer,
    dump: &Dump,
    journal: &[JournalEntry],
    ids: &[ExecutionId],
) {
    let found: BTreeSet<ExecutionId> = dump
        .executions
        .iter()
        .map(|execution| execution.head.id)
        .collect();
    if found != ids.iter().copied().collect() {
        observer.violation("the executions in the store are not those that were answered".into());
    }
    for execution in &dump.executions {
        let steps: Vec<Step> = dump
            .steps
            .get(&execution.head.id)
            .map(|rows| rows.iter().map(|(step, _)| step.clone()).collect())
            .unwrap_or_default();
        for problem in judge_execution(execution, &steps) {
            observer.violation(format!("{}: {problem}", execution.head.id));
        }
        judge_effects(observer, execution, &steps);
        judge_snapshots(observer, dump, execution, &steps);
    }
    judge_journal(observer, journal);
    judge_places(observer, dump);
}

/// Whoever has ended holds no place in a quota.
fn judge_places(observer: &Observer, dump: &Dump) {
    let open: BTreeSet<ExecutionId> = dump
        .executions
        .iter()
        .filter(|execution| !execution.head.status.is_terminal())
        .map(|execution| execution.head.id)
        .collect();
    for (quota, id) in &dump.holders {
        if !open.contains(id) {
            observer.violation(format!("{id} has ended and still holds {quota}"));
        }
    }
}

/// A limit is never exceeded, at no instant: walked over who came and who went, with the limits as they were written.
pub(crate) fn judge_limits(
    observer: &Observer,
    executions: &[Execution],
    comings_and_goings: &[(ExecutionId, Presence)],
) {
    let by_id: BTreeMap<ExecutionId, &Execution> = executions
        .iter()
        .map(|execution| (execution.head.id, execution))
        .collect();
    let mut present: BTreeMap<String, BTreeSet<ExecutionId>> = BTreeMap::new();
    for (id, presence) in comings_and_goings {
        let Some((quota, limit)) = by_id.get(id).and_then(|execution| limit_of(execution)) else {
            continue;
        };
        let there = present.entry(quota.clone()).or_default();
        match presence {
            Presence::Went => drop(there.remove(id)),
            Presence::Came => drop(there.insert(*id)),
        }
        if there.len() > limit {
            let many = there.len();
            observer.violation(format!("{many} at once where {quota} allows {limit}"));
        }
    }
}

fn limit_of(execution: &Execution) -> Option<(String, usize)> {
    match execution.head.schema_id.0.as_u128() {
        2 => Some(("strict chains".into(), flows::STRICT_AT_ONCE)),
        3 => {
            let initial: Value = serde_json::from_str(&execution.record.initial).unwrap();
            let key = initial["input"]["n"].as_i64().unwrap() % 2;
            Some((format!("loops of {key}"), 1))
        }
        _ => None,
    }
}

fn judge_execution(execution: &Execution, steps: &[Step]) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if step.seq != index as u64 + 1 {
            problems.push(format!(
                "I1: step {} stands at place {}",
                step.seq,
                index + 1
            ));
        }
    }
    problems.extend(judge_path(execution, steps));
    problems.extend(steps.iter().filter_map(judge_sleep));
    problems.extend(judge_end(execution, steps));
    problems
}

/// I1: every step is a legal move in the pinned version, walked over the flow as it was written.
fn judge_path(execution: &Execution, steps: &[Step]) -> Vec<String> {
    let flow = flow_of(execution);
    let legal = |from: &str, to: &str| {
        flow["edges"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|edge| edge["source"] == from && edge["target"] == to)
    };
    let mut problems = Vec::new();
    if steps.first().is_some_and(|step| &*step.node_id != "start") {
        problems.push("I1: the first step is not the start".into());
    }
    for pair in steps.windows(2) {
        if !legal(&pair[0].node_id, &pair[1].node_id) {
            problems.push(format!(
                "I1: no edge from {} to {}",
                pair[0].node_id, pair[1].node_id
            ));
        }
        if pair[0].next_node_id.as_deref() != Some(&*pair[1].node_id) {
            problems.push(format!(
                "I1: step {} announced {:?}",
                pair[0].seq, pair[0].next_node_id
            ));
        }
    }
    problems
}

fn flow_of(execution: &Execution) -> Value {
    match execution.head.schema_id.0.as_u128() {
        1 => flows::chain(false),
        2 => flows::chain(true),
        3 => flows::looping(),
        _ => flows::poison(),
    }
}

/// I7: a timer never fires early.
fn judge_sleep(step: &Step) -> Option<String> {
    if &*step.node_type != "nap" || step.status != StepStatus::Success {
        return None;
    }
    let slept = step.finished_at.as_micros() - step.started_at.as_micros();
    (slept < flows::SLEEP_SECONDS * 1_000_000).then(|| format!("I7: slept {slept} us only"))
}

fn judge_end(execution: &Execution, steps: &[Step]) -> Option<String> {
    let last = steps.last();
    match execution.head.status {
        Status::Completed if last.is_none_or(|step| &*step.node_id != "end") => {
            Some("completed without having reached the end".into())
        }
        Status::Failed => Some(format!("failed: {:?}", execution.record.error)),
        // An execution whose workers die again and again by bad luck looks just like one that kills them.
        Status::FailedStuck => None,
        Status::Completed if execution.head.schema_id.0.as_u128() == 4 => {
            Some("the poison was survived".into())
        }
        status if !status.is_terminal() => Some(format!("I2: still {}", status.name())),
        _ => None,
    }
}

/// I4: every recorded effect was called. (The observer has seen to the rest.)
fn judge_effects(observer: &Observer, execution: &Execution, steps: &[Step]) {
    for step in steps
        .iter()
        .filter(|step| &*step.node_type == "effect" && step.status == StepStatus::Success)
    {
        let key = format!("{}:{}", execution.head.id, step.seq);
        if !observer.with(|seen| seen.calls.contains_key(&key)) {
            observer.violation(format!("I4: {key} is recorded and was never called"));
        }
    }
}

/// I8: every snapshot is the fold of the steps up to it.
fn judge_snapshots(observer: &Observer, dump: &Dump, execution: &Execution, steps: &[Step]) {
    for snapshot in dump.snapshots.get(&execution.head.id).into_iter().flatten() {
        let stored: Value = serde_json::from_str(&snapshot.context).unwrap();
        let expected = fold(&steps[..snapshot.seq as usize]);
        if stored != expected {
            observer.violation(format!(
                "I8: the snapshot of {} at {} is not the fold",
                execution.head.id, snapshot.seq
            ));
        }
    }
    // What the expressions of the chain saw is in the steps' inputs: the note must be what the first effect gave.
    let outputs: BTreeMap<&str, &Step> = steps.iter().map(|step| (&*step.node_id, step)).collect();
    if let (Some(first), Some(note)) = (outputs.get("first"), outputs.get("note")) {
        let given: Value = serde_json::from_str(first.output.as_deref().unwrap()).unwrap();
        let kept: Value = serde_json::from_str(note.changes.as_deref().unwrap()).unwrap();
        if given["value"] != kept["note"] {
            observer.violation(format!(
                "I8: {} noted another value than it was given",
                execution.head.id
            ));
        }
    }
}

/// The fold in the judge's own words.
fn fold(steps: &[Step]) -> Value {
    let (mut visits, mut variables) = (Map::new(), Map::new());
    for step in steps {
        let parse = |text: &Option<String>| {
            text.as_deref()
                .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
        };
        let runs = visits
            .get(&*step.node_id)
            .map_or(0, |visit: &Value| visit["runs"].as_u64().unwrap())
            + 1;
        visits.insert(
            step.node_id.to_string(),
            json!({"output": parse(&step.output), "status": step.status.name(), "error": parse(&step.error), "runs": runs}),
        );
        if let Value::Object(changes) = parse(&step.changes) {
            variables.extend(changes);
        }
    }
    json!({"steps": visits, "variables": variables})
}

/// I3: a commit carries the token that was current, and the steps of one execution are committed in order.
fn judge_journal(observer: &Observer, journal: &[JournalEntry]) {
    let mut last: BTreeMap<ExecutionId, u64> = BTreeMap::new();
    for entry in journal {
        if entry.row_token != Some(entry.token) || entry.row_seq != entry.expected_seq {
            observer.violation(format!(
                "I3: a commit of {} carried a token that was not current",
                entry.execution_id
            ));
        }
        if entry.row_ended {
            observer.violation(format!(
                "I5: {} was committed to after its end",
                entry.execution_id
            ));
        }
        let seq = last.entry(entry.execution_id).or_insert(0);
        if entry.expected_seq != *seq || entry.new_seq < *seq {
            observer.violation(format!(
                "I3: a commit of {} went from {} to {} after {seq}",
                entry.execution_id, entry.expected_seq, entry.new_seq
            ));
        }
        *seq = entry.new_seq;
    }
}
