//! Hints: "look now", within this process and between processes. They make things fast; nothing breaks when one
//! is lost.

mod roundup;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use pawl_kernel::execution::{PriorityClass, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::hints::{Hint, HintBus};
use pawl_kernel::time::Timestamp;
use pawl_kernel::webhook::answer::Answer;
use tokio::sync::Notify;

use crate::backlog::Backlog;
use crate::sync::lock;
use roundup::{AllWatched, Outbox};
pub use roundup::{AllWatcher, Roundup};

/// How long other processes get hints about an execution that a caller there watches. Watchers remind in time.
const INTEREST: Duration = Duration::from_secs(120);
const REMIND_AFTER: Duration = Duration::from_secs(30);
/// Ends and answers that are remembered for watchers whose word comes a moment too late.
const RECENT_MAX: usize = 4_096;
/// Interests beyond this are dropped: their watchers look again by themselves.
const INTERESTS_MAX: usize = 50_000;

/// Watched executions that a new process hears of.
const RETOLD_MAX: usize = 4_096;

/// The latest that is known of a watched execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    pub version: u64,
    pub ended: Option<Status>,
    /// It has answered the caller that waits for an answer.
    pub responded: bool,
}

/// Who watches an execution, and what it answered: an answer given here need not be read again.
#[derive(Default)]
struct WatchEntry {
    watchers: usize,
    news: News,
    /// How often there were news.
    changes: u64,
    bell: Arc<Notify>,
    answer: Option<Answer>,
}

/// Wakes those who watch an execution, the timers and the scheduler.
#[derive(Default)]
pub struct Hints {
    watched: Mutex<HashMap<ExecutionId, WatchEntry>>,
    all: AllWatched,
    next_timer: Mutex<Option<Timestamp>>,
    timer_added: Notify,
    admission: Notify,
    pub(crate) backlog: Backlog,
    /// The way to other processes, if there are any.
    bus: OnceLock<Arc<dyn HintBus>>,
    elsewhere: Mutex<Elsewhere>,
}

/// What other processes want to hear of.
#[derive(Default)]
struct Elsewhere {
    watched: HashMap<ExecutionId, Instant>,
    recent: VecDeque<(ExecutionId, News)>,
    gathering: Outbox,
}

impl Hints {
    /// From now on hints go to other processes too.
    pub fn connect(&self, bus: Arc<dyn HintBus>) {
        if self.bus.set(bus).is_err() {
            tracing::error!("hints were connected twice; the first way stays");
        }
    }

    /// Does this process hear of what others commit?
    pub(crate) fn hears_others(&self) -> bool {
        self.bus.get().is_some_and(|bus| bus.is_connected())
    }

    pub(crate) fn send(&self, hint: Hint) {
        if let Some(bus) = self.bus.get() {
            bus.send(hint);
        }
    }

    /// The execution has a new version.
    pub fn changed(&self, id: ExecutionId, news: News) {
        self.tell_watchers(id, news);
        self.all.changed(id);
        let Some(bus) = self.bus.get() else { return };
        let mut elsewhere = lock(&self.elsewhere);
        elsewhere.gathering.add(id, bus);
        if elsewhere.wants(id) {
            bus.send(changed(id, news));
        }
        if news.ended.is_some() || news.responded {
            elsewhere.remember(id, news);
        }
    }

    /// It is new, so no caller can watch it yet; lists show it.
    pub(crate) fn created(&self, id: ExecutionId) {
        self.all.changed(id);
        if let Some(bus) = self.bus.get() {
            lock(&self.elsewhere).gathering.add(id, bus);
        }
    }

    /// Watches all executions, to hear which ones have changed; the watch ends when the watcher is dropped.
    pub fn watch_all(self: &Arc<Self>) -> AllWatcher {
        AllWatcher::new(self.clone())
    }

    /// Are there other processes, and are they not heard just now?
    pub fn is_deaf(&self) -> bool {
        self.has_others() && !self.hears_others()
    }

    /// Is this process one of several?
    pub fn has_others(&self) -> bool {
        self.bus.get().is_some()
    }

    /// The execution answers: kept for those who watch it, who hear of it with the next change.
    pub(crate) fn answered(&self, id: ExecutionId, answer: Answer) {
        if let Some(watched) = lock(&self.watched).get_mut(&id) {
            watched.answer.get_or_insert(answer);
        }
    }

    fn tell_watchers(&self, id: ExecutionId, news: News) {
        if let Some(watched) = lock(&self.watched).get_mut(&id) {
            // A slow watcher must not miss it.
            let responded = watched.news.responded || news.responded;
            watched.news = News { responded, ..news };
            watched.changes += 1;
            watched.bell.notify_waiters();
        }
    }

