//! The timer window: the near future of our shards in memory, so that waiting for a timer costs no queries and a timer
//! fires to the millisecond.
//!
//! # Why a window
//!
//! `processing_queue` may hold millions of rows, most of them due in days. The timers need the next few. To ask the
//! database each time would cost a query for every moment at which something is due; to hold everything would cost memory
//! and a long start. So the window holds what is due soon (the caller chooses how soon), read page by page, and says when
//! it has to be read again.
//!
//! # What it guarantees
//!
//! Nothing about correctness: the store is the truth. `fire` and `begin_actions` check the lock of the shard, the time and
//! the row itself in their transaction. A row that is here but not in the store any more does nothing; a row that is
//! handed out twice happens once.
//!
//! It guarantees *punctuality*: a row of our shards that is due and in `processing_queue` is handed out, unless it is busy
//! or has no slot. That rests on one fact: only the owner of a shard writes to its part of `processing_queue`. So the
//! window stays complete if it learns of the owner's own writes:
//!
//! - rows collected from `incoming_queue`, rescheduled or recorded are added one by one ([`TimerWindow::add`]);
//! - where the answer of the store leaves open what became of the rows (it put some off, dropped some, or did nothing
//!   because the lock is gone), the window is [invalidated](TimerWindow::invalidate) and read from the start;
//! - where the answer was lost, or the owner slept, or new shards were taken, it is [reset](TimerWindow::reset).
//!
//! # Pages and coverage
//!
//! [`Coverage`] says how far the rows of the store are known: each row that is due before `until` is here. A page moves
//! `until` on: to the end of the time that was asked for or, if the page is full, to the time of its last row. More rows
//! may be due at that very moment, so the next page begins there, and not after it. If all rows of a full page are due at
//! one moment, the next page would be the same one; the coverage is `stuck` then, and the next page waits until rows of
//! this one are gone.
//!
//! The next page is wanted when the coverage ends at or before now and there is nothing to do here. A page replaces what
//! is here of its time.
//!
//! There are two coverages, because there are two kinds of due rows. The *backlog* is what was due before the owner came
//! (started, took the shard, came back from an outage); it is caught up with at a limited pace. Whatever is due from
//! `backlog_before` on is *fresh*, and goes first. Each has pages of its own, so that a million rows of backlog do not
//! hide the timer that is due now, and a busy present does not hide the backlog. When a page shows that no backlog is
//! left, everything is fresh.
//!
//! # Hints
//!
//! A commit that sets a timer gives a hint: the time, not the row. Hints never touch the window. They bring forward the
//! time at which `incoming_queue` is collected; the rows that this moves are added here. A lost hint costs lateness, as the
//! queue is collected every few seconds anyway.
//!
//! # What may be forgotten
//!
//! All of it, at any time, at the price of reading it again. In particular:
//!
//! - a row that is due after `until`: a later page brings it;
//! - a row for which there is no room ([`ROWS_MAX`]): `until` moves back to its time, so that a page brings it;
//! - rows of shards that went to another owner: theirs now;
//! - `in_flight`, the rows that were handed out and not confirmed. It serves only to notice that the store did not take
//!   them: such a row turns up again in a page. It is not handed out again at once, which could go on for ever, but after
//!   a pause, and the caller learns of it, because a shard may be lost.

mod rows;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pawl_kernel::ports::store::{DueTimer, TimerKind};
use pawl_kernel::time::Timestamp;

use rows::{TICK, TimerRows, cut};

/// How many rows a batch may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowBudget {
    pub(super) rows: usize,
    /// Of actions: as many as can be attempted.
    pub(super) slots: usize,
    /// Of the backlog: as many as the pace of catching up allows.
    pub(super) backlog: usize,
}

#[derive(Default)]
pub(super) struct TimerWindow {
    rows: TimerRows,
    /// What is due before this is backlog.
    backlog_before: Timestamp,
    fresh: Coverage,
    backlog: Coverage,
    /// Handed out, and neither confirmed nor seen again.
    in_flight: BTreeSet<DueTimer>,
    /// Seen again after they were handed out, and when to try them again.
    delayed: BTreeMap<DueTimer, Timestamp>,
    is_backlogs_turn: bool,
}

/// How far the rows of the store are known.
#[derive(Clone, Copy, Debug, Default)]
struct Coverage {
    /// Each row that is due before this is here.
    until: Timestamp,
    /// There are rows that are not here although they should be: read from the start.
    stale: bool,
    /// A whole page was due at one moment: the next can be read when these are gone.
    stuck: bool,
}

impl Coverage {
    fn after(page: &TimerPage) -> Self {
        Self {
            until: page.until,
            stale: false,
            stuck: page.is_full && page.until <= page.from,
        }
    }
}

