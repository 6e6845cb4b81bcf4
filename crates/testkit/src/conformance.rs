//! What every store and every queue must do, as suites that a crate calls in a few lines:
//!
//! ```text
//! #[tokio::test]
//! async fn conforms() {
//!     pawl_testkit::conformance::store(async || Arc::new(SqliteStore::open(...)) as Arc<dyn Store>).await;
//! }
//! ```
//!
//! Each case gets a fresh store and states one promise of the ports; its name is the promise. All cases
//! run, also after a failure, so that one run tells everything that is wrong.

mod catalog;
mod claim;
mod command;
mod commit;
mod create;
mod editor;
mod history;
mod keys;
mod letters;
mod note;
mod overview;
mod payload;
mod query;
mod queue_cases;
mod quota;
mod recovery;
mod retention;
mod scene;
mod schedule;
mod sessions;
mod signal;
mod timer;
mod webhooks;
mod workers;

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;

use pawl_kernel::ports::queue::Queue;
use pawl_kernel::ports::store::Store;

pub use scene::Scene;

pub type Run = Pin<Box<dyn Future<Output = ()> + Send>>;
pub type StoreCase = (&'static str, fn(Scene) -> Run);
pub type QueueCase = (&'static str, fn(Arc<dyn Queue>) -> Run);

/// Lists the cases of a module under their names.
macro_rules! cases {
    ($group:literal: $($case:ident),+ $(,)?) => {
        &[$((concat!($group, "::", stringify!($case)), |given| Box::pin($case(given)))),+]
    };
}
use cases;

/// The store's cases, by area.
pub const CASES: &[&[StoreCase]] = &[
    create::CASES,
    claim::CASES,
    commit::CASES,
    timer::CASES,
    schedule::CASES,
    schedule::work::CASES,
    signal::CASES,
    command::CASES,
    recovery::CASES,
    catalog::CASES,
    query::CASES,
    history::CASES,
    overview::CASES,
    keys::CASES,
    sessions::CASES,
    letters::CASES,
    note::CASES,
    editor::CASES,
    retention::CASES,
    webhooks::CASES,
    workers::CASES,
    payload::CASES,
    quota::CASES,
];

pub const QUEUE_CASES: &[QueueCase] = queue_cases::CASES;

/// Runs every case on a store of its own.
///
/// # Panics
/// At the end, with the names of the cases that failed.
pub async fn store<F>(make: F)
where
    F: AsyncFn() -> Arc<dyn Store>,
{
    let mut failed = Vec::new();
    for (name, case) in CASES.iter().copied().flatten() {
        let scene = Scene::open(make().await).await;
        failed.extend(outcome(name, case(scene)).await);
    }
    report(CASES.iter().map(|cases| cases.len()).sum(), &failed);
}

/// Runs every case on a queue of its own.
///
/// # Panics
/// At the end, with the names of the cases that failed.
pub async fn queue<F>(make: F)
where
    F: AsyncFn() -> Arc<dyn Queue>,
{
    let mut failed = Vec::new();
    for (name, case) in QUEUE_CASES {
        failed.extend(outcome(name, case(make().await)).await);
    }
    report(QUEUE_CASES.len(), &failed);
}

async fn outcome(name: &'static str, run: Run) -> Option<&'static str> {
    println!("case {name}");
    let failed = AssertUnwindSafe(run).catch_unwind().await.is_err();
    failed.then_some(name)
}

fn report(total: usize, failed: &[&str]) {
    assert!(
        failed.is_empty(),
        "{} of {total} cases failed: {}",
        failed.len(),
        failed.join(", ")
    );
}
