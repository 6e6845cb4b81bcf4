//! The same story with scheduled actions: users write and command them, workers begin and record them, lose their locks
//! and vanish. After every verb each action that is due some time has exactly one row in the queues.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use pawl_kernel::ports::schedule::{ActionCommand, ActionFilter, RecordRequest, SyncMark};
use pawl_kernel::ports::store::{Dispatch, DueTimer, LockRequest, Store, StoreResult, TimerKind};
use pawl_kernel::schedule::{
    Action, AttemptOutcome, Author, Failure, Override, Put, RecordResult, Run, ScheduleLimits,
    Spec, read_spec,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::user::Writer;

use super::{EXECUTIONS, Story, in_order, told};
use crate::fixture::{self, pass};

/// What a story came to, so that a test can demand that it was one.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoryReport {
    pub runs: u64,
    pub interrupted: u64,
    pub successes: u64,
    pub requeued: u64,
    pub late: u64,
    pub lock_lost: u64,
    pub waits: u64,
    pub finished: u64,
}

impl std::ops::AddAssign for StoryReport {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.interrupted += other.interrupted;
        self.successes += other.successes;
        self.requeued += other.requeued;
        self.late += other.late;
        self.lock_lost += other.lock_lost;
        self.waits += other.waits;
        self.finished += other.finished;
    }
}

/// Plays `length` random verbs about scheduled actions on both stores.
///
/// # Panics
/// At the first difference or the first row too many, with the seed and the verbs so far.
pub async fn compare_schedules(
    seed: u64,
    length: usize,
    a: Arc<dyn Store>,
    b: Arc<dyn Store>,
) -> StoryReport {
    let mut story = Story::new(seed, a, b);
    story.executions = 2 * EXECUTIONS;
    let mut desk = Desk::new(story);
    let schema = fixture::schema(1);
    desk.story
        .same(async |store| told(store.save_schema(schema.clone()).await))
        .await;
    desk.steal().await;
    for _ in 0..length {
        desk.step().await;
        desk.compare().await;
    }
    desk.check_rows().await;
    desk.story.compare_executions().await;
    desk.reached
}

/// An attempt that some worker makes, with its row in each store.
#[derive(Clone)]
struct Flight {
    timers: [DueTimer; 2],
    run: Run,
    lock: Uuid,
}

struct Desk {
    story: Story,
    /// Who has all shards, and who had.
    lock: Uuid,
    old_locks: Vec<Uuid>,
    flights: Vec<Flight>,
    limits: ScheduleLimits,
    reached: StoryReport,
}

fn ids() -> [String; 5] {
    // The last two look like executions, and there is one for the first of them.
    let like = [1, 404].map(|n| fixture::execution_id(n).to_string());
    let [one, other] = like;
    ["a".into(), "b".into(), "c".into(), one, other]
}

impl Desk {
    fn new(mut story: Story) -> Self {
        let patience = *story.rng.pick(&[0, 3, 10]);
        let catch_up_max = *story.rng.pick(&[1, 3, 100]);
        Self {
            lock: story.rng.uuid(),
            story,
            old_locks: Vec::new(),
            flights: Vec::new(),
            limits: ScheduleLimits {
                patience: Duration::from_secs(patience),
                catch_up_max,
                ..ScheduleLimits::default()
            },
            reached: StoryReport::default(),
        }
    }

    async fn step(&mut self) {
        self.move_clock().await;
        match self.story.rng.below(100) {
            0..20 => self.put().await,
            20..30 => self.command().await,
            30..33 => self.delete().await,
            33..60 => self.begin().await,
            60..82 => self.record().await,
            82..85 => self.steal().await,
            85..88 => drop(self.flights.pop()),
            88..91 => self.story.create().await,
            91..94 => self.story.claim().await,
            94..97 => self.story.commit().await,
            _ => self.check_rows().await,
        }
    }

    async fn move_clock(&mut self) {
        let now = match self.story.rng.below(100) {
            0..20 => self.story.later(5),
            20..35 => self.story.later(90),
            35..50 => self.next_due().await,
            50 => self.story.now.minus(Duration::from_secs(3_600)),
            _ => return,
        };
        self.story.now = now;
    }

    async fn next_due(&self) -> Timestamp {
        let store = &self.story.stores[0];
        let filter = ActionFilter::default();
        let rows = store.actions(filter, None, 100).await.unwrap();
        let next = rows.iter().filter_map(|row| row.due_at()).min();
        next.map_or(self.story.now, |at| at.max(self.story.now))
    }

