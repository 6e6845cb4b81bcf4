//! Scheduled actions on a real server: rows that are locked or unreadable, writers and workers at the same moment.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use pawl_kernel::ports::schedule::{
    ActionCommand, ActionError, ActionFilter, PutError, RecordRequest, ScheduleStore,
};
use pawl_kernel::ports::store::{DueTimer, LockRequest, StoreError, TimerKind, TimerStore};
use pawl_kernel::schedule::{
    AttemptOutcome, Failure, Override, Put, RecordResult, Run, ScheduleLimits,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::WaitTimer;
use pawl_postgres::{Options, PostgresStore};
use pawl_testkit::clock::Rng;
use pawl_testkit::fixture::{self, at, once, pass, periodic, put, uuid};
use support::{client, database, open};
use uuid::Uuid;

/// Actions whose rows are not as they must be.
const BROKEN: &str = "SELECT count(*) FROM scheduled_actions a \
    WHERE (CASE WHEN a.scheduled_at IS NULL THEN 0 ELSE 1 END) <> \
        (SELECT count(*) FROM incoming_queue i WHERE i.action_id = a.id AND i.action_guid = a.guid) + \
        (SELECT count(*) FROM processing_queue p WHERE p.action_id = a.id AND p.action_guid = a.guid)";

const DONE_TWICE: &str = "SELECT count(*) FROM (SELECT 1 FROM action_attempts WHERE status = 'success' \
    GROUP BY action_id, generation, planned_at HAVING count(*) > 1) twice";

/// Whatever is due, in the hands of whoever takes all shards.
async fn begin(store: &PostgresStore, lock: u64, now: Timestamp) -> Vec<(DueTimer, Run)> {
    let shards = store.lock_shards(fixture::lock_request(lock, now)).await;
    let shards = shards.unwrap();
    let guid = uuid(lock);
    store.collect(pass(guid), &shards, now, 1000).await.unwrap();
    let until = now.plus(Duration::from_micros(1));
    let due = store
        .upcoming(&shards, fixture::due_before(until), 1000)
        .await
        .unwrap();
    let begun = store.begin_actions(pass(guid), due, ScheduleLimits::default(), now);
    begun.await.unwrap()
}

/// The tables as the version before had them; what later migrations made goes too, or they could not be repeated.
const WITHOUT_KINDS: &str = "ALTER TABLE incoming_queue DROP COLUMN kind; \
    ALTER TABLE processing_queue DROP COLUMN kind; DROP FUNCTION timer_kind(text, uuid); \
    DROP TABLE sessions, schema_layouts, schema_pins, schema_revision; ALTER TABLE execution_steps DROP COLUMN handle; \
    ALTER TABLE schema_versions DROP COLUMN source, DROP COLUMN source_format, DROP COLUMN note; \
    ALTER TABLE schemas DROP COLUMN published_version; DROP INDEX executions_by_origin, executions_by_fork, scheduled_actions_due; \
    ALTER TABLE executions DROP COLUMN trial; DROP INDEX IF EXISTS executions_by_status; \
    CREATE INDEX executions_by_status ON executions (status, id) WHERE status <> 4; \
    DELETE FROM schema_migrations WHERE version >= 14";

/// What workers of the version before have written, or write beside newer ones, is judged by id and guid.
#[tokio::test]
async fn rows_without_a_kind_get_one() {
    let database = database("timer_kinds");
    let options = database.options();
    let store = open(options.clone()).await;
    let queue = async |n: u64| {
        let wait = WaitTimer {
            execution_id: fixture::execution_id(n),
            wait_id: uuid(70 + n),
            at: at(100),
        };
        let like_an_execution = wait.execution_id.to_string();
        store.register_timers(vec![wait], at(5)).await.unwrap();
        for (id, guid) in [(like_an_execution, n), (format!("plain-{n}"), 10 + n)] {
            let request = put(&id, guid, once(at(100), 0));
            store.put_action(request, at(5)).await.unwrap();
        }
    };
    queue(1).await;
    let shards = store.lock_shards(fixture::lock_request(9, at(6))).await;
    let shards = shards.unwrap();
    let collect = async |store: &PostgresStore| {
        let moved = store.collect(pass(uuid(9)), &shards, at(6), 100).await;
        moved.unwrap()
    };
    assert_eq!(collect(&store).await.len(), 3);
    queue(2).await;
    store.close();
    database.psql(&options.schema, WITHOUT_KINDS);
    let store = open(options.clone()).await;
    let moved = collect(&store).await;
    let due = store.upcoming(&shards, fixture::due_before(at(101)), 100);
    let due = due.await.unwrap();
    assert_eq!((moved.len(), due.len()), (3, 6));
    for row in moved.iter().chain(&due) {
        let is_wait = row.guid == uuid(71) || row.guid == uuid(72);
        assert_eq!(row.kind == TimerKind::Wait, is_wait, "{row:?}");
    }
    let unknown = "SELECT count(*) FROM processing_queue WHERE kind = 0";
    assert_eq!(database.psql(&options.schema, unknown).trim(), "3");
    let runs = store.begin_actions(
        pass(uuid(9)),
        due.clone(),
        ScheduleLimits::default(),
        at(100),
    );
    assert_eq!(runs.await.unwrap().len(), 4);
    let woken = store.fire(pass(uuid(9)), due, at(100)).await.unwrap();
    assert_eq!(woken, [], "no such executions");
    let left = store.upcoming(&shards, fixture::due_before(at(9999)), 100);
    assert_eq!(left.await.unwrap().len(), 4, "the actions' look again");
}

/// What is locked or cannot be read is put off; nobody else waits for it.
#[tokio::test]
async fn one_bad_action_stops_nobody() {
    let database = database("bad_action");
    let options = Options {
        lock_timeout: Duration::from_millis(200),
        ..database.options()
    };
    let store = open(options.clone()).await;
    for (n, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let request = put(id, 1 + n as u64, once(at(100), 0));
        store.put_action(request, at(5)).await.unwrap();
    }
    let client = client(&database.url, &options.schema).await;
    let lock = "BEGIN; SELECT * FROM scheduled_actions WHERE id = 'a' FOR UPDATE";
    client.batch_execute(lock).await.unwrap();
    let damage = "UPDATE scheduled_actions SET status = '{}' WHERE id = 'b'";
    database.psql(&options.schema, damage);
    let begun = begin(&store, 9, at(100)).await;
    let ids: Vec<_> = begun.iter().map(|(_, run)| &run.row.id).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    let shards: Vec<u32> = (0..16).collect();
    let mut later = store
        .upcoming(&shards, fixture::due_before(at(999)), 100)
        .await
        .unwrap();
    later.retain(|timer| ["a", "b"].contains(&timer.action_id.as_str()));
    assert_eq!(later.len(), 2, "put off, not lost");
    assert!(later.iter().all(|timer| timer.at > at(100)), "{later:?}");
    client.batch_execute("ROLLBACK").await.unwrap();
    let soon = at(101);
    later.retain(|timer| timer.at <= soon);
    let begun = store.begin_actions(pass(uuid(9)), later, ScheduleLimits::default(), soon);
    assert_eq!(begun.await.unwrap().len(), 1);
    // People see the others, and are told about this one.
    let listed = store.actions(ActionFilter::default(), None, 10).await;
    assert_eq!(listed.unwrap().len(), 3);
    let unreadable = store.action("b").await;
    assert!(matches!(unreadable, Err(StoreError::Corrupt(_))));
    assert!(store.delete_action("b").await.unwrap());
}

/// Nobody waits for a locked row, and the others of its batch are recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_goes_around_a_lock() {
    let database = database("record_busy");
    let options = database.options();
    let store = open(options.clone()).await;
    for (number, id) in ["a", "b"].iter().enumerate() {
        let request = put(id, 1 + number as u64, once(at(100), 0));
        store.put_action(request, at(5)).await.unwrap();
    }
    let runs = begin(&store, 9, at(100)).await;
    let client = client(&database.url, &options.schema).await;
    let lock = "BEGIN; SELECT * FROM scheduled_actions WHERE id = 'a' FOR UPDATE";
    client.batch_execute(lock).await.unwrap();
    let record = async || {
        let requests = runs
            .iter()
            .map(|run| request_of(uuid(9), run, AttemptOutcome::Success, Uuid::nil()))
            .collect();
        let mut records = runs
            .iter()
            .map(|run| run.0.action_id.clone())
            .zip(
                store
                    .record_actions(uuid(9), requests, ScheduleLimits::default(), at(101))
                    .await
                    .unwrap(),
            )
            .collect::<Vec<_>>();
        records.sort_by(|one, other| one.0.cmp(&other.0));
        records
            .into_iter()
            .map(|(_, record)| record.unwrap())
            .collect::<Vec<_>>()
    };
    let records = record().await;
    assert_eq!(records[0], RecordResult::Busy);
    assert!(
        matches!(records[1], RecordResult::Written(_)),
        "{records:?}"
    );
    client.batch_execute("ROLLBACK").await.unwrap();
    let again = record().await;
    assert!(matches!(again[0], RecordResult::Written(_)), "{again:?}");
    assert!(
        matches!(again[1], RecordResult::Late(_)),
        "said before: {again:?}"
    );
}

