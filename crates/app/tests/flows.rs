//! Golden flows: each schema in `tests/flows` runs on every store and in three dispatch modes, and all nine runs
//! must leave the trace that its `.trace` file holds. `UPDATE_EXPECT=1 cargo test -p pawl --test flows` rewrites
//! the files; read the difference before committing it.
//!
//! A comment line `# input: {…}` gives the input, `# signals: [{"name", "payload"}, …]` what is sent right after
//! the start. `{{env.ECHO_URL}}` is the echo service on loopback.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pawl::config::Config;
use pawl::echo::Echo;
use pawl::system::{SystemClock, SystemEntropy};
use pawl::wiring::{self, Cluster, EmbeddedEngine, Membership};
use pawl_engine::control::{Control, StartOutcome, StartRequest};
use pawl_engine::worker::{Roles, Worker};
use pawl_engine::{Options, Runtime};
use pawl_kernel::execution::Step;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::node::Registry;
use pawl_kernel::ports::store::{ExecutionView, SaveMode, SaveSchema};
use pawl_kernel::schema;
use pawl_kernel::time::Timestamp;
use pawl_sql::{Connections, Settings};
use pawl_testkit::model::ModelStore;
use pawl_testkit::model_queue::ModelQueue;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use xtask::services::{fresh_database, fresh_vhost};

/// Nodes per message: strictly one, a few, and the default.
const MODES: [u32; 3] = [1, 3, 64];

struct Flow {
    path: PathBuf,
    text: String,
}

struct Scene {
    /// Of the database that flows work on.
    #[allow(dead_code)]
    folder: TempDir,
    registry: Arc<Registry>,
    options: Options,
    echo: Echo,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_flow_leaves_its_trace() {
    let scene = Scene::new().await;
    let flows = flows();
    let mut traces: Vec<Vec<(String, String)>> = flows.iter().map(|_| Vec::new()).collect();
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = scene.sqlite(folder.path()).await;
        let (model, stop) = scene.model();
        for (number, flow) in flows.iter().enumerate() {
            for (store, control) in [("sqlite", &sqlite.control), ("model", &model)] {
                let trace = scene.run(control, flow, number, mode).await;
                traces[number].push((format!("{store}, {mode} nodes per message"), trace));
            }
        }
        stop.cancel();
        sqlite.shutdown().await;
    }
    for (flow, traces) in flows.iter().zip(&traces) {
        check(flow, traces);
    }
}

/// PostgreSQL and RabbitMQ: two workers, and a desk without one, so that everything goes through the broker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_flow_leaves_its_trace_in_a_cluster() {
    let scene = Scene::new().await;
    let services = || {
        (
            fresh_database("flows").unwrap(),
            fresh_vhost("flows").unwrap(),
        )
    };
    let services = tokio::task::spawn_blocking(services).await.unwrap();
    let desk = scene.join(&services, "desk", Roles::NONE).await;
    let workers = [
        scene.join(&services, "one", Roles::ALL).await,
        scene.join(&services, "two", Roles::ALL).await,
    ];
    let flows = flows();
    for mode in MODES {
        let runs = flows.iter().enumerate();
        let runs = runs.map(|(number, flow)| scene.run(&desk.control, flow, number, mode));
        let traces = join_all(runs).await;
        for (flow, trace) in flows.iter().zip(traces) {
            check(
                flow,
                &[(format!("cluster, {mode} nodes per message"), trace)],
            );
        }
    }
    for member in workers.into_iter().chain([desk]) {
        member.shutdown().await;
    }
}

