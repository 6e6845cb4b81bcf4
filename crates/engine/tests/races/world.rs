//! A store, a queue, a clock that stands still, and the workers that a test starts and ends.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pawl_engine::control::{Control, StartRequest};
use pawl_engine::reaper::Reaper;
use pawl_engine::retention::Retention;
use pawl_engine::worker::{Handle, Worker};
use pawl_engine::{Options, Runtime};
use pawl_kernel::execution::{Execution, State, Status, Step, StepStatus};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::queue::Queue;
use pawl_kernel::ports::store::{ExecutionView, SaveMode, SaveSchema, Store};
use pawl_kernel::schema;
use pawl_kernel::time::Clock;
use pawl_sqlite::{EmbeddedQueue, SqliteStore};
use pawl_testkit::clock::SeededEntropy;
use pawl_testkit::fixture;
use pawl_testkit::model::ModelStore;
use pawl_testkit::model_queue::ModelQueue;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::clock::{Bell, ManualClock};
use crate::nodes::{self, Outside};
use crate::stage::Stage;

/// Longest a scene takes in real time; beyond it something waits for what never comes.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) outside: Arc<Outside>,
    pub(crate) bell: Bell,
    /// Where SQLite keeps its files.
    pub(crate) folder: Option<TempDir>,
    counter: AtomicU64,
}

pub(crate) async fn play(world: World, scene: impl AsyncFnOnce(&World)) {
    tokio::time::timeout(PATIENCE, scene(&world))
        .await
        .expect("the scene waits for something that never comes");
}

impl World {
    pub(crate) fn model() -> Self {
        let queue = Arc::new(ModelQueue::new());
        Self::on(Arc::new(ModelStore::new()), queue, None)
    }

