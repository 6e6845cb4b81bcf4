//! The rows of scheduled actions and of the queues, in a transaction on a session.
//!
//! Locks are taken in one order: shards, actions, rows of the queues. A worker never waits for the lock of an action: users
//! who write would wait for those that it holds.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use futures_util::future::join;
use pawl_kernel::operations::{
    ActionContent, AttemptRecord, FreeAction, ScheduleRows, TimerKey, TimerMove,
};
use pawl_kernel::ports::schedule::SyncMark;
use pawl_kernel::ports::store::{DueTimer, StoreResult};
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::only_action;
use super::rows::{self, StoredAction, texts};
use crate::error::Outcome;
use crate::rows::Reader;
use crate::session::Session;
use crate::sql;
use crate::transaction::SessionTransaction;
use crate::value::{Columns, Text, Time};

#[async_trait]
impl ScheduleRows for SessionTransaction<'_> {
    async fn owned_shards(&mut self, locks: &[Uuid]) -> StoreResult<BTreeMap<u32, Uuid>> {
        let session = self.session;
        self.ask(owned_shards(session, locks)).await
    }

    fn shard_count(&self) -> u32 {
        self.shards
    }

    async fn enqueue_timers(&mut self, timers: Vec<DueTimer>, now: Timestamp) -> StoreResult<()> {
        let timers = timers.into_iter().map(|timer| (timer, now));
        self.schedule.timers.extend(timers);
        Ok(())
    }

    async fn move_timers(
        &mut self,
        moves: &[TimerMove],
        mark: SyncMark,
    ) -> StoreResult<HashSet<TimerKey>> {
        let session = self.session;
        self.ask(move_timers(session, moves, mark)).await
    }

    async fn delete_timers(&mut self, timers: &[DueTimer]) -> StoreResult<HashSet<TimerKey>> {
        let session = self.session;
        self.ask(delete_timers(session, timers)).await
    }

    async fn action(&mut self, id: &str) -> StoreResult<Option<ScheduledAction>> {
        let session = self.session;
        self.ask(action(session, id)).await
    }

    async fn free_actions(
        &mut self,
        ids: HashSet<String>,
    ) -> StoreResult<HashMap<String, FreeAction>> {
        let session = self.session;
        self.ask(free_actions(session, ids)).await
    }

    async fn running_keys(&mut self, keys: &[String]) -> StoreResult<HashSet<String>> {
        let session = self.session;
        self.ask(running_keys(session, keys)).await
    }

    async fn put_action(
        &mut self,
        action: &ScheduledAction,
        over: Option<Uuid>,
    ) -> StoreResult<bool> {
        let session = self.session;
        self.ask(rows::write(session, action, over)).await
    }

    async fn update_actions(&mut self, actions: Vec<ScheduledAction>) -> StoreResult<()> {
        self.schedule.actions.extend(actions);
        Ok(())
    }

    async fn delete_action(&mut self, id: &str) -> StoreResult<bool> {
        let session = self.session;
        self.ask(delete_action(session, id)).await
    }

    async fn add_attempts(&mut self, attempts: Vec<AttemptRecord>) -> StoreResult<()> {
        self.schedule.attempts.extend(attempts);
        Ok(())
    }

    async fn forget_attempts(&mut self, ids: Vec<String>) -> StoreResult<()> {
        self.schedule.forget.extend(ids);
        Ok(())
    }
}

async fn owned_shards(session: &Session, locks: &[Uuid]) -> Outcome<BTreeMap<u32, Uuid>> {
    session.ready(&[&sql::SHARDS_OWNED]).await?;
    let rows = session.rows(&sql::SHARDS_OWNED, &[&locks]).await?;
    let lock = |row: &Row| -> Outcome<(u32, Uuid)> {
        let mut reader = Reader::new(row);
        Ok((reader.number()?, reader.get()?))
    };
    rows.iter().map(lock).collect()
}