fn request_of(
    lock: Uuid,
    run: &(DueTimer, Run),
    outcome: AttemptOutcome,
    fresh: Uuid,
) -> RecordRequest {
    RecordRequest {
        lock,
        timer: run.0.clone(),
        ticket: run.1.ticket.clone(),
        attempt: run.1.attempt.clone(),
        outcome,
        fresh,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_one_id_meet() {
    let database = database("writers_meet");
    let options = database.options();
    let store = open(Options {
        writers: 8,
        ..options.clone()
    })
    .await;
    for round in 0..10 {
        let id = format!("a{round}");
        let write = |n: u64, mode| {
            let request = Put {
                mode,
                ..put(&id, 100 * round + n, once(at(100), 0))
            };
            store.put_action(request, at(5))
        };
        let made = join_all((0..8).map(|n| write(n, Override::None))).await;
        assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
        let refused = |made: &Result<_, PutError>| matches!(made, Err(PutError::Exists(_)));
        assert_eq!(made.iter().filter(|made| refused(made)).count(), 7);
        let made = join_all((10..18).map(|n| write(n, Override::All))).await;
        assert!(made.iter().all(Result::is_ok));
        assert_eq!(database.psql(&options.schema, BROKEN), "0");
    }
}

const ROUNDS: u64 = 250;

struct Contest {
    stores: [Arc<PostgresStore>; 2],
    clock: AtomicI64,
    runs: AtomicU64,
    taken: AtomicU64,
    lost: AtomicU64,
}

impl Contest {
    /// A fifth of a second for everything anybody does.
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.clock.fetch_add(200_000, Ordering::SeqCst))
    }

    async fn write(&self, seed: u64) {
        let mut rng = Rng::new(seed);
        let store = &self.stores[seed as usize % 2];
        for _ in 0..ROUNDS {
            let (now, guid) = (self.now(), rng.uuid());
            let id = format!("a{}", rng.below(6));
            match rng.below(10) {
                0 => drop(store.delete_action(&id).await.unwrap()),
                1..4 => {
                    let commands = [
                        ActionCommand::Pause,
                        ActionCommand::Resume,
                        ActionCommand::RunNow,
                    ];
                    let command = *rng.pick(&commands);
                    let done = store.command_action(&id, command, guid, now).await;
                    assert!(!matches!(done, Err(ActionError::Store(_))), "{done:?}");
                }
                _ => {
                    let modes = [Override::None, Override::MetaAndSpecOnly, Override::All];
                    let request = Put {
                        guid,
                        mode: *rng.pick(&modes),
                        ..put(&id, 0, periodic(now, 1 + rng.below(5)))
                    };
                    let done = store.put_action(request, now).await;
                    assert!(!matches!(done, Err(PutError::Store(_))), "{done:?}");
                }
            }
        }
    }

    async fn work(&self, seed: u64) {
        let mut rng = Rng::new(seed);
        let store = &self.stores[seed as usize % 2];
        let lock = rng.uuid();
        let limits = ScheduleLimits {
            patience: Duration::from_secs(3),
            ..ScheduleLimits::default()
        };
        let mut flights = Vec::new();
        for _ in 0..ROUNDS {
            let due = self.due(store, lock, &mut rng).await;
            let now = self.now();
            let begun = store
                .begin_actions(pass(lock), due, limits.clone(), now)
                .await;
            let begun = begun.unwrap();
            self.runs.fetch_add(begun.len() as u64, Ordering::SeqCst);
            flights.extend(begun);
            let over = flights.split_off(flights.len() / 2);
            let requests: Vec<_> = over
                .iter()
                .filter_map(|run| end(lock, run, &mut rng))
                .collect();
            let now = self.now();
            let done = store
                .record_actions(lock, requests, limits.clone(), now)
                .await;
            self.count(&done.unwrap());
        }
    }

    /// At times all shards are taken from whoever has them.
    async fn due(&self, store: &PostgresStore, lock: Uuid, rng: &mut Rng) -> Vec<DueTimer> {
        let now = self.now();
        let patience = *rng.pick(&[0, 10_000, 10_000, 10_000]);
        let request = LockRequest {
            guid: lock,
            owner: "worker".into(),
            now,
            stale_before: now.minus(Duration::from_secs(patience)),
            unlocked_by: None,
            max: 1 + rng.below(16) as u32,
        };
        store.lock_shards(request).await.unwrap();
        let shards = store
            .keep_shards(fixture::keep_request(lock, now))
            .await
            .unwrap()
            .shards();
        store.collect(pass(lock), &shards, now, 1000).await.unwrap();
        store
            .upcoming(&shards, fixture::due_before(now), 1000)
            .await
            .unwrap()
    }

    fn count(&self, records: &[Option<RecordResult>]) {
        let taken =
            |record: &&Option<RecordResult>| matches!(record, Some(RecordResult::Written(_)));
        let taken = records.iter().filter(taken).count() as u64;
        self.taken.fetch_add(taken, Ordering::SeqCst);
        self.lost
            .fetch_add(records.len() as u64 - taken, Ordering::SeqCst);
    }
}

