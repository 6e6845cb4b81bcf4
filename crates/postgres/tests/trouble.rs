//! What goes wrong on real servers: bad rows, lost answers, crashes, rows that another transaction has locked, busy connections.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "trouble/neighbours.rs"]
mod neighbours;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pawl_kernel::execution::Status;
use pawl_kernel::ports::store::{
    CommitError, CreateOutcome, ExecutionFilter, ExecutionStore, LockRequest, QueryStore,
    RecoveryStore, StoreError, TimerStore,
};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::transition::{CommitReport, Transition};
use pawl_postgres::{Options, PostgresStore};
use support::{
    Held, client, database, new_at, now, open, options, own_server, token, unavailable, until,
};
use uuid::Uuid;
use xtask::services::{Postgres, Proxy};

#[tokio::test]
async fn a_bad_step_fails_alone() {
    let database = database("bad_step");
    let options = database.options();
    let store = open(options.clone()).await;
    let held = Held::several(&store, 40).await;
    let bad = [7_usize, 23];
    let client = client(&database.url, &options.schema).await;
    for index in bad {
        // A step that nobody committed stands where the next one belongs.
        let forged = "INSERT INTO execution_steps SELECT $1, 1, 'forged', 'log', NULL, NULL, NULL, NULL, NULL, 1::smallint, \
                      NULL, NULL, now(), now(), 1";
        client
            .execute(forged, &[&held[index].id().0])
            .await
            .unwrap();
    }
    let (batches_before, _) = store.batches().totals();
    let commits = held.iter().map(|one| store.commit(one.step()));
    let answers = join_all(commits).await;
    let (batches, _) = store.batches().totals();
    assert!(
        batches - batches_before < 5,
        "they were to be committed together"
    );
    for (index, answer) in answers.iter().enumerate() {
        match answer {
            Ok(applied) => assert!(applied.seq == 1 && !bad.contains(&index), "{index}"),
            Err(CommitError::Store(StoreError::Rejected(text))) => {
                assert!(
                    bad.contains(&index) && text.contains("execution_steps"),
                    "{index}: {text}"
                );
            }
            Err(error) => panic!("{index}: {error}"),
        }
    }
    for (index, one) in held.iter().enumerate() {
        let seq = store.probe(one.id()).await.unwrap().unwrap().seq;
        assert_eq!(seq, u64::from(!bad.contains(&index)), "{index}");
    }
}

#[tokio::test]
async fn a_bad_creation_fails_alone() {
    let database = database("bad_creation");
    let store = database.store().await;
    let time = now();
    let known = new_at(time);
    assert_eq!(
        store.create(known.clone()).await.unwrap(),
        CreateOutcome::New
    );
    let mut news: Vec<_> = (0..40).map(|_| new_at(time)).collect();
    // An id that exists already, and a key that no index can hold.
    news[11].execution.head.id = known.execution.head.id;
    news[11].state.execution_id = known.execution.head.id;
    let mut seed = 1_u32;
    let mut noise = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'!' + (seed >> 24) as u8 % 90)
    };
    let noise: String = (0..20_000).map(|_| noise()).collect();
    news[29].execution.record.idempotency_key = Some(noise);
    let answers = join_all(news.iter().map(|new| store.create(new.clone()))).await;
    for (index, answer) in answers.iter().enumerate() {
        match (index, answer) {
            (11 | 29, Err(StoreError::Rejected(_))) => {}
            (11 | 29, other) => panic!("{index}: {other:?}"),
            (_, answer) => assert_eq!(answer.as_ref().unwrap(), &CreateOutcome::New, "{index}"),
        }
    }
}

/// A store whose way to the server can be broken.
async fn behind(proxy: &Proxy) -> Arc<PostgresStore> {
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port());
    open(options(&url)).await
}

