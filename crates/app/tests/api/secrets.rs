//! Doors that a secret could come in by, and those that it opens.

use std::time::Duration;

use pawl::wiring::EmbeddedEngine;
use serde_json::{Value, json};

use crate::client::{self, Request};
use crate::server::{Server, config, id, linear, waiting};

/// Found nowhere by accident.
const CANARY: &str = "CANARY-tok/en+42 \"x\"";
/// As a service may send it back.
const CODED: &str = "%43anary-tok%2fen%2B42+%22x%22";

/// Nothing of the secret is in any file of the server.
async fn assert_not_stored(server: Server) {
    let folder = server.close().await;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).to_lowercase();
        for part in ["canary-tok", "%43anary"] {
            assert!(!text.contains(part), "{part} in {}", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_comes_in_by_no_door() {
    let server = Server::with_secrets(&[("canary", CANARY)]).await;
    server.save(waiting("wait")).await;
    let body = json!({"schema": "wait", "input": {"a": CANARY, "b": CODED}, "variables": {"v": CANARY},
                      "labels": {"l": CANARY}, "tenant": CANARY});
    let post = Request::new("POST", "/api/executions").json(&body);
    let started = server
        .send(post.header("X-Correlation-Id", CANARY))
        .await
        .expect(201);
    assert_eq!(
        (&started["tenant"], &started["correlation_id"]),
        (&json!("***"), &json!("***"))
    );
    let path = format!("/api/executions/{}", id(&started));
    let note = json!({"text": format!("it is {CANARY}")});
    let note = server
        .post(&format!("{path}/notes"), note)
        .await
        .expect(201);
    assert_eq!(note["text"], "it is ***");
    let context = server.get(&format!("{path}/context")).await.expect(200);
    assert_eq!(
        context["context"]["input"],
        json!({"a": "***", "b": "***"}),
        "{context}"
    );
    for (field, value) in [
        ("idempotency_key", json!(CANARY)),
        ("idempotency_key", json!(CODED)),
    ] {
        let body = json!({"schema": "wait", (field): value});
        server
            .post("/api/executions", body)
            .await
            .refuses(422, "INVALID_REQUEST");
    }
    let signal = json!({"p": [CANARY, CODED]});
    server
        .post(&format!("{path}/signals/go"), signal)
        .await
        .expect(202);
    let ended = server.until(id(&started), "completed").await;
    assert!(!ended.to_string().contains("CANARY"), "{ended}");
    let fork = json!({"from_seq": 0, "variables": {"f": CANARY}});
    server.post(&format!("{path}/fork"), fork).await.expect(201);
    assert_not_stored(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_comes_in_by_no_command() {
    let server = Server::with_secrets(&[("canary", CANARY)]).await;
    server.save(waiting("wait")).await;
    let run = server.run(json!({"schema": "wait"})).await;
    let path = format!("/api/executions/{}", id(&run));
    server.until(id(&run), "waiting").await;
    let escaped: String = CANARY.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for place in [
        format!("signals/{escaped}"),
        format!("signals/go?id={escaped}"),
    ] {
        let refused = server.post(&format!("{path}/{place}"), json!({})).await;
        refused.refuses(422, "INVALID_REQUEST");
    }
    let header = Request::new("POST", &format!("{path}/signals/go")).json(&json!({}));
    let refused = server.send(header.header("Idempotency-Key", CANARY)).await;
    refused.refuses(422, "INVALID_REQUEST");

    let seen = async |run: &Value| {
        let path = format!("/api/executions/{}/context", id(run));
        server.get(&path).await.expect(200)["context"].clone()
    };
    server.command(&format!("{path}/stop")).await.expect(200);
    server.until(id(&run), "stopped").await;
    let fork = json!({"from_seq": 1, "input": {"a": CANARY, "b": CODED}});
    let fork = server.post(&format!("{path}/fork"), fork).await.expect(201);
    assert_eq!(seen(&fork).await["input"], json!({"a": "***", "b": "***"}));
    for key in [CANARY, CODED] {
        let retry = json!({"idempotency_key": key});
        let refused = server.post(&format!("{path}/retry"), retry).await;
        refused.refuses(422, "INVALID_REQUEST");
    }

    let debugged = server.run(json!({"schema": "wait", "debug_mode": true}));
    let debugged = debugged.await;
    server.until(id(&debugged), "waiting_debug").await;
    let variables = json!({"variables": {"v": CANARY, (CANARY): CODED}});
    let path = format!("/api/executions/{}/continue", id(&debugged));
    let answer = server.post(&path, variables).await.expect(200);
    assert!(!answer.to_string().contains("CANARY"), "{answer}");
    server.until(id(&debugged), "waiting").await;
    assert_eq!(
        seen(&debugged).await["variables"],
        json!({"v": "***", "***": "***"})
    );
    assert_not_stored(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_comes_in_by_no_part_of_a_webhook() {
    let server = Server::with_secrets(&[("canary", CANARY)]).await;
    let mut schema = linear("open");
    schema["triggers"] = json!([{"type": "webhook", "path": "open", "respond": "last_node"}]);
    schema["nodes"][3]["config"] =
        json!({"output": {"w": "{{webhook}}", "c": "{{execution.correlation_id}}"}});
    server.save(schema).await;
    let call = Request::new("POST", &format!("/webhook/open?q={CODED}"))
        .header("X-Correlation-Id", CANARY)
        .header("X-Token", CODED)
        .json(&json!({"a": CANARY, (CANARY): CODED}));
    let seen = client::send(server.address, call).await.expect(200);
    assert_eq!(seen["c"], "***");
    assert_eq!(seen["w"]["headers"]["x-token"], "***");
    assert_eq!(seen["w"]["payload"], json!({"a": "***", "***": "***"}));
    let text = seen.to_string().to_lowercase();
    assert!(
        !text.contains("canary") && !text.contains("%43anary"),
        "{text}"
    );
    assert_not_stored(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_opens_the_webhooks_of_its_schemas_alone() {
    let settings = "[secrets.DOOR]\nschemas = [\"shop*\"]\nwebhook = true";
    let server = Server::with_bound_secrets(&[("door", "open-sesame")], settings).await;
    for name in ["shop-1", "other"] {
        let mut schema = linear(name);
        let auth = json!({"type": "header", "secret": "Door"});
        schema["triggers"] =
            json!([{"type": "webhook", "path": name, "respond": "last_node", "auth": auth}]);
        server.save(schema).await;
    }
    let call = |name: &str| {
        let call = Request::new("POST", &format!("/webhook/{name}")).json(&json!({}));
        client::send(
            server.address,
            call.header("Authorization", "Bearer open-sesame"),
        )
    };
    call("shop-1").await.expect(200);
    call("other").await.refuses(503, "NOT_CONFIGURED");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_secret_is_sent_nowhere_else() {
    let settings = "[secrets.here]\nhosts = [\"127.0.0.1\"]\n[secrets.there]\nhosts = [\"api.example.com\"]\n\
                    [secrets.hook]\nwebhook = true";
    let values = ["here", "there", "hook"].map(|name| (name, "open-sesame-42"));
    let server = Server::with_bound_secrets(&values, settings).await;
    let health = format!("http://127.0.0.1:{}/health/live", server.address.port());
    for (text, expected) in [
        ("{{secrets.here}}", Value::Null),
        ("{{secrets.there}}", json!("SECRET_NOT_ALLOWED")),
        (
            "{{base64_encode(secrets.hook)}}",
            json!("SECRET_NOT_ALLOWED"),
        ),
    ] {
        let name = format!(
            "call-{}",
            server.get("/api/schemas").await.expect(200)["items"]
                .as_array()
                .unwrap()
                .len()
        );
        let mut schema = linear(&name);
        schema["nodes"][2] = json!({"id": "log_1", "type": "http_request", "config": {
            "url": health, "headers": {"X-Token": text}}});
        server.save(schema).await;
        let ended = server.run_to_end(json!({"schema": name})).await;
        assert_eq!(ended["error"]["code"], expected, "{text}: {ended}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_tells_of_a_connection_to_the_store_itself() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let settings = format!(
        "[connections.own]\nurl = \"{}\"\n[connections.shop]\nurl = \"{}\"",
        url("pawl.db"),
        url("shop.db")
    );
    let config = config(folder.path(), &settings);
    let engine = EmbeddedEngine::start(folder.path(), &config).await.unwrap();
    let runtime = engine.control.runtime().clone();
    let report = async || {
        pawl_engine::insight::doctor::examine(&runtime, false)
            .await
            .unwrap()
    };
    let found = async {
        loop {
            let report = report().await;
            if !report.findings.is_empty() {
                return report.findings;
            }
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), found)
        .await
        .unwrap();
    let [finding] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(finding.problem, "connection_writes_to_store");
    assert!(
        finding.detail.contains("`own`") && !finding.fixed,
        "{finding:?}"
    );
    engine.shutdown().await;
}