#[tokio::test]
async fn every_node_type_has_a_flow_and_every_trace_too() {
    let scene = Scene::new().await;
    let names: BTreeSet<String> = flows().iter().map(Flow::name).collect();
    for node_type in scene.registry.types() {
        assert!(names.contains(node_type), "tests/flows/{node_type}.yaml");
    }
    for path in files("trace") {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(names.contains(&name), "{} has no flow", path.display());
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/flows")
}

fn files(ending: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    paths.sort();
    paths
}

fn flows() -> Vec<Flow> {
    let read = |path: PathBuf| Flow {
        text: std::fs::read_to_string(&path).unwrap(),
        path,
    };
    files("yaml").into_iter().map(read).collect()
}

impl Flow {
    fn name(&self) -> String {
        self.path
            .file_stem()
            .unwrap()
            .to_string_lossy()
            .into_owned()
    }

    /// The JSON after `# key:` in the comments above the schema.
    fn given(&self, key: &str) -> Option<Value> {
        let mark = format!("# {key}:");
        let line = self
            .text
            .lines()
            .find_map(|line| line.strip_prefix(&mark))?;
        Some(serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
    }
}

/// All runs agree, and they agree with the file.
fn check(flow: &Flow, traces: &[(String, String)]) {
    let (_, first) = &traces[0];
    for (run, trace) in traces {
        assert_eq!(trace, first, "{} differs on {run}", flow.name());
    }
    let file = flow.path.with_extension("trace");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, first).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        *first,
        expected,
        "{} (UPDATE_EXPECT=1 rewrites)",
        file.display()
    );
}

/// With a database for `sql`, and with the real program for `code`.
async fn config(folder: &Path) -> Config {
    let shop = format!("sqlite:{}", folder.join("shop.db").display());
    let text = format!("[connections.shop]\nurl = {shop:?}");
    let mut config: Config = toml::from_str(&text).unwrap();
    config.code.program = Some(env!("CARGO_BIN_EXE_pawl").into());
    let settings = [("shop".to_owned(), Settings::new(shop))];
    let shop = Connections::new(settings).unwrap();
    shop.prepare("shop").await.unwrap();
    config
}

impl Scene {
    async fn new() -> Self {
        let echo = Echo::start(0).await.unwrap();
        let env = [(pawl::echo::VARIABLE.to_owned(), json!(echo.url()))];
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path()).await;
        Self {
            folder,
            registry: Arc::new(wiring::registry(&config, true).unwrap()),
            options: Options {
                exclusive: true,
                env: env.into_iter().collect(),
                ..Options::default()
            },
            echo,
        }
    }

    async fn sqlite(&self, folder: &Path) -> EmbeddedEngine {
        EmbeddedEngine::start_with(folder, self.registry.clone(), self.options.clone())
            .await
            .unwrap()
    }

    async fn join(&self, services: &(String, String), name: &str, roles: Roles) -> Cluster {
        let member = Membership {
            database_url: services.0.clone(),
            broker_url: services.1.clone(),
            roles,
            slots: None,
        };
        let options = Options {
            exclusive: false,
            worker_id: name.into(),
            slots: 16,
            ..self.options.clone()
        };
        let config = Config::default();
        let joining = Cluster::join_with(&member, &config, self.registry.clone(), options);
        Box::pin(joining).await.unwrap()
    }

    fn model(&self) -> (Control, CancellationToken) {
        let runtime = Runtime::new(
            Arc::new(ModelStore::new()),
            Arc::new(ModelQueue::new()),
            Arc::new(SystemClock),
            Arc::new(SystemEntropy),
            self.registry.clone(),
            self.options.clone(),
        );
        let worker = Worker::new(runtime.clone());
        let control = Control::new(runtime, Some(worker.handle()));
        let stop = CancellationToken::new();
        tokio::spawn(worker.run(stop.clone()));
        (control, stop)
    }

    async fn run(&self, control: &Control, flow: &Flow, number: usize, mode: u32) -> String {
        let id = SchemaId(uuid::Uuid::from_u128(
            number as u128 + 1 + u128::from(mode) * 1_000,
        ));
        self.save(control, flow, id, mode).await;
        let request = StartRequest {
            input: flow.given("input"),
            user: Some(pawl_kernel::user::developer()),
            created_by: "flows".into(),
            watch: true,
            ..StartRequest::default()
        };
        let started = control.start_version(id, 1, request).await.unwrap();
        let signals = flow.given("signals").unwrap_or_else(|| json!([]));
        for (number, signal) in signals.as_array().unwrap().iter().enumerate() {
            let name = signal["name"].as_str().unwrap().to_owned();
            let signal_id = format!("signal-{}", number + 1);
            control
                .signal(started.id, name, &signal["payload"], Some(signal_id))
                .await
                .unwrap();
        }
        let view = until_ended(control, started).await;
        let mask = Mask {
            id: view.execution.head.id,
            echo: self.echo.url().trim_start_matches("http://"),
        };
        trace(control, &view, &mask).await
    }

    async fn save(&self, control: &Control, flow: &Flow, id: SchemaId, mode: u32) {
        let loaded = schema::load(None, &flow.text, &self.registry);
        let problems = || schema::render_diagnostics(&flow.text, &loaded.diagnostics, false);
        let Some(mut definition) = loaded.definition.clone() else {
            panic!("{}: {}", flow.name(), problems());
        };
        definition.settings.max_nodes_per_message = mode;
        definition.name = format!("{}-{mode}", definition.name);
        let save = SaveSchema {
            id,
            name: definition.name.clone(),
            description: None,
            definition: schema::to_stored_json(&definition),
            hash: schema::content_hash(&definition),
            source: None,
            note: None,
            created_by: "flows".into(),
            now: Timestamp::default(),
            mode: SaveMode::Create,
        };
        control.runtime().store.save_schema(save).await.unwrap();
    }
}