/// Rows that turned up again are tried again after this.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Beyond so many, added rows are left to be read.
const ROWS_MAX: usize = 50_000;
const ALL_KINDS: &[TimerKind] = &[TimerKind::Wait, TimerKind::Action];

/// Rows of the store, from one read.
pub(super) struct TimerPage {
    pub(super) rows: Vec<DueTimer>,
    pub(super) from: Timestamp,
    /// Nothing else is due from `from` to before this.
    pub(super) until: Timestamp,
    pub(super) is_full: bool,
}

impl TimerWindow {
    /// Nothing is known any more: read it before anything else. What is due before `backlog_before` is backlog.
    pub(super) fn reset(&mut self, backlog_before: Timestamp) {
        *self = Self {
            backlog_before,
            ..Self::default()
        };
        self.fresh.until = backlog_before;
    }

    pub(super) fn backlog_before(&self) -> Timestamp {
        self.backlog_before
    }

    /// The store has rows that are not here, at a time that should be covered.
    pub(super) fn invalidate(&mut self) {
        self.fresh.stale = true;
        self.backlog.stale = true;
    }

    /// From when on to read a fresh page, with so many slots free; `None`: there is no need.
    pub(super) fn next_fresh_page(&self, now: Timestamp, slots: usize) -> Option<Timestamp> {
        if self.fresh.stale {
            return Some(self.backlog_before);
        }
        let until = self.fresh.until;
        let has_work = self.has(workable(slots), self.backlog_before, now)
            || (self.must_drain(self.fresh) && self.has_due(now));
        (until <= now && !has_work).then_some(until.max(self.backlog_before))
    }

    /// From when on to read a page of the backlog; `None`: there is no need, or no more of it.
    pub(super) fn next_backlog_page(&self, slots: usize) -> Option<Timestamp> {
        let has_work =
            self.has_backlog(slots) || (self.must_drain(self.backlog) && self.has_any_backlog());
        let from = if self.backlog.stale {
            Timestamp::default()
        } else {
            self.backlog.until
        };
        (from < self.backlog_before && !has_work).then_some(from)
    }

    /// Nothing is left of the backlog: everything counts as fresh from now on.
    pub(super) fn backlog_is_over(&mut self) {
        self.backlog_before = Timestamp::default();
    }

    /// Returns whether a row turned up again that had been handed out.
    pub(super) fn add_fresh_page(&mut self, page: TimerPage, now: Timestamp) -> bool {
        self.fresh = Coverage::after(&page);
        self.add_page(page, now)
    }

    /// Returns whether a row turned up again that had been handed out.
    pub(super) fn add_backlog_page(&mut self, page: TimerPage, now: Timestamp) -> bool {
        self.backlog = Coverage::after(&page);
        self.add_page(page, now)
    }

