//! What drawing, trying and looking into runs rest on, on PostgreSQL and RabbitMQ. The same on SQLite, with more cases:
//! `api/trials.rs`, `api/drawing.rs`, `api/debugger.rs`, `api/runs.rs`, `api/editing.rs`, `api/overview.rs`, `api/letters.rs`.

use pawl_kernel::ports::letters::{LetterStore, NewLetter};
use serde_json::{Value, json};

use crate::flows::chain;
use crate::process::Server;
use crate::site::{Site, eventually};

/// Calls an address that cannot be reached.
fn calling() -> Value {
    let config = json!({"url": "http://127.0.0.1:1/orders/{{input.id}}"});
    chain(
        "calling",
        vec![
            json!({"id": "fetch", "type": "http_request", "config": config}),
            json!({"id": "keep", "type": "variable_set", "config": {"variable": "paid", "value": "{{steps.fetch.output.body.paid}}"}}),
        ],
    )
}

/// A variable, a line in the log, an event, and the end.
fn patient() -> Value {
    chain(
        "patient",
        vec![
            json!({"id": "set", "type": "variable_set", "config": {"variable": "total", "value": "{{input.n}}"}}),
            json!({"id": "log", "type": "log", "config": {"message": "total is {{variables.total}}"}}),
            json!({"id": "wait", "type": "wait_event", "config": {"name": "go", "timeout": "1h"}}),
        ],
    )
}

async fn answers(server: &Server, method: &str, path: &str, body: Value, status: u16) -> Value {
    let body = (method != "GET" && method != "DELETE").then_some(&body);
    let answer = server.send(method, path, body).await;
    assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
    answer.body
}

async fn get(server: &Server, path: &str) -> Value {
    answers(server, "GET", path, Value::Null, 200).await
}

async fn post(server: &Server, path: &str, body: Value) -> Value {
    answers(server, "POST", path, body, 200).await
}

async fn run(server: &Server, body: Value) -> Value {
    answers(server, "POST", "/api/executions?wait=30s", body, 201).await
}

fn path(run: &Value, rest: &str) -> String {
    format!("/api/executions/{}{rest}", run["id"].as_str().unwrap())
}

