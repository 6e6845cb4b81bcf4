//! Two runs side by side: the first step at which they part, what differs, and what took longer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pawl_kernel::context::difference;
use pawl_kernel::digest::{Mark, mark};
use pawl_kernel::execution::{EDIT_NODE, Step, StepStatus};
use pawl_kernel::time::Timestamp;
use serde_json::{Value, json};

/// A visit as it is compared with another.
pub trait Visit {
    fn seq(&self) -> u64;
    fn node_id(&self) -> &str;
    fn status(&self) -> StepStatus;
    fn span(&self) -> (Timestamp, Timestamp);
    /// Did both give the same?
    fn same_result(&self, other: &Self) -> bool;
    fn same_error(&self, other: &Self) -> bool;
    /// Whether they saw and did the same, and what differs, or what there is of only one. Where only marks were kept it
    /// is not known what.
    fn contrast(one: Option<&Self>, other: Option<&Self>) -> (bool, Vec<Value>);
}

/// The steps of a run, those up to `base_seq` taken over from an earlier one.
pub struct Run<S = Step> {
    pub steps: Vec<S>,
    pub base_seq: u64,
}

impl<S: Visit> Run<S> {
    fn brief(&self, step: &S) -> Value {
        let mut shown = json!({
            "seq": step.seq(),
            "status": step.status().name(),
            "duration_ms": step_ms(step),
        });
        if step.seq() <= self.base_seq {
            shown["inherited"] = true.into();
        }
        shown
    }

    /// Of what the run did itself.
    fn total_ms(&self) -> f64 {
        let mut own = self.steps.iter().filter(|step| step.seq() > self.base_seq);
        let first = own.next();
        match (first, own.next_back().or(first)) {
            (Some(first), Some(last)) => {
                last.span().1.since(first.span().0).as_micros() as f64 / 1000.0
            }
            _ => 0.0,
        }
    }
}

/// Compares runs step by step, matching visits by node and by how often it was visited.
pub fn compare<S: Visit>(left: &Run<S>, right: &Run<S>) -> Value {
    let (a, b) = (numbered(&left.steps), numbered(&right.steps));
    let pair =
        |key: &(&str, u32), one: Option<&S>, other: Option<&S>| pair(left, right, *key, one, other);
    let others: BTreeMap<(&str, u32), &S> = b.iter().map(|(key, step)| (*key, *step)).collect();
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

/// One visit of a node in both runs, or in one of them.
pub fn pair<S: Visit>(
    left: &Run<S>,
    right: &Run<S>,
    (node_id, visit): (&str, u32),
    one: Option<&S>,
    other: Option<&S>,
) -> Value {
    let (same, difference) = S::contrast(one, other);
    json!({
        "node_id": node_id,
        "visit": visit,
        "left": one.map(|step| left.brief(step)),
        "right": other.map(|step| right.brief(step)),
        "same": same,
        "difference": difference,
    })
}

fn numbered<S: Visit>(steps: &[S]) -> Vec<((&str, u32), &S)> {
    let mut visits: BTreeMap<&str, u32> = BTreeMap::new();
    steps
        .iter()
        .map(|step| {
            let visit = visits.entry(step.node_id()).or_default();
            *visit += 1;
            ((step.node_id(), *visit), step)
        })
        .collect()
}

fn path<S: Visit>(steps: &[S]) -> Vec<&str> {
    steps.iter().map(S::node_id).collect()
}

/// The first place where the path, the status or a value differs.
fn first_divergence<S: Visit>(left: &[S], right: &[S]) -> Value {
    let longest = left.len().max(right.len());
    for index in 0..longest {
        let (a, b) = (left.get(index), right.get(index));
        let what = match (a, b) {
            (Some(a), Some(b)) if a.node_id() != b.node_id() => "path",
            (Some(a), Some(b)) if a.status() != b.status() => "status",
            (Some(a), Some(b)) if !a.same_result(b) => "output",
            (Some(a), Some(b)) if !a.same_error(b) => "error",
            (Some(_), Some(_)) => continue,
            _ => "length",
        };
        return json!({
            "index": index + 1,
            "what": what,
            "left": a.map(place),
            "right": b.map(place),
        });
    }
    Value::Null
}

fn place<S: Visit>(step: &S) -> Value {
    json!({"seq": step.seq(), "node_id": step.node_id()})
}

/// The output without response headers: dates and request ids differ between any two calls.
fn result(step: &Step) -> Value {
    let mut output = payload(step)["output"].take();
    if let Some(fields) = output.as_object_mut() {
        fields.shift_remove("headers");
    }
    output
}

/// The error, likewise.
fn failure(step: &Step) -> Value {
    let mut error = payload(step)["error"].take();
    let details = error.get_mut("details").and_then(Value::as_object_mut);
    if let Some(details) = details {
        details.shift_remove("headers");
    }
    error
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

fn step_ms<S: Visit>(step: &S) -> f64 {
    let (started, finished) = step.span();
    finished.since(started).as_micros() as f64 / 1000.0
}

impl Visit for Step {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn node_id(&self) -> &str {
        &self.node_id
    }

    fn status(&self) -> StepStatus {
        self.status
    }

    fn span(&self) -> (Timestamp, Timestamp) {
        (self.started_at, self.finished_at)
    }

    fn same_result(&self, other: &Self) -> bool {
        result(self) == result(other)
    }

    fn same_error(&self, other: &Self) -> bool {
        failure(self) == failure(other)
    }

    fn contrast(one: Option<&Self>, other: Option<&Self>) -> (bool, Vec<Value>) {
        let node_id = one.or(other).map_or("", |step| &*step.node_id);
        let difference = difference_of(node_id, one, other);
        let both = one.is_some() && other.is_some();
        (both && difference.is_empty(), difference)
    }
}

/// A step of which only marks are kept: enough to see whether two differ, and small enough for long runs.
pub struct MarkedStep {
    seq: u64,
    node_id: Arc<str>,
    status: StepStatus,
    span: (Timestamp, Timestamp),
    result: Mark,
    error: Mark,
    payload: Mark,
}

impl From<&Step> for MarkedStep {
    fn from(step: &Step) -> Self {
        Self {
            seq: step.seq,
            node_id: step.node_id.clone(),
            status: step.status,
            span: (step.started_at, step.finished_at),
            result: mark(&result(step)),
            error: mark(&failure(step)),
            payload: mark(&payload(step)),
        }
    }
}

impl Visit for MarkedStep {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn node_id(&self) -> &str {
        &self.node_id
    }

    fn status(&self) -> StepStatus {
        self.status
    }

    fn span(&self) -> (Timestamp, Timestamp) {
        self.span
    }

    fn same_result(&self, other: &Self) -> bool {
        self.result == other.result
    }

    fn same_error(&self, other: &Self) -> bool {
        self.error == other.error
    }

    fn contrast(one: Option<&Self>, other: Option<&Self>) -> (bool, Vec<Value>) {
        let same = one.zip(other);
        let same = same.is_some_and(|(one, other)| one.payload == other.payload);
        (same, Vec::new())
    }
}
