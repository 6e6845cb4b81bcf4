//! Two runs side by side: the first step at which they part, what differs, and what took longer.

use std::collections::{BTreeMap, BTreeSet};

use pawl_kernel::context::difference;
use pawl_kernel::execution::Step;
use serde_json::{Value, json};

/// Compares runs step by step, matching visits by node and by how often it was visited.
pub fn compare(left: &[Step], right: &[Step]) -> Value {
    let (a, b) = (numbered(left), numbered(right));
    let others: BTreeMap<(&str, u32), &Step> = b.iter().map(|(key, step)| (*key, *step)).collect();
    let known: BTreeSet<(&str, u32)> = a.iter().map(|(key, _)| *key).collect();
    let pairs: Vec<Value> = a
        .iter()
        .map(|(key, step)| pair(key, Some(step), others.get(key).copied()))
        .chain(
            b.iter()
                .filter(|(key, _)| !known.contains(key))
                .map(|(key, step)| pair(key, None, Some(step))),
        )
        .collect();
    json!({
        "same_path": path(left) == path(right),
        "first_divergence": first_divergence(left, right),
        "steps": pairs,
        "duration_ms": {"left": total_ms(left), "right": total_ms(right)},
    })
}

fn numbered(steps: &[Step]) -> Vec<((&str, u32), &Step)> {
    let mut visits: BTreeMap<&str, u32> = BTreeMap::new();
    steps
        .iter()
        .map(|step| {
            let visit = visits.entry(&step.node_id).or_default();
            *visit += 1;
            ((&*step.node_id, *visit), step)
        })
        .collect()
}

fn path(steps: &[Step]) -> Vec<&str> {
    steps.iter().map(|step| &*step.node_id).collect()
}

/// The first place where the path, the status or a value differs.
fn first_divergence(left: &[Step], right: &[Step]) -> Value {
    let longest = left.len().max(right.len());
    for index in 0..longest {
        let (a, b) = (left.get(index), right.get(index));
        let what = match (a, b) {
            (Some(a), Some(b)) if a.node_id != b.node_id => "path",
            (Some(a), Some(b)) if a.status != b.status => "status",
            (Some(a), Some(b)) if result(a) != result(b) => "output",
            (Some(a), Some(b)) if a.error != b.error => "error",
            (Some(_), Some(_)) => continue,
            _ => "length",
        };
        return json!({
            "index": index + 1,
            "what": what,
            "left": a.map(|step| json!({"seq": step.seq, "node_id": &*step.node_id})),
            "right": b.map(|step| json!({"seq": step.seq, "node_id": &*step.node_id})),
        });
    }
    Value::Null
}

/// The output without response headers: dates and request ids differ between any two calls.
fn result(step: &Step) -> Value {
    let mut output = payload(step)["output"].take();
    if let Some(fields) = output.as_object_mut() {
        fields.shift_remove("headers");
    }
    output
}

fn pair(key: &(&str, u32), left: Option<&Step>, right: Option<&Step>) -> Value {
    let difference = match (left, right) {
        (Some(a), Some(b)) => difference(&payload(a), &payload(b)),
        _ => Vec::new(),
    };
    json!({
        "node_id": key.0,
        "visit": key.1,
        "left": left.map(brief),
        "right": right.map(brief),
        "same": left.is_some() && right.is_some() && difference.is_empty(),
        "difference": difference,
    })
}

fn brief(step: &Step) -> Value {
    json!({"seq": step.seq, "status": step.status.name(), "duration_ms": step_ms(step)})
}

fn payload(step: &Step) -> Value {
    let parse = |text: &Option<String>| -> Value {
        text.as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or(Value::Null)
    };
    json!({
        "status": step.status.name(),
        "input": parse(&step.input),
        "output": parse(&step.output),
        "changes": parse(&step.changes),
        "error": parse(&step.error),
    })
}

fn step_ms(step: &Step) -> f64 {
    step.finished_at.since(step.started_at).as_micros() as f64 / 1000.0
}

fn total_ms(steps: &[Step]) -> f64 {
    match (steps.first(), steps.last()) {
        (Some(first), Some(last)) => {
            last.finished_at.since(first.started_at).as_micros() as f64 / 1000.0
        }
        _ => 0.0,
    }
}
