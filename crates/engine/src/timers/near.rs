//! The near future in memory: the next timers of our shards. Waiting for them costs no queries, and they fire to the
//! millisecond.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::time::Duration;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::DueTimer;
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

/// How many rows of which kind a batch may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) rows: usize,
    /// Of those that look like actions: as many as can be attempted.
    pub(super) actions: usize,
    /// Of those that were due before `since`: as many as the pace of catching up allows.
    pub(super) overdue: usize,
}

#[derive(Default)]
pub(super) struct Near {
    /// Rows that look like waits of executions. An action's id may look like that too; the store knows better, this is
    /// only so that actions which find no slot are in nobody's way.
    waits: BTreeSet<DueTimer>,
    actions: BTreeSet<DueTimer>,
    /// Whatever is due before this is here, save what came since we looked.
    until: Timestamp,
    /// There are rows that are not here although they should be.
    stale: bool,
    not_before: Timestamp,
    /// Taken since the last look. One that turns up again was not dealt with.
    taken: BTreeSet<DueTimer>,
    /// Those that did, and when to try them again.
    delayed: BTreeMap<DueTimer, Timestamp>,
}

/// Rows that stay although they were dealt with are tried again after this.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// What a look at the store found.
pub(super) struct Seen {
    pub(super) rows: Vec<DueTimer>,
    /// Nothing else is due before this.
    pub(super) until: Timestamp,
    /// A look that took long is not repeated before this.
    pub(super) not_before: Timestamp,
}

impl Near {
    /// Nothing is known any more: look again before anything else.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Something changed that is not here.
    pub(super) fn outdated(&mut self) {
        self.stale = true;
    }

    pub(super) fn wants_look(&self, now: Timestamp) -> bool {
        now >= self.not_before && (self.stale || self.until <= now)
    }

    /// Takes in what was seen. Returns whether something turned up again that had been dealt with.
    pub(super) fn look(&mut self, seen: Seen, now: Timestamp) -> bool {
        let before = std::mem::take(self);
        self.until = seen.until;
        self.not_before = seen.not_before;
        let mut again = false;
        for row in seen.rows {
            let waits_until = before.delayed.get(&row).filter(|at| now < **at);
            if before.taken.contains(&row) {
                again = true;
                self.delayed.insert(row, now.plus(AGAIN_AFTER));
            } else if let Some(at) = waits_until {
                self.delayed.insert(row, *at);
            } else {
                self.rows_like(&row).insert(row);
            }
        }
        again
    }

    fn release_delayed(&mut self, now: Timestamp) {
        if self.delayed.is_empty() {
            return;
        }
        let (over, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.delayed)
            .into_iter()
            .partition(|(_, at)| *at <= now);
        self.delayed = rest;
        for (row, _) in over {
            self.rows_like(&row).insert(row);
        }
    }

    /// A row that is known to be there now. One that is due later than we know of is found in time.
    pub(super) fn add(&mut self, row: DueTimer) {
        self.taken.remove(&row);
        if row.at < self.until {
            self.rows_like(&row).insert(row);
        }
    }

    /// The store said that it is dealt with.
    pub(super) fn settled(&mut self, row: &DueTimer) {
        self.taken.remove(row);
    }

    pub(super) fn remove(&mut self, row: &DueTimer) {
        self.rows_like(row).remove(row);
    }

    /// Only these shards are ours.
    pub(super) fn keep_shards(&mut self, shards: &[u32]) {
        let ours = |row: &DueTimer| shards.contains(&row.shard_id);
        self.waits.retain(ours);
        self.actions.retain(ours);
        self.delayed.retain(|row, _| ours(row));
    }

