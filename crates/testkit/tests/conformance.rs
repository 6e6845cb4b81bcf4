//! The model keeps its own promises.

use std::sync::Arc;

use pawl_kernel::ports::queue::Queue;
use pawl_kernel::ports::store::Store;
use pawl_testkit::conformance;
use pawl_testkit::model::ModelStore;
use pawl_testkit::model_queue::ModelQueue;

#[tokio::test]
async fn the_model_store_conforms() {
    conformance::store(async || Arc::new(ModelStore::new()) as Arc<dyn Store>).await;
}

#[tokio::test(start_paused = true)]
async fn the_model_queue_conforms() {
    conformance::queue(async || Arc::new(ModelQueue::new()) as Arc<dyn Queue>).await;
}
