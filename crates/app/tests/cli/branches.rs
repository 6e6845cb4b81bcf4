//! `executions retry`, `fork`, `diff` and `steps`: which version, which key, and what was taken over.

use std::path::Path;

use serde_json::{Value, json};

use crate::schedule::until;
use crate::support::{Dev, Ended, folder};

const PAYING: &str = "name: pay
nodes:
  - { id: start_1, type: start }
  - id: pay_1
    type: http_request
    retry: { max_attempts: 1 }
    config: { method: POST, url: '{{env.ECHO_URL}}/{{variables.path}}' }
  - { id: end_1, type: end, config: { output: '{{steps.pay_1.output.body.headers}}' } }
edges:
  - { source: start_1, target: pay_1 }
  - { source: pay_1, target: end_1 }
";

/// Its first version fails, at a node that has no effect.
const SUMMING: &str = "name: sum
nodes:
  - { id: start_1, type: start }
  - { id: sum_1, type: transform, config: { output: '{{input.m.n}}' } }
  - { id: end_1, type: end, config: { output: '{{steps.sum_1.output}}' } }
edges:
  - { source: start_1, target: sum_1 }
  - { source: sum_1, target: end_1 }
";

const APPROVAL: &str = "name: fleeting
settings: { retention: 0s }
nodes:
  - { id: start_1, type: start }
  - { id: wait_1, type: wait_event, config: { name: go, timeout: 1h } }
  - { id: end_1, type: end }
edges:
  - { source: start_1, target: wait_1 }
  - { source: wait_1, target: end_1 }
";

fn save(dev: &Dev, folder: &Path, text: &str) {
    std::fs::write(folder.join("flow.yaml"), text).unwrap();
    dev.ask(folder, &["schema", "save", "flow.yaml"]).expect(0);
}

/// `executions …` with JSON as its answer.
fn told(dev: &Dev, folder: &Path, arguments: &[&str], code: i32) -> Value {
    let all = [&["executions"][..], arguments, &["--json"]].concat();
    dev.ask(folder, &all).expect(code).json()
}

fn id(execution: &Value) -> &str {
    execution["id"].as_str().unwrap()
}

#[test]
fn another_request_needs_a_new_key() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    save(&dev, folder.path(), PAYING);
    let start = ["start", "pay", "--var", "path=\"status/503\"", "--wait"];
    let run = told(&dev, folder.path(), &start, 1);
    assert_eq!(run["error"]["code"], "HTTP_STATUS", "{run:#}");
    let changed = ["executions", "retry", id(&run), "--var", "path=\"echo\""];
    let refused = ask(&changed).expect(1).stderr;
    for words in ["`pay_1`", "`path`", "--new-effect-key"] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    let anew = [&changed[1..], &["--new-effect-key", "--wait"]].concat();
    let retry = told(&dev, folder.path(), &anew, 0);
    assert_eq!(
        (&retry["status"], &retry["retry_of"]),
        (&json!("completed"), &run["id"])
    );
    // The refusal names the key that the failed call went out under.
    let key = retry["output"]["idempotency-key"].as_str().unwrap();
    assert!(
        !key.is_empty() && !refused.contains(key),
        "{key}: {refused}"
    );
    let same = ["retry", id(&run), "--again", "--wait"];
    let same = told(&dev, folder.path(), &same, 1);
    assert_eq!(same["error"]["code"], "HTTP_STATUS", "{same:#}");
}

/// A script has no effect outside, so a fixed one needs no other key.
#[test]
fn a_script_that_was_fixed_runs_under_its_key() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let source = |text: &str| {
        SUMMING.replace(
            "transform, config: { output: '{{input.m.n}}' }",
            &format!("code, config: {{ source: '{text}' }}"),
        )
    };
    save(&dev, folder.path(), &source("throw new Error(1)"));
    let run = told(&dev, folder.path(), &["start", "sum", "--wait"], 1);
    assert_eq!(run["current_node_id"], "sum_1", "{run:#}");
    save(&dev, folder.path(), &source("return 7"));
    let latest = ["retry", id(&run), "--version", "latest", "--wait"];
    assert_eq!(told(&dev, folder.path(), &latest, 0)["output"], 7);
}

