//! The owner of shards begins what is due of the scheduled actions, and records what came of it. An action that is locked
//! or cannot be decoded does not hold the others up.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use uuid::Uuid;

use super::schedule::{WHILE_BUSY, WHILE_UNREADABLE};
use super::{Access, ActionContent, AttemptRecord, FreeAction, Operation, TimerMove, Transaction};
use crate::ports::schedule::{RecordRequest, SyncMark, is_time_to_forget};
use crate::ports::store::{DueTimer, ShardPass, StoreResult};
use crate::schedule::{
    Begin, PastAttempt, Previous, RecordResult, RecordedAction, Run, ScheduleLimits,
    ScheduledAction, begin, record,
};
use crate::time::Timestamp;

/// Writes down the next attempt of each action that is due.
#[derive(Clone, Debug)]
pub struct BeginActions {
    pub pass: ShardPass,
    pub due: Vec<DueTimer>,
    pub limits: ScheduleLimits,
    pub now: Timestamp,
}

/// What becomes of an action whose time has come.
struct BeginChange {
    timer: DueTimer,
    row: ScheduledAction,
    interrupted: Option<PastAttempt>,
    /// `None`: there is nothing to do now.
    run: Option<Run>,
}

#[async_trait]
impl Operation for BeginActions {
    /// Attempts that are written down: to be made, then recorded.
    type Answer = Vec<(DueTimer, Run)>;

    fn access(&self) -> Access {
        Access::Vital
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let owned = rows.owned_shards(&self.pass.locks).await?;
        let is_owned = |shard| owned.contains_key(&shard);
        let due = DueTimer::actions_once(self.due.clone(), is_owned, self.now);
        let found = rows.free_actions(ids_of(due.iter())).await?;
        let running = running_keys(rows, &found).await?;
        let (mut moves, mut changes) = (Vec::new(), Vec::new());
        for timer in due {
            let (to, change) = self.decide(&timer, &found, &running);
            changes.extend(change);
            moves.push(TimerMove { timer, to });
        }
        let there = rows.move_timers(&moves, self.mark()).await?;
        // Nothing is written for a row of the queue that is not there.
        changes.retain(|change| there.contains(&key(&change.timer)));
        write_changes(rows, &changes).await?;
        let runs = changes.into_iter();
        Ok(runs
            .filter_map(|change| Some((change.timer, change.run?)))
            .collect())
    }
}

impl BeginActions {
    fn mark(&self) -> SyncMark {
        SyncMark {
            at: self.now,
            sync: self.pass.sync,
        }
    }

    /// Where the row of the queue goes, and what is written of the action.
    fn decide(
        &self,
        timer: &DueTimer,
        found: &HashMap<String, FreeAction>,
        running: &HashSet<String>,
    ) -> (Option<Timestamp>, Option<BeginChange>) {
        let action = found.get(&timer.action_id);
        let Some(action) = action.filter(|action| action.guid == timer.guid) else {
            // Of an action that was written anew, or is gone.
            return (None, None);
        };
        let row = match &action.content {
            ActionContent::Row(row) => row,
            ActionContent::Busy => return (Some(self.now.plus(WHILE_BUSY)), None),
            ActionContent::Unreadable => return (Some(self.now.plus(WHILE_UNREADABLE)), None),
        };
        let (row, interrupted, run) = match self.begin(row, timer.guid, running) {
            Begin::Run(run) => (run.row.clone(), run.interrupted.clone(), Some(*run)),
            Begin::Moved(moved) => (moved.row, moved.interrupted, None),
            Begin::NotDue { at } => return (Some(at), None),
            Begin::Stale => return (None, None),
        };
        let change = BeginChange {
            timer: timer.clone(),
            row,
            interrupted,
            run,
        };
        (change.row.due_at(), Some(change))
    }

    fn begin(&self, row: &ScheduledAction, guid: Uuid, running: &HashSet<String>) -> Begin {
        let is_running = row.previous_keys().iter().any(|key| running.contains(key));
        let previous = if is_running {
            Previous::Running
        } else {
            Previous::Over
        };
        begin(Some(row), guid, previous, &self.limits, self.now)
    }
}

async fn write_changes(rows: &mut dyn Transaction, changes: &[BeginChange]) -> StoreResult<()> {
    let interrupted = changes.iter().filter_map(|change| {
        Some(AttemptRecord {
            action_id: change.row.id.clone(),
            generation: change.row.status.generation,
            past: change.interrupted.clone()?,
        })
    });
    remember(rows, interrupted.collect()).await?;
    let changed = changes.iter().map(|change| change.row.clone());
    rows.update_actions(changed.collect()).await
}

/// Keys of firings before whose executions have not ended.
async fn running_keys(
    rows: &mut dyn Transaction,
    found: &HashMap<String, FreeAction>,
) -> StoreResult<HashSet<String>> {
    let keys = found.values().flat_map(|action| match &action.content {
        ActionContent::Row(row) => row.previous_keys(),
        ActionContent::Busy | ActionContent::Unreadable => Vec::new(),
    });
    let keys: Vec<String> = keys.collect();
    if keys.is_empty() {
        return Ok(HashSet::new());
    }
    rows.running_keys(&keys).await
}

