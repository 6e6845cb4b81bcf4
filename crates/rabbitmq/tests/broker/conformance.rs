//! The promises of every queue, kept by this one on both types of queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pawl_kernel::ports::queue::Queue;
use pawl_rabbitmq::{Options, QueueType};
use pawl_testkit::conformance;

use crate::support::{Place, connect};

async fn conforms(queue_type: QueueType) {
    let place = Place::fresh().await;
    let made = AtomicU64::new(0);
    conformance::queue(async || {
        // A prefix of its own is as good as a vhost of its own, and cheaper.
        let prefix = format!("{}.", made.fetch_add(1, Ordering::Relaxed));
        let options = Options {
            prefix,
            queue_type,
            ..place.options()
        };
        Arc::new(connect(options).await) as Arc<dyn Queue>
    })
    .await;
}

#[tokio::test]
async fn classic_queues_conform() {
    conforms(QueueType::Classic).await;
}

#[tokio::test]
async fn quorum_queues_conform() {
    conforms(QueueType::Quorum).await;
}