#[test]
fn a_retry_takes_the_version_it_is_told() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    save(&dev, folder.path(), SUMMING);
    let start = ["start", "sum", "--input", "{\"n\": 5}", "--wait"];
    let run = told(&dev, folder.path(), &start, 1);
    save(
        &dev,
        folder.path(),
        &SUMMING.replace("input.m.n", "input.n"),
    );
    let retry = |version: &str, code: i32| {
        let words = ["retry", id(&run), "--again", "--version", version, "--wait"];
        told(&dev, folder.path(), &words, code)
    };
    for (version, number) in [("latest", 2), ("2", 2)] {
        let made = retry(version, 0);
        assert_eq!(
            (&made["version"], &made["output"], &made["retry_of"]),
            (&json!(number), &json!(5), &run["id"]),
            "{version}"
        );
    }
    let old = retry("1", 1);
    assert_eq!(
        (&old["version"], &old["status"]),
        (&json!(1), &json!("failed"))
    );
    let plain = told(
        &dev,
        folder.path(),
        &["retry", id(&run), "--again", "--wait"],
        1,
    );
    assert_eq!(plain["version"], 1, "the one that failed");
    assert_eq!(retry("7", 1)["error"], "NOT_FOUND");
    for wrong in ["newest", "0", "+2", "1.5", "-1"] {
        let version = format!("--version={wrong}");
        let words = ["executions", "retry", id(&run), "--again", &version];
        let refused = dev.ask(folder.path(), &words);
        assert_ne!(refused.code, 0, "{wrong}");
        assert!(refused.stderr.contains("version"), "{}", refused.stderr);
    }
}

#[test]
fn a_fork_takes_another_input_and_version() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    save(&dev, folder.path(), SUMMING);
    let start = ["start", "sum", "--input", "{\"m\": {\"n\": 1}}", "--wait"];
    let run = told(&dev, folder.path(), &start, 0);
    assert_eq!(run["output"], 1);
    save(
        &dev,
        folder.path(),
        &SUMMING.replace("input.m.n", "input.n"),
    );
    let fork = |more: &[&str], code: i32| {
        let words = [&["fork", id(&run), "--wait"][..], more].concat();
        told(&dev, folder.path(), &words, code)
    };
    let other = fork(&["--from", "1", "--input", "{\"m\": {\"n\": 8}}"], 0);
    assert_eq!(
        (&other["version"], &other["output"]),
        (&json!(1), &json!(8))
    );
    std::fs::write(folder.path().join("input.json"), "{\"n\": 9}").unwrap();
    for version in ["latest", "2"] {
        let words = [
            "--from",
            "1",
            "--input",
            "@input.json",
            "--version",
            version,
        ];
        let made = fork(&words, 0);
        assert_eq!(
            (&made["version"], &made["output"], &made["forked_from"]),
            (&json!(2), &json!(9), &run["id"]),
            "{version}"
        );
        let steps = ["executions", "steps", id(&made)];
        let steps = dev.ask(folder.path(), &steps).expect(0).stdout;
        assert!(steps.contains("$edit"), "{steps}");
    }
    let kept = fork(&["--from", "1", "--version", "latest"], 1);
    assert_eq!(kept["error"]["code"], "UNDEFINED_PATH", "{kept:#}");
    let none = [
        "executions",
        "fork",
        id(&run),
        "--from",
        "1",
        "--input",
        "null",
    ];
    let none = dev.ask(folder.path(), &none).expect(2).stderr;
    assert!(none.contains("--input: null is no input"), "{none}");

    // After step 1 comes `sum_1`, which this version does not have.
    save(&dev, folder.path(), &SUMMING.replace("sum_1", "total_1"));
    let missing = fork(&["--from", "1", "--version", "latest"], 1);
    assert_eq!(missing["error"], "CONFLICT");
    let message = missing["message"].as_str().unwrap();
    assert!(
        message.contains("`sum_1`") && message.contains("version 3"),
        "{message}"
    );
}

/// A name that nothing knows is most likely a typo; it is set, and told of.
#[test]
fn an_unknown_variable_is_warned_of() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let limited = SUMMING.replace("input.m.n", "input.m.n + variables.limit");
    save(&dev, folder.path(), &limited);
    let start = ["start", "sum", "--input", "{}", "--var", "limit=3"];
    let run = told(&dev, folder.path(), &[&start[..], &["--wait"]].concat(), 1);
    let debugged = told(&dev, folder.path(), &[&start[..], &["--debug"]].concat(), 0);
    let path = format!("/api/executions/{}", id(&debugged));
    until(&dev, &path, |run| run["status"] == "waiting_debug");
    for words in [
        &["fork", id(&run), "--from", "1"][..],
        &["retry", id(&run)],
        &["continue", id(&debugged)],
    ] {
        let all = [&["executions"][..], words, &["--var", "limt=1"]].concat();
        let told = dev.ask(folder.path(), &all).expect(0).stderr;
        assert!(
            told.starts_with("warning: the variable `limt` ") && told.contains("`limit`?"),
            "{words:?}: {told}"
        );
    }
    let known = ["executions", "fork", id(&run), "--from", "1"];
    let known = [&known[..], &["--var", "limit=1"]].concat();
    assert_eq!(dev.ask(folder.path(), &known).expect(0).stderr, "");
}

