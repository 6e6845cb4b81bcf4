//! Which executions have changed lately, for streams about all of them, which pages with a list open. While there is no
//! such stream, a change costs one look at a number.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::hints::{Hint, HintBus, ROUNDUP_MAX};
use tokio::sync::Notify;

use super::{Hints, INTEREST, REMIND_AFTER};
use crate::sync::lock;

/// Changes that a slow watcher can still hear of one by one.
const RECENT_MAX: usize = 1_024;
/// Changes of this long go to other processes together.
const GATHER: Duration = Duration::from_millis(500);

/// What has changed, each once. `more`: others too, or some may have been missed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roundup {
    pub ids: Vec<ExecutionId>,
    pub more: bool,
}

/// The changes that watchers of all executions hear of.
#[derive(Default)]
pub(super) struct AllWatched {
    watchers: AtomicUsize,
    recent: Mutex<RecentChanges>,
    bell: Arc<Notify>,
}

#[derive(Default)]
struct RecentChanges {
    ids: VecDeque<ExecutionId>,
    /// Of all changes ever, with those that are not in `ids` any more.
    total: u64,
}

impl RecentChanges {
    fn push(&mut self, id: ExecutionId) {
        if self.ids.len() == RECENT_MAX {
            self.ids.pop_front();
        }
        self.ids.push_back(id);
        self.total += 1;
    }

    /// Something changed that cannot be named.
    fn skip(&mut self) {
        self.ids.clear();
        self.total += 1;
    }

    /// What came after the first `heard` changes.
    fn since(&self, heard: u64) -> Roundup {
        let missed = self.total - heard;
        let known = self.ids.len() as u64;
        let first = known.saturating_sub(missed) as usize;
        let mut seen = HashSet::new();
        let news = self.ids.iter().skip(first);
        let mut ids: Vec<ExecutionId> = news.filter(|id| seen.insert(**id)).copied().collect();
        let more = missed > known || ids.len() > ROUNDUP_MAX;
        ids.truncate(ROUNDUP_MAX);
        Roundup { ids, more }
    }
}

impl AllWatched {
    pub(super) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    pub(super) fn changed(&self, id: ExecutionId) {
        if self.is_watched() {
            lock(&self.recent).push(id);
            self.bell.notify_waiters();
        }
    }

    /// What another process says.
    pub(super) fn heard(&self, ids: &[ExecutionId], more: bool) {
        if !self.is_watched() {
            return;
        }
        let mut recent = lock(&self.recent);
        if more {
            recent.skip();
        }
        ids.iter().for_each(|id| recent.push(*id));
        drop(recent);
        self.bell.notify_waiters();
    }
}

/// Hears of every change of every execution, from its beginning on.
pub struct AllWatcher {
    hints: Arc<Hints>,
    /// Of all changes, those that were heard.
    heard: u64,
    reminded: Instant,
}

impl AllWatcher {
    pub(super) fn new(hints: Arc<Hints>) -> Self {
        let heard = {
            let recent = lock(&hints.all.recent);
            hints.all.watchers.fetch_add(1, Ordering::Relaxed);
            recent.total
        };
        hints.send(Hint::WatchAll);
        Self {
            hints,
            heard,
            reminded: Instant::now(),
        }
    }

    /// Waits for a change since the last call, and takes all that there were.
    pub async fn changed(&mut self) -> Roundup {
        if self.reminded.elapsed() >= REMIND_AFTER {
            self.reminded = Instant::now();
            self.hints.send(Hint::WatchAll);
        }
        let bell = self.hints.all.bell.clone();
        loop {
            // Made before the look, so that what happens after it is heard.
            let rung = bell.notified();
            if let Some(news) = self.unheard() {
                return news;
            }
            rung.await;
        }
    }

    fn unheard(&mut self) -> Option<Roundup> {
        let recent = lock(&self.hints.all.recent);
        let heard = std::mem::replace(&mut self.heard, recent.total);
        (heard != recent.total).then(|| recent.since(heard))
    }
}

