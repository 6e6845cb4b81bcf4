//! Rows of actions, of their attempts and of the queues.

use std::collections::HashSet;

use futures_util::future::join5;
use pawl_kernel::ports::schedule::{
    ATTEMPTS_KEPT, QueueRow, ShardHolder, SyncMark, is_time_to_forget,
};
use pawl_kernel::ports::store::DueTimer;
use pawl_kernel::schedule::{Attempt, Ended, PastAttempt, ScheduledAction};
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::changes;
use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql::{self, Sql};
use crate::value::{Columns, Plain, Text, Time};

/// What workers write with. Prepared ahead, so that what is sent in one go stays in order.
pub(super) static WORK: &[&Sql] = &[
    &sql::ACTIONS_LOAD,
    &sql::ACTIONS_UPDATE,
    &sql::ATTEMPTS_INSERT,
    &sql::ATTEMPTS_FORGET,
    &sql::PROCESSING_MOVE,
    &sql::TIMER_INSERT,
];

/// An action as it is stored. Whether it can be read is another matter: one that cannot must not stop the others.
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) guid: Uuid,
    meta: Option<String>,
    spec: String,
    status: String,
}

impl Stored {
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
    let attempt = Attempt {
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
        ended: Ended::from_stored(&status, error.as_deref()).map_err(Fault::Corrupt)?,
    };
    Ok((generation, past))
}

/// Rows of the incoming queue for those actions that are due some time.
pub(super) fn queued(
    actions: &[&ScheduledAction],
    now: Timestamp,
    shards: u32,
) -> Columns<'static> {
    let mut columns = Columns::new(sql::TIMER_INSERT.kinds());
    for row in actions
        .iter()
        .filter_map(|row| DueTimer::of_action(row, shards))
    {
        changes::put_timer(&mut columns, row, now);
    }
    columns
}

/// One statement with many rows, or nothing to do. It must be ready.
pub(super) async fn insert(
    session: &Session,
    sql: &'static Sql,
    columns: Columns<'_>,
) -> Outcome<()> {
    if let Some(columns) = columns.non_empty() {
        session.rows(sql, &columns.params()).await?;
    }
    Ok(())
}

/// Where a row of the processing queue goes; `None`: away.
pub(super) type Place = (DueTimer, Option<Timestamp>);

/// Moves rows of the processing queue, or takes them away. Returns which of them were there.
pub(super) async fn place(
    session: &Session,
    places: &[Place],
    sync: Uuid,
    now: Timestamp,
) -> Outcome<HashSet<(String, Uuid)>> {
    let mut columns = Columns::new(&sql::PROCESSING_MOVE.kinds()[..5]);
    for (timer, to) in places {
        columns.int(timer.shard_id);
        columns.time(timer.at);
        columns.text(timer.action_id.as_str());
        columns.uuid(timer.guid);
        columns.time(*to);
    }
    let Some(columns) = columns.non_empty() else {
        return Ok(HashSet::new());
    };
    let now = Time(now);
    let mut params = columns.params();
    params.push(&sync);
    params.push(&now);
    let rows = session.rows(&sql::PROCESSING_MOVE, &params).await?;
    let found = |row: &Row| -> Outcome<(String, Uuid)> {
        let mut reader = Reader::new(row);
        Ok((reader.text()?, reader.get()?))
    };
    rows.iter().map(found).collect()
}

/// What workers write besides places in the processing queue.
#[derive(Default)]
pub(super) struct Writes<'a> {
    pub(super) rows: Vec<&'a ScheduledAction>,
    /// What the history is to know, with id and generation.
    pub(super) past: Vec<(&'a str, u64, &'a PastAttempt)>,
    /// These get a new row in the incoming queue.
    pub(super) queued: Vec<&'a ScheduledAction>,
}

impl Writes<'_> {
    /// All of it, and the end of the transaction, in one go.
    pub(super) async fn commit(
        &self,
        session: &Session,
        now: Timestamp,
        shards: u32,
    ) -> Outcome<()> {
        let forget: Vec<Text<'_>> = self.forget();
        let (updated, known, forgotten, queued, committed) = join5(
            insert(session, &sql::ACTIONS_UPDATE, self.updates()),
            insert(session, &sql::ATTEMPTS_INSERT, self.history()),
            forget_attempts(session, forget),
            insert(
                session,
                &sql::TIMER_INSERT,
                queued(&self.queued, now, shards),
            ),
            session.commit(),
        )
        .await;
        updated?;
        known?;
        forgotten?;
        queued?;
        committed
    }

    fn updates(&self) -> Columns<'_> {
        let mut columns = Columns::new(sql::ACTIONS_UPDATE.kinds());
        for row in &self.rows {
            columns.text(row.id.as_str());
            columns.uuid(row.guid);
            columns.owned_text(Some(row.status.to_stored()));
            columns.time(row.due_at());
            columns.time(row.status.finished_at);
        }
        columns
    }

    fn history(&self) -> Columns<'_> {
        let mut columns = Columns::new(sql::ATTEMPTS_INSERT.kinds());
        for (id, generation, past) in &self.past {
            columns.text(*id);
            columns.count(*generation);
            columns.count(past.attempt.ordinal);
            columns.int(past.attempt.number);
            columns.time(past.attempt.planned_at);
            columns.time(past.attempt.started_at);
            columns.time(past.finished_at);
            columns.text(past.ended.name());
            columns.owned_text(past.ended.error_to_stored());
        }
        columns
    }

    fn forget(&self) -> Vec<Text<'_>> {
        let timely = self
            .past
            .iter()
            .filter(|(_, _, past)| is_time_to_forget(past.attempt.ordinal));
        timely.map(|(id, _, _)| Text::new(id)).collect()
    }
}

async fn forget_attempts(session: &Session, ids: Vec<Text<'_>>) -> Outcome<()> {
    if !ids.is_empty() {
        let kept = i64::from(ATTEMPTS_KEPT);
        session.rows(&sql::ATTEMPTS_FORGET, &[&ids, &kept]).await?;
    }
    Ok(())
}

/// The first column of every row.
pub(super) fn texts(rows: &[Row]) -> Outcome<HashSet<String>> {
    let text = |row: &Row| Ok(row.try_get::<_, Plain>(0)?.0);
    rows.iter().map(text).collect()
}
