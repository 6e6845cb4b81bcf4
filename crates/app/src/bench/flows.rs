//! The schemas that are measured, and a node type that does nothing, effectfully.

use std::sync::Arc;

use async_trait::async_trait;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome, Registry};
use serde_json::{Value, json};

use super::BenchError;
use crate::config::Config;
use crate::wiring;

/// Does nothing; the engine must treat it like any call to the outside.
struct NoEffect;

static SPEC: NodeSpec = NodeSpec {
    node_type: "bench_effect",
    title: "No effect",
    category: "bench",
    doc: "Does nothing, as an effectful node.",
    pure: false,
    handles: &[],
    fields: &[],
    output: "`{}`",
    example: "{}",
};

#[async_trait]
impl NodeHandler for NoEffect {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    async fn run(&self, _call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        Ok(Outcome::done(json!({"ok": true})))
    }
}

pub(super) fn registry() -> Result<Registry, BenchError> {
    let standard = wiring::registry(&Config::default(), true).map_err(BenchError::of)?;
    let mut handlers: Vec<Arc<dyn NodeHandler>> = standard.iter().cloned().collect();
    handlers.push(Arc::new(NoEffect));
    Ok(Registry::new(handlers))
}

/// Ten pure nodes of the kinds people use.
pub(super) fn pure_ten() -> Value {
    let nodes = [
        json!({"id": "start", "type": "start"}),
        json!({"id": "total", "type": "math", "config": {"operation": "add", "operand1": "{{input.n}}", "operand2": 7, "result_variable": "total"}}),
        json!({"id": "greeting", "type": "variable_set", "config": {"variable": "greeting", "value": "Hello {{input.name}}"}}),
        json!({"id": "large", "type": "condition", "config": {"expression": "{{variables.total}} > 3"}}),
        json!({"id": "shape", "type": "transform", "config": {"output": {"name": "{{input.name | upper}}", "total": "{{variables.total}}"}}}),
        json!({"id": "count", "type": "math", "config": {"operation": "multiply", "operand1": "{{variables.total}}", "operand2": 3}}),
        json!({"id": "flag", "type": "variable_set", "config": {"variable": "flag", "value": "{{steps.count.output.result > 10}}"}}),
        json!({"id": "route", "type": "switch", "config": {"value": "{{input.name}}", "cases": [{"name": "known", "when": "{{variables.flag}}"}]}}),
        json!({"id": "last", "type": "transform", "config": {"output": "{{variables.greeting}}"}}),
        json!({"id": "end", "type": "end", "config": {"output": "{{steps.shape.output}}"}}),
    ];
    let mut edges = chain(&["start", "total", "greeting", "large"]);
    edges.push(json!({"source": "large", "target": "shape", "sourceHandle": "true"}));
    edges.push(json!({"source": "large", "target": "end", "sourceHandle": "false"}));
    edges.extend(chain(&["shape", "count", "flag", "route"]));
    edges.push(json!({"source": "route", "target": "last", "sourceHandle": "known"}));
    edges.push(json!({"source": "route", "target": "end", "sourceHandle": "default"}));
    edges.extend(chain(&["last", "end"]));
    json!({"name": "bench-pure", "nodes": nodes, "edges": edges})
}

/// Start, ten effects with a commit each, end.
pub(super) fn effect_ten() -> Value {
    let ids: Vec<String> = (1..=10).map(|n| format!("effect_{n}")).collect();
    let mut nodes = vec![json!({"id": "start", "type": "start"})];
    nodes.extend(
        ids.iter()
            .map(|id| json!({"id": id, "type": "bench_effect"})),
    );
    nodes.push(json!({"id": "end", "type": "end"}));
    let mut path = vec!["start"];
    path.extend(ids.iter().map(String::as_str));
    path.push("end");
    json!({"name": "bench-effect", "nodes": nodes, "edges": chain(&path)})
}

/// The same ten pure nodes, strictly one node per message.
pub(super) fn strict_ten() -> Value {
    let mut schema = pure_ten();
    schema["name"] = "bench-strict".into();
    schema["settings"] = json!({"max_nodes_per_message": 1});
    schema
}

/// A loop that runs `input.rounds` times over five nodes, one of them an effect.
pub(super) fn counting_loop() -> Value {
    let nodes = json!([
        {"id": "start", "type": "start"},
        {"id": "zero", "type": "variable_set", "config": {"variable": "n", "value": 0}},
        {"id": "more", "type": "condition", "config": {"expression": "{{variables.n}} < {{input.rounds}}"}},
        {"id": "plus", "type": "math", "config": {"operation": "add", "operand1": "{{variables.n}}", "operand2": 1, "result_variable": "n"}},
        {"id": "call", "type": "bench_effect"},
        {"id": "note", "type": "transform", "config": {"output": {"round": "{{variables.n}}", "text": "a line that stands for a result of usual size"}}},
        {"id": "end", "type": "end", "config": {"output": "{{variables.n}}"}},
    ]);
    let mut edges = chain(&["start", "zero", "more"]);
    edges.push(json!({"source": "more", "target": "plus", "sourceHandle": "true"}));
    edges.push(json!({"source": "more", "target": "end", "sourceHandle": "false"}));
    edges.extend(chain(&["plus", "call", "note", "more"]));
    json!({"name": "bench-loop", "settings": {"max_steps": 1_000_000}, "nodes": nodes, "edges": edges})
}

pub(super) fn sleeper() -> Value {
    let nodes = json!([
        {"id": "start", "type": "start"},
        {"id": "sleep", "type": "sleep", "config": {"duration": 30, "unit": "days"}},
        {"id": "end", "type": "end"},
    ]);
    json!({"name": "bench-sleeper", "nodes": nodes, "edges": chain(&["start", "sleep", "end"])})
}

fn chain(ids: &[&str]) -> Vec<Value> {
    ids.windows(2)
        .map(|pair| json!({"source": pair[0], "target": pair[1]}))
        .collect()
}
