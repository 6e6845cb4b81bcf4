//! The queue: messages that say "look at this execution". A trigger, never the truth; any of them may be
//! lost, doubled or late.

use std::sync::Arc;

use async_trait::async_trait;

use crate::execution::PriorityClass;
use crate::id::{ExecutionId, SchemaId};
use crate::ports::store::Dispatch;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub execution_id: ExecutionId,
    /// This and all below are hints; the row wins.
    pub schema_id: SchemaId,
    pub node_id: Arc<str>,
    pub seq: u64,
    pub debug_mode: bool,
    pub priority: PriorityClass,
    pub published_at: Timestamp,
}

impl Message {
    pub fn new(dispatch: Dispatch, published_at: Timestamp) -> Self {
        Self {
            execution_id: dispatch.execution_id,
            schema_id: dispatch.schema_id,
            node_id: dispatch.node_id,
            seq: dispatch.seq,
            debug_mode: dispatch.debug_mode,
            priority: dispatch.priority,
            published_at,
        }
    }
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

    /// `false`: whatever is published now fails. Who can wait with a message does.
    fn takes_messages(&self) -> bool {
        true
    }
}
