//! Removing what is past its retention.

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, id, linear, waiting};

/// Its executions may go as soon as they have ended.
fn fleeting(mut schema: Value) -> Value {
    schema["settings"] = json!({"retention": "0s"});
    schema
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_goes_and_what_is_open_stays() {
    let server = Server::start().await;
    server.save(fleeting(linear("short"))).await;
    server.save(fleeting(waiting("open"))).await;
    server.save(linear("kept")).await;
    let mut ended = Vec::new();
    for _ in 0..3 {
        ended.push(server.run_to_end(json!({"schema": "short"})).await);
    }
    let kept = server.run_to_end(json!({"schema": "kept"})).await;
    let open = server.run(json!({"schema": "open"})).await;
    server.until(id(&open), "waiting").await;

    let preview = server.post("/api/gc", json!({"dry_run": true})).await;
    let preview = preview.expect(200);
    assert_eq!(
        (
            &preview["dry_run"],
            &preview["executions"],
            &preview["next"]
        ),
        (&json!(true), &json!(3), &Value::Null)
    );
    let schema = &preview["schemas"][0];
    assert_eq!(
        (
            &schema["schema"],
            &schema["retention"],
            &schema["executions"]
        ),
        (&json!("short"), &json!("0s"), &json!(3))
    );
    server
        .get(&format!("/api/executions/{}", id(&ended[0])))
        .await
        .expect(200);

    let done = server.command("/api/gc").await.expect(200);
    assert_eq!(
        (&done["dry_run"], &done["executions"]),
        (&json!(false), &json!(3))
    );
    assert!(done["history_rows"].as_u64().unwrap() >= 6, "{done}");
    for execution in &ended {
        let path = format!("/api/executions/{}", id(execution));
        server.get(&path).await.refuses(404, "NOT_FOUND");
        let steps = format!("{path}/steps");
        server.get(&steps).await.refuses(404, "NOT_FOUND");
    }
    for execution in [&kept, &open] {
        let path = format!("/api/executions/{}/steps", id(execution));
        server.get(&path).await.expect(200);
    }
    let again = server.command("/api/gc").await.expect(200);
    assert_eq!(
        (&again["executions"], &again["more"]),
        (&json!(0), &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_refused_and_only_an_admin_may() {
    let server = Server::locked().await;
    let (editor, _) = server.key("editor", "editor").await;
    let request = || Request::new("POST", "/api/gc").json(&json!({}));
    let refused = server.send_as(&editor, request()).await;
    refused.refuses(403, "FORBIDDEN");
    let (admin, _) = server.key("boss", "admin").await;
    for body in [
        json!({"after": "x"}),
        json!({"dry_run": 1}),
        json!({"dry": true}),
        json!([]),
    ] {
        let request = Request::new("POST", "/api/gc").json(&body);
        let refused = server.send_as(&admin, request).await;
        refused.refuses(422, "INVALID_REQUEST");
    }
    server.send_as(&admin, request()).await.expect(200);
}