/// `None`: the worker forgets it, as if it had crashed.
fn end(lock: Uuid, run: &(DueTimer, Run), rng: &mut Rng) -> Option<RecordRequest> {
    let outcome = match rng.below(10) {
        0 => return None,
        1 => AttemptOutcome::NotMade,
        2..4 => AttemptOutcome::Failed(Failure::new("BROKEN", "it broke")),
        _ => AttemptOutcome::Success,
    };
    Some(request_of(lock, run, outcome, rng.uuid()))
}

/// Nobody waits for each other in a circle, no action is lost or doubled at any moment, and no firing succeeds twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_and_workers_meet() {
    let database = database("all_meet");
    let options = database.options();
    let contest = Arc::new(Contest {
        stores: [open(options.clone()).await, open(options.clone()).await],
        clock: AtomicI64::new(at(100).as_micros()),
        runs: AtomicU64::new(0),
        taken: AtomicU64::new(0),
        lost: AtomicU64::new(0),
    });
    let mut tasks = tokio::task::JoinSet::new();
    for seed in 0..3 {
        let (writer, worker) = (contest.clone(), contest.clone());
        tasks.spawn(async move { writer.write(seed).await });
        tasks.spawn(async move { worker.work(100 + seed).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
        assert_eq!(database.psql(&options.schema, BROKEN), "0");
    }
    assert_eq!(database.psql(&options.schema, DONE_TWICE), "0");
    let [runs, taken, lost] =
        [&contest.runs, &contest.taken, &contest.lost].map(|count| count.load(Ordering::SeqCst));
    println!("{runs} attempts, {taken} recorded, {lost} too late");
    assert!(runs > 50 && taken > 20 && lost > 0, "{runs} {taken} {lost}");
}
