//! How long messages wait in the queue, per class: what this worker receives, and what others say of theirs. A long
//! queue is no lost message, and the sweeper must know the difference.

use std::sync::Mutex;
use std::time::Duration;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::time::Timestamp;

use crate::sync::lock;

/// No clock and no stranger's message makes the sweeper more patient than this.
const AGE_MAX: Duration = Duration::from_secs(3600);
/// An age is believed for this long, or for twice itself if that is longer: by then messages of its class would have come.
const BELIEVED: Duration = Duration::from_secs(60);
/// What others say they say again, for as long as it is so.
const BELIEVED_OF_OTHERS: Duration = Duration::from_secs(12);
/// Ages from here on are worth telling, this often.
const TELL_FROM: Duration = Duration::from_secs(4);
const TELL_EVERY: Duration = Duration::from_secs(5);

/// In the order of [`PriorityClass::ALL`].
pub(crate) type Ages = [Duration; 3];

#[derive(Default)]
pub(crate) struct Backlog(Mutex<ClassDelay>);

#[derive(Default)]
struct ClassDelay {
    here: [Age; 3],
    elsewhere: [Age; 3],
    told_at: Timestamp,
}

#[derive(Clone, Copy, Default)]
struct Age {
    age: Duration,
    at: Timestamp,
}

impl Age {
    /// While nothing more is received, what waits gets older.
    fn here(self, now: Timestamp) -> Duration {
        let since = now.since(self.at);
        match self.age.is_zero() || since > BELIEVED.max(self.age * 2) {
            true => Duration::ZERO,
            false => (self.age + since).min(AGE_MAX),
        }
    }

    fn elsewhere(self, now: Timestamp) -> Duration {
        match now.since(self.at) > BELIEVED_OF_OTHERS {
            true => Duration::ZERO,
            false => self.age,
        }
    }
}

fn place(class: PriorityClass) -> usize {
    let places = PriorityClass::ALL.iter();
    places.take_while(|known| **known != class).count()
}

impl Backlog {
    /// Returns what is to be told to other processes, if it is time to.
    pub(crate) fn received(
        &self,
        ages: impl Iterator<Item = (PriorityClass, Duration)>,
        now: Timestamp,
    ) -> Option<Ages> {
        let mut known = lock(&self.0);
        for (class, age) in ages {
            let age = age.min(AGE_MAX);
            known.here[place(class)] = Age { age, at: now };
        }
        let ages = known.here.map(|age| age.here(now));
        let worth_it = ages.iter().any(|age| *age >= TELL_FROM);
        if !worth_it || now.since(known.told_at) < TELL_EVERY {
            return None;
        }
        known.told_at = now;
        Some(ages)
    }

    /// Slots are free and nothing comes.
    pub(crate) fn nothing_waits(&self) {
        lock(&self.0).here = Default::default();
    }

    /// Another worker says so.
    pub(crate) fn heard(&self, ages: Ages, now: Timestamp) {
        let mut known = lock(&self.0);
        for (known, age) in known.elsewhere.iter_mut().zip(ages) {
            let age = age.min(AGE_MAX);
            if age >= known.elsewhere(now) {
                *known = Age { age, at: now };
            }
        }
    }

    /// How long messages of each class wait just now.
    pub(crate) fn ages(&self, now: Timestamp) -> Ages {
        let known = lock(&self.0);
        std::array::from_fn(|class| {
            let here = known.here[class].here(now);
            here.max(known.elsewhere[class].elsewhere(now))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PriorityClass::{High, Low};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros((1_000_000 + seconds) * 1_000_000)
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn received(backlog: &Backlog, class: PriorityClass, age: u64, now: i64) -> Option<Ages> {
        backlog.received([(class, seconds(age))].into_iter(), at(now))
    }

    #[test]
    fn a_fresh_class_does_not_hide_an_old_one() {
        let backlog = Backlog::default();
        received(&backlog, Low, 100, 0);
        received(&backlog, High, 0, 1);
        assert_eq!(backlog.ages(at(1)), [seconds(0), seconds(0), seconds(101)]);
    }

    #[test]
    fn what_waits_gets_older_while_all_slots_are_busy_but_not_for_ever() {
        let backlog = Backlog::default();
        received(&backlog, High, 5, 0);
        assert_eq!(backlog.ages(at(50))[0], seconds(55));
        assert_eq!(backlog.ages(at(61))[0], seconds(0));
        received(&backlog, High, 5, 100);
        backlog.nothing_waits();
        assert_eq!(backlog.ages(at(100)), Ages::default());
    }

    #[test]
    fn a_message_from_the_stone_age_is_an_hour_old() {
        let backlog = Backlog::default();
        received(&backlog, High, 56 * 365 * 86_400, 0);
        assert_eq!(backlog.ages(at(0))[0], AGE_MAX);
    }

    #[test]
    fn others_are_told_now_and_then_and_believed() {
        let here = Backlog::default();
        assert_eq!(received(&here, High, 3, 0), None);
        let told = received(&here, High, 30, 0).unwrap();
        assert_eq!(received(&here, High, 31, 1), None);
        assert!(received(&here, High, 36, 6).is_some());
        let reaper = Backlog::default();
        reaper.heard(told, at(0));
        reaper.heard(Ages::default(), at(1));
        assert_eq!(reaper.ages(at(12))[0], seconds(30));
        assert_eq!(
            reaper.ages(at(13))[0],
            seconds(0),
            "they would have said it again"
        );
    }
}
