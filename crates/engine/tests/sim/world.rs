//! One schedule: workers that die and come back, a client with bad manners, a clock that jumps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pawl_engine::control::{Control, StartRequest};
use pawl_engine::worker::Worker;
use pawl_engine::{Options, Runtime};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::store::{CatalogStore, QueryStore, SaveMode, SaveSchema};
use pawl_kernel::schema;
use pawl_kernel::time::Clock;
use pawl_testkit::clock::{Rng, SeededEntropy, SimClock};
use pawl_testkit::faults::{
    Fault, FaultControl, FaultCounts, FaultPlan, Faults, FaultyQueue, FaultyStore, Rates,
};
use pawl_testkit::model::ModelStore;
use pawl_testkit::model_queue::ModelQueue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::observer::{Observer, WatchedQueue};
use crate::{flows, judge, nodes};

const WORKERS: usize = 3;
const EXECUTIONS: u64 = 20;

pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) violations: Vec<String>,
    pub(crate) trace: Vec<String>,
    pub(crate) executions: u64,
    pub(crate) steps: u64,
    pub(crate) faults: u64,
    pub(crate) counts: FaultCounts,
    pub(crate) kills: u64,
    pub(crate) clock_steps: u64,
    pub(crate) purges: u64,
}

struct World {
    seed: u64,
    clock: Arc<SimClock>,
    store: Arc<ModelStore>,
    queue: Arc<ModelQueue>,
    faults: FaultControl,
    observer: Arc<Observer>,
    kills: AtomicU64,
    clock_steps: AtomicU64,
    purges: AtomicU64,
    /// The crash flags of the workers alive now.
    alive: std::sync::Mutex<Vec<Option<Arc<pawl_testkit::faults::Crash>>>>,
}

pub(crate) fn run(seed: u64) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(day(seed))
}

async fn day(seed: u64) -> Outcome {
    let clock = Arc::new(SimClock::new());
    let store = Arc::new(ModelStore::new());
    let world = Arc::new(World {
        seed,
        observer: Observer::new(store.clone(), clock.clone()),
        clock,
        store,
        queue: Arc::new(ModelQueue::new()),
        faults: FaultControl::new(),
        kills: AtomicU64::new(0),
        clock_steps: AtomicU64::new(0),
        purges: AtomicU64::new(0),
        alive: std::sync::Mutex::new(vec![None; WORKERS]),
    });
    let schemas = save_schemas(&world).await;
    let workers: Vec<_> = (0..WORKERS)
        .map(|index| tokio::spawn(supervise(world.clone(), index)))
        .collect();
    let mischief = tokio::spawn(mischief(world.clone()));
    let ids = client(&world, &schemas).await;
    let _ = mischief.await;
    world.faults.stop();
    let settled = settle(&world, &ids).await;
    workers.iter().for_each(|worker| worker.abort());
    world.outcome(&ids, settled)
}

impl World {
    /// One worker's runtime. Its clock is everybody's: lease times are the database's.
    fn runtime(
        self: &Arc<Self>,
        index: usize,
        generation: u64,
        faults: &Arc<Faults>,
        queue: Arc<ModelQueue>,
    ) -> Runtime {
        let owner = format!("worker-{index}");
        let watched = WatchedQueue {
            inner: Arc::new(FaultyQueue::new(queue, faults.clone())),
            observer: self.observer.clone(),
            worker: index,
            owner: owner.clone(),
        };
        let registry = nodes::registry(
            &self.observer,
            self.clock.clone(),
            Some(faults.crash().clone()),
        );
        Runtime::new(
            Arc::new(FaultyStore::new(self.store.clone(), faults.clone())),
            Arc::new(watched),
            self.clock.clone(),
            Arc::new(SeededEntropy::new(
                self.seed ^ (index as u64 * 1_000 + generation + 1),
            )),
            Arc::new(registry),
            Options {
                worker_id: owner,
                slots: 8,
                ..Options::default()
            },
        )
    }

