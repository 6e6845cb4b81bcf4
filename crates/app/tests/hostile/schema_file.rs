//! Texts of schemas.

use serde_json::{Value, json};

use crate::client::Request;
use crate::tally::Tally;
use crate::world::World;

const DOOR: &str = "schema file";

/// Nothing is wrong with it.
const FLOW: &str = "name: f\nnodes:\n  - { id: s, type: start }\n  - { id: e, type: end }\n\
                    edges:\n  - { source: s, target: e }\n";

fn triggers() -> Vec<(String, &'static str)> {
    let hook =
        |name: &str| format!("{FLOW}triggers: [{{ type: webhook, path: hook, name: {name} }}]\n");
    let cron = |name: &str| {
        format!("{FLOW}triggers: [{{ type: cron, cron: \"0 3 * * *\", name: {name} }}]\n")
    };
    let twins = "{ type: webhook, path: a, name: x }, { type: webhook, path: b, name: x }";
    vec![
        (
            format!("{FLOW}triggers: [{{ type: webhook, path: \"../../api\" }}]\n"),
            "BAD_PATH",
        ),
        (
            format!("{FLOW}triggers: [{{ type: cron, cron: \"* * * * * * * * *\" }}]\n"),
            "BAD_CRON",
        ),
        (hook("\"../x\""), "BAD_NAME"),
        (hook("\"\""), "BAD_NAME"),
        (hook("\"a\\u202eb\""), "BAD_NAME"),
        (hook(&"x".repeat(65)), "BAD_NAME"),
        (hook("5"), "WRONG_TYPE"),
        (cron("\"17\""), "BAD_NAME"),
        (cron("\"a b\""), "BAD_NAME"),
        (cron("\"a/../b\""), "BAD_NAME"),
        (format!("{FLOW}triggers: [{twins}]\n"), "BAD_NAME"),
    ]
}

/// The text, and the first finding about it.
fn inputs() -> Vec<(String, &'static str)> {
    let flow = FLOW;
    let deep = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
    let laughs = (1..30).fold(String::from("a0: &a0 [x]\n"), |text, level| {
        text + &format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)
    });
    let node = |more: &str| flow.replace("type: start }", &format!("type: start, {more} }}"));
    let many: Vec<Value> = (0..5_000)
        .map(|n| json!({"id": format!("n{n}"), "type": "log"}))
        .collect();
    vec![
        (String::new(), "INVALID_YAML"),
        (" \n\t\n".into(), "INVALID_YAML"),
        ("\u{feff}".into(), "INVALID_YAML"),
        ("42".into(), "WRONG_TYPE"),
        ("[]".into(), "WRONG_TYPE"),
        ("null".into(), "WRONG_TYPE"),
        ("\u{7f}ELF\u{1}\u{2}".into(), "WRONG_TYPE"),
        ("name: a\0b\nnodes: []\nedges: []\n".into(), "INVALID_YAML"),
        ("{\"name\": \"\\ud800\"}".into(), "INVALID_JSON"),
        ("{\"name\": \"f\", \"nodes\": [".into(), "INVALID_JSON"),
        (deep("[", "]", 100_000), "TOO_DEEP"),
        (deep("{\"a\":", "}", 10_000), "TOO_DEEP"),
        (deep("- ", "", 50_000), "TOO_DEEP"),
        (deep("? ", "", 50_000), "TOO_DEEP"),
        (laughs, "TOO_LARGE"),
        ("a: &a *a\nname: f\n".into(), "INVALID_YAML"),
        (format!("{flow}---\n{flow}"), "SEVERAL_DOCUMENTS"),
        (format!("{flow}name: g\n"), "DUPLICATE_KEY"),
        ("name:\tf\nnodes:\n\t- a\n".into(), "INVALID_YAML"),
        (
            "name: !!python/object/apply:os.system ['id']\n".into(),
            "MISSING_FIELD",
        ),
        ("name: 3\nnodes: {}\nedges: 1\n".into(), "WRONG_TYPE"),
        (flow.replace("name: f", "name: \"../../etc\""), "BAD_NAME"),
        (flow.replace("name: f", "name: \"a\\u202eb\""), "BAD_NAME"),
        (
            flow.replace("name: f", &format!("name: {}", "x".repeat(10_000))),
            "BAD_NAME",
        ),
        (
            flow.replace("type: start", "type: \"\\e[31m\\e]0;x\\a\""),
            "NO_START",
        ),
        (flow.replace("type: start", "type: __proto__"), "NO_START"),
        (
            flow.replace("id: s,", "id: \"s\\u0000\","),
            "START_LEADS_NOWHERE",
        ),
        (
            flow.replace("source: s,", "source: constructor,"),
            "START_LEADS_NOWHERE",
        ),
        (node("retry: { max_attempts: -1 }"), "INVALID_FIELD"),
        (node("timeout: 1e400"), "NUMBER_OUT_OF_RANGE"),
        (node("timeout: -5s"), "BAD_DURATION"),
        (node("config: 7"), "WRONG_TYPE"),
        (node("lease_token: 1"), "UNKNOWN_FIELD"),
        (
            json!({"name": "x", "nodes": many, "edges": []}).to_string(),
            "TOO_MANY_NODES",
        ),
        (
            format!("{flow}settings: {{ max_steps: 99999999999999999999 }}\n"),
            "NUMBER_OUT_OF_RANGE",
        ),
    ]
}

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    for (text, finding) in inputs().into_iter().chain(triggers()) {
        tally.count(DOOR);
        let send = |path: &str| Request::new("POST", path).body("application/yaml", text.clone());
        let act = async |place: &crate::world::Place| {
            let saved = place.answer(send("/api/schemas")).await;
            let checked = place.send(send("/api/schemas/validate")).await;
            let found = checked.json();
            let first = found["diagnostics"][0]["code"]
                .as_str()
                .unwrap_or("nothing");
            format!("{saved}, {}", first)
        };
        let expected = format!("422 INVALID_SCHEMA, {finding}");
        world.everywhere(tally, &text, &expected, act).await;
    }
}
