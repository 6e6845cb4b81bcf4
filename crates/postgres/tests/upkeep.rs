//! Partitions come in time and go when nobody needs them, and nobody has to wait for either.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::retention::{
    Cutoff, OutdatedRequest, ReclaimReport, RemovalReport, RemoveRequest, RetentionStore,
};
use pawl_kernel::ports::store::{ExecutionStore, QueryStore, StoreError};
use pawl_kernel::time::Timestamp;
use pawl_postgres::{Options, PostgresStore};
use pawl_testkit::fixture;
use support::{Database, Held, client, database, id_at, now, open};

const WEEK: u64 = 7 * 24 * 3600;
const TABLES: [&str; 3] = ["execution_steps", "execution_snapshots", "execution_logs"];

fn weeks(count: u64) -> Duration {
    Duration::from_secs(count * WEEK)
}

struct Place {
    database: Database,
    options: Options,
    store: Arc<PostgresStore>,
}

impl Place {
    async fn new(name: &str) -> Self {
        let database = database(name);
        let options = database.options();
        let store = open(options.clone()).await;
        Self {
            database,
            options,
            store,
        }
    }

    fn psql(&self, sql: &str) -> String {
        self.database.psql(&self.options.schema, sql)
    }

    fn count(&self, table: &str) -> u64 {
        self.psql(&format!("SELECT count(*) FROM {table}"))
            .parse()
            .unwrap()
    }

    /// Names of the partitions of a table, without the default one.
    fn partitions(&self, table: &str) -> Vec<String> {
        let names = self.psql(&format!(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
             WHERE i.inhparent = '{table}'::regclass AND c.relname <> '{table}_default' ORDER BY 1"
        ));
        names.lines().map(str::to_owned).collect()
    }

    /// Where the steps of an execution lie.
    fn home(&self, id: ExecutionId) -> String {
        self.psql(&format!(
            "SELECT DISTINCT tableoid::regclass FROM execution_steps WHERE execution_id = '{id}'"
        ))
    }

    /// An execution with everything that history has, ended or not.
    async fn lived(&self, born: Timestamp, ended: bool) -> ExecutionId {
        let mut held = Held::new(&self.store, born).await;
        let rich = fixture::commit(&held.state, born)
            .steps(2)
            .snapshot("{}")
            .log("a line");
        let rich = rich.keep(born.plus(Duration::from_secs(600))).build();
        let applied = self.store.commit(rich.clone()).await.unwrap();
        held.committed(&rich, &applied);
        if ended {
            held.finish(&self.store).await;
        }
        held.id()
    }

    /// Removes all that ended before then, and says how much that was.
    async fn remove(&self, cutoff: Cutoff, all_gone_before: Option<Timestamp>) -> RemovalReport {
        let schema_id = fixture::schema_id(1);
        let request = OutdatedRequest {
            schema_id,
            cutoff,
            after: None,
            limit: 1_000,
        };
        let ids = self.store.outdated(request).await.unwrap().ids;
        let request = RemoveRequest {
            ids,
            cutoff,
            all_gone_before,
        };
        self.store.remove(request).await.unwrap()
    }

    async fn reclaim(&self) -> ReclaimReport {
        self.store.reclaim(now()).await.unwrap()
    }
}

fn week_name(table: &str, time: Timestamp) -> String {
    format!("{table}_w{}", time.as_micros() / 1_000_000 / WEEK as i64)
}

