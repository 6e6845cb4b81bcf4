//! Making, listing and revoking keys.

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn a_key_through_its_life() {
    let server = Server::locked().await;
    let body = json!({"name": "ci", "role": "operator", "expires_in": "90d"});
    let made = server.post("/api/keys", body.clone()).await.expect(201);
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("pawl_") && key.len() == 77, "{key}");
    assert!(key.starts_with(made["starts_with"].as_str().unwrap()));
    assert_eq!(
        (&made["name"], &made["role"]),
        (&json!("ci"), &json!("operator"))
    );
    assert_eq!(made["created_by"], "key:PAWL_ADMIN_KEY");
    assert!(made["expires_at"].as_str().unwrap() > made["created_at"].as_str().unwrap());
    server
        .post("/api/keys", body.clone())
        .await
        .refuses(409, "CONFLICT");

    let listed = server.get("/api/keys").await.expect(200);
    let mut shown = made.clone();
    shown.as_object_mut().unwrap().remove("key");
    assert_eq!(listed, json!({"items": [shown], "next": null}));

    let path = format!("/api/keys/{}", made["id"].as_str().unwrap());
    server.send(Request::new("DELETE", &path)).await.expect(204);
    server.send(Request::new("DELETE", &path)).await.expect(204);
    let revoked = &server.get("/api/keys").await.expect(200)["items"][0];
    assert!(revoked["revoked_at"].is_string());
    server
        .send(Request::new("DELETE", "/api/keys/ci"))
        .await
        .refuses(404, "NOT_FOUND");
    server.post("/api/keys", body).await.expect(201);
    server
        .send(Request::new("DELETE", "/api/keys/ci"))
        .await
        .expect(204);
    let list = server.get("/api/keys").await.expect(200);
    assert_eq!(
        list["items"].as_array().unwrap().len(),
        2,
        "nothing is forgotten"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_use_is_noted() {
    let server = Server::locked().await;
    let (key, _) = server.key("used", "viewer").await;
    let used = async || {
        let list = server.get("/api/keys").await.expect(200);
        list["items"][0]["last_used_at"].clone()
    };
    assert_eq!(used().await, Value::Null);
    let list = Request::new("GET", "/api/executions");
    server.send_as(&key, list).await.expect(200);
    // Written on the side, soon after the answer.
    while used().await.is_null() {}
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_newest_first_page_by_page() {
    let server = Server::locked().await;
    for n in 1..=5 {
        server.key(&format!("key-{n}"), "viewer").await;
    }
    let mut names = Vec::new();
    let mut path = "/api/keys?limit=2".to_owned();
    loop {
        let page = server.get(&path).await.expect(200);
        for item in page["items"].as_array().unwrap() {
            names.push(item["name"].as_str().unwrap().to_owned());
        }
        match page["next"].as_str() {
            Some(next) => path = format!("/api/keys?limit=2&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["key-5", "key-4", "key-3", "key-2", "key-1"]);
    for forged in ["x", "ZTow", "../", "%00"] {
        server
            .get(&format!("/api/keys?cursor={forged}"))
            .await
            .refuses(400, "INVALID_CURSOR");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_dev_keys_can_be_made_and_are_not_needed() {
    let server = Server::start().await;
    let (key, _) = server.key("later", "viewer").await;
    let list = server.get("/api/keys").await.expect(200);
    assert_eq!(list["items"][0]["created_by"], "dev");
    for given in ["", key.as_str(), "garbage"] {
        let answer = server
            .send_as(given, Request::new("GET", "/api/executions"))
            .await;
        answer.expect(200);
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_keys_are_refused() {
    let server = Server::locked().await;
    let long = "x".repeat(65);
    for name in [
        "",
        " ",
        "a b",
        "a\0b",
        "a\nb",
        "\u{1b}[2J",
        "-a",
        ".a",
        "../../x",
        "a/b",
        "a:b",
        "é",
        "\u{202e}admin",
        "аdmin",
        "a\u{200b}b",
        "👩‍👩‍👧",
        "'; DROP TABLE api_keys; --",
        "<img src=x>",
        "PAWL_ADMIN_KEY",
        "pawl_admin_key",
        "00000000-0000-7000-8000-000000000000",
        &long,
    ] {
        let body = json!({"name": name, "role": "viewer"});
        let answer = server.post("/api/keys", body).await;
        let refusal = answer.refuses(422, "INVALID_REQUEST");
        assert!(
            refusal["message"].as_str().unwrap().len() < 300,
            "{refusal}"
        );
    }
    let huge = json!({"name": "x".repeat(1_000_000), "role": "viewer"});
    server
        .post("/api/keys", huge)
        .await
        .refuses(422, "INVALID_REQUEST");
    let huge = json!({"name": "x".repeat(2_000_000), "role": "viewer"});
    server
        .post("/api/keys", huge)
        .await
        .refuses(413, "LIMIT_EXCEEDED");
    for body in [
        json!({}),
        json!([]),
        json!("x"),
        json!({"name": "x"}),
        json!({"role": "viewer"}),
        json!({"name": 1, "role": "viewer"}),
        json!({"name": "x", "role": "root"}),
        json!({"name": "x", "role": "Admin"}),
        json!({"name": "x", "role": ["viewer", "admin"]}),
        json!({"name": "x", "role": 4}),
        json!({"name": "x", "role": "viewer", "expires_in": 0}),
        json!({"name": "x", "role": "viewer", "expires_in": -1}),
        json!({"name": "x", "role": "viewer", "expires_in": "soon"}),
        json!({"name": "x", "role": "viewer", "expires_in": 1e300}),
        json!({"name": "x", "role": "viewer", "expires_in": true}),
    ] {
        server
            .post("/api/keys", body)
            .await
            .refuses(422, "INVALID_REQUEST");
    }
    assert_eq!(
        server.get("/api/keys").await.expect(200)["items"],
        json!([])
    );
    server.close().await;
}

/// What only the server decides cannot be sent along.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_can_be_slipped_in() {
    let server = Server::locked().await;
    for field in [
        "id",
        "key",
        "hash",
        "secret",
        "created_by",
        "created_at",
        "expires_at",
        "last_used_at",
        "revoked_at",
        "tenant_id",
        "owner",
        "scopes",
        "__proto__",
    ] {
        let mut body = json!({"name": "x", "role": "viewer"});
        body[field] = json!("1");
        let refusal = server
            .post("/api/keys", body)
            .await
            .refuses(422, "INVALID_REQUEST");
        assert_eq!(refusal["details"]["unknown"], json!([field]));
    }
    for bad in [
        "",
        "x",
        "%00",
        "..%2f",
        "00000000-0000-0000-0000-000000000000",
        &"a".repeat(2_000),
    ] {
        let answer = server
            .send(Request::new("DELETE", &format!("/api/keys/{bad}")))
            .await;
        answer.refuses(404, "NOT_FOUND");
    }
    assert_eq!(
        server.get("/api/keys").await.expect(200)["items"],
        json!([])
    );
    server.close().await;
}
