//! Removing what ended long ago. Rows go in small batches; history goes in whole partitions where everything in one is
//! past every retention and nothing in it is open.
//!
//! The row in `executions` goes first: an execution without its history is never seen. A partition is dropped once no
//! execution of its time is left.

use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::execution::Status;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::retention::{
    self, OutdatedPage, OutdatedRequest, ReclaimReport, RemovalReport, RemoveRequest,
    RetentionStore,
};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::partitions::{self, Partition, Range, TABLES};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql::Sql;
use crate::value::{Text, Time};
use crate::{PostgresStore, sql};

const DETACH: &str = include_str!("../sql/templates/partition_detach.sql");
const DROP: &str = include_str!("../sql/templates/partition_drop.sql");
const LONG_STATEMENT: &str = include_str!("../sql/templates/long_statement.sql");
const ENDS: &str = include_str!("../sql/templates/partition_ends.sql");

/// The history of one execution may be large. No caller waits for its removal, as it ended long ago.
const LARGE_PATIENCE: Duration = Duration::from_secs(60);
/// What upkeep does in one go takes no longer.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(90);
/// Detaching keeps every commit waiting for as long as it waits itself.
const DETACH_PATIENCE: Duration = Duration::from_millis(200);
/// No transaction uses a table that is detached; but its files may be large.
const DROP_PATIENCE: Duration = Duration::from_secs(2);
/// A partition is left alone for so long after its time, whatever is in it.
const SETTLED_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Partitions of each table that one call drops.
const DROPPED_MAX: usize = 4;

