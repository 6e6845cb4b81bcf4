//! Dead letters.

use async_trait::async_trait;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::{
    DeadLetter, LetterFilter, LetterList, LetterPage, LetterStore, LetterTally, NewLetter,
};
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
        look: u32,
    ) -> StoreResult<LetterList> {
        self.readers
            .run_at_once(move |connection| list(connection, &filter, page, limit, look))
            .await
    }

    async fn count_letters(
        &self,
        filter: LetterFilter,
        max: u32,
        look: u32,
    ) -> StoreResult<LetterTally> {
        self.readers
            .run_at_once(move |connection| count(connection, &filter, max, look))
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

fn list(
    connection: &Connection,
    filter: &LetterFilter,
    page: LetterPage,
    limit: u32,
    look: u32,
) -> JobResult<LetterList> {
    if let Some(ids) = &filter.ids {
        let letters = page.cut(named(connection, filter, ids)?, limit);
        let looked_to = None;
        return Ok(LetterList { letters, looked_to });
    }
    let looked_to = match filter.looks_through() {
        true => look_end(connection, filter.open_only, page, look)?,
        false => None,
    };
    let (text, place, end) = match page {
        LetterPage::After(id) if filter.open_only => (sql::LETTERS_OPEN_OLDEST, id, u64::MAX),
        LetterPage::After(id) => (sql::LETTERS_OLDEST, id, u64::MAX),
        LetterPage::Before(id) if filter.open_only => {
            (sql::LETTERS_OPEN_NEWEST, id.unwrap_or(u64::MAX), 0)
        }
        LetterPage::Before(id) => (sql::LETTERS_NEWEST, id.unwrap_or(u64::MAX), 0),
    };
    let end = looked_to.unwrap_or(end);
    let mut statement = connection.prepare_cached(text)?;
    let wanted = params![integer(place), integer(end), filter.reason, limit];
    let found = statement.query_map(wanted, letter)?;
    let letters: Vec<DeadLetter> = found.collect::<Result<_, _>>()?;
    let is_full = letters.len() == limit as usize;
    Ok(LetterList {
        letters,
        looked_to: looked_to.filter(|_| !is_full),
    })
}

/// `None`: there are fewer.
fn look_end(
    connection: &Connection,
    open_only: bool,
    page: LetterPage,
    look: u32,
) -> JobResult<Option<u64>> {
    let (text, place) = match page {
        LetterPage::After(id) if open_only => (sql::LETTERS_OPEN_END_UP, id),
        LetterPage::After(id) => (sql::LETTERS_END_UP, id),
        LetterPage::Before(id) if open_only => (sql::LETTERS_OPEN_END_DOWN, id.unwrap_or(u64::MAX)),
        LetterPage::Before(id) => (sql::LETTERS_END_DOWN, id.unwrap_or(u64::MAX)),
    };
    let found = connection
        .prepare_cached(text)?
        .query_row(params![integer(place), look], |row| rows::count(row, 0))
        .optional()?;
    Ok(found)
}

fn count(
    connection: &Connection,
    filter: &LetterFilter,
    max: u32,
    look: u32,
) -> JobResult<LetterTally> {
    if let Some(ids) = &filter.ids {
        let found = named(connection, filter, ids)?.len() as u64;
        return Ok(LetterTally::up_to(max, found, false));
    }
    let end = match filter.looks_through() {
        true => look_end(connection, filter.open_only, LetterPage::After(0), look)?,
        false => None,
    };
    let text = match filter.open_only {
        true => sql::LETTERS_OPEN_COUNT,
        false => sql::LETTERS_COUNT,
    };
    let wanted = params![
        integer(end.unwrap_or(u64::MAX)),
        filter.reason,
        i64::from(max) + 1
    ];
    let found = connection
        .prepare_cached(text)?
        .query_row(wanted, |row| rows::count(row, 0))?;
    Ok(LetterTally::up_to(max, found, end.is_some()))
}

/// In order of their ids.
fn named(
    connection: &Connection,
    filter: &LetterFilter,
    ids: &[u64],
) -> JobResult<Vec<DeadLetter>> {
    let list = serde_json::json!(ids).to_string();
    let mut statement = connection.prepare_cached(sql::LETTERS_NAMED)?;
    let found = statement.query_map(params![list, filter.open_only, filter.reason], letter)?;
    Ok(found.collect::<Result<_, _>>()?)
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
