//! Scheduled actions and their history. What is written of them is in [`transaction`].

mod rows;
mod transaction;

use async_trait::async_trait;
use pawl_kernel::ports::schedule::{ActionFilter, DuePlace, QueueRow, ScheduleStore};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::schedule::{PastAttempt, ScheduledAction};
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};

use crate::fault::JobResult;
use crate::rows::integer;
use crate::{SqliteStore, sql};

#[async_trait]
impl ScheduleStore for SqliteStore {
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

    async fn actions_by_due(
        &self,
        before: Option<Timestamp>,
        after: Option<DuePlace>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>> {
        self.readers
            .run_at_once(move |connection| by_due(connection, before, after, limit))
            .await
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
}

fn list(
    connection: &Connection,
    filter: &ActionFilter,
    after: Option<&str>,
    limit: u32,
) -> JobResult<Vec<ScheduledAction>> {
    let (from, to) = filter.range(after);
    let text = match filter.finished {
        Some(true) => sql::ACTIONS_LIST_FINISHED,
        Some(false) => sql::ACTIONS_LIST_OPEN,
        None => sql::ACTIONS_LIST,
    };
    rows::readable(connection, text, params![from, to, limit])
}

fn by_due(
    connection: &Connection,
    before: Option<Timestamp>,
    after: Option<DuePlace>,
    limit: u32,
) -> JobResult<Vec<ScheduledAction>> {
    let after = after.unwrap_or(DuePlace {
        due: Some(Timestamp::from_micros(i64::MIN)),
        id: String::new(),
    });
    let mut found = Vec::new();
    if let Some(due) = after.due {
        let before = before.map_or(i64::MAX, Timestamp::as_micros);
        let page = params![due.as_micros(), after.id, before, limit];
        found = rows::readable(connection, sql::ACTIONS_DUE, page)?;
    }
    if before.is_none() && found.len() < limit as usize {
        let id = after.due.map_or(after.id, |_| String::new());
        let page = params![id, i64::from(limit) - found.len() as i64];
        found.extend(rows::readable(connection, sql::ACTIONS_NOT_DUE, page)?);
    }
    Ok(found)
}