async fn move_timers(
    session: &Session,
    moves: &[TimerMove],
    mark: SyncMark,
) -> Outcome<HashSet<TimerKey>> {
    let mut columns = Columns::new(&sql::PROCESSING_MOVE.kinds()[..5]);
    for TimerMove { timer, to } in moves {
        put_key(&mut columns, timer);
        columns.time(*to);
    }
    let Some(columns) = columns.non_empty() else {
        return Ok(HashSet::new());
    };
    session.ready(&[&sql::PROCESSING_MOVE]).await?;
    let now = Time(mark.at);
    let mut params = columns.params();
    params.push(&mark.sync);
    params.push(&now);
    let rows = session.rows(&sql::PROCESSING_MOVE, &params).await?;
    timer_keys(&rows)
}

async fn delete_timers(session: &Session, timers: &[DueTimer]) -> Outcome<HashSet<TimerKey>> {
    let mut columns = Columns::new(sql::PROCESSING_DELETE.kinds());
    for timer in timers {
        put_key(&mut columns, timer);
    }
    let Some(columns) = columns.non_empty() else {
        return Ok(HashSet::new());
    };
    session.ready(&[&sql::PROCESSING_DELETE]).await?;
    let rows = session
        .rows(&sql::PROCESSING_DELETE, &columns.params())
        .await?;
    timer_keys(&rows)
}

fn put_key<'a>(columns: &mut Columns<'a>, timer: &'a DueTimer) {
    columns.int(timer.shard_id);
    columns.time(timer.at);
    columns.text(timer.action_id.as_str());
    columns.uuid(timer.guid);
}

fn timer_keys(rows: &[Row]) -> Outcome<HashSet<TimerKey>> {
    let key = |row: &Row| -> Outcome<TimerKey> {
        let mut reader = Reader::new(row);
        Ok((reader.text()?, reader.get()?))
    };
    rows.iter().map(key).collect()
}

async fn action(session: &Session, id: &str) -> Outcome<Option<ScheduledAction>> {
    session.ready(&[&sql::ACTION_LOCK]).await?;
    let rows = session.rows(&sql::ACTION_LOCK, &[&Text::new(id)]).await?;
    only_action(&rows)
}

async fn free_actions(
    session: &Session,
    ids: HashSet<String>,
) -> Outcome<HashMap<String, FreeAction>> {
    let ids: Vec<Text<'_>> = ids.iter().map(|id| Text::new(id)).collect();
    session
        .ready(&[&sql::ACTIONS_FREE, &sql::ACTIONS_LOAD])
        .await?;
    let (free, loaded) = join(
        session.rows(&sql::ACTIONS_FREE, &[&ids]),
        session.rows(&sql::ACTIONS_LOAD, &[&ids]),
    )
    .await;
    let free = texts(&free?)?;
    let mut found = HashMap::new();
    for row in &loaded? {
        let stored = StoredAction::new(row)?;
        let (id, guid) = (stored.id.clone(), stored.guid);
        let content = if free.contains(&id) {
            let row = stored.readable();
            row.map_or(ActionContent::Unreadable, |row| {
                ActionContent::Row(Box::new(row))
            })
        } else {
            ActionContent::Busy
        };
        found.insert(id, FreeAction { guid, content });
    }
    Ok(found)
}

async fn running_keys(session: &Session, keys: &[String]) -> Outcome<HashSet<String>> {
    let keys: Vec<Text<'_>> = keys.iter().map(|key| Text::new(key)).collect();
    session.ready(&[&sql::EXECUTIONS_RUNNING_BY_KEYS]).await?;
    let rows = session
        .rows(&sql::EXECUTIONS_RUNNING_BY_KEYS, &[&keys])
        .await?;
    texts(&rows)
}

/// The history goes once the row is locked: a writer that adds to it has that lock.
async fn delete_action(session: &Session, id: &str) -> Outcome<bool> {
    let id = Text::new(id);
    session
        .ready(&[&sql::ACTION_DELETE, &sql::ATTEMPTS_REMOVE])
        .await?;
    let rows = session.rows(&sql::ACTION_DELETE, &[&id]).await?;
    session.rows(&sql::ATTEMPTS_REMOVE, &[&id]).await?;
    Ok(!rows.is_empty())
}
