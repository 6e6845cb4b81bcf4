//! Scheduled actions: on time, retried, interrupted, stolen, changed while they run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pawl_engine::control::{
    Control, ScheduleError, TriggerKeeper, keep_all_triggers_in_step, keep_triggers_in_step,
};
use pawl_engine::worker::Worker;
use pawl_engine::{MockHook, MockRun, Options, Runtime, ServiceRunner};
use pawl_kernel::execution::Status;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome, Registry};
use pawl_kernel::ports::schedule::ActionFilter;
use pawl_kernel::ports::store::{ExecutionFilter, ExecutionView, LockRequest};
use pawl_kernel::schedule::{ActionEnding, ScheduledAction};
use pawl_kernel::secrets::{Patterns, SecretScope};
use pawl_kernel::time::{Clock, Timestamp};
use pawl_testkit::exposition::Exposition;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::Bell;
use crate::world::{Crew, World, chain, effect, event, with};

/// Every attempt of an action that only pretends.
#[derive(Clone)]
struct Told {
    runs: Arc<Mutex<Vec<MockRun>>>,
    bell: Bell,
}

impl Told {
    fn new(world: &World) -> Self {
        Self {
            runs: Arc::default(),
            bell: world.bell.clone(),
        }
    }

    fn hook(&self) -> MockHook {
        let told = self.clone();
        MockHook(Arc::new(move |run| {
            told.runs.lock().unwrap().push(run);
            told.bell.ring();
        }))
    }

    fn all(&self) -> Vec<MockRun> {
        self.runs.lock().unwrap().clone()
    }

    async fn until(&self, times: usize) -> Vec<MockRun> {
        let enough = async || Some(self.all()).filter(|runs| runs.len() >= times);
        let runs = self.bell.until(enough).await;
        assert_eq!(runs.len(), times, "{runs:#?}");
        runs
    }

    async fn worker(&self, world: &World, change: impl FnOnce(&mut Options)) -> Crew {
        let hook = self.hook();
        let change = |options: &mut Options| {
            options.allow_mock = true;
            options.on_mock = Some(hook);
            change(options);
        };
        world.worker_with(change).await
    }
}

/// A node that asks whether its secrets may go to its `url`, and keeps a copy of its config without them, as those do
/// that really send something or store something themselves.
struct Wary {
    node: Arc<dyn NodeHandler>,
    kept: Kept,
}

type Kept = Arc<Mutex<Vec<Value>>>;

#[async_trait]
impl NodeHandler for Wary {
    fn spec(&self) -> &'static NodeSpec {
        self.node.spec()
    }

    fn guards_secrets(&self) -> bool {
        true
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        if let Some(url) = call.config["url"].as_str() {
            let host = url.split('/').nth(2).unwrap();
            call.secrets.check_host(host, Some(443))?;
        }
        if !self.spec().pure {
            let mut config = call.config.clone();
            call.secrets.hide(&mut config);
            self.kept.lock().unwrap().push(config);
        }
        self.node.run(call).await
    }
}

/// A worker whose nodes are all wary, and what they keep.
fn wary_worker(world: &World, change: impl FnOnce(&mut Options)) -> (Control, Kept) {
    let plain = world.client_with(change);
    let (runtime, kept) = (plain.runtime(), Kept::default());
    let wary = runtime.registry.iter().map(|node| {
        let (node, kept) = (node.clone(), kept.clone());
        Arc::new(Wary { node, kept }) as Arc<dyn NodeHandler>
    });
    let runtime = Runtime::new(
        runtime.store.clone(),
        runtime.queue.clone(),
        runtime.clock.clone(),
        runtime.entropy.clone(),
        Arc::new(Registry::new(wary.collect())),
        (*runtime.options).clone(),
    );
    let worker = Worker::new(runtime.clone());
    let control = Control::new(runtime, Some(worker.handle()));
    tokio::spawn(worker.run(CancellationToken::new()));
    (control, kept)
}

fn later(world: &World, millis: u64) -> Timestamp {
    world.clock.now().plus(Duration::from_millis(millis))
}

/// An action that pretends once, at a time; more of its policy and of the action.
fn once(at: Timestamp, retry: Value, mock: Value) -> Value {
    json!({"spec": {
        "start_at": at.to_string(),
        "policy": {"once": {"retry": retry}},
        "action": {"mock": mock},
    }})
}