    fn outcome(&self, ids: &[ExecutionId], settled: bool) -> Outcome {
        let dump = self.store.dump();
        if !settled {
            self.observer
                .violation("I2: the work did not finish".into());
        }
        judge::judge(&self.observer, &dump, &self.store.journal(), ids);
        let presence = self.store.comings_and_goings();
        judge::judge_limits(&self.observer, &dump.executions, &presence);
        let steps = dump.steps.values().map(|steps| steps.len() as u64).sum();
        let load = |value: &AtomicU64| value.load(Ordering::SeqCst);
        let (kills, clock_steps, purges) = (
            load(&self.kills),
            load(&self.clock_steps),
            load(&self.purges),
        );
        let counts = FaultCounts::default();
        counts.add(self.faults.counts());
        let (violations, mut trace) = self
            .observer
            .with(|seen| (seen.violations.clone(), seen.trace.clone()));
        trace.extend(
            self.store
                .journal()
                .iter()
                .map(|entry| format!("{entry:?}")),
        );
        Outcome {
            seed: self.seed,
            violations,
            trace,
            executions: ids.len() as u64,
            steps,
            faults: counts.total() + kills + clock_steps + purges,
            counts,
            kills,
            clock_steps,
            purges,
        }
    }
}

async fn save_schemas(world: &Arc<World>) -> Vec<SchemaId> {
    let registry = nodes::registry(&world.observer, world.clock.clone(), None);
    let mut ids = Vec::new();
    for flow in [
        flows::chain(false),
        flows::chain(true),
        flows::looping(),
        flows::poison(),
    ] {
        let loaded = schema::load(None, &flow.to_string(), &registry);
        let definition = loaded
            .definition
            .unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
        let id = SchemaId(uuid::Uuid::from_u128(ids.len() as u128 + 1));
        let save = SaveSchema {
            id,
            name: definition.name.clone(),
            description: None,
            definition: schema::to_stored_json(&definition),
            hash: schema::content_hash(&definition),
            source: None,
            note: None,
            created_by: "sim".into(),
            now: world.clock.now(),
            mode: SaveMode::Create,
        };
        world.store.save_schema(save).await.unwrap();
        ids.push(id);
    }
    ids
}

