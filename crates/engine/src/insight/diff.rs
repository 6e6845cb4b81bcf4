//! Two runs side by side: the first step at which they part, what differs, and what took longer.

use std::collections::{BTreeMap, BTreeSet};

use pawl_kernel::context::difference;
use pawl_kernel::execution::{EDIT_NODE, Step};
use serde_json::{Value, json};

/// The steps of a run, those up to `base_seq` taken over from an earlier one.
pub struct Run {
    pub steps: Vec<Step>,
    pub base_seq: u64,
}

impl Run {
    fn brief(&self, step: &Step) -> Value {
        let mut shown =
            json!({"seq": step.seq, "status": step.status.name(), "duration_ms": step_ms(step)});
        if step.seq <= self.base_seq {
            shown["inherited"] = true.into();
        }
        shown
    }

    /// Of what the run did itself.
    fn total_ms(&self) -> f64 {
        let mut own = self.steps.iter().filter(|step| step.seq > self.base_seq);
        let first = own.next();
        match (first, own.next_back().or(first)) {
            (Some(first), Some(last)) => {
                last.finished_at.since(first.started_at).as_micros() as f64 / 1000.0
            }
            _ => 0.0,
        }
    }
}

/// Compares runs step by step, matching visits by node and by how often it was visited.
pub fn compare(left: &Run, right: &Run) -> Value {
    let (a, b) = (numbered(&left.steps), numbered(&right.steps));
    let pair = |key: &(&str, u32), one: Option<&Step>, other: Option<&Step>| {
        let difference = difference_of(key.0, one, other);
        json!({
            "node_id": key.0,
            "visit": key.1,
            "left": one.map(|step| left.brief(step)),
            "right": other.map(|step| right.brief(step)),
            "same": one.is_some() && other.is_some() && difference.is_empty(),
            "difference": difference,
        })
    };
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
        "same_path": path(&left.steps) == path(&right.steps),
        "first_divergence": first_divergence(&left.steps, &right.steps),
        "steps": pairs,
        "duration_ms": {"left": left.total_ms(), "right": right.total_ms()},
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

/// An edit that only one run has is what they differ by.
fn difference_of(node_id: &str, left: Option<&Step>, right: Option<&Step>) -> Vec<Value> {
    let edited = |step: Option<&Step>| match step.map(payload) {
        Some(payload) => {
            json!({"variables": payload["changes"], "input": payload["output"]["input"]})
        }
        None => json!({"variables": null, "input": null}),
    };
    match (left, right) {
        (Some(left), Some(right)) => difference(&payload(left), &payload(right)),
        _ if node_id == EDIT_NODE => difference(&edited(left), &edited(right)),
        _ => Vec::new(),
    }
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
