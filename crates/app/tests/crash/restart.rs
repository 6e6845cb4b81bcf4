//! Single restarts: by kill, by request, and by mistake on a folder in use.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::flows::Flow;
use crate::process::{self, Pawl};
use crate::rows::{self, Copy, Run};
use crate::sink::Sink;
use crate::{ONE_AT_A_TIME, http};

#[tokio::test]
async fn a_folder_in_use_is_refused() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let (first, address) = Pawl::start(folder.path()).await;
    let second = Pawl::spawn(folder.path());
    let status = second.ended().await;
    assert_eq!(status.code(), Some(1));
    let said = process::stderr(folder.path());
    let clear = said.contains("in use by process") && said.contains(&first.pid.to_string());
    assert!(clear, "{said}");
    let alive = http::get(address, "/health/ready").await.unwrap();
    assert_eq!(alive.status, 200, "the first one goes on");
}

#[tokio::test]
async fn a_sleep_that_ended_while_nobody_ran_goes_on_at_once() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let sink = Sink::start().await;
    let (pawl, address) = Pawl::start(folder.path()).await;
    let input = json!({"n": 1, "ms": 0, "nap": "1s"});
    let id = start(address, &sink, Flow::Nap, input).await;
    let asleep = until(address, &id, "sleeping").await;
    pawl.kill().await;
    let wake_at: jiff::Timestamp = asleep["wait"]["wake_at"].as_str().unwrap().parse().unwrap();
    // Not synchronisation: the time is to pass while nobody is there.
    let left = wake_at.duration_since(jiff::Timestamp::now());
    tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;

    let (_pawl, address) = Pawl::start(folder.path()).await;
    let started = Instant::now();
    let path = format!("/api/executions/{id}?wait=20s");
    let ended = http::get(address, &path).await.unwrap().body;
    let took = started.elapsed();
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(sink.requests().len(), 1);
}

#[tokio::test]
async fn sigterm_lets_the_effect_finish_and_loses_nothing() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let sink = Sink::start().await;
    let (pawl, address) = Pawl::start(folder.path()).await;
    let input = json!({"n": 1, "ms": 600});
    let id = start(address, &sink, Flow::Chain, input).await;
    while sink.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    pawl.terminate().await;
    assert_eq!(pawl.ended().await.code(), Some(0));
    let run = stored(folder.path());
    assert!(!run.blocked, "the lease was given back");
    let nodes: Vec<&str> = run.steps.iter().map(|step| step.node_id.as_str()).collect();
    assert_eq!(
        &nodes[..2],
        ["start", "a"],
        "the effect in flight is recorded"
    );
    assert_eq!(sink.requests().len(), 1, "and none was begun after it");

    let (_pawl, address) = Pawl::start(folder.path()).await;
    let path = format!("/api/executions/{id}?wait=20s");
    let ended = http::get(address, &path).await.unwrap().body;
    assert_eq!(ended["output"], json!({"n": 1, "hit": 1}), "{ended}");
    assert_eq!(sink.requests().len(), 3, "each effect once");
}

/// Saves the flow and starts it; returns the id.
async fn start(address: std::net::SocketAddr, sink: &Sink, flow: Flow, input: Value) -> String {
    let schema = flow.schema(&sink.url());
    let saved = http::post(address, "/api/schemas", &schema).await.unwrap();
    assert_eq!(saved.status, 201, "{saved:?}");
    let body = json!({"schema": flow.name(), "input": input});
    let started = http::post(address, "/api/executions", &body).await.unwrap();
    assert_eq!(started.status, 201, "{started:?}");
    started.body["id"].as_str().unwrap().to_owned()
}

async fn until(address: std::net::SocketAddr, id: &str, status: &str) -> Value {
    let path = format!("/api/executions/{id}");
    loop {
        let shown = http::get(address, &path).await.unwrap().body;
        if shown["status"] == status {
            return shown;
        }
        assert!(shown["finished_at"].is_null(), "never {status}: {shown}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The one execution of the folder, read while nobody uses it.
fn stored(folder: &Path) -> Run {
    let mut runs = rows::runs(&Copy::of(&process::data(folder)));
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}
