//! The near future in memory: the next timers of our shards. Waiting for them costs no queries, and they fire to the
//! millisecond.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::Range;
use std::time::Duration;

use pawl_kernel::ports::store::{DueTimer, TimerKind};
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

/// How many rows of which kind a batch may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) rows: usize,
    /// Of actions: as many as can be attempted.
    pub(super) actions: usize,
    /// Of those that were due before `since`: as many as the pace of catching up allows.
    pub(super) overdue: usize,
}

/// What is due from `since` on is fresh; what was due before was overdue when we came. The two are read apart, page by
/// page, so that neither hides the other.
#[derive(Default)]
pub(super) struct Near {
    /// By kind, so that actions which find no slot are not in the way of waits.
    waits: BTreeSet<DueTimer>,
    actions: BTreeSet<DueTimer>,
    since: Timestamp,
    fresh: Known,
    overdue: Known,
    /// Taken since the last look. One that turns up again was not dealt with.
    taken: BTreeSet<DueTimer>,
    /// Those that did, and when to try them again.
    delayed: BTreeMap<DueTimer, Timestamp>,
    is_overdues_turn: bool,
}

/// How far the rows of the store are known.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Whatever is due before this is here, save what came since we looked.
    until: Timestamp,
    /// There are rows that are not here although they should be: read from the start.
    stale: bool,
    /// A whole page was due at one moment: the next is found when these are gone.
    stuck: bool,
}

/// Rows that stay although they were dealt with are tried again after this.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Beyond so many, rows that we are told of are left to be read.
const ROWS_MAX: usize = 50_000;

/// A page of what the store has.
pub(super) struct Seen {
    pub(super) rows: Vec<DueTimer>,
    pub(super) from: Timestamp,
    /// Nothing else is due before this.
    pub(super) until: Timestamp,
    pub(super) is_full: bool,
}

impl Near {
    /// Nothing is known any more: look again before anything else. What is due before `since` is overdue.
    pub(super) fn forget(&mut self, since: Timestamp) {
        *self = Self {
            since,
            ..Self::default()
        };
        self.fresh.until = since;
    }

    pub(super) fn since(&self) -> Timestamp {
        self.since
    }

    /// Something changed that is not here.
    pub(super) fn outdated(&mut self) {
        self.fresh.stale = true;
        self.overdue.stale = true;
    }

    /// From when on to read what is fresh; `None`: enough of it is here.
    pub(super) fn wants_fresh(&self, now: Timestamp, room: bool) -> Option<Timestamp> {
        let known = &self.fresh;
        if known.stale {
            return Some(self.since);
        }
        let has_work = self.has_work(self.since, now, room) || self.waits_for(known, self.due(now));
        (known.until <= now && !has_work).then_some(known.until.max(self.since))
    }

    /// From when on to read what is overdue; `None`: enough of it is here, or that is all.
    pub(super) fn wants_overdue(&self, room: bool) -> Option<Timestamp> {
        let known = &self.overdue;
        let has_work = self.has_overdue(room) || self.waits_for(known, self.overdue_rows());
        let from = match known.stale {
            true => Timestamp::default(),
            false => known.until,
        };
        (from < self.since && !has_work).then_some(from)
    }

    /// Nothing is left of what was overdue: whatever is due counts as fresh from now on.
    pub(super) fn caught_up(&mut self) {
        self.since = Timestamp::default();
    }

    /// Takes in what was seen. Returns whether something turned up again that had been dealt with.
    pub(super) fn look_fresh(&mut self, seen: Seen, now: Timestamp) -> bool {
        self.fresh = Known::after(&seen);
        self.take_in(seen, now)
    }

    pub(super) fn look_overdue(&mut self, seen: Seen, now: Timestamp) -> bool {
        self.overdue = Known::after(&seen);
        self.take_in(seen, now)
    }

