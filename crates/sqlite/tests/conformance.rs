//! The store and the queue keep the promises of the ports.

use std::sync::{Arc, Mutex};

use pawl_kernel::ports::queue::Queue;
use pawl_kernel::ports::store::Store;
use pawl_sqlite::{EmbeddedQueue, Options, SqliteStore};
use pawl_testkit::{conformance, crowd};
use tempfile::TempDir;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_conforms() {
    let folders: Mutex<Vec<TempDir>> = Mutex::default();
    conformance::store(async || {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        folders.lock().unwrap().push(folder);
        Arc::new(store) as Arc<dyn Store>
    })
    .await;
}

/// Three schedulers on one store: no limit is ever exceeded.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_schedulers_keep_every_limit() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    crowd::at_the_door([store.clone(), store.clone(), store], 300).await;
}

#[tokio::test(start_paused = true)]
async fn the_queue_conforms() {
    conformance::queue(async || Arc::new(EmbeddedQueue::default()) as Arc<dyn Queue>).await;
}