impl Drop for AllWatcher {
    fn drop(&mut self) {
        self.hints.all.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What other processes want to hear of all executions, gathered for a moment.
#[derive(Default)]
pub(super) struct Outbox {
    wanted: Option<Instant>,
    waiting: Arc<Mutex<GatheredIds>>,
}

#[derive(Default)]
struct GatheredIds {
    ids: HashSet<ExecutionId>,
    more: bool,
    is_under_way: bool,
}

impl GatheredIds {
    fn add(&mut self, id: ExecutionId) {
        match self.ids.len() < ROUNDUP_MAX || self.ids.contains(&id) {
            true => {
                self.ids.insert(id);
            }
            false => self.more = true,
        }
    }

    fn take(&mut self) -> Hint {
        let gathered = std::mem::take(self);
        Hint::Roundup {
            ids: gathered.ids.into_iter().collect(),
            more: gathered.more,
        }
    }
}

impl Outbox {
    pub(super) fn want(&mut self) {
        self.wanted = Some(Instant::now());
    }

    pub(super) fn add(&self, id: ExecutionId, bus: &Arc<dyn HintBus>) {
        let is_wanted = self.wanted.is_some_and(|since| since.elapsed() < INTEREST);
        if !is_wanted {
            return;
        }
        let mut waiting = lock(&self.waiting);
        waiting.add(id);
        if waiting.is_under_way {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return bus.send(waiting.take());
        };
        waiting.is_under_way = true;
        let (waiting, bus) = (self.waiting.clone(), bus.clone());
        runtime.spawn(async move {
            tokio::time::sleep(GATHER).await;
            let hint = lock(&waiting).take();
            bus.send(hint);
        });
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::time::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::hints::News;

    fn id(number: u128) -> ExecutionId {
        ExecutionId(Uuid::from_u128(number))
    }

    fn ids(numbers: std::ops::Range<u128>) -> Vec<ExecutionId> {
        numbers.map(id).collect()
    }

    #[derive(Default)]
    struct Wire(Mutex<Vec<Hint>>);

    impl HintBus for Wire {
        fn send(&self, hint: Hint) {
            lock(&self.0).push(hint);
        }

        fn is_connected(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn each_change_is_told_once_and_a_crowd_is_cut() {
        let hints = Arc::new(Hints::default());
        hints.changed(id(1), News::default());
        let mut watcher = hints.watch_all();
        for number in [2, 3, 2] {
            hints.changed(id(number), News::default());
        }
        let told = watcher.changed().await;
        assert_eq!(
            (told.ids, told.more),
            (ids(2..4), false),
            "from its beginning on"
        );
        for number in 0..ROUNDUP_MAX as u128 + 1 {
            hints.changed(id(number), News::default());
        }
        let told = watcher.changed().await;
        assert_eq!((told.ids.len(), told.more), (ROUNDUP_MAX, true));
        for _ in 0..2 * RECENT_MAX {
            hints.changed(id(7), News::default());
        }
        let told = watcher.changed().await;
        assert_eq!(
            (told.ids, told.more),
            (vec![id(7)], true),
            "some were missed"
        );
    }

    #[test]
    fn without_a_watcher_nothing_is_kept() {
        let hints = Arc::new(Hints::default());
        drop(hints.watch_all());
        hints.changed(id(1), News::default());
        assert!(lock(&hints.all.recent).ids.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn another_process_hears_of_it_together() {
        let (here, there) = (Arc::new(Hints::default()), Arc::new(Hints::default()));
        let wire = Arc::new(Wire::default());
        here.connect(wire.clone());
        here.changed(id(1), News::default());
        let mut watcher = there.watch_all();
        here.heard(&Hint::WatchAll, Timestamp::default());
        for number in [2, 3, 3] {
            here.changed(id(number), News::default());
        }
        tokio::time::sleep(2 * GATHER).await;
        here.changed(id(4), News::default());
        tokio::time::sleep(2 * GATHER).await;
        let sent = std::mem::take(&mut *lock(&wire.0));
        assert_eq!(sent.len(), 2, "{sent:?}");
        sent.iter()
            .for_each(|hint| there.heard(hint, Timestamp::default()));
        let mut told = watcher.changed().await;
        told.ids.sort();
        assert_eq!((told.ids, told.more), (ids(2..5), false));
        let more = Hint::Roundup {
            ids: Vec::new(),
            more: true,
        };
        there.heard(&more, Timestamp::default());
        assert!(watcher.changed().await.more);
    }
}
