//! Who counts against a quota: also who was there before it, and with nobody kept waiting by whoever looks after it.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::quotas::{QuotaReads, QuotaStore, Recount, SetQuota};
use pawl_kernel::ports::store::{
    CatalogStore, CreateOutcome, ExecutionStore, NewExecution, QueryStore, StoreError,
};
use pawl_kernel::quota::{QuotaName, QuotaSource, QuotaUse};
use pawl_postgres::{Options, PostgresStore};
use pawl_testkit::fixture;
use support::{Database, Held, client, database, id_at, new_at, now, open, until};

struct Place {
    database: Database,
    options: Options,
    store: Arc<PostgresStore>,
}

fn name(text: &str) -> QuotaName {
    text.parse().unwrap()
}

fn of_tenant(tenant: &str) -> NewExecution {
    let mut new = new_at(now());
    new.execution.record.tenant = Some(tenant.into());
    new
}

/// One that says itself which quotas it counts against.
fn counted(quotas: &[&str]) -> NewExecution {
    let mut new = new_at(now());
    let claims = quotas.iter().map(|quota| QuotaUse::if_set(name(quota)));
    new.execution.head.quotas = claims.collect();
    new
}

impl Place {
    async fn new(name: &str, transactions_last: Duration) -> Self {
        let database = database(name);
        let options = Options {
            transaction_timeout: transactions_last,
            ..database.options()
        };
        let store = open(options.clone()).await;
        store.save_schema(fixture::schema(1)).await.unwrap();
        Self {
            database,
            options,
            store,
        }
    }

    async fn client(&self) -> tokio_postgres::Client {
        client(&self.database.url, &self.options.schema).await
    }

    fn psql(&self, sql: &str) -> String {
        self.database.psql(&self.options.schema, sql)
    }

    async fn set(&self, quota: &str, limit: u32) {
        let set = SetQuota {
            name: name(quota),
            limit,
            rate: None,
            source: QuotaSource::Api,
        };
        self.store.set_quota(set, now()).await.unwrap();
    }

    async fn count_in(&self, quota: &str) -> Result<u64, StoreError> {
        self.store.count_rest(name(quota), now()).await
    }

    async fn enter(&self, new: NewExecution) -> (ExecutionId, CreateOutcome) {
        let id = new.execution.head.id;
        (id, self.store.create(new).await.unwrap())
    }

    async fn use_of(&self, quota: &str) -> (u64, u64) {
        let found = self.store.quota(name(quota)).await.unwrap();
        found.map_or((0, 0), |quota| (quota.used, quota.waiting))
    }

    async fn recount(&self, fix: bool) -> Vec<Recount> {
        self.store.recount(fix, now()).await.unwrap()
    }
}

const LONG: Duration = Duration::from_secs(10);

/// It was being created when the quota was set, by somebody who did not know of it and takes longer than a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_quota_counts_who_is_just_being_created() {
    let place = Place::new("under_way", LONG).await;
    let (first, _) = place.enter(of_tenant("acme")).await;
    let slow = place.client().await;
    let second = id_at(now());
    let copy = format!(
        "CREATE TEMP TABLE e AS SELECT * FROM executions; UPDATE e SET id = '{second}'; \
         CREATE TEMP TABLE s AS SELECT * FROM execution_state; UPDATE s SET execution_id = '{second}'; \
         BEGIN; INSERT INTO executions SELECT * FROM e; INSERT INTO execution_state SELECT * FROM s"
    );
    slow.batch_execute(&copy).await.unwrap();
    place.set("tenant:acme", 1).await;
    let store = place.store.clone();
    let counting = tokio::spawn(async move { store.count_rest(name("tenant:acme"), now()).await });
    // It looks forty times a second, and gives up neither after one nor after two.
    let asked = place.store.questions();
    until(LONG, async || {
        (place.store.questions() > asked + 80).then_some(())
    })
    .await;
    assert!(!counting.is_finished());
    slow.batch_execute("COMMIT").await.unwrap();
    assert_eq!(counting.await.unwrap().unwrap(), 2);
    for id in [first, second] {
        let view = place.store.execution(id).await.unwrap().unwrap();
        assert_eq!(view.execution.head.quotas.len(), 1);
    }
}

/// Rather an error than a quota that does not count everybody; whoever tries again gets it done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_never_ends_is_an_error_and_the_next_try_finishes_it() {
    let place = Place::new("never_ends", Duration::from_millis(500)).await;
    place.enter(of_tenant("acme")).await;
    let endless = place.client().await;
    let begin = "BEGIN; LOCK TABLE executions IN ROW EXCLUSIVE MODE";
    endless.batch_execute(begin).await.unwrap();
    place.set("tenant:acme", 1).await;
    let refused = place.count_in("tenant:acme").await;
    assert!(
        matches!(&refused, Err(StoreError::Unavailable(reason)) if reason.contains("set it again")),
        "{refused:?}"
    );
    assert_eq!(place.use_of("tenant:acme").await, (0, 0));
    endless.batch_execute("ROLLBACK").await.unwrap();
    place.set("tenant:acme", 1).await;
    assert_eq!(place.count_in("tenant:acme").await.unwrap(), 1);
    assert_eq!(place.use_of("tenant:acme").await, (1, 0));
    // From now on it costs one look, whatever else goes on.
    endless.batch_execute(begin).await.unwrap();
    assert_eq!(place.count_in("tenant:acme").await.unwrap(), 0);
}