    fn add_page(&mut self, page: TimerPage, now: Timestamp) -> bool {
        let span = page.from..page.until;
        // Those of this time that the page does not show are gone: the store dealt with them.
        let in_flight = cut(&mut self.in_flight, &span);
        self.rows.cut(&span);
        let mut again = false;
        for row in page.rows {
            // The second: a row due at `until` itself, which the span does not include.
            if in_flight.contains(&row) || self.in_flight.remove(&row) {
                again = true;
                self.delayed.insert(row, now.plus(AGAIN_AFTER));
            } else if !self.delayed.contains_key(&row) {
                self.rows.insert(row);
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
        over.into_keys().for_each(|row| self.rows.insert(row));
    }

    /// A row that is in the store now. One that is due after the coverage ends is left to be read.
    pub(super) fn add(&mut self, row: DueTimer) {
        self.in_flight.remove(&row);
        let is_full = self.is_full();
        let coverage = if row.at < self.backlog_before {
            &mut self.backlog
        } else {
            &mut self.fresh
        };
        if is_full {
            coverage.until = coverage.until.min(row.at);
        }
        if row.at < coverage.until {
            self.rows.insert(row);
        }
    }

    /// The store has dealt with a row that was handed out.
    pub(super) fn confirm(&mut self, row: &DueTimer) {
        self.in_flight.remove(row);
    }

    pub(super) fn remove(&mut self, row: &DueTimer) {
        self.rows.remove(row);
    }

    /// Only these shards are ours.
    pub(super) fn keep_shards(&mut self, shards: &[u32]) {
        let ours = |row: &DueTimer| shards.contains(&row.shard_id);
        self.rows.retain(ours);
        self.delayed.retain(|row, _| ours(row));
    }

    /// Hands out rows that are due and not `busy`. Fresh ones go first, but leave the backlog a part of each batch.
    pub(super) fn take_due(
        &mut self,
        now: Timestamp,
        budget: RowBudget,
        busy: impl Fn(&DueTimer) -> bool,
    ) -> Vec<DueTimer> {
        self.release_delayed(now);
        let fresh = RowBudget {
            rows: budget.rows - budget.backlog.min(budget.rows / 4),
            slots: budget.slots - self.slots_for_backlog(budget),
            ..budget
        };
        let mut picked = self.pick(self.backlog_before, now, fresh, &busy);
        let is_action = |row: &&DueTimer| row.kind == TimerKind::Action;
        let backlog = RowBudget {
            rows: budget.backlog.min(budget.rows - picked.len()),
            slots: budget.slots - picked.iter().filter(is_action).count(),
            ..budget
        };
        let end = self.backlog_before.minus(TICK).min(now);
        picked.extend(self.pick(Timestamp::default(), end, backlog, &busy));
        for row in &picked {
            self.rows.remove(row);
            self.in_flight.insert(row.clone());
        }
        picked
    }

    /// Where slots are short, the backlog gets some of them too: a quarter, or every other time the only one.
    fn slots_for_backlog(&mut self, budget: RowBudget) -> usize {
        self.is_backlogs_turn = !self.is_backlogs_turn;
        let end = self.backlog_before.minus(TICK);
        let has_backlog = self.backlog_before > Timestamp::default()
            && self.has(&[TimerKind::Action], Timestamp::default(), end);
        match budget.slots {
            _ if !has_backlog || budget.backlog == 0 => 0,
            0 => 0,
            1 => usize::from(self.is_backlogs_turn),
            slots => (slots / 4).max(1),
        }
    }

    /// Rows from `from` to `to`, within the budget; the soonest first.
    fn pick(
        &self,
        from: Timestamp,
        to: Timestamp,
        budget: RowBudget,
        busy: impl Fn(&DueTimer) -> bool,
    ) -> Vec<DueTimer> {
        let some = |kind, most: usize| {
            let rows = self.rows.between(kind, from, to);
            rows.filter(|row| !busy(row)).take(most).cloned()
        };
        let waits = some(TimerKind::Wait, budget.rows);
        let actions = some(TimerKind::Action, budget.rows.min(budget.slots));
        let mut found: Vec<DueTimer> = waits.chain(actions).collect();
        found.sort_unstable();
        found.truncate(budget.rows);
        found
    }

    /// Is something of the backlog here that can be dealt with, with so many slots free?
    pub(super) fn has_backlog(&self, slots: usize) -> bool {
        self.backlog_before > Timestamp::default()
            && self.has(
                workable(slots),
                Timestamp::default(),
                self.backlog_before.minus(TICK),
            )
    }

    fn has(&self, kinds: &[TimerKind], from: Timestamp, to: Timestamp) -> bool {
        let has = |kind: &TimerKind| self.rows.between(*kind, from, to).next().is_some();
        kinds.iter().any(has)
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= ROWS_MAX
    }

    /// Would the next page bring nothing before some of the rows here are gone?
    fn must_drain(&self, coverage: Coverage) -> bool {
        coverage.stuck || self.is_full()
    }

    fn has_due(&self, now: Timestamp) -> bool {
        let is_fresh = |row: &DueTimer| row.at >= self.backlog_before;
        self.has(ALL_KINDS, self.backlog_before, now) || self.delayed.keys().any(is_fresh)
    }

    fn has_any_backlog(&self) -> bool {
        let is_backlog = |row: &DueTimer| row.at < self.backlog_before;
        self.has_backlog(usize::MAX) || self.delayed.keys().any(is_backlog)
    }

    /// When something happens next, unless a hint comes: a row comes due, or the coverage ends.
    pub(super) fn wake_at(&self, now: Timestamp, slots: usize) -> Timestamp {
        let page = self
            .next_fresh_page(now, slots)
            .or(self.next_backlog_page(slots));
        let look = match page {
            Some(_) => Some(now),
            None => Some(self.fresh.until).filter(|until| *until > now),
        };
        let again = self.delayed.values().min().copied();
        let times = [self.rows.next_after(now), again, look];
        let never = Timestamp::from_micros(i64::MAX);
        times.into_iter().flatten().min().unwrap_or(never)
    }

    /// How many rows here are due, by shard.
    pub(super) fn due_by_shard(&self, now: Timestamp, shards: &[u32]) -> Vec<(u32, usize)> {
        let mut counts: BTreeMap<u32, usize> = shards.iter().map(|shard| (*shard, 0)).collect();
        for row in self.rows.due(now) {
            if let Some(count) = counts.get_mut(&row.shard_id) {
                *count += 1;
            }
        }
        counts.into_iter().collect()
    }
}

/// Actions need a slot, waits none.
fn workable(slots: usize) -> &'static [TimerKind] {
    if slots > 0 {
        ALL_KINDS
    } else {
        &[TimerKind::Wait]
    }
}
