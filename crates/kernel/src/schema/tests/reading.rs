//! Documents that are right, in all their spellings.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::schema::definition::{Backoff, OnError, OnInterrupt, Priority, RetryPolicy};

pub(super) const EXAMPLE: &str = r#"
name: order-check            # unique in its tenant, [a-z0-9-]
description: ...
settings:                    # all optional; defaults in section 13
  max_steps: 10000
  max_duration: 365d         # wall clock from start; a deadline in the state, not a timer
  node_timeout: 30s
  max_nodes_per_message: 64  # 1 = strictly one node per message (seed 000)
  on_stuck: requeue          # or: fail (ends as failed_stuck)
  concurrency: { limit: 10, key: "{{webhook.payload.customer}}" }
  priority: normal           # high | normal | low
  tenant: "{{input.customer}}"
triggers:
  - { type: webhook, path: "orders/:id/check", method: POST, respond: last_node, auth: {type: header, secret: SHOP_TOKEN} }
  - { type: cron, cron: "*/5 * * * *", timezone: Europe/Moscow, overlap: skip, catch_up: last }
nodes:
  - { id: start_1, type: start }
  - id: http_1
    type: http_request
    config: { method: GET, url: "https://api.example.com/users/{{webhook.payload.user_id}}" }
    timeout: 30s             # per attempt
    retry: { max_attempts: 3, delay: 5s, backoff: exponential, max_delay: 1m, jitter: true }
    on_error: fail           # fail | continue; an edge from handle "error" wins over both
    on_interrupt: rerun      # rerun | fail: after a crash in mid-effect (for endpoints without keys)
    disabled: false          # true: passed through, recorded as a step "skipped"
  - { id: condition_1, type: condition, config: { expression: "{{steps.http_1.output.status_code}} == 200" } }
  - { id: good, type: end }
  - { id: bad, type: end, config: { success: false } }
edges:
  - { source: start_1, target: http_1 }
  - { source: http_1, target: condition_1 }
  - { source: condition_1, target: good, sourceHandle: "true" }
  - { source: condition_1, target: bad, sourceHandle: "false" }
"#;

#[test]
fn the_example_of_the_design() {
    check_places(EXAMPLE, &[]);
    let definition = loads(EXAMPLE);
    assert_eq!(definition.nodes.len(), 5);
    assert_eq!(definition.triggers.len(), 2);
    assert_eq!(definition.settings.priority, Priority::Normal);
    assert_eq!(definition.edges[0].source_handle, "success");
}

fn retry_of(retry: &str) -> Option<RetryPolicy> {
    let text = format!(
        "name: t\nnodes:\n- {{id: s, type: start}}\n- {{id: c, type: code, config: {{source: x}}, retry: {retry}}}\nedges:\n- {{source: s, target: c}}"
    );
    loads(&text).nodes[1].retry.clone()
}

#[test]
fn retries_in_both_spellings() {
    let defaults = RetryPolicy {
        max_attempts: 3,
        delay: Duration::from_secs(5),
        backoff: Backoff::Exponential,
        max_delay: Duration::from_secs(60),
        jitter: true,
    };
    assert_eq!(retry_of("{}"), Some(defaults));
    assert_eq!(retry_of("{enabled: false, max_attempts: 5}"), None);
    let seed = retry_of("{enabled: true, max_attempts: 2, delay: 0.5, backoff: linear}").unwrap();
    assert_eq!((seed.max_attempts, seed.delay.as_millis()), (2, 500));
    let long = retry_of("{delay: 10m}").unwrap();
    assert_eq!(long.max_delay, long.delay);
}

#[test]
fn node_fields() {
    let text = "name: t\nnodes:\n- {id: s, type: start, config:}\n- {id: c, type: code, name: 'Мой код', timeout: PT1M, on_error: continue, on_interrupt: fail, disabled: true, entry: true, config: {source: x}, position: {x: 1.5, y: 2}}\nedges:\n- {source: s, target: c}";
    let definition = loads(text);
    assert_eq!(definition.nodes[0].config, json!({}));
    let node = &definition.nodes[1];
    assert_eq!(node.timeout, Some(Duration::from_secs(60)));
    assert_eq!(
        (node.on_error, node.on_interrupt),
        (OnError::Continue, OnInterrupt::Fail)
    );
    assert!(node.disabled && node.entry);
    assert_eq!(node.name.as_deref(), Some("Мой код"));
    assert_eq!(node.position, Some(json!({"x": 1.5, "y": 2})));
}

