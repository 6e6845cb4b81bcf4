//! Two processes' worth of stores on the same executions: whoever lost the lease is fenced off, and nobody waits for
//! each other in a circle.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{Command, CommitRefusal};
use pawl_kernel::ports::store::{
    CatalogStore, Claim, CommandError, CommitError, ControlStore, CreateOutcome, ExecutionStore,
    QueryStore, RecoveryStore,
};
use pawl_kernel::quota::QuotaUse;
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Timestamp;
use pawl_postgres::{Options, PostgresStore};
use pawl_testkit::clock::Rng;
use pawl_testkit::fixture;
use support::{Database, Held, new_at, now, open, own_server, token};
use uuid::Uuid;
use xtask::services::{PgBouncer, PoolMode};

const EXECUTIONS: usize = 24;
const BATCHES: u64 = 5_000;
/// Two for each store.
const WORKERS: u64 = 4;
const LEASE: Duration = Duration::from_secs(8);

/// What all workers share: a clock that moves with every batch, so that leases run out, and who committed what.
struct Contest {
    ids: Vec<ExecutionId>,
    clock: AtomicI64,
    committed: Mutex<BTreeMap<(ExecutionId, u64), Uuid>>,
    fenced: AtomicU64,
    taken: AtomicU64,
}

impl Contest {
    /// Half a second per batch: a lease lasts for 16 of them, which is four of each worker.
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.clock.fetch_add(500_000, Ordering::SeqCst))
    }

    fn some(&self, rng: &mut Rng) -> Vec<ExecutionId> {
        let count = 1 + rng.below(8) as usize;
        (0..count)
            .map(|_| self.ids[rng.below(EXECUTIONS as u64) as usize])
            .collect()
    }
}

/// One worker's hands; what it holds may long be somebody else's.
struct Worker {
    store: Arc<PostgresStore>,
    contest: Arc<Contest>,
    rng: Rng,
    held: HashMap<ExecutionId, Held>,
}

impl Worker {
    async fn work(mut self, batches: u64) {
        for _ in 0..batches {
            match self.rng.below(10) {
                0..=2 => self.claim().await,
                3..=6 => self.commit().await,
                7 => self.command().await,
                8 => self.heartbeat().await,
                _ => self.reap().await,
            }
        }
    }

    async fn claim(&mut self) {
        let now = self.contest.now();
        let request = |id| {
            let mut request = fixture::claim_request(id, 0, now);
            request.lease.token = Uuid::from_u128(u128::from(token()));
            request.lease.until = now.plus(LEASE);
            request.max_recoveries = 1_000_000;
            request
        };
        let requests: Vec<_> = self
            .contest
            .some(&mut self.rng)
            .into_iter()
            .map(request)
            .collect();
        let claims = self.store.claim(requests, now).await.unwrap();
        for claim in claims {
            if let Claim::Taken(taken) = claim {
                self.contest.taken.fetch_add(1, Ordering::SeqCst);
                let held = Held {
                    state: taken.state,
                    now,
                };
                self.held.insert(held.id(), held);
            }
        }
    }

