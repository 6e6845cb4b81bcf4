//! A whole engine with its API on a free port, and the schemas the tests run.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use pawl::api::{self, ApiState, Limits};
use pawl::config::{Config, UiSection};
use pawl::wiring::EmbeddedEngine;
use pawl_kernel::ports::store::Store;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::{self, Answer, Events, Request};

/// What `PAWL_ADMIN_KEY` would hold.
pub(crate) const ADMIN_KEY: &str = "the-admin-key-of-the-tests";

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    /// Sent with every request that brings no key of its own.
    key: Option<&'static str>,
    engine: EmbeddedEngine,
    server: JoinHandle<std::io::Result<()>>,
    folder: TempDir,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        Self::launch(limits, None).await
    }

    /// One that lets nobody in without a key; the tests themselves come with [`ADMIN_KEY`].
    pub(crate) async fn locked() -> Self {
        Self::launch(Limits::default(), Some(ADMIN_KEY)).await
    }

    async fn launch(limits: Limits, key: Option<&'static str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = EmbeddedEngine::start(folder.path(), &Config::default())
            .await
            .unwrap();
        Self::on(folder, engine, limits, key, &UiSection::default()).await
    }

    /// One that asks for a key, and whose `pawl.toml` says this about how browsers reach it.
    pub(crate) async fn presented(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), settings);
        let engine = EmbeddedEngine::start(folder.path(), &config).await.unwrap();
        let limits = Limits::default();
        Self::on(folder, engine, limits, Some(ADMIN_KEY), &config.ui).await
    }

    /// One that knows these secrets, and asks for a key.
    pub(crate) async fn with_secrets(secrets: &[(&str, &str)]) -> Self {
        Self::with_bound_secrets(secrets, "").await
    }

    /// The same; the text is what pawl.toml says of them.
    pub(crate) async fn with_bound_secrets(secrets: &[(&str, &str)], settings: &str) -> Self {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let secrets = secrets.iter().map(pair).collect();
        Self::with_setup(settings, |options| options.secrets = secrets).await
    }

    /// One whose engine is set up otherwise, and asks for a key.
    pub(crate) async fn with_options(change: impl FnOnce(&mut pawl_engine::Options)) -> Self {
        Self::with_setup("", change).await
    }

    async fn with_setup(settings: &str, change: impl FnOnce(&mut pawl_engine::Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), settings);
        let mut options = config.engine_options();
        options.exclusive = true;
        change(&mut options);
        let registry = pawl::wiring::registry(&config, true).unwrap();
        let engine = EmbeddedEngine::start_with(folder.path(), registry.into(), options)
            .await
            .unwrap();
        let limits = Limits::default();
        Self::on(folder, engine, limits, Some(ADMIN_KEY), &config.ui).await
    }

    async fn on(
        folder: TempDir,
        engine: EmbeddedEngine,
        limits: Limits,
        key: Option<&'static str>,
        ui: &UiSection,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let control = engine.control.clone();
        let state = match key {
            Some(_) => ApiState::with_keys(control, limits, key).unwrap(),
            None => ApiState::new(control, limits),
        };
        let state = state.presenting(ui);
        let server = tokio::spawn(api::serve(listener, state, stop.clone()));
        Self {
            address,
            stop,
            key,
            engine,
            server,
            folder,
        }
    }

    /// Stops the server, which must not take longer than its grace time, then the engine. What is left is its folder.
    pub(crate) async fn close(self) -> TempDir {
        self.stop.cancel();
        let limit = Limits::default().grace + Duration::from_secs(5);
        tokio::time::timeout(limit, self.server)
            .await
            .expect("the server hangs")
            .unwrap()
            .unwrap();
        self.engine.shutdown().await;
        self.folder
    }

    pub(crate) async fn send(&self, request: Request) -> Answer {
        client::send(self.address, self.with_own_key(request)).await
    }

    /// Without the key of the tests.
    pub(crate) async fn send_as(&self, key: &str, request: Request) -> Answer {
        let request = match key {
            "" => request,
            key => request.header("Authorization", &format!("Bearer {key}")),
        };
        client::send(self.address, request).await
    }

    fn with_own_key(&self, request: Request) -> Request {
        let given = request
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        match self.key.filter(|_| !given) {
            Some(key) => request.header("Authorization", &format!("Bearer {key}")),
            None => request,
        }
    }

    /// What is behind it, for what no request can do.
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.engine.control.runtime().store
    }

    pub(crate) fn runtime(&self) -> &pawl_engine::Runtime {
        self.engine.control.runtime()
    }

    /// A new key with this role: its whole text and its id.
    pub(crate) async fn key(&self, name: &str, role: &str) -> (String, String) {
        let made = self
            .post("/api/keys", json!({"name": name, "role": role}))
            .await
            .expect(201);
        let text = |field: &str| made[field].as_str().unwrap().to_owned();
        (text("key"), text("id"))
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
        let request = self.with_own_key(request(Request::new("GET", &path)));
        Events::open(self.address, request).await
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

/// Reads these settings as `pawl.toml` is read.
pub(crate) fn config(folder: &Path, settings: &str) -> Config {
    let file = folder.join("settings.toml");
    std::fs::write(&file, settings).unwrap();
    Config::load(Some(&file)).unwrap()
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
