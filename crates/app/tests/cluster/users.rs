//! `user` in expressions over PostgreSQL and RabbitMQ, for every way of starting. The same on SQLite: `api/users.rs`.

use pawl_kernel::ports::letters::{LetterStore, NewLetter};
use serde_json::{Value, json};

use crate::broker::{Stranger, WORK};
use crate::process::{KEY, Server};
use crate::site::{Site, eventually};
use crate::strangers::{ACCEPTING, letters};
use crate::wire::{self, Answer};

/// Ends with its user, once it has made an address of it.
fn asking(name: &str, triggers: Value) -> Value {
    json!({
        "name": name,
        "triggers": triggers,
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "to_1", "type": "variable_set", "config": {"variable": "to", "value": "mailto:{{user.email}}"}},
            {"id": "end_1", "type": "end", "config": {"output": "{{user}}"}},
            {"id": "side_1", "type": "end", "entry": true, "config": {"output": "{{user}}"}},
        ],
        "edges": [
            {"source": "start_1", "target": "to_1"},
            {"source": "to_1", "target": "end_1"},
        ],
    })
}

struct Person {
    key: String,
    user: Value,
}

async fn person(server: &Server, name: &str) -> Person {
    let email = format!("{name}@example.com");
    let body = json!({"name": name, "role": "editor", "email": email});
    let made = server.post("/api/keys", &body).await.body;
    Person {
        key: made["key"].as_str().unwrap().to_owned(),
        user: json!({"id": made["id"], "name": name, "email": email}),
    }
}

impl Person {
    async fn sends(&self, server: &Server, method: &str, path: &str, body: &Value) -> Answer {
        let sent = wire::send(server.address, method, path, Some(body), Some(&self.key));
        sent.await.unwrap()
    }

    async fn saves(&self, server: &Server, schema: &Value) -> Value {
        let saved = self.sends(server, "POST", "/api/schemas", schema).await;
        assert_eq!(saved.status, 201, "{}", saved.body);
        saved.body
    }
}