    fn any_id(&mut self) -> String {
        self.story.rng.pick(&ids()).clone()
    }

    async fn put(&mut self) {
        let modes = [Override::None, Override::MetaAndSpecOnly, Override::All];
        let put = Put {
            id: self.any_id(),
            guid: self.story.rng.uuid(),
            spec: self.spec(),
            notes: Map::from_iter([("n".to_owned(), json!(self.story.rng.below(100)))]),
            mode: *self.story.rng.pick(&modes),
            written_by: Writer::with_user("user:1", json!({"id": 1, "name": "ann"})),
        };
        let now = self.story.now;
        self.story
            .note("put", &(&put.id, put.guid, put.mode, put.spec.to_stored()));
        // At times the answer is lost, and the same is asked again.
        for _ in 0..1 + u8::from(self.story.rng.chance(100)) {
            self.story
                .same(async |store| told(store.put_action(put.clone(), now).await))
                .await;
        }
    }

    fn spec(&mut self) -> Spec {
        loop {
            let value = self.spec_value();
            let found = read_spec(&value, "", Author::Engine, self.story.now);
            // A cron line may have no moment before the deadline.
            if let Ok(spec) = found {
                return spec;
            }
        }
    }

    fn spec_value(&mut self) -> Value {
        let rng = &mut self.story.rng;
        let retry = json!({"max_retries": rng.below(4), "min": "1s", "scale": "1s", "max": "20s"});
        let overlap = *rng.pick(&["skip", "queue", "allow", "cancel_previous"]);
        let catch_up = *rng.pick(&["none", "last", "all"]);
        let policy = match rng.below(3) {
            0 => json!({"once": {"retry": retry}}),
            1 => json!({"periodic": {"period": format!("{}s", 1 + rng.below(60)), "retry": retry,
                "overlap": overlap, "catch_up": catch_up}}),
            _ => json!({"cron": {"expr": *rng.pick(&["* * * * *", "*/10 * * * * *", "0 3 * * *"]),
                "timezone": *rng.pick(&["UTC", "Europe/Berlin"]), "retry": retry,
                "overlap": overlap, "catch_up": catch_up}}),
        };
        let action = match rng.below(2) {
            0 => json!({"mock": {}}),
            _ => json!({"start_execution": {"schema": "flow-1", "input": {"n": 1}}}),
        };
        let start = self.story.now.minus(Duration::from_secs(60));
        let start = start.plus(Duration::from_secs(self.story.rng.below(120)));
        let mut value = json!({"start_at": start.to_string(), "policy": policy, "action": action});
        if self.story.rng.chance(200) {
            let after = Duration::from_secs(1 + self.story.rng.below(200));
            value["deadline"] = json!(start.plus(after).to_string());
        }
        value
    }

    async fn command(&mut self) {
        let commands = [
            ActionCommand::Pause,
            ActionCommand::Resume,
            ActionCommand::Resume,
            ActionCommand::RunNow,
        ];
        let (id, guid) = (self.any_id(), self.story.rng.uuid());
        let command = *self.story.rng.pick(&commands);
        let now = self.story.now;
        self.story.note("command_action", &(&id, command, guid));
        self.story
            .same(async |store| told(store.command_action(&id, command, guid, now).await))
            .await;
    }

    async fn delete(&mut self) {
        let id = self.any_id();
        self.story.note("delete_action", &id);
        self.story
            .same(async |store| told(store.delete_action(&id).await))
            .await;
    }

    /// Another worker takes all shards.
    async fn steal(&mut self) {
        let guid = self.story.rng.uuid();
        let now = self.story.now;
        let request = LockRequest {
            guid,
            owner: "worker".into(),
            now,
            stale_before: now.plus(Duration::from_secs(1_000_000)),
            unlocked_by: None,
            max: 1024,
        };
        self.story.note("steal", &guid);
        self.story
            .same(async |store| told(store.lock_shards(request.clone()).await.map(|s| s.len())))
            .await;
        self.old_locks.push(self.lock);
        self.lock = guid;
    }

    /// Mostly who has the shards now, at times who had them.
    fn some_lock(&mut self) -> Uuid {
        if self.old_locks.is_empty() || self.story.rng.chance(900) {
            return self.lock;
        }
        *self.story.rng.pick(&self.old_locks)
    }

