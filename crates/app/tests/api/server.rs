//! A whole engine with its API on a free port, and the schemas the tests run.

use std::net::SocketAddr;
use std::time::Duration;

use pawl::api::{self, ApiState, Limits};
use pawl::config::Config;
use pawl::wiring::Embedded;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::{self, Answer, Events, Request};

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    engine: Embedded,
    server: JoinHandle<std::io::Result<()>>,
    _folder: TempDir,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Embedded::start(folder.path(), &Config::default())
            .await
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let state = ApiState::new(engine.control.clone(), limits);
        let server = tokio::spawn(api::serve(listener, state, stop.clone()));
        Self {
            address,
            stop,
            engine,
            server,
            _folder: folder,
        }
    }

    /// Stops the server, which must not take longer than its grace time, then the engine.
    pub(crate) async fn close(self) {
        self.stop.cancel();
        let limit = Limits::default().grace + Duration::from_secs(5);
        tokio::time::timeout(limit, self.server)
            .await
            .expect("the server hangs")
            .unwrap()
            .unwrap();
        self.engine.shutdown().await;
    }

    pub(crate) async fn send(&self, request: Request) -> Answer {
        client::send(self.address, request).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::new("GET", path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Request::new("POST", path).json(&body)).await
    }

    /// A POST without a body.
    pub(crate) async fn command(&self, path: &str) -> Answer {
        self.send(Request::new("POST", path)).await
    }

    pub(crate) async fn events(
        &self,
        id: &str,
        request: impl FnOnce(Request) -> Request,
    ) -> Events {
        let path = format!("/api/executions/{id}/events");
        Events::open(self.address, request(Request::new("GET", &path))).await
    }

    pub(crate) async fn save(&self, schema: Value) -> Value {
        self.post("/api/schemas", schema).await.expect(201)
    }

    /// Starts and returns the execution.
    pub(crate) async fn run(&self, body: Value) -> Value {
        self.post("/api/executions", body).await.expect(201)
    }

    pub(crate) async fn run_to_end(&self, body: Value) -> Value {
        self.post("/api/executions?wait=30s", body)
            .await
            .expect(201)
    }

    /// Watches an execution until it has this status.
    pub(crate) async fn until(&self, id: &str, status: &str) -> Value {
        let mut events = self.events(id, |request| request).await;
        while let Some(event) = events.next().await {
            if event.name != "step" && event.data["status"] == status {
                return event.data;
            }
        }
        panic!("{id} never was {status}");
    }
}

pub(crate) fn id(execution: &Value) -> &str {
    execution["id"].as_str().unwrap()
}

/// start → set `total` → log → end.
pub(crate) fn linear(name: &str) -> Value {
    json!({
        "name": name,
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "set_1", "type": "variable_set", "config": {"variable": "total", "value": "{{input.n ?? 1}}"}},
            {"id": "log_1", "type": "log", "config": {"message": "total is {{variables.total}}"}},
            {"id": "end_1", "type": "end", "config": {"output": "{{variables.total}}"}},
        ],
        "edges": [
            {"source": "start_1", "target": "set_1"},
            {"source": "set_1", "target": "log_1"},
            {"source": "log_1", "target": "end_1"},
        ],
    })
}

/// start → wait for `go` → end with its payload.
pub(crate) fn waiting(name: &str) -> Value {
    json!({
        "name": name,
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "wait_1", "type": "wait_event", "config": {"name": "go", "timeout": "1h"}},
            {"id": "end_1", "type": "end", "config": {"output": "{{steps.wait_1.output}}"}},
        ],
        "edges": [
            {"source": "start_1", "target": "wait_1"},
            {"source": "wait_1", "target": "end_1"},
        ],
    })
}

/// Fails unless `input.ok`.
pub(crate) fn fragile(name: &str) -> Value {
    json!({
        "name": name,
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "check_1", "type": "condition", "config": {"expression": "{{variables.ok}} == true"}},
            {"id": "fail_1", "type": "fail", "config": {"code": "BROKEN", "message": "not today"}},
            {"id": "end_1", "type": "end"},
        ],
        "edges": [
            {"source": "start_1", "target": "check_1"},
            {"source": "check_1", "target": "end_1", "sourceHandle": "true"},
            {"source": "check_1", "target": "fail_1", "sourceHandle": "false"},
        ],
    })
}