fn is_unknown(result: &Result<CommitReport, CommitError>) -> bool {
    matches!(result, Err(CommitError::Store(StoreError::Unknown(_))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_found_by_its_id() {
    let (server, _database) = own_server(&[]);
    let proxy = Proxy::start(server.port()).unwrap();
    let store = behind(&proxy).await;
    let mut held = Held::new(&store, now()).await;
    held.advance(&store).await;
    // Once for the quick way, once for the slow one: after an unknown result nothing is known of the row.
    for round in 0..2 {
        let step = held.step();
        proxy.cut_on_next(step.commit_id.as_bytes());
        let result = store.commit(step.clone()).await;
        assert!(is_unknown(&result), "round {round}: {result:?}");
        assert!(proxy.wait_for_cut(Duration::from_secs(5)));
        // The server may still be at it: what it does is seen once its session has gone.
        let probe = until(Duration::from_secs(5), async || {
            let probe = store.probe(held.id()).await.unwrap().unwrap();
            (probe.commit_id == Some(step.commit_id)).then_some(probe)
        })
        .await;
        assert_eq!(probe.seq, held.state.seq + 1);
        held.committed(&step, &probe.applied);
    }
    held.advance(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_arrived_is_not_found_and_can_be_sent_again() {
    let (server, _database) = own_server(&[]);
    let proxy = Proxy::start(server.port()).unwrap();
    let store = behind(&proxy).await;
    let mut held = Held::new(&store, now()).await;
    held.advance(&store).await;
    let step = held.step();
    proxy.stall(true);
    let sending = tokio::spawn({
        let (store, step) = (store.clone(), step.clone());
        async move { store.commit(step).await }
    });
    // It has left when there is nothing more to wait for but an answer.
    tokio::time::sleep(Duration::from_millis(300)).await;
    proxy.cut();
    proxy.stall(false);
    let result = sending.await.unwrap();
    assert!(is_unknown(&result), "{result:?}");
    // Other connections were cut too; whoever finds one of those asks again.
    let probe = until(Duration::from_secs(5), async || {
        store.probe(held.id()).await.ok()
    })
    .await
    .unwrap();
    assert_ne!(probe.commit_id, Some(step.commit_id));
    assert_eq!(probe.lease_token, Some(step.lease_token));
    let applied = store.commit(step.clone()).await.unwrap();
    held.committed(&step, &applied);

    proxy.refuse(true);
    proxy.cut();
    let error = store.commit(held.step()).await.unwrap_err();
    assert!(
        matches!(
            error,
            CommitError::Store(StoreError::Unavailable(_) | StoreError::Unknown(_))
        ),
        "{error}"
    );
    let error = store.commit(held.step()).await.unwrap_err();
    assert!(unavailable(&error), "{error}");
    proxy.refuse(false);
    held.advance(&store).await;
}

/// What a worker does: sends until the store has an opinion. `None`: fenced.
async fn deliver(store: &PostgresStore, transition: &Transition) -> Option<CommitReport> {
    loop {
        match store.commit(transition.clone()).await {
            Ok(applied) => return Some(applied),
            Err(CommitError::Refused(_)) => return None,
            Err(CommitError::Store(StoreError::Unavailable(_))) => {}
            Err(CommitError::Store(StoreError::Unknown(_))) => {
                if let Some(verdict) = look_up(store, transition).await {
                    return verdict;
                }
            }
            Err(CommitError::Store(error)) => panic!("{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn look_up(store: &PostgresStore, transition: &Transition) -> Option<Option<CommitReport>> {
    loop {
        match store.probe(transition.execution_id).await {
            Ok(Some(probe)) if probe.commit_id == Some(transition.commit_id) => {
                return Some(Some(probe.applied));
            }
            Ok(Some(probe)) if probe.lease_token == Some(transition.lease_token) => return None,
            Ok(_) => return Some(None),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Commits one step after the other, each with the number of those answered before it, until told to stop.
async fn stream(
    store: Arc<PostgresStore>,
    mut held: Held,
    answered: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
) -> Held {
    while !stop.load(Ordering::SeqCst) {
        let step = held.step();
        let applied = deliver(&store, &step).await;
        // A result that was unknown may have arrived after we looked: then the step is there, under our token.
        let applied = match applied {
            Some(applied) => applied,
            None => {
                let probe = store.probe(held.id()).await.unwrap().unwrap();
                assert_eq!(
                    probe.commit_id,
                    Some(step.commit_id),
                    "somebody else's commit"
                );
                probe.applied
            }
        };
        assert_eq!(applied.seq, held.state.seq + 1);
        held.committed(&step, &applied);
        answered.fetch_add(1, Ordering::SeqCst);
    }
    held
}

async fn hurt(server: &Postgres, answered: &AtomicU64) -> Vec<Duration> {
    let terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    let mut took = Vec::new();
    for round in 0..7 {
        let before = answered.load(Ordering::SeqCst);
        until(Duration::from_secs(30), async || {
            (answered.load(Ordering::SeqCst) > before + 50).then_some(())
        })
        .await;
        match round {
            0 | 2 | 4 => drop(server.psql(terminate).unwrap()),
            1 | 5 => server.restart_immediate().unwrap(),
            3 => {
                server.kill_hard();
                server.start_again().unwrap();
            }
            _ => {
                server.stop_fast().unwrap();
                server.start_again().unwrap();
            }
        }
        let back = Instant::now();
        let before = answered.load(Ordering::SeqCst);
        until(Duration::from_secs(30), async || {
            (answered.load(Ordering::SeqCst) > before).then_some(())
        })
        .await;
        took.push(back.elapsed());
    }
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashes_of_the_server_lose_no_step_and_repeat_none() {
    let (server, database) = own_server(&[]);
    let store = open(Options {
        committers: 2,
        ..database.options()
    })
    .await;
    let (answered, stop) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let streams: Vec<_> = Held::several(&store, 12)
        .await
        .into_iter()
        .map(|held| tokio::spawn(stream(store.clone(), held, answered.clone(), stop.clone())))
        .collect();
    let took = hurt(&server, &answered).await;
    stop.store(true, Ordering::SeqCst);
    let mut steps = 0;
    for one in join_all(streams).await {
        let held = one.unwrap();
        let stored = store.steps(held.id(), 0, 100_000).await.unwrap();
        let numbers: Vec<u64> = stored.iter().map(|(step, _)| step.seq).collect();
        assert_eq!(numbers, (1..=held.state.seq).collect::<Vec<_>>());
        steps += held.state.seq;
    }
    println!("{steps} steps through 7 crashes; commits again after {took:?}");
    assert!(
        took.iter().all(|took| *took < Duration::from_secs(5)),
        "{took:?}"
    );
}

async fn lock_row(client: &tokio_postgres::Client, id: pawl_kernel::id::ExecutionId) {
    client.batch_execute("BEGIN").await.unwrap();
    let lock = "SELECT 1 FROM execution_state WHERE execution_id = $1 FOR UPDATE";
    client.query(lock, &[&id.0]).await.unwrap();
}

/// Commits again until it is done, and says how long that took.
async fn time_of(
    store: &PostgresStore,
    step: Transition,
) -> (Duration, Result<CommitReport, CommitError>) {
    let started = Instant::now();
    let result = store.commit(step).await;
    (started.elapsed(), result)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_somebody_has_locked_holds_up_nobody_else_for_long() {
    let database = database("locked");
    let options = Options {
        lock_timeout: Duration::from_millis(1_000),
        ..database.options()
    };
    let store = open(options.clone()).await;
    let mut held = Held::several(&store, 30).await;
    let client = client(&database.url, &options.schema).await;
    lock_row(&client, held[0].id()).await;
    let steps: Vec<Transition> = held.iter().map(Held::step).collect();
    let answers = join_all(steps.iter().map(|step| time_of(&store, step.clone()))).await;
    let limit = Duration::from_millis(2_000);
    for (index, (took, result)) in answers.iter().enumerate() {
        assert!(*took < limit, "{index} took {took:?}");
        match result {
            Ok(applied) => assert!(applied.seq == 1 && index > 0),
            Err(error) => assert!(index == 0 && unavailable(error), "{index}: {error}"),
        }
    }
    println!(
        "beside a locked row: {:?} at most",
        answers.iter().map(|(took, _)| took).max().unwrap()
    );
    // Nobody waits for it a second time.
    for (held, (step, (_, result))) in held.iter_mut().zip(steps.iter().zip(&answers)) {
        if let Ok(applied) = result {
            held.committed(step, applied);
        }
    }
    let again = join_all(held.iter().map(|one| time_of(&store, one.step()))).await;
    let longest = again.iter().map(|(took, _)| *took).max().unwrap();
    assert!(longest < Duration::from_millis(500), "{longest:?}");
    assert!(unavailable(again[0].1.as_ref().unwrap_err()));
    client.batch_execute("ROLLBACK").await.unwrap();
    held[0].advance(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_is_given_up() {
    let database = database("slow");
    let options = Options {
        lock_timeout: Duration::from_secs(60),
        statement_timeout: Duration::from_millis(500),
        ..database.options()
    };
    let store = open(options.clone()).await;
    let mut held = Held::new(&store, now()).await;
    let client = client(&database.url, &options.schema).await;
    lock_row(&client, held.id()).await;
    let (took, result) = time_of(&store, held.step()).await;
    let error = result.unwrap_err();
    assert!(
        unavailable(&error) && error.to_string().contains("timeout"),
        "{error}"
    );
    assert!(took < Duration::from_millis(1_500), "{took:?}");
    client.batch_execute("ROLLBACK").await.unwrap();
    held.advance(&store).await;
}

/// D54: connections for work are used up; those that keep the cluster alive are not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn busy_connections_stop_no_heartbeat() {
    let database = database("busy");
    let patient = Duration::from_secs(30);
    let options = Options {
        lock_timeout: patient,
        statement_timeout: patient,
        transaction_timeout: patient,
        ..database.options()
    };
    let store = open(options.clone()).await;
    let held = Held::several(&store, 4).await;
    let guid = Uuid::from_u128(u128::from(token()));
    let shards = store.lock_shards(LockRequest {
        guid,
        owner: "me".into(),
        now: now(),
        stale_before: now(),
        unlocked_by: None,
        max: 4,
    });
    assert_eq!(shards.await.unwrap().len(), 4);
    let locker = client(&database.url, &options.schema).await;
    lock_row(&locker, held[0].id()).await;
    locker
        .batch_execute("LOCK TABLE schemas IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let stuck: Vec<_> = (0..8)
        .map(|n| {
            let (store, held) = (store.clone(), held[0].clone());
            tokio::spawn(async move {
                match n % 2 {
                    0 => drop(store.executions(ExecutionFilter::default(), None, 10).await),
                    _ => drop(Held::claim(&store, held.id(), held.now).await),
                }
            })
        })
        .collect();
    // Not the one that holds the locks: within a transaction this view never changes.
    let observer = client(&database.url, &options.schema).await;
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    until(Duration::from_secs(10), async || {
        let count: i64 = observer.query_one(waiting, &[]).await.unwrap().get(0);
        (count == 4).then_some(())
    })
    .await;
    let started = Instant::now();
    let leases = held
        .iter()
        .map(|one| (one.id(), one.state.lease.as_ref().unwrap().token));
    let beats = store
        .heartbeat(leases.collect(), now().plus(Duration::from_secs(900)))
        .await
        .unwrap();
    assert_eq!(beats.len(), 4, "also the one whose row is locked");
    assert_eq!(
        store
            .keep_shards(pawl_testkit::fixture::keep_request(guid, now()))
            .await
            .unwrap()
            .shards()
            .len(),
        4
    );
    let later = now().plus(Duration::from_secs(1_000));
    assert!(store.expired(later, 10).await.unwrap().len() >= 3);
    assert!(
        store
            .reap(held[1].id(), OnStuck::Requeue, later)
            .await
            .unwrap()
            .is_some()
    );
    assert!(store.probe(held[0].id()).await.unwrap().is_some());
    let took = started.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    locker.batch_execute("ROLLBACK").await.unwrap();
    join_all(stuck).await;
}

#[tokio::test]
async fn a_closed_store_answers() {
    let database = database("closed");
    let store = database.store().await;
    let held = Held::new(&store, now()).await;
    store.close();
    let error = store.commit(held.step()).await.unwrap_err();
    assert!(unavailable(&error), "{error}");
    let error = store.execution(held.id()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    let filter = ExecutionFilter {
        statuses: vec![Status::Running],
        ..ExecutionFilter::default()
    };
    assert!(store.count_executions(filter).await.is_err());
}
