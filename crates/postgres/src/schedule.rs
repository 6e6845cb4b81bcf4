//! Scheduled actions and their history. What is written of them is in [`transaction`].

mod rows;
mod transaction;
mod writes;

use async_trait::async_trait;
use pawl_kernel::ports::schedule::{ActionFilter, DuePlace, QueueRow, ScheduleStore};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::schedule::{PastAttempt, ScheduledAction};
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;

use self::rows::StoredAction;
pub(crate) use self::writes::ScheduleWrites;
use crate::error::Outcome;
use crate::queries::integer;
use crate::session::Session;
use crate::value::{Text, Time};
use crate::{PostgresStore, sql};

#[async_trait]
impl ScheduleStore for PostgresStore {
    async fn action(&self, id: &str) -> StoreResult<Option<ScheduledAction>> {
        let id = id.to_owned();
        let done = self.readers.run(move |session| async move {
            let rows = session.alone(&sql::ACTION_LOAD, &[&Text::new(&id)]).await?;
            only_action(&rows)
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn actions(
        &self,
        filter: ActionFilter,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>> {
        let done = self.readers.run(move |session| async move {
            list(&session, &filter, after.as_deref(), limit).await
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn actions_by_due(
        &self,
        before: Option<Timestamp>,
        after: Option<DuePlace>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>> {
        let done = self
            .readers
            .run(move |session| async move { by_due(&session, before, after, limit).await });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn attempts(
        &self,
        id: &str,
        before: Option<(u64, u64)>,
        limit: u32,
    ) -> StoreResult<Vec<(u64, PastAttempt)>> {
        let id = id.to_owned();
        let (generation, ordinal) = before.unwrap_or((u64::MAX, u64::MAX));
        let done = self.readers.run(move |session| async move {
            let (id, limit) = (Text::new(&id), i64::from(limit));
            let (generation, ordinal) = (integer(generation), integer(ordinal));
            let rows = session
                .alone(&sql::ATTEMPTS_BEFORE, &[&id, &generation, &ordinal, &limit])
                .await?;
            rows.iter().map(rows::past_attempt).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn queued(&self, id: &str) -> StoreResult<Vec<QueueRow>> {
        let id = id.to_owned();
        let done = self.readers.run(move |session| async move {
            let rows = session
                .alone(&sql::ACTION_QUEUED, &[&Text::new(&id)])
                .await?;
            rows.iter().map(rows::queue_row).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }
}

fn only_action(rows: &[Row]) -> Outcome<Option<ScheduledAction>> {
    let stored = rows.first().map(StoredAction::new).transpose()?;
    stored.map(StoredAction::read).transpose()
}

async fn list(
    session: &Session,
    filter: &ActionFilter,
    after: Option<&str>,
    limit: u32,
) -> Outcome<Vec<ScheduledAction>> {
    let (from, to) = filter.range(after);
    let (from, to, limit) = (Text::new(&from), Text::new(&to), i64::from(limit));
    let sql = match filter.finished {
        Some(true) => &sql::ACTIONS_LIST_FINISHED,
        Some(false) => &sql::ACTIONS_LIST_OPEN,
        None => &sql::ACTIONS_LIST,
    };
    readable(session.alone(sql, &[&from, &to, &limit]).await?)
}

async fn by_due(
    session: &Session,
    before: Option<Timestamp>,
    after: Option<DuePlace>,
    limit: u32,
) -> Outcome<Vec<ScheduledAction>> {
    let after = after.unwrap_or(DuePlace {
        due: Some(Timestamp::from_micros(i64::MIN)),
        id: String::new(),
    });
    let mut found = Vec::new();
    if let Some(due) = after.due {
        let before = before.unwrap_or(Timestamp::from_micros(i64::MAX));
        let page: [&(dyn tokio_postgres::types::ToSql + Sync); 4] = [
            &Time(due),
            &Text::new(&after.id),
            &Time(before),
            &i64::from(limit),
        ];
        found = readable(session.alone(&sql::ACTIONS_DUE, &page).await?)?;
    }
    if before.is_none() && found.len() < limit as usize {
        let id = after.due.map_or(after.id, |_| String::new());
        let left = i64::from(limit) - found.len() as i64;
        let rows = session
            .alone(&sql::ACTIONS_NOT_DUE, &[&Text::new(&id), &left])
            .await?;
        found.extend(readable(rows)?);
    }
    Ok(found)
}

fn readable(rows: Vec<Row>) -> Outcome<Vec<ScheduledAction>> {
    let stored = rows.iter().map(StoredAction::new);
    let readable = |stored: Outcome<StoredAction>| stored.map(StoredAction::readable).transpose();
    stored.filter_map(readable).collect()
}