async fn until(server: &Server, run: &Value, status: &str) -> Value {
    let place = path(run, "");
    eventually("the status", async || {
        let run = get(server, &place).await;
        (run["status"] == status).then_some(run)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trial_runs_take_pins_and_count_nowhere() {
    let site = Site::fresh("trials").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    site.save(&calling()).await;
    let pin = "/api/schemas/calling/pins/fetch";
    let output = json!({"output": {"body": {"paid": true}}});
    answers(&server, "PUT", pin, output.clone(), 200).await;
    assert_eq!(get(&server, pin).await["output"], output["output"]);

    let start = |trial: Value| json!({"schema": "calling", "input": {"id": 7}, "trial": trial});
    let pinned = run(&server, start(json!({"pins": true}))).await;
    assert_eq!(
        (&pinned["status"], &pinned["trial"]),
        (&json!("completed"), &json!(true))
    );
    let stopped = run(&server, start(json!({"pins": true, "stop_after": "fetch"}))).await;
    assert_eq!(
        (&stopped["status"], &stopped["seq"]),
        (&json!("completed"), &json!(2))
    );
    let unpinned = run(&server, start(json!({}))).await;
    assert_eq!(unpinned["error"]["code"], "CONNECTION_FAILED");

    let listed = async |query: &str| {
        let list = get(&server, &format!("/api/executions{query}")).await;
        list["items"].as_array().unwrap().len()
    };
    assert_eq!((listed("").await, listed("?trial=true").await), (0, 3));
    let counts = get(&server, "/api/executions/counts?group=status").await;
    assert_eq!(counts["total"], 0, "{counts}");
    let errors = get(&server, "/api/executions/errors").await;
    assert_eq!(errors["total"], 0, "{errors}");

    let node = json!({"id": "keep", "type": "variable_set", "config": {"variable": "n", "value": "{{input.id + 1}}"}});
    let body = json!({"node": node, "context": {"input": {"id": 7}}});
    let tried = post(&server, "/api/schemas/calling/trial-node", body).await;
    assert_eq!(tried["changes"], json!({"n": 8}));
    answers(&server, "DELETE", pin, Value::Null, 204).await;
    answers(&server, "GET", pin, Value::Null, 404).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_layout_has_a_revision_of_its_own() {
    let site = Site::fresh("layouts").await;
    let server = site.server().await;
    site.save(&calling()).await;
    let place = "/api/schemas/calling/layout";
    assert_eq!(get(&server, place).await["revision"], 0);
    let drawn = json!({"positions": {"fetch": {"x": 1.5, "y": -2.0}}});
    let saved = answers(&server, "PUT", place, drawn.clone(), 200).await;
    assert_eq!(
        (&saved["revision"], &saved["positions"]),
        (&json!(1), &drawn["positions"])
    );
    assert_eq!(get(&server, place).await, saved);
    assert_eq!(get(&server, "/api/schemas/calling").await["version"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_debugger_takes_over_a_live_run_and_shows_every_moment() {
    let site = Site::fresh("debugger").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    site.save(&patient()).await;
    let start = json!({"schema": "patient", "input": {"n": 3}, "debug_mode": true});
    let debugged = answers(&server, "POST", "/api/executions", start, 201).await;
    until(&server, &debugged, "waiting_debug").await;
    let body = json!({"mode": {"until": ["end", "log"]}});
    post(&server, &path(&debugged, "/continue"), body).await;
    eventually("it stands before the first of the two", async || {
        let run = get(&server, &path(&debugged, "")).await;
        (run["status"] == "waiting_debug" && run["current_node_id"] == "log").then_some(())
    })
    .await;

    let start = json!({"schema": "patient", "input": {"n": 3}});
    let live = answers(&server, "POST", "/api/executions", start, 201).await;
    until(&server, &live, "waiting").await;
    post(&server, &path(&live, "/debug"), json!({})).await;
    answers(
        &server,
        "POST",
        &path(&live, "/signals/go"),
        json!({"by": "ada"}),
        202,
    )
    .await;
    let held = until(&server, &live, "waiting_debug").await;
    assert_eq!(held["current_node_id"], "end");
    let body = json!({"mode": "run", "expect_seq": held["seq"]});
    post(&server, &path(&live, "/continue"), body).await;
    until(&server, &live, "completed").await;

    let changed = get(&server, &path(&live, "/steps/2/context?view=difference")).await;
    let changes = changed["difference"].as_array().unwrap();
    assert!(
        changes
            .iter()
            .any(|change| change["path"] == "/variables/total")
    );
    let before = path(&live, "/steps/2/context?view=before&pointer=/variables");
    assert_eq!(get(&server, &before).await["value"], json!({}));
    let at = json!({"execution": live["id"], "seq": 2});
    let body = json!({"text": "{{variables.total}} + 1", "mode": "expression", "at": at});
    let value = post(&server, "/api/expressions/evaluate", body).await;
    assert_eq!(value["value"], 4);
    let step = get(&server, &path(&live, "/steps/3")).await;
    assert_eq!(step["node_id"], "log");
    let logs = get(&server, &path(&live, "/logs?node=log&order=desc")).await;
    assert_eq!(logs["items"][0]["message"], "total is 3");
    let signals = get(&server, &path(&live, "/signals")).await;
    assert_eq!(signals["items"][0]["payload"], json!({"by": "ada"}));
    answers(&server, "DELETE", "/api/schemas/patient", Value::Null, 204).await;
    let definition = get(&server, &path(&live, "/definition")).await;
    assert_eq!(definition["definition"]["name"], "patient");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_are_found_grouped_and_counted() {
    let site = Site::fresh("overview").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    site.save(&calling()).await;
    let mut failed = Vec::new();
    for team in ["red", "blue"] {
        let body = json!({"schema": "calling", "input": {"id": 1}, "labels": {"team": team}});
        failed.push(run(&server, body).await);
    }
    for (filter, expected) in [
        ("label=team:red", &failed[..1]),
        ("label=team:blue&error_code=CONNECTION_FAILED", &failed[1..]),
        ("node=fetch&version=1&longer_than=1h", &failed[..0]),
        ("error_code=OTHER", &failed[..0]),
    ] {
        let list = get(&server, &format!("/api/executions?{filter}")).await;
        let found = list["items"].as_array().unwrap().iter();
        let found: Vec<&Value> = found.map(|run| &run["id"]).collect();
        let expected: Vec<&Value> = expected.iter().map(|run| &run["id"]).collect();
        assert_eq!(found, expected, "{filter}");
    }
    let errors = get(&server, "/api/executions/errors").await;
    let group = &errors["groups"][0];
    assert_eq!(
        (&group["code"], &group["node"], &group["count"]),
        (&json!("CONNECTION_FAILED"), &json!("fetch"), &json!(2))
    );
    assert_eq!(group["last"], failed[1]["id"]);
    let stats = get(&server, "/api/stats?schema=calling").await;
    let buckets = stats["buckets"].as_array().unwrap().iter();
    let failures: u64 = buckets
        .map(|bucket| bucket["failed"].as_u64().unwrap())
        .sum();
    assert_eq!(failures, 2, "{stats}");
    let with = failed[1]["id"].as_str().unwrap();
    let pair = path(
        &failed[0],
        &format!("/diff/pair?with={with}&node=fetch&visit=1"),
    );
    assert_eq!(server.get(&pair).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_letters_go_on_at_once_after_they_were_counted() {
    let site = Site::fresh("letters").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    let letter = NewLetter {
        execution_id: None,
        reason: "delivered too often".into(),
        message: Some("no JSON".into()),
        now: site.now(),
    };
    site.desk.store.add_letter(letter).await.unwrap();
    let bulk = json!({"filter": {"reason": "often"}, "action": "requeue"});
    let dry = post(&server, "/api/dead-letters/bulk", bulk.clone()).await;
    assert_eq!(
        (&dry["matched"], &dry["outcomes"]),
        (&json!(1), &Value::Null)
    );
    let mut real = bulk;
    real["dry_run"] = json!(false);
    let real = post(&server, "/api/dead-letters/bulk", real).await;
    assert_eq!(real["outcomes"]["refused"], 1, "{real}");
    let found = get(&server, "/api/dead-letters?reason=often&order=newest").await;
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
}
