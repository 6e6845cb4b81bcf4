use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::Request;
use crate::contract;
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
    let workers = workers(&server).await;
    assert_eq!(workers.len(), 1);
    assert!(workers[0]["slots"].is_u64() && workers[0]["busy"].is_u64());
    let times = (&workers[0]["started_at"], &workers[0]["heartbeat_at"]);
    assert!(times.0.is_string() && times.1.is_string());
    let types = workers[0]["node_types"].as_array().unwrap();
    assert!(types.contains(&json!("http_request")));
    let unknown = server.get("/api/workers?all=true").await;
    unknown.refuses(400, "INVALID_QUERY");
    assert_eq!(
        server.get("/api/dead-letters").await.expect(200),
        json!({"items": [], "next": null})
    );
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(server.get(path).await.expect(200), json!({"status": "ok"}));
    }
    server.close().await;
}

/// A worker reports itself right after its start.
async fn workers(server: &Server) -> Vec<Value> {
    loop {
        let page = server.get("/api/workers").await.expect(200);
        let items = page["items"].as_array().unwrap();
        if !items.is_empty() {
            return items.clone();
        }
    }
}

/// Written down here once more, by hand: the contract, not what the table happens to say. Each with the role it
/// needs.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("DELETE /api/keys/{id}", "admin"),
    ("DELETE /api/quotas/{kind}/{name}", "editor"),
    ("DELETE /api/scheduled-actions/{id}", "editor"),
    ("DELETE /api/schemas/{id}", "editor"),
    ("DELETE /api/schemas/{id}/pins/{node}", "editor"),
    ("DELETE /api/session", "nobody"),
    ("GET /api/connections", "viewer"),
    ("GET /api/dead-letters", "viewer"),
    ("GET /api/dead-letters/count", "viewer"),
    ("GET /api/dead-letters/{id}", "viewer"),
    ("GET /api/docs", "viewer"),
    ("GET /api/doctor", "viewer"),
    ("GET /api/env", "viewer"),
    ("GET /api/events", "viewer"),
    ("GET /api/executions", "viewer"),
    ("GET /api/executions/counts", "viewer"),
    ("GET /api/executions/errors", "viewer"),
    ("GET /api/executions/{id}", "viewer"),
    ("GET /api/executions/{id}/context", "viewer"),
    ("GET /api/executions/{id}/definition", "viewer"),
    ("GET /api/executions/{id}/diff", "viewer"),
    ("GET /api/executions/{id}/diff/pair", "viewer"),
    ("GET /api/executions/{id}/events", "viewer"),
    ("GET /api/executions/{id}/explain", "viewer"),
    ("GET /api/executions/{id}/logs", "viewer"),
    ("GET /api/executions/{id}/outline", "viewer"),
    ("GET /api/executions/{id}/signals", "viewer"),
    ("GET /api/executions/{id}/steps", "viewer"),
    ("GET /api/executions/{id}/steps/{seq}", "viewer"),
    ("GET /api/executions/{id}/steps/{seq}/context", "viewer"),
    ("GET /api/expressions/functions", "viewer"),
    ("GET /api/format.json", "viewer"),
    ("GET /api/keys", "admin"),
    ("GET /api/me", "viewer"),
    ("GET /api/node-types", "viewer"),
    ("GET /api/node-types/{type}", "viewer"),
    ("GET /api/openapi.json", "viewer"),
    ("GET /api/quotas", "viewer"),
    ("GET /api/quotas/{kind}/{name}", "viewer"),
    ("GET /api/scheduled-actions", "viewer"),
    ("GET /api/scheduled-actions/{id}", "viewer"),
    ("GET /api/scheduled-actions/{id}/attempts", "viewer"),
    ("GET /api/scheduled-actions/{id}/firings", "viewer"),
    ("GET /api/schemas", "viewer"),
    ("GET /api/schemas/{id}", "viewer"),
    ("GET /api/schemas/{id}/layout", "viewer"),
    ("GET /api/schemas/{id}/pins", "viewer"),
    ("GET /api/schemas/{id}/pins/{node}", "viewer"),
    ("GET /api/schemas/{id}/versions", "viewer"),
    ("GET /api/secrets", "viewer"),
    ("GET /api/session", "viewer"),
    ("GET /api/stats", "viewer"),
    ("GET /api/workers", "viewer"),
    ("GET /health/live", "nobody"),
    ("GET /health/ready", "nobody"),
    ("GET /metrics", "viewer"),
    ("POST /api/dead-letters/bulk", "operator"),
    ("POST /api/dead-letters/{id}/requeue", "operator"),
    ("POST /api/doctor", "operator"),
    ("POST /api/executions", "operator"),
    ("POST /api/executions/bulk", "operator"),
    ("POST /api/executions/{id}/continue", "operator"),
    ("POST /api/executions/{id}/debug", "operator"),
    ("POST /api/executions/{id}/fork", "operator"),
    ("POST /api/executions/{id}/notes", "operator"),
    ("POST /api/executions/{id}/pause", "operator"),
    ("POST /api/executions/{id}/resume", "operator"),
    ("POST /api/executions/{id}/retry", "operator"),
    ("POST /api/executions/{id}/signals/{name}", "operator"),
    ("POST /api/executions/{id}/stop", "operator"),
    ("POST /api/expressions/evaluate", "viewer"),
    ("POST /api/gc", "admin"),
    ("POST /api/keys", "admin"),
    ("POST /api/scheduled-actions/preview", "viewer"),
    ("POST /api/scheduled-actions/{id}/pause", "operator"),
    ("POST /api/scheduled-actions/{id}/resume", "operator"),
    ("POST /api/scheduled-actions/{id}/run", "operator"),
    ("POST /api/schemas", "editor"),
    ("POST /api/schemas/validate", "viewer"),
    ("POST /api/schemas/{id}/activate", "editor"),
    ("POST /api/schemas/{id}/deactivate", "editor"),
    ("POST /api/schemas/{id}/publish", "editor"),
    ("POST /api/schemas/{id}/trial-node", "editor"),
    ("POST /api/session", "nobody"),
    ("POST /webhook/{path}", "nobody"),
    ("PUT /api/quotas/{kind}/{name}", "editor"),
    ("PUT /api/scheduled-actions/{id}", "editor"),
    ("PUT /api/schemas/{id}", "editor"),
    ("PUT /api/schemas/{id}/layout", "editor"),
    ("PUT /api/schemas/{id}/pins/{node}", "editor"),
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
        ROUTES.iter().map(|(route, _)| *route).collect::<Vec<_>>()
    );
    for (route, role) in ROUTES {
        let (method, path) = route.split_once(' ').unwrap();
        let about = &document["paths"][path][method.to_lowercase()];
        let told = about["x-role"].as_str().unwrap_or("nobody");
        assert_eq!(told, *role, "{route}");
    }
    for route in &listed {
        let (method, path) = route.split_once(' ').unwrap();
        let path = path
            .replace("{id}", "x")
            .replace("{path}", "x")
            .replace("{seq}", "1")
            .replace("{type}", "x")
            .replace("{node}", "x")
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

/// A misspelt parameter must not silently mean its default, least of all where something is removed.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_api_refuses_parameters_it_does_not_know() {
    let server = Server::start().await;
    for (route, _) in ROUTES.iter().filter(|(route, _)| route.contains(" /api/")) {
        let (method, path) = route.split_once(' ').unwrap();
        let path = path.replace(['{', '}'], "") + "?dry_rum=true";
        let answer = server.send(Request::new(method, &path)).await;
        let refused = answer.refuses(400, "INVALID_QUERY");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("`dry_rum`"), "{route}: {message}");
    }
    for path in ["/health/live?probe=1", "/metrics?from=scraper"] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_parameter_is_no_filter() {
    let server = Server::start().await;
    for query in [
        "tenant=",
        "status=",
        "schema=",
        "since=",
        "unresolved",
        "limit=",
    ] {
        let path = format!("/api/executions?{query}");
        server.get(&path).await.refuses(400, "INVALID_QUERY");
    }
    server.get("/api/executions?cursor=").await.expect(200);
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
        ("TRACE", "/metrics"),
        ("BREW", "/api/docs"),
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
    {
        let path = "/api/docs";
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

#[test]
fn an_answer_that_does_not_fit_is_found() {
    let schema = json!({"$ref": "#/components/schemas/LogLine"});
    let line = json!({
        "id": 1, "seq": 2, "node_id": "n", "level": "info", "message": "m", "at": "2027-01-01T00:00:00Z",
    });
    assert_eq!(contract::problems(&schema, &line), Vec::<String>::new());
    for (name, value) in [
        ("id", json!("1")),
        ("id", json!(-1)),
        ("level", json!("loud")),
        ("at", json!("soon")),
        ("message", json!(null)),
    ] {
        let mut wrong = line.clone();
        wrong[name] = value;
        assert_eq!(contract::problems(&schema, &wrong).len(), 1, "{wrong}");
    }
    assert!(!contract::problems(&schema, &json!({})).is_empty());
}