#[test]
fn a_diff_can_leave_out_what_was_taken_over() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments).expect(0).stdout;
    save(&dev, folder.path(), SUMMING);
    let start = ["start", "sum", "--input", "{\"m\": {\"n\": 1}}", "--wait"];
    let run = told(&dev, folder.path(), &start, 0);
    let fork = ["fork", id(&run), "--from", "1", "--wait"];
    let fork = told(&dev, folder.path(), &fork, 0);
    let diff = ["executions", "diff", id(&run), "--with", id(&fork)];
    let whole = ask(&diff);
    assert!(
        whole.contains("none: both took the same path") && whole.contains("taken over"),
        "{whole}"
    );
    let own = ask(&[&diff[..], &["--no-inherited"]].concat());
    assert!(
        own.contains("step 1, ") && !own.contains("taken over"),
        "{own}"
    );
}

fn gone_is_said(ended: Ended, origin: &str) {
    let text = ended.expect(0).stdout;
    let said = text
        .lines()
        .find(|line| line.contains("steps 1 to 1 were taken over from"));
    let said = said.unwrap_or_else(|| panic!("{text}"));
    assert!(
        said.contains(origin) && said.contains("not kept any more"),
        "{said}"
    );
}

#[test]
fn what_retention_removed_is_said() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    save(&dev, folder.path(), APPROVAL);
    let waits = |run: &Value| {
        let path = format!("/api/executions/{}", id(run));
        until(&dev, &path, |run| run["status"] == "waiting");
    };
    let run = told(&dev, folder.path(), &["start", "fleeting"], 0);
    waits(&run);
    ask(&["executions", "stop", id(&run)]).expect(0);
    let fork = ["fork", id(&run), "--from", "1", "--var", "x=1"];
    let fork = told(&dev, folder.path(), &fork, 0);
    waits(&fork);
    let before = ask(&["executions", "steps", id(&fork)]).expect(0).stdout;
    assert!(
        before.contains("start_1") && before.contains("steps up to 1 were taken over;"),
        "{before}"
    );
    ask(&["gc"]).expect(0);
    let steps = ["executions", "steps", id(&fork)];
    gone_is_said(ask(&steps), id(&run));
    let own = ask(&[&steps[..], &["--no-inherited"]].concat());
    let own = own.expect(0).stdout;
    assert!(
        own.contains("$edit") && !own.contains("taken over"),
        "{own}"
    );
    let page = told(&dev, folder.path(), &steps[1..], 0);
    assert_eq!(page["gone"]["execution_id"], run["id"], "{page:#}");

    let other = told(&dev, folder.path(), &["start", "fleeting"], 0);
    waits(&other);
    let diff = ["executions", "diff", id(&other), "--with", id(&fork)];
    gone_is_said(ask(&diff), id(&run));
}

/// As with breakpoints: it stops before the first of several nodes, and a live execution can be handed over.
#[test]
fn the_debugger_takes_over_and_stops_at_the_first_of_several_nodes() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    save(&dev, folder.path(), APPROVAL.replace("0s", "1h").as_str());
    let run = told(&dev, folder.path(), &["start", "fleeting"], 0);
    let path = |run: &Value| format!("/api/executions/{}", id(run));
    let is = |status: &str| until(&dev, &path(&run), |shown| shown["status"] == status);
    is("waiting");
    told(&dev, folder.path(), &["debug", id(&run)], 0);
    told(&dev, folder.path(), &["signal", id(&run), "go"], 0);
    assert_eq!(is("waiting_debug")["current_node_id"], "end_1");
    let part = ["steps", id(&run), "--from", "2", "--to", "2"];
    let steps = told(&dev, folder.path(), &part, 0);
    let only = steps["items"].as_array().unwrap();
    assert_eq!((only.len(), &only[0]["node_id"]), (1, &json!("wait_1")));
    let logs = ["logs", id(&run), "--level", "warn", "--node", "wait_1"];
    assert_eq!(told(&dev, folder.path(), &logs, 0)["items"], json!([]));
    told(&dev, folder.path(), &["continue", id(&run), "--run"], 0);

    let debugged = told(&dev, folder.path(), &["start", "fleeting", "--debug"], 0);
    until(&dev, &path(&debugged), |shown| {
        shown["status"] == "waiting_debug"
    });
    let on = ["executions", "continue", id(&debugged)];
    let both = [&on[..], &["--until", "end_1", "--run"]].concat();
    dev.ask(folder.path(), &both).expect(2);
    let until_both = [&on[1..], &["--until", "wait_1", "--until", "end_1"]].concat();
    told(&dev, folder.path(), &until_both, 0);
    told(&dev, folder.path(), &["signal", id(&debugged), "go"], 0);
    let stands = |shown: &Value| shown["status"] == "waiting_debug" && shown["seq"] == 2;
    let held = until(&dev, &path(&debugged), stands);
    assert_eq!(held["current_node_id"], "end_1");
}