/// Waits for an execution of the schema, and for its end.
async fn first_user(server: &Server, schema: &str) -> Value {
    let path = format!("/api/executions?schema={schema}&status=completed");
    eventually(&format!("`{schema}` has run"), async || {
        let page = server.get(&path).await.body;
        let runs = page["items"].as_array()?;
        runs.last().map(|run| run["output"].clone())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_have_a_user() {
    let site = Site::fresh("users_of_calls").await;
    let (server, worker) = (site.server().await, site.worker().await);
    let (ann, bob) = (person(&server, "ann").await, person(&server, "bob").await);
    let trigger = json!([{"type": "webhook", "path": "hooked", "respond": "last_node"}]);
    let saved = ann.saves(&server, &asking("hooked", trigger)).await;
    let start = json!({"schema": "hooked"});
    let run = bob.sends(&server, "POST", "/api/executions?wait=30s", &start);
    assert_eq!(run.await.body["output"], bob.user);
    let side = format!("{}/side_1", saved["id"].as_str().unwrap());
    for path in ["hooked", &side] {
        let answer = server.webhook(path, &json!({})).await.unwrap();
        assert_eq!((answer.status, &answer.body), (200, &ann.user), "{path}");
    }
    let by_admin = wire::send(
        server.address,
        "POST",
        "/api/executions?wait=30s",
        Some(&start),
        Some(KEY),
    );
    let refused = by_admin.await.unwrap().body;
    assert_eq!(refused["error"]["code"], "UNDEFINED_PATH", "{refused}");
    drop(worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_and_messages_have_a_user() {
    let site = Site::with("users_of_clocks", "[broker]\naccept_external = true\n").await;
    let (server, worker) = (site.server().await, site.worker().await);
    let (ann, bob) = (person(&server, "ann").await, person(&server, "bob").await);
    let trigger = json!([{"type": "cron", "cron": "* * * * * *"}]);
    ann.saves(&server, &asking("nightly", trigger)).await;
    ann.saves(&server, &asking("later", json!([]))).await;
    ann.saves(&server, &asking("by-message", json!([]))).await;
    assert_eq!(first_user(&server, "nightly").await, ann.user);

    let spec = json!({"policy": {"once": {}}, "action": {"start_execution": {"schema": "later"}}});
    let body = json!({"spec": spec});
    let put = bob.sends(&server, "PUT", "/api/scheduled-actions/once", &body);
    assert_eq!(put.await.status, 201);
    assert_eq!(first_user(&server, "later").await, bob.user);

    let stranger = Stranger::connect(&site.broker).await;
    let message = json!({"execution_id": "m-1", "schema_id": "by-message", "action": "start"});
    stranger.publish(WORK, message.to_string().as_bytes()).await;
    assert_eq!(first_user(&server, "by-message").await, ann.user);
    drop(worker);
}

/// Fails, and says as whom.
fn complaining(name: &str) -> Value {
    json!({
        "name": name,
        "nodes": [
            {"id": "start", "type": "start"},
            {"id": "note", "type": "log", "config": {"message": "as {{user.id}}"}},
            {"id": "fail", "type": "fail", "config": {"code": "BROKEN", "message": "{{user.id}}"}},
        ],
        "edges": [{"source": "start", "target": "note"}, {"source": "note", "target": "fail"}],
    })
}

/// Whom the execution ran as, once it has failed.
async fn failed_as(server: &Server, id: &Value) -> Value {
    let path = format!("/api/executions/{}?wait=30s", id.as_str().unwrap());
    let run = server.get(&path).await.body;
    assert_eq!(run["error"]["code"], "BROKEN", "{run}");
    run["error"]["message"].clone()
}

async fn failed_run(server: &Server, person: &Person) -> Value {
    let start = json!({"schema": "fragile"});
    let run = person.sends(server, "POST", "/api/executions?wait=30s", &start);
    let id = run.await.body["id"].clone();
    assert_eq!(failed_as(server, &id).await, person.user["id"]);
    id
}

/// An approval asks who is there, not who was there first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_on_has_the_user_who_asks() {
    let site = Site::fresh("users_of_branches").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    let (ann, bob) = (person(&server, "ann").await, person(&server, "bob").await);
    ann.saves(&server, &complaining("fragile")).await;
    let origin = failed_run(&server, &ann).await;
    for (action, body) in [
        ("retry", json!({})),
        ("fork", json!({"from_seq": 1})),
        ("fork", json!({"from_seq": 2})),
    ] {
        let path = format!("/api/executions/{}/{action}", origin.as_str().unwrap());
        let made = bob.sends(&server, "POST", &path, &body).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let user = failed_as(&server, &made.body["id"]).await;
        assert_eq!(user, bob.user["id"], "{action}");
    }

    let origin = failed_run(&server, &ann).await;
    let filter = json!({"schema": "fragile", "unresolved": true, "text": origin});
    let bulk = json!({"filter": filter, "action": "retry", "dry_run": false});
    let done = bob.sends(&server, "POST", "/api/executions/bulk", &bulk);
    let done = done.await.body;
    assert_eq!(done["outcomes"]["done"], 1, "{done}");
    let path = format!("/api/executions/{}", origin.as_str().unwrap());
    let retried_as = server.get(&path).await.body["retried_as"].clone();
    assert_eq!(failed_as(&server, &retried_as).await, bob.user["id"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_requeued_has_the_user_who_asks() {
    let site = Site::with("users_of_letters", ACCEPTING).await;
    let (server, _worker) = (site.server().await, site.worker().await);
    let (ann, bob) = (person(&server, "ann").await, person(&server, "bob").await);
    // One is a start that came too early, the other is about an execution that failed.
    let stranger = Stranger::connect(&site.broker).await;
    let early = json!({"execution_id": "m-1", "schema_id": "fragile", "action": "start"});
    stranger.publish(WORK, early.to_string().as_bytes()).await;
    letters(&server, 1).await;
    ann.saves(&server, &complaining("fragile")).await;
    let origin = failed_run(&server, &ann).await;
    let letter = NewLetter {
        execution_id: Some(origin.as_str().unwrap().parse().unwrap()),
        reason: "delivered too often".into(),
        message: None,
        now: site.now(),
    };
    site.desk.store.add_letter(letter).await.unwrap();
    let buried = letters(&server, 2).await;
    for (letter, action) in buried.iter().zip(["start", "retry"]) {
        let path = format!("/api/dead-letters/{}/requeue", letter["id"]);
        let requeued = bob.sends(&server, "POST", &path, &json!({})).await;
        assert_eq!(
            (requeued.status, &requeued.body["action"]),
            (201, &json!(action)),
            "{}",
            requeued.body
        );
        let user = failed_as(&server, &requeued.body["execution"]["id"]).await;
        assert_eq!(user, bob.user["id"], "{action}");
    }
}
