//! A store, a clock that can be set, workers that die and come back, and what their actions were heard to do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pawl_engine::control::Control;
use pawl_engine::worker::{Roles, Worker};
use pawl_engine::{MockHook, MockRun, Options, Runtime};
use pawl_kernel::node::Registry;
use pawl_kernel::ports::schedule::ActionFilter;
use pawl_kernel::ports::store::Store;
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::{Clock, Timestamp};
use pawl_sqlite::SqliteStore;
use pawl_testkit::clock::{Rng, SeededEntropy, SimClock};
use pawl_testkit::exposition::Exposition;
use pawl_testkit::faults::{FaultControl, FaultPlan, Faults, FaultyStore, Rates};
use pawl_testkit::model::ModelStore;
use pawl_testkit::model_queue::ModelQueue;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) const WORKERS: usize = 3;
pub(crate) const TIMERS: Roles = Roles {
    timers: true,
    ..Roles::NONE
};

/// Where the rows are.
#[derive(Clone)]
pub(crate) struct Place {
    store: Arc<dyn Store>,
    /// Has it threads of its own?
    has_threads: bool,
}

impl Place {
    pub(crate) fn model() -> Self {
        Self {
            store: Arc::new(ModelStore::new()),
            has_threads: false,
        }
    }

    pub(crate) fn sqlite(folder: &tempfile::TempDir, shards: u32) -> Self {
        let options = pawl_sqlite::Options {
            timer_shards: shards,
            ..pawl_sqlite::Options::default()
        };
        Self {
            store: Arc::new(SqliteStore::open(folder.path(), options).unwrap()),
            has_threads: true,
        }
    }
}

pub(crate) fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) clock: Arc<SimClock>,
    /// Without faults.
    pub(crate) store: Arc<dyn Store>,
    place: Place,
    pub(crate) faults: FaultControl,
    pub(crate) told: Arc<Mutex<Vec<Heard>>>,
    /// When the clock was set back, by no clock at all, and what it said before.
    set_back: Arc<Mutex<Option<(tokio::time::Instant, Timestamp)>>>,
    pub(crate) deaths: Mutex<u64>,
}

/// An attempt that was made.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) run: MockRun,
    /// The latest that the clock has said shortly before.
    pub(crate) clock: Timestamp,
}

impl World {
    pub(crate) fn new(seed: u64, place: Place) -> Self {
        let clock = Arc::new(SimClock::new());
        let never = Faults::new(FaultPlan::Never, FaultControl::new(), clock.clone());
        Self {
            seed,
            store: place.with(never),
            place,
            clock,
            faults: FaultControl::new(),
            told: Arc::default(),
            set_back: Arc::default(),
            deaths: Mutex::new(0),
        }
    }

    pub(crate) fn runtime(&self, store: Arc<dyn Store>, options: Options, entropy: u64) -> Runtime {
        Runtime::new(
            store,
            Arc::new(ModelQueue::new()),
            self.clock.clone(),
            Arc::new(SeededEntropy::new(self.seed ^ entropy)),
            Arc::new(Registry::default()),
            options,
        )
    }

    pub(crate) fn options(&self, name: String) -> Options {
        let (told, set_back, clock) =
            (self.told.clone(), self.set_back.clone(), self.clock.clone());
        let hear = move |run: MockRun| {
            let last = *set_back.lock().unwrap();
            let just_set = last.filter(|(at, _)| at.elapsed() < Duration::from_secs(15));
            let before = just_set.map(|(_, before)| before);
            let clock = before.unwrap_or_default().max(clock.now());
            told.lock().unwrap().push(Heard { run, clock });
        };
        Options {
            worker_id: name,
            action_slots: 4,
            allow_mock: true,
            on_mock: Some(MockHook(Arc::new(hear))),
            ..Options::default()
        }
    }

    pub(crate) fn people(&self) -> Control {
        let options = self.options("people".into());
        Control::new(self.runtime(self.store.clone(), options, 0xC11E), None)
    }

    /// A worker without faults.
    pub(crate) fn worker(&self, name: &str, change: impl FnOnce(&mut Options)) -> Crew {
        self.worker_with(FaultPlan::Never, name, change)
    }

