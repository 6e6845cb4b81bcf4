//! `user` in expressions over PostgreSQL and RabbitMQ, for every way of starting. The same on SQLite: `api/users.rs`.

use serde_json::{Value, json};

use crate::broker::{Stranger, WORK};
use crate::process::{KEY, Server};
use crate::site::{Site, eventually};
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
