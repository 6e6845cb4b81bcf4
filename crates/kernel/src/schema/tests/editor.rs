//! Files as the editor of the first documents writes them: `timeout` and `retry` in the config, edges of a condition
//! without a name, no `name` of the schema.

use std::time::Duration;

use serde_json::json;

use super::*;

const EDITOR: &str = r#"{
  "nodes": [
    {"id": "start_1", "type": "start", "position": {"x": 0, "y": 0}, "data": {"type": "start", "label": "Start", "config": {"timeout": 30}}},
    {"id": "http_1", "type": "custom", "position": {"x": 0, "y": 90}, "data": {"type": "http_request", "label": "Balance",
      "config": {"url": "https://api.example.com/users/{{webhook.payload.user_id}}", "method": "GET", "timeout": 10,
        "retry": {"enabled": true, "max_attempts": 5, "delay": 2, "backoff": "linear"}}}},
    {"id": "condition_1", "type": "custom", "position": {"x": 0, "y": 180}, "data": {"type": "condition",
      "config": {"expression": "{{steps.http_1.output.status_code}} == 200"}}},
    {"id": "log_1", "type": "custom", "position": {"x": 0, "y": 270}, "data": {"type": "log",
      "config": {"message": "{{steps.http_1.output.body.balance}}", "retry": {"enabled": false}}}},
    {"id": "end_1", "type": "custom", "position": {"x": 0, "y": 360}, "data": {"type": "end"}}
  ],
  "edges": [
    {"id": "e1", "source": "start_1", "target": "http_1"},
    {"id": "e2", "source": "http_1", "target": "condition_1"},
    {"id": "e3", "source": "condition_1", "target": "log_1"},
    {"id": "e4", "source": "log_1", "target": "end_1"}
  ]
}"#;

fn load_as(name: &str, text: &str) -> LoadedSchema {
    load_named(Some(name), Some("test.json"), text, &registry())
}

#[test]
fn an_editor_file_is_read_as_it_is_meant() {
    let loaded = load_as("Order Check", EDITOR);
    assert_eq!(
        places(&loaded),
        [
            "w:16:5 UNNAMED_EXIT",
            "n:3:125 DROPPED_FIELD",
            "n:5:103 MOVED_FIELD",
            "n:6:9 MOVED_FIELD",
            "n:10:69 DROPPED_FIELD",
        ],
        "{}",
        render_diagnostics(EDITOR, &loaded.diagnostics, false)
    );
    let notes: Vec<&str> = loaded.diagnostics[1..3]
        .iter()
        .map(|found| found.message.as_str())
        .collect();
    assert_eq!(
        notes,
        [
            "`timeout` has no effect on a `start` and is left out",
            "`timeout` in the config is read as the `timeout` of the node",
        ]
    );
    let definition = loaded.definition.unwrap();
    assert_eq!(definition.name, "order-check");
    let http = &definition.nodes[1];
    assert_eq!(http.timeout, Some(Duration::from_secs(10)));
    let retry = http.retry.clone().unwrap();
    assert_eq!((retry.max_attempts, retry.delay.as_secs()), (5, 2));
    assert_eq!(
        http.config,
        json!({"url": "https://api.example.com/users/{{webhook.payload.user_id}}", "method": "GET"})
    );
    assert_eq!(definition.nodes[0].config, json!({}));
    assert_eq!(definition.edges[2].source_handle, "true");
    // Stored, it needs no notes; only the exit without an edge is still worth a word.
    let codes: Vec<&str> = check(&definition, &registry())
        .iter()
        .map(|found| found.code)
        .collect();
    assert_eq!(codes, ["OPEN_EXIT"]);
    assert_eq!(loads(&to_stored_json(&definition)), definition);
}

#[track_caller]
fn check_config(node_type: &str, config: &str, more: &str, expected: &[&str]) {
    let text = format!(
        "name: t\nnodes:\n- {{id: s, type: start}}\n- {{id: c, type: {node_type}, config: {config}{more}}}\n\
         edges:\n- {{source: s, target: c}}"
    );
    let loaded = load_text(&text);
    let found: Vec<&str> = loaded.diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn what_is_lifted_is_checked_and_what_is_written_twice_is_refused() {
    // A field of the type's own stays where it is.
    check_config(
        "wait_event",
        "{name: a, timeout: 1d}",
        "",
        &["OPEN_EXIT", "OPEN_EXIT"],
    );
    check_config("wait_event", "{name: a, retry: {}}", "", &["DROPPED_FIELD"]);
    check_config(
        "code",
        "{source: x, timeout: soon}",
        "",
        &["BAD_DURATION", "MOVED_FIELD"],
    );
    check_config(
        "code",
        "{source: x, retry: {max_attempts: 0}}",
        "",
        &["OUT_OF_RANGE", "MOVED_FIELD"],
    );
    check_config(
        "code",
        "{source: x, timeout: 5}",
        ", timeout: 5s",
        &["UNKNOWN_FIELD"],
    );
    check_config("code", "{source: x, timeout: ~}", "", &["MOVED_FIELD"]);
}

#[test]
fn a_missing_name_is_taken_from_where_the_text_came() {
    let named = |name: &str, text: &str| load_as(name, text).definition.map(|found| found.name);
    assert_eq!(named("Order Check (2)", EDITOR).unwrap(), "order-check--2");
    assert_eq!(named(&"x".repeat(300), EDITOR).unwrap().len(), 100);
    // What is written counts, right or wrong.
    let own = EDITOR.replacen('{', "{\"name\": \"own\",", 1);
    assert_eq!(named("other", &own).unwrap(), "own");
    let wrong = EDITOR.replacen('{', "{\"name\": \"Own\",", 1);
    assert_eq!(places(&load_as("other", &wrong))[0], "1:10 BAD_NAME");
    // Nothing of it can be part of a name.
    assert_eq!(named("схема", EDITOR).unwrap(), "unnamed");
    assert_eq!(places(&load_text(EDITOR))[0], "1:1 MISSING_FIELD");
}
