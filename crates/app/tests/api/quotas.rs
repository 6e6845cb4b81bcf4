//! Quotas: set, listed, waited for, explained.

use serde_json::{Value, json};

use crate::client::{Answer, Request};
use crate::server::{Server, id, waiting};

impl Server {
    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Request::new("PUT", path).json(&body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Request::new("DELETE", path)).await
    }

    async fn go(&self, execution: &Value) {
        let path = format!("/api/executions/{}/signals/go", id(execution));
        self.post(&path, json!({})).await.expect(202);
        self.until(id(execution), "completed").await;
    }
}

/// Waits for `go`, at most `limit` at once for each `input.customer`.
fn one_per_customer(name: &str) -> Value {
    let mut schema = waiting(name);
    schema["settings"] = json!({"concurrency": {"limit": 1, "key": "{{input.customer}}"}});
    schema
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_through_its_life() {
    let server = Server::start().await;
    server.save(waiting("flow")).await;
    let path = "/api/quotas/schema/flow";
    server.get(path).await.refuses(404, "NOT_FOUND");
    server.delete(path).await.refuses(404, "NOT_FOUND");
    let made = server.put(path, json!({"limit": 1})).await.expect(200);
    let shown = json!({
        "kind": "schema", "name": "flow", "limit": 1, "rate": null, "used": 0, "waiting": 0, "source": "api",
        "updated_at": made["updated_at"],
    });
    assert_eq!(made, shown);
    let first = server.run(json!({"schema": "flow"})).await;
    let second = server.run(json!({"schema": "flow"})).await;
    assert_eq!(second["status"], "pending");
    assert_eq!(second["wait"]["kind"], "admission");
    assert_eq!(second["quotas"], json!(["schema:flow"]));
    let one = server.get(path).await.expect(200);
    assert_eq!((&one["used"], &one["waiting"]), (&json!(1), &json!(1)));
    assert_eq!(one["holders"][0]["execution_id"], first["id"]);

    let why = format!("/api/executions/{}/explain", id(&second));
    let why = server.get(&why).await.expect(200);
    assert_eq!(why["reason"], "waiting_for_quota");
    let sentence = why["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("schema:flow (limit 1), held by"),
        "{sentence}"
    );
    assert!(sentence.contains(id(&first)), "{sentence}");
    let healthy = server.get("/api/doctor").await.expect(200);
    assert_eq!(healthy["healthy"], true, "{healthy}");

    server.go(&first).await;
    server.until(id(&second), "waiting").await;
    server
        .put(path, json!({"limit": 3, "rate": "600/m"}))
        .await
        .expect(200);
    let changed = server.get(path).await.expect(200);
    assert_eq!(
        (&changed["limit"], &changed["rate"], &changed["used"]),
        (&json!(3), &json!("600/m"), &json!(1))
    );
    server.delete(path).await.expect(204);
    server.get(path).await.refuses(404, "NOT_FOUND");
    server.go(&second).await;
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_tenants() {
    let server = Server::start().await;
    server.save(one_per_customer("orders")).await;
    let start = |customer: &str| json!({"schema": "orders", "input": {"customer": customer}, "tenant": "shop"});
    let first = server.run(start("ACME")).await;
    let second = server.run(start("ACME")).await;
    let other = server.run(start("other")).await;
    assert_eq!(
        (&second["status"], &other["quotas"]),
        (&json!("pending"), &json!(["key:orders/other"]))
    );
    let key = server
        .get("/api/quotas/key/orders%2FACME")
        .await
        .expect(200);
    assert_eq!(
        (&key["name"], &key["source"], &key["waiting"]),
        (&json!("orders/ACME"), &json!("settings"), &json!(1))
    );
    // Whoever is there counts against a quota from the moment it is set.
    let tenant = server
        .put("/api/quotas/tenant/shop", json!({"limit": 1}))
        .await
        .expect(200);
    assert_eq!(
        (&tenant["used"], &tenant["waiting"]),
        (&json!(2), &json!(1))
    );
    let list = server.get("/api/quotas?limit=2").await.expect(200);
    let names = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| format!("{}:{}", item["kind"], item["name"]).replace('"', ""))
            .collect()
    };
    assert_eq!(names(&list), ["key:orders/ACME", "key:orders/other"]);
    let next = format!(
        "/api/quotas?limit=2&cursor={}",
        list["next"].as_str().unwrap()
    );
    let rest = server.get(&next).await.expect(200);
    assert_eq!(
        (names(&rest), &rest["next"]),
        (vec!["tenant:shop".to_owned()], &Value::Null)
    );
    server.go(&first).await;
    let path = format!("/api/executions/{}", id(&second));
    assert_eq!(
        server.get(&path).await.expect(200)["status"],
        "pending",
        "the tenant is over its limit"
    );
    server.go(&other).await;
    server.until(id(&second), "waiting").await;
    server.go(&second).await;
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wishes_that_make_no_sense() {
    let server = Server::start().await;
    for (path, body) in [
        ("/api/quotas/tenant/a", json!({})),
        ("/api/quotas/tenant/a", json!({"limit": -1})),
        ("/api/quotas/tenant/a", json!({"limit": 1.5})),
        ("/api/quotas/tenant/a", json!({"limit": 4294967296_u64})),
        ("/api/quotas/tenant/a", json!({"limit": 1, "rate": "fast"})),
        ("/api/quotas/tenant/a", json!({"limit": 1, "rate": 10})),
        ("/api/quotas/tenant/a", json!({"limit": 1, "max": 2})),
        ("/api/quotas/key/ACME", json!({"limit": 1})),
        ("/api/quotas/tenant/a%00b", json!({"limit": 1})),
    ] {
        let refused = server
            .put(path, body.clone())
            .await
            .refuses(422, "INVALID_REQUEST");
        assert!(
            refused["message"].as_str().unwrap().len() > 10,
            "{path} {body}"
        );
    }
    for path in [
        "/api/quotas/team/a",
        "/api/quotas/tenant/",
        "/api/quotas/tenant",
    ] {
        assert_eq!(
            server.put(path, json!({"limit": 1})).await.status,
            404,
            "{path}"
        );
    }
    server.save(one_per_customer("orders")).await;
    let refused = server
        .post("/api/executions", json!({"schema": "orders", "input": {}}))
        .await
        .refuses(422, "EXPRESSION_ERROR");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("settings.concurrency.key: ") && message.contains("customer"),
        "{message}"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_set_quotas() {
    let server = Server::locked().await;
    let (viewer, _) = server.key("viewer", "viewer").await;
    let (operator, _) = server.key("operator", "operator").await;
    let (editor, _) = server.key("editor", "editor").await;
    let put = || Request::new("PUT", "/api/quotas/tenant/a").json(&json!({"limit": 1}));
    for key in [&viewer, &operator] {
        assert_eq!(server.send_as(key, put()).await.status, 403);
        let delete = Request::new("DELETE", "/api/quotas/tenant/a");
        assert_eq!(server.send_as(key, delete).await.status, 403);
    }
    server.send_as(&editor, put()).await.expect(200);
    let list = Request::new("GET", "/api/quotas");
    assert_eq!(
        server.send_as(&viewer, list).await.expect(200)["items"][0]["name"],
        "a"
    );
    server.close().await;
}