#[test]
fn handles_are_normalised() {
    for handle in ["success", "output", "~", "''"] {
        let text = format!(
            "name: t\nnodes: [{{id: s, type: start}}, {{id: e, type: end}}]\nedges: [{{source: s, target: e, sourceHandle: {handle}}}]"
        );
        assert_eq!(loads(&text).edges[0].source_handle, "success", "{handle}");
    }
}

const REACT_FLOW: &str = r##"{
  "name": "canvas",
  "nodes": [
    {"id": "1", "type": "custom", "position": {"x": 0, "y": 10}, "positionAbsolute": {"x": 0, "y": 10},
     "width": 150, "height": 40, "selected": false, "dragging": false,
     "data": {"type": "start", "label": "Begin"}},
    {"id": "2", "type": "custom", "position": {"x": 100, "y": 10}, "measured": {"width": 1, "height": 1},
     "data": {"type": "condition", "label": "Age", "config": {"expression": "{{input.age}} > 18"}}},
    {"id": "4", "type": "custom", "position": {"x": 150, "y": 10},
     "data": {"type": "code", "config": {"source": "x"}, "retry": {"enabled": true, "delay": 1}}},
    {"id": "3", "type": "end", "position": {"x": 200, "y": 10}, "data": {"label": "Done"}}
  ],
  "edges": [
    {"id": "e1-2", "source": "1", "target": "2", "sourceHandle": null, "targetHandle": null, "animated": true},
    {"id": "e2-4", "source": "2", "target": "4", "sourceHandle": "true", "type": "smoothstep", "markerEnd": {"type": "arrowclosed"}, "style": {"stroke": "#f00"}},
    {"id": "e2-3b", "source": "2", "target": "3", "sourceHandle": "false", "label": "no"},
    {"id": "e4-3", "source": "4", "target": "3", "sourceHandle": "output"}
  ],
  "viewport": {"x": 0, "y": 0, "zoom": 1}
}"##;

#[test]
fn a_react_flow_export() {
    check_places(REACT_FLOW, &[]);
    let definition = loads(REACT_FLOW);
    let types: Vec<&str> = definition
        .nodes
        .iter()
        .map(|node| node.node_type.as_str())
        .collect();
    assert_eq!(types, ["start", "condition", "code", "end"]);
    assert_eq!(definition.nodes[1].name.as_deref(), Some("Age"));
    assert_eq!(
        definition.nodes[1].config,
        json!({"expression": "{{input.age}} > 18"})
    );
    assert!(definition.nodes[2].retry.is_some());
    assert_eq!(definition.nodes[0].position, Some(json!({"x": 0, "y": 10})));
}

#[test]
fn places_inside_a_react_flow_export() {
    let wrong = REACT_FLOW.replace("{{input.age}} > 18", "{{inptu.age}} > 18");
    check_places(&wrong, &["8:80 UNKNOWN_PATH"]);
    let ignored = REACT_FLOW.replace("\"label\": \"Begin\"", "\"labl\": \"Begin\"");
    check_places(&ignored, &["w:6:32 UNKNOWN_FIELD"]);
    let plain = "name: t\nnodes: [{id: s, type: start}]\nedges: [{id: e, source: s, target: s}]";
    check_places(plain, &["2:9 NO_END", "3:10 UNKNOWN_FIELD"]);
}

#[test]
fn stored_json_reads_back_the_same() {
    for text in [EXAMPLE, REACT_FLOW] {
        let definition = loads(text);
        let stored = to_stored_json(&definition);
        assert_eq!(loads(&stored), definition);
        assert_eq!(
            serde_json::from_str::<Definition>(&stored).unwrap(),
            definition
        );
        assert_eq!(check(&definition, &registry()), []);
    }
}

#[test]
fn hashes_follow_the_meaning() {
    let hash = |text: &str| content_hash(&loads(text));
    let moved = REACT_FLOW.replace("\"x\": 100", "\"x\": 999");
    assert_eq!(hash(REACT_FLOW), hash(&moved));
    assert_ne!(hash(REACT_FLOW), hash(&REACT_FLOW.replace("> 18", "> 21")));
    assert_eq!(hash(EXAMPLE), hash(&to_stored_json(&loads(EXAMPLE))));
    assert_eq!(hash(EXAMPLE), hash(&EXAMPLE.replace('\n', "\r\n")));
    assert_eq!(hash(EXAMPLE).len(), 64);
    let ordered = "name: t\nnodes: [{id: s, type: start}, {id: l, type: log, config: {level: info, message: x}}]\nedges: [{source: s, target: l}]";
    let swapped = ordered.replace("level: info, message: x", "message: x, level: info");
    assert_eq!(hash(ordered), hash(&swapped));
}
