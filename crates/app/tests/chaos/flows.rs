//! The schemas of the storm: one per kind of moment a fault can hit.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flow {
    /// Nothing but pure nodes: a loop around a switch.
    Pure,
    /// Three slow effects, each built from the answer to the one before.
    Chain,
    /// The same with one node per message.
    Strict,
    /// Retry delays short enough to be waited for under the lease.
    ShortRetry,
    /// Retry delays that become a wait with a timer.
    LongRetry,
    Nap,
    /// Two events of the same name, one after the other.
    Events,
    /// An event that may come too late.
    Deadline,
    /// An effect that must not be repeated.
    Once,
    /// Ends as stuck when its worker is lost.
    Brittle,
}

impl Flow {
    pub(crate) const ALL: [Self; 10] = [
        Self::Pure,
        Self::Chain,
        Self::Strict,
        Self::ShortRetry,
        Self::LongRetry,
        Self::Nap,
        Self::Events,
        Self::Deadline,
        Self::Once,
        Self::Brittle,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pure => "storm-pure",
            Self::Chain => "storm-chain",
            Self::Strict => "storm-strict",
            Self::ShortRetry => "storm-short-retry",
            Self::LongRetry => "storm-long-retry",
            Self::Nap => "storm-nap",
            Self::Events => "storm-events",
            Self::Deadline => "storm-deadline",
            Self::Once => "storm-once",
            Self::Brittle => "storm-brittle",
        }
    }

    /// The schema, calling the service at `sink`.
    pub(crate) fn schema(self, sink: &str) -> Value {
        let (nodes, edges) = match self {
            Self::Pure => pure(),
            Self::Chain | Self::Strict => chain(sink),
            Self::ShortRetry => retry(sink, 2, "300ms"),
            Self::LongRetry => retry(sink, 1, "2s"),
            Self::Nap => nap(sink),
            Self::Events => events(sink),
            Self::Deadline => deadline(),
            Self::Once => once(sink),
            Self::Brittle => straight(vec![call("only", sink, "", json!(null))]),
        };
        let settings = match self {
            Self::Strict => json!({"max_nodes_per_message": 1}),
            Self::Brittle => json!({"on_stuck": "fail"}),
            _ => json!({}),
        };
        let edge = |(source, handle, target): Edge| json!({"source": source, "target": target, "sourceHandle": handle});
        let edges: Vec<Value> = edges.into_iter().map(edge).collect();
        json!({"name": self.name(), "settings": settings, "nodes": nodes, "edges": edges})
    }
}