/// Keeps a worker running: after a crash its messages go back and it returns some seconds later.
async fn supervise(world: Arc<World>, index: usize) {
    let mut rng = Rng::new(world.seed.wrapping_mul(31).wrapping_add(index as u64));
    for generation in 0.. {
        let plan = FaultPlan::random(rng.next_u64(), Rates::default());
        let faults = Faults::new(plan, world.faults.clone(), world.clock.clone());
        let queue = Arc::new(world.queue.fork_consumer());
        let runtime = world.runtime(index, generation, &faults, queue.clone());
        world.alive.lock().unwrap()[index] = Some(faults.crash().clone());
        let worker = tokio::spawn(Worker::new(runtime).run(CancellationToken::new()));
        let guard = AbortOnDrop(worker);
        faults.crash().wait().await;
        drop(guard);
        world.observer.trace(format!("worker {index} died"));
        world.observer.worker_gone(index);
        tokio::task::yield_now().await;
        queue.drop_consumer(queue.consumer());
        tokio::time::sleep(rng.duration(Duration::ZERO, Duration::from_secs(20))).await;
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Faults from outside: kills at any moment, clock steps, purged queues.
async fn mischief(world: Arc<World>) {
    let mut rng = Rng::new(world.seed.wrapping_mul(77));
    for _ in 0..6 {
        tokio::time::sleep(rng.duration(Duration::from_millis(100), Duration::from_secs(15))).await;
        match rng.below(4) {
            0 | 1 => {
                let victim = rng.below(WORKERS as u64) as usize;
                if let Some(crash) = world.alive.lock().unwrap()[victim].take() {
                    crash.raise();
                }
                world.kills.fetch_add(1, Ordering::SeqCst);
            }
            2 => {
                let seconds = *rng.pick(&[-10i64, -1, 2, 40]);
                world.clock.step(seconds * 1_000_000);
                world
                    .observer
                    .with(|seen| seen.clock_set_back |= seconds < 0);
                world
                    .observer
                    .trace(format!("the clock jumped {seconds} s"));
                world.clock_steps.fetch_add(1, Ordering::SeqCst);
            }
            _ => {
                world.queue.purge();
                world.purges.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

/// The client's calls fail too, but a client does not crash: it asks again under the same key.
fn client_control(world: &Arc<World>, rng: &mut Rng) -> Control {
    let rates = Rates::none()
        .with(Fault::ErrorBefore, 50)
        .with(Fault::ErrorAfter, 50);
    let faults = Faults::new(
        FaultPlan::random(rng.next_u64(), rates),
        world.faults.clone(),
        world.clock.clone(),
    );
    let runtime = Runtime::new(
        Arc::new(FaultyStore::new(world.store.clone(), faults)),
        Arc::new(world.queue.fork_consumer()),
        world.clock.clone(),
        Arc::new(SeededEntropy::new(world.seed ^ 0xC11E)),
        Arc::new(nodes::registry(&world.observer, world.clock.clone(), None)),
        Options::default(),
    );
    Control::new(runtime, None)
}

async fn client(world: &Arc<World>, schemas: &[SchemaId]) -> Vec<ExecutionId> {
    let mut rng = Rng::new(world.seed.wrapping_mul(13).wrapping_add(5));
    let control = client_control(world, &mut rng);
    let mut ids = Vec::new();
    for number in 0..EXECUTIONS {
        let schema = *rng.pick(&schemas[..3]);
        ids.push(
            start(
                &control,
                schema,
                format!("key-{number}"),
                json!({"n": number}),
            )
            .await,
        );
        tokio::time::sleep(rng.duration(Duration::ZERO, Duration::from_millis(800))).await;
    }
    if rng.chance(250) {
        ids.push(start(&control, schemas[3], "poison".into(), json!({})).await);
    }
    bother(world, &control, &ids, &mut rng).await;
    ids
}

async fn start(control: &Control, schema: SchemaId, key: String, input: Value) -> ExecutionId {
    loop {
        let request = StartRequest {
            input: Some(input.clone()),
            idempotency_key: Some(key.clone()),
            created_by: "sim".into(),
            ..StartRequest::default()
        };
        if let Ok(started) = control.start_version(schema, 1, request).await {
            return started.id;
        }
    }
}

/// Pauses, resumes, stops and signals at random; repeats what failed.
async fn bother(world: &Arc<World>, control: &Control, ids: &[ExecutionId], rng: &mut Rng) {
    for round in 0..40 {
        let id = *rng.pick(ids);
        match rng.below(10) {
            0 | 1 => {
                if control.pause(id).await.is_ok() {
                    world.observer.paused(id);
                }
            }
            2..4 => {
                world.observer.resumed(id);
                let _ = control.resume(id).await;
            }
            4 if round % 4 == 0 => {
                if control.stop(id).await.is_ok() {
                    world.observer.paused(id);
                }
            }
            _ => {
                let signal = Some(format!("signal-{}", rng.below(3)));
                let _ = control
                    .signal(id, "go".into(), &json!({"round": round}), signal)
                    .await;
            }
        }
        tokio::time::sleep(rng.duration(Duration::ZERO, Duration::from_secs(3))).await;
    }
}

/// With the faults over everything must end: whatever is still paused is resumed first.
async fn settle(world: &Arc<World>, ids: &[ExecutionId]) -> bool {
    let mut rng = Rng::new(world.seed);
    let control = client_control(world, &mut rng);
    for id in ids {
        world.observer.resumed(*id);
        let _ = control.resume(*id).await;
    }
    for _ in 0..180 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let mut open = false;
        for id in ids {
            open |= !world
                .store
                .execution(*id)
                .await
                .unwrap()
                .unwrap()
                .execution
                .head
                .status
                .is_terminal();
        }
        if !open {
            // Late messages and zombies get their chance to do harm.
            tokio::time::sleep(Duration::from_secs(90)).await;
            return true;
        }
    }
    for id in ids {
        let view = world.store.execution(*id).await.unwrap().unwrap();
        if !view.execution.head.status.is_terminal() {
            world.observer.violation(format!(
                "I2: {id} is still {}: {:?}",
                view.execution.head.status.name(),
                view.state
            ));
        }
    }
    false
}
