//! How many shards a worker should have, and when to look again. Pure: it decides on what a heartbeat told.
//!
//! Everybody counts the same workers and comes to the same share. Who has more gives back, who has less takes what lies
//! there. A lock that nobody looks after is taken by whoever sees it first, above his share too. Whoever has just taken
//! or given keeps what he has until more workers come: one that died without a word is counted for a while, and what
//! would be given to it would lie there.

use std::time::Duration;

use pawl_kernel::ports::store::ShardsAround;
use pawl_kernel::time::Timestamp;

/// A lock is renewed this often before it would count as free.
const BEATS: u32 = 4;
/// Who waits for somebody to give back asks this often in that time.
const TRIES: u32 = 8;
/// So that a lock is free by then in everybody's eyes.
const A_LITTLE: Duration = Duration::from_millis(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) give_back: u32,
    pub(super) take: Option<Take>,
    /// When to ask again.
    pub(super) next: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Take {
    pub(super) max: u32,
    /// Only what was given back by then; `None`: any.
    pub(super) unlocked_by: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(super) struct Share {
    lock: Duration,
    /// A worker is counted for so long after its last word.
    counted: Duration,
    /// How many others there were when we took or gave last, and how long we stay with that.
    settled: (u32, Timestamp),
}

impl Share {
    pub(super) fn new(lock: Duration, counted: Duration) -> Self {
        Self {
            lock,
            counted,
            settled: (0, Timestamp::default()),
        }
    }

    pub(super) fn heartbeat(&self) -> Duration {
        self.lock / BEATS
    }

    /// The clock was set: times that were noted mean nothing.
    pub(super) fn forget(&mut self) {
        self.settled = (0, Timestamp::default());
    }

    /// What was planned has happened.
    pub(super) fn settle(&mut self, around: &ShardsAround, now: Timestamp) {
        self.settled = (around.others, now.plus(self.counted));
    }

    pub(super) fn plan(&self, held: u32, around: &ShardsAround, now: Timestamp) -> Plan {
        let share = around.locks.div_ceil(around.others + 1);
        let (others, until) = self.settled;
        let may_give = now >= until || around.others > others;
        Plan {
            give_back: held.saturating_sub(share) * u32::from(may_give),
            take: self.take(share.saturating_sub(held), around, now),
            next: self.next(held, share, around, now),
        }
    }

    fn take(&self, missing: u32, around: &ShardsAround, now: Timestamp) -> Option<Take> {
        let idle_by = now.minus(self.idle());
        let is_stale = around
            .silent_since
            .is_some_and(|at| at < now.minus(self.lock));
        let is_idle = around.unlocked_since.is_some_and(|at| at <= idle_by);
        let neglected = Take {
            max: around.locks,
            unlocked_by: Some(idle_by),
        };
        if is_stale {
            Some(neglected)
        } else if missing > 0 && around.unlocked_since.is_some() {
            Some(Take {
                max: missing,
                unlocked_by: None,
            })
        } else {
            is_idle.then_some(neglected)
        }
    }

    /// A lock that nobody took for so long is one that nobody wants.
    fn idle(&self) -> Duration {
        self.lock / BEATS
    }

    fn next(&self, held: u32, share: u32, around: &ShardsAround, now: Timestamp) -> Timestamp {
        let soon = held < share && around.most_of_another > share;
        let pause = self.lock / if soon { TRIES } else { BEATS };
        let stale_at = around.silent_since.map(|at| at.plus(self.lock));
        let idle_at = around.unlocked_since.map(|at| at.plus(self.idle()));
        let free = stale_at.into_iter().chain(idle_at).filter(|at| *at >= now);
        free.map(|at| at.plus(A_LITTLE))
            .fold(now.plus(pause), Timestamp::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Duration = Duration::from_secs(8);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000 + millis * 1_000)
    }

    fn share() -> Share {
        Share::new(LOCK, Duration::from_secs(30))
    }

    /// Sixteen locks, so many others, all of them heard of just now.
    fn around(others: u32, most_of_another: u32) -> ShardsAround {
        ShardsAround {
            locks: 16,
            others,
            most_of_another,
            unlocked_since: None,
            silent_since: (most_of_another > 0).then_some(at(0)),
        }
    }

    #[test]
    fn alone_it_takes_everything_at_once() {
        let new = ShardsAround {
            unlocked_since: Some(Timestamp::default()),
            ..around(0, 0)
        };
        let plan = share().plan(0, &new, at(0));
        let all = Take {
            max: 16,
            unlocked_by: None,
        };
        assert_eq!((plan.take, plan.give_back), (Some(all), 0));
    }

    #[test]
    fn whoever_has_too_many_gives_back_and_who_has_too_few_takes_them() {
        for (held, others, gives) in [(16, 0, 0), (16, 1, 8), (8, 2, 2), (6, 2, 0), (16, 20, 15)] {
            let plan = share().plan(held, &around(others, 0), at(0));
            assert_eq!(plan.give_back, gives, "{held} of 16 with {others} others");
            assert_eq!(plan.take, None, "nothing is free");
        }
        let given = ShardsAround {
            unlocked_since: Some(at(-1)),
            ..around(1, 8)
        };
        let max = |held| share().plan(held, &given, at(0)).take.map(|take| take.max);
        assert_eq!(max(5), Some(3), "no more than the share");
        assert_eq!(max(8), None, "somebody else wants them");
    }

    #[test]
    fn what_nobody_looks_after_is_taken_above_the_share() {
        let left = ShardsAround {
            unlocked_since: Some(at(0)),
            ..around(1, 8)
        };
        assert_eq!(share().plan(8, &left, at(1_999)).take, None);
        assert_eq!(share().plan(8, &left, at(1_500)).next, at(2_001));
        assert!(share().plan(8, &left, at(2_000)).take.is_some());
        let dead = around(1, 8);
        assert_eq!(share().plan(8, &dead, at(8_000)).take, None);
        assert_eq!(share().plan(8, &dead, at(7_000)).next, at(8_001));
        assert!(share().plan(8, &dead, at(8_001)).take.is_some());
    }

    #[test]
    fn who_has_just_taken_keeps_it_until_more_workers_come() {
        let mut share = share();
        share.settle(&around(2, 6), at(0));
        let gives = |others, now| share.plan(16, &around(others, 0), now).give_back;
        assert_eq!(gives(2, at(29_999)), 0, "one of them may be dead");
        assert_eq!(gives(3, at(1)), 12);
        assert_eq!(gives(2, at(30_000)), 10);
        share.forget();
        assert_eq!(share.plan(16, &around(2, 0), at(1)).give_back, 10);
    }

    #[test]
    fn only_those_who_wait_for_somebody_to_give_back_ask_often() {
        let next = |held, most| share().plan(held, &around(2, most), at(0)).next;
        assert_eq!(next(0, 16), at(1_000));
        assert_eq!(next(4, 6), at(2_000), "as fair as it gets");
        assert_eq!(next(6, 16), at(2_000));
    }
}
