//! Counts and statistics: every look ends after so many rows of an index.

use async_trait::async_trait;
use pawl_kernel::execution::Status;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::overview::{
    ErrorGroup, ErrorTally, GroupBy, Look, OverviewStore, RunSample, Tally,
};
use pawl_kernel::ports::store::{Along, StoreResult};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::deadline::StatementDeadline;
use crate::fault::{Fault, JobResult};
use crate::lists::{self, Extra};
use crate::rows;
use crate::{SqliteStore, sql};

#[async_trait]
impl OverviewStore for SqliteStore {
    async fn tally(&self, looks: Vec<Look>, group: GroupBy, limit: u32) -> StoreResult<Vec<Tally>> {
        self.readers
            .run_at_once(move |connection| {
                let one = |look: &Look| tally(connection, look, group, limit);
                looks.iter().map(one).collect()
            })
            .await
    }

    async fn tally_errors(&self, look: Look, limit: u32) -> StoreResult<ErrorTally> {
        self.readers
            .run_at_once(move |connection| tally_errors(connection, &look, limit))
            .await
    }

    async fn samples(
        &self,
        ranges: Vec<(Uuid, Uuid)>,
        schema_id: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>> {
        self.readers
            .run_at_once(move |connection| {
                let one = |range: &(Uuid, Uuid)| samples(connection, *range, schema_id, limit);
                ranges.iter().map(one).collect()
            })
            .await
    }

    async fn newest_of(
        &self,
        schemas: Vec<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>> {
        self.readers
            .run_at_once(move |connection| {
                let one = |id: &SchemaId| newest_of(connection, *id, limit);
                schemas.iter().map(one).collect()
            })
            .await
    }
}

fn tally(connection: &Connection, look: &Look, group: GroupBy, limit: u32) -> JobResult<Tally> {
    if let (GroupBy::Status, Along::Statuses(statuses)) = (group, &look.along)
        && look.filter.is_by_status_alone()
    {
        return tally_statuses(connection, statuses, look.filter.trial, limit);
    }
    let mut tally = Tally::default();
    for (text, status) in lists::TALLY.along(&look.along) {
        let extra = Extra {
            limit: Some(limit),
            status,
            group: Some(group.code()),
            ..Extra::default()
        };
        let mut statement = lists::prepare(connection, text, &look.filter, extra)?;
        let _deadline = StatementDeadline::begin();
        let mut found = statement.raw_query();
        while let Some(row) = found.next()? {
            let count = rows::count(row, 1)?;
            tally.looked_at += count;
            if let Some(key) = row.get::<_, Option<String>>(0)? {
                *tally.groups.entry(key_of(group, key)?).or_default() += count;
            }
        }
    }
    Ok(tally)
}

fn key_of(group: GroupBy, key: String) -> JobResult<String> {
    match group {
        GroupBy::Schema => Uuid::try_parse(&key)
            .map(|id| id.to_string())
            .map_err(|_| Fault::Corrupt(format!("`{key}` is no id of a schema"))),
        GroupBy::Status | GroupBy::Node => Ok(key),
    }
}

/// The index alone knows.
fn tally_statuses(
    connection: &Connection,
    statuses: &[Status],
    trial: Option<bool>,
    limit: u32,
) -> JobResult<Tally> {
    let mut tally = Tally::default();
    for status in statuses {
        let count = connection
            .prepare_cached(sql::TALLY_STATUSES)?
            .query_row(params![status.code(), limit, trial], |row| {
                rows::count(row, 0)
            })?;
        tally.looked_at += count;
        if count > 0 {
            tally.groups.insert(status.code().to_string(), count);
        }
    }
    Ok(tally)
}

fn tally_errors(connection: &Connection, look: &Look, limit: u32) -> JobResult<ErrorTally> {
    let mut tally = ErrorTally::default();
    for (text, status) in lists::ERRORS.along(&look.along) {
        let extra = Extra {
            limit: Some(limit),
            status,
            ..Extra::default()
        };
        let mut statement = lists::prepare(connection, text, &look.filter, extra)?;
        let _deadline = StatementDeadline::begin();
        let mut found = statement.raw_query();
        while let Some(row) = found.next()? {
            let count = rows::count(row, 3)?;
            tally.looked_at += count;
            if let Some(code) = row.get::<_, Option<String>>(0)? {
                tally.groups.push(error_group(row, code, count)?);
            }
        }
    }
    Ok(tally)
}

fn error_group(row: &Row<'_>, code: String, count: u64) -> JobResult<ErrorGroup> {
    Ok(ErrorGroup {
        code,
        schema_id: SchemaId(rows::uuid(row, 1)?),
        node_id: row.get(2)?,
        count,
        unresolved: rows::count(row, 4)?,
        last: ExecutionId(rows::uuid(row, 5)?),
    })
}

fn samples(
    connection: &Connection,
    (from, to): (Uuid, Uuid),
    schema_id: Option<SchemaId>,
    limit: u32,
) -> JobResult<Vec<RunSample>> {
    let _deadline = StatementDeadline::begin();
    let found = match schema_id {
        None => connection
            .prepare_cached(sql::SAMPLES_ALL)?
            .query_map(params![from.as_bytes(), to.as_bytes(), limit], sample)?
            .collect::<Result<_, _>>(),
        Some(id) => connection
            .prepare_cached(sql::SAMPLES_BY_SCHEMA)?
            .query_map(
                params![from.as_bytes(), to.as_bytes(), limit, id.0.as_bytes()],
                sample,
            )?
            .collect::<Result<_, _>>(),
    };
    Ok(found?)
}

fn newest_of(connection: &Connection, id: SchemaId, limit: u32) -> JobResult<Vec<RunSample>> {
    let mut statement = connection.prepare_cached(sql::NEWEST_OF_SCHEMA)?;
    let found = statement.query_map(params![id.0.as_bytes(), limit], sample)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn sample(row: &Row<'_>) -> rusqlite::Result<RunSample> {
    Ok(RunSample {
        id: ExecutionId(rows::uuid(row, 0)?),
        status: rows::coded(row, 1, Status::from_code)?,
        created_at: rows::time(row, 2)?,
        finished_at: rows::optional_time(row, 3)?,
    })
}
