//! Dead letters.

use async_trait::async_trait;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::{
    DeadLetter, LetterFilter, LetterList, LetterPage, LetterStore, LetterTally, NewLetter,
};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::queries::integer;
use crate::rows::Reader;
use crate::session::{Params, Session};
use crate::value::{Columns, Text, Time};
use crate::{PostgresStore, sql};

#[async_trait]
impl LetterStore for PostgresStore {
    async fn add_letter(&self, letter: NewLetter) -> StoreResult<u64> {
        let done = self.writers.run(move |session| async move {
            let mut columns = Columns::new(sql::DEAD_LETTER_INSERT.kinds());
            columns.uuid(letter.execution_id.map(|id| id.0));
            columns.text(letter.reason.as_str());
            columns.text(letter.message.as_deref());
            columns.time(letter.now);
            let rows = session
                .alone(&sql::DEAD_LETTER_INSERT, &columns.params())
                .await?;
            match rows.first() {
                Some(row) => Reader::new(row).count(),
                None => Err(Fault::Corrupt("a letter got no number".into())),
            }
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn dead_letters(
        &self,
        open_only: bool,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<DeadLetter>> {
        let done = self.readers.run(move |session| async move {
            let sql = match open_only {
                true => &sql::DEAD_LETTERS_OPEN,
                false => &sql::DEAD_LETTERS_AFTER,
            };
            let rows = session
                .alone(sql, &[&integer(after), &i64::from(limit)])
                .await?;
            letters_of(&rows)
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn letters(
        &self,
        filter: LetterFilter,
        page: LetterPage,
        limit: u32,
        look: u32,
    ) -> StoreResult<LetterList> {
        let done = self
            .readers
            .run(move |session| async move { list(&session, &filter, page, limit, look).await });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn count_letters(
        &self,
        filter: LetterFilter,
        max: u32,
        look: u32,
    ) -> StoreResult<LetterTally> {
        let done = self
            .readers
            .run(move |session| async move { count(&session, &filter, max, look).await });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn dead_letter(&self, id: u64) -> StoreResult<Option<(DeadLetter, Option<String>)>> {
        let done = self.readers.run(move |session| async move {
            let rows = session
                .alone(&sql::DEAD_LETTER_BY_ID, &[&integer(id)])
                .await?;
            let Some(row) = rows.first() else {
                return Ok(None);
            };
            let mut reader = Reader::new(row);
            Ok(Some((letter(&mut reader)?, reader.optional_text()?)))
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn mark_requeued(
        &self,
        id: u64,
        requeued_as: Option<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let done = self.writers.run(move |session| async move {
            let new = requeued_as.map(|id| id.0);
            let rows = session
                .alone(
                    &sql::DEAD_LETTER_REQUEUED,
                    &[&integer(id), &new, &Time(now)],
                )
                .await?;
            Ok(!rows.is_empty())
        });
        done.await.map_err(|fault| fault.of_write())
    }
}

async fn list(
    session: &Session,
    filter: &LetterFilter,
    page: LetterPage,
    limit: u32,
    look: u32,
) -> Outcome<LetterList> {
    if let Some(ids) = &filter.ids {
        let letters = page.cut(named(session, filter, ids).await?, limit);
        let looked_to = None;
        return Ok(LetterList { letters, looked_to });
    }
    let looked_to = match filter.looks_through() {
        true => look_end(session, filter.open_only, page, look).await?,
        false => None,
    };
    let (sql, place, end) = match page {
        LetterPage::After(id) if filter.open_only => (&sql::LETTERS_OPEN_OLDEST, id, u64::MAX),
        LetterPage::After(id) => (&sql::LETTERS_OLDEST, id, u64::MAX),
        LetterPage::Before(id) if filter.open_only => {
            (&sql::LETTERS_OPEN_NEWEST, id.unwrap_or(u64::MAX), 0)
        }
        LetterPage::Before(id) => (&sql::LETTERS_NEWEST, id.unwrap_or(u64::MAX), 0),
    };
    let (place, end) = (integer(place), integer(looked_to.unwrap_or(end)));
    let reason = filter.reason.as_deref().map(Text::new);
    let params: Params<'_> = &[&place, &end, &reason, &i64::from(limit)];
    let letters = letters_of(&session.alone(sql, params).await?)?;
    let is_full = letters.len() == limit as usize;
    Ok(LetterList {
        letters,
        looked_to: looked_to.filter(|_| !is_full),
    })
}

/// `None`: there are fewer.
async fn look_end(
    session: &Session,
    open_only: bool,
    page: LetterPage,
    look: u32,
) -> Outcome<Option<u64>> {
    let (sql, place) = match page {
        LetterPage::After(id) if open_only => (&sql::LETTERS_OPEN_END_UP, id),
        LetterPage::After(id) => (&sql::LETTERS_END_UP, id),
        LetterPage::Before(id) if open_only => {
            (&sql::LETTERS_OPEN_END_DOWN, id.unwrap_or(u64::MAX))
        }
        LetterPage::Before(id) => (&sql::LETTERS_END_DOWN, id.unwrap_or(u64::MAX)),
    };
    let rows = session
        .alone(sql, &[&integer(place), &i64::from(look)])
        .await?;
    let id = rows.first().map(|row| Reader::new(row).count());
    id.transpose()
}

async fn count(
    session: &Session,
    filter: &LetterFilter,
    max: u32,
    look: u32,
) -> Outcome<LetterTally> {
    if let Some(ids) = &filter.ids {
        let found = named(session, filter, ids).await?.len() as u64;
        return Ok(LetterTally::up_to(max, found, false));
    }
    let end = match filter.looks_through() {
        true => look_end(session, filter.open_only, LetterPage::After(0), look).await?,
        false => None,
    };
    let sql = match filter.open_only {
        true => &sql::LETTERS_OPEN_COUNT,
        false => &sql::LETTERS_COUNT,
    };
    let reason = filter.reason.as_deref().map(Text::new);
    let last = integer(end.unwrap_or(u64::MAX));
    let params: Params<'_> = &[&last, &reason, &(i64::from(max) + 1)];
    let rows = session.alone(sql, params).await?;
    let found = rows.first().map_or(Ok(0), |row| Reader::new(row).count())?;
    Ok(LetterTally::up_to(max, found, end.is_some()))
}

/// In order of their ids.
async fn named(session: &Session, filter: &LetterFilter, ids: &[u64]) -> Outcome<Vec<DeadLetter>> {
    let ids: Vec<i64> = ids.iter().copied().map(integer).collect();
    let reason = filter.reason.as_deref().map(Text::new);
    let params: Params<'_> = &[&ids, &filter.open_only, &reason];
    letters_of(&session.alone(&sql::LETTERS_NAMED, params).await?)
}

fn letters_of(rows: &[Row]) -> Outcome<Vec<DeadLetter>> {
    let letters = rows.iter().map(|row| letter(&mut Reader::new(row)));
    letters.collect()
}

fn letter(reader: &mut Reader<'_>) -> Outcome<DeadLetter> {
    Ok(DeadLetter {
        id: reader.count()?,
        execution_id: reader.get::<Option<Uuid>>()?.map(ExecutionId),
        reason: reader.text()?,
        message_bytes: reader.optional_count()?,
        created_at: reader.time()?,
        requeued_at: reader.optional_time()?,
        requeued_as: reader.get::<Option<Uuid>>()?.map(ExecutionId),
    })
}
