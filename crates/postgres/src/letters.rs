//! Dead letters.

use async_trait::async_trait;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::{DeadLetter, LetterFilter, LetterPage, LetterStore, NewLetter};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::queries::integer;
use crate::rows::Reader;
use crate::session::{Params, Session};
use crate::sql::Sql;
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
            rows.iter()
                .map(|row| letter(&mut Reader::new(row)))
                .collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn letters(
        &self,
        filter: LetterFilter,
        page: LetterPage,
        limit: u32,
    ) -> StoreResult<Vec<DeadLetter>> {
        let done = self.readers.run(move |session| async move {
            let (sql, place) = match page {
                LetterPage::After(id) => (&sql::LETTERS_OLDEST, id),
                LetterPage::Before(id) => (&sql::LETTERS_NEWEST, id.unwrap_or(u64::MAX)),
            };
            let rows = found(&session, sql, place, &filter, limit).await?;
            rows.iter()
                .map(|row| letter(&mut Reader::new(row)))
                .collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn count_letters(&self, filter: LetterFilter, max: u32) -> StoreResult<u64> {
        let done = self.readers.run(move |session| async move {
            let rows = found(&session, &sql::LETTERS_COUNT, 0, &filter, max).await?;
            match rows.first() {
                Some(row) => Reader::new(row).count(),
                None => Ok(0),
            }
        });
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

async fn found(
    session: &Session,
    sql: &'static Sql,
    place: u64,
    filter: &LetterFilter,
    limit: u32,
) -> Outcome<Vec<Row>> {
    let (place, limit) = (integer(place), i64::from(limit));
    let reason = filter.reason.as_deref().map(Text::new);
    let ids = filter.ids.as_ref();
    let ids: Option<Vec<i64>> = ids.map(|ids| ids.iter().copied().map(integer).collect());
    let params: Params<'_> = &[&place, &filter.open_only, &reason, &ids, &limit];
    session.alone(sql, params).await
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
