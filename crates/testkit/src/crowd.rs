//! A crowd before the door: three processes' worth of stores on the same quotas, in real time and on real threads.
//! All of them create, admit, run, stop and pause at once; afterwards the recorded steps tell how many were under
//! way at each instant.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pawl_kernel::execution::{PriorityClass, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::Command;
use pawl_kernel::ports::quotas::SetQuota;
use pawl_kernel::ports::store::{
    Claim, CommandError, CommitError, CreateOutcome, NewExecution, Store,
};
use pawl_kernel::quota::{QuotaSource, QuotaUse};
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

use crate::clock::Rng;
use crate::fixture;

/// How long everything may take together.
const PATIENCE: Duration = Duration::from_secs(120);
/// Executions under way at once: of the schema, of each key, of the tenant.
const OF_SCHEMA: u32 = 4;
const OF_KEY: u32 = 1;
const OF_TENANT: u32 = 2;

/// `each`: how many executions each of the three creates.
///
/// # Panics
/// If a limit was exceeded, if an execution was never admitted, if a store failed, or if nothing was contested.
pub async fn at_the_door(stores: [Arc<dyn Store>; 3], each: u64) {
    let first = stores[0].clone();
    first.save_schema(fixture::schema(1)).await.unwrap();
    set(&first, "tenant:acme", OF_TENANT).await;
    let crowd = Arc::new(Crowd::default());
    let schedulers: Vec<_> = stores
        .iter()
        .map(|store| tokio::spawn(crowd.clone().schedule(store.clone())))
        .collect();
    let creators: Vec<_> = (0..)
        .zip(&stores)
        .map(|(number, store)| tokio::spawn(crowd.clone().create(store.clone(), number, each)))
        .collect();
    let mut all = Vec::new();
    for creator in creators {
        all.extend(creator.await.unwrap());
    }
    let end = tokio::time::timeout(PATIENCE, all_ended(&first, &all)).await;
    if end.is_err() {
        tell_who_waits(&first, &all).await;
    }
    crowd.done.store(true, Ordering::SeqCst);
    for scheduler in schedulers {
        scheduler.await.unwrap();
    }
    assert!(crowd.admitted.load(Ordering::SeqCst) > each / 2);
    judge(&first, &all).await;
}

#[allow(clippy::disallowed_methods)] // Real threads race in real time here.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_micros(since.as_micros() as i64)
}

async fn set(store: &Arc<dyn Store>, quota: &str, limit: u32) {
    let set = SetQuota {
        name: quota.parse().unwrap(),
        limit,
        rate: None,
        source: QuotaSource::Api,
    };
    store.set_quota(set, now()).await.unwrap();
}

#[derive(Default)]
struct Crowd {
    done: AtomicBool,
    admitted: AtomicU64,
    tokens: AtomicU64,
}

/// What one execution counts against, by the test's own reckoning.
type Counted = (ExecutionId, Vec<(String, u32)>);

fn execution(number: u64, n: u64) -> (NewExecution, Vec<(String, u32)>) {
    let mut new = fixture::new_execution(1 + n * 3 + number);
    let (key, tenant) = (n % 5, n.is_multiple_of(3));
    let name = |text: String| text.parse().unwrap();
    let mut limits = vec![
        (format!("key:flow-1/{key}"), OF_KEY),
        ("schema:flow-1".to_owned(), OF_SCHEMA),
    ];
    let claims = &mut new.execution.head.quotas;
    for (quota, limit) in &limits {
        claims.push(QuotaUse::with_limit(name(quota.clone()), *limit, 1));
    }
    if tenant {
        claims.push(QuotaUse::if_set(name("tenant:acme".into())));
        limits.push(("tenant:acme".into(), OF_TENANT));
    }
    new.execution.head.priority = PriorityClass::ALL[(n % 3) as usize];
    new.execution.head.created_at = now();
    new.state.updated_at = now();
    (new, limits)
}

impl Crowd {
    /// Creates its share, runs what is admitted at once, and changes its mind about some.
    async fn create(
        self: Arc<Self>,
        store: Arc<dyn Store>,
        number: u64,
        each: u64,
    ) -> Vec<Counted> {
        let mut rng = Rng::new(number);
        let mut made = Vec::new();
        for n in 0..each {
            let (new, limits) = execution(number, n);
            let id = new.execution.head.id;
            match store.create(new).await.unwrap() {
                CreateOutcome::Admitted => {
                    tokio::spawn(self.clone().run(store.clone(), id));
                }
                CreateOutcome::InLine if rng.chance(100) => {
                    change_mind(&store, id, Command::Stop).await
                }
                CreateOutcome::InLine if rng.chance(150) => {
                    change_mind(&store, id, Command::Pause).await;
                    tokio::task::yield_now().await;
                    change_mind(&store, id, Command::Resume).await;
                }
                CreateOutcome::InLine => {}
                other => panic!("{other:?}"),
            }
            made.push((id, limits));
        }
        made
    }

