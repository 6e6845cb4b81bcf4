//! Scheduled actions: where they wait, whose they are, and what their bodies may be.

use std::time::Duration;

use pawl_kernel::time::Clock;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::Request;
use crate::hook::Hook;
use crate::schedule::{call, far, once, path};
use crate::server::Server;

fn guid(action: &Value, field: &str) -> Uuid {
    let text = action[field].as_str();
    let text = text.unwrap_or_else(|| panic!("no {field}: {action}"));
    text.parse().unwrap()
}

/// All times of the API have the same form, so that their texts are in their order.
fn time<'a>(action: &'a Value, field: &str) -> &'a str {
    let text = action[field].as_str();
    text.unwrap_or_else(|| panic!("no {field}: {action}"))
}

fn check_owner(action: &Value) {
    let owner = action["owner"].as_str().unwrap();
    let (host, rest) = owner.split_once('/').unwrap();
    let process = format!("{} pawl/{}", std::process::id(), env!("CARGO_PKG_VERSION"));
    assert_eq!(rest, process, "{owner}");
    assert!(!host.is_empty(), "{owner}");
}

/// The timers do not hurry for what is far; but one pass moves all that is new, and what is due now makes one.
async fn moved(server: &Server, hook: &Hook, id: &str) -> Value {
    let queued = server.put(&path(id), far(call(&hook.url))).await;
    queued.expect(201);
    let now = format!("{id}-now");
    let due = server.put(&path(&now), once(call(&hook.url))).await;
    due.expect(201);
    let moved = server.action_until(id, |action| action["moved_at"].is_string());
    moved.await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_action_says_by_whom_and_when() {
    let began = pawl::system::SystemClock.now().to_string();
    let (server, hook) = (Server::start().await, Hook::start().await);
    let first = moved(&server, &hook, "first").await;
    let second = moved(&server, &hook, "second").await;
    for action in [&first, &second] {
        check_owner(action);
        assert!(action["shard"].is_u64(), "{action}");
        let sent = [time(action, "queued_at"), time(action, "moved_at")];
        assert!(sent.iter().all(|at| *at >= began.as_str()), "{action}");
        for field in ["rescheduled_at", "rescheduled_by_sync"] {
            assert_eq!(action[field], Value::Null, "{field}: {action}");
        }
        assert_ne!(guid(action, "moved_by_sync"), guid(action, "lock_guid"));
    }
    // A row that nothing was done with keeps what the pass that moved it wrote.
    let still = server.get(&path("first")).await.expect(200);
    for field in ["moved_at", "moved_by_sync", "queued_at", "shard"] {
        assert_eq!(still[field], first[field], "{field}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_was_tried_says_when_it_was_put_off() {
    let (server, hook) = (Server::start().await, Hook::start().await);
    let mut body = once(call(&format!("{}/fail/9", hook.url)));
    let retry = json!({"max_retries": 5, "min": "1h", "scale": "1h"});
    body["spec"]["policy"]["once"]["retry"] = retry;
    let at = server
        .runtime()
        .clock
        .now()
        .plus(Duration::from_millis(200));
    body["spec"]["start_at"] = json!(at.to_string());
    server.put(&path("flaky"), body).await.expect(201);
    let tried = server
        .action_until("flaky", |action| action["status"]["failed"] == 1)
        .await;
    check_owner(&tried);
    // Moved, tried, put off to its next try.
    let times = [
        time(&tried, "moved_at"),
        time(&tried["status"]["last"], "started_at"),
        time(&tried, "rescheduled_at"),
        time(&tried, "scheduled_at"),
    ];
    assert!(times.is_sorted(), "{times:?}");
    for field in ["moved_by_sync", "rescheduled_by_sync"] {
        assert_ne!(guid(&tried, field), guid(&tried, "lock_guid"), "{field}");
    }
    hook.until(1).await;
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_says_whose_it_is() {
    let server = Server::locked().await;
    let (editor, _) = server.key("planner", "editor").await;
    let (operator, _) = server.key("operator", "operator").await;
    let body = far(json!({"start_execution": {"schema": "x"}}));
    let put = || Request::new("PUT", &path("mine")).json(&body);
    assert_eq!(server.send_as(&operator, put()).await.status, 403);
    let made = server.send_as(&editor, put()).await.expect(201);
    assert_eq!(made["meta"]["written_by"], "key:planner");
    let pause = Request::new("POST", &format!("{}/pause", path("mine")));
    server.send_as(&operator, pause).await.expect(200);
    server.close().await;
}

/// The same table that goes through the other edges.
#[tokio::test(flavor = "multi_thread")]
async fn policy_of_scheduled_actions() {
    let server = Server::start().await;
    let cases = include_str!("../../../../tests/json_policy.json");
    let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
    for (number, case) in cases.iter().enumerate() {
        let text = case["text"].as_str().unwrap();
        let body = format!(
            r#"{{"meta":{{"note":{text}}},"spec":{{"policy":{{"once":{{}}}},"start_at":"2099-01-01T00:00:00Z",
            "action":{{"start_execution":{{"schema":"x","input":{text}}}}}}}}}"#
        );
        let one = path(&format!("policy-{number}"));
        let send = async |method: &str, path: &str| {
            let request = Request::new(method, path).body("application/json", body.as_str());
            server.send(request).await
        };
        let preview = "/api/scheduled-actions/preview";
        let Some(kept) = case.get("kept") else {
            send("PUT", &one).await.refuses(400, "INVALID_JSON");
            send("POST", preview).await.refuses(400, "INVALID_JSON");
            server.get(&one).await.refuses(404, "NOT_FOUND");
            continue;
        };
        send("PUT", &one).await.expect(201);
        send("POST", preview).await.expect(200);
        let stored = server.get(&one).await.expect(200);
        assert_eq!(stored["meta"]["note"], *kept, "{case}");
        let input = &stored["spec"]["action"]["start_execution"]["input"];
        assert_eq!(input, kept, "{case}");
    }
    server.close().await;
}
