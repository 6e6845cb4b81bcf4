//! Removing what ended long ago, and giving its pages back to the disk.

use async_trait::async_trait;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::retention::{
    Cutoff, OutdatedPage, OutdatedRequest, ReclaimReport, RemovalReport, RemoveRequest,
    RetentionStore,
};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};

use crate::fault::JobResult;
use crate::{SqliteStore, connection, rows, sql};

/// Pages given back in one transaction, for which every other write waits.
const PAGES_AT_ONCE: u32 = 256;
/// Transactions of one call.
const STEPS_MAX: u32 = 32;

#[async_trait]
impl RetentionStore for SqliteStore {
    async fn published_versions(
        &self,
        after: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<(SchemaId, u32)>> {
        let after = after.map_or(uuid::Uuid::nil(), |id| id.0);
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::PUBLISHED_VERSIONS)?;
                let found = statement.query_map(params![after.as_bytes(), limit], |row| {
                    Ok((SchemaId(rows::uuid(row, 0)?), row.get(1)?))
                })?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn outdated(&self, request: OutdatedRequest) -> StoreResult<OutdatedPage> {
        self.readers
            .run(move |connection| outdated(connection, &request))
            .await
    }

    async fn remove(&self, request: RemoveRequest) -> StoreResult<RemovalReport> {
        self.writer
            .run(move |connection| {
                let mut removed = RemovalReport::default();
                for id in &request.ids {
                    removed += remove(connection, *id, &request.cutoff)?;
                }
                Ok(removed)
            })
            .await
    }

    async fn outdated_actions(
        &self,
        finished_before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<String>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::ACTIONS_OUTDATED)?;
                let values = params![finished_before.as_micros(), limit];
                let found = statement.query_map(values, |row| row.get(0))?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn remove_actions(
        &self,
        ids: Vec<String>,
        finished_before: Timestamp,
    ) -> StoreResult<RemovalReport> {
        self.writer
            .run(move |connection| {
                let mut removed = RemovalReport::default();
                for id in &ids {
                    removed += remove_action(connection, id, finished_before)?;
                }
                Ok(removed)
            })
            .await
    }

    async fn reclaim(&self, _now: Timestamp) -> StoreResult<ReclaimReport> {
        let mut reclaimed = ReclaimReport::default();
        for _ in 0..STEPS_MAX {
            let step = self.writer.run(|connection| give_back(connection));
            let (bytes, left) = step.await?;
            reclaimed.bytes += bytes;
            reclaimed.more = bytes > 0 && left > 0;
            if !reclaimed.more {
                break;
            }
        }
        Ok(reclaimed)
    }

    /// The writer keeps itself tidy.
    async fn maintain(&self, _now: Timestamp) -> StoreResult<()> {
        Ok(())
    }
}

fn outdated(connection: &Connection, request: &OutdatedRequest) -> JobResult<OutdatedPage> {
    let after = request.after.map_or(uuid::Uuid::nil(), |id| id.0);
    let (cutoff, before) = (&request.cutoff, request.cutoff.first_id_kept());
    let mut statement = connection.prepare_cached(sql::EXECUTIONS_OUTDATED)?;
    let values = params![
        request.schema_id.0.as_bytes(),
        after.as_bytes(),
        before.0.as_bytes(),
        cutoff.ended_before.as_micros(),
        cutoff.keyed_ended_before.as_micros(),
        request.limit
    ];
    let page = statement.query_map(values, |row| {
        Ok((ExecutionId(rows::uuid(row, 0)?), row.get::<_, bool>(1)?))
    })?;
    let page: Vec<(ExecutionId, bool)> = page.collect::<Result<_, _>>()?;
    let full = page.len() == request.limit as usize;
    Ok(OutdatedPage {
        next: page.last().map(|(id, _)| *id).filter(|_| full),
        ids: page
            .into_iter()
            .filter_map(|(id, may_go)| may_go.then_some(id))
            .collect(),
    })
}

fn remove(connection: &Connection, id: ExecutionId, cutoff: &Cutoff) -> JobResult<RemovalReport> {
    let gone = connection
        .prepare_cached(sql::EXECUTION_REMOVE)?
        .execute(params![
            id.0.as_bytes(),
            cutoff.first_id_kept().0.as_bytes(),
            cutoff.ended_before.as_micros(),
            cutoff.keyed_ended_before.as_micros()
        ])?;
    if gone == 0 {
        return Ok(RemovalReport::default());
    }
    let rows_of = |text: &str| -> JobResult<u64> {
        let deleted = connection
            .prepare_cached(text)?
            .execute([id.0.as_bytes()])?;
        Ok(deleted as u64)
    };
    rows_of(sql::STATE_REMOVE)?;
    rows_of(sql::NOTES_REMOVE)?;
    Ok(RemovalReport {
        executions: 1,
        history: rows_of(sql::STEPS_REMOVE)?
            + rows_of(sql::SNAPSHOTS_REMOVE)?
            + rows_of(sql::LOGS_REMOVE)?,
        signals: rows_of(sql::SIGNALS_REMOVE)?,
        dead_letters: rows_of(sql::DEAD_LETTERS_REMOVE)?,
        ..RemovalReport::default()
    })
}

fn remove_action(connection: &Connection, id: &str, before: Timestamp) -> JobResult<RemovalReport> {
    let gone = connection
        .prepare_cached(sql::ACTION_REMOVE)?
        .execute(params![id, before.as_micros()])?;
    if gone == 0 {
        return Ok(RemovalReport::default());
    }
    let attempts = connection
        .prepare_cached(sql::ATTEMPTS_REMOVE)?
        .execute([id])?;
    Ok(RemovalReport {
        actions: 1,
        history: attempts as u64,
        ..RemovalReport::default()
    })
}

/// Returns the bytes given back, and the free pages that are left.
fn give_back(connection: &Connection) -> JobResult<(u64, u64)> {
    let before = connection::free_pages(connection)?;
    if before == 0 {
        return Ok((0, 0));
    }
    connection::vacuum_step(connection, PAGES_AT_ONCE)?;
    let left = connection::free_pages(connection)?;
    let bytes = before.saturating_sub(left) * connection::page_bytes(connection)?;
    Ok((bytes, left))
}