/// Source, its exit, target.
type Edge = (String, &'static str, String);

fn edge(source: &str, handle: &'static str, target: &str) -> Edge {
    (source.into(), handle, target.into())
}

/// Start, these nodes, end.
fn straight(nodes: Vec<Value>) -> (Value, Vec<Edge>) {
    let start = json!({"id": "start", "type": "start"});
    let end = json!({"id": "end", "type": "end", "config": {"output": {"n": "{{input.n}}"}}});
    let all: Vec<Value> = [start].into_iter().chain(nodes).chain([end]).collect();
    let id = |node: &Value| node["id"].as_str().unwrap().to_owned();
    let edges = all
        .windows(2)
        .map(|pair| (id(&pair[0]), "success", id(&pair[1])))
        .collect();
    (Value::Array(all), edges)
}

/// A call whose request would change with every rendering, if rendering were not repeatable.
fn call(id: &str, sink: &str, query: &str, body: Value) -> Value {
    json!({"id": id, "type": "http_request", "config": {
        "method": "POST",
        "url": format!("{sink}/{id}?ms={{{{input.ms}}}}{query}"),
        "body": {"order": "{{input.n}}", "at": "{{now()}}", "token": "{{uuid()}}", "more": body},
    }})
}

fn set(id: &str, value: &str) -> Value {
    json!({"id": id, "type": "variable_set", "config": {"variable": id, "value": value}})
}

fn chain(sink: &str) -> (Value, Vec<Edge>) {
    straight(vec![
        call("a", sink, "", json!(null)),
        set("hit", "{{steps.a.output.body.hit}}"),
        call(
            "b",
            sink,
            "",
            json!({"first": "{{variables.hit}}", "kept": "{{variables.kept}}"}),
        ),
        call("c", sink, "", json!({"before": "{{steps.b.output.body}}"})),
    ])
}

fn retry(sink: &str, failures: usize, delay: &str) -> (Value, Vec<Edge>) {
    let mut flaky = call("flaky", sink, &format!("&fail={failures}"), json!(null));
    flaky["retry"] =
        json!({"max_attempts": 50, "delay": delay, "backoff": "fixed", "jitter": false});
    straight(vec![flaky])
}

fn nap(sink: &str) -> (Value, Vec<Edge>) {
    let nap = json!({"id": "nap", "type": "sleep", "config": {"duration": "{{input.nap}}"}});
    straight(vec![
        nap,
        call("after", sink, "", json!("{{steps.nap.output}}")),
    ])
}

fn events(sink: &str) -> (Value, Vec<Edge>) {
    let wait = |id: &str| json!({"id": id, "type": "wait_event", "config": {"name": "go", "timeout": "1h"}});
    let both = "{{[steps.first.output.payload, steps.second.output.payload]}}";
    straight(vec![
        call("ask", sink, "", json!(null)),
        wait("first"),
        wait("second"),
        set("both", both),
    ])
}

fn deadline() -> (Value, Vec<Edge>) {
    let nodes = json!([
        {"id": "start", "type": "start"},
        {"id": "first", "type": "wait_event", "config": {"name": "go", "timeout": "{{input.patience}}"}},
        {"id": "in_time", "type": "end", "config": {"output": {"n": "{{input.n}}", "in_time": true}}},
        {"id": "too_late", "type": "end", "config": {"output": {"n": "{{input.n}}", "in_time": false}}},
    ]);
    let edges = vec![
        edge("start", "success", "first"),
        edge("first", "success", "in_time"),
        edge("first", "timeout", "too_late"),
    ];
    (nodes, edges)
}

/// Counts to `rounds`, and counts beside it by what the number leaves when divided by three.
fn pure() -> (Value, Vec<Edge>) {
    let count = |id: &str, variable: &str| {
        json!({"id": id, "type": "math", "config": {
            "operation": "add", "operand1": format!("{{{{variables.{variable}}}}}"), "operand2": 1,
            "result_variable": variable,
        }})
    };
    let zeroes = json!({"i": 0, "none": 0, "one": 0, "two": 0});
    let nodes = json!([
        {"id": "start", "type": "start"},
        {"id": "zero", "type": "transform", "config": {"set": zeroes}},
        count("add", "i"),
        {"id": "rest", "type": "switch", "config": {"value": "{{variables.i % 3}}", "cases": [
            {"name": "none", "when": "0"}, {"name": "one", "when": "1"},
        ]}},
        count("by_none", "none"),
        count("by_one", "one"),
        count("by_default", "two"),
        {"id": "more", "type": "condition", "config": {"expression": "{{variables.i}} < {{input.rounds}}"}},
        {"id": "end", "type": "end", "config": {"output": {
            "n": "{{input.n}}", "i": "{{variables.i}}",
            "rests": "{{[variables.none, variables.one, variables.two]}}",
        }}},
    ]);
    let edges = vec![
        edge("start", "success", "zero"),
        edge("zero", "success", "add"),
        edge("add", "success", "rest"),
        edge("rest", "none", "by_none"),
        edge("rest", "one", "by_one"),
        edge("rest", "default", "by_default"),
        edge("by_none", "success", "more"),
        edge("by_one", "success", "more"),
        edge("by_default", "success", "more"),
        edge("more", "true", "add"),
        edge("more", "false", "end"),
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
        edge("start", "success", "pay"),
        edge("pay", "success", "paid"),
        edge("pay", "error", "unclear"),
    ];
    (nodes, edges)
}
