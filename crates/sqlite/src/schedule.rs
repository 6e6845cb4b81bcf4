//! Scheduled actions and their history. What is written of them is in [`transaction`].

mod rows;
mod transaction;

use async_trait::async_trait;
use pawl_kernel::ports::schedule::{ActionFilter, QueueRow, ScheduleStore};
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
