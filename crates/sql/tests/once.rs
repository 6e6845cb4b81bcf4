//! Exactly once: replays, zombies, cancelled callers, refusals that change nothing. The same on both databases.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[macro_use]
mod support;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use futures_util::future::join_all;
use pawl_kernel::node::NodeError;
use pawl_sql::{Dialect, Isolation, Params, Scope, Script};
use serde_json::{Map, Value, json};
use support::{Bed, DB, Data, until, within, work};

const ATOMS: &str = "CREATE TABLE atoms (id integer PRIMARY KEY, rev integer NOT NULL, owner text);
    INSERT INTO atoms VALUES (1, 1, NULL), (2, 1, NULL);";

/// A compare-and-swap as in seed 003: lock an atom if it still has the revision.
fn swap(id: i64, rev: i64, owner: &str) -> Value {
    json!({"statements": [
        {"id": "find", "sql": "SELECT id, rev FROM atoms WHERE id = :id", "params": {"id": id},
         "expect": "one", "error": "NOT_FOUND"},
        {"id": "swap", "sql": "UPDATE atoms SET owner = :owner, rev = rev + 1 WHERE id = :id AND rev = :rev RETURNING rev",
         "params": {"owner": owner, "id": "=find.row.id", "rev": rev}, "expect": "one", "error": "REV_CONFLICT"},
    ], "output": "=swap.row"})
}

async fn a_swap_that_was_committed_is_no_conflict_when_it_is_done_again(bed: Bed) {
    bed.raw(ATOMS);
    let first = bed.run(swap(1, 1, "a"), "x:1").await.unwrap();
    assert_eq!((first.output, first.replayed), (json!({"rev": 2}), false));
    // The worker was killed before it could record the step; somebody else runs it again.
    let again = bed
        .again(|_| {})
        .run(work(swap(1, 1, "a"), "x:1"))
        .await
        .unwrap();
    assert_eq!((again.output, again.replayed), (json!({"rev": 2}), true));
    assert_eq!(bed.scalar("SELECT rev FROM atoms WHERE id = 1").await, 2);
    // Another step with the old revision is a conflict, and stays one.
    for _ in 0..2 {
        let error = bed.error(swap(1, 1, "b"), "x:2").await;
        assert_eq!(error.code, "REV_CONFLICT");
    }
    assert_eq!(bed.remembered().await, 1);
}

async fn a_failed_expectation_changes_nothing_and_is_not_remembered(bed: Bed) {
    bed.raw(ATOMS);
    let config = json!({"statements": [
        {"id": "a", "sql": "UPDATE atoms SET owner = 'x'"},
        {"id": "b", "sql": "SELECT id FROM atoms WHERE id = 99", "expect": "rows", "error": "NOT_FOUND"},
    ]});
    let error = bed.error(config.clone(), "x:1").await;
    assert_eq!(error.code, "NOT_FOUND");
    assert_eq!(
        bed.scalar("SELECT count(*) FROM atoms WHERE owner IS NOT NULL")
            .await,
        0
    );
    assert_eq!(bed.remembered().await, 0);
    // Once the reason is gone, the same step goes through.
    bed.raw("INSERT INTO atoms VALUES (99, 1, NULL)");
    assert!(!bed.run(config, "x:1").await.unwrap().replayed);
    assert_eq!(
        bed.scalar("SELECT count(*) FROM atoms WHERE owner IS NOT NULL")
            .await,
        3
    );
}

async fn of_many_at_the_same_time_with_one_key_one_does_it(bed: Bed) {
    bed.raw("CREATE TABLE entries (id integer, who integer)");
    for round in 0..15 {
        let key = format!("x:{round}");
        let contenders = (0..4).map(|who| {
            let connections = bed.again(|_| {});
            let isolation = Isolation::NAMES[round % 3];
            let config = json!({"isolation": isolation,
                "statements": [{"id": "a", "sql": "INSERT INTO entries VALUES ($1, $2) RETURNING who",
                                "params": [round, who]}], "output": "=a.row.who"});
            let work = work(config, &key);
            async move { connections.run(work).await.unwrap() }
        });
        let answers = join_all(contenders).await;
        let doers = answers.iter().filter(|answer| !answer.replayed).count();
        assert_eq!(doers, 1, "round {round}: {answers:?}");
        assert!(
            answers
                .iter()
                .all(|answer| answer.output == answers[0].output)
        );
        let written = bed
            .scalar(&format!("SELECT who FROM entries WHERE id = {round}"))
            .await;
        assert_eq!(written, answers[0].output);
    }
    assert_eq!(bed.scalar("SELECT count(*) FROM entries").await, 15);
}

