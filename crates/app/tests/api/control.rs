use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, fragile, id, linear, waiting};

fn path(run: &Value, action: &str) -> String {
    format!("/api/executions/{}/{action}", id(run))
}

#[tokio::test(flavor = "multi_thread")]
async fn pause_resume_and_stop() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    let run = server.run(json!({"schema": "approval"})).await;
    server.until(id(&run), "waiting").await;
    let refused = server.command(&path(&run, "resume")).await;
    assert_eq!(
        refused.refuses(409, "CONFLICT")["params"],
        json!({"refusal": "not_paused", "status": "waiting"})
    );
    let paused = server.command(&path(&run, "pause")).await.expect(200);
    assert_eq!(
        (&paused["status"], &paused["hold"]),
        (&json!("paused"), &json!("pause"))
    );
    assert_eq!(
        server
            .post(&path(&run, "pause"), json!({}))
            .await
            .expect(200)["status"],
        "paused"
    );
    assert_eq!(
        server.command(&path(&run, "resume")).await.expect(200)["status"],
        "waiting"
    );
    let stopped = server.command(&path(&run, "stop")).await.expect(200);
    assert_eq!(
        (&stopped["status"], &stopped["error"]["code"]),
        (&json!("stopped"), &json!("CANCELLED"))
    );
    assert_eq!(
        server.command(&path(&run, "stop")).await.expect(200)["status"],
        "stopped"
    );
    let refused = server.command(&path(&run, "pause")).await;
    assert_eq!(
        refused.refuses(409, "CONFLICT")["params"],
        json!({"refusal": "ended", "status": "stopped"})
    );
    server
        .post(&path(&run, "pause"), json!({"reason": "x"}))
        .await
        .refuses(422, "INVALID_REQUEST");
    let nobody = json!({"id": "00000000-0000-7000-8000-000000000000"});
    for action in ["pause", "resume", "stop", "continue", "retry", "signals/go"] {
        server
            .command(&path(&nobody, action))
            .await
            .refuses(404, "NOT_FOUND");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_wakes_and_counts_once() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    let run = server.run(json!({"schema": "approval"})).await;
    server.until(id(&run), "waiting").await;
    let other = Request::new("POST", &path(&run, "signals/other"))
        .header("Idempotency-Key", "s-1")
        .json(&json!([1, null]));
    server.send(other).await.expect(202);
    let again =
        Request::new("POST", &(path(&run, "signals/other") + "?id=s-1")).json(&json!([1, null]));
    server.send(again).await.expect(200);
    server
        .post(&path(&run, "signals/go"), json!({"approved": true}))
        .await
        .expect(202);
    let ended = server
        .get(&format!("/api/executions/{}?wait=30s", id(&run)))
        .await
        .expect(200);
    assert_eq!(ended["status"], "completed");
    assert!(ended["output"].to_string().contains("approved"), "{ended}");
    server
        .command(&path(&run, "signals/go"))
        .await
        .refuses(409, "CONFLICT");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_double_click_does_one_step() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server
        .run(json!({"schema": "orders", "debug_mode": true}))
        .await;
    let held = server.until(id(&run), "waiting_debug").await;
    let seq = held["seq"].as_u64().unwrap();
    let step = json!({"mode": "step", "expect_seq": seq, "variables": {"extra": [1]}});
    server
        .post(&path(&run, "continue"), step.clone())
        .await
        .expect(200);
    server
        .post(&path(&run, "continue"), step)
        .await
        .refuses(409, "CONFLICT");
    server
        .post(&path(&run, "continue"), json!({"mode": {"to": "nowhere"}}))
        .await
        .refuses(422, "UNKNOWN_NODE");
    server
        .post(&path(&run, "continue"), json!({"mode": "jump"}))
        .await
        .refuses(422, "INVALID_REQUEST");
    server
        .post(
            &path(&run, "continue"),
            json!({"mode": {"to": "end_1", "x": 1}}),
        )
        .await
        .refuses(422, "INVALID_REQUEST");

    let held = wait_for_seq(&server, &run, seq + 2).await;
    server
        .post(
            &path(&run, "continue"),
            json!({"mode": {"to": "end_1"}, "expect_seq": held}),
        )
        .await
        .expect(200);
    wait_for_seq(&server, &run, held + 1).await;
    server
        .post(&path(&run, "continue"), json!({"mode": "run"}))
        .await
        .expect(200);
    let ended = server
        .get(&format!("/api/executions/{}?wait=30s", id(&run)))
        .await
        .expect(200);
    assert_eq!(ended["status"], "completed");
    let steps = server.get(&path(&run, "steps")).await.expect(200);
    assert!(
        steps["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|step| step["node_id"] == "$edit")
    );
    server
        .post(&path(&run, "continue"), json!({}))
        .await
        .refuses(409, "CONFLICT");
    server.close().await;
}

/// Waits until the debugger holds it after at least this step.
async fn wait_for_seq(server: &Server, run: &Value, seq: u64) -> u64 {
    let mut events = server.events(id(run), |request| request).await;
    loop {
        let event = events.next().await.expect("the stream ended");
        let at = event.data["seq"].as_u64().unwrap();
        if event.name == "status" && event.data["status"] == "waiting_debug" && at >= seq {
            return at;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_and_fork_make_new_executions() {
    let server = Server::start().await;
    server.save(fragile("fragile")).await;
    let failed = server
        .run_to_end(json!({"schema": "fragile", "variables": {"ok": false}, "tenant": "acme"}))
        .await;
    assert_eq!(failed["status"], "failed");

    let answer = server
        .post(
            &(path(&failed, "retry") + "?wait=30s"),
            json!({"max_steps": 50, "max_duration": "1h"}),
        )
        .await;
    let retried = answer.expect(201);
    assert_eq!(
        (&retried["retry_of"], &retried["status"]),
        (&failed["id"], &json!("failed"))
    );
    assert_eq!(retried["tenant"], "acme");
    assert!(answer.header("location").unwrap().ends_with(id(&retried)));

    let forked = server
        .post(
            &(path(&failed, "fork") + "?wait=30s"),
            json!({"from_seq": 1, "variables": {"ok": true}}),
        )
        .await
        .expect(201);
    assert_eq!(
        (
            &forked["forked_from"],
            &forked["status"],
            &forked["base_seq"]
        ),
        (&failed["id"], &json!("completed"), &json!(1))
    );

    server
        .post(&path(&forked, "retry"), json!({}))
        .await
        .refuses(409, "CONFLICT");
    server
        .post(&path(&failed, "fork"), json!({}))
        .await
        .refuses(422, "INVALID_REQUEST");
    server
        .post(&path(&failed, "fork"), json!({"from_seq": 99}))
        .await
        .refuses(404, "NOT_FOUND");
    server
        .post(&path(&failed, "retry"), json!({"max_duration": "soon"}))
        .await
        .refuses(422, "INVALID_REQUEST");
    server
        .post(&path(&failed, "retry"), json!({"max_stepz": 1}))
        .await
        .refuses(422, "INVALID_REQUEST");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_counts_first_and_acts_when_told() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    server.save(linear("orders")).await;
    let first = server.run(json!({"schema": "approval"})).await;
    server.until(id(&first), "waiting").await;
    for _ in 0..3 {
        let run = server.run(json!({"schema": "approval"})).await;
        server.until(id(&run), "waiting").await;
    }
    server.run_to_end(json!({"schema": "orders"})).await;
    let bulk = async |body: Value| server.post("/api/executions/bulk", body).await;
    let filter = json!({"status": ["waiting"], "schema": "approval"});
    let counted = bulk(json!({"filter": filter, "action": "stop"}))
        .await
        .expect(200);
    assert_eq!(
        (&counted["dry_run"], &counted["matched"]),
        (&json!(true), &json!(4))
    );
    server
        .post(&format!("/api/executions/{}/pause", id(&first)), json!({}))
        .await
        .expect(200);
    for (action, applicable) in [("stop", 4), ("pause", 3), ("resume", 1), ("retry", 0)] {
        let counted = bulk(json!({"filter": {}, "action": action}))
            .await
            .expect(200);
        let numbers = (&counted["matched"], &counted["applicable"]);
        assert_eq!(numbers, (&json!(5), &json!(applicable)), "{action}");
    }
    server
        .post(&format!("/api/executions/{}/resume", id(&first)), json!({}))
        .await
        .expect(200);
    let waiting = server
        .get("/api/executions?status=waiting")
        .await
        .expect(200);
    assert_eq!(waiting["items"].as_array().unwrap().len(), 4);

    let done = bulk(json!({"filter": filter, "action": "stop", "dry_run": false}))
        .await
        .expect(200);
    assert_eq!(
        done["outcomes"],
        json!({"done": 4, "skipped": 0, "conflict": 0, "not_found": 0, "failed": 0})
    );
    for (action, applicable) in [("stop", 0), ("pause", 0), ("resume", 0), ("retry", 4)] {
        let counted = bulk(json!({"filter": {}, "action": action}))
            .await
            .expect(200);
        let numbers = (&counted["matched"], &counted["applicable"]);
        assert_eq!(numbers, (&json!(5), &json!(applicable)), "{action}");
    }
    let mixed = bulk(json!({"filter": {}, "action": "pause", "dry_run": false}))
        .await
        .expect(200);
    assert_eq!(
        (&mixed["outcomes"]["conflict"], &mixed["next"]),
        (&json!(5), &Value::Null)
    );
    let retried =
        bulk(json!({"filter": {"status": "stopped"}, "action": "retry", "dry_run": false}))
            .await
            .expect(200);
    assert_eq!(retried["outcomes"]["done"], 4);

    // What a program leaves empty by mistake is not "every execution".
    for filter in [
        json!({"status": []}),
        json!({"status": null}),
        json!({"tenant": null}),
        json!({"since": null, "schema": "approval"}),
    ] {
        let refused = bulk(json!({"filter": filter, "action": "stop", "dry_run": false})).await;
        let message = refused.refuses(422, "INVALID_REQUEST")["message"].clone();
        assert!(
            message.as_str().unwrap().contains("leave it out"),
            "{message}"
        );
    }
    let retried_before = bulk(json!({"filter": {"status": "stopped"}, "action": "retry"})).await;
    let counted = retried_before.expect(200);
    let numbers = (&counted["matched"], &counted["applicable"]);
    assert_eq!(numbers, (&json!(4), &json!(0)));
    bulk(json!({"action": "stop"}))
        .await
        .refuses(422, "INVALID_REQUEST");
    bulk(json!({"filter": {}, "action": "stopp"}))
        .await
        .refuses(422, "INVALID_REQUEST");
    bulk(json!({"filter": {}}))
        .await
        .refuses(422, "INVALID_REQUEST");
    bulk(json!({"filter": {"state": "x"}, "action": "stop"}))
        .await
        .refuses(422, "INVALID_REQUEST");
    bulk(json!({"filter": {"status": ["x"]}, "action": "stop"}))
        .await
        .refuses(422, "INVALID_REQUEST");
    bulk(json!({"filter": {"schema": "nothing"}, "action": "stop"}))
        .await
        .refuses(404, "NOT_FOUND");
    bulk(json!({"filter": {}, "action": "stop", "cursor": "forged"}))
        .await
        .refuses(400, "INVALID_CURSOR");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_goes_on_where_its_limit_stopped_it() {
    let limits = pawl::api::Limits {
        bulk: 2,
        ..Default::default()
    };
    let server = Server::with(limits).await;
    server.save(linear("orders")).await;
    for _ in 0..3 {
        server.run_to_end(json!({"schema": "orders"})).await;
    }
    let body = json!({"filter": {}, "action": "stop", "dry_run": false});
    let first = server
        .post("/api/executions/bulk", body.clone())
        .await
        .expect(200);
    assert_eq!(first["matched"], 2);
    let mut more = body;
    more["cursor"] = first["next"].clone();
    let second = server.post("/api/executions/bulk", more).await.expect(200);
    assert_eq!(
        (&second["matched"], &second["next"]),
        (&json!(1), &Value::Null)
    );
    server.close().await;
}