async fn until_ended(control: &Control, started: StartOutcome) -> ExecutionView {
    let mut watcher = started.watcher.unwrap();
    loop {
        let view = control.view(started.id).await.unwrap();
        if view.execution.head.status.is_terminal() {
            return view;
        }
        // A hint from another process may be lost.
        let _ = tokio::time::timeout(Duration::from_secs(1), watcher.changed()).await;
    }
}

/// Fields whose value depends on the time, on the length of a port's number or on the program's version.
const MASKED: [(&str, &str); 5] = [
    ("date", "TIME"),
    ("received_at", "TIME"),
    ("slept_until", "TIME"),
    ("content-length", "LENGTH"),
    ("user-agent", "PAWL"),
];

/// Hides what differs from run to run.
struct Mask<'a> {
    id: ExecutionId,
    echo: &'a str,
}

impl Mask<'_> {
    fn json(&self, text: &str) -> String {
        let mut value: Value = serde_json::from_str(text).unwrap();
        self.value(&mut value);
        value.to_string()
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.value(field));
                for (name, shown) in MASKED {
                    if let Some(field) = fields.get_mut(name) {
                        *field = json!(shown);
                    }
                }
            }
            _ => {}
        }
    }

    fn text(&self, text: &str) -> String {
        text.replace(&self.id.to_string(), "ID")
            .replace(self.echo, "ECHO")
    }
}

async fn trace(control: &Control, view: &ExecutionView, mask: &Mask<'_>) -> String {
    let store = &control.runtime().store;
    let (execution, id) = (&view.execution, view.execution.head.id);
    let mut text = format!("{}\n", execution.head.status.name());
    field(&mut text, mask, "output", &execution.record.output);
    field(&mut text, mask, "error", &execution.record.error);
    for (place, (step, _)) in store.steps(id, 0, 1_000).await.unwrap().iter().enumerate() {
        assert_eq!(step.seq, place as u64 + 1);
        describe(&mut text, mask, step);
    }
    for (_, line) in store.logs(id, 0, 1_000).await.unwrap() {
        let message = mask.text(&line.message);
        writeln!(
            text,
            "log {} {} {}: {message}",
            line.seq, line.node_id, line.level
        )
        .unwrap();
    }
    text
}

fn describe(text: &mut String, mask: &Mask<'_>, step: &Step) {
    let next = step.next_node_id.as_deref().unwrap_or("nothing");
    let (seq, status) = (step.seq, step.status.name());
    writeln!(
        text,
        "{seq} {} ({}) {status} -> {next}",
        step.node_id, step.node_type
    )
    .unwrap();
    field(text, mask, "output", &step.output);
    field(text, mask, "changes", &step.changes);
    field(text, mask, "error", &step.error);
    if let Some(attempts) = &step.attempts {
        let attempts: Value = serde_json::from_str(attempts).unwrap();
        let code = |attempt: &Value| attempt["error"]["code"].as_str().unwrap_or("ok").to_owned();
        let codes: Vec<String> = attempts.as_array().unwrap().iter().map(code).collect();
        writeln!(text, "    attempts: {}", codes.join(", ")).unwrap();
    }
}

fn field(text: &mut String, mask: &Mask<'_>, name: &str, value: &Option<String>) {
    if let Some(value) = value {
        writeln!(text, "    {name}: {}", mask.json(value)).unwrap();
    }
}