    async fn begin(&mut self) {
        let pass = Pass {
            owner: self.lock,
            lock: self.some_lock(),
            collect: self.story.rng.chance(700),
            skip: self.story.rng.below(12),
            limits: self.limits.clone(),
            now: self.story.now,
        };
        self.story
            .note("begin", &(pass.lock, pass.collect, pass.skip));
        let [one, other] = [0, 1].map(|n| self.story.stores[n].clone());
        let left = pass.run(&*one).await.unwrap();
        let right = pass.run(&*other).await.unwrap();
        let same =
            format!("{:?}", left.without_shards()) == format!("{:?}", right.without_shards());
        assert!(same, "{}", self.story.report(&left, &right));
        self.reached.waits += left.fired.len() as u64;
        for ((timer, run), (other, _)) in left.runs.into_iter().zip(right.runs) {
            self.reached.runs += 1;
            self.reached.interrupted += u64::from(run.interrupted.is_some());
            self.flights.push(Flight {
                timers: [timer, other],
                run,
                lock: pass.lock,
            });
        }
    }

    async fn record(&mut self) {
        let count = 1 + self.story.rng.below(3);
        let mut chosen = Vec::new();
        for _ in 0..count.min(self.flights.len() as u64) {
            let index = self.story.rng.below(self.flights.len() as u64) as usize;
            let flight = self.flights[index].clone();
            // At times the answer is lost, and it is recorded again later.
            if !self.story.rng.chance(150) {
                self.flights.remove(index);
            }
            let outcome = self.outcome(&flight).await;
            chosen.push((flight, outcome, self.story.rng.uuid()));
        }
        let Some((first, ..)) = chosen.first() else {
            return;
        };
        let lock = first.lock;
        let (limits, now) = (self.limits.clone(), self.story.now);
        let shown: Vec<_> = chosen.iter().map(|(f, o, _)| (&f.run.ticket, o)).collect();
        self.story.note("record", &(lock, shown));
        let mut answers = Vec::new();
        for (n, store) in self.story.stores.iter().enumerate() {
            let requests = chosen.iter().map(|chosen| request(chosen, n)).collect();
            let done = store.record_actions(lock, requests, limits.clone(), now);
            answers.push(done.await.unwrap());
        }
        let same = format!("{:?}", answers[0]) == format!("{:?}", answers[1]);
        assert!(same, "{}", self.story.report(&answers[0], &answers[1]));
        self.count(&answers[0]);
    }

    fn count(&mut self, records: &[Option<RecordResult>]) {
        for record in records {
            match record {
                None | Some(RecordResult::Busy) => self.reached.lock_lost += 1,
                Some(RecordResult::Late(_)) => self.reached.late += 1,
                Some(RecordResult::Written(written)) => {
                    self.reached.requeued += u64::from(written.requeue);
                    self.reached.successes += u64::from(written.past.is_some());
                    self.reached.finished += u64::from(written.row.status.is_finished());
                }
            }
        }
    }

    /// A start that succeeds leaves an execution, which the next firing may meet.
    async fn outcome(&mut self, flight: &Flight) -> AttemptOutcome {
        match self.story.rng.below(10) {
            0 => return AttemptOutcome::NotMade,
            1..4 => return AttemptOutcome::Failed(Failure::new("BROKEN", "it broke")),
            _ => {}
        }
        let starts = matches!(flight.run.row.spec.action, Action::StartExecution { .. });
        let n = self.story.created + 1;
        if starts && n <= self.story.executions {
            let mut new = fixture::new_execution(n);
            new.execution.head.created_at = self.story.now;
            let planned_at = flight.run.attempt.planned_at;
            new.execution.record.idempotency_key = Some(flight.run.row.start_key(planned_at));
            new.state.updated_at = self.story.now;
            self.story
                .note("start", &new.execution.record.idempotency_key);
            self.story
                .same(async |store| told(store.create(new.clone()).await))
                .await;
            let made = self.story.stores[0].execution(new.execution.head.id).await;
            self.story.created += u64::from(made.unwrap().is_some());
        }
        AttemptOutcome::Success
    }

    async fn compare(&self) {
        let filter = ActionFilter::default();
        let rows = self
            .story
            .both(async |store| told(store.actions(filter.clone(), None, 100).await))
            .await;
        for row in rows.unwrap() {
            let id = row.id.as_str();
            let queued = self
                .story
                .both(async |store| told(history_of_rows(&*store, id).await))
                .await;
            let expected = usize::from(row.due_at().is_some());
            let count = queued.as_ref().map(Vec::len);
            assert_eq!(count, Ok(expected), "{}", self.story.report(&row, &queued));
        }
        for id in ids() {
            self.story
                .same(async |store| told(store.attempts(&id, None, 100).await))
                .await;
        }
    }

