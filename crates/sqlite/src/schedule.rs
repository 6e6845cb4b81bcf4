//! Scheduled actions: a row is loaded, the kernel is asked, and the answer is written, all in one job of the writer. Users'
//! writes append to the incoming queue; workers' writes are guarded by the lock's guid.

mod rows;
mod work;

use async_trait::async_trait;
use pawl_kernel::ports::schedule::{
    ActionCommand, ActionError, ActionFilter, PutError, QueueRow, RecordRequest, ScheduleStore,
    Written, decide_command, decide_put,
};
use pawl_kernel::ports::store::{DueTimer, ShardPass, StoreResult};
use pawl_kernel::schedule::{Limits, PastAttempt, Put, Record, Run, ScheduledAction};
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::fault::JobResult;
use crate::rows::integer;
use crate::{SqliteStore, changes, sql};

#[async_trait]
impl ScheduleStore for SqliteStore {
    async fn put_action(&self, put: Put, now: Timestamp) -> Result<ScheduledAction, PutError> {
        let shards = self.shards;
        let written = self.writer.run(move |connection| {
            let existing = rows::load(connection, &put.id)?;
            match decide_put(existing.as_ref(), put.clone(), now) {
                Ok(written) => write(connection, written, now, shards).map(Ok),
                Err(exists) => Ok(Err(exists)),
            }
        });
        Ok(written.await??)
    }

    async fn action(&self, id: &str) -> StoreResult<Option<ScheduledAction>> {
        let id = id.to_owned();
        self.readers
            .run(move |connection| rows::load(connection, &id))
            .await
    }

    async fn actions(
        &self,
        filter: ActionFilter,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>> {
        self.readers
            .run(move |connection| list(connection, &filter, after.as_deref(), limit))
            .await
    }

    async fn delete_action(&self, id: &str) -> StoreResult<bool> {
        let id = id.to_owned();
        self.writer
            .run(move |connection| {
                let deleted = connection
                    .prepare_cached(sql::ACTION_DELETE)?
                    .execute([&id])?;
                connection
                    .prepare_cached(sql::ATTEMPTS_REMOVE)?
                    .execute([&id])?;
                Ok(deleted > 0)
            })
            .await
    }

    async fn command_action(
        &self,
        id: &str,
        command: ActionCommand,
        guid: Uuid,
        now: Timestamp,
    ) -> Result<ScheduledAction, ActionError> {
        let (id, shards) = (id.to_owned(), self.shards);
        let written = self.writer.run(move |connection| {
            let row = rows::load(connection, &id)?;
            match decide_command(row.as_ref(), command, guid, now) {
                Ok(written) => write(connection, written, now, shards).map(Ok),
                Err(error) => Ok(Err(error)),
            }
        });
        written.await?
    }

    async fn attempts(
        &self,
        id: &str,
        before: Option<(u64, u64)>,
        limit: u32,
    ) -> StoreResult<Vec<(u64, PastAttempt)>> {
        let id = id.to_owned();
        let (generation, ordinal) = before.unwrap_or((u64::MAX, u64::MAX));
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::ATTEMPTS_BEFORE)?;
                let page = params![id, integer(generation), integer(ordinal), limit];
                let found = statement.query_map(page, rows::past_attempt)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn queued(&self, id: &str) -> StoreResult<Vec<QueueRow>> {
        let id = id.to_owned();
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::ACTION_QUEUED)?;
                let found = statement.query_map([&id], rows::queue_row)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn begin_actions(
        &self,
        pass: ShardPass,
        due: Vec<DueTimer>,
        limits: Limits,
        now: Timestamp,
    ) -> StoreResult<Vec<(DueTimer, Run)>> {
        self.writer
            .run(move |connection| work::begin_all(connection, &pass, &due, &limits, now))
            .await
    }

    async fn record_actions(
        &self,
        sync: Uuid,
        requests: Vec<RecordRequest>,
        limits: Limits,
        now: Timestamp,
    ) -> StoreResult<Vec<Option<Record>>> {
        let desk = work::Desk {
            sync,
            limits,
            now,
            shards: self.shards,
        };
        self.writer
            .run(move |connection| desk.record_all(connection, &requests))
            .await
    }
}

/// As a user writes it: with a new row in the queue.
fn write(
    connection: &Connection,
    written: Written,
    now: Timestamp,
    shards: u32,
) -> JobResult<ScheduledAction> {
    let row = match written {
        Written::Same(row) => return Ok(row),
        Written::New(row) => row,
    };
    rows::write(connection, &row)?;
    if let Some(timer) = DueTimer::of_action(&row, shards) {
        changes::enqueue(connection, &timer, now)?;
    }
    Ok(row)
}

fn list(
    connection: &Connection,
    filter: &ActionFilter,
    after: Option<&str>,
    limit: u32,
) -> JobResult<Vec<ScheduledAction>> {
    let (from, to) = filter.range(after);
    let before = filter.due_before.map(Timestamp::as_micros);
    // What is due some time is not finished.
    match (filter.finished, before) {
        (Some(true), Some(_)) => Ok(Vec::new()),
        (Some(true), None) => {
            let page = params![from, to, limit];
            rows::readable(connection, sql::ACTIONS_LIST_FINISHED, page)
        }
        (None, None) => {
            let page = params![from, to, limit];
            rows::readable(connection, sql::ACTIONS_LIST, page)
        }
        (Some(false), _) | (None, Some(_)) => {
            let page = params![from, to, limit, before];
            rows::readable(connection, sql::ACTIONS_LIST_OPEN, page)
        }
    }
}
