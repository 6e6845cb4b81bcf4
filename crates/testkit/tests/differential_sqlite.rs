//! The model and SQLite tell the same story.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use pawl_kernel::ports::store::Store;
use pawl_sqlite::{Options, SqliteStore};
use pawl_testkit::differential::{compare, compare_schedules, compare_with_quotas};
use pawl_testkit::model::ModelStore;

const SEEDS: u64 = 200;
const VERBS: usize = 60;
const VERBS_WITH_QUOTAS: usize = 100;
const VERBS_WITH_SCHEDULES: usize = 60;

/// Every commit waits for the disk, so the seeds go side by side.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_agrees_with_the_model() {
    let lanes = (0..8).map(|lane| {
        tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Handle::current();
            let seeds = (0..SEEDS).filter(|seed| seed % 8 == lane);
            seeds.for_each(|seed| runtime.block_on(agree(seed)));
        })
    });
    for lane in lanes.collect::<Vec<_>>() {
        lane.await.unwrap();
    }
}

async fn agree(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let sqlite: Arc<dyn Store> = Arc::new(sqlite);
    compare(seed, VERBS, Arc::new(ModelStore::new()), sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let model = Arc::new(ModelStore::new());
    compare_with_quotas(seed, VERBS_WITH_QUOTAS, model, Arc::new(sqlite)).await;
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let model = Arc::new(ModelStore::new());
    compare_schedules(seed, VERBS_WITH_SCHEDULES, model, Arc::new(sqlite)).await;
}
