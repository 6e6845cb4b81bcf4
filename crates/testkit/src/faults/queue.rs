//! One worker's view of the queue.

use std::sync::Arc;

use async_trait::async_trait;

use pawl_kernel::ports::queue::{Delivery, Message, Queue, QueueError};

use super::{Fault, Faults};
use crate::model_queue::{Mishap, ModelQueue};

/// Wraps the worker's own consumer; after a crash the supervisor drops that consumer.
pub struct FaultyQueue {
    inner: Arc<ModelQueue>,
    faults: Arc<Faults>,
}

const PUBLISH: &[Fault] = &[
    Fault::PublishLost,
    Fault::PublishDoubled,
    Fault::PublishDelayed,
    Fault::PublishReordered,
    Fault::PublishUnconfirmed,
    Fault::ErrorBefore,
    Fault::CrashBefore,
    Fault::CrashAfter,
];
const RECEIVE: &[Fault] = &[Fault::ReceiveCrash];
const ACKNOWLEDGE: &[Fault] = &[Fault::AckLost, Fault::CrashBefore, Fault::CrashAfter];

impl FaultyQueue {
    pub fn new(inner: Arc<ModelQueue>, faults: Arc<Faults>) -> Self {
        Self { inner, faults }
    }

    fn mishap(&self, fault: Fault) -> Option<Mishap> {
        Some(match fault {
            Fault::PublishLost => Mishap::Lose,
            Fault::PublishDoubled => Mishap::Duplicate,
            Fault::PublishDelayed => Mishap::Delay(self.faults.delay()),
            Fault::PublishReordered => Mishap::Reorder,
            _ => return None,
        })
    }
}

fn unreachable() -> QueueError {
    QueueError::Unavailable("a fault".into())
}

#[async_trait]
impl Queue for FaultyQueue {
    async fn publish(&self, message: Message) -> Result<(), QueueError> {
        let crash = self.faults.crash();
        crash.check().await;
        let fault = self.faults.draw(PUBLISH);
        if let Some(mishap) = fault.and_then(|fault| self.mishap(fault)) {
            return self.inner.publish_with(message, mishap);
        }
        match fault {
            Some(Fault::ErrorBefore) => return Err(unreachable()),
            Some(Fault::CrashBefore) => return crash.strike().await,
            _ => self.inner.publish(message).await?,
        }
        match fault {
            Some(Fault::PublishUnconfirmed) => Err(unreachable()),
            Some(Fault::CrashAfter) => crash.strike().await,
            _ => Ok(()),
        }
    }

    async fn receive(&self, max: usize) -> Result<Vec<Delivery>, QueueError> {
        let crash = self.faults.crash();
        crash.check().await;
        let batch = self.inner.receive(max).await?;
        // Drawn only now: an idle worker that waits has made no call that could fail.
        crash.check().await;
        match self.faults.draw(RECEIVE) {
            Some(_) => crash.strike().await,
            None => Ok(batch),
        }
    }

    async fn acknowledge(&self, tag: u64) -> Result<(), QueueError> {
        let crash = self.faults.crash();
        crash.check().await;
        match self.faults.draw(ACKNOWLEDGE) {
            // The broker never heard it and gives the message to a consumer again.
            Some(Fault::AckLost) => self.inner.reject(tag).await,
            Some(Fault::CrashBefore) => crash.strike().await,
            Some(_) => {
                self.inner.acknowledge(tag).await?;
                crash.strike().await
            }
            None => self.inner.acknowledge(tag).await,
        }
    }

    async fn reject(&self, tag: u64) -> Result<(), QueueError> {
        self.faults.crash().check().await;
        self.inner.reject(tag).await
    }
}