    /// Takes in what another process says; stopping is left to the worker.
    pub(crate) fn heard(&self, hint: &Hint, now: Timestamp) {
        match hint {
            Hint::Timer { at } => self.wake_timers(*at),
            Hint::Admission => self.admission.notify_one(),
            Hint::Backlog { ages } => self.backlog.heard(*ages, now),
            Hint::Stop { .. } => {}
            Hint::Hello => self.retell(),
            Hint::Changed {
                execution_id,
                version,
                ended,
                responded,
            } => {
                let news = News {
                    version: *version,
                    ended: *ended,
                    responded: *responded,
                };
                self.tell_watchers(*execution_id, news);
                if ended.is_some() {
                    lock(&self.elsewhere).watched.remove(execution_id);
                }
            }
            Hint::WatchAll => lock(&self.elsewhere).gathering.want(),
            Hint::Roundup { ids, more } => self.all.heard(ids, *more),
            Hint::Watch { execution_id } => {
                if let Some(news) = lock(&self.elsewhere).watch(*execution_id) {
                    self.send(changed(*execution_id, news));
                }
            }
        }
    }

    /// A new process may be the one that runs what is watched here.
    fn retell(&self) {
        let watched: Vec<ExecutionId> = lock(&self.watched)
            .keys()
            .copied()
            .take(RETOLD_MAX)
            .collect();
        for execution_id in watched {
            self.send(Hint::Watch { execution_id });
        }
        if self.all.is_watched() {
            self.send(Hint::WatchAll);
        }
    }

    /// Watches one execution; the watch ends when the watcher is dropped.
    pub fn watch(self: &Arc<Self>, id: ExecutionId) -> Watcher {
        let (bell, changes) = {
            let mut all = lock(&self.watched);
            let watched = all.entry(id).or_default();
            watched.watchers += 1;
            (watched.bell.clone(), watched.changes)
        };
        self.send(Hint::Watch { execution_id: id });
        Watcher {
            hints: self.clone(),
            id,
            bell,
            changes,
            reminded: Instant::now(),
        }
    }

    /// A timer due at `at` was committed here.
    pub fn timer(&self, at: Timestamp) {
        self.wake_timers(at);
        self.send(Hint::Timer { at });
    }

    fn wake_timers(&self, at: Timestamp) {
        let mut next = lock(&self.next_timer);
        if next.is_none_or(|known| at < known) {
            *next = Some(at);
            self.timer_added.notify_one();
        }
    }

    /// A quota may have room, or another execution stands in line.
    pub fn admission(&self) {
        self.admission.notify_one();
        self.send(Hint::Admission);
    }

    /// Waits until the scheduler has something to look at.
    pub(crate) async fn admission_wanted(&self) {
        self.admission.notified().await;
    }

    /// Messages came, so old each.
    pub(crate) fn messages_received(
        &self,
        ages: impl Iterator<Item = (PriorityClass, Duration)>,
        now: Timestamp,
    ) {
        if let Some(ages) = self.backlog.received(ages, now) {
            self.send(Hint::Backlog { ages });
        }
    }

    /// The soonest timer hinted at since the last call.
    pub(crate) fn take_next_timer(&self) -> Option<Timestamp> {
        lock(&self.next_timer).take()
    }

    pub(crate) async fn timer_added(&self) {
        self.timer_added.notified().await;
    }
}

impl Elsewhere {
    fn wants(&self, id: ExecutionId) -> bool {
        self.watched
            .get(&id)
            .is_some_and(|since| since.elapsed() < INTEREST)
    }

    fn remember(&mut self, id: ExecutionId, news: News) {
        if news.ended.is_some() {
            self.watched.remove(&id);
        }
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((id, news));
    }

    /// Notes the interest, unless nothing more will come; returns the end or the answer, if it has come already.
    fn watch(&mut self, id: ExecutionId) -> Option<News> {
        let recent = self.recent.iter().rev().find(|(known, _)| *known == id);
        let recent = recent.map(|(_, news)| *news);
        if recent.is_some_and(|news| news.ended.is_some()) {
            return recent;
        }
        if self.watched.len() >= INTERESTS_MAX {
            self.watched.retain(|_, since| since.elapsed() < INTEREST);
        }
        if self.watched.len() < INTERESTS_MAX {
            self.watched.insert(id, Instant::now());
        }
        recent
    }
}

fn changed(id: ExecutionId, news: News) -> Hint {
    Hint::Changed {
        execution_id: id,
        version: news.version,
        ended: news.ended,
        responded: news.responded,
    }
}

pub struct Watcher {
    hints: Arc<Hints>,
    id: ExecutionId,
    bell: Arc<Notify>,
    /// Of the news, those that were heard.
    changes: u64,
    reminded: Instant,
}

