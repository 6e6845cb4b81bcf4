//! One row that is locked, unreadable or not as it should be, and what becomes of its neighbours.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{ClaimRequest, Command, Release, Skip};
use pawl_kernel::ports::quotas::QuotaReads;
use pawl_kernel::ports::store::{
    Claim, ControlStore, CreateOutcome, DueTimer, ExecutionStore, LockRequest, RecoveryStore,
    SweepRequest, TimerStore,
};
use pawl_kernel::quota::QuotaUse;
use pawl_kernel::schema::definition::OnStuck;
use pawl_postgres::{Options, PostgresStore};
use pawl_testkit::fixture::{self, pass};
use uuid::Uuid;

use crate::lock_row;
use crate::support::{Held, client, database, new_at, now, open, token, unavailable, until};

/// Commits that are on disk keep their answer, whatever becomes of the rest of their batch.
#[tokio::test]
async fn a_locked_quota_spoils_no_answer_of_others() {
    let database = database("spoilt");
    let short = Options {
        lock_timeout: Duration::from_millis(200),
        ..database.options()
    };
    let store = open(short.clone()).await;
    let mut plain = Held::new(&store, now()).await;
    plain.advance(&store).await;
    let counted = counted(&store, "key:flow-1/a").await;
    let client = client(&database.url, &short.schema).await;
    let lock = "BEGIN; SELECT * FROM quotas FOR UPDATE";
    client.batch_execute(lock).await.unwrap();
    let (step, end, new) = (plain.step(), counted.end(), new_at(now()));
    // Sent in one go, on one thread: they share a batch.
    let (advanced, ended, created) = tokio::join!(
        store.commit(step),
        store.commit(end.clone()),
        store.create(new)
    );
    assert_eq!(advanced.unwrap().seq, 2);
    assert_eq!(created.unwrap(), CreateOutcome::New);
    assert!(unavailable(&ended.unwrap_err()));
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(
        store.commit(end).await.unwrap().ended,
        Some(Status::Completed)
    );
}

/// One execution that counts against a quota of its own, claimed.
async fn counted(store: &PostgresStore, quota: &str) -> Held {
    let mut new = new_at(now());
    let claim = QuotaUse::with_limit(quota.parse().unwrap(), 5, 1);
    new.execution.head.quotas = vec![claim];
    let id = new.execution.head.id;
    assert_eq!(store.create(new).await.unwrap(), CreateOutcome::Admitted);
    Held::claim(store, id, now()).await.unwrap()
}

/// The same key twice in one batch of creations that count: one is there already, and nobody is told that it failed.
#[tokio::test]
async fn counted_creations_with_the_same_key_in_one_batch() {
    let database = database("same_key");
    let store = database.store().await;
    let make = |key: Option<&str>| {
        let mut new = new_at(now());
        new.execution.head.quotas =
            vec![QuotaUse::with_limit("key:flow-1/a".parse().unwrap(), 9, 1)];
        new.execution.record.idempotency_key = key.map(Into::into);
        new
    };
    let (first, second, third) = (make(Some("k")), make(Some("k")), make(None));
    let id = first.execution.head.id;
    let answers = tokio::join!(
        store.create(first),
        store.create(second),
        store.create(third)
    );
    assert_eq!(answers.0.unwrap(), CreateOutcome::Admitted);
    assert_eq!(answers.1.unwrap(), CreateOutcome::Existing(id));
    assert_eq!(answers.2.unwrap(), CreateOutcome::Admitted);
    let quota = store.quota("key:flow-1/a".parse().unwrap()).await.unwrap();
    assert_eq!(quota.unwrap().used, 2);
}

