//! Publishes messages for rows that are due. A message is a trigger, never the truth: one that cannot be published is left
//! to the sweeper, because the row says that it is due.

use std::sync::Arc;

use futures_util::StreamExt;
use pawl_kernel::ports::queue::{Message, Queue};
use pawl_kernel::ports::store::Dispatch;
use pawl_kernel::time::Clock;

use crate::metrics::QueueMetrics;

/// Messages on their way to the broker at once.
const AT_ONCE: usize = 64;

#[derive(Clone)]
pub(crate) struct Publisher {
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    metrics: Arc<QueueMetrics>,
}

impl Publisher {
    pub(crate) fn new(
        queue: Arc<dyn Queue>,
        clock: Arc<dyn Clock>,
        metrics: Arc<QueueMetrics>,
    ) -> Self {
        Self {
            queue,
            clock,
            metrics,
        }
    }

    /// Is there a queue that takes messages now?
    pub(crate) fn is_open(&self) -> bool {
        self.queue.takes_messages()
    }

    pub(crate) async fn publish(&self, dispatch: Dispatch) {
        let id = dispatch.execution_id;
        let message = Message::new(dispatch, self.clock.now());
        let published = self.queue.publish(message).await;
        self.metrics.published(&published);
        if let Err(error) = published {
            tracing::warn!(execution_id = %id, %error, "not published; the sweeper will");
        }
    }

    /// Many messages, without waiting for one broker's word after the other.
    pub(crate) async fn publish_all(&self, dispatches: Vec<Dispatch>) {
        futures_util::stream::iter(dispatches)
            .for_each_concurrent(AT_ONCE, |dispatch| self.publish(dispatch))
            .await;
    }
}
