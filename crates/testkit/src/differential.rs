//! Two stores, one story: random verbs by seed, each asked of both, every answer and every row compared.
//!
//! Answers are compared as their debug text, so that no field can be forgotten. Left out is what a store
//! may choose: numbers of shards, log lines and dead letters, the words of an error, and the order of
//! lists that the ports leave open.

mod quotas;
mod rows;
mod schedule;
mod verbs;

use std::fmt::Debug;
use std::sync::Arc;

use uuid::Uuid;

use pawl_kernel::execution::State;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::schedule::{ActionError, PutError};
use pawl_kernel::ports::store::{
    CatalogError, CommandError, CommitError, Dispatch, Store, StoreError,
};
use pawl_kernel::time::Timestamp;

use crate::clock::Rng;
use crate::fixture;

/// Plays `length` random verbs on both stores.
///
/// # Panics
/// At the first difference, with the seed and the verbs so far.
pub async fn compare(seed: u64, length: usize, a: Arc<dyn Store>, b: Arc<dyn Store>) {
    play(Story::new(seed, a, b), length).await;
}

/// As [`compare`], with quotas that most executions count against.
///
/// # Panics
/// At the first difference, with the seed and the verbs so far.
pub async fn compare_with_quotas(seed: u64, length: usize, a: Arc<dyn Store>, b: Arc<dyn Store>) {
    let mut story = Story::new(seed, a, b);
    story.quotas = true;
    story.executions = 2 * EXECUTIONS;
    play(story, length).await;
}

pub use schedule::{StoryReport, compare_schedules};

async fn play(mut story: Story, length: usize) {
    let schema = fixture::schema(1);
    story
        .same(async |store| told(store.save_schema(schema.clone()).await))
        .await;
    for _ in 0..length {
        story.verb().await;
        story.compare_executions().await;
    }
    story.compare_all().await;
}

struct Story {
    rng: Rng,
    seed: u64,
    now: Timestamp,
    stores: [Arc<dyn Store>; 2],
    /// Executions made so far are numbered from 1 to this.
    created: u64,
    /// States as claims returned them, for commits that come too late.
    claimed: Vec<State>,
    /// Who works the timers.
    timer_guid: Uuid,
    signals: u64,
    /// Executions count against quotas.
    quotas: bool,
    /// How many are made.
    executions: u64,
    /// What was asked, for the report.
    trace: Vec<String>,
}

/// More executions than this would keep verbs from meeting.
const EXECUTIONS: u64 = 6;

impl Story {
    fn new(seed: u64, a: Arc<dyn Store>, b: Arc<dyn Store>) -> Self {
        let mut rng = Rng::new(seed);
        Self {
            timer_guid: rng.uuid(),
            rng,
            seed,
            now: fixture::at(100),
            stores: [a, b],
            created: 0,
            claimed: Vec::new(),
            signals: 0,
            quotas: false,
            executions: EXECUTIONS,
            trace: Vec::new(),
        }
    }

    /// Asks both stores and compares.
    async fn both<T: Debug>(&self, ask: impl AsyncFn(Arc<dyn Store>) -> T) -> T {
        let left = ask(self.stores[0].clone()).await;
        let right = ask(self.stores[1].clone()).await;
        let same = format!("{left:?}") == format!("{right:?}");
        assert!(same, "{}", self.report(&left, &right));
        left
    }

    /// As [`Story::both`], where the answer is of no further use.
    async fn same<T: Debug>(&self, ask: impl AsyncFn(Arc<dyn Store>) -> T) {
        self.both(ask).await;
    }

    fn report(&self, one: &dyn Debug, other: &dyn Debug) -> String {
        let verbs = self.trace.join("\n  ");
        format!(
            "seed {}: the stores differ after\n  {verbs}\none:\n{one:#?}\nother:\n{other:#?}",
            self.seed
        )
    }

    fn note(&mut self, verb: &str, about: &dyn Debug) {
        self.trace.push(format!("{} {verb} {about:?}", self.now));
    }

    /// One of the executions made so far, or at times one that never was.
    fn any_id(&mut self) -> ExecutionId {
        let one_more = u64::from(self.rng.chance(50));
        fixture::execution_id(1 + self.rng.below(self.created.max(1) + one_more))
    }

    fn later(&mut self, seconds_max: u64) -> Timestamp {
        let micros = self.rng.below(seconds_max * 1_000_000 + 1);
        self.now.plus(std::time::Duration::from_micros(micros))
    }
}

/// An error as far as stores must agree on it.
trait ComparableError {
    fn told(&self) -> String;
}

impl ComparableError for StoreError {
    fn told(&self) -> String {
        let kind = match self {
            Self::Unavailable(_) => "unavailable",
            Self::TooLong(_) => "too long",
            Self::Unknown(_) => "unknown",
            Self::Rejected(_) => "rejected",
            Self::Corrupt(_) => "corrupt",
        };
        kind.to_owned()
    }
}

impl ComparableError for CommitError {
    fn told(&self) -> String {
        match self {
            Self::Refused(refusal) => format!("{refusal:?}"),
            Self::Store(error) => error.told(),
        }
    }
}

impl ComparableError for CommandError {
    fn told(&self) -> String {
        match self {
            Self::Refused(refusal) => format!("{refusal:?}"),
            Self::Store(error) => error.told(),
        }
    }
}

impl ComparableError for CatalogError {
    fn told(&self) -> String {
        match self {
            Self::Store(error) => error.told(),
            other => format!("{other:?}"),
        }
    }
}

impl ComparableError for PutError {
    fn told(&self) -> String {
        match self {
            Self::Exists(exists) => format!("{exists:?}"),
            Self::Store(error) => error.told(),
        }
    }
}

impl ComparableError for ActionError {
    fn told(&self) -> String {
        match self {
            Self::Store(error) => error.told(),
            other => format!("{other:?}"),
        }
    }
}

fn told<T, E: ComparableError>(answer: Result<T, E>) -> Result<T, String> {
    answer.map_err(|error| error.told())
}

/// For lists whose order is open.
fn in_order<E>(answer: Result<Vec<Dispatch>, E>) -> Result<Vec<Dispatch>, E> {
    answer.map(|mut list| {
        list.sort_by_key(|dispatch| dispatch.execution_id);
        list
    })
}
