//! The queue: messages that say "look at this execution". A trigger, never the truth; any of them may be
//! lost, doubled or late.

use async_trait::async_trait;

use crate::execution::PriorityClass;
use crate::id::ExecutionId;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub execution_id: ExecutionId,
    pub seq: u64,
    pub priority: PriorityClass,
    pub published_at: Timestamp,
}

/// A message in a worker's hands. It comes back, marked as redelivered, unless acknowledged.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub message: Message,
    pub redelivered: bool,
    pub tag: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error("the queue is full; the sweeper will bring the message back")]
    Full,
    #[error("the queue cannot be reached: {0}")]
    Unavailable(String),
    #[error("the queue is closed")]
    Closed,
}

#[async_trait]
pub trait Queue: Send + Sync {
    /// Returns once the queue has taken responsibility for the message.
    async fn publish(&self, message: Message) -> Result<(), QueueError>;

    /// Waits for at least one message, returns at most `max`.
    async fn receive(&self, max: usize) -> Result<Vec<Delivery>, QueueError>;

    async fn acknowledge(&self, tag: u64) -> Result<(), QueueError>;

    /// Gives a message back at once.
    async fn reject(&self, tag: u64) -> Result<(), QueueError>;
}