fn plain(at: Timestamp) -> Value {
    once(at, json!({}), json!({}))
}

async fn put(control: &Control, id: &str, body: Value) -> ScheduledAction {
    control.put_action(id, &body, "test").await.unwrap().0
}

/// Waits until the action looks like this.
async fn until(
    world: &World,
    id: &str,
    fits: impl Fn(&ScheduledAction) -> bool,
) -> ScheduledAction {
    let look = async || {
        let action = world.store.action(id).await.unwrap();
        action.filter(|action| fits(action))
    };
    world.bell.until(look).await
}

async fn until_finished(world: &World, id: &str) -> ScheduledAction {
    until(world, id, |action| action.status.is_finished()).await
}

fn counts(action: &ScheduledAction) -> (u64, u64, u64) {
    let status = &action.status;
    (status.successful, status.failed, status.interrupted)
}

/// Somebody who never says anything again has every lock.
async fn steal_locks(world: &World) {
    let request = LockRequest {
        guid: Uuid::from_u128(666),
        owner: "thief".into(),
        now: world.clock.now(),
        stale_before: later(world, 1),
        unlocked_by: None,
        max: 100,
    };
    assert_eq!(world.store.lock_shards(request).await.unwrap().len(), 16);
}

async fn until_counted(world: &World, crew: &Crew, outcome: &str) {
    let look = async || {
        let page = crew.control.runtime().metrics.page().await;
        let page = Exposition::parse(&page).unwrap();
        let count = page.value("pawl_action_attempts_total", &[("outcome", outcome)]);
        (count == 1.0).then_some(())
    };
    world.bell.until(look).await;
}

async fn started(world: &World) -> Vec<ExecutionView> {
    let filter = ExecutionFilter::default();
    let mut all = world.store.executions(filter, None, 100).await.unwrap();
    all.reverse();
    all
}

async fn until_started(world: &World, count: usize) -> Vec<ExecutionView> {
    let look = async || Some(started(world).await).filter(|all| all.len() >= count);
    world.bell.until(look).await
}