/// What others do in the same database, or with other tables, is no reason to wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_quota_does_not_wait_for_strangers() {
    let place = Place::new("strangers", Duration::from_millis(500)).await;
    place.enter(of_tenant("acme")).await;
    let stranger = place.client().await;
    let begin = "CREATE TABLE strange (n int); BEGIN; INSERT INTO strange VALUES (1); SELECT count(*) FROM executions";
    stranger.batch_execute(begin).await.unwrap();
    place.set("tenant:acme", 1).await;
    assert_eq!(place.count_in("tenant:acme").await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_looks_at_the_counters_locks_only_what_is_wrong() {
    let place = Place::new("looks", LONG).await;
    for quota in ["tenant:busy", "tenant:wrong"] {
        place.set(quota, 1).await;
        for expected in [CreateOutcome::Admitted, CreateOutcome::InLine] {
            assert_eq!(place.enter(counted(&[quota])).await.1, expected);
        }
    }
    let busy = place.client().await;
    let lock = "BEGIN; SELECT * FROM quotas WHERE name = 'tenant:busy' FOR UPDATE";
    busy.batch_execute(lock).await.unwrap();
    assert_eq!(place.recount(false).await, []);
    assert_eq!(place.recount(true).await, []);
    place.psql(
        "UPDATE quotas SET used = 7, waiting = 0 WHERE name = 'tenant:wrong'; \
         UPDATE admission_lanes SET waiting = 9 WHERE group_id IN \
             (SELECT id FROM admission_groups WHERE quotas LIKE '%wrong%')",
    );
    let expected = Recount {
        name: name("tenant:wrong"),
        used: 7,
        really_used: 1,
        waiting: 0,
        really_waiting: 1,
    };
    for fix in [false, true] {
        assert_eq!(place.recount(fix).await, std::slice::from_ref(&expected));
    }
    assert_eq!(place.recount(false).await, []);
    assert_eq!(place.use_of("tenant:wrong").await, (1, 1));
    assert_eq!(
        place.psql("SELECT DISTINCT waiting FROM admission_lanes"),
        "1"
    );
}

/// The look itself waits for nobody: not even if every quota is locked and a wrong one is among them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_fix_nothing_is_locked() {
    let place = Place::new("only_looks", LONG).await;
    place.set("tenant:a", 1).await;
    place.psql("UPDATE quotas SET used = 7");
    let busy = place.client().await;
    busy.batch_execute("BEGIN; SELECT * FROM quotas FOR UPDATE")
        .await
        .unwrap();
    let wrong = place.recount(false).await;
    assert_eq!((wrong.len(), wrong[0].used), (1, 7));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_counter_that_moves_is_not_wrong() {
    let place = Place::new("moves", LONG).await;
    place.set("tenant:a", 3).await;
    let stores = (0..4).map(|_| place.store.clone());
    let busy: Vec<_> = stores
        .map(|store| {
            tokio::spawn(async move {
                for _ in 0..40 {
                    let new = counted(&["tenant:a", "key:flow-1/x"]);
                    let id = new.execution.head.id;
                    store.create(new).await.unwrap();
                    store.admit(now(), 10).await.unwrap();
                    if let Some(held) = Held::claim(&store, id, now()).await {
                        held.finish(&store).await;
                    }
                }
            })
        })
        .collect();
    let mut looks = 0;
    while !busy.iter().all(|task| task.is_finished()) {
        assert_eq!(place.recount(looks % 2 == 1).await, []);
        looks += 1;
    }
    for task in busy {
        task.await.unwrap();
    }
    assert!(looks > 5, "{looks}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_whose_row_is_gone_is_found_and_comes_back_with_its_limit() {
    let place = Place::new("row_gone", LONG).await;
    let keyed = || {
        let mut new = new_at(now());
        new.execution.head.quotas = vec![QuotaUse::with_limit(name("key:flow-1/x"), 1, 3)];
        new
    };
    for expected in [CreateOutcome::Admitted, CreateOutcome::InLine] {
        assert_eq!(place.enter(keyed()).await.1, expected);
    }
    place.psql("DELETE FROM quotas");
    let expected = Recount {
        name: name("key:flow-1/x"),
        used: 0,
        really_used: 1,
        waiting: 0,
        really_waiting: 1,
    };
    for fix in [false, true] {
        assert_eq!(place.recount(fix).await, std::slice::from_ref(&expected));
    }
    assert_eq!(place.recount(false).await, []);
    let quota = place.store.quota(name("key:flow-1/x")).await.unwrap();
    assert_eq!(quota.unwrap().limit(), Some(1));
    let admitted = place.store.admit(now(), 10).await.unwrap();
    assert!(admitted.dispatches.is_empty(), "the limit holds again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_is_gone_comes_back() {
    let place = Place::new("lane_gone", LONG).await;
    place.set("tenant:acme", 1).await;
    place.enter(counted(&["tenant:acme"])).await;
    let (second, _) = place.enter(counted(&["tenant:acme"])).await;
    place.psql("DELETE FROM admission_lanes");
    place.set("tenant:acme", 2).await;
    assert_eq!(place.recount(true).await, [], "the quota itself is right");
    let admitted = until(Duration::from_secs(5), async || {
        let look = place.store.admit(now(), 10).await.unwrap();
        look.dispatches.first().map(|one| one.execution_id)
    });
    assert_eq!(admitted.await, second);
}
