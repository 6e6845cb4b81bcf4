//! Logging in with a browser: the cookie, who may use it for what, and how it ends.

use serde_json::json;

use crate::client::{Answer, Events, Request};
use crate::server::{ADMIN_KEY, Server, linear};

fn login(key: &str) -> Request {
    Request::new("POST", "/api/session").json(&json!({"key": key}))
}

/// What the browser sends back.
fn cookie(answer: &Answer) -> String {
    assert_eq!(answer.status, 204, "{}", answer.text());
    let set = answer.header("set-cookie").unwrap();
    set.split(';').next().unwrap().to_owned()
}

async fn logged_in(server: &Server, key: &str) -> String {
    cookie(&server.send_as("", login(key)).await)
}

fn with(cookie: &str, request: Request) -> Request {
    request.header("Cookie", &format!("other=1; {cookie}"))
}

/// As a page of this server sends it.
fn own_page(request: Request) -> Request {
    request.header("Sec-Fetch-Site", "same-origin")
}

fn me() -> Request {
    Request::new("GET", "/api/me")
}

fn start() -> Request {
    Request::new("POST", "/api/executions").json(&json!({"schema": "orders"}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_as_good_as_its_key() {
    let server = Server::locked().await;
    server.save(linear("orders")).await;
    let (key, key_id) = server.key("ada", "operator").await;
    let answer = server.send_as("", login(&key)).await;
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("pawl_session="), "{set}");
    for part in [
        "; Path=/",
        "; HttpOnly",
        "; SameSite=Strict",
        "; Max-Age=604800",
    ] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Secure") && !set.contains(&key));
    let cookie = cookie(&answer);
    let told = server.send_as("", with(&cookie, me())).await.expect(200);
    assert_eq!(told["created_by"], "key:ada");
    assert_eq!(told["user"], json!({"id": key_id, "name": "ada"}));
    assert_eq!(
        (&told["role"], &told["login"], &told["mode"]),
        (&json!("operator"), &json!("session"), &json!("server"))
    );
    let by_key = server.send_as(&key, me()).await.expect(200);
    assert_eq!(by_key["login"], "key");
    let run = server
        .send_as("", with(&cookie, own_page(start())))
        .await
        .expect(201);
    assert_eq!(run["created_by"], "key:ada");
    let refused = with(&cookie, Request::new("GET", "/api/keys"));
    server.send_as("", refused).await.refuses(403, "FORBIDDEN");
    let session = with(&cookie, Request::new("GET", "/api/session"));
    let session = server.send_as("", session).await.expect(200);
    assert_eq!(
        (&session["key"], &session["role"]),
        (&json!("ada"), &json!("operator"))
    );
    assert!(session["idle_until"].as_str() < session["expires_at"].as_str());
    let none = Request::new("GET", "/api/session");
    server.send_as(&key, none).await.refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_it_is_closed_and_with_its_key() {
    let server = Server::locked().await;
    let (key, key_id) = server.key("ada", "viewer").await;
    let (one, other) = (
        logged_in(&server, &key).await,
        logged_in(&server, &key).await,
    );
    let leave = || Request::new("DELETE", "/api/session");
    let gone = server.send_as("", with(&one, own_page(leave()))).await;
    assert!(
        cookie(&gone) == "pawl_session="
            && gone.header("set-cookie").unwrap().contains("Max-Age=0")
    );
    let refused = server.send_as("", with(&one, me())).await;
    let message = refused.refuses(401, "UNAUTHORIZED")["message"].clone();
    assert!(
        message.as_str().unwrap().contains("log in again"),
        "{message}"
    );
    assert_eq!(
        server
            .send_as("", with(&one, own_page(leave())))
            .await
            .status,
        204,
        "any number of times"
    );
    server.send_as("", with(&other, me())).await.expect(200);
    let stream = Request::new("GET", "/api/events?topics=executions");
    let mut events = Events::open(server.address, with(&other, stream)).await;
    assert_eq!(events.next_named().await.unwrap().0, "hello");
    let revoke = Request::new("DELETE", &format!("/api/keys/{key_id}"));
    server.send(revoke).await.expect(204);
    let refused = server.send_as("", with(&other, me())).await;
    assert_eq!(
        refused.refuses(401, "UNAUTHORIZED")["message"],
        "this API key was revoked"
    );
    assert_eq!(events.next_named().await, None, "an open stream ends too");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_session_only_pages_of_this_server_change_anything() {
    let server = Server::locked().await;
    server.save(linear("orders")).await;
    let cookie = logged_in(&server, ADMIN_KEY).await;
    let own = format!("http://{}", server.address);
    for (label, request) in [
        ("nothing said", start()),
        (
            "another site",
            start().header("Sec-Fetch-Site", "cross-site"),
        ),
        ("a sister", start().header("Sec-Fetch-Site", "same-site")),
        ("typed", start().header("Sec-Fetch-Site", "none")),
        (
            "another origin",
            start().header("Origin", "https://evil.example"),
        ),
        ("no origin", start().header("Origin", "null")),
        (
            "another port",
            start().header("Origin", "http://127.0.0.1:1"),
        ),
        (
            "an own origin, another site",
            start()
                .header("Origin", &own)
                .header("Sec-Fetch-Site", "cross-site"),
        ),
    ] {
        let answer = server.send_as("", with(&cookie, request)).await;
        assert_eq!(answer.status, 403, "{label}: {}", answer.text());
        answer.refuses(403, "FORBIDDEN");
    }
    let leave = Request::new("DELETE", "/api/session");
    server
        .send_as("", with(&cookie, leave))
        .await
        .refuses(403, "FORBIDDEN");
    for request in [own_page(start()), start().header("Origin", &own)] {
        server.send_as("", with(&cookie, request)).await.expect(201);
    }
    let yaml = "name: x\nnodes: []\n";
    for (kind, status) in [
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("text/yaml", 415),
        ("application/yaml", 200),
    ] {
        let check = Request::new("POST", "/api/schemas/validate").body(kind, yaml);
        let answer = server.send_as("", with(&cookie, own_page(check))).await;
        assert_eq!(answer.status, status, "{kind}: {}", answer.text());
    }
    // Looking needs no more than the cookie, as when an address is typed.
    server
        .send_as("", with(&cookie, Request::new("GET", "/api/executions")))
        .await
        .expect(200);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_and_a_session_at_once_are_refused() {
    let server = Server::locked().await;
    let cookie = logged_in(&server, ADMIN_KEY).await;
    let both = server.send_as(ADMIN_KEY, with(&cookie, me())).await;
    both.refuses(400, "INVALID_HEADER");
    for cookie in [
        "pawl_session",
        "pawl_session_=x",
        "__Host-pawl_session=x",
        "x=pawl_session=y",
    ] {
        server
            .send_as(ADMIN_KEY, with(cookie, me()))
            .await
            .expect(200);
        server
            .send_as("", with(cookie, me()))
            .await
            .refuses(401, "UNAUTHORIZED");
    }
    let (name, token) = cookie.split_once('=').unwrap();
    let typo = format!(
        "{}{}",
        &token[..token.len() - 1],
        if token.ends_with('x') { "y" } else { "x" }
    );
    for token in ["", "x", &typo, &token[1..], &"é".repeat(25), ADMIN_KEY] {
        let request = with(&format!("{name}={token}"), me());
        server
            .send_as("", request)
            .await
            .refuses(401, "UNAUTHORIZED");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_are_refused_and_then_have_to_wait() {
    let server = Server::locked().await;
    let empty = Request::new("POST", "/api/session").json(&json!({}));
    server
        .send_as("", empty)
        .await
        .refuses(422, "INVALID_REQUEST");
    let form =
        Request::new("POST", "/api/session").body("application/x-www-form-urlencoded", "key=x");
    assert_eq!(server.send_as("", form).await.status, 415);
    for _ in 0..10 {
        let refused = server.send_as("", login("pawl_wrong")).await;
        refused.refuses(401, "UNAUTHORIZED");
        assert_eq!(refused.header("set-cookie"), None);
    }
    let late = server.send_as("", login("pawl_wrong")).await;
    let body = late.refuses(429, "TOO_MANY_TRIES");
    let seconds = body["details"]["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=60).contains(&seconds));
    assert_eq!(late.header("retry-after"), Some(&*seconds.to_string()));
    server.send_as(ADMIN_KEY, me()).await.expect(200);
    // Behind a proxy these are other people, at the same address.
    let good = server.send_as("", login(ADMIN_KEY)).await;
    assert_eq!(good.status, 204);
    let again = server.send_as("", login("pawl_wrong")).await;
    again.refuses(429, "TOO_MANY_TRIES");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_does_not_go_over_a_network_in_the_clear() {
    let elsewhere = |request: Request| request.header("Host", "pawl.example");
    let server = Server::locked().await;
    let refused = server.send_as("", elsewhere(login(ADMIN_KEY))).await;
    let body = refused.refuses(403, "FORBIDDEN");
    assert_eq!(body["details"], json!({"reason": "plain_http"}));
    assert!(
        body["message"].as_str().unwrap().contains("public_url"),
        "{body}"
    );
    server.close().await;

    let server = Server::presented("[ui]\nallow_http = true").await;
    let answer = server.send_as("", elsewhere(login(ADMIN_KEY))).await;
    assert!(cookie(&answer).starts_with("pawl_session="));
    server.close().await;

    let server = Server::presented("[ui]\npublic_url = \"https://pawl.example\"").await;
    let behind_a_proxy = login(ADMIN_KEY).header("Origin", "https://pawl.example");
    let answer = server.send_as("", behind_a_proxy).await;
    let set = answer.header("set-cookie").unwrap();
    assert!(
        set.starts_with("__Host-pawl_session=") && set.ends_with("; Secure"),
        "{set}"
    );
    let cookie = cookie(&answer);
    server.save(linear("orders")).await;
    let page = start().header("Origin", "https://pawl.example");
    server.send_as("", with(&cookie, page)).await.expect(201);
    let plain = cookie.replace("__Host-", "");
    server
        .send_as("", with(&plain, me()))
        .await
        .refuses(401, "UNAUTHORIZED");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_this_machine_no_login_is_needed() {
    let server = Server::start().await;
    let told = server.get("/api/me").await.expect(200);
    assert_eq!(
        (&told["mode"], &told["login"], &told["role"]),
        (&json!("dev"), &json!("none"), &json!("admin"))
    );
    assert_eq!(told["limits"]["page"], 500);
    server.send(login(ADMIN_KEY)).await.refuses(409, "CONFLICT");
    server.get("/api/session").await.refuses(404, "NOT_FOUND");
    // A cookie of another server under the same name is no concern of this one.
    server
        .send(with("pawl_session=x", start()))
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}
