//! The store and the queue keep the promises of the ports.

use std::sync::{Arc, Mutex};

use pawl_kernel::ports::queue::Queue;
use pawl_kernel::ports::store::Store;
use pawl_sqlite::{EmbeddedQueue, Options, SqliteStore};
use pawl_testkit::conformance;
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

#[tokio::test(start_paused = true)]
async fn the_queue_conforms() {
    conformance::queue(async || Arc::new(EmbeddedQueue::default()) as Arc<dyn Queue>).await;
}
