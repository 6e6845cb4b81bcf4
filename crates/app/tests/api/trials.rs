//! Trial runs: pinned outputs stand in for nodes, a run ends behind a node, one node is tried by itself; and none of it
//! counts.

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, fragile, id, linear};

/// start → call an address that cannot be reached → decide by what it answered → end.
fn calling(name: &str) -> Value {
    json!({
        "name": name,
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "fetch", "type": "http_request", "name": "Fetch it", "config": {"url": "http://127.0.0.1:1/orders/{{input.id}}"}},
            {"id": "is_paid", "type": "condition", "config": {"expression": "{{steps.fetch.output.body.paid}} == true"}},
            {"id": "ship", "type": "end", "config": {"output": "{{steps.fetch.output.body.id}}"}},
        ],
        "edges": [
            {"source": "start_1", "target": "fetch"},
            {"source": "fetch", "target": "is_paid"},
            {"source": "is_paid", "target": "ship", "sourceHandle": "true"},
        ],
    })
}

async fn pin(server: &Server, node: &str, body: Value) {
    let path = format!("/api/schemas/calling/pins/{node}");
    let put = Request::new("PUT", &path).json(&body);
    server.send(put).await.expect(200);
}

async fn try_node(server: &Server, node: Value, context: Value) -> Value {
    let body = json!({"node": node, "context": context});
    let tried = server.post("/api/schemas/calling/trial-node", body).await;
    tried.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn pinned_outputs_stand_in_for_nodes_of_trial_runs_only() {
    let server = Server::start().await;
    server.save(calling("calling")).await;
    pin(
        &server,
        "fetch",
        json!({"output": {"status_code": 200, "body": {"id": 7, "paid": true}}}),
    )
    .await;
    pin(&server, "gone", json!({"output": 1})).await;
    let with_pins = json!({"schema": "calling", "input": {"id": 7}, "trial": {"pins": true}});
    let tried = server.run_to_end(with_pins).await;
    assert_eq!(
        (&tried["status"], &tried["output"]),
        (&json!("completed"), &json!(7))
    );
    assert_eq!(tried["trial"], true);
    let steps = format!("/api/executions/{}/steps", id(&tried));
    let steps = server.get(&steps).await.expect(200);
    assert_eq!(steps["items"][1]["node_id"], "fetch");
    assert_eq!(steps["items"][1]["output"]["body"]["paid"], true);
    let logs = format!("/api/executions/{}/logs", id(&tried));
    let logs = server.get(&logs).await.expect(200);
    assert_eq!(logs["items"][0]["node_id"], "fetch");

    for body in [
        json!({"schema": "calling", "input": {"id": 7}, "trial": {}}),
        json!({"schema": "calling", "input": {"id": 7}}),
    ] {
        let real = server.run_to_end(body.clone()).await;
        assert_eq!(real["error"]["code"], "CONNECTION_FAILED", "{body}");
        assert_eq!(real["trial"], body.get("trial").is_some());
    }
    // The exit of a pin leads where an edge from there leads.
    pin(
        &server,
        "is_paid",
        json!({"output": {"result": false}, "handle": "false"}),
    )
    .await;
    let unpaid = json!({"schema": "calling", "input": {"id": 7}, "trial": {"pins": true}});
    let unpaid = server.run_to_end(unpaid).await;
    assert_eq!(
        (&unpaid["current_node_id"], &unpaid["output"]),
        (&json!("is_paid"), &json!({"result": false}))
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_ends_behind_the_node_that_it_names() {
    let server = Server::start().await;
    server.save(linear("linear")).await;
    let body =
        |node: &str| json!({"schema": "linear", "input": {"n": 5}, "trial": {"stop_after": node}});
    let run = server.run_to_end(body("set_1")).await;
    assert_eq!(
        (&run["status"], &run["seq"]),
        (&json!("completed"), &json!(2))
    );
    assert_eq!(run["current_node_id"], "set_1");
    let last = server.run_to_end(body("end_1")).await;
    assert_eq!((&last["output"], &last["seq"]), (&json!(5), &json!(4)));
    let unknown = server.post("/api/executions", body("set_2")).await;
    let unknown = unknown.refuses(422, "INVALID_REQUEST");
    assert!(unknown["message"].as_str().unwrap().contains("set_2"));
    for trial in [
        json!(true),
        json!({"pins": {}}),
        json!({"stop_after": 1}),
        json!({"stopafter": "a"}),
    ] {
        let body = json!({"schema": "linear", "trial": trial});
        server
            .post("/api/executions", body)
            .await
            .refuses(422, "INVALID_REQUEST");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trial_runs_are_listed_and_counted_only_where_they_are_asked_for() {
    let server = Server::start().await;
    server.save(fragile("fragile")).await;
    let start = |trial: bool| {
        let mut body = json!({"schema": "fragile", "variables": {"ok": false}});
        if trial {
            body["trial"] = json!({});
        }
        server.run_to_end(body)
    };
    let (real, tried) = (start(false).await, start(true).await);
    let listed = |query: String| {
        let server = &server;
        async move {
            let page = server
                .get(&format!("/api/executions{query}"))
                .await
                .expect(200);
            let items = page["items"].as_array().unwrap();
            items
                .iter()
                .map(|run| id(run).to_owned())
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(listed(String::new()).await, [id(&real)]);
    assert_eq!(listed("?status=failed".into()).await, [id(&real)]);
    assert_eq!(listed("?trial=true".into()).await, [id(&tried)]);
    assert_eq!(
        listed("?trial=false&schema=fragile".into()).await,
        [id(&real)]
    );
    let both = format!("?ids={},{}", id(&real), id(&tried));
    assert_eq!(listed(both).await, [id(&tried), id(&real)]);

    let counts = server.get("/api/executions/counts").await.expect(200);
    let counted = &counts["groups"][0];
    assert_eq!(
        (&counted["key"], &counted["count"]),
        (&json!("failed"), &json!(1))
    );
    assert_eq!(counts["groups"].as_array().map(Vec::len), Some(1));
    let errors = server.get("/api/executions/errors").await.expect(200);
    assert_eq!(errors["groups"][0]["count"], 1);
    assert_eq!(errors["groups"][0]["last"], real["id"]);
    let bulk = json!({"filter": {"status": "failed"}, "action": "retry"});
    let bulk = server.post("/api/executions/bulk", bulk).await.expect(200);
    assert_eq!(bulk["matched"], 1);
    let bulk = json!({"filter": {"trial": true}, "action": "retry"});
    let bulk = server.post("/api/executions/bulk", bulk).await.expect(200);
    assert_eq!(bulk["matched"], 1);
    let schemas = server.get("/api/schemas?include=summary").await.expect(200);
    let outcomes = &schemas["items"][0]["summary"]["last"];
    assert_eq!(outcomes.as_array().map(Vec::len), Some(1), "{schemas}");

    // What is made from a trial is one.
    let retry = format!("/api/executions/{}/retry?wait=30s", id(&tried));
    let retry = server.post(&retry, json!({})).await.expect(201);
    assert_eq!(retry["trial"], true);
    let fork = format!("/api/executions/{}/fork", id(&real));
    let fork = server.post(&fork, json!({"from_seq": 1})).await.expect(201);
    assert_eq!(fork["trial"], false);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_is_tried_by_itself() {
    let server = Server::start().await;
    server.save(calling("calling")).await;
    let context =
        json!({"input": {"id": 7}, "steps": {"fetch": {"output": {"body": {"paid": true}}}}});
    let stored = json!({"id": "is_paid", "type": "condition", "config": {"expression": "{{steps.fetch.output.body.paid}} == true"}});
    let tried = try_node(&server, stored, context.clone()).await;
    assert_eq!(
        (&tried["status"], &tried["handle"]),
        (&json!("success"), &json!("true"))
    );
    assert_eq!(tried["output"], json!({"result": true}));

    // One that is not saved yet, and what it would set.
    let new = json!({"id": "new_1", "type": "variable_set", "config": {"variable": "n", "value": "{{input.id + 1}}"}});
    let tried = try_node(&server, new, context.clone()).await;
    assert_eq!(tried["changes"], json!({"n": 8}));
    assert_eq!(tried["input"]["value"], 8);

    let fetch = json!({"id": "fetch", "type": "http_request", "config": {"url": "http://127.0.0.1:1/{{input.id}}"}});
    let tried = try_node(&server, fetch, context.clone()).await;
    assert_eq!(
        (&tried["status"], &tried["error"]["code"]),
        (&json!("failed"), &json!("CONNECTION_FAILED"))
    );
    assert_eq!(tried["input"]["url"], "http://127.0.0.1:1/7");

    let waits = json!({"id": "w", "type": "wait_event", "config": {"name": "go"}});
    let tried = try_node(&server, waits, json!({})).await;
    assert_eq!(tried["waits"]["event"], "go");
    let missing = json!({"id": "w", "type": "log", "config": {"message": "{{input.nothing}}"}});
    let tried = try_node(&server, missing, json!({})).await;
    assert_eq!(
        (&tried["error"]["code"], &tried["input"]),
        (&json!("UNDEFINED_PATH"), &Value::Null)
    );

    // Nothing of it is stored.
    for path in ["/api/executions", "/api/executions?trial=true"] {
        assert_eq!(server.get(path).await.expect(200)["items"], json!([]));
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_be_tried_says_why() {
    let server = Server::start().await;
    server.save(calling("calling")).await;
    let path = "/api/schemas/calling/trial-node";
    for node in [
        json!({"type": "log", "config": {"message": "x"}}),
        json!({"id": "s", "type": "start"}),
    ] {
        let refused = server.post(path, json!({"node": node})).await;
        refused.refuses(422, "INVALID_REQUEST");
    }
    let unknown = json!({"node": {"id": "n", "type": "lgo", "config": {"message": "x"}}});
    let unknown = server
        .post(path, unknown)
        .await
        .refuses(422, "INVALID_SCHEMA");
    assert_eq!(unknown["details"][0]["pointer"], "/type");
    let wrong = json!({"node": {"id": "n", "type": "log", "config": {"message": "{{steps.nowhere.output}}", "levl": 1}}});
    let wrong = server
        .post(path, wrong)
        .await
        .refuses(422, "INVALID_SCHEMA");
    let pointers = wrong["details"].as_array().unwrap().iter();
    let pointers: Vec<&str> = pointers
        .map(|found| found["pointer"].as_str().unwrap())
        .collect();
    assert!(
        pointers
            .iter()
            .all(|pointer| pointer.starts_with("/config")),
        "{pointers:?}"
    );
    for body in [
        json!({}),
        json!({"node": 1}),
        json!({"node": {}, "context": []}),
        json!({"node": {}, "more": 1}),
    ] {
        server
            .post(path, body)
            .await
            .refuses(422, "INVALID_REQUEST");
    }
    server
        .post(
            "/api/schemas/nothing/trial-node",
            json!({"node": {"id": "a", "type": "log"}}),
        )
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}
