//! The schemas of the storm: one per kind of moment a kill can hit.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Three slow effects, each built from the answer to the one before.
    Chain,
    Nap,
    /// Retry delays short enough to be waited for under the lease.
    ShortRetry,
    /// Retry delays that become a wait with a timer.
    LongRetry,
    /// Two events of the same name, one after the other.
    Events,
    /// An event that may come too late.
    Deadline,
    /// Nothing but pure nodes.
    Loop,
    /// An effect that must not be repeated.
    Once,
}

impl Flow {
    pub(crate) const ALL: [Self; 8] = [
        Self::Chain,
        Self::Nap,
        Self::ShortRetry,
        Self::LongRetry,
        Self::Events,
        Self::Deadline,
        Self::Loop,
        Self::Once,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chain => "crash-chain",
            Self::Nap => "crash-nap",
            Self::ShortRetry => "crash-short-retry",
            Self::LongRetry => "crash-long-retry",
            Self::Events => "crash-events",
            Self::Deadline => "crash-deadline",
            Self::Loop => "crash-loop",
            Self::Once => "crash-once",
        }
    }

    /// The schema, calling the service at `sink`.
    pub(crate) fn schema(self, sink: &str) -> Value {
        let (nodes, edges) = match self {
            Self::Chain => chain(sink),
            Self::Nap => nap(sink),
            Self::ShortRetry => retry(sink, 2, "400ms"),
            Self::LongRetry => retry(sink, 1, "2s"),
            Self::Events => events(sink),
            Self::Deadline => deadline(),
            Self::Loop => pure_loop(),
            Self::Once => once(sink),
        };
        let edges: Vec<Value> = edges.into_iter().map(edge).collect();
        json!({"name": self.name(), "nodes": nodes, "edges": edges})
    }
}

/// Source, its exit, target.
type Edge = (&'static str, &'static str, &'static str);

fn edge((source, handle, target): Edge) -> Value {
    json!({"source": source, "target": target, "sourceHandle": handle})
}

/// A call whose request would change with every rendering, if rendering were not repeatable.
fn call(id: &str, sink: &str, query: &str, body: Value) -> Value {
    json!({"id": id, "type": "http_request", "config": {
        "method": "POST",
        "url": format!("{sink}/{id}?ms={{{{input.ms}}}}{query}"),
        "body": {"order": "{{input.n}}", "at": "{{now()}}", "token": "{{uuid()}}", "more": body},
    }})
}

fn chain(sink: &str) -> (Value, Vec<Edge>) {
    let nodes = json!([
        {"id": "start", "type": "start"},
        call("a", sink, "", json!(null)),
        {"id": "keep", "type": "variable_set", "config": {"variable": "hit", "value": "{{steps.a.output.body.hit}}"}},
        call("b", sink, "", json!({"first": "{{variables.hit}}", "headers": "{{steps.a.output.headers}}"})),
        call("c", sink, "", json!({"before": "{{steps.b.output.body}}"})),
        {"id": "end", "type": "end", "config": {"output": {"n": "{{input.n}}", "hit": "{{variables.hit}}"}}},
    ]);
    let edges = vec![
        ("start", "success", "a"),
        ("a", "success", "keep"),
        ("keep", "success", "b"),
        ("b", "success", "c"),
        ("c", "success", "end"),
    ];
    (nodes, edges)
}

fn nap(sink: &str) -> (Value, Vec<Edge>) {
    let nodes = json!([
        {"id": "start", "type": "start"},
        {"id": "nap", "type": "sleep", "config": {"duration": "{{input.nap}}"}},
        call("after", sink, "", json!("{{steps.nap.output}}")),
        {"id": "end", "type": "end", "config": {"output": {"n": "{{input.n}}"}}},
    ]);
    let edges = vec![
        ("start", "success", "nap"),
        ("nap", "success", "after"),
        ("after", "success", "end"),
    ];
    (nodes, edges)
}

fn retry(sink: &str, failures: usize, delay: &str) -> (Value, Vec<Edge>) {
    let mut flaky = call("flaky", sink, &format!("&fail={failures}"), json!(null));
    flaky["retry"] =
        json!({"max_attempts": 50, "delay": delay, "backoff": "fixed", "jitter": false});
    let nodes = json!([
        {"id": "start", "type": "start"},
        flaky,
        {"id": "end", "type": "end", "config": {"output": {"n": "{{input.n}}"}}},
    ]);
    let edges = vec![("start", "success", "flaky"), ("flaky", "success", "end")];
    (nodes, edges)
}

fn events(sink: &str) -> (Value, Vec<Edge>) {
    let wait = |id: &str| {
        json!({
            "id": id, "type": "wait_event", "config": {"name": "go", "timeout": "1h"},
        })
    };
    let nodes = json!([
        {"id": "start", "type": "start"},
        call("ask", sink, "", json!(null)),
        wait("first"),
        wait("second"),
        {"id": "end", "type": "end", "config": {"output": {
            "n": "{{input.n}}",
            "first": "{{steps.first.output.payload}}",
            "second": "{{steps.second.output.payload}}",
        }}},
    ]);
    let edges = vec![
        ("start", "success", "ask"),
        ("ask", "success", "first"),
        ("first", "success", "second"),
        ("second", "success", "end"),
    ];
    (nodes, edges)
}

fn deadline() -> (Value, Vec<Edge>) {
    let nodes = json!([
        {"id": "start", "type": "start"},
        {"id": "first", "type": "wait_event", "config": {"name": "go", "timeout": "{{input.patience}}"}},
        {"id": "in_time", "type": "end", "config": {"output": {"n": "{{input.n}}", "in_time": true}}},
        {"id": "too_late", "type": "end", "config": {"output": {"n": "{{input.n}}", "in_time": false}}},
    ]);
    let edges = vec![
        ("start", "success", "first"),
        ("first", "success", "in_time"),
        ("first", "timeout", "too_late"),
    ];
    (nodes, edges)
}

fn pure_loop() -> (Value, Vec<Edge>) {
    let nodes = json!([
        {"id": "start", "type": "start"},
        {"id": "zero", "type": "variable_set", "config": {"variable": "i", "value": 0}},
        {"id": "add", "type": "math", "config": {
            "operation": "add", "operand1": "{{variables.i}}", "operand2": 1, "result_variable": "i",
        }},
        {"id": "say", "type": "log", "config": {"message": "{{variables.i}} of {{input.rounds}}"}},
        {"id": "more", "type": "condition", "config": {"expression": "{{variables.i}} < {{input.rounds}}"}},
        {"id": "end", "type": "end", "config": {"output": {"n": "{{input.n}}", "i": "{{variables.i}}"}}},
    ]);
    let edges = vec![
        ("start", "success", "zero"),
        ("zero", "success", "add"),
        ("add", "success", "say"),
        ("say", "success", "more"),
        ("more", "true", "add"),
        ("more", "false", "end"),
    ];
    (nodes, edges)
}

fn once(sink: &str) -> (Value, Vec<Edge>) {
    let mut pay = call("pay", sink, "", json!(null));
    pay["on_interrupt"] = json!("fail");
    let nodes = json!([
        {"id": "start", "type": "start"},
        pay,
        {"id": "paid", "type": "end", "config": {"output": {"n": "{{input.n}}", "paid": true}}},
        {"id": "unclear", "type": "end", "config": {"output": {
            "n": "{{input.n}}", "paid": "{{steps.pay.error.code}}",
        }}},
    ]);
    let edges = vec![
        ("start", "success", "pay"),
        ("pay", "success", "paid"),
        ("pay", "error", "unclear"),
    ];
    (nodes, edges)
}
