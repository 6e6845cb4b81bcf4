//! Notes that people write on executions.

use serde_json::json;

use crate::client::Request;
use crate::server::{Server, id, linear};

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_shown_with_its_execution() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let path = format!("/api/executions/{}", id(&run));
    assert_eq!(server.get(&path).await.expect(200)["notes"], json!(null));
    let notes = format!("{path}/notes");
    let first = server
        .post(&notes, json!({"text": "the bank was down"}))
        .await;
    let first = first.expect(201);
    assert_eq!(first["text"], "the bank was down");
    assert_eq!(first["created_by"], "dev");
    let second = server
        .post(&notes, json!({"text": "paid by hand\n– Ann"}))
        .await;
    let second = second.expect(201);
    let shown = server.get(&path).await.expect(200);
    assert_eq!(shown["notes"], json!([first, second]));
    let listed = server.get("/api/executions").await.expect(200);
    assert_eq!(listed["items"][0]["notes"], json!(null), "not in lists");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_note_is_refused() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let notes = format!("/api/executions/{}/notes", id(&run));
    for body in [
        json!({}),
        json!({"text": ""}),
        json!({"text": " \n"}),
        json!({"text": "é".repeat(2_049)}),
        json!({"text": 7}),
        json!({"text": "a", "by": "somebody else"}),
    ] {
        let answer = server.post(&notes, body).await;
        answer.refuses(422, "INVALID_REQUEST");
    }
    server
        .post(&notes, json!({"text": "é".repeat(2_048)}))
        .await
        .expect(201);
    let unknown = "/api/executions/019a0000-0000-7000-8000-000000000000/notes";
    server
        .post(unknown, json!({"text": "where?"}))
        .await
        .refuses(404, "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_has_a_most_of_notes() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let notes = format!("/api/executions/{}/notes", id(&run));
    for _ in 0..100 {
        server
            .post(&notes, json!({"text": "again"}))
            .await
            .expect(201);
    }
    let refused = server.post(&notes, json!({"text": "once more"})).await;
    let refused = refused.refuses(409, "CONFLICT");
    assert!(refused["message"].as_str().unwrap().contains("100 notes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_write_notes_and_viewers_read_them() {
    let server = Server::locked().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let path = format!("/api/executions/{}", id(&run));
    let (viewer, _) = server.key("look", "viewer").await;
    let (operator, _) = server.key("act", "operator").await;
    let note = || {
        let post = Request::new("POST", &format!("{path}/notes"));
        post.json(&json!({"text": "seen"}))
    };
    assert_eq!(server.send_as(&viewer, note()).await.status, 403);
    let written = server.send_as(&operator, note()).await.expect(201);
    assert_eq!(written["created_by"], "key:act");
    let shown = server.send_as(&viewer, Request::new("GET", &path)).await;
    assert_eq!(shown.expect(200)["notes"][0], written);
}