#[tokio::test]
async fn partitions_are_there_before_they_are_needed() {
    let place = Place::new("ahead").await;
    let now = now();
    for table in TABLES {
        let expected: Vec<String> = (0..=4)
            .map(|n| week_name(table, now.plus(weeks(n))))
            .collect();
        assert_eq!(place.partitions(table), expected);
    }
    for (born, home) in [
        (now, week_name("execution_steps", now)),
        (
            now.plus(weeks(4)),
            week_name("execution_steps", now.plus(weeks(4))),
        ),
        (now.plus(weeks(500)), "execution_steps_default".to_owned()),
        (now.minus(weeks(500)), "execution_steps_default".to_owned()),
    ] {
        let id = place.lived(born, true).await;
        assert_eq!(place.home(id), home);
        assert_eq!(place.store.steps(id, 0, 10).await.unwrap().len(), 3);
    }
    assert_eq!(place.count("execution_steps_default"), 6);
    place.store.maintain(now.plus(weeks(3))).await.unwrap();
    place.store.maintain(now.plus(weeks(3))).await.unwrap();
    assert_eq!(place.partitions("execution_logs").len(), 8);
    // Opening it again changes nothing.
    open(place.options.clone()).await;
    assert_eq!(place.partitions("execution_logs").len(), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_may_look_after_them_at_once() {
    let place = Place::new("crowd").await;
    let later = now().plus(weeks(6));
    let stores = join_all((0..6).map(|_| open(place.options.clone()))).await;
    let upkeep = stores.into_iter().map(|store| {
        tokio::spawn(async move {
            for _ in 0..3 {
                store.maintain(later).await.unwrap();
                store.reclaim(later).await.unwrap();
            }
        })
    });
    for done in join_all(upkeep).await {
        done.unwrap();
    }
    // Whoever found another at it went on without: whatever that left is for the next one who is alone.
    place.store.maintain(later).await.unwrap();
    for table in TABLES {
        for n in 0..=4 {
            let name = week_name(table, later.plus(weeks(n)));
            assert!(place.partitions(table).contains(&name), "{name}");
        }
    }
}

#[tokio::test]
async fn rows_that_came_before_their_partition_are_moved_into_it() {
    let place = Place::new("moved").await;
    let later = now().plus(weeks(6));
    let mut held = Held::new(&place.store, later).await;
    held.advance(&place.store).await;
    let ended = place.lived(later, true).await;
    assert_eq!(place.home(held.id()), "execution_steps_default");
    place.store.maintain(later).await.unwrap();
    for table in TABLES {
        assert_eq!(place.count(&format!("{table}_default")), 0, "{table}");
    }
    assert_eq!(place.home(held.id()), week_name("execution_steps", later));
    assert_eq!(place.store.steps(ended, 0, 10).await.unwrap().len(), 3);
    assert_eq!(place.store.logs(ended, 0, 10).await.unwrap().len(), 1);
    assert!(
        place
            .store
            .history(ended, 3)
            .await
            .unwrap()
            .snapshot
            .is_some()
    );
    held.advance(&place.store).await;
    assert_eq!(place.store.steps(held.id(), 0, 10).await.unwrap().len(), 2);
}

/// Nobody had looked after the partitions for long: a great many rows are moved piece by piece.
#[tokio::test]
async fn a_flood_in_the_default_partition_is_drained_in_pieces() {
    let place = Place::new("flood").await;
    let later = now().plus(weeks(6));
    let first = id_at(later);
    // 260 executions with 500 steps each, one of them with 60,000: more than is moved at once.
    place.psql(&format!(
        "INSERT INTO execution_steps \
         SELECT (substr('{first}', 1, 24) || lpad(to_hex(e), 12, '0'))::uuid, s, 'n', 'log', NULL, NULL, NULL, NULL, NULL, 1, \
                NULL, NULL, now(), now(), 1 \
         FROM generate_series(1, 260) e, LATERAL generate_series(1, CASE WHEN e = 100 THEN 60000 ELSE 500 END) s"
    ));
    let rows = place.count("execution_steps");
    assert_eq!(rows, 259 * 500 + 60_000);
    let started = Instant::now();
    place.store.maintain(later).await.unwrap();
    println!(
        "{rows} rows moved in {:?}: {:?}",
        started.elapsed(),
        place.partitions("execution_steps")
    );
    assert_eq!(place.count("execution_steps_default"), 0);
    assert_eq!(place.count("execution_steps"), rows);
    let pieces = place
        .partitions("execution_steps")
        .iter()
        .filter(|name| name.contains("_p"))
        .count();
    assert!((2..=8).contains(&pieces), "{pieces} pieces");
    // The week is covered without a gap: new rows of any time in it find their place.
    for hours in [0, 1, 24, 100] {
        let id = place
            .lived(later.plus(Duration::from_secs(hours * 3_600)), true)
            .await;
        assert_ne!(place.home(id), "execution_steps_default");
    }
}

/// Commits all the time; the longest wait.
async fn longest_commit(store: Arc<PostgresStore>, stop: Arc<AtomicBool>, longest: Arc<AtomicU64>) {
    let mut held = Held::new(&store, now()).await;
    while !stop.load(Ordering::SeqCst) {
        let started = Instant::now();
        let step = fixture::commit(&held.state, now()).steps(1).log("a line");
        let step = step.keep(now().plus(Duration::from_secs(600))).build();
        let applied = store.commit(step.clone()).await.unwrap();
        held.committed(&step, &applied);
        longest.fetch_max(started.elapsed().as_millis() as u64, Ordering::SeqCst);
    }
}

/// A transaction of a person who has gone for lunch is in the way: upkeep gives up, and commits go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_in_the_way_stops_upkeep_and_not_the_commits() {
    let place = Place::new("lunch").await;
    let past = now().minus(weeks(10));
    place.store.maintain(past).await.unwrap();
    place.lived(past, true).await;
    place.remove(Cutoff::new(now(), weeks(1)), None).await;
    let (stop, longest) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let commits: Vec<_> = (0..4)
        .map(|_| {
            tokio::spawn(longest_commit(
                place.store.clone(),
                stop.clone(),
                longest.clone(),
            ))
        })
        .collect();
    let person = client(&place.database.url, &place.options.schema).await;
    person
        .batch_execute(
            "BEGIN; SELECT count(*) FROM execution_steps; SELECT count(*) FROM execution_logs",
        )
        .await
        .unwrap();
    let before = place.partitions("execution_steps");
    let started = Instant::now();
    place.store.maintain(now().plus(weeks(2))).await.unwrap();
    assert!(
        place
            .reclaim()
            .await
            .tables
            .iter()
            .all(|name| name.starts_with("execution_snapshots"))
    );
    let took = started.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!(place.partitions("execution_steps"), before);
    person.batch_execute("ROLLBACK").await.unwrap();
    place.store.maintain(now().plus(weeks(2))).await.unwrap();
    assert!(!place.reclaim().await.tables.is_empty());
    assert_ne!(place.partitions("execution_steps"), before);
    stop.store(true, Ordering::SeqCst);
    for done in join_all(commits).await {
        done.unwrap();
    }
    let longest = longest.load(Ordering::SeqCst);
    println!("the longest commit beside upkeep that could not go on took {longest} ms");
    assert!(longest < 2_000, "{longest} ms");
}

#[tokio::test]
async fn history_goes_in_whole_partitions() {
    let place = Place::new("whole").await;
    let past = now().minus(weeks(10));
    place.store.maintain(past).await.unwrap();
    for n in 0..3 {
        for _ in 0..5 {
            place.lived(past.plus(weeks(n)), true).await;
        }
    }
    let recent = place.lived(now(), true).await;
    let cutoff = Cutoff::new(now(), weeks(1));
    let removed = place.remove(cutoff, Some(cutoff.ended_before)).await;
    assert_eq!(
        (removed.executions, removed.history),
        (15, 0),
        "no row of history is touched"
    );
    let before = place.partitions("execution_steps").len();
    let mut reclaimed = place.reclaim().await;
    while reclaimed.more {
        let again = place.reclaim().await;
        reclaimed.tables.extend(again.tables);
        reclaimed.bytes += again.bytes;
        reclaimed.more = again.more;
    }
    println!("{reclaimed:?}");
    // Five weeks that had been made in the past, of each table.
    assert_eq!(reclaimed.tables.len(), 15);
    assert!(reclaimed.bytes > 0);
    assert_eq!(place.partitions("execution_steps").len(), before - 5);
    assert_eq!(place.count("execution_steps"), 3);
    assert_eq!(place.store.steps(recent, 0, 10).await.unwrap().len(), 3);
    // Upkeep does not make them again.
    place.store.maintain(now()).await.unwrap();
    assert_eq!(place.partitions("execution_steps").len(), before - 5);
}

#[tokio::test]
async fn one_open_execution_keeps_its_partition() {
    let place = Place::new("kept").await;
    let past = now().minus(weeks(10));
    place.store.maintain(past).await.unwrap();
    let open_one = place.lived(past, false).await;
    for _ in 0..5 {
        place.lived(past, true).await;
        place.lived(past.plus(weeks(1)), true).await;
    }
    let cutoff = Cutoff::new(now(), weeks(1));
    let removed = place.remove(cutoff, Some(cutoff.ended_before)).await;
    // Five executions with three steps, a snapshot and a line: their neighbour keeps the partition.
    assert_eq!((removed.executions, removed.history), (10, 25));
    while place.reclaim().await.more {}
    assert_eq!(place.home(open_one), week_name("execution_steps", past));
    assert_eq!(place.count("execution_steps"), 2);
    assert!(
        !place
            .partitions("execution_steps")
            .contains(&week_name("execution_steps", past.plus(weeks(1))))
    );
    assert_eq!(
        place
            .store
            .history(open_one, 2)
            .await
            .unwrap()
            .snapshot
            .map(|snapshot| snapshot.seq),
        Some(2)
    );
}

#[tokio::test]
async fn a_drop_that_was_interrupted_is_finished_but_nothing_that_is_needed_goes() {
    let place = Place::new("interrupted").await;
    let past = now().minus(weeks(10));
    place.store.maintain(past).await.unwrap();
    place.lived(past, true).await;
    let kept = place.lived(past.plus(weeks(1)), false).await;
    let cutoff = Cutoff::new(now(), weeks(1));
    place.remove(cutoff, Some(cutoff.ended_before)).await;
    let (stray, needed) = (
        week_name("execution_steps", past),
        week_name("execution_steps", past.plus(weeks(1))),
    );
    for name in [&stray, &needed] {
        place.psql(&format!(
            "ALTER TABLE execution_steps DETACH PARTITION {name}"
        ));
    }
    let reclaimed = place.reclaim().await;
    assert!(reclaimed.tables.contains(&stray), "{reclaimed:?}");
    assert!(!reclaimed.tables.contains(&needed), "{reclaimed:?}");
    assert_eq!(place.count(&needed), 2);
    assert!(place.store.execution(kept).await.unwrap().is_some());
}

/// D61: removal beside everything else, each execution whole or gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_removed_beside_running_work_is_whole_or_gone() {
    let place = Arc::new(Place::new("beside").await);
    let stop = Arc::new(AtomicBool::new(false));
    let collector = tokio::spawn({
        let (place, stop) = (place.clone(), stop.clone());
        async move {
            let mut removed = 0;
            while !stop.load(Ordering::SeqCst) {
                let cutoff = Cutoff::new(now(), Duration::ZERO);
                removed += place
                    .remove(cutoff, Some(cutoff.ended_before))
                    .await
                    .executions;
                place.reclaim().await;
            }
            removed
        }
    });
    let workers = (0..4).map(|_| {
        let place = place.clone();
        tokio::spawn(async move {
            let mut ids = BTreeMap::new();
            for n in 0..60 {
                let ended = n % 3 != 0;
                ids.insert(place.lived(now(), ended).await, ended);
            }
            ids
        })
    });
    let mut all = BTreeMap::new();
    for done in join_all(workers).await {
        all.extend(done.unwrap());
    }
    stop.store(true, Ordering::SeqCst);
    let removed = collector.await.unwrap();
    let mut gone = 0;
    for (id, ended) in &all {
        let steps = place.store.steps(*id, 0, 10).await.unwrap().len();
        match place.store.execution(*id).await.unwrap() {
            None => {
                assert!(ended, "an open execution was removed");
                assert_eq!(steps, 0, "{id}");
                gone += 1;
            }
            Some(view) => {
                assert_eq!(view.execution.head.status == Status::Completed, *ended);
                assert_eq!(steps, 2 + usize::from(*ended), "{id}");
            }
        }
    }
    println!("{gone} of {} removed while others ran", all.len());
    assert_eq!(removed, gone);
    assert!(gone > 50, "{gone}");
}