/// Stops inside the transaction, after the first statement, until it is told how to go on.
struct Zombie {
    data: Data,
    inside: SyncSender<()>,
    verdict: Mutex<Receiver<Result<(), NodeError>>>,
}

impl Script for Zombie {
    fn for_each(
        &self,
        n: usize,
        results: &Map<String, Value>,
    ) -> Result<Option<Vec<Value>>, NodeError> {
        self.data.for_each(n, results)
    }
    fn params(&self, n: usize, scope: &Scope<'_>) -> Result<Params, NodeError> {
        self.data.params(n, scope)
    }
    fn expect(&self, _: usize, _: &Map<String, Value>) -> Result<(), NodeError> {
        self.inside.send(()).unwrap();
        // Whoever blocks says so, or others would wait behind it.
        tokio::task::block_in_place(|| self.verdict.lock().unwrap().recv().unwrap())
    }
    fn output(&self, results: &Map<String, Value>) -> Result<Value, NodeError> {
        self.data.output(results)
    }
}

/// Longer than `lock_timeout` of the successor.
const SHORTLY: Duration = Duration::from_millis(300);

/// The zombie's answer, and that of its successor, who came while the zombie was in the middle.
async fn zombie_and_successor(
    bed: &Bed,
    verdict: Result<(), NodeError>,
    held: Duration,
) -> (Result<Value, NodeError>, Value) {
    let config = |who: &str| {
        json!({"statements": [{"id": "a", "sql": "INSERT INTO entries VALUES ($1) RETURNING who", "params": [who]}],
               "output": "=a.row.who"})
    };
    let (inside, is_inside) = sync_channel(1);
    let (decide, verdicts) = sync_channel(1);
    let mut slow = work(config("zombie"), "x:1");
    slow.script = Arc::new(Zombie {
        data: Data(config("zombie")),
        inside,
        verdict: Mutex::new(verdicts),
    });
    let first = bed.again(|_| {});
    let zombie = tokio::spawn(async move { first.run(slow).await.map(|applied| applied.output) });
    tokio::task::spawn_blocking(move || is_inside.recv().unwrap())
        .await
        .unwrap();
    let second = bed.again(|settings| settings.lock_timeout = Duration::from_millis(100));
    let successor = tokio::spawn(async move { second.run(work(config("successor"), "x:1")).await });
    // It waits for the zombie: nothing says so from outside but that it does not end.
    tokio::time::sleep(held).await;
    assert!(!successor.is_finished());
    decide.send(verdict).unwrap();
    let zombie = zombie.await.unwrap();
    (zombie, successor.await.unwrap().unwrap().output)
}

async fn a_zombie_and_its_successor_tell_one_truth(bed: Bed) {
    bed.raw("CREATE TABLE entries (who text)");
    let (zombie, successor) = zombie_and_successor(&bed, Ok(()), SHORTLY).await;
    assert_eq!(
        (zombie.unwrap(), successor),
        (json!("zombie"), json!("zombie"))
    );
    assert_eq!(bed.scalar("SELECT count(*) FROM entries").await, 1);
}

async fn a_zombie_that_fails_leaves_the_work_to_its_successor(bed: Bed) {
    bed.raw("CREATE TABLE entries (who text)");
    let refusal = NodeError::new("NO", "no");
    let (zombie, successor) = zombie_and_successor(&bed, Err(refusal.clone()), SHORTLY).await;
    assert_eq!(
        (zombie.unwrap_err(), successor),
        (refusal, json!("successor"))
    );
    assert_eq!(
        bed.scalar("SELECT min(who) FROM entries").await,
        "successor"
    );
}

/// `lock_timeout` is for what others lock: the successor waits for an earlier run of its own step as long as it may.
async fn a_zombie_is_waited_for_longer_than_for_a_lock(bed: Bed) {
    bed.raw("CREATE TABLE entries (who text)");
    let held = Duration::from_millis(6_500);
    let (zombie, successor) = zombie_and_successor(&bed, Ok(()), held).await;
    assert_eq!(
        (zombie.unwrap(), successor),
        (json!("zombie"), json!("zombie"))
    );
}