both! {
    /// The worker hears of it, takes it in and sleeps until the very moment.
    async fn a_hint_makes_it_precise(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let at = later(world, 300);
        put(&crew.control, "soon", plain(at)).await;
        world.clock.until_sleeper_at(at).await;
        assert!(told.all().is_empty());
        world.clock.advance(Duration::from_millis(300));
        let runs = told.until(1).await;
        assert_eq!((runs[0].at, runs[0].planned_at), (at, at));
        let action = until_finished(world, "soon").await;
        assert_eq!(action.status.finished, Some(ActionEnding::Done));
        assert_eq!(counts(&action), (1, 0, 0));
    }

    /// Written by somebody who can tell nobody, far ahead: found by looking, and then waited for in memory.
    async fn without_a_hint_it_is_found_and_fires_on_time(world: &World) {
        let told = Told::new(world);
        let _crew = told.worker(world, |_| {}).await;
        let client = world.client_with(|options| options.allow_mock = true);
        let at = later(world, 20_000);
        put(&client, "later", plain(at)).await;
        world.advance(10);
        // It has looked, and sleeps until the next heartbeat.
        world.clock.until_sleeper_at(later(world, 2_500)).await;
        assert!(told.all().is_empty());
        world.advance(10);
        assert_eq!(told.until(1).await[0].at, at);
    }

    async fn retries_follow_the_formula_under_one_key(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let start = later(world, 0);
        let retry = json!({"max_retries": 3, "min": "1s", "scale": "1s", "backoff": 2});
        put(&crew.control, "shaky", once(start, retry, json!({"fail_first": 2}))).await;
        for (times, seconds) in [(1, 2), (2, 3)] {
            told.until(times).await;
            until(world, "shaky", |action| action.status.failed == times as u64).await;
            world.advance(seconds);
        }
        let runs = told.until(3).await;
        let waited: Vec<u64> = runs.iter().map(|run| run.at.since(start).as_secs()).collect();
        assert_eq!(waited, [0, 2, 5]);
        assert!(runs.iter().all(|run| run.key == runs[0].key));
        let action = until_finished(world, "shaky").await;
        assert_eq!(counts(&action), (1, 2, 0));
    }

    async fn out_of_retries_is_the_end(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let body = once(later(world, 0), json!({"max_retries": 1}), json!({"fail_first": 9}));
        put(&crew.control, "hopeless", body).await;
        until(world, "hopeless", |action| action.status.failed == 1).await;
        world.advance(2);
        let action = until_finished(world, "hopeless").await;
        assert_eq!(action.status.finished, Some(ActionEnding::OutOfRetries));
        let history = crew.control.attempts("hopeless", None, 10).await.unwrap();
        let ordinals: Vec<u64> = history.iter().map(|(_, past)| past.attempt.ordinal).collect();
        assert_eq!(ordinals, [2, 1]);
    }

    async fn a_crash_between_begin_and_record_is_an_interrupted_attempt(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let body = once(later(world, 0), json!({"max_retries": 1}), json!({"takes": "5s"}));
        put(&crew.control, "cut", body).await;
        told.until(1).await;
        crew.crash().await;
        let _other = told.worker(world, |_| {}).await;
        world.advance(11);
        let runs = told.until(2).await;
        assert_eq!(runs[0].key, runs[1].key);
        assert_eq!(runs[1].attempt, 2);
        world.advance(5);
        let action = until_finished(world, "cut").await;
        assert_eq!(counts(&action), (1, 0, 1));
    }

    /// Its end is not ours to record any more; when the lock is free again the attempt is found.
    async fn an_attempt_whose_lock_was_stolen_is_not_recorded(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let body = once(later(world, 0), json!({"max_retries": 1}), json!({"takes": "5s"}));
        put(&crew.control, "stolen", body).await;
        told.until(1).await;
        steal_locks(world).await;
        world.advance(5);
        until_counted(world, &crew, "lost").await;
        let action = world.store.action("stolen").await.unwrap().unwrap();
        assert_eq!(counts(&action), (0, 0, 0));
        world.advance(20);
        told.until(2).await;
        world.advance(5);
        let action = until_finished(world, "stolen").await;
        assert_eq!(counts(&action), (1, 0, 1));
    }

    /// The shard is ours again under another lock: what began under the first one is not ours to record.
    async fn a_shard_taken_again_has_another_lock(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let body = once(later(world, 0), json!({"max_retries": 1}), json!({"takes": "6s"}));
        put(&crew.control, "back", body).await;
        told.until(1).await;
        let holder = async || {
            let rows = world.store.queued("back").await.unwrap();
            rows.into_iter().next().and_then(|row| row.holder)
        };
        let first = holder().await.unwrap();
        let version = format!(" pawl/{}", env!("CARGO_PKG_VERSION"));
        assert!(first.owner.starts_with("worker-") && first.owner.ends_with(&version), "{first:?}");
        steal_locks(world).await;
        let thief = vec![Uuid::from_u128(666)];
        world.store.unlock_shards(thief, None, world.clock.now()).await.unwrap();
        world.advance(3);
        let again = world.bell.until(async || holder().await).await;
        assert_eq!(again.owner, first.owner);
        assert_ne!(again.lock, first.lock);
        world.advance(3);
        until_counted(world, &crew, "lost").await;
        world.advance(20);
        told.until(2).await;
        world.advance(6);
        let action = until_finished(world, "back").await;
        assert_eq!(counts(&action), (1, 0, 1));
    }

    /// Rows say which pass moved and rescheduled them, and each pass has a name of its own.
    async fn each_pass_has_a_name(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let row = async || {
            let rows = world.store.queued("named").await.unwrap();
            rows.into_iter().next()
        };
        let soon = later(world, 1_500);
        put(&crew.control, "named", once(soon, json!({"max_retries": 1}), json!({"fail_first": 1}))).await;
        world.clock.until_sleeper_at(later(world, 1_000)).await;
        world.advance(1);
        // It has been taken in, and is waited for.
        world.clock.until_sleeper_at(soon).await;
        let taken_in = row().await.unwrap();
        let moved = taken_in.moved.unwrap();
        assert_eq!(taken_in.rescheduled, None);
        world.clock.advance(Duration::from_millis(500));
        until(world, "named", |action| action.status.failed == 1).await;
        let rescheduled = row().await.unwrap().rescheduled.unwrap();
        assert_ne!(rescheduled.sync, moved.sync);
        assert!(rescheduled.at >= soon && moved.at < soon);
        assert_eq!(row().await.unwrap().moved, Some(moved));
    }

    /// Nothing is begun by somebody who only believes to have the lock.
    async fn without_the_lock_nothing_is_begun(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let at = later(world, 1_500);
        put(&crew.control, "mine", plain(at)).await;
        world.clock.until_sleeper_at(later(world, 1_000)).await;
        world.advance(1);
        // It has been taken in, and is waited for.
        world.clock.until_sleeper_at(at).await;
        steal_locks(world).await;
        world.clock.advance(Duration::from_millis(500));
        world.clock.until_sleeper_at(at.plus(Duration::from_millis(2_500))).await;
        assert!(told.all().is_empty());
        world.advance(20);
        told.until(1).await;
        assert_eq!(counts(&until_finished(world, "mine").await), (1, 0, 0));
    }

    /// What takes longer than its time is a failure, recorded before anybody could count it as interrupted.
    async fn an_attempt_that_hangs_is_failed_in_time(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let start = later(world, 0);
        put(&crew.control, "hangs", once(start, json!({}), json!({"takes": "1h"}))).await;
        told.until(1).await;
        world.advance(8);
        let action = until_finished(world, "hangs").await;
        assert_eq!(counts(&action), (0, 1, 0));
        assert_eq!(action.status.finished_at, Some(start.plus(Duration::from_secs(8))));
    }

    async fn no_more_attempts_at_once_than_slots(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |options| options.action_slots = 1).await;
        for id in ["one", "two"] {
            put(&crew.control, id, once(later(world, 0), json!({}), json!({"takes": "2s"}))).await;
        }
        told.until(1).await;
        world.until_timers_fired(&crew.control).await;
        assert_eq!(told.all().len(), 1);
        world.advance(2);
        told.until(2).await;
        world.advance(2);
        for id in ["one", "two"] {
            assert_eq!(counts(&until_finished(world, id).await), (1, 0, 0));
        }
    }

    /// The status is kept: the attempt is the action's own and counts.
    async fn a_change_that_keeps_the_status_keeps_the_attempt(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let body = once(later(world, 0), json!({}), json!({"takes": "3s"}));
        let before = put(&crew.control, "same", body.clone()).await;
        told.until(1).await;
        let change = with(body, json!({"override": "meta_and_spec_only", "meta": {"note": 1}}));
        put(&crew.control, "same", change).await;
        world.advance(3);
        let action = until_finished(world, "same").await;
        assert_eq!(counts(&action), (1, 0, 0));
        assert_ne!(action.guid, before.guid);
        assert_eq!(action.meta.notes["note"], 1);
    }

    /// A new life: the old attempt is none of its business.
    async fn a_change_of_everything_begins_anew(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        put(&crew.control, "anew", once(later(world, 0), json!({}), json!({"takes": "3s"}))).await;
        told.until(1).await;
        world.clock.advance(Duration::from_millis(10));
        let change = with(plain(later(world, 1_000)), json!({"override": "all"}));
        put(&crew.control, "anew", change).await;
        world.advance(1);
        let runs = told.until(2).await;
        assert_ne!(runs[0].key, runs[1].key);
        until_finished(world, "anew").await;
        world.advance(3);
        until_counted(world, &crew, "late").await;
        let action = world.store.action("anew").await.unwrap().unwrap();
        assert_eq!(counts(&action), (1, 0, 0));
    }

    async fn a_deleted_action_does_not_fire(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        let at = later(world, 500);
        put(&crew.control, "gone", plain(at)).await;
        world.clock.until_sleeper_at(at).await;
        crew.control.delete_action("gone").await.unwrap();
        world.clock.advance(Duration::from_millis(500));
        world.until_timers_fired(&crew.control).await;
        assert!(told.all().is_empty());
    }

    async fn paused_it_waits_and_run_now_does_not(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        put(&crew.control, "held", plain(later(world, 60_000))).await;
        crew.control.pause_action("held").await.unwrap();
        assert!(crew.control.run_action_now("held").await.is_err());
        world.advance(70);
        world.until_timers_fired(&crew.control).await;
        assert!(told.all().is_empty());
        crew.control.resume_action("held").await.unwrap();
        told.until(1).await;
        put(&crew.control, "eager", plain(later(world, 3_600_000))).await;
        crew.control.run_action_now("eager").await.unwrap();
        assert_eq!(told.until(2).await[1].at, world.clock.now());
    }

    /// What was overdue comes at the configured rate; what comes due meanwhile does not wait behind it.
    async fn a_backlog_is_caught_up_with_at_a_measured_pace(world: &World) {
        let told = Told::new(world);
        let client = world.client_with(|options| options.allow_mock = true);
        for number in 0..25 {
            put(&client, &format!("old-{number:02}"), plain(later(world, number))).await;
        }
        world.advance(60);
        let crew = told.worker(world, |options| options.catch_up_rate = 10).await;
        told.until(10).await;
        let at = later(world, 100);
        put(&crew.control, "new", plain(at)).await;
        world.clock.until_sleeper_at(at).await;
        world.clock.advance(Duration::from_millis(100));
        let fresh = async || told.all().into_iter().find(|run| run.action_id == "new");
        assert_eq!(world.bell.until(fresh).await.at, at);
        for _ in 0..20 {
            world.clock.advance(Duration::from_millis(100));
            world.until_timers_fired(&crew.control).await;
        }
        let enough = async || (told.all().len() >= 26).then_some(());
        world.bell.until(enough).await;
    }

    async fn a_firing_starts_one_execution_and_stops_the_one_before(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(chain(&[event("wait", "never")])).await;
        let start = later(world, 0);
        let body = json!({"spec": {
            "start_at": start.to_string(),
            "policy": {"periodic": {"period": "60s", "overlap": "cancel_previous"}},
            "action": {"start_execution": {"schema": schema.to_string(), "input": {"n": 1}}},
        }});
        put(&crew.control, "job", body).await;
        let first = until_started(world, 1).await[0].execution.clone();
        let action = until(world, "job", |action| action.status.successful == 1).await;
        assert_eq!(first.record.idempotency_key, Some(action.start_key(start)));
        world.until_status(first.head.id, Status::Waiting).await;
        world.advance(60);
        let second = until_started(world, 2).await[1].execution.clone();
        world.until_status(first.head.id, Status::Stopped).await;
        world.until_status(second.head.id, Status::Waiting).await;
        assert_eq!(started(world).await.len(), 2);
    }

    async fn an_unknown_schema_is_a_failure_with_its_reason(world: &World) {
        let crew = world.worker().await;
        let body = json!({"spec": {
            "policy": {"once": {}},
            "action": {"start_execution": {"schema": "nowhere"}},
        }});
        put(&crew.control, "lost", body).await;
        let action = until_finished(world, "lost").await;
        let last = serde_json::to_value(action.status.last).unwrap();
        assert_eq!(last["error"]["code"], "NOT_FOUND");
    }

    /// The nodes do the work, under the key of the firing.
    async fn callbacks_and_messages_go_through_the_nodes(world: &World) {
        let crew = world.worker().await;
        let actions = [
            ("hook", json!({"http_callback": {"url": "https://example.com/x", "body": {"a": 1}}})),
            ("mail", json!({"rabbitmq_publish": {"routing_key": "inbox", "message": "hello"}})),
        ];
        for (id, action) in actions {
            let action = put(&crew.control, id, json!({"spec": {"policy": {"once": {}}, "action": action}})).await;
            let finished = until_finished(world, id).await;
            assert_eq!(finished.status.finished, Some(ActionEnding::Done));
            let call = world.outside.calls().pop().unwrap();
            assert_eq!((call.node.as_str(), call.attempt), (id, 1));
            assert_eq!(call.key, Some(action.key(action.spec.start_at)));
        }
        let configs: Vec<Value> = world.outside.calls().into_iter().map(|call| call.config).collect();
        assert_eq!(configs[0]["method"], "POST");
        assert_eq!(configs[0]["body"], json!({"a": 1}));
        let message = json!({"connection": null, "exchange": "", "routing_key": "inbox", "message": "hello"});
        assert_eq!(configs[1], message);
    }

    async fn secrets_do_not_reach_the_history(world: &World) {
        let secret = ("token".to_owned(), "open-sesame".to_owned());
        let crew = world.worker_with(|options| options.secrets = [secret].into()).await;
        let action = json!({"http_callback": {"url": "https://example.com/fail", "headers": {"x-token": "open-sesame"}}});
        put(&crew.control, "leaky", json!({"spec": {"policy": {"once": {}}, "action": action}})).await;
        let action = until_finished(world, "leaky").await;
        let last = serde_json::to_string(&action.status.last).unwrap();
        assert!(last.contains("HTTP_STATUS") && last.contains("***"), "{last}");
        assert!(!last.contains("sesame"), "{last}");
    }

    async fn a_secret_that_lists_schemas_must_list_the_action(world: &World) {
        let crew = world.worker_with(|options| {
            for (name, pattern) in [("ours", "schedule:night*"), ("theirs", "billing")] {
                let schemas = Some(Patterns::new([pattern.to_owned()]));
                let scope = SecretScope { schemas, ..SecretScope::default() };
                options.secrets.insert(name.into(), format!("open-sesame-{name}"));
                options.secret_scopes.insert(name.into(), Arc::new(scope));
            }
        }).await;
        for (id, secret) in [("nightly", "ours"), ("nightly-2", "theirs"), ("daily", "ours")] {
            let header = format!("Bearer {{{{secrets.{secret}}}}}");
            let action = json!({"http_callback": {"url": "https://example.com/ok", "headers": {"x-token": header}}});
            put(&crew.control, id, json!({"spec": {"policy": {"once": {}}, "action": action}})).await;
            let action = until_finished(world, id).await;
            let last = serde_json::to_string(&action.status.last).unwrap();
            assert_eq!(last.contains("SECRET_NOT_ALLOWED"), id != "nightly", "{id}: {last}");
        }
        let calls = world.outside.calls();
        let sent: Vec<&Value> = calls.iter().map(|call| &call.config["headers"]["x-token"]).collect();
        assert_eq!(sent, ["Bearer open-sesame-ours"]);
    }

    async fn a_secret_that_lists_hosts_goes_with_callbacks_to_those_alone(world: &World) {
        let (control, kept) = wary_worker(world, |options| {
            let hosts = Some(Patterns::new(["*.example.com".to_owned()]));
            let scope = SecretScope { hosts, ..SecretScope::default() };
            options.secrets.insert("token".into(), "open-sesame".into());
            options.secret_scopes.insert("token".into(), Arc::new(scope));
        });
        for (id, host, header, allowed) in [
            ("near", "api.example.com", "Bearer {{secrets.token}}", true),
            ("far", "example.net", "Bearer {{secrets.token}}", false),
            ("false-friend", "api.example.com.example.net", "{{upper(secrets['token'])}}", false),
            ("free", "example.net", "no secret", true),
        ] {
            let action = json!({"http_callback": {"url": format!("https://{host}/ok"), "headers": {"x-token": header}}});
            put(&control, id, json!({"spec": {"policy": {"once": {}}, "action": action}})).await;
            let action = until_finished(world, id).await;
            let last = serde_json::to_string(&action.status.last).unwrap();
            assert_eq!(last.contains("SECRET_NOT_ALLOWED"), !allowed, "{id}: {last}");
            assert_eq!(action.status.successful, u64::from(allowed), "{id}: {last}");
        }
        let calls = world.outside.calls();
        let sent: Vec<&Value> = calls.iter().map(|call| &call.config["headers"]["x-token"]).collect();
        assert_eq!(sent, ["Bearer open-sesame", "no secret"]);
        assert_eq!(kept.lock().unwrap().len(), 2);
    }

    /// What a node stores somewhere itself is redacted by what the engine gives it: in actions and in flows, whether
    /// the secret was asked for by its name or came along some other way.
    async fn nodes_can_hide_the_secrets_in_what_they_keep(world: &World) {
        let (control, kept) = wary_worker(world, |options| {
            options.secrets.insert("token".into(), "open-sesame".into());
        });
        let texts = ["Bearer {{secrets.token}}", "Bearer open-sesame"];
        for (number, text) in texts.into_iter().enumerate() {
            let id = format!("action-{number}");
            let action = json!({"http_callback": {"url": "https://example.com/ok", "headers": {"x-token": text}}});
            put(&control, &id, json!({"spec": {"policy": {"once": {}}, "action": action}})).await;
            until_finished(world, &id).await;
            let flow = world.start(&control, chain(&[effect("tell", json!({"value": text}))])).await;
            world.until_status(flow, Status::Completed).await;
        }
        let calls = world.outside.calls();
        let field = |config: &Value| match &config["value"] {
            Value::Null => config["headers"]["x-token"].clone(),
            value => value.clone(),
        };
        let sent: Vec<Value> = calls.iter().map(|call| field(&call.config)).collect();
        assert_eq!(sent, ["Bearer open-sesame"; 4]);
        let kept: Vec<Value> = kept.lock().unwrap().iter().map(field).collect();
        assert_eq!(kept, ["Bearer ***"; 4]);
    }

    async fn users_cannot_pretend_nor_take_the_names_of_the_engine(world: &World) {
        let crew = world.worker().await;
        let refused = async |id: &str, body: Value| {
            let error = crew.control.put_action(id, &body, "test").await.unwrap_err();
            let ScheduleError::Invalid(found) = error else { panic!("{error}") };
            found[0].code
        };
        assert_eq!(refused("mocked", plain(later(world, 0))).await, "UNKNOWN_CHOICE");
        assert_eq!(refused("not:mine", plain(later(world, 0))).await, "BAD_ID");
        let error = crew.control.put_action("cron:x:0", &plain(later(world, 0)), "test").await.unwrap_err();
        assert!(error.to_string().contains("trigger"), "{error}");
        let error = crew.control.delete_action("cron:x:0").await.unwrap_err();
        assert!(error.to_string().contains("trigger"), "{error}");
    }

    async fn cron_triggers_follow_their_schema(world: &World) {
        let crew = world.worker().await;
        let (runtime, store) = (crew.control.runtime(), &world.store);
        let trigger = json!({"type": "cron", "name": "five", "cron": "*/5 * * * *", "input": {"a": 1}});
        let id = world.save(with(chain(&[]), json!({"triggers": [trigger]}))).await;
        let record = async || store.schema(&id.to_string()).await.unwrap().unwrap();
        assert_eq!(keep_all_triggers_in_step(runtime).await.unwrap(), 1);
        let name = format!("cron:{id}:five");
        let action = crew.control.action(&name).await.unwrap();
        keep_triggers_in_step(runtime, &record().await).await.unwrap();
        assert_eq!(crew.control.action(&name).await.unwrap().guid, action.guid, "nothing to do");
        let planned = action.status.planned_at.unwrap();
        world.clock.advance(planned.since(world.clock.now()));
        let run = until_started(world, 1).await[0].execution.clone();
        assert_eq!(run.record.idempotency_key, Some(action.start_key(planned)));
        world.until_status(run.head.id, Status::Completed).await;
        until(world, &name, |action| action.status.successful == 1).await;

        store.set_active(id, false, world.clock.now()).await.unwrap();
        keep_triggers_in_step(runtime, &record().await).await.unwrap();
        assert!(crew.control.action(&name).await.unwrap().status.paused_at.is_some());
        world.advance(600);
        store.set_active(id, true, world.clock.now()).await.unwrap();
        keep_triggers_in_step(runtime, &record().await).await.unwrap();
        let action = crew.control.action(&name).await.unwrap();
        assert_eq!(action.status.paused_at, None);
        assert!(action.status.planned_at.unwrap() > world.clock.now());
        assert_eq!(started(world).await.len(), 1);

        store.delete_schema(id, world.clock.now()).await.unwrap();
        assert_eq!(keep_all_triggers_in_step(runtime).await.unwrap(), 0);
        let left = store.actions(ActionFilter::default(), None, 10).await.unwrap();
        assert!(left.is_empty());
    }

    async fn a_keeper_finds_triggers_that_nobody_kept(world: &World) {
        let daily = json!({"triggers": [{"type": "cron", "cron": "@daily"}]});
        let (_plain, first) = (world.save(chain(&[])).await, world.save(with(chain(&[]), daily.clone())).await);
        let runtime = world.client().runtime().clone();
        let runner = ServiceRunner::new(&runtime, CancellationToken::new());
        let keeping = tokio::spawn(runner.run(TriggerKeeper::new(runtime)));
        until(world, &format!("cron:{first}:0"), |_| true).await;
        let second = format!("cron:{}:0", world.save(with(chain(&[]), daily)).await);
        let look = async || {
            world.advance(300);
            tokio::task::yield_now().await;
            world.store.action(&second).await.unwrap()
        };
        world.bell.until(look).await;
        keeping.abort();
    }

    async fn a_shutdown_waits_for_attempts(world: &World) {
        let told = Told::new(world);
        let crew = told.worker(world, |_| {}).await;
        put(&crew.control, "last", once(later(world, 0), json!({}), json!({"takes": "3s"}))).await;
        told.until(1).await;
        crew.begin_shutdown();
        world.advance(3);
        crew.shut_down().await;
        let action = world.store.action("last").await.unwrap().unwrap();
        assert_eq!(counts(&action), (1, 0, 0));
    }
}
