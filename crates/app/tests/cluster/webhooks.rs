//! Webhooks over PostgreSQL and RabbitMQ: called at a server, run by a worker, answered by the server.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::flows::{calls, chain};
use crate::process::Server;
use crate::site::{Site, eventually};

/// When a server that waits for an answer looks without having heard of one.
const LOOKS_AGAIN: Duration = Duration::from_secs(15);

fn respond(body: &str) -> Value {
    json!({"id": "answer", "type": "respond", "config": {"status": 201, "body": {"said": body}}})
}

/// These nodes, behind the webhook of the same name.
fn behind_webhook(name: &str, between: Vec<Value>) -> Value {
    let mut flow = chain(name, between);
    flow["triggers"] = json!([
        {"type": "webhook", "path": format!("{name}/:id"), "respond": "respond_node", "wait": "5m"},
    ]);
    flow
}

async fn save(server: &Server, flow: &Value) {
    let saved = server.post("/api/schemas", flow).await;
    assert_eq!(saved.status, 201, "{}", saved.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_comes_from_whoever_runs_it() {
    let site = Site::fresh("webhook_answers").await;
    let (server, other) = (site.server().await, site.server().await);
    let (first, second) = (site.worker().await, site.worker().await);
    let mut call = calls("call", site.world.url(), &["a"])["nodes"][1].clone();
    call["id"] = json!("call");
    let said = "{{webhook.params.id}} {{steps.call.output.body.path}}";
    save(
        &server,
        &behind_webhook("hooked", vec![call, respond(said)]),
    )
    .await;
    // The other server has never heard of it, and looks before it says so.
    let told = other.webhook("hooked/0", &json!({})).await.unwrap();
    assert_eq!((told.status, &told.body["said"]), (201, &json!("0 a")));
    let many = (1..=20).map(|number| {
        let server = if number % 2 == 0 { &server } else { &other };
        server.webhook(&format!("hooked/{number}"), &json!({}))
    });
    let answers = futures_util::future::join_all(many).await;
    for (number, answer) in (1..=20).zip(answers) {
        let answer = answer.unwrap();
        assert_eq!(
            (answer.status, &answer.body["said"]),
            (201, &json!(format!("{number} a")))
        );
    }
    // A version that takes other calls is seen by the server that did not save it.
    let off = server
        .post("/api/schemas/hooked/deactivate", &json!({}))
        .await;
    assert_eq!(off.status, 200, "{}", off.body);
    eventually("the other server takes no calls", async || {
        let answer = other.webhook("hooked/1", &json!({})).await.unwrap();
        (answer.status == 404).then_some(())
    })
    .await;
    site.world.each_key_once();
    site.sound().await;
    drop((first, second));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_outlives_the_server_it_was_called_at() {
    let site = Site::fresh("webhook_server_dies").await;
    let (server, worker) = (site.server().await, site.worker().await);
    let wait = json!({"id": "wait", "type": "wait_event", "config": {"name": "go"}});
    save(
        &server,
        &behind_webhook("orphaned", vec![wait, respond("late")]),
    )
    .await;
    let call = tokio::spawn(server.webhook("orphaned/1", &json!({"n": 1})));
    let waiting = "SELECT id FROM executions WHERE status = 9";
    let id = eventually("it waits", async || {
        let rows = site.rows(waiting).await;
        rows.into_iter().flatten().next()
    })
    .await;
    server.process.kill();
    assert!(call.await.unwrap().is_err(), "nobody was there to answer");
    let server = site.server().await;
    let signal = format!("/api/executions/{id}/signals/go");
    let sent = server.post(&signal, &json!({})).await;
    assert!(sent.status < 300, "{}", sent.body);
    site.completed(&[id.parse().unwrap()]).await;
    assert_eq!(
        site.path(id.parse().unwrap()).await,
        ["start", "wait", "answer", "end"]
    );
    site.sound().await;
    drop(worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_comes_although_the_worker_died() {
    let site = Site::fresh("webhook_worker_dies").await;
    let (server, worker) = (site.server().await, site.worker().await);
    let call = calls("call", site.world.url(), &["a"])["nodes"][1].clone();
    save(
        &server,
        &behind_webhook("survives", vec![call, respond("at last")]),
    )
    .await;
    site.world.shut("a");
    let caller = tokio::spawn(server.webhook("survives/1", &json!({})));
    site.world.call("a", 1).await;
    worker.kill();
    let next = site.worker().await;
    site.world.call("a", 2).await;
    let opened = Instant::now();
    site.world.open("a");
    let answer = caller.await.unwrap().unwrap();
    // Whoever started after the call was told of it: the server did not have to look by itself.
    assert!(opened.elapsed() < LOOKS_AGAIN / 2, "{:?}", opened.elapsed());
    assert_eq!(
        (answer.status, &answer.body["said"]),
        (201, &json!("at last"))
    );
    site.sound().await;
    drop(next);
}

/// What the tests of the API show on SQLite, once more where the store is PostgreSQL and somebody else runs it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doors_keys_and_entries_hold_on_postgres() {
    let site = Site::fresh("webhook_doors").await;
    let door = async || {
        let launch = site.launch(&["server", "--listen", "127.0.0.1:0"]);
        launch.with("PAWL_SECRET_DOOR", "open-sesame").serve().await
    };
    let (server, other) = (door().await, door().await);
    let worker = site.worker().await;
    let mut flow = behind_webhook("doors", vec![respond("{{uuid()}}"), respond("again")]);
    let nodes = flow["nodes"].as_array_mut().unwrap();
    nodes[2]["id"] = json!("second");
    nodes.push(json!({"id": "side", "type": "end", "entry": true, "config": {"output": 7}}));
    let edges = flow["edges"].as_array_mut().unwrap();
    edges.clear();
    for (source, target) in [("start", "answer"), ("answer", "second"), ("second", "end")] {
        edges.push(json!({"source": source, "target": target}));
    }
    flow["triggers"][0]["auth"] = json!({"type": "header", "secret": "door"});
    let saved = server.post("/api/schemas", &flow).await;
    assert_eq!(saved.status, 201, "{}", saved.body);
    let token = "authorization: Bearer open-sesame\r\n";
    let keyed = format!("{token}idempotency-key: one\r\n");
    for at in [&server, &other] {
        let stranger = at.webhook_with("doors/1", "", &json!({})).await;
        assert_eq!(stranger.status, 401, "{}", stranger.body);
    }
    let first = server
        .webhook_with("doors/1", &keyed, &json!({"n": 1}))
        .await;
    assert_eq!(first.status, 201, "{}", first.body);
    let again = other
        .webhook_with("doors/1", &keyed, &json!({"n": 1}))
        .await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    let changed = other
        .webhook_with("doors/1", &keyed, &json!({"n": 2}))
        .await;
    assert_eq!(changed.status, 422, "{}", changed.body);
    let side = format!("{}/side", saved.body["id"].as_str().unwrap());
    assert_eq!(server.webhook_with(&side, "", &json!({})).await.status, 401);
    let entered = server.webhook_with(&side, token, &json!({})).await;
    assert_eq!((entered.status, &entered.body), (200, &json!(7)));
    let mut rival = behind_webhook("rival", vec![respond("mine")]);
    rival["triggers"][0]["path"] = json!("doors/:other");
    assert_eq!(server.post("/api/schemas", &rival).await.status, 409);
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 2);
    eventually("the second answer is a warning", async || {
        let found = site
            .rows("SELECT message FROM execution_logs WHERE node_id = 'second'")
            .await;
        (!found.is_empty()).then_some(())
    })
    .await;
    site.sound().await;
    drop(worker);
}