async fn swaps_at_the_same_time_are_each_accepted_once(bed: Bed) {
    bed.raw(ATOMS);
    let accepted = Arc::new(Mutex::new(Vec::new()));
    let clients = (0..16).map(|client| {
        let (connections, accepted) = (bed.connections.clone(), accepted.clone());
        tokio::spawn(async move {
            for try_number in 0..20 {
                let key = format!("{client}:{try_number}");
                let rev = accepted.lock().unwrap().len() as i64 + 1;
                match connections.run(work(swap(1, rev, &key), &key)).await {
                    Ok(applied) => accepted
                        .lock()
                        .unwrap()
                        .push(applied.output["rev"].as_i64().unwrap()),
                    Err(error) => assert_eq!(error.code, "REV_CONFLICT", "{error:?}"),
                }
            }
        })
    });
    for client in join_all(clients).await {
        client.unwrap();
    }
    let accepted = accepted.lock().unwrap().len() as i64;
    assert!(accepted >= 5, "{accepted}");
    assert_eq!(
        bed.scalar("SELECT rev FROM atoms WHERE id = 1").await,
        accepted + 1
    );
    assert_eq!(bed.remembered().await, accepted);
}

async fn a_caller_who_goes_away_leaves_nothing_behind(bed: Bed) {
    bed.raw(ATOMS);
    let connections = bed.again(|settings| {
        settings.pool_size = 1;
        settings.statement_timeout = Duration::from_secs(60);
    });
    let endless = json!({"statements": [
        {"id": "a", "sql": "UPDATE atoms SET owner = 'gone'"},
        {"id": "b", "sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS c FROM n"},
    ]});
    let mut endless = work(endless, "x:1");
    endless.time_limit = Duration::from_secs(60);
    let leaving = tokio::time::timeout(Duration::from_millis(400), connections.run(endless));
    assert!(leaving.await.is_err());
    // The only connection comes back, the lock on the row too.
    let next = within(
        Duration::from_secs(1),
        connections.run(work(swap(1, 1, "next"), "x:2")),
    );
    assert_eq!(next.await.unwrap().output, json!({"rev": 2}));
    assert_eq!(
        bed.scalar("SELECT count(*) FROM atoms WHERE owner = 'gone'")
            .await,
        0
    );
    assert_eq!(bed.remembered().await, 1);
    if bed.url.starts_with("postgres") {
        let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
                    AND (xact_start IS NOT NULL OR state <> 'idle')";
        until(Duration::from_secs(2), async || {
            (bed.scalar(open).await == 0).then_some(())
        })
        .await;
    }
}

/// Takes its time after the last statement, when nothing of the database runs that could be interrupted.
struct Dawdler(Data);

impl Script for Dawdler {
    fn for_each(
        &self,
        n: usize,
        results: &Map<String, Value>,
    ) -> Result<Option<Vec<Value>>, NodeError> {
        self.0.for_each(n, results)
    }
    fn params(&self, n: usize, scope: &Scope<'_>) -> Result<Params, NodeError> {
        self.0.params(n, scope)
    }
    fn expect(&self, n: usize, results: &Map<String, Value>) -> Result<(), NodeError> {
        self.0.expect(n, results)
    }
    fn output(&self, results: &Map<String, Value>) -> Result<Value, NodeError> {
        tokio::task::block_in_place(|| std::thread::sleep(Duration::from_millis(900)));
        self.0.output(results)
    }
}

async fn what_was_given_up_is_not_committed_afterwards(bed: Bed) {
    bed.raw("CREATE TABLE entries (id integer)");
    let config = json!({"statements": [{"id": "a", "sql": "INSERT INTO entries VALUES (1)"}], "output": "=a.affected"});
    let mut slow = work(config.clone(), "x:1");
    slow.time_limit = Duration::from_millis(300);
    slow.script = Arc::new(Dawdler(Data(config.clone())));
    let error = bed.connections.run(slow).await.unwrap_err();
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("NODE_TIMEOUT", true)
    );
    // Long enough for it to have come to its commit.
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    assert_eq!(
        (
            bed.scalar("SELECT count(*) FROM entries").await,
            bed.remembered().await
        ),
        (json!(0), 0)
    );
    assert!(!bed.run(config, "x:1").await.unwrap().replayed);
}

async fn what_is_forgotten_is_done_again(bed: Bed) {
    bed.raw("CREATE TABLE entries (id integer)");
    let config = json!({"statements": [{"id": "a", "sql": "INSERT INTO entries VALUES (1)"}], "output": "=a.affected"});
    for key in ["x:1", "x:2", "it's \"{odd}\\"] {
        assert_eq!(bed.done(config.clone(), key).await, 1);
    }
    let keys = ["x:1", "it's \"{odd}\\", "x:9"].map(String::from);
    assert_eq!(bed.connections.forget(DB, &keys).await, Ok(2));
    assert_eq!(bed.remembered().await, 1);
    assert!(!bed.run(config.clone(), "x:1").await.unwrap().replayed);
    assert!(bed.run(config, "x:2").await.unwrap().replayed);
}

