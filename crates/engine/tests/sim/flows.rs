//! The schemas of a bad day.

use serde_json::{Value, json};

pub(crate) const SLEEP_SECONDS: i64 = 20;
/// Strict chains under way at once; of the loops it is one of each key.
pub(crate) const STRICT_AT_ONCE: usize = 3;

/// Nine steps: effects, retries, a sleep, an event with a timeout. `strict` hands over after every node.
pub(crate) fn chain(strict: bool) -> Value {
    let name = if strict { "chain-strict" } else { "chain" };
    json!({
        "name": name,
        "settings": match strict {
            true => json!({"max_nodes_per_message": 1, "concurrency": {"limit": STRICT_AT_ONCE}}),
            false => json!({"max_nodes_per_message": 64}),
        },
        "nodes": [
            {"id": "start", "type": "start"},
            {"id": "first", "type": "effect", "config": {"value": "{{input.n}}"}},
            {"id": "note", "type": "note", "config": {"value": "{{steps.first.output.value}}"}},
            {"id": "shaky", "type": "effect", "config": {"fails": 2, "value": "{{variables.note}}"},
             "retry": {"max_attempts": 5, "delay": "1s", "backoff": "exponential", "jitter": true}},
            {"id": "nap", "type": "nap", "config": {"seconds": SLEEP_SECONDS}},
            {"id": "slow", "type": "effect", "config": {"takes": 3, "value": "{{steps.nap.runs}}"}, "timeout": "60s"},
            {"id": "event", "type": "event", "config": {"name": "go", "seconds": 90}},
            {"id": "late", "type": "effect", "config": {"value": "late"}},
            {"id": "last", "type": "effect", "config": {"value": "{{steps.event.status}}"}},
            {"id": "end", "type": "finish"},
        ],
        "edges": [
            edge("start", "first"), edge("first", "note"), edge("note", "shaky"), edge("shaky", "nap"),
            edge("nap", "slow"), edge("slow", "event"), edge("event", "last"),
            {"source": "event", "target": "late", "sourceHandle": "timeout"},
            edge("late", "last"), edge("last", "end"),
        ],
    })
}

/// Three rounds of a loop with an effect in each.
pub(crate) fn looping() -> Value {
    json!({
        "name": "looping",
        "settings": {"concurrency": {"limit": 1, "key": "{{input.n % 2}}"}},
        "nodes": [
            {"id": "start", "type": "start"},
            {"id": "count", "type": "count"},
            {"id": "work", "type": "effect", "config": {"value": "{{variables.count}}"}},
            {"id": "again", "type": "again", "config": {"limit": 4}},
            {"id": "end", "type": "finish"},
        ],
        "edges": [
            edge("start", "count"), edge("count", "work"), edge("work", "again"),
            {"source": "again", "target": "count", "sourceHandle": "true"},
            {"source": "again", "target": "end", "sourceHandle": "false"},
        ],
    })
}

/// A node that kills every worker that runs it.
pub(crate) fn poison() -> Value {
    json!({
        "name": "poison",
        "nodes": [
            {"id": "start", "type": "start"},
            {"id": "bomb", "type": "effect", "config": {"kills": true}},
            {"id": "end", "type": "finish"},
        ],
        "edges": [edge("start", "bomb"), edge("bomb", "end")],
    })
}

fn edge(source: &str, target: &str) -> Value {
    json!({"source": source, "target": target})
}
