//! Dead letters.

use async_trait::async_trait;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::{DeadLetter, LetterFilter, LetterPage, LetterStore, NewLetter};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::JobResult;
use crate::rows::{self, integer};
use crate::{SqliteStore, sql};

#[async_trait]
impl LetterStore for SqliteStore {
    async fn add_letter(&self, letter: NewLetter) -> StoreResult<u64> {
        self.writer
            .run(move |connection| {
                insert(connection, &letter)?;
                Ok(connection.last_insert_rowid().unsigned_abs())
            })
            .await
    }

    async fn dead_letters(
        &self,
        open_only: bool,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<DeadLetter>> {
        self.readers
            .run(move |connection| {
                let text = match open_only {
                    true => sql::DEAD_LETTERS_OPEN,
                    false => sql::DEAD_LETTERS_AFTER,
                };
                let mut statement = connection.prepare_cached(text)?;
                let found = statement.query_map(params![integer(after), limit], letter)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn letters(
        &self,
        filter: LetterFilter,
        page: LetterPage,
        limit: u32,
    ) -> StoreResult<Vec<DeadLetter>> {
        self.readers
            .run(move |connection| {
                let (text, place) = match page {
                    LetterPage::After(id) => (sql::LETTERS_OLDEST, id),
                    LetterPage::Before(id) => (sql::LETTERS_NEWEST, id.unwrap_or(u64::MAX)),
                };
                let mut statement = connection.prepare_cached(text)?;
                let found = statement.query_map(
                    params![
                        integer(place),
                        filter.open_only,
                        filter.reason,
                        list_of(&filter),
                        limit
                    ],
                    letter,
                )?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn count_letters(&self, filter: LetterFilter, max: u32) -> StoreResult<u64> {
        self.readers
            .run(move |connection| {
                let all = params![0, filter.open_only, filter.reason, list_of(&filter), max];
                let count = connection
                    .prepare_cached(sql::LETTERS_COUNT)?
                    .query_row(all, |row| rows::count(row, 0))?;
                Ok(count)
            })
            .await
    }

    async fn dead_letter(&self, id: u64) -> StoreResult<Option<(DeadLetter, Option<String>)>> {
        self.readers
            .run(move |connection| {
                let found = connection
                    .prepare_cached(sql::DEAD_LETTER_BY_ID)?
                    .query_row([integer(id)], |row| Ok((letter(row)?, row.get(7)?)))
                    .optional()?;
                Ok(found)
            })
            .await
    }

    async fn mark_requeued(
        &self,
        id: u64,
        requeued_as: Option<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writer
            .run(move |connection| {
                let new = requeued_as.as_ref().map(|id| id.0.as_bytes());
                let changed = connection
                    .prepare_cached(sql::DEAD_LETTER_REQUEUED)?
                    .execute(params![integer(id), new, now.as_micros()])?;
                Ok(changed > 0)
            })
            .await
    }
}

/// A JSON list.
fn list_of(filter: &LetterFilter) -> Option<String> {
    let ids = filter.ids.as_ref()?;
    Some(serde_json::json!(ids).to_string())
}

/// Also for the letters that the end of an execution writes.
pub(crate) fn insert(connection: &Connection, letter: &NewLetter) -> JobResult<()> {
    connection
        .prepare_cached(sql::DEAD_LETTER_INSERT)?
        .execute(params![
            letter.execution_id.as_ref().map(|id| id.0.as_bytes()),
            letter.reason,
            letter.message,
            letter.now.as_micros()
        ])?;
    Ok(())
}

fn letter(row: &Row<'_>) -> rusqlite::Result<DeadLetter> {
    Ok(DeadLetter {
        id: rows::count(row, 0)?,
        execution_id: rows::optional_uuid(row, 1)?.map(ExecutionId),
        reason: row.get(2)?,
        message_bytes: rows::optional_count(row, 3)?,
        created_at: rows::time(row, 4)?,
        requeued_at: rows::optional_time(row, 5)?,
        requeued_as: rows::optional_uuid(row, 6)?.map(ExecutionId),
    })
}
