//! Scheduled actions: rows are locked and loaded, the kernel is asked, and the answers are written, all in one transaction.
//! Users' writes append to the incoming queue; workers' writes are guarded by the lock's guid.
//!
//! Locks are taken in one order: shards, actions by id, rows of the queues.

mod begin;
mod record;
mod rows;

use async_trait::async_trait;
use futures_util::future::join;
use pawl_kernel::ports::schedule::{
    ActionCommand, ActionError, ActionFilter, PutError, QueueRow, RecordRequest, ScheduleStore,
    Written, decide_command, decide_put,
};
use pawl_kernel::ports::store::{DueTimer, ShardPass, StoreResult};
use pawl_kernel::schedule::{Limits, PastAttempt, Put, Record, Run, ScheduledAction};
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use self::rows::Stored;
use crate::error::{Fault, Outcome};
use crate::queries::integer;
use crate::session::Session;
use crate::value::{Text, Time};
use crate::{PostgresStore, sql};

#[async_trait]
impl ScheduleStore for PostgresStore {
    async fn put_action(&self, put: Put, now: Timestamp) -> Result<ScheduledAction, PutError> {
        let desk = Desk {
            now,
            shards: self.shards,
        };
        let done = self.writers.run(move |session| async move {
            let decide = |row: Option<&ScheduledAction>| decide_put(row, put.clone(), now);
            desk.change(&session, &put.id, decide).await
        });
        Ok(done.await.map_err(|fault| fault.of_write())??)
    }

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

    async fn delete_action(&self, id: &str) -> StoreResult<bool> {
        let id = id.to_owned();
        let done = self.writers.run(move |session| async move {
            let id = Text::new(&id);
            // The history goes once the row is locked: whoever adds to it has that lock.
            session.ready(&[&sql::ATTEMPTS_REMOVE]).await?;
            let rows = session.begin_with(&sql::ACTION_DELETE, &[&id]).await?;
            session.rows(&sql::ATTEMPTS_REMOVE, &[&id]).await?;
            session.commit().await?;
            Ok(!rows.is_empty())
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn command_action(
        &self,
        id: &str,
        command: ActionCommand,
        guid: Uuid,
        now: Timestamp,
    ) -> Result<ScheduledAction, ActionError> {
        let id = id.to_owned();
        let desk = Desk {
            now,
            shards: self.shards,
        };
        let done = self.writers.run(move |session| async move {
            let decide = |row: Option<&ScheduledAction>| decide_command(row, command, guid, now);
            desk.change(&session, &id, decide).await
        });
        done.await.map_err(|fault| fault.of_write())?
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

    async fn begin_actions(
        &self,
        pass: ShardPass,
        due: Vec<DueTimer>,
        limits: Limits,
        now: Timestamp,
    ) -> StoreResult<Vec<(DueTimer, Run)>> {
        let done = self.vital.run(move |session| async move {
            begin::begin_all(&session, &pass, due, &limits, now).await
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn record_actions(
        &self,
        sync: Uuid,
        requests: Vec<RecordRequest>,
        limits: Limits,
        now: Timestamp,
    ) -> StoreResult<Vec<Option<Record>>> {
        let shards = self.shards;
        let done = self.vital.run(move |session| async move {
            record::record_all(&session, sync, &requests, &limits, now, shards).await
        });
        done.await.map_err(|fault| fault.of_write())
    }
}

/// Where users' writes are made.
struct Desk {
    now: Timestamp,
    shards: u32,
}

/// Whoever makes an action of an id at the same moment is found at the second look; more often than this it is no chance.
const LOOKS: usize = 5;

impl Desk {
    async fn change<E>(
        &self,
        session: &Session,
        id: &str,
        decide: impl Fn(Option<&ScheduledAction>) -> Result<Written, E>,
    ) -> Outcome<Result<ScheduledAction, E>> {
        session
            .ready(&[&sql::ACTION_WRITE, &sql::TIMER_INSERT])
            .await?;
        for _ in 0..LOOKS {
            let rows = session
                .begin_with(&sql::ACTION_LOCK, &[&Text::new(id)])
                .await?;
            let before = only_action(&rows)?;
            let row = match decide(before.as_ref()) {
                Ok(Written::New(row)) => row,
                Ok(Written::Same(row)) => {
                    session.roll_back().await?;
                    return Ok(Ok(row));
                }
                Err(refusal) => {
                    session.roll_back().await?;
                    return Ok(Err(refusal));
                }
            };
            if self
                .write(session, &row, before.map(|row| row.guid))
                .await?
            {
                return Ok(Ok(row));
            }
            session.roll_back().await?;
        }
        Err(Fault::Busy(format!(
            "others write the action `{id}` all the time"
        )))
    }

    /// False: it is not the row that was decided on. Then nothing is written.
    async fn write(
        &self,
        session: &Session,
        row: &ScheduledAction,
        before: Option<Uuid>,
    ) -> Outcome<bool> {
        if !rows::write(session, row, before).await? {
            return Ok(false);
        }
        let queued = rows::queued(std::slice::from_ref(&row), self.now, self.shards);
        let (queued, committed) = join(
            rows::insert(session, &sql::TIMER_INSERT, queued),
            session.commit(),
        )
        .await;
        queued?;
        committed?;
        Ok(true)
    }
}

fn only_action(rows: &[Row]) -> Outcome<Option<ScheduledAction>> {
    let stored = rows.first().map(Stored::new).transpose()?;
    stored.map(Stored::read).transpose()
}

async fn list(
    session: &Session,
    filter: &ActionFilter,
    after: Option<&str>,
    limit: u32,
) -> Outcome<Vec<ScheduledAction>> {
    let (from, to) = filter.range(after);
    let (from, to, limit) = (Text::new(&from), Text::new(&to), i64::from(limit));
    let before = filter.due_before.map(Time);
    // What is due some time is not finished.
    let rows = match (filter.finished, before) {
        (Some(true), Some(_)) => Vec::new(),
        (Some(true), None) => {
            session
                .alone(&sql::ACTIONS_LIST_FINISHED, &[&from, &to, &limit])
                .await?
        }
        (None, None) => {
            session
                .alone(&sql::ACTIONS_LIST, &[&from, &to, &limit])
                .await?
        }
        (Some(false), _) | (None, Some(_)) => {
            let page: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&from, &to, &limit, &before];
            session.alone(&sql::ACTIONS_LIST_OPEN, &page).await?
        }
    };
    let stored = rows.iter().map(Stored::new);
    let readable = |stored: Outcome<Stored>| stored.map(Stored::readable).transpose();
    stored.filter_map(readable).collect()
}
