//! A database of its own for each test, a namespace in it for each store, and executions that a worker holds.

// Every test target uses its own part of this.
#![allow(dead_code, clippy::unwrap_used, clippy::disallowed_methods)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pawl_kernel::execution::{State, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{
    Claim, CommitError, CreateOutcome, ExecutionStore, NewExecution, StoreError,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{CommitReport, Transition};
use pawl_postgres::{OpenError, Options, PostgresStore};
use pawl_testkit::fixture;
use tokio_postgres::NoTls;
use uuid::Uuid;
use xtask::services::{Postgres, PostgresOptions};

pub(crate) struct Database {
    pub(crate) url: String,
    stores: AtomicU32,
}

/// A new database in the server that all tests share.
pub(crate) fn database(name: &str) -> Database {
    Database::at(xtask::services::fresh_database(name).unwrap())
}

/// A server that only this test uses, and its database `postgres`.
pub(crate) fn own_server(settings: &[(&str, &str)]) -> (Postgres, Database) {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let server = Postgres::start(PostgresOptions {
        settings: settings.iter().map(own).collect(),
        ..PostgresOptions::default()
    })
    .unwrap();
    let database = Database::at(server.url());
    (server, database)
}

impl Database {
    pub(crate) fn at(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            stores: AtomicU32::new(0),
        }
    }

    /// A namespace that no other store has. Small pools: a suite opens hundreds of stores.
    pub(crate) fn options(&self) -> Options {
        let number = self.stores.fetch_add(1, Ordering::Relaxed);
        Options {
            schema: format!("pawl_{number}"),
            ..options(&self.url)
        }
    }

    pub(crate) async fn store(&self) -> Arc<PostgresStore> {
        open(self.options()).await
    }

    /// What psql prints, in one of the namespaces.
    pub(crate) fn psql(&self, schema: &str, sql: &str) -> String {
        let sql = format!("SET search_path = {schema};\n{sql}");
        xtask::services::psql(&self.url, &sql).unwrap()
    }
}

pub(crate) fn options(url: &str) -> Options {
    Options {
        committers: 1,
        writers: 2,
        readers: 2,
        ..Options::new(url)
    }
}

pub(crate) async fn open(options: Options) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(options).await.unwrap())
}

pub(crate) async fn refused(options: Options) -> OpenError {
    match PostgresStore::open(options).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

/// A connection that is none of the store's.
pub(crate) async fn client(url: &str, schema: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let path = format!("SET search_path = {schema}");
    client.batch_execute(&path).await.unwrap();
    client
}

pub(crate) fn now() -> Timestamp {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_micros(passed.as_micros() as i64)
}

/// An id as it is drawn at that time.
pub(crate) fn id_at(time: Timestamp) -> ExecutionId {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let mut random = [0_u8; 10];
    random[..8].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    let millis = time.as_micros() as u64 / 1000;
    ExecutionId(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
}

/// An execution as it is created at that time.
pub(crate) fn new_at(time: Timestamp) -> NewExecution {
    let mut new = fixture::new_execution(0);
    let id = id_at(time);
    new.execution.head.id = id;
    new.execution.head.created_at = time;
    new.execution.head.queued_at = Some(time);
    new.state.execution_id = id;
    new.state.updated_at = time;
    new.state.position.entered_at = time;
    new
}

/// An execution and the lease on it.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) state: State,
    pub(crate) now: Timestamp,
}

impl Held {
    /// Creates and claims.
    pub(crate) async fn new(store: &PostgresStore, now: Timestamp) -> Self {
        let new = new_at(now);
        let id = new.execution.head.id;
        assert_eq!(store.create(new).await.unwrap(), CreateOutcome::New);
        Self::claim(store, id, now).await.unwrap()
    }

    pub(crate) async fn several(store: &PostgresStore, count: usize) -> Vec<Self> {
        let now = now();
        let born = (0..count).map(|_| Self::new(store, now));
        futures_util::future::join_all(born).await
    }

    /// `None`: somebody else has it, or it has ended.
    pub(crate) async fn claim(
        store: &PostgresStore,
        id: ExecutionId,
        now: Timestamp,
    ) -> Option<Self> {
        let mut request = fixture::claim_request(id, 0, now);
        request.lease.token = Uuid::from_u128(u128::from(token()));
        request.lease.until = now.plus(Duration::from_secs(600));
        request.max_recoveries = 1_000_000;
        let mut claims = store.claim(vec![request], now).await.unwrap();
        match claims.remove(0) {
            Claim::Taken(taken) => Some(Self {
                state: taken.state,
                now,
            }),
            _ => None,
        }
    }

    pub(crate) fn id(&self) -> ExecutionId {
        self.state.execution_id
    }

    /// The next step, with the lease kept.
    pub(crate) fn step(&self) -> Transition {
        let until = self.now.plus(Duration::from_secs(600));
        let mut step = fixture::commit(&self.state, self.now)
            .steps(1)
            .keep(until)
            .build();
        step.commit_id = Uuid::from_u128(u128::from(token()) << 64);
        step
    }

    pub(crate) fn end(&self) -> Transition {
        let commit = fixture::commit(&self.state, self.now).steps(1);
        commit.end(Status::Completed).build()
    }

    /// Takes note of a commit that was answered.
    pub(crate) fn committed(&mut self, transition: &Transition, applied: &CommitReport) {
        self.state.seq = applied.seq;
        self.state.version = applied.version;
        self.state.position = transition.next.position().clone();
    }

    /// Commits one step; it must succeed.
    pub(crate) async fn advance(&mut self, store: &PostgresStore) {
        let step = self.step();
        let applied = store.commit(step.clone()).await.unwrap();
        self.committed(&step, &applied);
    }

    pub(crate) async fn finish(&self, store: &PostgresStore) {
        store.commit(self.end()).await.unwrap();
    }
}

/// A number that no other call gets.
pub(crate) fn token() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Asks again until there is an answer.
pub(crate) async fn until<T>(limit: Duration, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(started.elapsed() < limit, "nothing within {limit:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn unavailable(error: &CommitError) -> bool {
    matches!(error, CommitError::Store(StoreError::Unavailable(_)))
}