    /// All rows of the queues, as the owner of all shards sees them.
    async fn check_rows(&mut self) {
        let (lock, now) = (self.lock, self.story.now);
        self.story.note("check_rows", &lock);
        let rows = self
            .story
            .both(async |store| told(all_rows(&*store, lock, now).await))
            .await
            .unwrap();
        let mut counts: BTreeMap<(&str, Uuid), Vec<Timestamp>> = BTreeMap::new();
        for (at, id, guid, _) in &rows {
            counts.entry((id.as_str(), *guid)).or_default().push(*at);
        }
        let filter = ActionFilter::default();
        let actions = self.story.stores[0].actions(filter, None, 100).await;
        for row in actions.unwrap() {
            let found = counts.get(&(row.id.as_str(), row.guid));
            let times = found.cloned().unwrap_or_default();
            let expected: Vec<Timestamp> = row.due_at().into_iter().collect();
            assert_eq!(times, expected, "{}", self.story.report(&row, &rows));
        }
    }
}

fn request(
    (flight, outcome, fresh): &(Flight, AttemptOutcome, Uuid),
    store: usize,
) -> RecordRequest {
    RecordRequest {
        lock: flight.lock,
        timer: flight.timers[store].clone(),
        ticket: flight.run.ticket.clone(),
        attempt: flight.run.attempt.clone(),
        outcome: outcome.clone(),
        fresh: *fresh,
    }
}

/// What each row of the queues tells of itself. Its shard is another in every store.
async fn history_of_rows(store: &dyn Store, id: &str) -> StoreResult<Vec<RowHistory>> {
    let rows = store.queued(id).await?.into_iter();
    Ok(rows
        .map(|row| (row.added_at, row.moved, row.rescheduled))
        .collect())
}

type RowHistory = (Timestamp, Option<SyncMark>, Option<SyncMark>);
type Plain = (Timestamp, String, Uuid, TimerKind);

fn plain(timer: &DueTimer) -> Plain {
    (timer.at, timer.action_id.clone(), timer.guid, timer.kind)
}

async fn all_rows(store: &dyn Store, lock: Uuid, now: Timestamp) -> StoreResult<Vec<Plain>> {
    let shards = store
        .keep_shards(fixture::keep_request(lock, now))
        .await?
        .shards();
    store.collect(pass(lock), &shards, now, 10_000).await?;
    let ever = now.plus(Duration::from_secs(200 * 366 * 86_400));
    let rows = store
        .upcoming(&shards, fixture::due_before(ever), 10_000)
        .await?;
    let mut rows: Vec<Plain> = rows.iter().map(plain).collect();
    rows.sort_unstable();
    Ok(rows)
}

/// One pass of a worker over what is due.
struct Pass {
    /// Who sees what is due, and who acts on it: at times a worker that had the shards before.
    owner: Uuid,
    lock: Uuid,
    collect: bool,
    /// Some rows are left for later.
    skip: u64,
    limits: ScheduleLimits,
    now: Timestamp,
}

#[derive(Debug)]
struct PassReport {
    runs: Vec<(DueTimer, Run)>,
    fired: Vec<Dispatch>,
}

impl PassReport {
    fn without_shards(&self) -> impl std::fmt::Debug {
        let runs: Vec<_> = self.runs.iter().map(|(t, run)| (plain(t), run)).collect();
        (runs, &self.fired)
    }
}

impl Pass {
    async fn run(&self, store: &dyn Store) -> StoreResult<PassReport> {
        let shards = store
            .keep_shards(fixture::keep_request(self.owner, self.now))
            .await?
            .shards();
        if self.collect {
            store
                .collect(pass(self.owner), &shards, self.now, 10_000)
                .await?;
        }
        let until = self.now.plus(Duration::from_micros(1));
        let mut due = store
            .upcoming(&shards, fixture::due_before(until), 10_000)
            .await?;
        due.retain(|timer| timer.guid.as_u128() % 4 != u128::from(self.skip));
        due.sort_by_key(plain);
        let runs = store
            .begin_actions(pass(self.lock), due.clone(), self.limits.clone(), self.now)
            .await?;
        let fired = in_order(store.fire(pass(self.lock), due, self.now).await)?;
        Ok(PassReport { runs, fired })
    }
}
