//! `user` in expressions, for every way of starting: a schema that works by hand works at night too. The same over
//! PostgreSQL and RabbitMQ, with messages: `cluster/users.rs`.

use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::store::{SaveMode, SaveSchema};
use serde_json::{Value, json};

use crate::client::{self, Answer, Request};
use crate::server::{ADMIN_KEY, Server, id};
use crate::waiting::eventually;

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
    let made = server.post("/api/keys", body).await.expect(201);
    Person {
        key: made["key"].as_str().unwrap().to_owned(),
        user: json!({"id": made["id"], "name": name, "email": email}),
    }
}

impl Person {
    async fn sends(&self, server: &Server, method: &str, path: &str, body: &Value) -> Answer {
        let request = Request::new(method, path).json(body);
        server.send_as(&self.key, request).await
    }

    async fn saves(&self, server: &Server, schema: &Value) -> Value {
        self.sends(server, "POST", "/api/schemas", schema)
            .await
            .expect(201)
    }
}

fn webhook(path: &str) -> Value {
    json!([{"type": "webhook", "path": path, "respond": "last_node"}])
}

/// The answer of a webhook that asks for no proof.
async fn called(server: &Server, path: &str) -> Value {
    let request = Request::new("POST", &format!("/webhook/{path}")).json(&json!({}));
    client::send(server.address, request).await.expect(200)
}