    pub(crate) fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open(folder.path(), pawl_sqlite::Options::default()).unwrap();
        let queue = Arc::new(EmbeddedQueue::default());
        Self::on(Arc::new(store), queue, Some(folder))
    }

    fn on(store: Arc<dyn Store>, queue: Arc<dyn Queue>, folder: Option<TempDir>) -> Self {
        let bell = Bell::new();
        let clock = Arc::new(ManualClock::new(bell.clone()));
        Self {
            store,
            queue,
            outside: Outside::new(bell.clone(), clock.clone()),
            clock,
            bell,
            folder,
            counter: AtomicU64::new(1),
        }
    }

    /// A worker with default options, running.
    pub(crate) async fn worker(&self) -> Crew {
        self.worker_with(|_| {}).await
    }

    pub(crate) async fn worker_with(&self, change: impl FnOnce(&mut Options)) -> Crew {
        self.staff(change, true).await
    }

    /// A worker that does not know the node type `effect`.
    pub(crate) async fn worker_without_effect(&self) -> Crew {
        self.staff(|_| {}, false).await
    }

    /// Somebody who asks for things and runs none: starts go through the queue, stops give no hint.
    pub(crate) fn client(&self) -> Control {
        self.client_with(|_| {})
    }

    pub(crate) fn client_with(&self, change: impl FnOnce(&mut Options)) -> Control {
        let stage = Stage::new(self.store.clone(), self.bell.clone());
        Control::new(self.runtime(stage, change, true), None)
    }

    /// A reaper that does nothing until it is told to.
    pub(crate) fn reaper(&self) -> Reaper {
        let stage = Stage::new(self.store.clone(), self.bell.clone());
        Reaper::new(&self.runtime(stage, |_| {}, true))
    }

    /// A collector that does nothing until it is told to.
    pub(crate) fn collector(&self, keep: Option<Duration>) -> Retention {
        let stage = Stage::new(self.store.clone(), self.bell.clone());
        Retention::new(&self.runtime(stage, |options| options.retention = keep, true))
    }

    async fn staff(&self, change: impl FnOnce(&mut Options), with_effect: bool) -> Crew {
        let stage = Stage::new(self.store.clone(), self.bell.clone());
        let runtime = self.runtime(stage.clone(), change, with_effect);
        let worker = Worker::new(runtime.clone());
        let handle = worker.handle();
        let control = Control::new(runtime, Some(handle.clone()));
        let stop = CancellationToken::new();
        let (begun, has_begun) = oneshot::channel();
        let task = tokio::spawn(tell_begin(worker.run(stop.clone()), begun));
        has_begun.await.unwrap();
        Crew {
            control,
            stage,
            handle,
            stop,
            task,
        }
    }

    fn runtime(
        &self,
        stage: Arc<Stage>,
        change: impl FnOnce(&mut Options),
        with_effect: bool,
    ) -> Runtime {
        let number = self.next();
        let mut options = Options {
            worker_id: format!("worker-{number}"),
            slots: 8,
            ..Options::default()
        };
        change(&mut options);
        Runtime::new(
            stage,
            self.queue.clone(),
            self.clock.clone(),
            Arc::new(SeededEntropy::new(number)),
            Arc::new(nodes::registry(&self.outside, with_effect)),
            options,
        )
    }

    fn next(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::SeqCst)
    }

    /// Saves a schema under a name of its own.
    pub(crate) async fn save(&self, mut flow: Value) -> SchemaId {
        let number = self.next();
        flow["name"] = format!("flow-{number}").into();
        let save = self.saved(fixture::schema_id(number), &flow, SaveMode::Create);
        self.store.save_schema(save).await.unwrap().id
    }

    fn saved(&self, id: SchemaId, flow: &Value, mode: SaveMode) -> SaveSchema {
        let loaded = schema::load(
            None,
            &flow.to_string(),
            &nodes::registry(&self.outside, true),
        );
        let definition = loaded
            .definition
            .unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
        SaveSchema {
            id,
            name: definition.name.clone(),
            description: None,
            definition: schema::to_stored_json(&definition),
            hash: schema::content_hash(&definition),
            source: None,
            note: None,
            created_by: "test".into(),
            now: self.clock.now(),
            mode,
        }
    }

    /// The next version of a schema.
    pub(crate) async fn save_version(&self, id: SchemaId, mut flow: Value) {
        let record = self.store.schema(&id.to_string()).await.unwrap().unwrap();
        flow["name"] = record.name.into();
        let mode = SaveMode::Update {
            id,
            if_version: None,
            publish: true,
        };
        self.store
            .save_schema(self.saved(id, &flow, mode))
            .await
            .unwrap();
    }

    pub(crate) async fn start(&self, control: &Control, flow: Value) -> ExecutionId {
        self.start_with(control, flow, StartRequest::default())
            .await
    }

    pub(crate) async fn debug(&self, control: &Control, flow: Value) -> ExecutionId {
        let request = StartRequest {
            debug_mode: true,
            ..StartRequest::default()
        };
        self.start_with(control, flow, request).await
    }

    pub(crate) async fn start_with(
        &self,
        control: &Control,
        flow: Value,
        request: StartRequest,
    ) -> ExecutionId {
        let schema = self.save(flow).await;
        let request = StartRequest {
            created_by: "test".into(),
            ..request
        };
        let started = control.start_version(schema, 1, request).await.unwrap();
        started.id
    }

    pub(crate) async fn view(&self, id: ExecutionId) -> ExecutionView {
        self.store.execution(id).await.unwrap().unwrap()
    }

    pub(crate) async fn state(&self, id: ExecutionId) -> State {
        self.view(id).await.state
    }

    pub(crate) async fn steps(&self, id: ExecutionId) -> Vec<Step> {
        let rows = self.store.steps(id, 0, 10_000).await.unwrap();
        rows.into_iter().map(|(step, _)| step).collect()
    }

    /// The steps as one line: `start nap! effect`, where `!` is failed and `-` skipped.
    pub(crate) async fn path(&self, id: ExecutionId) -> String {
        let steps = self.steps(id).await;
        let first = self.view(id).await.execution.head.base_seq + 1;
        for (place, step) in steps.iter().enumerate() {
            assert_eq!(step.seq, first + place as u64, "seq has a gap or a double");
        }
        let mark = |status: StepStatus| match status {
            StepStatus::Success => "",
            StepStatus::Failed => "!",
            StepStatus::Skipped => "-",
        };
        let words: Vec<String> = steps
            .iter()
            .map(|step| format!("{}{}", step.node_id, mark(step.status)))
            .collect();
        words.join(" ")
    }

    pub(crate) async fn until(
        &self,
        id: ExecutionId,
        mut fits: impl FnMut(&ExecutionView) -> bool,
    ) -> ExecutionView {
        let look = async || Some(self.view(id).await).filter(|view| fits(view));
        self.bell.until(look).await
    }

    /// Waits for a status; a terminal one that is not meant fails at once.
    pub(crate) async fn until_status(&self, id: ExecutionId, status: Status) -> Execution {
        let view = self
            .until(id, |view| {
                let now = view.execution.head.status;
                assert!(
                    now == status || !now.is_terminal(),
                    "ended as {}: {:?}",
                    now.name(),
                    view.execution.record.error
                );
                now == status
            })
            .await;
        view.execution
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Lets time pass while nodes run: ten seconds at a time, each with its heartbeat.
    pub(crate) async fn pass_with_heartbeats(&self, crew: &Crew, times: usize) {
        for _ in 0..times {
            let before = crew.stage.beats().len();
            self.advance(10);
            self.bell
                .until(async || (crew.stage.beats().len() > before).then_some(()))
                .await;
        }
    }

    /// Whatever was due before now has been fired: another sleeper, due at this moment, is through.
    pub(crate) async fn until_timers_fired(&self, control: &Control) {
        let flow = chain(&[json!({"id": "nap", "type": "nap", "config": {"seconds": 0.001}})]);
        let id = self.start(control, flow).await;
        self.until_status(id, Status::Sleeping).await;
        self.clock.advance(Duration::from_millis(1));
        self.until_status(id, Status::Completed).await;
    }

    /// The worker takes part in life: a new execution runs to its end.
    pub(crate) async fn assert_alive(&self, control: &Control) {
        let id = self.start(control, chain(&[])).await;
        self.until_status(id, Status::Completed).await;
    }
}