/// Whoever comes back into a line whose quota had gone waits for the one who makes it anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_lines_up_again_overwrites_nobodys_count() {
    let database = database("line_up");
    let options = database.options();
    let store = open(options.clone()).await;
    let limited = || {
        let mut new = new_at(now());
        new.execution.head.quotas =
            vec![QuotaUse::with_limit("key:flow-1/a".parse().unwrap(), 1, 1)];
        new
    };
    let (holder, waiter) = (limited(), limited());
    let (holder_id, waiter_id) = (holder.execution.head.id, waiter.execution.head.id);
    assert_eq!(store.create(holder).await.unwrap(), CreateOutcome::Admitted);
    assert_eq!(store.create(waiter).await.unwrap(), CreateOutcome::InLine);
    let held = Held::claim(&store, holder_id, now()).await.unwrap();
    store
        .command(waiter_id, Command::Pause, now())
        .await
        .unwrap();
    held.finish(&store).await;
    // Another process creates one: it has made the row, and not committed yet.
    let other = client(&database.url, &options.schema).await;
    let add = "BEGIN; INSERT INTO quotas (name, settings_limit, settings_version, used, waiting, share_now, share_high, \
               share_normal, share_low, updated_at) VALUES ('key:flow-1/a', 1, 1, 1, 0, 0, 0, 0, 0, now())";
    other.batch_execute(add).await.unwrap();
    let resumer = store.clone();
    let resumed =
        tokio::spawn(async move { resumer.command(waiter_id, Command::Resume, now()).await });
    until(Duration::from_secs(10), async || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        (database.psql(&options.schema, waiting) == "1").then_some(())
    })
    .await;
    other.batch_execute("COMMIT").await.unwrap();
    resumed.await.unwrap().unwrap();
    let counts = database.psql(&options.schema, "SELECT used, waiting FROM quotas");
    assert_eq!(counts, "1|1");
}

/// After a failover that lost commits another history has come to the same version: it is not taken for the own one.
#[tokio::test]
async fn a_claim_by_guess_is_fenced_by_the_commit() {
    let database = database("rewound");
    let options = database.options();
    let store = open(options.clone()).await;
    let held = Held::new(&store, now()).await;
    let id = held.id();
    let handed_on = fixture::commit(&held.state, now()).steps(1).build();
    store.commit(handed_on).await.unwrap();
    let client = client(&database.url, &options.schema).await;
    let other =
        "UPDATE execution_state SET commit_id = gen_random_uuid(), current_node_id = 'elsewhere'";
    client.batch_execute(other).await.unwrap();
    let mut request = fixture::claim_request(id, 0, now());
    request.message_seq = Some(1);
    let mut claims = store.claim(vec![request], now()).await.unwrap();
    let Claim::Taken(claimed) = claims.remove(0) else {
        panic!("not taken");
    };
    assert_eq!(&*claimed.state.position.node_id, "elsewhere");
    let stored = database.psql(
        &options.schema,
        "SELECT current_node_id FROM execution_state",
    );
    assert_eq!(stored, "elsewhere");
}

/// Sleepers that are due, with their shard locks.
struct Sleepers {
    store: Arc<PostgresStore>,
    ids: Vec<ExecutionId>,
    guid: Uuid,
    due: Vec<DueTimer>,
}

impl Sleepers {
    async fn new(options: Options) -> Self {
        let store = open(options).await;
        let mut ids = Vec::new();
        let past = now().minus(Duration::from_secs(60));
        for held in Held::several(&store, 5).await {
            let wait = fixture::commit(&held.state, past).steps(1);
            let at = past.plus(Duration::from_secs(1));
            let wait = wait.wait(fixture::sleep(token(), at)).build();
            store.commit(wait).await.unwrap();
            ids.push(held.id());
        }
        let guid = Uuid::from_u128(u128::from(token()));
        let request = LockRequest {
            guid,
            owner: "test".into(),
            now: now(),
            stale_before: past,
            unlocked_by: None,
            max: 100,
        };
        let shards = store.lock_shards(request).await.unwrap();
        store
            .collect(pass(guid), &shards, now(), 100)
            .await
            .unwrap();
        let due = store
            .upcoming(&shards, fixture::due_before(now()), 100)
            .await
            .unwrap();
        assert_eq!(due.len(), 5);
        Self {
            store,
            ids,
            guid,
            due,
        }
    }

    /// How many were woken.
    async fn fire(&self) -> usize {
        let fired = self
            .store
            .fire(pass(self.guid), self.due.clone(), now())
            .await;
        fired.unwrap().len()
    }
}

