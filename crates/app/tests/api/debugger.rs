//! The debugger: how far it goes, and how it takes over a live run.

use serde_json::{Value, json};

use crate::server::{Server, id, linear, waiting};

fn path(run: &Value, rest: &str) -> String {
    format!("/api/executions/{}{rest}", id(run))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_debugged_run_goes_on_until_the_first_of_several_nodes() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server
        .run(json!({"schema": "orders", "debug_mode": true}))
        .await;
    server.until(id(&run), "waiting_debug").await;
    let go = path(&run, "/continue");
    for (until, code) in [
        (json!(["log_1", "nowhere"]), "UNKNOWN_NODE"),
        (json!([]), "INVALID_REQUEST"),
        (json!(["log_1", 5]), "INVALID_REQUEST"),
        (json!("log_1"), "INVALID_REQUEST"),
    ] {
        let answer = server.post(&go, json!({"mode": {"until": until}})).await;
        answer.refuses(422, code);
    }
    server
        .post(&go, json!({"mode": {"until": ["end_1", "log_1"]}}))
        .await
        .expect(200);
    let held = loop {
        let held = server.get(&path(&run, "")).await.expect(200);
        if held["status"] == "waiting_debug" && held["seq"] == 2 {
            break held;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    assert_eq!(held["current_node_id"], "log_1");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_debugger_takes_over_a_live_run() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    let run = server.run(json!({"schema": "approval"})).await;
    server.until(id(&run), "waiting").await;
    let asked = server.command(&path(&run, "/debug")).await.expect(200);
    assert_eq!(asked["status"], "waiting");
    server
        .post(&path(&run, "/signals/go"), json!(1))
        .await
        .expect(202);
    let held = server.until(id(&run), "waiting_debug").await;
    assert_eq!(
        (&held["current_node_id"], &held["seq"]),
        (&json!("end_1"), &json!(2))
    );
    let again = server.command(&path(&run, "/debug")).await.expect(200);
    assert_eq!(again["event_version"], held["event_version"]);
    let step = json!({"mode": "run", "expect_seq": 2});
    server
        .post(&path(&run, "/continue"), step)
        .await
        .expect(200);
    server.until(id(&run), "completed").await;
    server
        .command(&path(&run, "/debug"))
        .await
        .refuses(409, "CONFLICT");
    let nowhere = "/api/executions/01a1e0f5-1856-7d0e-88d2-6567e1663034/debug";
    server.command(nowhere).await.refuses(404, "NOT_FOUND");

    let paused = server
        .run(json!({"schema": "approval", "debug_mode": true}))
        .await;
    server.until(id(&paused), "waiting_debug").await;
    server.command(&path(&paused, "/pause")).await.expect(200);
    let asked = server.command(&path(&paused, "/debug")).await.expect(200);
    assert_eq!(asked["status"], "waiting_debug");
    server.close().await;
}
