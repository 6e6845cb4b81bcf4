//! The rows of scheduled actions and of the queues, in one job.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use pawl_kernel::operations::{
    ActionContent, AttemptRecord, FreeAction, ScheduleRows, TimerKey, TimerMove,
};
use pawl_kernel::ports::schedule::{ATTEMPTS_KEPT, SyncMark};
use pawl_kernel::ports::store::{DueTimer, StoreResult};
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::rows;
use crate::fault::JobResult;
use crate::transaction::ConnectionTransaction;
use crate::{changes, sql, timers};

#[async_trait]
impl ScheduleRows for ConnectionTransaction<'_> {
    async fn owned_shards(&mut self, locks: &[Uuid]) -> StoreResult<BTreeMap<u32, Uuid>> {
        let owned = timers::owned(self.connection, locks);
        self.keep(owned)
    }

    fn shard_count(&self) -> u32 {
        self.shards
    }

    async fn enqueue_timers(&mut self, timers: Vec<DueTimer>, now: Timestamp) -> StoreResult<()> {
        let enqueue = |timer: &DueTimer| changes::enqueue(self.connection, timer, now);
        let done = timers.iter().try_for_each(enqueue);
        self.keep(done)
    }

    async fn move_timers(
        &mut self,
        moves: &[TimerMove],
        mark: SyncMark,
    ) -> StoreResult<HashSet<TimerKey>> {
        let moved = move_timers(self.connection, moves, mark);
        self.keep(moved)
    }

    async fn delete_timers(&mut self, timers: &[DueTimer]) -> StoreResult<HashSet<TimerKey>> {
        let deleted = delete_timers(self.connection, timers);
        self.keep(deleted)
    }

    async fn action(&mut self, id: &str) -> StoreResult<Option<ScheduledAction>> {
        let found = rows::load(self.connection, id);
        self.keep(found)
    }

    async fn free_actions(
        &mut self,
        ids: HashSet<String>,
    ) -> StoreResult<HashMap<String, FreeAction>> {
        let found = free_actions(self.connection, ids);
        self.keep(found)
    }

    async fn running_keys(&mut self, keys: &[String]) -> StoreResult<HashSet<String>> {
        let running = running_keys(self.connection, keys);
        self.keep(running)
    }

    /// The writer is alone with the database: there cannot be another one by now.
    async fn put_action(
        &mut self,
        action: &ScheduledAction,
        _over: Option<Uuid>,
    ) -> StoreResult<bool> {
        let written = rows::write(self.connection, action);
        self.keep(written.map(|()| true))
    }

    async fn update_actions(&mut self, actions: Vec<ScheduledAction>) -> StoreResult<()> {
        let update = |action: &ScheduledAction| rows::update(self.connection, action);
        let done = actions.iter().try_for_each(update);
        self.keep(done)
    }

    async fn delete_action(&mut self, id: &str) -> StoreResult<bool> {
        let deleted = delete_action(self.connection, id);
        self.keep(deleted)
    }

    async fn add_attempts(&mut self, attempts: Vec<AttemptRecord>) -> StoreResult<()> {
        let add = |attempt: &AttemptRecord| rows::add_attempt(self.connection, attempt);
        let done = attempts.iter().try_for_each(add);
        self.keep(done)
    }

    async fn forget_attempts(&mut self, ids: Vec<String>) -> StoreResult<()> {
        let done = forget_attempts(self.connection, &ids);
        self.keep(done)
    }
}

fn move_timers(
    connection: &Connection,
    moves: &[TimerMove],
    mark: SyncMark,
) -> JobResult<HashSet<TimerKey>> {
    let mut there = HashSet::new();
    for TimerMove { timer, to } in moves {
        let changed = match to {
            None => delete_timer(connection, timer)?,
            Some(to) => connection
                .prepare_cached(sql::PROCESSING_MOVE)?
                .execute(params![
                    timer.shard_id,
                    timer.at.as_micros(),
                    timer.action_id,
                    timer.guid.as_bytes(),
                    to.as_micros(),
                    mark.sync.as_bytes(),
                    mark.at.as_micros()
                ])?,
        };
        if changed > 0 {
            there.insert((timer.action_id.clone(), timer.guid));
        }
    }
    Ok(there)
}

fn delete_timers(connection: &Connection, timers: &[DueTimer]) -> JobResult<HashSet<TimerKey>> {
    let mut there = HashSet::new();
    for timer in timers {
        if delete_timer(connection, timer)? > 0 {
            there.insert((timer.action_id.clone(), timer.guid));
        }
    }
    Ok(there)
}

fn delete_timer(connection: &Connection, timer: &DueTimer) -> JobResult<usize> {
    let mut delete = connection.prepare_cached(sql::PROCESSING_DELETE)?;
    let (shard, at) = (timer.shard_id, timer.at.as_micros());
    Ok(delete.execute(params![shard, at, timer.action_id, timer.guid.as_bytes()])?)
}

fn free_actions(
    connection: &Connection,
    ids: HashSet<String>,
) -> JobResult<HashMap<String, FreeAction>> {
    let mut found = HashMap::new();
    for id in ids {
        let Some(stored) = rows::stored(connection, &id)? else {
            continue;
        };
        let guid = stored.guid;
        let content = match stored.readable() {
            Some(row) => ActionContent::Row(Box::new(row)),
            None => ActionContent::Unreadable,
        };
        found.insert(id, FreeAction { guid, content });
    }
    Ok(found)
}

fn running_keys(connection: &Connection, keys: &[String]) -> JobResult<HashSet<String>> {
    let mut statement = connection.prepare_cached(sql::EXECUTION_RUNNING_BY_KEY)?;
    let mut running = HashSet::new();
    for key in keys {
        if statement.query_row([key], |row| row.get(0))? {
            running.insert(key.clone());
        }
    }
    Ok(running)
}

fn delete_action(connection: &Connection, id: &str) -> JobResult<bool> {
    let deleted = connection
        .prepare_cached(sql::ACTION_DELETE)?
        .execute([id])?;
    connection
        .prepare_cached(sql::ATTEMPTS_REMOVE)?
        .execute([id])?;
    Ok(deleted > 0)
}

fn forget_attempts(connection: &Connection, ids: &[String]) -> JobResult<()> {
    let mut forget = connection.prepare_cached(sql::ATTEMPTS_FORGET)?;
    for id in ids {
        forget.execute(params![id, ATTEMPTS_KEPT])?;
    }
    Ok(())
}