    /// Rows that are due, and not `busy`. What came due while we were there goes before what was overdue when we came,
    /// but leaves it a part of each batch.
    pub(super) fn take_due(
        &mut self,
        now: Timestamp,
        since: Timestamp,
        room: Room,
        busy: impl Fn(&DueTimer) -> bool,
    ) -> Vec<DueTimer> {
        self.release_delayed(now);
        let mut picked = Vec::new();
        let fresh = room.rows - room.overdue.min(room.rows / 4);
        self.pick(&mut picked, since, now, fresh, room.actions, &busy);
        let rest = room.overdue.min(room.rows - picked.len());
        let actions = picked.iter().filter(|row| !is_like_wait(row)).count();
        let before = since.minus(TICK).min(now);
        self.pick(
            &mut picked,
            Timestamp::from_micros(i64::MIN),
            before,
            rest,
            room.actions - actions,
            &busy,
        );
        for row in &picked {
            self.remove(row);
            self.taken.insert(row.clone());
        }
        picked
    }

    /// At most `most` rows from `from` to `to`, of them at most so many actions; the soonest first.
    fn pick(
        &self,
        picked: &mut Vec<DueTimer>,
        from: Timestamp,
        to: Timestamp,
        most: usize,
        actions: usize,
        busy: impl Fn(&DueTimer) -> bool,
    ) {
        if to < from {
            return;
        }
        let free = |row: &&DueTimer| !busy(row);
        let between = |rows: &BTreeSet<DueTimer>, most: usize| -> Vec<DueTimer> {
            let range = (Included(first_at(from)), Excluded(first_at(to.plus(TICK))));
            let found = rows.range(range).filter(free).take(most);
            found.cloned().collect()
        };
        let mut found = between(&self.waits, most);
        found.extend(between(&self.actions, most.min(actions)));
        found.sort_unstable();
        found.truncate(most);
        picked.append(&mut found);
    }

    /// Is something left that was due before `since`? Actions count only if there is room for one.
    pub(super) fn has_overdue(&self, since: Timestamp, room_for_actions: bool) -> bool {
        let old = |rows: &BTreeSet<DueTimer>| rows.first().is_some_and(|row| row.at < since);
        old(&self.waits) || (room_for_actions && old(&self.actions))
    }

    /// When something happens next, if nobody says anything: a row comes due, or our knowledge ends.
    pub(super) fn wake_at(&self, now: Timestamp) -> Timestamp {
        let next = |rows: &BTreeSet<DueTimer>| {
            let mut later = rows.range((Included(first_at(now.plus(TICK))), Unbounded));
            later.next().map(|row| row.at)
        };
        let again = self.delayed.values().min().copied();
        let rows = [next(&self.waits), next(&self.actions), again];
        let look = if self.stale { now } else { self.until };
        let look = look.max(self.not_before);
        rows.into_iter()
            .flatten()
            .min()
            .map_or(look, |at| at.min(look))
    }

    /// How many are known to be due, by shard.
    pub(super) fn due_by_shard(&self, now: Timestamp, shards: &[u32]) -> Vec<(u32, usize)> {
        let mut counts: Vec<(u32, usize)> = shards.iter().map(|shard| (*shard, 0)).collect();
        for rows in [&self.waits, &self.actions] {
            for row in rows.iter().take_while(|row| row.at <= now) {
                if let Some(count) = counts.iter_mut().find(|(shard, _)| *shard == row.shard_id) {
                    count.1 += 1;
                }
            }
        }
        counts
    }

    fn rows_like(&mut self, row: &DueTimer) -> &mut BTreeSet<DueTimer> {
        match is_like_wait(row) {
            true => &mut self.waits,
            false => &mut self.actions,
        }
    }
}

const TICK: Duration = Duration::from_micros(1);

fn is_like_wait(row: &DueTimer) -> bool {
    row.action_id.parse::<ExecutionId>().is_ok()
}