/// What is locked or cannot be read is put off; nobody else sleeps longer for it.
#[tokio::test]
async fn one_bad_row_keeps_nobody_else_asleep() {
    let database = database("asleep");
    let options = database.options();
    let sleepers = Sleepers::new(options.clone()).await;
    let client = client(&database.url, &options.schema).await;
    lock_row(&client, sleepers.ids[0]).await;
    let bad = format!(
        "UPDATE execution_state SET wait_kind = 99 WHERE execution_id = '{}'",
        sleepers.ids[1]
    );
    database.psql(&options.schema, &bad);
    assert_eq!(sleepers.fire().await, 3);
    let left = "SELECT count(*) FROM processing_queue WHERE scheduled_at > now()";
    assert_eq!(database.psql(&options.schema, left), "2");
    client.batch_execute("ROLLBACK").await.unwrap();
    until(Duration::from_secs(5), async || {
        let shards: Vec<u32> = (0..16).collect();
        let due = sleepers
            .store
            .upcoming(&shards, fixture::due_before(now()), 100)
            .await
            .unwrap();
        let woken = sleepers.store.fire(pass(sleepers.guid), due, now()).await;
        (woken.unwrap().len() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn one_bad_row_stops_neither_sweeper_nor_reaper() {
    let database = database("swept");
    let options = database.options();
    let store = open(options.clone()).await;
    let held = Held::several(&store, 4).await;
    let client = client(&database.url, &options.schema).await;
    lock_row(&client, held[0].id()).await;
    let bad = format!(
        "UPDATE execution_state SET hold = 99 WHERE execution_id = '{}'",
        held[1].id()
    );
    database.psql(&options.schema, &bad);
    let later = now().plus(Duration::from_secs(3600));
    for (index, expected) in [(0, false), (1, false), (2, true)] {
        let reaped = store.reap(held[index].id(), OnStuck::Requeue, later).await;
        assert_eq!(reaped.unwrap().is_some(), expected, "{index}");
    }
    let sweep = store
        .sweep(SweepRequest {
            now: later.plus(Duration::from_secs(60)),
            idle_since: [later.plus(Duration::from_secs(30)); 3],
            back_off: Duration::from_secs(10),
            after: None,
            limit: 100,
        })
        .await
        .unwrap();
    let due: Vec<ExecutionId> = sweep.due.iter().map(|one| one.execution_id).collect();
    assert_eq!(due, [held[2].id(), held[3].id()]);
}

/// Two that this store has just handed on, and will claim by guess, and two that it has to read.
async fn claimable(store: &PostgresStore) -> Vec<ClaimRequest> {
    let mut requests = Vec::new();
    for handed_on in [true, false, true, false] {
        let held = Held::new(store, now()).await;
        let next = fixture::commit(&held.state, now()).steps(1).build();
        let lease = vec![(held.id(), next.lease_token)];
        match handed_on {
            true => drop(store.commit(next).await.unwrap()),
            false => drop(store.release(lease, Release::Unbegun, now()).await.unwrap()),
        }
        let mut request = fixture::claim_request(held.id(), token(), now());
        request.message_seq = Some(u64::from(handed_on));
        requests.push(request);
    }
    requests
}

/// A forgotten transaction of a person on one row: the others are claimed, and it is told apart.
#[tokio::test]
async fn one_locked_row_spoils_no_batch_of_claims() {
    let database = database("claims");
    let short = Options {
        lock_timeout: Duration::from_millis(200),
        ..database.options()
    };
    let store = open(short.clone()).await;
    let client = client(&database.url, &short.schema).await;
    for locked in [0, 1] {
        let requests = claimable(&store).await;
        lock_row(&client, requests[locked].execution_id).await;
        let claims = store.claim(requests.clone(), now()).await.unwrap();
        for (place, claim) in claims.iter().enumerate() {
            let expected = match place == locked {
                true => matches!(claim, Claim::Skipped(Skip::Busy)),
                false => matches!(claim, Claim::Taken(_)),
            };
            assert!(expected, "{locked} locked, {place}: {claim:?}");
        }
        client.batch_execute("ROLLBACK").await.unwrap();
        let again = store.claim(vec![requests[locked].clone()], now()).await;
        assert!(matches!(again.unwrap()[0], Claim::Taken(_)));
    }
}
