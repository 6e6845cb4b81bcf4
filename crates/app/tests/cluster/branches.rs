//! Retries and forks over HTTP, on PostgreSQL and RabbitMQ: what the origin says of them, what the outside world sees of
//! them, and what their history shows. The same on SQLite: `api/branches.rs`.

use serde_json::{Value, json};

use crate::flows::chain;
use crate::process::Server;
use crate::site::Site;
use crate::wire::{self, Answer};

/// Pays what its input says, with a request that is another one each time it is made up.
fn payment(world: &str) -> Value {
    let total = json!({"id": "total", "type": "variable_set",
        "config": {"variable": "total", "value": "{{input.n}}"}});
    let body = json!({"at": "{{now()}}", "token": "{{uuid()}}", "run": "{{execution.id}}",
        "by": "{{user.id}}", "total": "{{variables.total}}"});
    let pay = json!({"id": "pay", "type": "http_request",
        "config": {"method": "POST", "url": format!("{world}/pay"), "body": body}});
    let mut flow = chain("payment", vec![total, pay]);
    flow["nodes"][3]["config"] = json!({"output": "{{user.id}}"});
    flow
}

fn id(run: &Value) -> &str {
    run["id"].as_str().unwrap()
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(id).collect()
}

fn done(answer: Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{}", answer.body);
    answer.body
}

async fn save(server: &Server, flow: &Value) -> Value {
    done(server.post("/api/schemas", flow).await, 201)
}

async fn run(server: &Server, schema: &str, input: Value) -> Value {
    let body = json!({"schema": schema, "input": input});
    let started = server.post("/api/executions?wait=30s", &body).await;
    done(started, 201)
}

async fn branch(server: &Server, origin: &Value, action: &str, body: Value) -> Answer {
    let path = format!("/api/executions/{}/{action}?wait=30s", id(origin));
    server.post(&path, &body).await
}

/// What is under the path of the execution.
async fn look(server: &Server, run: &Value, path: &str) -> Value {
    let path = format!("/api/executions/{}{path}", id(run));
    done(server.get(&path).await, 200)
}

async fn unresolved(server: &Server) -> Value {
    let page = server.get("/api/executions?unresolved=true").await;
    done(page, 200)
}