/// Tells when the future has been polled once: by then every service of a worker has looked at the clock, so
/// that moving it wakes them.
async fn tell_begin(run: impl Future<Output = ()>, begun: oneshot::Sender<()>) {
    let mut run = pin!(run);
    let mut begun = Some(begun);
    poll_fn(|context| {
        let polled = run.as_mut().poll(context);
        if let Some(begun) = begun.take() {
            let _ = begun.send(());
        }
        polled
    })
    .await;
}

/// A running worker and what goes with it.
pub(crate) struct Crew {
    pub(crate) control: Control,
    pub(crate) stage: Arc<Stage>,
    pub(crate) handle: Handle,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Crew {
    /// Dies where it stands, like a process that is killed.
    pub(crate) async fn crash(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    pub(crate) fn begin_shutdown(&self) {
        self.stop.cancel();
    }

    pub(crate) async fn shut_down(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

/// `start`, these nodes one after the other, `finish`.
pub(crate) fn chain(nodes: &[Value]) -> Value {
    chain_with(nodes, &[])
}

/// A chain with more edges, written `source:handle target`.
pub(crate) fn chain_with(nodes: &[Value], more: &[&str]) -> Value {
    let mut all = vec![json!({"id": "start", "type": "start"})];
    all.extend_from_slice(nodes);
    all.push(json!({"id": "finish", "type": "finish"}));
    let linked = |pair: &[Value]| json!({"source": pair[0]["id"], "target": pair[1]["id"]});
    let mut edges: Vec<Value> = all.windows(2).map(linked).collect();
    edges.extend(more.iter().map(|text| edge(text)));
    json!({"nodes": all, "edges": edges})
}

fn edge(text: &str) -> Value {
    let (from, target) = text.split_once(' ').unwrap();
    let (source, handle) = from.split_once(':').unwrap_or((from, "success"));
    json!({"source": source, "target": target, "sourceHandle": handle})
}

pub(crate) fn effect(id: &str, config: Value) -> Value {
    json!({"id": id, "type": "effect", "config": config})
}

/// An effect that waits at the gate of its own name.
pub(crate) fn gated(id: &str) -> Value {
    effect(id, json!({"gate": id}))
}

pub(crate) fn nap(seconds: u64) -> Value {
    json!({"id": "nap", "type": "nap", "config": {"seconds": seconds}})
}

pub(crate) fn event(id: &str, name: &str) -> Value {
    json!({"id": id, "type": "event", "config": {"name": name}})
}

/// A node with more fields: `timeout`, `retry`, `on_error`, …
pub(crate) fn with(mut node: Value, fields: Value) -> Value {
    let (Value::Object(node_fields), Value::Object(fields)) = (&mut node, fields) else {
        panic!("a node is an object");
    };
    node_fields.extend(fields);
    node
}

/// `{"settings": …}` on a flow.
pub(crate) fn settings(flow: Value, settings: Value) -> Value {
    with(flow, json!({"settings": settings}))
}

pub(crate) fn parsed(text: &Option<String>) -> Value {
    text.as_deref()
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

pub(crate) fn code(error: &Option<String>) -> String {
    parsed(error)["code"].as_str().unwrap_or("none").to_owned()
}

pub(crate) fn variables(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => panic!("variables are an object"),
    }
}
