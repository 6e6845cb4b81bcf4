//! A queue in memory that does what a broker does, and on demand what brokers do on a bad day.
//!
//! Handles made by [`ModelQueue::fork_consumer`] are the consumers of one queue. What a consumer has not
//! acknowledged comes back, marked as redelivered, when it is dropped or rejects it. Nothing polls: a
//! receiver sleeps until a message is there or a delayed one is due.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::Instant;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::ports::queue::{Delivery, Message, Queue, QueueError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConsumerId(u64);

pub struct ModelQueue {
    broker: Arc<Broker>,
    consumer: ConsumerId,
}

#[derive(Default)]
struct Broker {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    ready: BTreeMap<PriorityClass, VecDeque<WaitingDelivery>>,
    delayed: BTreeMap<(Instant, u64), WaitingDelivery>,
    unacked: BTreeMap<ConsumerId, BTreeMap<u64, Message>>,
    mishaps: VecDeque<Mishap>,
    capacity: Option<usize>,
    closed: bool,
    tags: u64,
    consumers: u64,
}

#[derive(Clone)]
struct WaitingDelivery {
    message: Message,
    redelivered: bool,
}

/// What happens to a message on its way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// Confirmed, and gone.
    Lose,
    Duplicate,
    Delay(Duration),
    /// Overtakes all that wait.
    Reorder,
}

impl ModelQueue {
    pub fn new() -> Self {
        Self::of(Arc::default())
    }

    /// A queue that refuses what does not fit.
    pub fn with_capacity(capacity: usize) -> Self {
        let queue = Self::new();
        queue.lock().capacity = Some(capacity);
        queue
    }

    fn of(broker: Arc<Broker>) -> Self {
        let consumer = {
            let mut state = broker.state.lock().unwrap();
            state.consumers += 1;
            ConsumerId(state.consumers)
        };
        Self { broker, consumer }
    }

    /// Another consumer of the same queue.
    pub fn fork_consumer(&self) -> Self {
        Self::of(self.broker.clone())
    }

    pub fn consumer(&self) -> ConsumerId {
        self.consumer
    }

    /// The consumer's connection is gone: what it has not acknowledged goes back to where it was. Returns
    /// how many messages that were.
    pub fn drop_consumer(&self, consumer: ConsumerId) -> usize {
        let returned = self.lock().return_all(consumer);
        self.broker.arrived.notify_waiters();
        returned
    }

    /// The next messages published meet these, one each.
    pub fn plan(&self, mishaps: impl IntoIterator<Item = Mishap>) {
        self.lock().mishaps.extend(mishaps);
    }

    pub fn lose_next(&self, count: usize) {
        self.plan(std::iter::repeat_n(Mishap::Lose, count));
    }

    pub fn duplicate_next(&self, count: usize) {
        self.plan(std::iter::repeat_n(Mishap::Duplicate, count));
    }

    pub fn delay_next(&self, count: usize, by: Duration) {
        self.plan(std::iter::repeat_n(Mishap::Delay(by), count));
    }

    pub fn reorder_next(&self, count: usize) {
        self.plan(std::iter::repeat_n(Mishap::Reorder, count));
    }

    /// Publishes one message that meets this mishap, whatever is planned for the next ones.
    pub fn publish_with(&self, message: Message, mishap: Mishap) -> Result<(), QueueError> {
        let mut state = self.lock();
        state.check_open()?;
        state.admit(message, Some(mishap));
        drop(state);
        self.broker.arrived.notify_waiters();
        Ok(())
    }

    /// Every message is gone, also those delayed; as when an operator purges the queue.
    pub fn purge(&self) -> usize {
        let mut state = self.lock();
        let purged = state.waiting();
        state.ready.clear();
        state.delayed.clear();
        purged
    }

    /// Every call fails from now on, also those that wait.
    pub fn close(&self) {
        self.lock().closed = true;
        self.broker.arrived.notify_waiters();
    }

    /// Messages ready or delayed.
    pub fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    /// Messages in consumers' hands.
    pub fn unacknowledged(&self) -> usize {
        self.lock().unacked.values().map(BTreeMap::len).sum()
    }

    pub fn is_idle(&self) -> bool {
        self.waiting() == 0 && self.unacknowledged() == 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.broker.state.lock().unwrap()
    }
}

