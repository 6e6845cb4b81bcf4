//! Scheduled actions on bad days, by seed: workers that die at any call of the store, answers that are lost or come much
//! later, users who write, change, pause and delete meanwhile. Whatever happens:
//!
//! - nothing fires early,
//! - no attempt is made twice, and none beyond what the policy allows,
//! - a firing succeeds at most once, and what is left to itself comes to its end,
//! - the queues hold each action that is due some time exactly once.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pawl_engine::control::Control;
use pawl_engine::worker::{Roles, Worker};
use pawl_engine::{MockHook, MockRun, Options, Parts};
use pawl_kernel::node::Registry;
use pawl_kernel::ports::schedule::{ActionFilter, ScheduleStore};
use pawl_kernel::ports::store::Store;
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::{Clock, Timestamp};
use pawl_testkit::clock::{Rng, SeededEntropy, SimClock};
use pawl_testkit::faults::{FaultControl, FaultPlan, Faults, FaultyStore, Rates};
use pawl_testkit::model::ModelStore;
use pawl_testkit::model_queue::ModelQueue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// More with `PAWL_ACTION_SEEDS`.
const SEEDS: u64 = 1_000;
const WORKERS: usize = 3;
const ACTIONS: u64 = 12;
const CHANGES: u64 = 40;
const RETRIES: u32 = 3;

struct World {
    seed: u64,
    clock: Arc<SimClock>,
    store: Arc<ModelStore>,
    faults: FaultControl,
    told: Arc<Mutex<Vec<MockRun>>>,
}

#[test]
fn scheduled_actions_survive_bad_days() {
    let more = std::env::var("PAWL_ACTION_SEEDS");
    let seeds = more.map_or(SEEDS, |text| text.parse().unwrap());
    for seed in 0..seeds {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(day(seed));
    }
}

const OVERDUE: u64 = 5_000;
const RATE: u32 = 500;

/// After an outage: what is overdue comes at the configured rate, what comes due meanwhile is on time, and everything fires
/// once.
#[tokio::test(start_paused = true)]
async fn a_backlog_is_caught_up_with_and_hides_nothing_new() {
    let world = World::new(0);
    let control = world.people();
    let once = |at: Timestamp| json!({"spec": {"start_at": at.to_string(), "policy": {"once": {}}, "action": {"mock": {}}}});
    for number in 0..OVERDUE {
        let (id, body) = (format!("old-{number}"), once(world.clock.now()));
        control.put_action(&id, &body, "people").await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let came = world.clock.now();
    let options = Options {
        catch_up_rate: RATE,
        ..world.options("worker".into())
    };
    let parts = world.parts(world.store.clone(), options, 1);
    let worker = Worker::with_roles(parts, TIMERS).run(CancellationToken::new());
    let _worker = AbortOnDrop(tokio::spawn(worker));
    for number in 0..15 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let at = world.clock.now().plus(Duration::from_secs(6));
        let id = format!("new-{number}");
        control.put_action(&id, &once(at), "people").await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let told = world.told.lock().unwrap().clone();
    let (old, new): (Vec<_>, Vec<_>) = told
        .iter()
        .partition(|run| run.action_id.starts_with("old"));
    assert_eq!((old.len() as u64, new.len()), (OVERDUE, 15));
    let late = new.iter().map(|run| run.at.since(run.planned_at)).max();
    assert!(late <= Some(Duration::from_secs(2)), "{late:?}");
    for second in 0..12 {
        let until = came.plus(Duration::from_secs(second));
        let gone = old.iter().filter(|run| run.at <= until).count() as u64;
        // A second's worth may go at once.
        let (most, least) = (
            (second + 1) * u64::from(RATE),
            second * u64::from(RATE) * 9 / 10,
        );
        assert!(gone <= most + 1, "{gone} after {second} s");
        assert!(gone >= least.min(OVERDUE), "{gone} after {second} s");
    }
}

async fn day(seed: u64) {
    let world = Arc::new(World::new(seed));
    let workers: Vec<_> = (0..WORKERS)
        .map(|index| tokio::spawn(supervise(world.clone(), index)))
        .collect();
    people(&world).await;
    world.faults.stop();
    settle(&world).await;
    workers.iter().for_each(|worker| worker.abort());
    judge(&world).await;
}

const TIMERS: Roles = Roles {
    timers: true,
    ..Roles::NONE
};

impl World {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            clock: Arc::new(SimClock::new()),
            store: Arc::new(ModelStore::new()),
            faults: FaultControl::new(),
            told: Arc::default(),
        }
    }

    fn parts(&self, store: Arc<dyn Store>, options: Options, entropy: u64) -> Parts {
        Parts::new(
            store,
            Arc::new(ModelQueue::new()),
            self.clock.clone(),
            Arc::new(SeededEntropy::new(self.seed ^ entropy)),
            Arc::new(Registry::default()),
            options,
        )
    }

    fn options(&self, name: String) -> Options {
        let told = self.told.clone();
        Options {
            worker_id: name,
            action_slots: 4,
            allow_mock: true,
            on_mock: Some(MockHook(Arc::new(move |run| {
                told.lock().unwrap().push(run);
            }))),
            ..Options::default()
        }
    }

    fn people(&self) -> Control {
        let options = self.options("people".into());
        Control::new(self.parts(self.store.clone(), options, 0xC11E), None)
    }

    async fn actions(&self) -> Vec<ScheduledAction> {
        let all = ActionFilter::default();
        self.store.actions(all, None, 1_000).await.unwrap()
    }
}