    /// Half of what it thinks it holds, at once.
    async fn commit(&mut self) {
        let now = self.contest.now();
        let mut steps = Vec::new();
        for held in self.held.values_mut() {
            if self.rng.below(2) == 0 {
                continue;
            }
            held.now = now;
            let keep = now.plus(LEASE);
            let commit = fixture::commit(&held.state, now)
                .steps(1 + self.rng.below(2))
                .keep(keep);
            let mut step = commit.build();
            step.commit_id = Uuid::from_u128(u128::from(token()) << 64);
            steps.push(step);
        }
        let sent = steps.iter().map(|step| self.store.commit(step.clone()));
        let answers = futures_util::future::join_all(sent).await;
        for (step, answer) in steps.iter().zip(answers) {
            match answer {
                Ok(applied) => {
                    self.note(
                        step.execution_id,
                        step.expected_seq,
                        applied.seq,
                        step.lease_token,
                    );
                    let held = self.held.get_mut(&step.execution_id).unwrap();
                    held.committed(step, &applied);
                    if !applied.lease_kept {
                        self.held.remove(&step.execution_id);
                    }
                }
                Err(CommitError::Refused(CommitRefusal::Fenced)) => {
                    self.contest.fenced.fetch_add(1, Ordering::SeqCst);
                    self.held.remove(&step.execution_id);
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    fn note(&self, id: ExecutionId, expected: u64, seq: u64, token: Uuid) {
        let mut committed = self.contest.committed.lock().unwrap();
        for step in expected + 1..=seq {
            let before = committed.insert((id, step), token);
            assert_eq!(before, None, "step {step} of {id} was committed twice");
        }
    }

    async fn command(&mut self) {
        let now = self.contest.now();
        for id in self.contest.some(&mut self.rng) {
            let signal = fixture::signal(&format!("s{}", token()), "news", now);
            let command = match self.rng.below(3) {
                0 => Command::Pause,
                1 => Command::Resume,
                _ => Command::Signal(signal),
            };
            match self.store.command(id, command, now).await {
                Ok(_) | Err(CommandError::Refused(_)) => {}
                Err(CommandError::Store(error)) => panic!("{error}"),
            }
        }
    }

    async fn heartbeat(&mut self) {
        let now = self.contest.now();
        let leases = self
            .held
            .values()
            .filter_map(|held| Some((held.id(), held.state.lease.as_ref()?.token)));
        let until = now.plus(LEASE);
        let beats = self.store.heartbeat(leases.collect(), until).await.unwrap();
        // Half of those it lost go on all the same: zombies that have not listened.
        let mine: Vec<ExecutionId> = beats.iter().map(|beat| beat.execution_id).collect();
        let rng = &mut self.rng;
        self.held
            .retain(|id, _| mine.contains(id) || rng.below(2) == 0);
    }

    async fn reap(&mut self) {
        let now = self.contest.now();
        for expired in self.store.expired(now, 100).await.unwrap() {
            let id = expired.execution_id;
            self.store.reap(id, OnStuck::Requeue, now).await.unwrap();
        }
    }
}

async fn contest(stores: Vec<Arc<PostgresStore>>, seed: u64) {
    let start = now();
    let mut ids = Vec::new();
    for _ in 0..EXECUTIONS {
        let new = new_at(start);
        ids.push(new.execution.head.id);
        stores[0].create(new).await.unwrap();
    }
    let contest = Arc::new(Contest {
        ids,
        clock: AtomicI64::new(start.as_micros()),
        committed: Mutex::default(),
        fenced: AtomicU64::new(0),
        taken: AtomicU64::new(0),
    });
    let workers: Vec<_> = (0..WORKERS)
        .map(|number| {
            let worker = Worker {
                store: stores[number as usize % stores.len()].clone(),
                contest: contest.clone(),
                rng: Rng::new(seed * 100 + number),
                held: HashMap::new(),
            };
            tokio::spawn(worker.work(BATCHES / WORKERS))
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    judge(&stores[0], &contest).await;
}

async fn judge(store: &PostgresStore, contest: &Contest) {
    let committed = contest.committed.lock().unwrap().clone();
    for id in &contest.ids {
        let stored = store.steps(*id, 0, 100_000).await.unwrap();
        let numbers: Vec<u64> = stored.iter().map(|(step, _)| step.seq).collect();
        let answered: Vec<u64> = committed
            .keys()
            .filter(|(of, _)| of == id)
            .map(|(_, seq)| *seq)
            .collect();
        assert_eq!(numbers, answered, "what was answered is what is stored");
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    }
    let (steps, fenced, taken) = (
        committed.len(),
        contest.fenced.load(Ordering::SeqCst),
        contest.taken.load(Ordering::SeqCst),
    );
    println!(
        "{BATCHES} batches: {taken} leases, {steps} steps, {fenced} commits of zombies refused"
    );
    assert!(
        steps > 500 && fenced > 20 && taken > 100,
        "too little happened"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zombies_are_fenced_and_nobody_waits_in_a_circle() {
    let (server, database) = own_server(&[("deadlock_timeout", "200ms")]);
    let options = Options {
        committers: 2,
        ..database.options()
    };
    let stores = vec![open(options.clone()).await, open(options).await];
    contest(stores, 1).await;
    assert_eq!(
        server
            .psql("SELECT sum(deadlocks) FROM pg_stat_database")
            .unwrap(),
        "0"
    );
}

/// A key's row goes while a creation waits for its lock, and comes again in somebody else's transaction, who then wants
/// the schema's row: the creation must not keep that one while it waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_that_vanishes_is_not_waited_for_in_a_circle() {
    let database = support::database("quota_circle");
    let options = database.options();
    let schema = options.schema.clone();
    let store = open(options).await;
    store.save_schema(fixture::schema(1)).await.unwrap();
    let limited = |count: i64| {
        let mut new = new_at(now().plus(Duration::from_millis(count as u64)));
        new.execution.head.quotas = vec![
            QuotaUse::with_limit("key:flow-1/a".parse().unwrap(), 9, 1),
            QuotaUse::with_limit("schema:flow-1".parse().unwrap(), 9, 1),
        ];
        new
    };
    assert_eq!(
        store.create(limited(0)).await.unwrap(),
        CreateOutcome::Admitted
    );
    let one = support::client(&database.url, &schema).await;
    let other = support::client(&database.url, &schema).await;
    let begun = "BEGIN; SELECT * FROM quotas WHERE name = 'key:flow-1/a' FOR UPDATE";
    one.batch_execute(begun).await.unwrap();
    let creator = store.clone();
    let creation = tokio::spawn(async move { creator.create(limited(1)).await });
    wait_for_a_lock(&database, &schema, 1).await;
    let delete = "DELETE FROM quotas WHERE name = 'key:flow-1/a'";
    one.batch_execute(delete).await.unwrap();
    let again = tokio::spawn(async move {
        let add = "BEGIN; INSERT INTO quotas (name, settings_version, used, waiting, share_now, share_high, \
                   share_normal, share_low, updated_at) VALUES ('key:flow-1/a', 0, 1, 0, 0, 0, 0, 0, now()) ON CONFLICT DO NOTHING";
        other.batch_execute(add).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        let then = "SELECT * FROM quotas WHERE name = 'schema:flow-1' FOR UPDATE; COMMIT";
        other.batch_execute(then).await
    });
    wait_for_a_lock(&database, &schema, 2).await;
    one.batch_execute("COMMIT").await.unwrap();
    again.await.unwrap().unwrap();
    assert_eq!(creation.await.unwrap().unwrap(), CreateOutcome::Admitted);
    assert_eq!(
        database.psql(
            &schema,
            "SELECT used FROM quotas WHERE name = 'schema:flow-1'"
        ),
        "2"
    );
}

/// Until so many sessions wait for others.
async fn wait_for_a_lock(database: &Database, schema: &str, count: u32) {
    let ask = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN \
               (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    for _ in 0..500 {
        if database.psql(schema, ask).trim().parse() == Ok(count) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nobody waits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_behind_a_pooler() {
    let (server, _) = own_server(&[("deadlock_timeout", "200ms")]);
    let pooler = PgBouncer::start(server.port(), PoolMode::Transaction).unwrap();
    let database = Database::at(pooler.url("postgres"));
    let options = Options {
        committers: 2,
        pooler: true,
        ..database.options()
    };
    let stores = vec![open(options.clone()).await, open(options).await];
    contest(stores, 2).await;
    assert_eq!(
        server
            .psql("SELECT sum(deadlocks) FROM pg_stat_database")
            .unwrap(),
        "0"
    );
}