async fn bulk_retry(server: &Server) -> Value {
    let filter = json!({"schema": "payment", "status": "failed"});
    let body = json!({"filter": filter, "action": "retry", "dry_run": false});
    let answer = server.post("/api/executions/bulk", &body).await;
    done(answer, 200)["outcomes"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_repeats_the_request_under_its_key() {
    let site = Site::fresh("retried").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    save(&server, &payment(site.world.url())).await;
    site.world.refuse("pay");
    let origin = run(&server, "payment", json!({"n": 3})).await;
    assert_eq!(origin["error"]["code"], "HTTP_STATUS", "{origin}");
    assert_eq!(origin["retried_as"], Value::Null);
    assert_eq!(ids(&unresolved(&server).await), [id(&origin)]);

    site.world.accept("pay");
    // By another caller, who stands in the rest of the run but not in the request.
    let wanted = json!({"name": "ops", "role": "operator"});
    let ops = done(server.post("/api/keys", &wanted).await, 201);
    let path = format!("/api/executions/{}/retry?wait=30s", id(&origin));
    let key = ops["key"].as_str();
    let first = wire::send(server.address, "POST", &path, Some(&json!({})), key).await;
    let first = done(first.unwrap(), 201);
    assert_eq!(
        (&first["status"], &first["retry_of"], &first["output"]),
        (&json!("completed"), &origin["id"], &ops["id"])
    );
    assert_eq!(look(&server, &origin, "").await["retried_as"], first["id"]);
    assert_eq!(ids(&unresolved(&server).await), Vec::<&str>::new());

    let refused = branch(&server, &origin, "retry", json!({})).await;
    let refused = done(refused, 409);
    assert_eq!(refused["details"]["retried_as"], first["id"], "{refused}");
    assert_eq!(site.world.calls("pay").len(), 2, "nothing was sent");
    let again = branch(&server, &origin, "retry", json!({"again": true})).await;
    let second = done(again, 201);
    assert_ne!(second["id"], first["id"]);
    assert_eq!(look(&server, &origin, "").await["retried_as"], second["id"]);

    let calls = site.world.calls("pay");
    assert_eq!(calls.len(), 3);
    let sent: Value = serde_json::from_str(&calls[0].body).unwrap();
    assert_eq!((&sent["run"], &sent["total"]), (&origin["id"], &json!(3)));
    assert!(
        sent["at"].is_string() && sent["token"].is_string(),
        "{sent}"
    );
    for call in &calls[1..] {
        assert_eq!((&call.key, &call.body), (&calls[0].key, &calls[0].body));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_are_retried_at_once_but_each_only_once() {
    let site = Site::fresh("bulk_retried").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    save(&server, &payment(site.world.url())).await;
    site.world.refuse("pay");
    let mut runs = Vec::new();
    for n in 1..=3 {
        runs.push(run(&server, "payment", json!({"n": n})).await);
    }
    site.world.accept("pay");
    let by_hand = done(branch(&server, &runs[0], "retry", json!({})).await, 201);
    let outcomes = |done: u64, skipped: u64| json!({"done": done, "skipped": skipped, "conflict": 0, "not_found": 0, "failed": 0});
    assert_eq!(bulk_retry(&server).await, outcomes(2, 1));
    assert_eq!(bulk_retry(&server).await, outcomes(0, 3));
    assert_eq!(
        look(&server, &runs[0], "").await["retried_as"],
        by_hand["id"]
    );
    for origin in &runs[1..] {
        let retried_as = look(&server, origin, "").await["retried_as"].clone();
        let retry = look(&server, &json!({"id": retried_as}), "?wait=30s").await;
        assert_eq!(retry["status"], "completed", "{retry}");
    }
    assert_eq!(ids(&unresolved(&server).await), Vec::<&str>::new());
    assert_eq!(site.world.calls("pay").len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_request_needs_another_key() {
    let site = Site::fresh("retried_otherwise").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    let mut flow = payment(site.world.url());
    let saved = save(&server, &flow).await;
    site.world.refuse("pay");
    let origin = run(&server, "payment", json!({"n": 3})).await;
    site.world.accept("pay");
    flow["nodes"][2]["config"]["body"]["urgent"] = json!(true);
    let path = format!("/api/schemas/{}", id(&saved));
    done(server.send("PUT", &path, Some(&flow)).await, 200);

    let wishes = [
        json!({"variables": {"total": 9}}),
        json!({"version": "latest"}),
    ];
    for wish in &wishes {
        let refused = done(branch(&server, &origin, "retry", wish.clone()).await, 409);
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("new_effect_key"), "{message}");
    }
    assert_eq!(site.world.calls("pay").len(), 1, "nothing was sent");
    for (mut wish, version) in wishes.into_iter().zip([1, 2]) {
        wish["new_effect_key"] = json!(true);
        wish["again"] = json!(true);
        let retry = done(branch(&server, &origin, "retry", wish).await, 201);
        assert_eq!(
            (&retry["status"], &retry["version"]),
            (&json!("completed"), &json!(version))
        );
    }
    let calls = site.world.calls("pay");
    assert_eq!(calls.len(), 3);
    site.world.each_key_once();
    let sent = |place: usize| -> Value { serde_json::from_str(&calls[place].body).unwrap() };
    assert_eq!(sent(1)["total"], 9);
    assert_eq!(
        (&sent(2)["total"], &sent(2)["urgent"]),
        (&json!(3), &json!(true))
    );
    // What does not reach the node changes nothing of its request.
    let wish = json!({"variables": {"note": "x"}, "again": true});
    done(branch(&server, &origin, "retry", wish).await, 201);
    let last = site.world.call("pay", 4).await;
    assert_eq!((&last.key, &last.body), (&calls[0].key, &calls[0].body));
}

/// Sequence number, node, and whether it was taken over.
fn brief(page: &Value) -> Vec<(u64, String, bool)> {
    let steps = page["items"].as_array().unwrap().iter();
    let brief = |step: &Value| {
        let node = step["node_id"].as_str().unwrap().to_owned();
        let seq = step["seq"].as_u64().unwrap();
        (seq, node, step["inherited"] == true)
    };
    steps.map(brief).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_of_a_fork_begins_where_its_origin_did() {
    let site = Site::fresh("forked").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    let total = json!({"id": "total", "type": "variable_set",
        "config": {"variable": "total", "value": "{{input.n}}"}});
    let note = json!({"id": "note", "type": "log", "config": {"message": "{{variables.total}}"}});
    let mut flow = chain("orders", vec![total, note]);
    flow["nodes"][3]["config"] = json!({"output": "{{variables.total}} {{input.n}}"});
    let saved = save(&server, &flow).await;
    let origin = run(&server, "orders", json!({"n": 3})).await;

    let same = done(
        branch(&server, &origin, "fork", json!({"from_seq": 2})).await,
        201,
    );
    assert_eq!(
        (&same["output"], &same["forked_from"]),
        (&json!("3 3"), &origin["id"])
    );
    let diff = look(&server, &origin, &format!("/diff?with={}", id(&same))).await;
    assert_eq!(
        (&diff["same_path"], &diff["first_divergence"]),
        (&json!(true), &Value::Null)
    );
    let wish = json!({"from_seq": 2, "input": {"n": 5}});
    let edited = done(branch(&server, &origin, "fork", wish).await, 201);
    assert_eq!(edited["output"], "3 5");
    let step = |seq: u64, node: &str, inherited| (seq, node.to_owned(), inherited);
    let all = [
        step(1, "start", true),
        step(2, "total", true),
        step(3, "$edit", false),
        step(4, "note", false),
        step(5, "end", false),
    ];
    assert_eq!(brief(&look(&server, &edited, "/steps").await), all);
    let own = look(&server, &edited, "/steps?inherited=false").await;
    assert_eq!(brief(&own), all[2..]);
    let edit = look(&server, &edited, "/steps/3/context").await;
    assert_eq!(
        (&edit["before"]["input"], &edit["after"]["input"]),
        (&json!({"n": 3}), &json!({"n": 5}))
    );
    let diff = look(&server, &origin, &format!("/diff?with={}", id(&edited))).await;
    assert_eq!(diff["first_divergence"]["index"], 3, "{diff}");

    flow["nodes"][3]["config"] = json!({"output": "new {{variables.total}}"});
    let path = format!("/api/schemas/{}", id(&saved));
    done(server.send("PUT", &path, Some(&flow)).await, 200);
    for (wish, version, output) in [
        (json!({"from_seq": 2}), 1, "3 3"),
        (json!({"from_seq": 2, "version": "latest"}), 2, "new 3"),
    ] {
        let fork = done(branch(&server, &origin, "fork", wish).await, 201);
        assert_eq!(
            (&fork["version"], &fork["output"]),
            (&json!(version), &json!(output))
        );
    }
}