/// Keeps a worker running: after a crash it returns some seconds later.
async fn supervise(world: Arc<World>, index: usize) {
    let mut rng = Rng::new(world.seed.wrapping_mul(31).wrapping_add(index as u64));
    for generation in 0u64.. {
        let plan = FaultPlan::random(rng.next_u64(), Rates::default());
        let faults = Faults::new(plan, world.faults.clone(), world.clock.clone());
        let store = Arc::new(FaultyStore::new(world.store.clone(), faults.clone()));
        let options = world.options(format!("worker-{index}"));
        let parts = world.parts(store, options, index as u64 * 1_000 + generation + 1);
        let run = Worker::with_roles(parts, TIMERS).run(CancellationToken::new());
        let guard = AbortOnDrop(tokio::spawn(run));
        let life = rng.duration(Duration::from_secs(5), Duration::from_secs(60));
        let is_mortal = rng.chance(500) && !world.faults.is_calm();
        tokio::select! {
            () = faults.crash().wait() => {}
            () = tokio::time::sleep(life), if is_mortal => {}
        }
        drop(guard);
        tokio::time::sleep(rng.duration(Duration::ZERO, Duration::from_secs(15))).await;
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Writes actions, then changes them at random.
async fn people(world: &Arc<World>) {
    let mut rng = Rng::new(world.seed.wrapping_mul(13).wrapping_add(5));
    let control = world.people();
    for number in 0..ACTIONS {
        let body = body(world, &mut rng, number);
        let id = format!("action-{number}");
        control.put_action(&id, &body, "people").await.unwrap();
    }
    for _ in 0..CHANGES {
        tokio::time::sleep(rng.duration(Duration::ZERO, Duration::from_secs(3))).await;
        let number = rng.below(ACTIONS);
        let id = format!("action-{number}");
        // A refusal is an answer too.
        match rng.below(8) {
            0 => drop(control.pause_action(&id).await),
            1 | 2 => drop(control.resume_action(&id).await),
            3 => drop(control.run_action_now(&id).await),
            4 => drop(control.delete_action(&id).await),
            choice => {
                let mut body = body(world, &mut rng, number);
                body["override"] = match choice {
                    5 => json!("all"),
                    _ => json!("meta_and_spec_only"),
                };
                drop(control.put_action(&id, &body, "people").await);
            }
        }
    }
}

/// The number decides the kind, so that a change is no change of kind.
fn body(world: &World, rng: &mut Rng, number: u64) -> Value {
    let start = world
        .clock
        .now()
        .plus(rng.duration(Duration::ZERO, Duration::from_secs(30)));
    let takes = rng.duration(Duration::ZERO, Duration::from_secs(10));
    let retry = json!({"max_retries": RETRIES, "max": "20s"});
    let policy = match number % 3 {
        0 => {
            json!({"periodic": {"period": "7s", "retry": retry, "catch_up": "all", "overlap": "queue"}})
        }
        _ => json!({"once": {"retry": retry}}),
    };
    let mut spec = json!({
        "start_at": start.to_string(),
        "policy": policy,
        "action": {"mock": {"fail_first": rng.below(3), "takes": format!("{}ms", takes.as_millis())}},
    });
    if number.is_multiple_of(3) {
        let end = start.plus(Duration::from_secs(40));
        spec["deadline"] = json!(end.to_string());
    }
    json!({"spec": spec})
}

/// Everything that is not paused comes to its end.
async fn settle(world: &Arc<World>) {
    for _ in 0..600 {
        let open = |action: &ScheduledAction| {
            !action.status.is_finished() && action.status.paused_at.is_none()
        };
        if !world.actions().await.iter().any(open) {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!(
        "seed {}: after ten quiet minutes: {:#?}",
        world.seed,
        world.actions().await
    );
}

async fn judge(world: &World) {
    let (seed, told) = (world.seed, world.told.lock().unwrap().clone());
    assert!(!told.is_empty(), "seed {seed}: nothing happened");
    let mut made = BTreeSet::new();
    let mut firings: BTreeMap<&str, u32> = BTreeMap::new();
    for run in &told {
        assert!(run.at >= run.planned_at, "seed {seed}: early: {run:?}");
        let new = made.insert((run.key.as_str(), run.attempt));
        assert!(new, "seed {seed}: made twice: {run:?}");
        *firings.entry(&run.key).or_default() += 1;
    }
    let beyond = firings.iter().find(|(_, count)| **count > 1 + RETRIES);
    assert_eq!(beyond, None, "seed {seed}: tried too often");
    for action in world.actions().await {
        judge_action(world, &action, &firings).await;
    }
}

async fn judge_action(world: &World, action: &ScheduledAction, firings: &BTreeMap<&str, u32>) {
    let (seed, status) = (world.seed, &action.status);
    let life = format!("{}:{}:", action.id, status.generation);
    let own = firings.iter().filter(|(key, _)| key.starts_with(&life));
    let (fired, made) = own.fold((0, 0), |(keys, all), (_, count)| {
        (keys + 1, all + u64::from(*count))
    });
    let counted = status.successful + status.failed + status.interrupted;
    let open = u64::from(status.current.is_some());
    assert!(status.successful <= fired, "seed {seed}: {action:#?}");
    assert!(counted + open <= status.begun, "seed {seed}: {action:#?}");
    assert!(
        made <= counted + open,
        "seed {seed}: uncounted: {action:#?}"
    );
    let queued = world.store.queued_in(&action.id).await.unwrap().len();
    let due = usize::from(action.due_at().is_some());
    assert_eq!(queued, due, "seed {seed}: {action:#?}");
}
