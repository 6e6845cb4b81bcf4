//! What only the wiring can tell the metrics: how the store's writer and the queue are doing.

use std::sync::Arc;

use pawl_engine::Runtime;
use pawl_engine::metrics::Gauge;
use pawl_kernel::execution::PriorityClass;
use pawl_postgres::PostgresStore;
use pawl_rabbitmq::RabbitQueue;
use pawl_sqlite::{EmbeddedQueue, SqliteStore};

use crate::process;

/// In the order in which the broker tells of them.
const CLASSES: [PriorityClass; 3] = [
    PriorityClass::High,
    PriorityClass::Normal,
    PriorityClass::Low,
];

pub(super) fn embedded(runtime: &Runtime, store: &SqliteStore, queue: &Arc<EmbeddedQueue>) {
    process::observe(runtime);
    runtime.metrics.store_batches(store.batches());
    for class in CLASSES {
        let queue = queue.clone();
        let depth = move || queue.depth(class) as f64;
        runtime.metrics.observe_queue_depth(class, depth);
    }
}

/// The broker is asked when Prometheus scrapes, not before.
pub(super) fn cluster(runtime: &Runtime, store: &PostgresStore, queue: &Arc<RabbitQueue>) {
    process::observe(runtime);
    runtime.metrics.store_batches(store.batches().clone());
    let depths = CLASSES.map(|class| runtime.metrics.queue_depth(class));
    let (queue, metrics) = (queue.clone(), Arc::downgrade(&runtime.metrics));
    runtime.metrics.refresh_with(move || {
        let (queue, metrics, depths) = (queue.clone(), metrics.clone(), depths.clone());
        Box::pin(async move {
            let up = ask(&queue, &depths).await;
            if let Some(metrics) = metrics.upgrade() {
                metrics.queue.set_up(up);
            }
        })
    });
}

/// Can messages be published and received now?
async fn ask(queue: &RabbitQueue, depths: &[Arc<Gauge>]) -> bool {
    let stats = queue.stats().await;
    for (depth, told) in depths.iter().zip(&stats.queues) {
        if let Some(messages) = told.messages {
            depth.set(i64::from(messages));
        }
    }
    let consuming = stats.consuming.is_none_or(|consuming| consuming.connected);
    stats.publishing.connected && consuming && stats.blocked.is_none()
}
