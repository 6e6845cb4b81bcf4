//! How many shards a worker should hold, and when to ask again. Pure: it decides on what a heartbeat told.
//!
//! All workers count the same workers and come to the same share. A worker above its share gives shards back; a worker
//! below it takes free ones. A lock that no worker looks after is taken by the first one that sees it, above its share too.
//! A worker that has just taken or given shards keeps what it has for a while (the cooldown), unless more workers come: one
//! that died without a word is still counted, and what would be given to it would lie there.

use std::time::Duration;

use pawl_kernel::ports::store::ClusterView;
use pawl_kernel::time::Timestamp;

/// A lock is renewed this often before it would count as free.
const BEATS: u32 = 4;
/// A worker that waits for another to give back asks this often in that time.
const TRIES: u32 = 8;
/// So that a lock is free by then for every worker.
const A_LITTLE: Duration = Duration::from_millis(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShardPlan {
    pub(super) give_back: u32,
    pub(super) take: Option<ShardTake>,
    /// When to ask again.
    pub(super) next: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShardTake {
    pub(super) max: u32,
    /// Only what was given back by then; `None`: any.
    pub(super) unlocked_by: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(super) struct ShardBalancer {
    /// A lock is free so long after its last heartbeat.
    lock_expiry: Duration,
    /// A worker is counted for so long after its last heartbeat.
    worker_expiry: Duration,
    cooldown: Cooldown,
}

/// After taking or giving: no shard is given back before `until`, unless there are more than `others`.
#[derive(Clone, Copy, Debug, Default)]
struct Cooldown {
    others: u32,
    until: Timestamp,
}

impl ShardBalancer {
    pub(super) fn new(lock_expiry: Duration, worker_expiry: Duration) -> Self {
        Self {
            lock_expiry,
            worker_expiry,
            cooldown: Cooldown::default(),
        }
    }

    pub(super) fn heartbeat(&self) -> Duration {
        self.lock_expiry / BEATS
    }

    /// The clock was set: its end means nothing any more.
    pub(super) fn end_cooldown(&mut self) {
        self.cooldown = Cooldown::default();
    }

    /// Shards were taken or given back.
    pub(super) fn start_cooldown(&mut self, cluster: &ClusterView, now: Timestamp) {
        self.cooldown = Cooldown {
            others: cluster.others,
            until: now.plus(self.worker_expiry),
        };
    }

    pub(super) fn plan(&self, held: u32, cluster: &ClusterView, now: Timestamp) -> ShardPlan {
        let share = cluster.locks.div_ceil(cluster.others + 1);
        let may_give = now >= self.cooldown.until || cluster.others > self.cooldown.others;
        ShardPlan {
            give_back: held.saturating_sub(share) * u32::from(may_give),
            take: self.take(share.saturating_sub(held), cluster, now),
            next: self.next(held, share, cluster, now),
        }
    }

    fn take(&self, missing: u32, cluster: &ClusterView, now: Timestamp) -> Option<ShardTake> {
        let idle_by = now.minus(self.idle());
        let is_stale = cluster
            .silent_since
            .is_some_and(|at| at < now.minus(self.lock_expiry));
        let is_idle = cluster.unlocked_since.is_some_and(|at| at <= idle_by);
        let neglected = ShardTake {
            max: cluster.locks,
            unlocked_by: Some(idle_by),
        };
        if is_stale {
            Some(neglected)
        } else if missing > 0 && cluster.unlocked_since.is_some() {
            Some(ShardTake {
                max: missing,
                unlocked_by: None,
            })
        } else {
            is_idle.then_some(neglected)
        }
    }

    /// A lock that no worker took for so long is one that no worker wants.
    fn idle(&self) -> Duration {
        self.lock_expiry / BEATS
    }

    fn next(&self, held: u32, share: u32, cluster: &ClusterView, now: Timestamp) -> Timestamp {
        let soon = held < share && cluster.most_of_another > share;
        let pause = self.lock_expiry / if soon { TRIES } else { BEATS };
        let stale_at = cluster.silent_since.map(|at| at.plus(self.lock_expiry));
        let idle_at = cluster.unlocked_since.map(|at| at.plus(self.idle()));
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

    fn balancer() -> ShardBalancer {
        ShardBalancer::new(LOCK, Duration::from_secs(30))
    }

    /// Sixteen locks, so many others, all of them heard of just now.
    fn cluster(others: u32, most_of_another: u32) -> ClusterView {
        ClusterView {
            locks: 16,
            others,
            most_of_another,
            unlocked_since: None,
            silent_since: (most_of_another > 0).then_some(at(0)),
        }
    }

    #[test]
    fn alone_it_takes_everything_at_once() {
        let new = ClusterView {
            unlocked_since: Some(Timestamp::default()),
            ..cluster(0, 0)
        };
        let plan = balancer().plan(0, &new, at(0));
        let all = ShardTake {
            max: 16,
            unlocked_by: None,
        };
        assert_eq!((plan.take, plan.give_back), (Some(all), 0));
    }

    #[test]
    fn above_the_share_it_gives_back_and_below_it_takes() {
        for (held, others, gives) in [(16, 0, 0), (16, 1, 8), (8, 2, 2), (6, 2, 0), (16, 20, 15)] {
            let plan = balancer().plan(held, &cluster(others, 0), at(0));
            assert_eq!(plan.give_back, gives, "{held} of 16 with {others} others");
            assert_eq!(plan.take, None, "nothing is free");
        }
        let given = ClusterView {
            unlocked_since: Some(at(-1)),
            ..cluster(1, 8)
        };
        let max = |held| {
            balancer()
                .plan(held, &given, at(0))
                .take
                .map(|take| take.max)
        };
        assert_eq!(max(5), Some(3), "no more than the share");
        assert_eq!(max(8), None, "another worker wants them");
    }

    #[test]
    fn what_no_worker_looks_after_is_taken_above_the_share() {
        let left = ClusterView {
            unlocked_since: Some(at(0)),
            ..cluster(1, 8)
        };
        assert_eq!(balancer().plan(8, &left, at(1_999)).take, None);
        assert_eq!(balancer().plan(8, &left, at(1_500)).next, at(2_001));
        assert!(balancer().plan(8, &left, at(2_000)).take.is_some());
        let dead = cluster(1, 8);
        assert_eq!(balancer().plan(8, &dead, at(8_000)).take, None);
        assert_eq!(balancer().plan(8, &dead, at(7_000)).next, at(8_001));
        assert!(balancer().plan(8, &dead, at(8_001)).take.is_some());
    }

    #[test]
    fn what_was_just_taken_is_kept_until_more_workers_come() {
        let mut balancer = balancer();
        balancer.start_cooldown(&cluster(2, 6), at(0));
        let gives = |others, now| balancer.plan(16, &cluster(others, 0), now).give_back;
        assert_eq!(gives(2, at(29_999)), 0, "one of them may be dead");
        assert_eq!(gives(3, at(1)), 12);
        assert_eq!(gives(2, at(30_000)), 10);
        balancer.end_cooldown();
        assert_eq!(balancer.plan(16, &cluster(2, 0), at(1)).give_back, 10);
    }

    #[test]
    fn it_asks_often_only_while_another_has_to_give_back() {
        let next = |held, most| balancer().plan(held, &cluster(2, most), at(0)).next;
        assert_eq!(next(0, 16), at(1_000));
        assert_eq!(next(4, 6), at(2_000), "as fair as it gets");
        assert_eq!(next(6, 16), at(2_000));
    }
}