    fn take_in(&mut self, seen: Seen, now: Timestamp) -> bool {
        let span = seen.from..seen.until;
        let taken = cut(&mut self.taken, &span);
        cut(&mut self.waits, &span);
        cut(&mut self.actions, &span);
        let mut again = false;
        for row in seen.rows {
            if taken.contains(&row) || self.taken.remove(&row) {
                again = true;
                self.delayed.insert(row, now.plus(AGAIN_AFTER));
            } else if !self.delayed.contains_key(&row) {
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
        let is_full = self.is_full();
        let known = match row.at < self.since {
            true => &mut self.overdue,
            false => &mut self.fresh,
        };
        if is_full {
            known.until = known.until.min(row.at);
        }
        if row.at < known.until {
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
        room: Room,
        busy: impl Fn(&DueTimer) -> bool,
    ) -> Vec<DueTimer> {
        self.release_delayed(now);
        let mut picked = Vec::new();
        let fresh = room.rows - room.overdue.min(room.rows / 4);
        let slots = room.actions - self.slots_for_overdue(room);
        self.pick(&mut picked, self.since, now, fresh, slots, &busy);
        let rest = room.overdue.min(room.rows - picked.len());
        let actions = picked
            .iter()
            .filter(|row| row.kind == TimerKind::Action)
            .count();
        self.pick(
            &mut picked,
            Timestamp::default(),
            self.since.minus(TICK).min(now),
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

    /// Where slots are short, what is overdue gets some of them too: a quarter, or every other time the only one.
    fn slots_for_overdue(&mut self, room: Room) -> usize {
        let overdue = between(&self.actions, Timestamp::default(), self.since.minus(TICK));
        let has_overdue = self.since > Timestamp::default() && overdue.take(1).count() > 0;
        self.is_overdues_turn = !self.is_overdues_turn;
        match room.actions {
            _ if !has_overdue || room.overdue == 0 => 0,
            0 => 0,
            1 => usize::from(self.is_overdues_turn),
            slots => (slots / 4).max(1),
        }
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
        let free = |row: &&DueTimer| !busy(row);
        let some = |rows, most: usize| -> Vec<DueTimer> {
            between(rows, from, to)
                .filter(free)
                .take(most)
                .cloned()
                .collect()
        };
        let mut found = some(&self.waits, most);
        found.extend(some(&self.actions, most.min(actions)));
        found.sort_unstable();
        found.truncate(most);
        picked.append(&mut found);
    }

    /// Is something here that was due before `since`? Actions count only if there is room for one.
    pub(super) fn has_overdue(&self, room: bool) -> bool {
        self.since > Timestamp::default()
            && self.has_work(Timestamp::default(), self.since.minus(TICK), room)
    }

    fn has_work(&self, from: Timestamp, to: Timestamp, room: bool) -> bool {
        let has = |rows| between(rows, from, to).next().is_some();
        has(&self.waits) || (room && has(&self.actions))
    }

    fn is_full(&self) -> bool {
        self.waits.len() + self.actions.len() >= ROWS_MAX
    }

    /// Is there nothing to be had from looking before some of the rows here are gone?
    fn waits_for(&self, known: &Known, rows: bool) -> bool {
        rows && (known.stuck || self.is_full())
    }

    fn due(&self, now: Timestamp) -> bool {
        self.has_work(self.since, now, true) || self.delayed.keys().any(|row| row.at >= self.since)
    }

    fn overdue_rows(&self) -> bool {
        self.has_overdue(true) || self.delayed.keys().any(|row| row.at < self.since)
    }

    /// When something happens next, if nobody says anything: a row comes due, or our knowledge ends.
    pub(super) fn wake_at(&self, now: Timestamp, room: bool) -> Timestamp {
        let next = |rows: &BTreeSet<DueTimer>| {
            let mut later = rows.range((Included(first_at(now.plus(TICK))), Unbounded));
            later.next().map(|row| row.at)
        };
        let again = self.delayed.values().min().copied();
        let wants = self.wants_fresh(now, room).or(self.wants_overdue(room));
        let look = match wants {
            Some(_) => Some(now),
            None => Some(self.fresh.until).filter(|until| *until > now),
        };
        let times = [next(&self.waits), next(&self.actions), again, look];
        let never = Timestamp::from_micros(i64::MAX);
        times.into_iter().flatten().min().unwrap_or(never)
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
        match row.kind {
            TimerKind::Wait => &mut self.waits,
            TimerKind::Action => &mut self.actions,
        }
    }
}

impl Known {
    fn after(seen: &Seen) -> Self {
        Self {
            until: seen.until,
            stale: false,
            stuck: seen.is_full && seen.until <= seen.from,
        }
    }
}

const TICK: Duration = Duration::from_micros(1);

/// Rows from `from` to `to`, both included.
fn between(
    rows: &BTreeSet<DueTimer>,
    from: Timestamp,
    to: Timestamp,
) -> impl Iterator<Item = &DueTimer> {
    let end = to.plus(TICK).max(from);
    rows.range((Included(first_at(from)), Excluded(first_at(end))))
}

/// Takes the rows of this time out.
fn cut(rows: &mut BTreeSet<DueTimer>, span: &Range<Timestamp>) -> BTreeSet<DueTimer> {
    let mut inside = rows.split_off(&first_at(span.start));
    let mut after = inside.split_off(&first_at(span.end.max(span.start)));
    rows.append(&mut after);
    inside
}

/// Before every row that is due at this time.
fn first_at(at: Timestamp) -> DueTimer {
    DueTimer {
        at,
        shard_id: 0,
        action_id: String::new(),
        guid: Uuid::nil(),
        kind: TimerKind::Wait,
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
            kind: TimerKind::Action,
        }
    }

    fn wait(seconds: i64, number: u128) -> DueTimer {
        DueTimer {
            kind: TimerKind::Wait,
            ..action(seconds, &Uuid::from_u128(number).to_string())
        }
    }

    fn seen(rows: Vec<DueTimer>, until: i64) -> Seen {
        Seen {
            rows,
            from: at(0),
            until: at(until),
            is_full: false,
        }
    }

    fn near(rows: Vec<DueTimer>) -> Near {
        let mut near = Near::default();
        assert!(!near.look_fresh(seen(rows, 1_000), at(0)));
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
        assert_eq!(near.take_due(at(9), ROOM, idle), []);
        assert_eq!(near.wake_at(at(9), true), at(10));
        let due = near.take_due(at(11), ROOM, idle);
        assert_eq!(due, [action(10, "a"), wait(11, 1)]);
        assert_eq!(near.wake_at(at(11), true), at(12));
    }

    /// Knows everything from 150 on, and what is overdue by then.
    fn after_an_outage(old: Vec<DueTimer>, new: Vec<DueTimer>) -> Near {
        let mut near = Near::default();
        near.forget(at(150));
        assert_eq!(near.wants_fresh(at(220), true), Some(at(150)));
        let fresh = Seen {
            from: at(150),
            ..seen(new, 1_000)
        };
        near.look_fresh(fresh, at(220));
        assert_eq!(near.wants_overdue(true), Some(at(0)));
        near.look_overdue(seen(old, 150), at(220));
        assert_eq!(near.wants_overdue(true), None);
        near
    }

    #[test]
    fn a_backlog_leaves_room_for_what_comes_due() {
        let old = (0..100).map(|n| action(n, "old")).collect();
        let new = (200..220).map(|n| action(n, "new")).collect();
        let mut near = after_an_outage(old, new);
        let due = near.take_due(at(220), ROOM, idle);
        assert_eq!(due.len(), 8);
        assert_eq!(due.iter().filter(|row| row.action_id == "new").count(), 6);
        let slow = Room { overdue: 0, ..ROOM };
        let due = near.take_due(at(220), slow, idle);
        assert!(due.iter().all(|row| row.action_id == "new"));
        assert!(near.has_overdue(true));
    }

    #[test]
    fn a_backlog_is_read_page_by_page() {
        let mut near = Near::default();
        near.forget(at(150));
        let first = Seen {
            is_full: true,
            ..seen(vec![action(10, "a"), action(20, "b")], 20)
        };
        near.look_overdue(first, at(200));
        assert_eq!(near.wants_overdue(true), None, "there is work to do");
        assert_eq!(
            near.wants_overdue(false),
            Some(at(20)),
            "there may be waits behind what finds no slot"
        );
        assert_eq!(near.take_due(at(200), ROOM, idle).len(), 2);
        assert_eq!(near.wants_overdue(true), Some(at(20)));
        let same = Seen {
            from: at(20),
            is_full: true,
            ..seen(vec![action(20, "c"), action(20, "d")], 20)
        };
        near.look_overdue(same, at(200));
        assert_eq!(near.wants_overdue(false), None, "no page is behind these");
        assert_eq!(near.take_due(at(200), ROOM, idle).len(), 2);
        assert_eq!(near.wants_overdue(true), Some(at(20)));
        let last = Seen {
            from: at(20),
            ..seen(vec![], 150)
        };
        assert!(!near.look_overdue(last, at(200)));
        assert_eq!(near.wants_overdue(true), None);
    }

    #[test]
    fn actions_without_a_slot_are_in_nobodys_way() {
        let mut rows: Vec<_> = (0..50).map(|n| action(n, "slow")).collect();
        rows.push(wait(60, 1));
        let mut near = near(rows);
        let full = Room { actions: 0, ..ROOM };
        assert_eq!(near.take_due(at(70), full, idle), [wait(60, 1)]);
    }

    #[test]
    fn what_is_busy_waits() {
        let mut near = near(vec![action(10, "a")]);
        assert_eq!(near.take_due(at(11), ROOM, |_| true), []);
        assert_eq!(near.wants_fresh(at(11), true), None);
        assert_eq!(near.take_due(at(11), ROOM, idle).len(), 1);
    }

    #[test]
    fn what_turns_up_again_is_noticed() {
        let mut near = near(vec![action(10, "a")]);
        near.take_due(at(11), ROOM, idle);
        let rows = vec![action(10, "a"), wait(10, 1)];
        assert!(near.look_fresh(seen(rows, 1_000), at(11)));
        let due = near.take_due(at(11), ROOM, idle);
        assert_eq!(due, [wait(10, 1)], "nobody else waits for it");
        assert!(near.wake_at(at(11), true) < at(12));
        assert_eq!(near.take_due(at(12), ROOM, idle).len(), 1);
        near.add(action(10, "a"));
        let rows = vec![action(10, "a")];
        assert!(!near.look_fresh(seen(rows, 1_000), at(12)));
    }

    #[test]
    fn it_looks_when_its_knowledge_ends_and_not_before() {
        let mut near = Near::default();
        assert_eq!(near.wants_fresh(at(5), true), Some(at(0)));
        near.look_fresh(seen(vec![], 60), at(5));
        assert_eq!(near.wants_fresh(at(59), true), None);
        assert_eq!(near.wake_at(at(5), true), at(60));
        assert_eq!(near.wants_fresh(at(60), true), Some(at(60)));
        near.outdated();
        assert_eq!(near.wants_fresh(at(59), true), Some(at(0)), "all of it");
    }

    #[test]
    fn what_it_is_told_of_needs_no_look() {
        let mut near = near(vec![]);
        near.add(action(500, "near"));
        near.add(action(1_000, "far"));
        assert_eq!(near.wake_at(at(5), true), at(500));
        assert_eq!(near.take_due(at(2_000), ROOM, idle), [action(500, "near")]);
        assert_eq!(near.wants_fresh(at(2_000), true), Some(at(1_000)));
    }
}
