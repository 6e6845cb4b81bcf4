//! Three schedulers, three workers and impatient people on one store, in real time and on real threads. Afterwards the
//! nodes tell how many executions were under way at each instant.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pawl_engine::admission::Admission;
use pawl_engine::control::{Control, StartRequest};
use pawl_engine::insight::doctor;
use pawl_engine::worker::Worker;
use pawl_engine::{Options, Runtime};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome, Registry};
use pawl_kernel::ports::quotas::SetQuota;
use pawl_kernel::ports::store::{SaveMode, SaveSchema, Store};
use pawl_kernel::quota::QuotaSource;
use pawl_kernel::schema;
use pawl_kernel::time::{Clock, Timestamp};
use pawl_sqlite::{EmbeddedQueue, SqliteStore};
use pawl_testkit::clock::SeededEntropy;
use pawl_testkit::model::ModelStore;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

struct RealClock;

#[async_trait]
impl Clock for RealClock {
    #[allow(clippy::disallowed_methods)] // Real threads race in real time here.
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp::from_micros(since.as_micros() as i64)
    }

    async fn sleep_until(&self, until: Timestamp) {
        tokio::time::sleep(until.since(self.now())).await;
    }
}

struct Plain {
    spec: &'static NodeSpec,
    takes: Duration,
    ends: bool,
}

#[async_trait]
impl NodeHandler for Plain {
    fn spec(&self) -> &'static NodeSpec {
        self.spec
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        if !self.takes.is_zero() {
            let _seen = Seen::begin(call.execution_id);
            tokio::time::sleep(self.takes).await;
        }
        Ok(match self.ends {
            true => Outcome::End {
                success: true,
                output: Value::Null,
                message: None,
            },
            false => Outcome::done(json!({})),
        })
    }
}

/// From the beginning of the first effect of an execution to the end of its last. The times in steps will not do: a
/// worker may note the time, lose the processor, and ask to be admitted only then.
static SEEN: Mutex<BTreeMap<String, (Instant, Instant)>> = Mutex::new(BTreeMap::new());

struct Seen(String);

impl Seen {
    fn begin(id: &str) -> Self {
        let now = Instant::now();
        let mut seen = SEEN.lock().unwrap();
        seen.entry(id.to_owned()).or_insert((now, now));
        Self(id.to_owned())
    }
}

impl Drop for Seen {
    /// Also where a stop has cut it off.
    fn drop(&mut self) {
        if let Some((_, last)) = SEEN.lock().unwrap().get_mut(&self.0) {
            *last = Instant::now();
        }
    }
}

const fn spec(node_type: &'static str, pure: bool) -> NodeSpec {
    NodeSpec {
        node_type,
        title: node_type,
        category: "test",
        doc: "A node.",
        pure,
        handles: &[],
        fields: &[],
        output: "nothing",
        example: "",
    }
}

static START: NodeSpec = spec("start", true);
static WORK: NodeSpec = spec("work", false);
static FINISH: NodeSpec = spec("finish", true);

fn registry() -> Registry {
    let node = |spec, takes, ends| -> Arc<dyn NodeHandler> {
        let takes = Duration::from_millis(takes);
        Arc::new(Plain { spec, takes, ends })
    };
    Registry::new(vec![
        node(&START, 0, false),
        node(&WORK, 2, false),
        node(&FINISH, 0, true),
    ])
}

fn runtime(store: &Arc<dyn Store>, queue: &Arc<EmbeddedQueue>, number: u64) -> Runtime {
    Runtime::new(
        store.clone(),
        queue.clone(),
        Arc::new(RealClock),
        Arc::new(SeededEntropy::new(number)),
        Arc::new(registry()),
        Options {
            worker_id: format!("worker-{number}"),
            slots: 8,
            ..Options::default()
        },
    )
}

