//! Files in the shape of the first documents, tried as they are: Start → HTTP Request → Condition → Variable Set → End,
//! drawn in an editor that knows neither names of schemas nor handles, and keeps `timeout` and `retry` in the config.

use serde_json::{Value, json};

use crate::support::{folder, pawl};

const DRAWN: &str = r#"{
  "nodes": [
    {"id": "start_1", "type": "custom", "position": {"x": 0, "y": 0}, "data": {"type": "start", "label": "Start", "config": {}}},
    {"id": "http_1", "type": "custom", "position": {"x": 0, "y": 90}, "data": {"type": "http_request", "label": "HTTP Request",
      "config": {"method": "GET", "url": "{{env.ECHO_URL}}/flaky/{{execution.id}}?fail=2", "timeout": 30,
        "retry": {"enabled": true, "max_attempts": 3, "delay": 0.005, "backoff": "linear"}}}},
    {"id": "condition_1", "type": "custom", "position": {"x": 0, "y": 180}, "data": {"type": "condition", "label": "Condition",
      "config": {"expression": "{{steps.http_1.output.status_code}} == 200", "timeout": 30}}},
    {"id": "var_set_1", "type": "custom", "position": {"x": 0, "y": 270}, "data": {"type": "variable_set", "label": "Variable Set",
      "config": {"variable": "result", "value": "success"}}},
    {"id": "end_1", "type": "custom", "position": {"x": 0, "y": 360}, "data": {"type": "end", "label": "End", "config": {}}}
  ],
  "edges": [
    {"id": "e1", "source": "start_1", "target": "http_1"},
    {"id": "e2", "source": "http_1", "target": "condition_1"},
    {"id": "e3", "source": "condition_1", "target": "var_set_1"},
    {"id": "e4", "source": "var_set_1", "target": "end_1"}
  ]
}"#;

fn path(run: &Value) -> Vec<&str> {
    let steps = run["steps"].as_array().unwrap().iter();
    steps
        .map(|step| step["node_id"].as_str().unwrap())
        .collect()
}

#[test]
fn a_drawn_file_runs_as_it_is() {
    let folder = folder();
    std::fs::write(folder.path().join("User Balance.json"), DRAWN).unwrap();
    let ended = pawl(folder.path(), &["run", "User Balance.json", "--json"]).expect(0);
    for part in [
        "note[MOVED_FIELD]",
        "note[DROPPED_FIELD]",
        "warning[UNNAMED_EXIT]",
        "`false`",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("error["), "{}", ended.stderr);
    let run = ended.json();
    assert_eq!(run["status"], "completed");
    assert_eq!(
        path(&run),
        ["start_1", "http_1", "condition_1", "var_set_1", "end_1"]
    );
    assert_eq!(run["context"]["execution"]["schema"], "user-balance");
    assert_eq!(run["context"]["variables"], json!({"result": "success"}));
    let tries = run["steps"][1]["attempts"].as_array().unwrap().len();
    assert_eq!(
        tries, 3,
        "`retry` of the config is the node's: {}",
        run["steps"][1]
    );
}

#[test]
fn what_does_not_hold_leads_nowhere() {
    let folder = folder();
    let drawn = DRAWN.replace("== 200", "== 404");
    std::fs::write(folder.path().join("balance.json"), drawn).unwrap();
    let run = pawl(folder.path(), &["run", "balance.json", "--json"])
        .expect(0)
        .json();
    assert_eq!(run["output"], json!({"result": false}));
    assert_eq!(path(&run), ["start_1", "http_1", "condition_1"]);
}

/// Only `run` makes a name up: what is saved has one.
#[test]
fn to_validate_is_to_ask_for_a_name() {
    let folder = folder();
    std::fs::write(folder.path().join("balance.json"), DRAWN).unwrap();
    let ended = pawl(folder.path(), &["validate", "balance.json"]).expect(2);
    assert!(
        ended.stdout.contains("the field `name` is missing"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("1 file, 1 error, 1 warning, 3 notes"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_file_whose_name_gives_none_is_run_all_the_same() {
    let folder = folder();
    std::fs::write(folder.path().join("схема.json"), DRAWN).unwrap();
    let run = pawl(folder.path(), &["run", "схема.json", "--json"]);
    let run = run.expect(0).json();
    assert_eq!(run["context"]["execution"]["schema"], "unnamed");
}
