//! The schemas that the cases run.

use serde_json::{Value, json};

/// `start`, then a call of each of these paths in the outside world, then `end`.
pub(crate) fn calls(name: &str, world: &str, paths: &[&str]) -> Value {
    let call = |path: &&str| {
        json!({"id": path.split('?').next(), "type": "http_request", "timeout": "2m", "config": {
            "method": "POST", "url": format!("{world}/{path}"),
        }})
    };
    chain(name, paths.iter().map(call).collect())
}

/// These nodes one after the other, between `start` and `end`.
pub(crate) fn chain(name: &str, between: Vec<Value>) -> Value {
    let mut nodes = vec![json!({"id": "start", "type": "start"})];
    nodes.extend(between);
    nodes.push(json!({"id": "end", "type": "end"}));
    let edges: Vec<Value> = nodes
        .windows(2)
        .map(|pair| json!({"source": pair[0]["id"], "target": pair[1]["id"]}))
        .collect();
    json!({"name": name, "nodes": nodes, "edges": edges})
}

/// One node, one message.
pub(crate) fn strict(mut definition: Value) -> Value {
    definition["settings"]["max_nodes_per_message"] = json!(1);
    definition
}

/// The example of the first seed: start, HTTP, condition, variable, end.
pub(crate) fn seed(name: &str, world: &str) -> Value {
    strict(json!({
        "name": name,
        "nodes": [
            {"id": "start", "type": "start"},
            {"id": "http_1", "type": "http_request", "config": {"method": "GET", "url": format!("{world}/users")}},
            {"id": "condition_1", "type": "condition",
             "config": {"expression": "{{steps.http_1.output.status_code}} == 200"}},
            {"id": "var_set_1", "type": "variable_set", "config": {"variable": "result", "value": "success"}},
            {"id": "end_1", "type": "end", "config": {"output": {"result": "{{variables.result}}"}}},
            {"id": "end_2", "type": "end", "config": {"success": false}},
        ],
        "edges": [
            {"source": "start", "target": "http_1"},
            {"source": "http_1", "target": "condition_1"},
            {"source": "condition_1", "target": "var_set_1", "sourceHandle": "true"},
            {"source": "condition_1", "target": "end_2", "sourceHandle": "false"},
            {"source": "var_set_1", "target": "end_1"},
        ],
    }))
}
