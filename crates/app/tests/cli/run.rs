//! `pawl run` and `pawl validate`.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{command, ended, example, folder, pawl, pawl_with, piped, signal};

const HELLO: &str = r#"name: hello
nodes:
  - { id: start, type: start }
  - { id: greet, type: log, config: { message: "hello {{input.name ?? 'world'}}" } }
  - { id: double, type: math, config: { operation: multiply, operand1: "{{variables.n ?? 2}}", operand2: 2, result_variable: n } }
  - { id: done, type: end, config: { output: { n: "{{variables.n}}", name: "{{input.name ?? null}}" } } }
edges:
  - { source: start, target: greet }
  - { source: greet, target: double }
  - { source: double, target: done }
"#;

fn written(folder: &Path, text: &str) {
    std::fs::write(folder.join("flow.yaml"), text).unwrap();
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn shows_steps_logs_and_output() {
    let folder = folder();
    written(folder.path(), HELLO);
    let ended = pawl(folder.path(), &["run", "flow.yaml", "--var", "n=21"]).expect(0);
    for part in [
        "hello world",
        "greet",
        "math",
        "✓",
        "completed in",
        "4 steps",
        "\"n\": 42",
    ] {
        assert!(
            ended.stdout.contains(part),
            "{part} is missing in {}",
            ended.stdout
        );
    }
    assert_eq!(ended.stderr, "");
}

#[test]
fn json_has_exactly_the_designed_shape() {
    let folder = folder();
    written(folder.path(), HELLO);
    let run = pawl(
        folder.path(),
        &[
            "run",
            "flow.yaml",
            "--json",
            "--input",
            r#"{"name": "Ada"}"#,
        ],
    )
    .expect(0)
    .json();
    assert_eq!(
        keys(&run),
        [
            "execution_id",
            "status",
            "output",
            "error",
            "context",
            "steps"
        ]
    );
    assert_eq!(
        (&run["status"], &run["error"]),
        (&json!("completed"), &Value::Null)
    );
    assert_eq!(run["output"], json!({"n": 4, "name": "Ada"}));
    assert_eq!(run["context"]["variables"], json!({"n": 4}));
    assert_eq!(run["context"]["execution"]["started_by"], "dev");
    assert_eq!(
        run["context"]["user"],
        json!({"id": 1, "name": "dev", "email": "dev@localhost"})
    );
    let step = &run["steps"][1];
    let expected = [
        "seq",
        "node_id",
        "node_type",
        "status",
        "input",
        "output",
        "error",
        "attempts",
        "started_at",
        "finished_at",
    ];
    assert_eq!(keys(step), expected);
    assert_eq!(
        (&step["seq"], &step["node_id"], &step["status"]),
        (&json!(2), &json!("greet"), &json!("success"))
    );
}

#[test]
fn failing_is_1_and_names_the_code() {
    let folder = folder();
    let text = HELLO.replace(
        "type: math, config: { operation: multiply,",
        "type: math, config: { operation: divide,",
    );
    written(folder.path(), &text.replace("operand2: 2", "operand2: 0"));
    let failed = pawl(folder.path(), &["run", "flow.yaml", "--json"])
        .expect(1)
        .json();
    assert_eq!(
        (&failed["status"], &failed["error"]["code"]),
        (&json!("failed"), &json!("MATH_ERROR")),
        "{failed:#}"
    );
    assert_eq!(failed["steps"][2]["error"]["code"], "MATH_ERROR");
    let shown = pawl(folder.path(), &["run", "flow.yaml"]).expect(1);
    assert!(
        shown.stdout.contains("✗") && shown.stdout.contains("MATH_ERROR"),
        "{}",
        shown.stdout
    );
}

#[test]
fn an_invalid_file_is_drawn_with_carets() {
    let folder = folder();
    written(folder.path(), &HELLO.replace("type: math", "type: maths"));
    let refused = pawl(folder.path(), &["run", "flow.yaml"]).expect(2);
    for part in ["UNKNOWN_NODE_TYPE", "flow.yaml:5:", "^^^", "math"] {
        assert!(
            refused.stderr.contains(part),
            "{part} is missing in {}",
            refused.stderr
        );
    }
    let refused = pawl(folder.path(), &["run", "flow.yaml", "--json"])
        .expect(2)
        .json();
    assert_eq!(
        keys(&refused),
        [
            "execution_id",
            "status",
            "output",
            "error",
            "context",
            "steps"
        ]
    );
    assert_eq!(refused["error"]["code"], "INVALID_SCHEMA");
    let checked = pawl(folder.path(), &["validate", "."]).expect(2);
    assert!(
        checked.stdout.contains("^^^") && checked.stdout.contains("1 error"),
        "{}",
        checked.stdout
    );
    let list = pawl(folder.path(), &["validate", "flow.yaml", "--json"])
        .expect(2)
        .json();
    assert_eq!(
        (&list[0]["code"], &list[0]["line"]),
        (&json!("UNKNOWN_NODE_TYPE"), &json!(5)),
        "{list:#}"
    );
}

#[test]
fn input_from_a_file_and_from_stdin() {
    let folder = folder();
    written(folder.path(), HELLO);
    std::fs::write(folder.path().join("in.json"), r#"{"name": "file"}"#).unwrap();
    let from_file = pawl(
        folder.path(),
        &["run", "flow.yaml", "--json", "--input", "@in.json"],
    )
    .expect(0)
    .json();
    assert_eq!(from_file["output"]["name"], "file");
    let stdin = br#"{"name": "stdin"}"#;
    let from_stdin = pawl_with(
        folder.path(),
        &["run", "flow.yaml", "--json", "--input", "-"],
        stdin,
    )
    .expect(0)
    .json();
    assert_eq!(from_stdin["output"]["name"], "stdin");
}

#[test]
fn nothing_is_left_behind_unless_asked_for() {
    let folder = folder();
    written(folder.path(), HELLO);
    pawl(folder.path(), &["run", "flow.yaml"]).expect(0);
    let names = |path: &Path| {
        let mut names: Vec<String> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(folder.path()), ["flow.yaml"]);
    pawl(folder.path(), &["run", "flow.yaml", "--data", "kept"]).expect(0);
    pawl(folder.path(), &["run", "flow.yaml", "--data", "kept"]).expect(0);
    assert!(names(&folder.path().join("kept")).contains(&"pawl.db".to_owned()));
}

fn debug(orders: &str) -> crate::support::Ended {
    let folder = folder();
    written(folder.path(), HELLO);
    pawl_with(
        folder.path(),
        &["run", "flow.yaml", "--debug"],
        orders.as_bytes(),
    )
}

#[test]
fn debugging_step_by_step() {
    let ended = debug("\n\n\n\n").expect(0);
    assert!(
        ended
            .stderr
            .contains("[Enter] step  c run  t NODE  v name=json  q stop"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("next: greet") && ended.stderr.contains("next: double"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("completed"), "{}", ended.stdout);
}

#[test]
fn debugging_with_a_changed_variable() {
    let ended = debug("t double\nv n=50\nc\n").expect(0);
    assert!(ended.stdout.contains("\"n\": 100"), "{}", ended.stdout);
    assert!(ended.stdout.contains("$edit"), "{}", ended.stdout);
    assert!(
        !ended.stderr.contains(
            "next: greet  [Enter] step  c run  t NODE  v name=json  q stop > next: greet"
        )
    );
}

#[test]
fn debugging_ends_by_order_or_with_the_input() {
    for orders in ["q\n", "\nq\n", "", "what\nt nowhere\nv x\nq\n"] {
        let ended = debug(orders).expect(1);
        assert!(
            ended.stdout.contains("stopped"),
            "{orders:?}: {}{}",
            ended.stdout,
            ended.stderr
        );
    }
    let confused = debug("what\nt nowhere\nv x\nc\n").expect(0);
    for part in ["Unknown command `what`", "nowhere", "name=json"] {
        assert!(
            confused.stderr.contains(part),
            "{part} is missing in {}",
            confused.stderr
        );
    }
}

#[test]
fn ctrl_c_stops_the_execution() {
    let folder = folder();
    let file = example("approval");
    let mut child = piped(
        command(folder.path())
            .arg("run")
            .arg(file)
            .args(["--input", r#"{"amount": 900, "patience": "1h"}"#]),
    );
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let waits = lines
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.contains("waits for the event `approved`"));
    assert!(waits.is_some());
    signal(&child, "INT");
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains("stopped")), "{rest:?}");
    assert_eq!(ended(child).code, 1);
}

#[test]
fn waits_and_retries_are_shown() {
    let folder = folder();
    let paid = pawl(
        folder.path(),
        &["run", example("flaky-payment").to_str().unwrap()],
    )
    .expect(0);
    assert!(
        paid.stdout.contains("pay failed in try 1: HTTP_STATUS"),
        "{}",
        paid.stdout
    );
    let slept = pawl(
        folder.path(),
        &["run", example("onboarding").to_str().unwrap()],
    )
    .expect(0);
    assert!(
        slept.stdout.contains("some_days sleeps until"),
        "{}",
        slept.stdout
    );
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = folder();
    let binary = env!("CARGO_BIN_EXE_pawl");
    for arguments in [
        "node-types",
        "node-types --json",
        "completions bash",
        "--help",
    ] {
        let script = format!("'{binary}' {arguments} | true; echo ${{PIPESTATUS[0]}}");
        let shell = std::process::Command::new("bash")
            .arg("-c")
            .arg(script)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&shell.stdout).trim(),
            "0",
            "{arguments}: {shell:?}"
        );
    }
}

const ORDER: &str = r#"name: order
input:
  type: object
  required: [id]
  properties: { id: { type: integer }, lines: { items: { type: "null" } } }
nodes:
  - { id: start, type: start }
  - { id: done, type: end, config: { output: "{{input.id}}" } }
edges:
  - { source: start, target: done }
"#;

#[test]
fn an_input_that_does_not_fit_is_named_place_by_place() {
    let folder = folder();
    written(folder.path(), ORDER);
    let run = |input: &str, more: &[&str]| {
        let mut arguments = vec!["run", "flow.yaml", "--input", input];
        arguments.extend(more);
        pawl(folder.path(), &arguments)
    };
    let refused = run(r#"{"id": "private-9"}"#, &[]).expect(2);
    let wanted =
        "the input does not fit the schema's `input`: /id: it must be an integer, not a string";
    assert!(refused.stderr.contains(wanted), "{}", refused.stderr);
    assert!(!refused.stderr.contains("private-9"), "{}", refused.stderr);
    let many = run(r#"{"lines": [1, 2, 3, 4, 5, 6]}"#, &[]).expect(2);
    for line in ["  `id` is missing", "  /lines/5: it must be null"] {
        assert!(many.stderr.contains(line), "{line}: {}", many.stderr);
    }
    let json = run("{}", &["--json"]).expect(2).json();
    assert_eq!(
        (&json["status"], &json["error"]["code"]),
        (&json!("invalid"), &json!("INVALID_INPUT"))
    );
    let problems = json!([{"pointer": "", "message": "`id` is missing"}]);
    assert_eq!(json["error"]["details"]["problems"], problems);
    run(r#"{"id": 4}"#, &[]).expect(0);
    pawl(folder.path(), &["run", "flow.yaml"]).expect(2);
}

#[test]
fn an_input_schema_is_validated_with_its_places() {
    let folder = folder();
    let text = ORDER.replace("{ type: integer }", "{ type: integr, pattern: '(?=a)' }");
    written(folder.path(), &text);
    let refused = pawl(folder.path(), &["validate", "flow.yaml"]);
    assert_ne!(refused.code, 0);
    let shown = refused.stdout + &refused.stderr;
    for part in [
        "BAD_INPUT_SCHEMA",
        "flow.yaml:5",
        "`type` is one of",
        "regular expression",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
