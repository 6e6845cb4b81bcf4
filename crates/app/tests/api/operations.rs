use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, linear};

#[tokio::test(flavor = "multi_thread")]
async fn node_types_describe_themselves() {
    let server = Server::start().await;
    let all = server.get("/api/node-types").await.expect(200);
    let types: Vec<&str> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert!(
        types.contains(&"condition") && types.contains(&"http_request"),
        "{types:?}"
    );
    let one = server.get("/api/node-types/condition").await.expect(200);
    assert_eq!(one["handles"], json!(["true", "false"]));
    assert_eq!(one["config_schema"]["type"], "object");
    server
        .get("/api/node-types/nothing")
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_workers_dead_letters_and_health() {
    let server = Server::start().await;
    let report = server.get("/api/doctor").await.expect(200);
    assert_eq!(
        (&report["healthy"], &report["findings"]),
        (&json!(true), &json!([]))
    );
    server
        .get("/api/doctor?fix=true")
        .await
        .refuses(400, "INVALID_QUERY");
    server.command("/api/doctor").await.expect(200);
    server
        .post("/api/doctor", json!({"fix": false}))
        .await
        .expect(200);
    let workers = server.get("/api/workers").await.expect(200);
    assert_eq!(workers["items"].as_array().unwrap().len(), 1);
    assert!(workers["items"][0]["slots"].is_u64());
    assert_eq!(
        server.get("/api/dead-letters").await.expect(200),
        json!({"items": [], "next": null})
    );
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(server.get(path).await.expect(200), json!({"status": "ok"}));
    }
    server.close().await;
}

/// Written down here once more, by hand: the contract, not what the table happens to say.
const ROUTES: &[&str] = &[
    "DELETE /api/schemas/{id}",
    "GET /",
    "GET /api/dead-letters",
    "GET /api/docs",
    "GET /api/doctor",
    "GET /api/executions",
    "GET /api/executions/{id}",
    "GET /api/executions/{id}/context",
    "GET /api/executions/{id}/diff",
    "GET /api/executions/{id}/events",
    "GET /api/executions/{id}/explain",
    "GET /api/executions/{id}/logs",
    "GET /api/executions/{id}/steps",
    "GET /api/executions/{id}/steps/{seq}/context",
    "GET /api/node-types",
    "GET /api/node-types/{type}",
    "GET /api/openapi.json",
    "GET /api/schemas",
    "GET /api/schemas/{id}",
    "GET /api/schemas/{id}/versions",
    "GET /api/workers",
    "GET /health/live",
    "GET /health/ready",
    "POST /api/doctor",
    "POST /api/executions",
    "POST /api/executions/bulk",
    "POST /api/executions/{id}/continue",
    "POST /api/executions/{id}/fork",
    "POST /api/executions/{id}/pause",
    "POST /api/executions/{id}/resume",
    "POST /api/executions/{id}/retry",
    "POST /api/executions/{id}/signals/{name}",
    "POST /api/executions/{id}/stop",
    "POST /api/schemas",
    "POST /api/schemas/validate",
    "POST /api/schemas/{id}/activate",
    "POST /api/schemas/{id}/deactivate",
    "PUT /api/schemas/{id}",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_document_lists_all_routes_and_all_of_them_answer() {
    let server = Server::start().await;
    let document = server.get("/api/openapi.json").await.expect(200);
    assert_eq!(document["openapi"], "3.1.0");
    let mut listed = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            listed.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    assert_eq!(
        listed.iter().map(String::as_str).collect::<Vec<_>>(),
        ROUTES
    );
    for route in &listed {
        let (method, path) = route.split_once(' ').unwrap();
        let path = path
            .replace("{id}", "x")
            .replace("{seq}", "1")
            .replace("{type}", "x")
            .replace("{name}", "x");
        let answer = server.send(Request::new(method, &path)).await;
        assert!(
            !answer.text().contains("/api/docs lists"),
            "{route} is not mounted"
        );
        assert_ne!(answer.status, 405, "{route}");
        assert_ne!(answer.status, 500, "{route}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_and_methods_are_refused_in_the_same_shape() {
    let server = Server::start().await;
    for path in [
        "/nothing",
        "/api",
        "/api/",
        "/api/executionz",
        "/api/executions/",
        "/API/executions",
        "/api/%2e%2e/x",
        "/webhook/x",
    ] {
        server.get(path).await.refuses(404, "NOT_FOUND");
    }
    for (method, path) in [
        ("PATCH", "/api/executions"),
        ("DELETE", "/api/executions"),
        ("OPTIONS", "/api/schemas"),
        ("TRACE", "/"),
        ("BREW", "/"),
    ] {
        let answer = server.send(Request::new(method, path)).await;
        answer.refuses(405, "METHOD_NOT_ALLOWED");
        assert!(
            answer
                .header("allow")
                .is_some_and(|allowed| allowed.contains("GET")),
            "{method} {path}"
        );
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_self_contained_and_every_answer_is_sealed() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    for path in ["/", "/api/docs"] {
        let page = server.get(path).await;
        assert_eq!(page.status, 200);
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        let policy = page.header("content-security-policy").unwrap().to_owned();
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        let nonce = policy
            .split("'nonce-")
            .nth(1)
            .unwrap()
            .split('\'')
            .next()
            .unwrap();
        assert!(page.text().contains(&format!("<script nonce=\"{nonce}\">")));
        assert!(!page.text().contains("{{nonce}}"));
        let again = server.get(path).await;
        assert_ne!(
            again.header("content-security-policy"),
            Some(policy.as_str()),
            "a nonce is used once"
        );
    }
    for path in [
        "/",
        "/api/docs",
        "/api/executions",
        "/nothing",
        "/api/executions/x",
    ] {
        let answer = server.get(path).await;
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(
            answer.header("referrer-policy"),
            Some("no-referrer"),
            "{path}"
        );
        assert!(
            answer
                .header("content-security-policy")
                .unwrap()
                .contains("frame-ancestors 'none'"),
            "{path}"
        );
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    let head = server.send(Request::new("HEAD", "/api/schemas")).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(server.get("/api/schemas").await.json()["next"], Value::Null);
    server.close().await;
}