/// Each row of history takes 20 ms to go, and a statement may take 400: two executions go together, twenty do not. A
/// large one goes alone, however long it takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_much_together_goes_alone() {
    let database = database("too_much");
    let options = Options {
        statement_timeout: Duration::from_millis(400),
        ..database.options()
    };
    let store = open(options.clone()).await;
    let place = Place {
        database,
        options,
        store,
    };
    let born = now().minus(weeks(3));
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(place.lived(born, true).await);
    }
    let large = place.lived(born, true).await;
    place.psql(&format!(
        "INSERT INTO execution_logs SELECT execution_id, n, seq, node_id, level, message, created_at \
         FROM execution_logs, generate_series(100, 150) n WHERE execution_id = '{large}'"
    ));
    place.psql(
        "CREATE FUNCTION slow() RETURNS trigger AS 'BEGIN PERFORM pg_sleep(0.02); RETURN OLD; END' LANGUAGE plpgsql; \
         CREATE TRIGGER slow BEFORE DELETE ON execution_logs FOR EACH ROW EXECUTE FUNCTION slow(); \
         CREATE TRIGGER slow BEFORE DELETE ON execution_steps FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    let request = |ids: &[ExecutionId]| RemoveRequest {
        ids: ids.to_vec(),
        cutoff: Cutoff::new(now(), weeks(1)),
        all_gone_before: None,
    };
    let refused = place.store.remove(request(&ids)).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    assert_eq!(place.count("executions"), 21, "all or nothing");
    assert_eq!(
        place
            .store
            .remove(request(&ids[..2]))
            .await
            .unwrap()
            .executions,
        2
    );
    assert_eq!(
        place
            .store
            .remove(request(&[large]))
            .await
            .unwrap()
            .executions,
        1
    );
    assert_eq!(place.count("executions"), 18);
}
