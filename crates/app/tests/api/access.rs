//! Who may do what: every role on every route, and everything that only looks like a key.

use serde_json::json;

use crate::client::{Answer, Request, send_raw};
use crate::operations::ROUTES;
use crate::server::{ADMIN_KEY, Server, id, linear, waiting};

const ROLES: &[&str] = &["viewer", "operator", "editor", "admin"];

/// The route with something in the places of its variables.
fn request(route: &str) -> Request {
    let (method, path) = route.split_once(' ').unwrap();
    let path = ["{id}", "{seq}", "{type}", "{name}"]
        .iter()
        .fold(path.to_owned(), |path, part| path.replace(part, "1"));
    Request::new(method, &path)
}

fn rank(role: &str) -> usize {
    ROLES.iter().position(|known| *known == role).unwrap()
}

#[track_caller]
fn unauthorized(answer: &Answer, label: &str) {
    assert_eq!(answer.status, 401, "{label}: {}", answer.text());
    answer.refuses(401, "UNAUTHORIZED");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{label}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_on_every_route() {
    let server = Server::locked().await;
    let mut keys = Vec::new();
    for role in ROLES {
        keys.push((*role, server.key(role, role).await.0));
    }
    for (route, needed) in ROUTES {
        for (role, key) in &keys {
            let answer = server.send_as(key, request(route)).await;
            let label = format!("{role} on {route}: {}", answer.text());
            if *needed == "nobody" || rank(role) >= rank(needed) {
                assert!(!matches!(answer.status, 401 | 403 | 405 | 500), "{label}");
                continue;
            }
            let body = answer.refuses(403, "FORBIDDEN");
            assert_eq!(
                body["details"],
                json!({"needed": needed, "role": role}),
                "{label}"
            );
            assert!(
                body["message"].as_str().unwrap().contains(needed),
                "{label}"
            );
        }
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_key_opens_nothing() {
    let server = Server::locked().await;
    let (revoked, revoked_id) = server.key("revoked", "admin").await;
    let gone = Request::new("DELETE", &format!("/api/keys/{revoked_id}"));
    server.send(gone).await.expect(204);
    let expired = expired(&server).await;
    let (good, _) = server.key("good", "admin").await;
    let (most, last) = good.split_at(good.len() - 1);
    let typo = format!("{most}{}", if last == "x" { "y" } else { "x" });
    for (route, needed) in ROUTES {
        for (label, key) in [
            ("none", ""),
            ("revoked", &revoked),
            ("expired", &expired),
            ("garbage", "garbage"),
            ("typo", &typo),
        ] {
            let answer = server.send_as(key, request(route)).await;
            match *needed {
                // There is no such webhook, and nobody is asked for a key.
                "nobody" if route.contains("/webhook/") => {
                    answer.refuses(404, "NOT_FOUND");
                }
                // Logging in and out asks for no key in the header; without a body, or with nothing to end, little happens.
                "nobody" if route.contains("/session") => {
                    assert!(matches!(answer.status, 204 | 400), "{label} {route}");
                }
                "nobody" => assert_eq!(answer.status, 200, "{label} {route}"),
                _ => unauthorized(&answer, &format!("{label} {route}")),
            }
        }
        for name in ["key", "api_key", "access_token", "token"] {
            let mut asked = request(route);
            asked.path = format!("{}?{name}={good}", asked.path);
            let answer = server.send_as("", asked).await;
            match *needed {
                "nobody" => assert!(!matches!(answer.status, 401 | 403), "{route}"),
                _ => unauthorized(&answer, &format!("?{name}= {route}")),
            }
        }
    }
    server.close().await;
}

/// A key that has had its time. The shortest life there is is over before the next request.
async fn expired(server: &Server) -> String {
    let short = json!({"name": "expired", "role": "admin", "expires_in": 0.000001});
    let made = server.post("/api/keys", short).await.expect(201);
    let key = made["key"].as_str().unwrap().to_owned();
    let answer = server
        .send_as(&key, Request::new("GET", "/api/executions"))
        .await;
    assert!(answer.refuses(401, "UNAUTHORIZED")["message"] == "this API key has expired");
    key
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_nobody_learns_what_there_is() {
    let server = Server::locked().await;
    let (viewer, _) = server.key("viewer", "viewer").await;
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("GET", "/api/executionz", 404),
        ("PATCH", "/api/executions", 405),
        ("TRACE", "/metrics", 405),
    ] {
        unauthorized(&server.send_as("", Request::new(method, path)).await, path);
        let known = server.send_as(&viewer, Request::new(method, path)).await;
        assert_eq!(known.status, status, "{method} {path}");
    }
    for path in ["/health/live", "/health/ready"] {
        let probe = server.send_as("", Request::new("GET", path)).await;
        assert_eq!(probe.expect(200), json!({"status": "ok"}));
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_headers_are_no_keys() {
    let server = Server::locked().await;
    let (good, _) = server.key("good", "viewer").await;
    let list = || Request::new("GET", "/api/executions");
    let basic = "Basic dXNlcjpwYXNz";
    for value in [
        "",
        " ",
        "Bearer",
        "Bearer ",
        &good,
        &format!("Bearer{good}"),
        &format!("Token {good}"),
        &format!("Bearer {good} x"),
        &format!("Bearer {good},{good}"),
        &format!("Bearer \t{good}"),
        &format!("Bearer \"{good}\""),
        &format!("Bearer Bearer {good}"),
        &format!("Bearer {}", good.to_uppercase()),
        &format!("Bearer {}", &good[..good.len() - 1]),
        &format!("Bearer {good}{good}"),
        &format!("Bearer {}", "x".repeat(60_000)),
        "Bearer pawl_",
        "Bearer é",
        "Bearer ' OR 1=1 --",
        "Bearer ../../etc/passwd",
        "Bearer \u{202e}key",
        basic,
    ] {
        let answer = server.send(list().header("Authorization", value)).await;
        unauthorized(&answer, value);
    }
    let twice = list()
        .header("Authorization", &format!("Bearer {good}"))
        .header("Authorization", &format!("Bearer {good}"));
    unauthorized(&server.send(twice).await, "twice");
    let host = format!("Host: {}\r\nConnection: close\r\n", server.address);
    for byte in ["\0", "\r", "\u{1b}", "\u{7f}"] {
        let raw = format!(
            "GET /api/executions HTTP/1.1\r\n{host}Authorization: Bearer {good}{byte}\r\n\r\n"
        );
        let status = send_raw(server.address, raw.as_bytes()).await.status;
        assert!(matches!(status, 400 | 401), "{byte:?}: {status}");
    }
    let huge = list().header("Authorization", &format!("Bearer {}", "x".repeat(100_000)));
    assert_eq!(server.send(huge).await.status, 431);
    for value in [
        format!("bearer {good}"),
        format!("BEARER   {good}"),
        format!("Bearer {good}  "),
    ] {
        let answer = server.send(list().header("Authorization", &value)).await;
        answer.expect(200);
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_out_at_once() {
    let server = Server::locked().await;
    let (key, key_id) = server.key("short-lived", "viewer").await;
    let list = || Request::new("GET", "/api/executions");
    server.send_as(&key, list()).await.expect(200);
    let path = format!("/api/keys/{key_id}");
    server.send(Request::new("DELETE", &path)).await.expect(204);
    let answer = server.send_as(&key, list()).await;
    unauthorized(&answer, "revoked");
    assert_eq!(answer.json()["message"], "this API key was revoked");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_stream_ends_with_its_key() {
    let server = Server::locked().await;
    server.save(waiting("orders")).await;
    let execution = server.run(json!({"schema": "orders"})).await;
    server.until(id(&execution), "waiting").await;
    let (key, _) = server.key("watcher", "viewer").await;
    let bearer = format!("Bearer {key}");
    let mut events = server
        .events(id(&execution), |request| {
            request.header("Authorization", &bearer)
        })
        .await;
    assert_eq!(events.status, 200);
    while events.next().await.unwrap().data["status"] != "waiting" {}
    let revoke = Request::new("DELETE", "/api/keys/watcher");
    server.send(revoke).await.expect(204);
    assert_eq!(events.next().await, None, "the stream ends");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asked_is_written_down() {
    let server = Server::locked().await;
    let mut schema = linear("orders");
    schema["nodes"][3]["config"]["output"] = json!("{{user}}");
    server.save(schema).await;
    let (key, key_id) = server.key("ci.bot", "operator").await;
    let start = || {
        let body = json!({"schema": "orders"});
        Request::new("POST", "/api/executions?wait=30s").json(&body)
    };
    let by_key = server.send_as(&key, start()).await.expect(201);
    assert_eq!(by_key["created_by"], "key:ci.bot");
    assert_eq!(by_key["output"], json!({"id": key_id, "name": "ci.bot"}));
    let by_admin = server.send_as(ADMIN_KEY, start()).await.expect(201);
    assert_eq!(by_admin["created_by"], "key:PAWL_ADMIN_KEY");
    let again = format!("/api/executions/{}/fork", id(&by_admin));
    let fork = Request::new("POST", &again).json(&json!({"from_seq": 1}));
    let forked = server.send_as(&key, fork).await.expect(201);
    assert_eq!(forked["created_by"], "key:ci.bot");
    let version = server.get("/api/schemas/orders").await.expect(200);
    assert_eq!(version["created_by"], "key:PAWL_ADMIN_KEY");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_keys_any_host_will_do_but_no_other_site() {
    let server = Server::locked().await;
    server.save(linear("orders")).await;
    let list = || Request::new("GET", "/api/executions").header("Host", "pawl.example:8443");
    let start = || {
        Request::new("POST", "/api/executions")
            .json(&json!({"schema": "orders"}))
            .header("Host", "pawl.example:8443")
    };
    server.send(list()).await.expect(200);
    server.send(start()).await.expect(201);
    let own = start()
        .header("Origin", "https://PAWL.example:8443")
        .header("Sec-Fetch-Site", "same-origin");
    server.send(own).await.expect(201);
    for (name, value) in [
        ("Origin", "https://evil.example"),
        ("Origin", "https://pawl.example"),
        ("Origin", "http://localhost:8443"),
        ("Origin", "https://pawl.example.evil.example:8443"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        let answer = server.send(start().header(name, value)).await;
        answer.refuses(403, "FORBIDDEN");
    }
    let read = server
        .send(list().header("Origin", "https://evil.example"))
        .await;
    read.expect(200);
    assert_eq!(read.header("access-control-allow-origin"), None);
    server.close().await;
}