    pub(crate) fn worker_with(
        &self,
        plan: FaultPlan,
        name: &str,
        change: impl FnOnce(&mut Options),
    ) -> Crew {
        let mut options = self.options(name.to_owned());
        change(&mut options);
        let faults = Faults::new(plan, FaultControl::new(), self.clock.clone());
        let entropy = name.bytes().map(u64::from).sum();
        let runtime = self.runtime(self.place.with(faults.clone()), options, entropy);
        let stop = CancellationToken::new();
        let run = Worker::with_roles(runtime.clone(), TIMERS).run(stop.clone());
        Crew {
            task: AbortOnDrop(tokio::spawn(run)),
            stop,
            runtime,
            faults,
        }
    }

    pub(crate) async fn actions(&self) -> Vec<ScheduledAction> {
        let all = ActionFilter::default();
        self.store.actions(all, None, 1_000).await.unwrap()
    }

    /// Writes many actions at once, without the time that each alone would take.
    pub(crate) fn put_all(&self, bodies: Vec<(String, Value)>) {
        let options = self.options("people".into());
        let control = Control::new(
            self.runtime(self.place.store.clone(), options, 0xF111),
            None,
        );
        let (control, bodies) = (&control, &bodies);
        let put = async |(id, body): &(String, Value)| {
            control.put_action(id, body, "people").await.unwrap();
        };
        let all = async {
            for some in bodies.chunks(1_000) {
                futures_util::future::join_all(some.iter().map(&put)).await;
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| paused().block_on(all)).join().unwrap();
        });
    }

    pub(crate) fn step_clock(&self, seconds: i64) {
        if seconds < 0 {
            let before = self.clock.now();
            *self.set_back.lock().unwrap() = Some((tokio::time::Instant::now(), before));
        }
        self.clock.step(seconds * 1_000_000);
    }
}

impl Place {
    fn with(&self, faults: Arc<Faults>) -> Arc<dyn Store> {
        let store = FaultyStore::new(self.store.clone(), faults);
        match self.has_threads {
            true => Arc::new(store.answered_at_once()),
            false => Arc::new(store),
        }
    }
}

pub(crate) struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Dropped, it is a crash.
pub(crate) struct Crew {
    task: AbortOnDrop,
    stop: CancellationToken,
    runtime: Runtime,
    faults: Arc<Faults>,
}

impl Crew {
    pub(crate) async fn shut_down(mut self) {
        self.stop.cancel();
        (&mut self.task.0).await.unwrap();
    }

    /// How many shards it has, as it says itself.
    pub(crate) async fn held(&self) -> u64 {
        let page = self.runtime.metrics.page().await;
        let page = Exposition::parse(&page).unwrap();
        page.value("pawl_timer_shards_held", &[]) as u64
    }

    /// How often it has asked the store.
    pub(crate) fn questions(&self) -> u64 {
        self.faults.calls()
    }
}

/// Keeps a worker running: after a crash it returns some seconds later.
pub(crate) async fn supervise(world: Arc<World>, index: usize) {
    let mut rng = Rng::new(world.seed.wrapping_mul(31).wrapping_add(index as u64));
    for generation in 0u64.. {
        let plan = FaultPlan::random(rng.next_u64(), Rates::default());
        let faults = Faults::new(plan, world.faults.clone(), world.clock.clone());
        let store = world.place.with(faults.clone());
        let options = world.options(format!("worker-{index}"));
        let runtime = world.runtime(store, options, index as u64 * 1_000 + generation + 1);
        let run = Worker::with_roles(runtime, TIMERS).run(CancellationToken::new());
        let guard = AbortOnDrop(tokio::spawn(run));
        let life = rng.duration(Duration::from_secs(5), Duration::from_secs(60));
        let is_mortal = rng.chance(500) && !world.faults.is_calm();
        tokio::select! {
            () = faults.crash().wait() => {}
            () = tokio::time::sleep(life), if is_mortal => {}
        }
        *world.deaths.lock().unwrap() += 1;
        drop(guard);
        tokio::time::sleep(rng.duration(Duration::ZERO, Duration::from_secs(15))).await;
    }
}

/// A worker whose call with this number meets its end; after it another takes over.
pub(crate) async fn dies_at(world: &World, plan: FaultPlan) -> u64 {
    let faults = Faults::new(plan, world.faults.clone(), world.clock.clone());
    let store = world.place.with(faults.clone());
    let runtime = world.runtime(store, world.options("doomed".into()), 77);
    let run = Worker::with_roles(runtime, TIMERS).run(CancellationToken::new());
    let guard = AbortOnDrop(tokio::spawn(run));
    tokio::select! {
        () = faults.crash().wait() => {}
        () = tokio::time::sleep(Duration::from_secs(30)) => {}
    }
    drop(guard);
    faults.calls()
}
