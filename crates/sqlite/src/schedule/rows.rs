//! Rows of actions and of their attempts.

use pawl_kernel::operations::AttemptRecord;
use pawl_kernel::ports::schedule::{QueueRow, ShardHolder, SyncMark};
use pawl_kernel::schedule::{ActionAttempt, AttemptEnd, PastAttempt, ScheduledAction};
use pawl_kernel::time::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use uuid::Uuid;

use crate::fault::{Fault, JobResult};
use crate::rows::{count, integer, optional_time, optional_uuid, time, uuid};
use crate::sql;

/// An action as it is stored. Whether it can be read is another matter: one that cannot must not stop the others.
pub(super) struct StoredAction {
    pub(super) guid: Uuid,
    id: String,
    meta: Option<String>,
    spec: String,
    status: String,
}

impl StoredAction {
    fn new(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            guid: uuid(row, 1)?,
            meta: row.get(2)?,
            spec: row.get(3)?,
            status: row.get(4)?,
        })
    }

    pub(super) fn read(self) -> JobResult<ScheduledAction> {
        let meta = self.meta.unwrap_or_default();
        ScheduledAction::from_stored(self.id, self.guid, &meta, &self.spec, &self.status)
            .map_err(Fault::Corrupt)
    }

    /// `None`: what is stored is none of what this program knows; another version of it may.
    pub(super) fn readable(self) -> Option<ScheduledAction> {
        match self.read() {
            Ok(row) => Some(row),
            Err(problem) => {
                tracing::error!(%problem, "this action cannot be read and is left alone");
                None
            }
        }
    }
}

pub(super) fn stored(connection: &Connection, id: &str) -> JobResult<Option<StoredAction>> {
    let found = connection
        .prepare_cached(sql::ACTION_LOAD)?
        .query_row([id], StoredAction::new)
        .optional()?;
    Ok(found)
}

pub(super) fn load(connection: &Connection, id: &str) -> JobResult<Option<ScheduledAction>> {
    stored(connection, id)?.map(StoredAction::read).transpose()
}

/// Those of a list that can be read.
pub(super) fn readable(
    connection: &Connection,
    text: &str,
    page: impl Params,
) -> JobResult<Vec<ScheduledAction>> {
    let mut statement = connection.prepare_cached(text)?;
    let found: Vec<StoredAction> = statement
        .query_map(page, StoredAction::new)?
        .collect::<Result<_, _>>()?;
    Ok(found
        .into_iter()
        .filter_map(StoredAction::readable)
        .collect())
}

/// The whole row.
pub(super) fn write(connection: &Connection, row: &ScheduledAction) -> JobResult<()> {
    connection
        .prepare_cached(sql::ACTION_WRITE)?
        .execute(params![
            row.id,
            row.guid.as_bytes(),
            row.meta.to_stored(),
            row.spec.to_stored(),
            row.status.to_stored(),
            row.due_at().map(Timestamp::as_micros),
            row.status.finished_at.map(Timestamp::as_micros)
        ])?;
    Ok(())
}

/// What workers change.
pub(super) fn update(connection: &Connection, row: &ScheduledAction) -> JobResult<()> {
    connection
        .prepare_cached(sql::ACTION_UPDATE)?
        .execute(params![
            row.id,
            row.guid.as_bytes(),
            row.status.to_stored(),
            row.due_at().map(Timestamp::as_micros),
            row.status.finished_at.map(Timestamp::as_micros)
        ])?;
    Ok(())
}

/// What is known about an attempt does not change.
pub(super) fn add_attempt(connection: &Connection, record: &AttemptRecord) -> JobResult<()> {
    let PastAttempt {
        attempt,
        finished_at,
        ended,
    } = &record.past;
    connection
        .prepare_cached(sql::ATTEMPT_INSERT)?
        .execute(params![
            record.action_id,
            integer(record.generation),
            integer(attempt.ordinal),
            attempt.number,
            attempt.planned_at.as_micros(),
            attempt.started_at.as_micros(),
            finished_at.as_micros(),
            ended.name(),
            ended.error_to_stored()
        ])?;
    Ok(())
}

pub(super) fn queue_row(row: &Row<'_>) -> rusqlite::Result<QueueRow> {
    let owner: Option<String> = row.get(1)?;
    let lock = optional_uuid(row, 2)?;
    let mark = |at: usize| -> rusqlite::Result<Option<SyncMark>> {
        let (at, sync) = (optional_time(row, at)?, optional_uuid(row, at + 1)?);
        Ok(at.zip(sync).map(|(at, sync)| SyncMark { at, sync }))
    };
    Ok(QueueRow {
        shard_id: row.get(0)?,
        holder: owner
            .zip(lock)
            .map(|(owner, lock)| ShardHolder { owner, lock }),
        added_at: time(row, 3)?,
        moved: mark(4)?,
        rescheduled: mark(6)?,
    })
}

/// An attempt and its generation.
pub(super) fn past_attempt(row: &Row<'_>) -> rusqlite::Result<(u64, PastAttempt)> {
    let error: Option<String> = row.get(7)?;
    let ended = AttemptEnd::from_stored(row.get_ref(6)?.as_str()?, error.as_deref());
    let past = PastAttempt {
        attempt: ActionAttempt {
            ordinal: count(row, 1)?,
            number: row.get(2)?,
            planned_at: time(row, 3)?,
            started_at: time(row, 4)?,
        },
        finished_at: time(row, 5)?,
        ended: ended.map_err(|problem| {
            rusqlite::Error::FromSqlConversionFailure(6, Type::Text, problem.into())
        })?,
    };
    Ok((count(row, 0)?, past))
}