/// Before every row that is due at this time.
fn first_at(at: Timestamp) -> DueTimer {
    DueTimer {
        at,
        shard_id: 0,
        action_id: String::new(),
        guid: Uuid::nil(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn action(seconds: i64, id: &str) -> DueTimer {
        DueTimer {
            at: at(seconds),
            shard_id: 1,
            action_id: id.to_owned(),
            guid: Uuid::from_u128(7),
        }
    }

    fn wait(seconds: i64, number: u128) -> DueTimer {
        action(seconds, &Uuid::from_u128(number).to_string())
    }

    fn seen(rows: Vec<DueTimer>, until: i64) -> Seen {
        Seen {
            rows,
            until: at(until),
            not_before: Timestamp::default(),
        }
    }

    fn near(rows: Vec<DueTimer>) -> Near {
        let mut near = Near::default();
        assert!(!near.look(seen(rows, 1_000), at(0)));
        near
    }

    const ROOM: Room = Room {
        rows: 8,
        actions: 8,
        overdue: 8,
    };

    fn idle(_: &DueTimer) -> bool {
        false
    }

    #[test]
    fn nothing_is_taken_early_and_the_soonest_goes_first() {
        let mut near = near(vec![action(12, "c"), wait(11, 1), action(10, "a")]);
        assert_eq!(near.take_due(at(9), at(0), ROOM, idle), []);
        assert_eq!(near.wake_at(at(9)), at(10));
        let due = near.take_due(at(11), at(0), ROOM, idle);
        assert_eq!(due, [action(10, "a"), wait(11, 1)]);
        assert_eq!(near.wake_at(at(11)), at(12));
    }

    #[test]
    fn a_backlog_leaves_room_for_what_comes_due() {
        let old = (0..100).map(|n| action(n, "old"));
        let new = (200..220).map(|n| action(n, "new"));
        let mut near = near(old.chain(new).collect());
        let due = near.take_due(at(220), at(150), ROOM, idle);
        assert_eq!(due.len(), 8);
        assert_eq!(due.iter().filter(|row| row.action_id == "new").count(), 6);
        let slow = Room { overdue: 0, ..ROOM };
        let due = near.take_due(at(220), at(150), slow, idle);
        assert!(due.iter().all(|row| row.action_id == "new"));
        assert!(near.has_overdue(at(150), true));
    }

    #[test]
    fn actions_without_a_slot_are_in_nobodys_way() {
        let mut rows: Vec<_> = (0..50).map(|n| action(n, "slow")).collect();
        rows.push(wait(60, 1));
        let mut near = near(rows);
        let full = Room { actions: 0, ..ROOM };
        assert_eq!(near.take_due(at(70), at(0), full, idle), [wait(60, 1)]);
    }

    #[test]
    fn what_is_busy_waits() {
        let mut near = near(vec![action(10, "a")]);
        assert_eq!(near.take_due(at(11), at(0), ROOM, |_| true), []);
        assert!(!near.wants_look(at(11)));
        assert_eq!(near.take_due(at(11), at(0), ROOM, idle).len(), 1);
    }

    #[test]
    fn what_turns_up_again_is_noticed() {
        let mut near = near(vec![action(10, "a")]);
        near.take_due(at(11), at(0), ROOM, idle);
        assert!(near.look(seen(vec![action(10, "a"), wait(10, 1)], 1_000), at(11)));
        let due = near.take_due(at(11), at(0), ROOM, idle);
        assert_eq!(due, [wait(10, 1)], "nobody else waits for it");
        assert!(near.wake_at(at(11)) < at(12));
        assert_eq!(near.take_due(at(12), at(0), ROOM, idle).len(), 1);
        near.add(action(10, "a"));
        assert!(!near.look(seen(vec![action(10, "a")], 1_000), at(12)));
    }

    #[test]
    fn it_looks_when_its_knowledge_ends_and_not_before() {
        let mut near = Near::default();
        assert!(near.wants_look(at(5)));
        near.look(seen(vec![], 60), at(5));
        assert!(!near.wants_look(at(59)));
        assert_eq!(near.wake_at(at(5)), at(60));
        near.outdated();
        assert!(near.wants_look(at(59)));
        let slow = Seen {
            not_before: at(70),
            ..seen(vec![], 60)
        };
        near.look(slow, at(59));
        near.outdated();
        assert!(!near.wants_look(at(65)));
        assert_eq!(near.wake_at(at(65)), at(70));
    }
}