impl Watcher {
    /// Waits until the execution changed since the last call.
    pub async fn changed(&mut self) -> News {
        if self.reminded.elapsed() >= REMIND_AFTER {
            self.reminded = Instant::now();
            self.hints.send(Hint::Watch {
                execution_id: self.id,
            });
        }
        let bell = self.bell.clone();
        loop {
            // Made before the look, so that what happens after it is heard.
            let rung = bell.notified();
            if let Some(news) = self.unheard() {
                return news;
            }
            rung.await;
        }
    }

    fn unheard(&mut self) -> Option<News> {
        let all = lock(&self.hints.watched);
        let watched = all.get(&self.id)?;
        let before = std::mem::replace(&mut self.changes, watched.changes);
        (before != watched.changes).then_some(watched.news)
    }

    /// What the execution answered, if that was in this process and since the watch began.
    pub fn answer(&self) -> Option<Answer> {
        lock(&self.hints.watched).get(&self.id)?.answer.clone()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut all = lock(&self.hints.watched);
        let Some(watched) = all.get_mut(&self.id) else {
            return;
        };
        watched.watchers -= 1;
        if watched.watchers == 0 {
            all.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::id::ExecutionId;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

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

    fn connected() -> (Arc<Hints>, Arc<Wire>) {
        let (hints, wire) = (Arc::new(Hints::default()), Arc::new(Wire::default()));
        hints.connect(wire.clone());
        (hints, wire)
    }

    fn hear(hints: &Hints, hint: Hint) {
        hints.heard(&hint, Timestamp::default());
    }

    fn id(number: u128) -> ExecutionId {
        ExecutionId(Uuid::from_u128(number))
    }

    const END: News = News {
        version: 3,
        ended: Some(Status::Completed),
        responded: false,
    };
    const ANSWER: News = News {
        version: 2,
        ended: None,
        responded: true,
    };

    #[test]
    fn a_watch_that_comes_after_the_answer_is_answered_and_goes_on() {
        let (hints, wire) = connected();
        hints.changed(id(1), ANSWER);
        hear(
            &hints,
            Hint::Watch {
                execution_id: id(1),
            },
        );
        hints.changed(id(1), END);
        let heard = [changed(id(1), ANSWER), changed(id(1), END)];
        assert_eq!(*lock(&wire.0), heard);
    }

    #[tokio::test]
    async fn an_answer_is_not_lost_on_those_who_are_slow() {
        let (hints, _) = connected();
        let mut watcher = hints.watch(id(1));
        let say = |text: &str| Answer::read(&json!({"body": text})).unwrap();
        hints.answered(id(1), say("first"));
        hints.changed(id(1), ANSWER);
        hints.answered(id(1), say("second"));
        hints.changed(id(1), END);
        let expected = News {
            responded: true,
            ..END
        };
        assert_eq!(watcher.changed().await, expected);
        assert_eq!(watcher.answer(), Some(say("first")));
        hints.answered(id(2), say("nobody watches"));
        assert_eq!(hints.watch(id(2)).answer(), None);
    }

    #[test]
    fn only_what_somebody_elsewhere_watches_goes_over_the_wire() {
        let (hints, wire) = connected();
        hints.changed(id(1), END);
        hear(
            &hints,
            Hint::Watch {
                execution_id: id(2),
            },
        );
        hints.changed(id(2), END);
        hints.changed(id(2), END);
        assert_eq!(
            *lock(&wire.0),
            [changed(id(2), END)],
            "once, and only the watched one"
        );
    }

    #[test]
    fn nobody_is_told_of_what_has_ended_elsewhere() {
        let (hints, wire) = connected();
        for number in 0..3 {
            let execution_id = id(number);
            hear(&hints, Hint::Watch { execution_id });
            hear(&hints, changed(execution_id, END));
        }
        assert!(lock(&hints.elsewhere).watched.is_empty());
        assert!(lock(&wire.0).is_empty());
    }

    #[test]
    fn a_watch_that_comes_after_the_end_is_answered() {
        let (hints, wire) = connected();
        hints.changed(id(1), END);
        hear(
            &hints,
            Hint::Watch {
                execution_id: id(1),
            },
        );
        assert_eq!(*lock(&wire.0), [changed(id(1), END)]);
    }

    #[test]
    fn whoever_comes_later_hears_what_is_watched() {
        let (hints, wire) = connected();
        let [ended, watched] = [id(1), id(2)].map(|id| hints.watch(id));
        drop(ended);
        lock(&wire.0).clear();
        hear(&hints, Hint::Hello);
        let told = [Hint::Watch {
            execution_id: id(2),
        }];
        assert_eq!(*lock(&wire.0), told);
        drop(watched);
    }

    #[tokio::test]
    async fn news_from_elsewhere_reach_the_watcher_here() {
        let (hints, wire) = connected();
        let mut watcher = hints.watch(id(1));
        assert_eq!(
            *lock(&wire.0),
            [Hint::Watch {
                execution_id: id(1)
            }]
        );
        hear(&hints, changed(id(1), END));
        assert_eq!(watcher.changed().await, END);
    }
}
