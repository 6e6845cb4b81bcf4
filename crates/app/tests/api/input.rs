//! `input` of a schema: what a start has to bring along, at every door of one process.

use serde_json::{Value, json};

use crate::client::{self, Answer, Request};
use crate::schedule::{once, path};
use crate::server::{Server, id, linear};

fn order(name: &str) -> Value {
    let mut schema = linear(name);
    schema["input"] = json!({
        "type": "object",
        "required": ["n"],
        "properties": {"n": {"type": "integer", "minimum": 1}, "mail": {"type": "string", "pattern": "^[^@]+@[^@]+$"}},
    });
    schema
}

/// Pointer and message of each problem.
fn problems(refused: &Answer) -> Vec<(String, String)> {
    let body = refused.refuses(422, "INVALID_INPUT");
    let list = body["details"]["problems"].as_array().unwrap();
    let text = |problem: &Value, field: &str| problem[field].as_str().unwrap().to_owned();
    list.iter()
        .map(|one| (text(one, "pointer"), text(one, "message")))
        .collect()
}

impl Server {
    async fn tried(&self, input: Value) -> Answer {
        let body = json!({"schema": "order", "input": input});
        self.post("/api/executions", body).await
    }

    async fn executions(&self) -> usize {
        let page = self.get("/api/executions").await.expect(200);
        page["items"].as_array().unwrap().len()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_is_refused_with_all_problems() {
    let server = Server::start().await;
    server.save(order("order")).await;
    let refused = server.tried(json!({"n": 0, "mail": "private-9"})).await;
    let mut found = problems(&refused);
    found.sort();
    let wanted = [
        ("/mail", "it must match the pattern `^[^@]+@[^@]+$`"),
        ("/n", "it must be at least 1"),
    ];
    assert_eq!(found, wanted.map(|(at, text)| (at.into(), text.into())));
    let body = refused.json();
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("/n: it must be at least 1"), "{message}");
    assert!(!refused.text().contains("private-9"), "{}", refused.text());
    assert_eq!(body["details"]["more"], false);

    let missing = server.post("/api/executions", json!({"schema": "order"}));
    assert_eq!(problems(&missing.await)[0].1, "`n` is missing");
    assert_eq!(server.executions().await, 0, "nothing was written");

    let good = json!({"schema": "order", "input": {"n": 3}});
    let run = server.run_to_end(good).await;
    assert_eq!(
        (&run["status"], &run["output"]),
        (&json!("completed"), &json!(3))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_problems_are_cut_and_it_says_so() {
    let server = Server::start().await;
    let mut schema = linear("order");
    schema["input"] = json!({"properties": {"lines": {"items": {"type": "null"}}}});
    server.save(schema).await;
    let refused = server.tried(json!({"lines": vec![1; 5_000]})).await;
    assert_eq!(problems(&refused).len(), 100);
    assert_eq!(refused.json()["details"]["more"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_with_a_bad_input_is_not_saved() {
    let server = Server::start().await;
    let mut schema = linear("order");
    schema["input"] =
        json!({"properties": {"n": {"$ref": "http://127.0.0.1:9/n.json"}, "m": {"type": "nmber"}}});
    for path in ["/api/schemas", "/api/schemas/validate"] {
        let answer = server.post(path, schema.clone()).await.text();
        for part in [
            "BAD_INPUT_SCHEMA",
            "/input/properties/n/$ref",
            "/input/properties/m/type",
        ] {
            assert!(
                answer.contains(part),
                "{path}: {part} is missing in {answer}"
            );
        }
    }
}

/// The first start has happened, whatever the schema wants by now.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_start_is_the_first_one() {
    let server = Server::start().await;
    server.save(linear("order")).await;
    let body = json!({"schema": "order", "input": {}, "idempotency_key": "k-1"});
    let first = server.run(body.clone()).await;
    let put = Request::new("PUT", "/api/schemas/order").json(&order("order"));
    server.send(put).await.expect(200);
    let again = server.post("/api/executions", body).await.expect(200);
    assert_eq!(id(&again), id(&first));
    let fresh = json!({"schema": "order", "input": {}, "idempotency_key": "k-2"});
    problems(&server.post("/api/executions", fresh).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_is_checked_if_it_changes_the_input() {
    let server = Server::start().await;
    server.save(order("order")).await;
    let run = server
        .run_to_end(json!({"schema": "order", "input": {"n": 3}}))
        .await;
    let fork = format!("/api/executions/{}/fork", id(&run));
    let bad = json!({"from_seq": 0, "input": {"n": "x"}});
    let found = problems(&server.post(&fork, bad).await);
    assert_eq!(
        found,
        [("/n".into(), "it must be an integer, not a string".into())]
    );
    for good in [
        json!({"from_seq": 0, "input": {"n": 4}}),
        json!({"from_seq": 0}),
    ] {
        server.post(&fork, good).await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_payload_of_a_webhook_can_be_the_input() {
    let server = Server::start().await;
    let mut schema = order("order");
    schema["triggers"] = json!([
        {"type": "webhook", "path": "checked", "input": "payload", "respond": "last_node"},
        {"type": "webhook", "path": "free", "respond": "last_node"},
    ]);
    server.save(schema).await;
    let call = async |path: &str, body: &Value| {
        let request = Request::new("POST", &format!("/webhook/{path}")).json(body);
        client::send(server.address, request).await
    };
    let found = problems(&call("checked", &json!({"n": -1})).await);
    assert_eq!(found, [("/n".into(), "it must be at least 1".into())]);
    assert_eq!(
        call("checked", &json!({"n": 5})).await.expect(200),
        json!(5)
    );
    // Without it the execution has no input, and the schema says nothing of payloads.
    assert_eq!(call("free", &json!({"n": -1})).await.expect(200), json!(1));
    assert_eq!(server.executions().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_start_fails_as_an_attempt() {
    let server = Server::start().await;
    server.save(order("order")).await;
    let start = json!({"start_execution": {"schema": "order", "input": {"n": 0}}});
    server
        .put(&path("bad-input"), once(start))
        .await
        .expect(201);
    server
        .action_until("bad-input", |action| action["status"]["failed"] == 1)
        .await;
    let attempts = format!("{}/attempts", path("bad-input"));
    let page = server.get(&attempts).await.expect(200).to_string();
    for part in ["INVALID_INPUT", "/n: it must be at least 1"] {
        assert!(page.contains(part), "{page}");
    }
    assert_eq!(server.executions().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_hidden_before_the_check() {
    let secret = "swordfish-4711";
    let server = Server::with_secrets(&[("shop", secret)]).await;
    let mut schema = linear("order");
    schema["input"] = json!({"additionalProperties": false, "properties": {"a": {"enum": ["x"]}}});
    server.save(schema).await;
    let refused = server.tried(json!({"a": secret, secret: 1})).await;
    assert_eq!(problems(&refused).len(), 2);
    assert!(!refused.text().contains(secret), "{}", refused.text());
}