async fn save(store: &Arc<dyn Store>, number: u128, settings: Value) -> SchemaId {
    let flow = json!({
        "name": format!("flow-{number}"),
        "settings": settings,
        "nodes": [
            {"id": "start", "type": "start"},
            {"id": "first", "type": "work"},
            {"id": "second", "type": "work"},
            {"id": "end", "type": "finish"},
        ],
        "edges": [
            {"source": "start", "target": "first"},
            {"source": "first", "target": "second"},
            {"source": "second", "target": "end"},
        ],
    });
    let loaded = schema::load(None, &flow.to_string(), &registry());
    let definition = loaded
        .definition
        .unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
    let id = SchemaId(uuid::Uuid::from_u128(number));
    let save = SaveSchema {
        id,
        name: definition.name.clone(),
        description: None,
        definition: schema::to_stored_json(&definition),
        hash: schema::content_hash(&definition),
        source: None,
        note: None,
        created_by: "test".into(),
        now: RealClock.now(),
        mode: SaveMode::Create,
    };
    store.save_schema(save).await.unwrap();
    id
}

/// What an execution counts against, by the test's own reckoning, with the limits.
type Limits = Vec<(String, usize)>;

const EACH: usize = 200;

/// Starts its share of the executions, and stops some of them at once.
async fn client(
    control: Control,
    schemas: [SchemaId; 2],
    number: usize,
) -> Vec<(ExecutionId, Limits)> {
    let mut started = Vec::new();
    for n in 0..EACH {
        let (customer, tenant) = (n % 5, if n % 3 == 0 { "acme" } else { "other" });
        let which = (n + number) % 2;
        let request = StartRequest {
            input: Some(json!({"customer": customer})),
            tenant: Some(tenant.into()),
            created_by: "test".into(),
            ..StartRequest::default()
        };
        let start = control
            .start_version(schemas[which], 1, request)
            .await
            .unwrap();
        if n % 10 == 9 {
            let _ = control.stop(start.id).await;
        }
        let mut limits = match which {
            0 => vec![("flow-1".to_owned(), 3)],
            _ => vec![(format!("flow-2/{customer}"), 1)],
        };
        limits.extend((tenant == "acme").then(|| ("acme".to_owned(), 2)));
        started.push((start.id, limits));
    }
    started
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_schedulers_never_exceed_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), pawl_sqlite::Options::default()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let queue = Arc::new(EmbeddedQueue::default());
    let schemas = [
        save(&store, 1, json!({"concurrency": {"limit": 3}})).await,
        save(
            &store,
            2,
            json!({"concurrency": {"limit": 1, "key": "{{input.customer}}"}}),
        )
        .await,
    ];
    let stop = CancellationToken::new();
    let mut controls = Vec::new();
    let mut workers = Vec::new();
    for number in 1..=3 {
        let worker = Worker::new(runtime(&store, &queue, number));
        controls.push(Control::new(
            runtime(&store, &queue, 10 + number),
            Some(worker.handle()),
        ));
        workers.push(tokio::spawn(worker.run(stop.clone())));
    }
    let set = SetQuota {
        name: "tenant:acme".parse().unwrap(),
        limit: 2,
        rate: None,
        source: QuotaSource::Api,
    };
    controls[0].set_quota(set).await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let hammers: Vec<_> = (1..=3)
        .map(|number| tokio::spawn(hammer(runtime(&store, &queue, 20 + number), done.clone())))
        .collect();
    let clients: Vec<_> = controls
        .into_iter()
        .enumerate()
        .map(|(number, control)| tokio::spawn(client(control, schemas, number)))
        .collect();
    let mut started = Vec::new();
    for client in clients {
        started.extend(client.await.unwrap());
    }
    assert_eq!(started.len(), 3 * EACH);
    tokio::time::timeout(Duration::from_secs(120), all_ended(&store, &started))
        .await
        .expect("everything comes through");
    done.store(true, Ordering::SeqCst);
    for hammer in hammers {
        assert!(hammer.await.unwrap() > 0, "a scheduler never looked");
    }
    stop.cancel();
    for worker in workers {
        worker.await.unwrap();
    }
    judge(&store, &started).await;
}

/// A scheduler that never waits to be told.
async fn hammer(runtime: Runtime, done: Arc<AtomicBool>) -> u64 {
    let admission = Admission::new(&runtime);
    let mut looks = 0;
    while !done.load(Ordering::SeqCst) {
        admission.admit().await.unwrap();
        looks += 1;
        tokio::task::yield_now().await;
    }
    looks
}

