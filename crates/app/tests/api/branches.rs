//! Retries and forks: what they take over, what they may change, and what viewers see of them.

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, fragile, id, linear, waiting};

fn path(run: &Value, action: &str) -> String {
    format!("/api/executions/{}/{action}", id(run))
}

async fn failed(server: &Server) -> Value {
    server
        .run_to_end(json!({"schema": "fragile", "variables": {"ok": false}}))
        .await
}

async fn show(server: &Server, run: &Value) -> Value {
    let path = format!("/api/executions/{}", id(run));
    server.get(&path).await.expect(200)
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_retried_says_so_and_is_not_retried_again() {
    let server = Server::start().await;
    server.save(fragile("fragile")).await;
    let run = failed(&server).await;
    assert_eq!(run["retried_as"], Value::Null);
    let keyed = || {
        Request::new("POST", &path(&run, "retry"))
            .header("Idempotency-Key", "once")
            .json(&json!({}))
    };
    let first = server.send(keyed()).await.expect(201);
    assert_eq!(show(&server, &run).await["retried_as"], first["id"]);
    let told = server.get(&path(&run, "explain")).await.expect(200);
    assert!(told["sentence"].as_str().unwrap().contains(id(&first)));
    assert_eq!(told["facts"]["retried_as"], first["id"]);

    let same = server.send(keyed()).await.expect(200);
    assert_eq!(same["id"], first["id"]);
    let refused = server.post(&path(&run, "retry"), json!({})).await;
    let refused = refused.refuses(409, "CONFLICT");
    assert_eq!(refused["details"]["retried_as"], first["id"]);
    assert!(refused["message"].as_str().unwrap().contains(id(&first)));
    let second = server
        .post(&path(&run, "retry"), json!({"again": true}))
        .await
        .expect(201);
    assert_eq!(show(&server, &run).await["retried_as"], second["id"]);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unresolved_is_what_failed_and_was_not_retried() {
    let server = Server::start().await;
    server.save(fragile("fragile")).await;
    server.save(waiting("approval")).await;
    let runs = [failed(&server).await, failed(&server).await];
    server
        .run_to_end(json!({"schema": "fragile", "variables": {"ok": true}}))
        .await;
    let stopped = server.run(json!({"schema": "approval"})).await;
    server.command(&path(&stopped, "stop")).await.expect(200);
    server.until(id(&stopped), "stopped").await;
    let retry = server
        .post(&(path(&runs[0], "retry") + "?wait=30s"), json!({}))
        .await
        .expect(201);
    let list = async |query: &str| {
        let path = format!("/api/executions?unresolved=true{query}");
        server.get(&path).await.expect(200)
    };
    let all = list("").await;
    assert_eq!(ids(&all), [id(&retry), id(&stopped), id(&runs[1])]);
    let only = list("&status=failed,completed").await;
    assert_eq!(ids(&only), [id(&retry), id(&runs[1])]);
    server
        .get("/api/executions?unresolved=true&status=running")
        .await
        .refuses(400, "INVALID_QUERY");

    // What the filter finds is retried; what was retried before is not.
    let bulk = |unresolved: bool| {
        let filter = json!({"schema": "fragile", "status": "failed", "unresolved": unresolved});
        json!({"filter": filter, "action": "retry", "dry_run": false})
    };
    let done = server.post("/api/executions/bulk", bulk(false)).await;
    assert_eq!(
        done.expect(200)["outcomes"],
        json!({"done": 2, "skipped": 1, "conflict": 0, "not_found": 0, "failed": 0})
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_begins_where_its_origin_did() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server
        .run_to_end(json!({"schema": "orders", "input": {"n": 3}}))
        .await;
    let fork = async |from: &Value, body: Value| {
        let path = path(from, "fork") + "?wait=30s";
        server.post(&path, body).await.expect(201)
    };
    let same = fork(&run, json!({"from_seq": 2})).await;
    let other = fork(
        &same,
        json!({"from_seq": 3, "input": {"n": 5}, "variables": {"total": 4}}),
    )
    .await;
    assert_eq!(other["output"], 4);

    let steps = async |query: &str| {
        let page = server
            .get(&(path(&other, "steps") + query))
            .await
            .expect(200);
        let items = page["items"].as_array().unwrap().clone();
        let brief = |step: &Value| {
            let node = step["node_id"].as_str().unwrap().to_owned();
            (
                step["seq"].as_u64().unwrap(),
                node,
                step["inherited"] == true,
            )
        };
        (
            items.iter().map(brief).collect::<Vec<_>>(),
            page["next"].clone(),
        )
    };
    let all = [
        (1, "start_1".to_owned(), true),
        (2, "set_1".to_owned(), true),
        (3, "log_1".to_owned(), true),
        (4, "$edit".to_owned(), false),
        (5, "end_1".to_owned(), false),
    ];
    assert_eq!(steps("").await.0, all);
    assert_eq!(steps("?inherited=false").await.0, all[3..]);
    let (first, next) = steps("?limit=2").await;
    assert_eq!(first, all[..2]);
    let rest = format!("?limit=9&cursor={}", next.as_str().unwrap());
    assert_eq!(steps(&rest).await.0, all[2..]);

    let diff = async |with: &Value| {
        let path = format!("{}?with={}", path(&run, "diff"), id(with));
        server.get(&path).await.expect(200)
    };
    let none = diff(&same).await;
    assert_eq!(
        (&none["same_path"], &none["first_divergence"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(none["steps"][0]["right"]["inherited"], true);
    let edited = diff(&other).await;
    assert_eq!(edited["first_divergence"]["index"], 4);
    let edit = edited["steps"].as_array().unwrap().iter();
    let edit = edit
        .clone()
        .find(|step| step["node_id"] == "$edit")
        .unwrap();
    assert!(
        edit["difference"].to_string().contains("\"total\":4"),
        "{edit}"
    );

    let context = async |seq: u64| {
        let path = path(&other, &format!("steps/{seq}/context"));
        server.get(&path).await.expect(200)
    };
    assert_eq!(context(2).await["after"]["variables"], json!({"total": 3}));
    let edit = context(4).await;
    assert_eq!(
        (&edit["before"]["input"], &edit["after"]["input"]),
        (&json!({"n": 3}), &json!({"n": 5}))
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_and_what_is_warned_of() {
    let server = Server::start().await;
    let saved = server.save(fragile("fragile")).await;
    let run = failed(&server).await;
    let mut renamed = fragile("fragile");
    renamed["nodes"][2]["id"] = json!("give_up");
    renamed["edges"][2]["target"] = json!("give_up");
    let put = Request::new("PUT", &format!("/api/schemas/{}", id(&saved))).json(&renamed);
    server.send(put).await.expect(200);
    let refused = server
        .post(&path(&run, "retry"), json!({"version": "latest"}))
        .await
        .refuses(409, "CONFLICT");
    assert!(
        refused["message"].as_str().unwrap().contains("`fail_1`"),
        "{refused}"
    );
    // After step 2 the next is `fail_1`, which only the first version has.
    for version in [json!("latest"), json!(2)] {
        let body = json!({"from_seq": 2, "version": version});
        let refused = server.post(&path(&run, "fork"), body).await;
        let refused = refused.refuses(409, "CONFLICT");
        let message = refused["message"].as_str().unwrap();
        assert!(
            message.contains("version 2") && message.contains("`fail_1`"),
            "{message}"
        );
    }
    let old = json!({"from_seq": 2, "version": 1});
    server.post(&path(&run, "fork"), old).await.expect(201);
    let unknown = json!({"from_seq": 1, "version": 7});
    let unknown = server.post(&path(&run, "fork"), unknown).await;
    unknown.refuses(404, "NOT_FOUND");
    let forked = server
        .post(
            &(path(&run, "fork") + "?wait=30s"),
            json!({"from_seq": 1, "version": "latest", "variables": {"okk": true}}),
        )
        .await
        .expect(201);
    assert_eq!(
        (&forked["version"], &forked["status"]),
        (&json!(2), &json!("failed"))
    );
    let warning = forked["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("`okk`") && warning.contains("`ok`"),
        "{warning}"
    );
    let plain = server
        .post(&path(&run, "fork"), json!({"from_seq": 1, "version": 1}))
        .await;
    assert_eq!(plain.expect(201).get("warnings"), None);
    for wrong in [json!("newest"), json!(0), json!(1.5)] {
        server
            .post(&path(&run, "retry"), json!({"version": wrong}))
            .await
            .refuses(422, "INVALID_REQUEST");
    }
    server.close().await;
}

/// An approval asks who is there, not who was there first.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_and_a_retry_run_as_their_caller() {
    let server = Server::locked().await;
    let mut flow = fragile("fragile");
    flow["nodes"][2]["config"]["message"] = json!("{{user.id}} {{execution.started_by}}");
    server.save(flow).await;
    let run = failed(&server).await;
    let (key, key_id) = server.key("ops", "operator").await;
    for (action, body) in [("retry", json!({})), ("fork", json!({"from_seq": 1}))] {
        let request = Request::new("POST", &(path(&run, action) + "?wait=30s")).json(&body);
        let made = server.send_as(&key, request).await.expect(201);
        let theirs = made["created_by"].as_str().unwrap();
        assert_eq!(
            made["error"]["message"],
            format!("{key_id} {theirs}"),
            "{action}"
        );
        assert_ne!(made["created_by"], run["created_by"], "{action}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_retry_runs_as_its_caller() {
    let server = Server::locked().await;
    let mut flow = fragile("fragile");
    flow["nodes"][2]["config"]["message"] = json!("{{user.id}} {{execution.started_by}}");
    server.save(flow).await;
    let runs = [failed(&server).await, failed(&server).await];
    let (key, key_id) = server.key("ops", "operator").await;
    let filter = json!({"schema": "fragile", "status": "failed"});
    let body = json!({"filter": filter, "action": "retry", "dry_run": false});
    let request = Request::new("POST", "/api/executions/bulk").json(&body);
    let done = server.send_as(&key, request).await.expect(200);
    assert_eq!(done["outcomes"]["done"], 2, "{done}");
    for run in &runs {
        let retry = show(&server, run).await["retried_as"].clone();
        let path = format!("/api/executions/{}?wait=30s", retry.as_str().unwrap());
        let made = server.get(&path).await.expect(200);
        assert_eq!(made["created_by"], "key:ops");
        assert_eq!(made["error"]["message"], format!("{key_id} key:ops"));
        assert_ne!(made["error"]["message"], run["error"]["message"]);
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn between_tries_everybody_sees_why() {
    let server = Server::start().await;
    let retry = json!({"max_attempts": 9, "delay": "1h"});
    server
        .save(json!({
            "name": "stock",
            "nodes": [
                {"id": "start", "type": "start"},
                {"id": "stock", "type": "http_request", "retry": retry,
                 "config": {"method": "GET", "url": "http://127.0.0.1:1/"}},
                {"id": "end", "type": "end"},
            ],
            "edges": [{"source": "start", "target": "stock"}, {"source": "stock", "target": "end"}],
        }))
        .await;
    let run = server.run(json!({"schema": "stock"})).await;
    let event = server.until(id(&run), "sleeping").await;
    let listed = server.get("/api/executions").await.expect(200)["items"][0].clone();
    for seen in [event, show(&server, &run).await, listed] {
        assert_eq!(seen["last_error"]["code"], "CONNECTION_FAILED", "{seen}");
        assert_eq!(
            (&seen["error"], &seen["attempt"]),
            (&Value::Null, &json!(2))
        );
    }
    let told = server.get(&path(&run, "explain")).await.expect(200);
    let sentence = told["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("Node `stock` failed once (last: CONNECTION_FAILED "),
        "{sentence}"
    );
    assert!(sentence.contains("; next try at "), "{sentence}");
    assert_eq!(told["facts"]["last_error"]["code"], "CONNECTION_FAILED");
    let metrics = server.get("/metrics").await.text();
    let counted = metrics.lines().any(|line| {
        line.contains("http_request") && line.contains("CONNECTION_FAILED") && line.ends_with(" 1")
    });
    assert!(counted, "a failed try is counted by type and code");
    server.command(&path(&run, "pause")).await.expect(200);
    let told = server.get(&path(&run, "explain")).await.expect(200);
    let sentence = told["sentence"].as_str().unwrap();
    assert_eq!(told["reason"], "paused");
    assert!(
        sentence.contains(" The node failed once (last: CONNECTION_FAILED "),
        "{sentence}"
    );
    server.close().await;
}
