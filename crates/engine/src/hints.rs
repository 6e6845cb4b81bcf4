//! Hints: "look now" within one process. They make things fast; nothing breaks when one is lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::time::Timestamp;
use tokio::sync::{Notify, watch};

/// The latest that is known of a watched execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    pub version: u64,
    pub ended: Option<Status>,
}

/// Wakes those who watch an execution, and the timers.
#[derive(Default)]
pub struct Hints {
    watched: Mutex<HashMap<ExecutionId, watch::Sender<News>>>,
    next_timer: Mutex<Option<Timestamp>>,
    timer_added: Notify,
    /// How long the message received last had waited, in microseconds.
    message_age: AtomicU64,
}

impl Hints {
    /// The execution has a new version.
    pub fn changed(&self, id: ExecutionId, news: News) {
        let watched = lock(&self.watched);
        if let Some(sender) = watched.get(&id) {
            sender.send_replace(news);
        }
    }

    /// Watches one execution; the watch ends when the watcher is dropped.
    pub fn watch(self: &Arc<Self>, id: ExecutionId) -> Watcher {
        let mut watched = lock(&self.watched);
        let receiver = watched
            .entry(id)
            .or_insert_with(|| watch::channel(News::default()).0)
            .subscribe();
        Watcher {
            hints: self.clone(),
            id,
            receiver,
        }
    }

    /// A timer due at `at` was committed.
    pub fn timer(&self, at: Timestamp) {
        let mut next = lock(&self.next_timer);
        if next.is_none_or(|known| at < known) {
            *next = Some(at);
            self.timer_added.notify_one();
        }
    }

    pub(crate) fn message_received(&self, age: Duration) {
        self.message_age
            .store(age.as_micros() as u64, Ordering::Relaxed);
    }

    /// How long messages wait in the queue just now.
    pub(crate) fn message_age(&self) -> Duration {
        Duration::from_micros(self.message_age.load(Ordering::Relaxed))
    }

    /// The soonest timer hinted at since the last call.
    pub(crate) fn take_next_timer(&self) -> Option<Timestamp> {
        lock(&self.next_timer).take()
    }

    pub(crate) async fn timer_added(&self) {
        self.timer_added.notified().await;
    }
}

pub struct Watcher {
    hints: Arc<Hints>,
    id: ExecutionId,
    receiver: watch::Receiver<News>,
}

impl Watcher {
    /// Waits until the execution changed since the last call.
    pub async fn changed(&mut self) -> News {
        // The sender lives in the map as long as this watcher does, so an error cannot happen; were it to,
        // waiting for ever would be worse than one look too many.
        let _ = self.receiver.changed().await;
        *self.receiver.borrow_and_update()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut watched = lock(&self.hints.watched);
        if watched
            .get(&self.id)
            .is_some_and(|sender| sender.receiver_count() <= 1)
        {
            watched.remove(&self.id);
        }
    }
}

/// A poisoned lock only means that another thread panicked; the maps behind these locks stay whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