async fn all_ended(store: &Arc<dyn Store>, started: &[(ExecutionId, Limits)]) {
    for (id, _) in started {
        loop {
            let view = store.execution(*id).await.unwrap().unwrap();
            if view.execution.head.status.is_terminal() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn judge(store: &Arc<dyn Store>, started: &[(ExecutionId, Limits)]) {
    // Ends before starts at the same moment: the end was on disk before the next one was admitted.
    let mut edges: BTreeMap<String, Vec<(Instant, i32)>> = BTreeMap::new();
    let mut limits: BTreeMap<String, usize> = BTreeMap::new();
    let seen = SEEN.lock().unwrap().clone();
    for (id, counted) in started {
        let Some((first, last)) = seen.get(&id.to_string()) else {
            continue;
        };
        for (quota, limit) in counted {
            limits.insert(quota.clone(), *limit);
            let edges = edges.entry(quota.clone()).or_default();
            edges.extend([(*first, 1), (*last, -1)]);
        }
    }
    assert_eq!(limits.len(), 7);
    for (quota, mut edges) in edges {
        edges.sort_by_key(|(at, step)| (*at, *step));
        let (mut now, mut most) = (0, 0);
        for (_, step) in edges {
            now += step;
            most = most.max(now);
        }
        let limit = limits[&quota];
        assert!(
            most as usize <= limit,
            "{quota}: {most} at once, {limit} allowed"
        );
        let vacuous = quota != "acme" && (most as usize) < limit;
        assert!(
            !vacuous,
            "{quota}: never more than {most} at once, {limit} allowed"
        );
    }
    let now = RealClock.now();
    assert_eq!(store.recount(false, now).await.unwrap(), []);
    let left = store.quotas(false, None, 100).await.unwrap();
    let left: Vec<_> = left
        .iter()
        .map(|quota| (quota.name.as_str(), quota.used))
        .collect();
    assert_eq!(left, [("tenant:acme", 0)]);
}

/// Three executions of `acme`, and a quota whose process died before it had counted any of them.
async fn half_set(store: &Arc<dyn Store>, source: QuotaSource) -> (Runtime, Control, SetQuota) {
    let runtime = runtime(store, &Arc::new(EmbeddedQueue::default()), 1);
    let control = Control::new(runtime.clone(), None);
    let schema = save(store, 1, json!({})).await;
    for _ in 0..3 {
        let request = StartRequest {
            tenant: Some("acme".into()),
            created_by: "test".into(),
            ..StartRequest::default()
        };
        control.start_version(schema, 1, request).await.unwrap();
    }
    let set = SetQuota {
        name: "tenant:acme".parse().unwrap(),
        limit: 2,
        rate: None,
        source,
    };
    let now = RealClock.now();
    assert_eq!(store.set_quota(set.clone(), now).await.unwrap().used, 0);
    (runtime, control, set)
}

async fn on_both(test: impl AsyncFn(Arc<dyn Store>)) {
    test(Arc::new(ModelStore::default())).await;
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), pawl_sqlite::Options::default()).unwrap();
    test(Arc::new(store)).await;
}

async fn used(store: &Arc<dyn Store>) -> u64 {
    let quota = store.quota("tenant:acme".parse().unwrap()).await.unwrap();
    quota.unwrap().used
}

#[tokio::test]
async fn a_quota_set_again_counts_whom_the_first_try_left_out() {
    on_both(async |store| {
        let (_, control, set) = half_set(&store, QuotaSource::Api).await;
        assert_eq!(control.set_quota(set).await.unwrap().used, 3);
    })
    .await;
}

#[tokio::test]
async fn a_start_with_the_same_configuration_counts_whom_the_last_one_left_out() {
    on_both(async |store| {
        let (_, control, set) = half_set(&store, QuotaSource::Config).await;
        control.configure_quotas(vec![set]).await.unwrap();
        assert_eq!(used(&store).await, 3);
    })
    .await;
}

#[tokio::test]
async fn the_doctor_sees_who_was_there_before_a_quota_and_does_not_count() {
    on_both(async |store| {
        let (runtime, ..) = half_set(&store, QuotaSource::Api).await;
        for (fix, expected) in [(false, 0), (true, 3)] {
            let report = doctor::examine(&runtime, fix).await.unwrap();
            let found: Vec<_> = report
                .findings
                .iter()
                .map(|finding| (finding.problem, finding.quota.as_deref(), finding.fixed))
                .collect();
            assert_eq!(found, [("not_counted", Some("tenant:acme"), fix); 3]);
            assert_eq!(used(&store).await, expected);
        }
        let report = doctor::examine(&runtime, false).await.unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    })
    .await;
}