async fn old_keys_come_page_by_page(bed: Bed) {
    bed.raw("CREATE TABLE t (n integer)");
    let config = json!({"statements": [{"id": "a", "sql": "INSERT INTO t VALUES (1)"}]});
    for key in ["b:2", "a:1", "b:10"] {
        bed.run(config.clone(), key).await.unwrap();
    }
    let old = async |after: &str, age| bed.connections.old_keys(DB, after, age).await.unwrap();
    assert_eq!(old("", Duration::ZERO).await, ["a:1", "b:10", "b:2"]);
    assert_eq!(old("b:10", Duration::ZERO).await, ["b:2"]);
    assert_eq!(old("", Duration::from_secs(60)).await, [""; 0]);
}

async fn preparing_twice_or_at_once_is_fine(bed: Bed) {
    bed.raw("DROP TABLE pawl_applied");
    let preparing = (0..6).map(|_| {
        let connections = bed.again(|_| {});
        async move { connections.prepare(DB).await }
    });
    for prepared in join_all(preparing).await {
        assert_eq!(prepared, Ok(()));
    }
}

async fn a_database_that_is_not_prepared_says_how(bed: Bed) {
    bed.raw("DROP TABLE pawl_applied; CREATE TABLE t (id integer)");
    let writing = json!({"statements": [{"id": "a", "sql": "INSERT INTO t VALUES (1)"}]});
    let error = bed.error(writing, "x:1").await;
    assert_eq!(error.code, "NOT_PREPARED");
    assert!(
        error.message.contains("`pawl connection prepare db`"),
        "{}",
        error.message
    );
    // Reading needs no such table.
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 0);
    let keys = ["x:1".to_owned()];
    assert_eq!(
        bed.connections.forget(DB, &keys).await.unwrap_err().code,
        "NOT_PREPARED"
    );
}

/// Tables of the names that a store has, where it has them.
async fn a_connection_that_can_write_to_a_store_is_known(bed: Bed) {
    let can_write = async || {
        bed.connections
            .can_write_to_store(DB, "pawl")
            .await
            .unwrap()
    };
    assert!(!can_write().await);
    let (schema, kind) = match bed.dialect {
        Dialect::Postgres => ("pawl.", "text"),
        Dialect::Sqlite => ("", "TEXT"),
    };
    if bed.dialect == Dialect::Postgres {
        bed.raw("CREATE TABLE api_keys (a text); CREATE TABLE execution_state (a text); CREATE SCHEMA pawl");
        assert!(!can_write().await, "those are in another schema");
    }
    bed.raw(&format!("CREATE TABLE {schema}api_keys (a {kind})"));
    if bed.dialect == Dialect::Sqlite {
        assert!(
            !can_write().await,
            "one table of that name may be the user's"
        );
    }
    bed.raw(&format!("CREATE TABLE {schema}execution_state (a {kind})"));
    assert!(can_write().await);
}

async fn a_connection_that_is_not_there_says_how(bed: Bed) {
    let mut lost = work(
        json!({"statements": [{"id": "a", "sql": "SELECT 1"}]}),
        "x:1",
    );
    lost.connection = "shop".into();
    let error = bed.connections.run(lost).await.unwrap_err();
    assert_eq!(error.code, "NO_CONNECTION");
    assert!(
        error.message.contains("[connections.shop]"),
        "{}",
        error.message
    );
}

on_both! {
    a_swap_that_was_committed_is_no_conflict_when_it_is_done_again
    a_failed_expectation_changes_nothing_and_is_not_remembered
    of_many_at_the_same_time_with_one_key_one_does_it
    a_zombie_and_its_successor_tell_one_truth
    a_zombie_that_fails_leaves_the_work_to_its_successor
    a_zombie_is_waited_for_longer_than_for_a_lock
    swaps_at_the_same_time_are_each_accepted_once
    a_caller_who_goes_away_leaves_nothing_behind
    what_was_given_up_is_not_committed_afterwards
    what_is_forgotten_is_done_again
    old_keys_come_page_by_page
    preparing_twice_or_at_once_is_fine
    a_database_that_is_not_prepared_says_how
    a_connection_that_can_write_to_a_store_is_known
    a_connection_that_is_not_there_says_how
}