impl Default for ModelQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn check_open(&self) -> Result<(), QueueError> {
        if self.closed {
            return Err(QueueError::Closed);
        }
        Ok(())
    }

    fn waiting(&self) -> usize {
        self.ready.values().map(VecDeque::len).sum::<usize>() + self.delayed.len()
    }

    fn admit(&mut self, message: Message, mishap: Option<Mishap>) {
        let waiting = WaitingDelivery {
            message,
            redelivered: false,
        };
        match mishap {
            None => self.enqueue(waiting),
            Some(Mishap::Lose) => {}
            Some(Mishap::Duplicate) => {
                self.enqueue(waiting.clone());
                self.enqueue(waiting);
            }
            Some(Mishap::Delay(by)) => {
                self.tags += 1;
                self.delayed
                    .insert((Instant::now() + by, self.tags), waiting);
            }
            Some(Mishap::Reorder) => self.put_back(waiting),
        }
    }

    fn lane(&mut self, waiting: &WaitingDelivery) -> &mut VecDeque<WaitingDelivery> {
        self.ready.entry(waiting.message.priority).or_default()
    }

    fn enqueue(&mut self, waiting: WaitingDelivery) {
        self.lane(&waiting).push_back(waiting);
    }

    fn put_back(&mut self, waiting: WaitingDelivery) {
        self.lane(&waiting).push_front(waiting);
    }

    fn take(&mut self, consumer: ConsumerId, max: usize, now: Instant) -> Vec<Delivery> {
        self.ripen(now);
        let mut batch = Vec::new();
        while batch.len() < max
            && let Some(waiting) = self.ready.values_mut().find_map(VecDeque::pop_front)
        {
            batch.push(self.hand_out(consumer, waiting));
        }
        batch
    }

    fn ripen(&mut self, now: Instant) {
        while let Some(entry) = self.delayed.first_entry()
            && entry.key().0 <= now
        {
            let waiting = entry.remove();
            self.enqueue(waiting);
        }
    }

    fn hand_out(&mut self, consumer: ConsumerId, waiting: WaitingDelivery) -> Delivery {
        self.tags += 1;
        let (tag, message) = (self.tags, waiting.message);
        let held = self.unacked.entry(consumer).or_default();
        held.insert(tag, message.clone());
        Delivery {
            message,
            redelivered: waiting.redelivered,
            tag,
        }
    }

    fn settle(&mut self, consumer: ConsumerId, tag: u64) -> Option<Message> {
        self.unacked.get_mut(&consumer)?.remove(&tag)
    }

    fn return_one(&mut self, message: Message) {
        self.put_back(WaitingDelivery {
            message,
            redelivered: true,
        });
    }

    fn return_all(&mut self, consumer: ConsumerId) -> usize {
        let held = self.unacked.remove(&consumer).unwrap_or_default();
        let count = held.len();
        // Newest first to the front, so that the oldest ends up foremost.
        held.into_values()
            .rev()
            .for_each(|message| self.return_one(message));
        count
    }

    fn next_ripe(&self) -> Option<Instant> {
        self.delayed.first_key_value().map(|(key, _)| key.0)
    }
}

#[async_trait]
impl Queue for ModelQueue {
    async fn publish(&self, message: Message) -> Result<(), QueueError> {
        let mut state = self.lock();
        state.check_open()?;
        if state.capacity.is_some_and(|limit| state.waiting() >= limit) {
            return Err(QueueError::Full);
        }
        let mishap = state.mishaps.pop_front();
        state.admit(message, mishap);
        drop(state);
        self.broker.arrived.notify_waiters();
        Ok(())
    }

    async fn receive(&self, max: usize) -> Result<Vec<Delivery>, QueueError> {
        loop {
            let arrived = self.broker.arrived.notified();
            tokio::pin!(arrived);
            // Listening starts before looking, so that nothing slips in between.
            arrived.as_mut().enable();
            let ripe = {
                let mut state = self.lock();
                state.check_open()?;
                let batch = state.take(self.consumer, max, Instant::now());
                if !batch.is_empty() {
                    return Ok(batch);
                }
                state.next_ripe()
            };
            match ripe {
                None => arrived.await,
                Some(at) => tokio::select! {
                    biased;
                    () = arrived => {}
                    () = tokio::time::sleep_until(at) => {}
                },
            }
        }
    }

    async fn acknowledge(&self, tag: u64) -> Result<(), QueueError> {
        let mut state = self.lock();
        state.check_open()?;
        state.settle(self.consumer, tag);
        Ok(())
    }

    async fn reject(&self, tag: u64) -> Result<(), QueueError> {
        let mut state = self.lock();
        state.check_open()?;
        if let Some(message) = state.settle(self.consumer, tag) {
            state.return_one(message);
        }
        drop(state);
        self.broker.arrived.notify_waiters();
        Ok(())
    }
}
