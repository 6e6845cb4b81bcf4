//! The rows of the window, in the order they are due.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::Range;
use std::time::Duration;

use pawl_kernel::ports::store::{DueTimer, TimerKind};
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

/// The smallest step of time: the database keeps microseconds.
pub(super) const TICK: Duration = Duration::from_micros(1);

/// Each kind by itself: thousands of due actions that find no slot must not be gone through to find the waits behind them.
#[derive(Default)]
pub(super) struct TimerRows {
    waits: BTreeSet<DueTimer>,
    actions: BTreeSet<DueTimer>,
}

impl TimerRows {
    fn of(&self, kind: TimerKind) -> &BTreeSet<DueTimer> {
        match kind {
            TimerKind::Wait => &self.waits,
            TimerKind::Action => &self.actions,
        }
    }

    fn of_mut(&mut self, kind: TimerKind) -> &mut BTreeSet<DueTimer> {
        match kind {
            TimerKind::Wait => &mut self.waits,
            TimerKind::Action => &mut self.actions,
        }
    }

    pub(super) fn insert(&mut self, row: DueTimer) {
        self.of_mut(row.kind).insert(row);
    }

    pub(super) fn remove(&mut self, row: &DueTimer) {
        self.of_mut(row.kind).remove(row);
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&DueTimer) -> bool) {
        self.waits.retain(&keep);
        self.actions.retain(&keep);
    }

    /// Drops the rows of this time.
    pub(super) fn cut(&mut self, span: &Range<Timestamp>) {
        cut(&mut self.waits, span);
        cut(&mut self.actions, span);
    }

    pub(super) fn len(&self) -> usize {
        self.waits.len() + self.actions.len()
    }

    /// Rows of one kind from `from` to `to`, both included.
    pub(super) fn between(
        &self,
        kind: TimerKind,
        from: Timestamp,
        to: Timestamp,
    ) -> impl Iterator<Item = &DueTimer> {
        let end = to.plus(TICK).max(from);
        let span = (Included(first_at(from)), Excluded(first_at(end)));
        self.of(kind).range(span)
    }

    /// When the next row is due that is not due at `now`.
    pub(super) fn next_after(&self, now: Timestamp) -> Option<Timestamp> {
        let next = |rows: &BTreeSet<DueTimer>| {
            let mut later = rows.range((Included(first_at(now.plus(TICK))), Unbounded));
            later.next().map(|row| row.at)
        };
        next(&self.waits)
            .into_iter()
            .chain(next(&self.actions))
            .min()
    }

    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = &DueTimer> {
        let sets = [&self.waits, &self.actions].into_iter();
        sets.flat_map(move |rows| rows.iter().take_while(move |row| row.at <= now))
    }
}

/// Takes the rows of this time out.
pub(super) fn cut(rows: &mut BTreeSet<DueTimer>, span: &Range<Timestamp>) -> BTreeSet<DueTimer> {
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
