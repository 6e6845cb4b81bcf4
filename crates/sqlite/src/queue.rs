//! The queue of the embedded mode: in memory, gone with the process. The store is the truth, and the sweeper
//! rebuilds from it whatever was lost here.

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::ports::queue::{Delivery, Message, Queue, QueueError};
use tokio::sync::Notify;

/// Messages waiting or in a worker's hands.
pub const CAPACITY: usize = 200_000;

/// Messages of high, normal and low priority taken per round, if there are as many. Low ones are never starved.
const WEIGHTS: [u32; 3] = [16, 4, 1];

pub struct EmbeddedQueue {
    capacity: usize,
    inner: Mutex<Inner>,
    arrived: Notify,
}

impl Default for EmbeddedQueue {
    fn default() -> Self {
        Self::with_capacity(CAPACITY)
    }
}

impl EmbeddedQueue {
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            inner: Mutex::new(Inner::new()),
            arrived: Notify::new(),
        }
    }

    /// Messages that wait for a worker.
    pub fn len(&self) -> usize {
        self.lock().waiting()
    }

    /// Messages of one class that wait for a worker.
    pub fn depth(&self, class: PriorityClass) -> usize {
        self.lock().classes[place(class)].len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Wakes all receivers that wait; nothing is published or received from here on.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None`: nothing is there.
    fn try_receive(&self, max: usize) -> Option<Result<Vec<Delivery>, QueueError>> {
        let mut inner = self.lock();
        if inner.closed {
            return Some(Err(QueueError::Closed));
        }
        let deliveries = inner.take(max.max(1));
        if deliveries.is_empty() {
            return None;
        }
        if inner.waiting() > 0 {
            // One arrival wakes one receiver; what this one leaves is for the next.
            self.arrived.notify_one();
        }
        Some(Ok(deliveries))
    }
}

#[async_trait]
impl Queue for EmbeddedQueue {
    async fn publish(&self, message: Message) -> Result<(), QueueError> {
        let mut inner = self.lock();
        if inner.closed {
            return Err(QueueError::Closed);
        }
        if inner.waiting() + inner.delivered.len() >= self.capacity {
            return Err(QueueError::Full);
        }
        let entry = QueueEntry {
            message,
            redelivered: false,
        };
        inner.class(&entry).push_back(entry);
        drop(inner);
        self.arrived.notify_one();
        Ok(())
    }

    async fn receive(&self, max: usize) -> Result<Vec<Delivery>, QueueError> {
        loop {
            let mut arrived = pin!(self.arrived.notified());
            // Before looking, so that nothing that comes in between is missed.
            arrived.as_mut().enable();
            if let Some(result) = self.try_receive(max) {
                return result;
            }
            arrived.await;
        }
    }

    async fn acknowledge(&self, tag: u64) -> Result<(), QueueError> {
        self.lock().delivered.remove(&tag);
        Ok(())
    }

    async fn reject(&self, tag: u64) -> Result<(), QueueError> {
        self.lock().put_back(tag);
        self.arrived.notify_one();
        Ok(())
    }
}

fn place(class: PriorityClass) -> usize {
    match class {
        PriorityClass::High => 0,
        PriorityClass::Normal => 1,
        PriorityClass::Low => 2,
    }
}

struct QueueEntry {
    message: Message,
    redelivered: bool,
}

struct Inner {
    /// High, normal, low.
    classes: [VecDeque<QueueEntry>; 3],
    /// What each class may still give in this round.
    credit: [u32; 3],
    delivered: HashMap<u64, Message>,
    next_tag: u64,
    closed: bool,
}

impl Inner {
    fn new() -> Self {
        Self {
            classes: Default::default(),
            credit: WEIGHTS,
            delivered: HashMap::new(),
            next_tag: 1,
            closed: false,
        }
    }

    fn waiting(&self) -> usize {
        self.classes.iter().map(VecDeque::len).sum()
    }

    fn class(&mut self, entry: &QueueEntry) -> &mut VecDeque<QueueEntry> {
        &mut self.classes[place(entry.message.priority)]
    }

    fn put_back(&mut self, tag: u64) {
        let Some(message) = self.delivered.remove(&tag) else {
            return;
        };
        let entry = QueueEntry {
            message,
            redelivered: true,
        };
        self.class(&entry).push_front(entry);
    }

    fn take(&mut self, max: usize) -> Vec<Delivery> {
        let count = max.min(self.waiting());
        let mut deliveries = Vec::with_capacity(count);
        while deliveries.len() < count {
            let Some(entry) = self.pick() else { break };
            deliveries.push(self.deliver(entry));
        }
        deliveries
    }

    fn pick(&mut self) -> Option<QueueEntry> {
        let has_turn =
            |(class, credit): (&VecDeque<QueueEntry>, &u32)| !class.is_empty() && *credit > 0;
        let turn = |inner: &Self| inner.classes.iter().zip(&inner.credit).position(has_turn);
        let index = turn(self).or_else(|| {
            self.credit = WEIGHTS;
            turn(self)
        })?;
        self.credit[index] -= 1;
        self.classes[index].pop_front()
    }

    fn deliver(&mut self, entry: QueueEntry) -> Delivery {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.delivered.insert(tag, entry.message.clone());
        Delivery {
            message: entry.message,
            redelivered: entry.redelivered,
            tag,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use pawl_kernel::id::{ExecutionId, SchemaId};
    use pawl_kernel::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn message(number: u128, priority: PriorityClass) -> Message {
        Message {
            execution_id: ExecutionId(Uuid::from_u128(number)),
            schema_id: SchemaId(Uuid::nil()),
            node_id: "start".into(),
            seq: 0,
            debug_mode: false,
            priority,
            published_at: Timestamp::from_micros(0),
        }
    }

    async fn fill(queue: &EmbeddedQueue, count: u128, priority: PriorityClass) {
        for number in 0..count {
            queue.publish(message(number, priority)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn classes_share_by_weight_and_low_is_not_starved() {
        let queue = EmbeddedQueue::default();
        for priority in PriorityClass::ALL {
            fill(&queue, 100, *priority).await;
        }
        let taken = queue.receive(42).await.unwrap();
        let of = |class| taken.iter().filter(|d| d.message.priority == class).count();
        let shares = [
            PriorityClass::High,
            PriorityClass::Normal,
            PriorityClass::Low,
        ]
        .map(of);
        assert_eq!(shares, [32, 8, 2]);
    }

    #[tokio::test]
    async fn a_class_alone_gets_everything_in_order() {
        let queue = EmbeddedQueue::default();
        fill(&queue, 50, PriorityClass::Low).await;
        let taken = queue.receive(100).await.unwrap();
        let ids: Vec<u128> = taken
            .iter()
            .map(|d| d.message.execution_id.0.as_u128())
            .collect();
        assert_eq!(ids, (0..50).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_is_rejected_comes_back_marked() {
        let queue = EmbeddedQueue::default();
        fill(&queue, 3, PriorityClass::Normal).await;
        let taken = queue.receive(3).await.unwrap();
        assert!(taken.iter().all(|delivery| !delivery.redelivered));
        queue.acknowledge(taken[0].tag).await.unwrap();
        queue.reject(taken[1].tag).await.unwrap();
        queue.reject(taken[2].tag).await.unwrap();
        let again = queue.receive(9).await.unwrap();
        assert_eq!(again.len(), 2);
        assert!(again.iter().all(|delivery| delivery.redelivered));
    }

    #[tokio::test]
    async fn a_full_queue_says_so() {
        let queue = EmbeddedQueue::with_capacity(2);
        fill(&queue, 2, PriorityClass::Normal).await;
        let refused = queue.publish(message(9, PriorityClass::High)).await;
        assert!(matches!(refused, Err(QueueError::Full)));
        let taken = queue.receive(1).await.unwrap();
        let refused = queue.publish(message(9, PriorityClass::High)).await;
        assert!(matches!(refused, Err(QueueError::Full)));
        queue.acknowledge(taken[0].tag).await.unwrap();
        queue
            .publish(message(9, PriorityClass::High))
            .await
            .unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_receivers_get_every_message_once() {
        let queue = Arc::new(EmbeddedQueue::default());
        let receivers: Vec<_> = (0..8)
            .map(|_| {
                let queue = Arc::clone(&queue);
                tokio::spawn(async move {
                    let mut count = 0;
                    while let Ok(deliveries) = queue.receive(3).await {
                        for delivery in &deliveries {
                            queue.acknowledge(delivery.tag).await.unwrap();
                        }
                        count += deliveries.len();
                    }
                    count
                })
            })
            .collect();
        fill(&queue, 5_000, PriorityClass::Normal).await;
        while !queue.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        queue.close();
        let mut total = 0;
        for receiver in receivers {
            total += receiver.await.unwrap();
        }
        assert_eq!(total, 5_000);
        assert!(matches!(queue.receive(1).await, Err(QueueError::Closed)));
    }
}