/// Writes down what became of attempts.
#[derive(Clone, Debug)]
pub struct RecordActions {
    pub sync: Uuid,
    pub requests: Vec<RecordRequest>,
    pub limits: ScheduleLimits,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for RecordActions {
    /// `None`: the shard is not locked any more as it was when the attempt began, or the action cannot be decoded.
    type Answer = Vec<Option<RecordResult>>;

    fn access(&self) -> Access {
        Access::Vital
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let locks: Vec<Uuid> = self.requests.iter().map(|request| request.lock).collect();
        let owned = rows.owned_shards(&locks).await?;
        let is_owned =
            |request: &&RecordRequest| owned.get(&request.timer.shard_id) == Some(&request.lock);
        let ours = self.requests.iter().filter(is_owned);
        let found = rows
            .free_actions(ids_of(ours.map(|request| &request.timer)))
            .await?;
        let mut book = RecordBook {
            operation: self,
            found,
            moves: Vec::new(),
            attempts: Vec::new(),
            changed: BTreeMap::new(),
            requeued: Vec::new(),
        };
        let records = self.requests.iter().map(|request| {
            let ours = Some(request).filter(is_owned)?;
            book.record(ours)
        });
        let records = records.collect();
        book.write(rows).await?;
        Ok(records)
    }
}

/// What the requests of one batch have come to so far.
struct RecordBook<'a> {
    operation: &'a RecordActions,
    /// The actions as they are after the requests so far.
    found: HashMap<String, FreeAction>,
    moves: Vec<TimerMove>,
    attempts: Vec<AttemptRecord>,
    changed: BTreeMap<String, ScheduledAction>,
    /// These have a new guid, and need a new row in the incoming queue.
    requeued: Vec<ScheduledAction>,
}

impl RecordBook<'_> {
    fn record(&mut self, request: &RecordRequest) -> Option<RecordResult> {
        let id = &request.timer.action_id;
        let before = match self.found.get(id).map(|action| &action.content) {
            None => None,
            Some(ActionContent::Row(row)) => Some(row.clone()),
            Some(ActionContent::Busy) => return Some(RecordResult::Busy),
            Some(ActionContent::Unreadable) => return None,
        };
        let RecordActions { limits, now, .. } = self.operation;
        let answer = record(
            before.as_deref(),
            &request.ticket,
            request.outcome.clone(),
            request.fresh,
            limits,
            *now,
        );
        let past = match (&answer, before) {
            (RecordResult::Written(recorded), Some(before)) => {
                self.write_down(request, &before, recorded);
                recorded.past.clone()
            }
            (RecordResult::Late(_), Some(_)) => request.past(*now),
            (_, None) | (RecordResult::Busy, _) => None,
        };
        self.attempts.extend(past.map(|past| AttemptRecord {
            action_id: id.clone(),
            generation: request.ticket.generation,
            past,
        }));
        Some(answer)
    }

    fn write_down(
        &mut self,
        request: &RecordRequest,
        before: &ScheduledAction,
        recorded: &RecordedAction,
    ) {
        let row = &recorded.row;
        // The attempt's own row is where the attempt has put it: no write by a user moves an action whose attempt is
        // under way.
        let own = DueTimer {
            at: before.status.scheduled_at.unwrap_or(request.timer.at),
            guid: request.ticket.guid,
            ..request.timer.clone()
        };
        self.moves.push(TimerMove {
            timer: own,
            to: row.due_at().filter(|_| !recorded.requeue),
        });
        if recorded.requeue {
            self.requeued.push(row.clone());
        }
        self.changed.insert(row.id.clone(), row.clone());
        let action = FreeAction {
            guid: row.guid,
            content: ActionContent::Row(Box::new(row.clone())),
        };
        self.found.insert(row.id.clone(), action);
    }

    async fn write(self, rows: &mut dyn Transaction) -> StoreResult<()> {
        let RecordActions { sync, now, .. } = *self.operation;
        rows.move_timers(&self.moves, SyncMark { at: now, sync })
            .await?;
        let shards = rows.shard_count();
        let timers = self.requeued.iter();
        let timers = timers.filter_map(|row| DueTimer::of_action(row, shards));
        rows.enqueue_timers(timers.collect(), now).await?;
        remember(rows, self.attempts).await?;
        rows.update_actions(self.changed.into_values().collect())
            .await
    }
}

/// Adds attempts to the history, and lets it forget older ones.
async fn remember(rows: &mut dyn Transaction, attempts: Vec<AttemptRecord>) -> StoreResult<()> {
    let timely = attempts
        .iter()
        .filter(|record| is_time_to_forget(record.past.attempt.ordinal));
    let forget: Vec<String> = timely.map(|record| record.action_id.clone()).collect();
    rows.add_attempts(attempts).await?;
    rows.forget_attempts(forget).await
}

fn ids_of<'a>(timers: impl Iterator<Item = &'a DueTimer>) -> HashSet<String> {
    timers.map(|timer| timer.action_id.clone()).collect()
}

fn key(timer: &DueTimer) -> (String, Uuid) {
    (timer.action_id.clone(), timer.guid)
}