    /// A scheduler that never waits to be told.
    async fn schedule(self: Arc<Self>, store: Arc<dyn Store>) {
        while !self.done.load(Ordering::SeqCst) {
            let look = store.admit(now(), 8).await.unwrap();
            let some = look.dispatches.len() as u64;
            self.admitted.fetch_add(some, Ordering::SeqCst);
            for dispatch in look.dispatches {
                tokio::spawn(self.clone().run(store.clone(), dispatch.execution_id));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// One step that takes a moment, and the end.
    async fn run(self: Arc<Self>, store: Arc<dyn Store>, id: ExecutionId) {
        let token = self.tokens.fetch_add(1, Ordering::SeqCst);
        let began = now();
        let mut request = fixture::claim_request(id, token, began);
        request.lease.token = Uuid::from_u64_pair(7, token);
        let claim = store.claim(vec![request], began).await.unwrap().pop();
        // Its creator may have paused or stopped it in between.
        let Some(Claim::Taken(claimed)) = claim else {
            return;
        };
        tokio::time::sleep(Duration::from_millis(1 + token % 3)).await;
        let commit = fixture::commit(&claimed.state, now()).steps(1);
        let commit = commit.end(Status::Completed).with(|transition| {
            let step = &mut Arc::make_mut(&mut transition.steps)[0];
            (step.started_at, step.finished_at) = (began, now());
        });
        match store.commit(commit.build()).await {
            Ok(_) | Err(CommitError::Refused(_)) => {}
            Err(CommitError::Store(error)) => panic!("{error}"),
        }
    }
}

async fn change_mind(store: &Arc<dyn Store>, id: ExecutionId, command: Command) {
    match store.command(id, command, now()).await {
        Ok(_) | Err(CommandError::Refused(_)) => {}
        Err(CommandError::Store(error)) => panic!("{error}"),
    }
}

/// An execution that was paused just after admission has no message; it gets another one, as a sweeper would send.
async fn all_ended(store: &Arc<dyn Store>, all: &[Counted]) {
    let helper = Arc::new(Crowd {
        tokens: AtomicU64::new(1_000_000),
        ..Crowd::default()
    });
    let mut left: Vec<ExecutionId> = all.iter().map(|(id, _)| *id).collect();
    while !left.is_empty() {
        // In rounds: one in line may wait for the place of one that comes later in the list.
        for id in std::mem::take(&mut left) {
            let view = store.execution(id).await.unwrap().unwrap();
            if view.execution.head.status.is_terminal() {
                continue;
            }
            left.push(id);
            if view.state.is_runnable() && view.state.lease.is_none() {
                helper.clone().run(store.clone(), id).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// # Panics
/// Always, with what is known of those who never came in.
async fn tell_who_waits(store: &Arc<dyn Store>, all: &[Counted]) {
    let mut left = String::new();
    for (id, _) in all {
        let view = store.execution(*id).await.unwrap().unwrap();
        if !view.execution.head.status.is_terminal() {
            let place = store.admission_position(*id).await.unwrap();
            left += &format!("{:?}\n{:?}\n{place:?}\n", view.execution, view.state);
        }
    }
    let quotas = store.quotas(false, None, 100).await.unwrap();
    let miscounted = store.recount(false, now()).await.unwrap();
    panic!("somebody never came in:\n{left}{quotas:?}\n{miscounted:?}");
}

async fn judge(store: &Arc<dyn Store>, all: &[Counted]) {
    #[allow(clippy::type_complexity)] // Per quota: its limit, and when its use went up or down.
    let mut edges: BTreeMap<&str, (u32, Vec<(Timestamp, i32)>)> = BTreeMap::new();
    for (id, limits) in all {
        let steps = store.steps(*id, 0, 10).await.unwrap();
        for (step, _) in &steps {
            for (quota, limit) in limits {
                let (_, edges) = edges.entry(quota).or_insert((*limit, Vec::new()));
                edges.extend([(step.started_at, 1), (step.finished_at, -1)]);
            }
        }
    }
    assert_eq!(edges.len(), 7);
    let mut contested = 0;
    for (quota, (limit, mut edges)) in edges {
        // Ends first: at the same microsecond the end was on disk before the next one was admitted.
        edges.sort_unstable();
        let (mut there, mut most) = (0, 0);
        for (_, step) in edges {
            there += step;
            most = most.max(there);
        }
        assert!(
            most <= limit as i32,
            "{quota}: {most} at once, {limit} allowed"
        );
        contested += u32::from(most == limit as i32);
    }
    assert!(contested >= 6, "only {contested} quotas were ever full");
    assert_eq!(store.recount(false, now()).await.unwrap(), []);
    let left = store.quotas(false, None, 100).await.unwrap();
    let left: Vec<_> = left.iter().map(|q| (q.name.as_str(), q.used)).collect();
    assert_eq!(left, [("tenant:acme", 0)]);
}
