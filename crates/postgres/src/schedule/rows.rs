//! Rows of actions, of their attempts and of the queues.

use std::collections::HashSet;

use pawl_kernel::ports::schedule::{QueueRow, ShardHolder, SyncMark};
use pawl_kernel::schedule::{ActionAttempt, AttemptEnd, PastAttempt, ScheduledAction};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql;
use crate::value::{Plain, Text, Time};

/// An action as it is stored. Whether it can be read is another matter: one that cannot must not stop the others.
pub(super) struct StoredAction {
    pub(super) id: String,
    pub(super) guid: Uuid,
    meta: Option<String>,
    spec: String,
    status: String,
}

impl StoredAction {
    pub(super) fn new(row: &Row) -> Outcome<Self> {
        let mut reader = Reader::new(row);
        Ok(Self {
            id: reader.text()?,
            guid: reader.get()?,
            meta: reader.optional_text()?,
            spec: reader.text()?,
            status: reader.text()?,
        })
    }

    pub(super) fn read(self) -> Outcome<ScheduledAction> {
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

/// The whole row, over the one with this guid or where there is none. False: it is another one.
pub(super) async fn write(
    session: &Session,
    row: &ScheduledAction,
    over: Option<Uuid>,
) -> Outcome<bool> {
    let (meta, spec, status) = (
        row.meta.to_stored(),
        row.spec.to_stored(),
        row.status.to_stored(),
    );
    let (due_at, finished_at) = (row.due_at().map(Time), row.status.finished_at.map(Time));
    session.ready(&[&sql::ACTION_WRITE]).await?;
    let written = session
        .rows(
            &sql::ACTION_WRITE,
            &[
                &Text::new(&row.id),
                &row.guid,
                &Text::new(&meta),
                &Text::new(&spec),
                &Text::new(&status),
                &due_at,
                &finished_at,
                &over,
            ],
        )
        .await?;
    Ok(!written.is_empty())
}

pub(super) fn queue_row(row: &Row) -> Outcome<QueueRow> {
    let mut reader = Reader::new(row);
    let shard_id = reader.number()?;
    let (owner, lock) = (reader.optional_text()?, reader.get::<Option<Uuid>>()?);
    let added_at = reader.time()?;
    let mut mark = || -> Outcome<Option<SyncMark>> {
        let (at, sync) = (reader.optional_time()?, reader.get::<Option<Uuid>>()?);
        Ok(at.zip(sync).map(|(at, sync)| SyncMark { at, sync }))
    };
    Ok(QueueRow {
        shard_id,
        holder: owner
            .zip(lock)
            .map(|(owner, lock)| ShardHolder { owner, lock }),
        added_at,
        moved: mark()?,
        rescheduled: mark()?,
    })
}

/// An attempt and its generation.
pub(super) fn past_attempt(row: &Row) -> Outcome<(u64, PastAttempt)> {
    let mut reader = Reader::new(row);
    let generation = reader.count()?;
    let attempt = ActionAttempt {
        ordinal: reader.count()?,
        number: reader.number()?,
        planned_at: reader.time()?,
        started_at: reader.time()?,
    };
    let finished_at = reader.time()?;
    let (status, error) = (reader.text()?, reader.optional_text()?);
    let past = PastAttempt {
        attempt,
        finished_at,
        ended: AttemptEnd::from_stored(&status, error.as_deref()).map_err(Fault::Corrupt)?,
    };
    Ok((generation, past))
}

/// The first column of every row.
pub(super) fn texts(rows: &[Row]) -> Outcome<HashSet<String>> {
    let text = |row: &Row| Ok(row.try_get::<_, Plain>(0)?.0);
    rows.iter().map(text).collect()
}