/// Waits for the first execution of a schema, and for its end.
async fn first_run(server: &Server, schema: &str) -> Value {
    let path = format!("/api/executions?schema={schema}");
    let id = eventually("a run", async || {
        let page = server.get(&path).await.expect(200);
        let runs = page["items"].as_array().unwrap();
        runs.last().map(|run| id(run).to_owned())
    })
    .await;
    let path = format!("/api/executions/{id}?wait=30s");
    server.get(&path).await.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_by_the_api_has_the_user_who_asks() {
    let server = Server::locked().await;
    let (ann, bob) = (person(&server, "ann").await, person(&server, "bob").await);
    ann.saves(&server, &asking("orders", json!([]))).await;
    let start = json!({"schema": "orders"});
    let run = bob.sends(&server, "POST", "/api/executions?wait=30s", &start);
    assert_eq!(run.await.expect(201)["output"], bob.user);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_has_the_user_who_saved_the_version() {
    let server = Server::locked().await;
    let (ann, bob) = (person(&server, "ann").await, person(&server, "bob").await);
    let mut schema = asking("hooked", webhook("hooked"));
    ann.saves(&server, &schema).await;
    assert_eq!(called(&server, "hooked").await, ann.user);
    // The same content is the same version; another is saved by another.
    let update = async |schema: &Value| {
        let saved = bob.sends(&server, "PUT", "/api/schemas/hooked", schema);
        saved.await.expect(200)
    };
    update(&schema).await;
    assert_eq!(called(&server, "hooked").await, ann.user);
    schema["description"] = json!("another");
    update(&schema).await;
    assert_eq!(called(&server, "hooked").await, bob.user);
    // Whatever becomes of the key.
    let revoke = Request::new("DELETE", "/api/keys/bob");
    server.send(revoke).await.expect(204);
    assert_eq!(called(&server, "hooked").await, bob.user);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_with_an_entry_node_has_the_user_who_saved_the_version() {
    let server = Server::locked().await;
    let ann = person(&server, "ann").await;
    let saved = ann
        .saves(&server, &asking("hooked", webhook("hooked")))
        .await;
    let side = format!("{}/side_1", id(&saved));
    assert_eq!(called(&server, &side).await, ann.user);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cron_trigger_has_the_user_who_saved_the_version() {
    let server = Server::locked().await;
    let ann = person(&server, "ann").await;
    let trigger = json!([{"type": "cron", "cron": "* * * * * *"}]);
    ann.saves(&server, &asking("nightly", trigger)).await;
    assert_eq!(first_run(&server, "nightly").await["output"], ann.user);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_has_the_user_who_wrote_the_action() {
    let server = Server::locked().await;
    let (ann, bob) = (person(&server, "ann").await, person(&server, "bob").await);
    ann.saves(&server, &asking("later", json!([]))).await;
    let spec = json!({"policy": {"once": {}}, "action": {"start_execution": {"schema": "later"}}});
    let body = json!({"spec": spec});
    let put = bob.sends(&server, "PUT", "/api/scheduled-actions/once", &body);
    put.await.expect(201);
    assert_eq!(first_run(&server, "later").await["output"], bob.user);
    server.close().await;
}

/// `pawl run` is told by `cli/run.rs`.
#[tokio::test(flavor = "multi_thread")]
async fn in_dev_it_is_the_developer() {
    let server = Server::start().await;
    server.save(asking("hooked", webhook("hooked"))).await;
    let developer = json!({"id": 1, "name": "dev", "email": "dev@localhost"});
    let run = server.run_to_end(json!({"schema": "hooked"})).await;
    assert_eq!(run["output"], developer);
    assert_eq!(called(&server, "hooked").await, developer);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_address_there_is_no_email_and_never_a_null() {
    let server = Server::locked().await;
    let (key, key_id) = server.key("plain", "editor").await;
    let plain = Person {
        key,
        user: json!({"id": key_id, "name": "plain"}),
    };
    let admin = Person {
        key: ADMIN_KEY.to_owned(),
        user: json!({"id": "PAWL_ADMIN_KEY", "name": "PAWL_ADMIN_KEY"}),
    };
    let saved = plain
        .saves(&server, &asking("hooked", webhook("hooked")))
        .await;
    let side = format!("{}/side_1", id(&saved));
    assert_eq!(called(&server, &side).await, plain.user);
    for asker in [&plain, &admin] {
        let start = json!({"schema": "hooked"});
        let run = asker.sends(&server, "POST", "/api/executions?wait=30s", &start);
        let run = run.await.expect(201);
        assert_eq!(run["error"]["code"], "UNDEFINED_PATH", "{run}");
        let message = run["error"]["message"].as_str().unwrap();
        assert!(message.contains("user.email"), "{message}");
        let path = format!("/api/executions/{}/context", id(&run));
        let context = server.get(&path).await.expect(200);
        assert_eq!(context["context"]["user"], asker.user);
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_saved_before_users_were_stored_has_one_all_the_same() {
    let server = Server::locked().await;
    let triggers = webhook("old");
    let schema = asking("old", triggers);
    let loaded = pawl_kernel::schema::load(None, &schema.to_string(), &server.runtime().registry);
    let definition = loaded.definition.unwrap();
    let save = SaveSchema {
        id: SchemaId(uuid::Uuid::from_u128(7)),
        name: "old".into(),
        description: None,
        definition: pawl_kernel::schema::to_stored_json(&definition),
        hash: "old".into(),
        source: None,
        note: None,
        created_by: "key:ann".into(),
        now: server.runtime().clock.now(),
        mode: SaveMode::Create,
    };
    let saved = server.store().save_schema(save).await.unwrap();
    let side = format!("{}/side_1", saved.id);
    let system = json!({"id": 0, "name": "system"});
    assert_eq!(called(&server, &side).await, system);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_keys_are_checked_and_listed() {
    let server = Server::locked().await;
    person(&server, "ann").await;
    server.key("plain", "viewer").await;
    let listed = server.get("/api/keys").await.expect(200);
    let emails = [&listed["items"][0]["email"], &listed["items"][1]["email"]];
    assert_eq!(emails, [&Value::Null, &json!("ann@example.com")]);
    let long = format!("a@{}example.com", "b.".repeat(130));
    for bad in [
        json!(""),
        json!("ann"),
        json!("a b@c"),
        json!("a@b\n"),
        json!(long),
        json!(1),
        json!({}),
    ] {
        let body = json!({"name": "bad", "role": "viewer", "email": bad});
        let refused = server.post("/api/keys", body).await;
        let refused = refused.refuses(422, "INVALID_REQUEST");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("`email`"), "{message}");
    }
    server.close().await;
}