#[async_trait]
impl RetentionStore for PostgresStore {
    async fn published_versions(
        &self,
        after: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<(SchemaId, u32)>> {
        let after = after.map_or(Uuid::nil(), |id| id.0);
        let done = self.upkeep.run(move |session| async move {
            let rows = session
                .alone(&sql::PUBLISHED_VERSIONS, &[&after, &i64::from(limit)])
                .await?;
            rows.iter()
                .map(|row| {
                    let mut reader = Reader::new(row);
                    Ok((SchemaId(reader.get()?), reader.number()?))
                })
                .collect::<Outcome<_>>()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn outdated(&self, request: OutdatedRequest) -> StoreResult<OutdatedPage> {
        let done = self
            .upkeep
            .run(move |session| async move { outdated(&session, &request).await });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn remove(&self, request: RemoveRequest) -> StoreResult<RemovalReport> {
        let done = self
            .upkeep
            .run(move |session| async move { remove(&session, request).await });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn outdated_actions(
        &self,
        finished_before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<String>> {
        let done = self.upkeep.run(move |session| async move {
            let (before, limit) = (Time(finished_before), i64::from(limit));
            let rows = session
                .alone(&sql::ACTIONS_OUTDATED, &[&before, &limit])
                .await?;
            rows.iter().map(|row| Reader::new(row).text()).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn remove_actions(
        &self,
        ids: Vec<String>,
        finished_before: Timestamp,
    ) -> StoreResult<RemovalReport> {
        let done = self.upkeep.run(move |session| async move {
            let ids: Vec<Text<'_>> = ids.iter().map(|id| Text::new(id)).collect();
            let rows = session
                .alone(&sql::ACTIONS_REMOVE, &[&ids, &Time(finished_before)])
                .await?;
            let mut removed = RemovalReport::default();
            for row in &rows {
                let mut reader = Reader::new(row);
                removed.actions = reader.count()?;
                removed.history = reader.count()?;
            }
            Ok(removed)
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn reclaim(&self, now: Timestamp) -> StoreResult<ReclaimReport> {
        let schema = self.connector.schema().to_owned();
        let done = self
            .upkeep
            .run(move |session| async move { reclaim(&session, &schema, now).await });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn maintain(&self, now: Timestamp) -> StoreResult<()> {
        let schema = self.connector.schema().to_owned();
        let done = self
            .upkeep
            .run(move |session| async move { partitions::maintain(&session, &schema, now).await });
        done.await.map_err(|fault| fault.of_write())
    }
}

async fn outdated(session: &Session, request: &OutdatedRequest) -> Outcome<OutdatedPage> {
    let after = request.after.map_or(Uuid::nil(), |id| id.0);
    let before = request.cutoff.first_id_kept().0;
    let (ended, keyed) = (
        Time(request.cutoff.ended_before),
        Time(request.cutoff.keyed_ended_before),
    );
    let (schema_id, limit) = (request.schema_id.0, i64::from(request.limit));
    let rows = session
        .alone(
            &sql::EXECUTIONS_OUTDATED,
            &[&schema_id, &after, &before, &ended, &keyed, &limit],
        )
        .await?;
    let full = rows.len() as i64 == limit;
    let mut page = OutdatedPage::default();
    for row in &rows {
        let mut reader = Reader::new(row);
        let id = ExecutionId(reader.get()?);
        page.next = full.then_some(id);
        if reader.get()? {
            page.ids.push(id);
        }
    }
    Ok(page)
}

async fn remove(session: &Session, request: RemoveRequest) -> Outcome<RemovalReport> {
    let mut ids: Vec<Uuid> = request.ids.iter().map(|id| id.0).collect();
    ids.sort_unstable();
    let before = request.cutoff.first_id_kept().0;
    let (ended, keyed) = (
        Time(request.cutoff.ended_before),
        Time(request.cutoff.keyed_ended_before),
    );
    // The states first and in order, as every transaction locks them.
    session.begin_with(&sql::STATES_LOCK, &[&ids]).await?;
    if ids.len() == 1 {
        // It could not go together with others, perhaps, and there is no smaller batch to try.
        let millis = LARGE_PATIENCE.as_millis().to_string();
        let patience = LONG_STATEMENT.replace("{millis}", &millis);
        session.script(&patience).await?;
    }
    let rows = session
        .rows(&sql::EXECUTIONS_REMOVE, &[&ids, &before, &ended, &keyed])
        .await?;
    let row = rows
        .first()
        .ok_or_else(|| Fault::Corrupt("no answer to a removal".into()))?;
    let mut reader = Reader::new(row);
    let gone: Vec<Uuid> = reader.get()?;
    let mut removed = RemovalReport {
        executions: gone.len() as u64,
        history: 0,
        signals: reader.count()?,
        dead_letters: reader.count()?,
        ..RemovalReport::default()
    };
    let deletes: [&Sql; 3] = [
        &sql::STEPS_REMOVE,
        &sql::SNAPSHOTS_REMOVE,
        &sql::LOGS_REMOVE,
    ];
    for (table, delete) in TABLES.into_iter().zip(deletes) {
        let dropped = dropped_later(session, table, &gone, request.all_gone_before).await?;
        let by_row = gone
            .iter()
            .filter(|id| !dropped.iter().any(|range| range.contains(**id)))
            .copied();
        removed.history += delete_rows(session, delete, by_row.collect()).await?;
    }
    session.commit().await?;
    Ok(removed)
}

async fn delete_rows(session: &Session, delete: &'static Sql, ids: Vec<Uuid>) -> Outcome<u64> {
    if ids.is_empty() {
        return Ok(0);
    }
    let rows = session.rows(delete, &[&ids]).await?;
    rows.first().map_or(Ok(0), |row| Reader::new(row).count())
}

/// The partitions around these ids that will be dropped as a whole: deleting in them is a waste.
async fn dropped_later(
    session: &Session,
    table: &str,
    ids: &[Uuid],
    before: Option<Timestamp>,
) -> Outcome<Vec<Range>> {
    let Some(before) = before else {
        return Ok(Vec::new());
    };
    let bound = retention::first_id(before).0;
    let mut dropped = Vec::new();
    for Partition { range, .. } in partitions::attached(session, table).await? {
        let concerned = range.to <= bound && ids.iter().any(|id| range.contains(*id));
        if concerned && !has_open(session, range).await? {
            dropped.push(range);
        }
    }
    Ok(dropped)
}

async fn has_open(session: &Session, range: Range) -> Outcome<bool> {
    let open: Vec<i16> = Status::ALL
        .iter()
        .filter(|status| !status.is_terminal())
        .map(|status| status.code() as i16)
        .collect();
    let rows = session
        .rows(
            &sql::EXECUTIONS_OPEN_BETWEEN,
            &[&range.from, &range.to, &open],
        )
        .await?;
    answer(&rows)
}

async fn has_any(session: &Session, range: Range) -> Outcome<bool> {
    answer(
        &session
            .rows(&sql::EXECUTIONS_BETWEEN, &[&range.from, &range.to])
            .await?,
    )
}

fn answer(rows: &[tokio_postgres::Row]) -> Outcome<bool> {
    match rows.first() {
        Some(row) => Ok(row.try_get(0)?),
        None => Err(Fault::Corrupt("EXISTS gave no answer".into())),
    }
}

async fn reclaim(session: &Session, schema: &str, now: Timestamp) -> Outcome<ReclaimReport> {
    let mut reclaimed = ReclaimReport::default();
    for table in TABLES {
        let tried = reclaim_table(session, schema, table, now, &mut reclaimed).await;
        let Err(fault) = tried else { continue };
        if fault.breaks_connection() {
            return Err(fault);
        }
        session.roll_back().await?;
        tracing::warn!(table, %fault, "old partitions are not dropped for now");
    }
    Ok(reclaimed)
}

async fn reclaim_table(
    session: &Session,
    schema: &str,
    table: &str,
    now: Timestamp,
    reclaimed: &mut ReclaimReport,
) -> Outcome<()> {
    let bound = retention::first_id(now.minus(SETTLED_AFTER)).0;
    for _ in 0..DROPPED_MAX {
        if !detach_one(session, schema, table, bound).await? {
            break;
        }
        reclaimed.more = true;
    }
    for name in detached(session, table).await? {
        if drop_one(session, schema, &name, reclaimed).await? {
            reclaimed.tables.push(name);
        }
    }
    Ok(())
}

/// Takes the oldest partition that no execution needs out of the table. `false`: there is none.
async fn detach_one(session: &Session, schema: &str, table: &str, bound: Uuid) -> Outcome<bool> {
    if !partitions::begin(session, schema, DETACH_PATIENCE).await? {
        session.roll_back().await?;
        return Ok(false);
    }
    for Partition { name, range } in partitions::attached(session, table).await? {
        if range.to <= bound && !has_any(session, range).await? {
            session.script(&range.write(DETACH, table, &name)).await?;
            session.commit().await?;
            return Ok(true);
        }
    }
    session.roll_back().await?;
    Ok(false)
}

async fn detached(session: &Session, table: &str) -> Outcome<Vec<String>> {
    let rows = session.alone(&sql::PARTITIONS_DETACHED, &[&table]).await?;
    rows.iter().map(|row| Reader::new(row).text()).collect()
}

/// In a transaction of its own: files of a large table take their time, and no commit has to wait for it.
async fn drop_one(
    session: &Session,
    schema: &str,
    name: &str,
    reclaimed: &mut ReclaimReport,
) -> Outcome<bool> {
    if !partitions::begin(session, schema, DROP_PATIENCE).await? {
        session.roll_back().await?;
        return Ok(false);
    }
    if is_needed(session, name).await? {
        session.roll_back().await?;
        tracing::error!(
            table = name,
            "a detached partition belongs to executions that are there"
        );
        return Ok(false);
    }
    let rows = session.rows(&sql::TABLE_BYTES, &[&name]).await?;
    let bytes = rows.first().map_or(Ok(0), |row| Reader::new(row).count())?;
    session.script(&DROP.replace("{name}", name)).await?;
    session.commit().await?;
    reclaimed.bytes += bytes;
    Ok(true)
}

/// Does an execution still have history in this table? Never, unless an operator has detached it.
async fn is_needed(session: &Session, name: &str) -> Outcome<bool> {
    let rows = session.rows_of(&ENDS.replace("{name}", name)).await?;
    let Some(row) = rows.first() else {
        return Ok(true);
    };
    let (first, last): (Option<Uuid>, Option<Uuid>) = (row.try_get(0)?, row.try_get(1)?);
    match first.zip(last) {
        None => Ok(false),
        Some((from, last)) => {
            let to = Uuid::from_u128(last.as_u128().saturating_add(1));
            has_any(session, Range { from, to }).await
        }
    }
}
