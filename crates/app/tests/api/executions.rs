use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, fragile, id, linear, waiting};

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_runs_to_its_end_within_the_wait() {
    let server = Server::start().await;
    let schema = server.save(linear("orders")).await;
    let body = json!({
        "schema": "orders", "version": 1, "input": {"n": 7}, "variables": {"x": null}, "priority": "high",
        "tenant": "acme", "labels": {"team": "blue"}, "idempotency_key": "k-1",
    });
    let started = Request::new("POST", "/api/executions?wait=30s")
        .header("X-Correlation-Id", "c-9")
        .json(&body);
    let answer = server.send(started).await;
    let run = answer.expect(201);
    assert_eq!(
        answer.header("location"),
        Some(format!("/api/executions/{}", id(&run)).as_str())
    );
    let expected = json!({
        "schema": "orders", "schema_id": schema["id"], "version": 1, "status": "completed", "output": 7, "error": null,
        "created_by": "dev", "priority": "high", "tenant": "acme", "labels": {"team": "blue"}, "idempotency_key": "k-1",
        "correlation_id": "c-9", "debug_mode": false, "seq": 4, "current_node_id": "end_1", "hold": null, "wait": null,
        "stop_requested": false, "retry_of": null, "retried_as": null, "last_error": null, "forked_from": null, "base_seq": 0,
        "current_step_id": format!("{}:4", id(&run)),
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&run[name], value, "{name}");
    }
    for name in [
        "created_at",
        "started_at",
        "finished_at",
        "deadline_at",
        "queued_at",
    ] {
        assert!(
            run[name].as_str().is_some_and(|time| time.ends_with('Z')),
            "{name}"
        );
    }
    assert_eq!(
        server
            .get(&format!("/api/executions/{}", id(&run)))
            .await
            .expect(200),
        run
    );
    let context = server
        .get(&format!("/api/executions/{}/context", id(&run)))
        .await
        .expect(200);
    assert_eq!(
        context["context"]["user"],
        json!({"id": 1, "name": "dev", "email": "dev@localhost"})
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_gives_the_same_execution() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let body = json!({"schema": "orders", "idempotency_key": "once"});
    let first = server
        .post("/api/executions", body.clone())
        .await
        .expect(201);
    let again = server
        .post("/api/executions?wait=30s", body)
        .await
        .expect(200);
    assert_eq!(first["id"], again["id"]);
    let by_header = Request::new("POST", "/api/executions")
        .header("Idempotency-Key", "once")
        .json(&json!({"schema": "orders"}));
    assert_eq!(server.send(by_header).await.expect(200)["id"], first["id"]);
    let both = Request::new("POST", "/api/executions")
        .header("Idempotency-Key", "once")
        .json(&json!({"schema": "orders", "idempotency_key": "twice"}));
    server.send(both).await.refuses(400, "INVALID_HEADER");
    server.close().await;
}

/// What Pawl starts by itself has keys of its own, which no caller can take before.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_pawls_own_are_refused() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    for key in [
        "wh:signed:hook_key:id:msg_9",
        "amqp:order-7",
        "cron:x",
        "schedule:x:1:2027-01-01T00:00:00Z",
        "requeue:x",
    ] {
        let body = json!({"schema": "orders", "idempotency_key": key});
        let by_body = server.post("/api/executions", body).await;
        let by_header = Request::new("POST", "/api/executions")
            .header("Idempotency-Key", key)
            .json(&json!({"schema": "orders"}));
        for answer in [by_body, server.send(by_header).await] {
            let prefix = key.split_once(':').unwrap().0;
            let told = answer.refuses(422, "INVALID_REQUEST");
            let message = told["message"].as_str().unwrap();
            assert!(
                message.contains(&format!("not begin with `{prefix}:`")),
                "{message}"
            );
        }
    }
    let none = server.get("/api/executions").await.expect(200);
    assert_eq!(none["items"], json!([]));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_the_external_id_of_a_schema() {
    let server = Server::start().await;
    let mut numbered = linear("numbered");
    numbered["external_id"] = json!(123);
    server.save(numbered).await;
    // Its name is the text of that number, and it is another schema.
    server.save(linear("123")).await;
    let start = async |schema_id: Value| {
        let body = json!({"schema_id": schema_id, "input": {"n": 1}});
        server.post("/api/executions", body).await
    };
    assert_eq!(start(json!(123)).await.expect(201)["schema"], "numbered");
    assert_eq!(start(json!("123")).await.expect(201)["schema"], "123");
    for unknown in [json!(124), json!(-1), json!(1.5), json!(u64::MAX)] {
        let told = start(unknown).await.refuses(404, "NOT_FOUND");
        let message = told["message"].as_str().unwrap();
        assert!(message.contains("`external_id`"), "{message}");
    }
    // Where a schema is named by a text alone, the answer says where a number is taken.
    let starting = json!({"schema": 123});
    let mut told = vec![
        server
            .post("/api/executions", starting)
            .await
            .refuses(422, "INVALID_REQUEST"),
    ];
    for field in ["schema", "schema_id"] {
        let bulk = json!({"action": "stop", "filter": {(field): 123}});
        let bulk = server.post("/api/executions/bulk", bulk).await;
        told.push(bulk.refuses(422, "INVALID_REQUEST"));
    }
    for path in ["/api/executions?schema_id=124", "/api/schemas/124"] {
        told.push(server.get(path).await.refuses(404, "NOT_FOUND"));
    }
    for told in told {
        let message = told["message"].as_str().unwrap();
        assert!(
            message.contains("a number is an `external_id`") && message.contains("`schema_id`"),
            "{message}"
        );
    }
    let both = json!({"schema": "numbered", "schema_id": 123});
    let both = server.post("/api/executions", both).await;
    both.refuses(422, "INVALID_REQUEST");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_runs_out_shows_what_is() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    let run = server
        .post("/api/executions?wait=50ms", json!({"schema": "approval"}))
        .await
        .expect(201);
    assert_ne!(run["status"], "completed");
    let run = server.until(id(&run), "waiting").await;
    assert_eq!(
        (&run["wait"]["kind"], &run["wait"]["name"]),
        (&json!("event"), &json!("go"))
    );
    let path = format!("/api/executions/{}?wait=0", id(&run));
    assert_eq!(server.get(&path).await.expect(200)["status"], "waiting");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_can_be_put_off() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server
        .run(json!({"schema": "orders", "start_at": "2099-01-01T00:00:00+02:00"}))
        .await;
    assert_eq!(
        (&run["status"], &run["wait"]["kind"]),
        (&json!("pending"), &json!("start"))
    );
    assert_eq!(run["wait"]["wake_at"], "2098-12-31T22:00:00.000000Z");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_makes_no_sense_is_refused() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let check = async |body: Value, status: u16, code: &str, says: &str| {
        let refused = server
            .post("/api/executions", body)
            .await
            .refuses(status, code);
        assert!(
            refused["message"].as_str().unwrap().contains(says),
            "{refused}"
        );
    };
    check(json!({"schema": "nothing"}), 404, "NOT_FOUND", "nothing").await;
    check(
        json!({"schema": "orders", "version": 9}),
        404,
        "NOT_FOUND",
        "9",
    )
    .await;
    check(json!({}), 422, "INVALID_REQUEST", "`schema` is missing").await;
    check(
        json!({"schema": "a", "schema_id": "b"}),
        422,
        "INVALID_REQUEST",
        "not both",
    )
    .await;
    check(
        json!({"schma": "orders"}),
        422,
        "INVALID_REQUEST",
        "did you mean `schema`",
    )
    .await;
    check(
        json!({"schema": "orders", "inputs": 1}),
        422,
        "INVALID_REQUEST",
        "did you mean `input`",
    )
    .await;
    check(
        json!({"schema": "orders", "version": 0}),
        422,
        "INVALID_REQUEST",
        "version",
    )
    .await;
    check(
        json!({"schema": "orders", "version": 1.5}),
        422,
        "INVALID_REQUEST",
        "whole number",
    )
    .await;
    check(
        json!({"schema": "orders", "variables": []}),
        422,
        "INVALID_REQUEST",
        "an object",
    )
    .await;
    check(
        json!({"schema": "orders", "debug_mode": "yes"}),
        422,
        "INVALID_REQUEST",
        "true or false",
    )
    .await;
    check(
        json!({"schema": "orders", "priority": "hihg"}),
        422,
        "INVALID_REQUEST",
        "did you mean `high`",
    )
    .await;
    check(
        json!({"schema": "orders", "tenant": ""}),
        422,
        "INVALID_REQUEST",
        "characters",
    )
    .await;
    check(
        json!({"schema": "orders", "labels": {"a": []}}),
        422,
        "INVALID_REQUEST",
        "labels",
    )
    .await;
    check(
        json!({"schema": "orders", "start_at": "soon"}),
        422,
        "INVALID_REQUEST",
        "start_at",
    )
    .await;
    check(
        json!({"schema": "orders", "start_at": "9999-01-01T00:00:00Z"}),
        422,
        "INVALID_REQUEST",
        "hundred years",
    )
    .await;
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_filtered_and_paged() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    server.save(fragile("fragile")).await;
    let mut good = Vec::new();
    for index in 0..5 {
        let run = server.run_to_end(json!({"schema": "orders", "tenant": "acme", "labels": {"n": format!("run-{index}")}})).await;
        good.push(id(&run).to_owned());
    }
    server
        .run_to_end(json!({"schema": "fragile", "variables": {"ok": false}}))
        .await;
    good.reverse();

    let ids = |page: &Value| -> Vec<String> {
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| id(run).to_owned())
            .collect()
    };
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!(
            "/api/executions?status=completed,stopped&schema=orders&limit=2&cursor={cursor}"
        );
        let page = server.get(&path).await.expect(200);
        found.extend(ids(&page));
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(found, good);

    for (query, count) in [
        ("", 6),
        ("status=failed", 1),
        ("tenant=acme", 5),
        ("tenant=other", 0),
        ("text=run-3", 1),
        ("since=2020-01-01T00:00:00Z", 6),
        ("until=2020-01-01T00:00:00%2B01:00", 0),
        ("limit=500", 6),
    ] {
        let page = server
            .get(&format!("/api/executions?{query}"))
            .await
            .expect(200);
        assert_eq!(ids(&page).len(), count, "{query}");
        assert_eq!(page["next"], Value::Null);
    }
    server
        .get("/api/executions?schema=nothing")
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}
