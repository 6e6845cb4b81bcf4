//! The owner of shards ends the waits that are over.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use uuid::Uuid;

use super::schedule::{WHILE_BUSY, WHILE_UNREADABLE};
use super::{Access, FreeSubjects, Operation, TimerKey, TimerMove, Transaction, decide_each};
use crate::execution::Subject;
use crate::id::ExecutionId;
use crate::lifecycle;
use crate::ports::schedule::SyncMark;
use crate::ports::store::{Dispatch, DueTimer, ShardPass, StoreResult, TimerKind};
use crate::time::Timestamp;
use crate::transition::{Change, Decision};

/// Ends waits and deletes their rows. Rows that mean nothing any more are deleted too.
#[derive(Clone, Debug)]
pub struct FireTimers {
    pub pass: ShardPass,
    pub timers: Vec<DueTimer>,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for FireTimers {
    /// The messages that are due now, in the order of the timers.
    type Answer = Vec<Dispatch>;

    fn access(&self) -> Access {
        Access::Vital
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let owned = rows.owned_shards(&self.pass.locks).await?;
        let is_owned = |shard| owned.contains_key(&shard);
        let due = self.timers.iter();
        let due = due.filter(|timer| timer.is_ready(TimerKind::Wait, is_owned, self.now));
        let due: Vec<&DueTimer> = due.collect();
        let ids: Vec<ExecutionId> = due.iter().copied().filter_map(execution_of).collect();
        let free = rows.free_subjects(&ids).await?;
        let (late, due): (Vec<_>, Vec<_>) = due
            .into_iter()
            .map(|timer| (timer, self.put_off(timer, &free)))
            .partition(|(_, until)| until.is_some());
        self.move_late(rows, late).await?;
        let due: Vec<DueTimer> = due.into_iter().map(|(timer, _)| timer.clone()).collect();
        let there = rows.delete_timers(&due).await?;
        let waits = Waits::of(&due, there);
        let decisions = decide_each(free.rows, |row| waits.end(row, self.now));
        let dispatches = waits.in_order(&decisions);
        rows.write(decisions).await?;
        Ok(dispatches)
    }
}

impl FireTimers {
    /// Until when a timer is put off whose execution cannot be had now.
    fn put_off(&self, timer: &DueTimer, free: &FreeSubjects) -> Option<Timestamp> {
        let id = execution_of(timer)?;
        if free.busy.contains(&id) {
            Some(self.now.plus(WHILE_BUSY))
        } else {
            let unreadable = free.unreadable.contains(&id);
            unreadable.then(|| self.now.plus(WHILE_UNREADABLE))
        }
    }

    async fn move_late(
        &self,
        rows: &mut dyn Transaction,
        late: Vec<(&DueTimer, Option<Timestamp>)>,
    ) -> StoreResult<()> {
        if late.is_empty() {
            return Ok(());
        }
        let moves = late.into_iter().map(|(timer, to)| TimerMove {
            timer: timer.clone(),
            to,
        });
        let mark = SyncMark {
            at: self.now,
            sync: self.pass.sync,
        };
        rows.move_timers(&moves.collect::<Vec<_>>(), mark).await?;
        Ok(())
    }
}

/// The waits whose rows were there, by execution, each with its place in the batch. An execution may have a stale row
/// besides the one of its current wait.
struct Waits(HashMap<ExecutionId, Vec<(usize, Uuid)>>);

impl Waits {
    fn of(due: &[DueTimer], mut there: HashSet<TimerKey>) -> Self {
        let mut waits: HashMap<ExecutionId, Vec<(usize, Uuid)>> = HashMap::new();
        for (place, timer) in due.iter().enumerate() {
            let was_there = there.remove(&(timer.action_id.clone(), timer.guid));
            if let Some(id) = execution_of(timer).filter(|_| was_there) {
                waits.entry(id).or_default().push((place, timer.guid));
            }
        }
        Self(waits)
    }

    fn end(&self, row: &Subject, now: Timestamp) -> Option<Change> {
        let mut waits = self.0.get(&row.head.id)?.iter();
        waits.find_map(|(_, guid)| lifecycle::fire(&row.head, &row.state, *guid, now))
    }

    fn in_order(&self, decisions: &[Decision]) -> Vec<Dispatch> {
        let mut dispatches: Vec<Dispatch> =
            decisions.iter().filter_map(Decision::dispatch).collect();
        let place = |id| {
            self.0
                .get(&id)
                .and_then(|waits| waits.first())
                .map(|wait| wait.0)
        };
        dispatches.sort_by_key(|dispatch| place(dispatch.execution_id));
        dispatches
    }
}

fn execution_of(timer: &DueTimer) -> Option<ExecutionId> {
    timer.action_id.parse().ok()
}
