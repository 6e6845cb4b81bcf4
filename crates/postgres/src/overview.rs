//! Counts and statistics: every look ends after so many rows of an index.

use async_trait::async_trait;
use pawl_kernel::execution::Status;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::overview::{
    ErrorGroup, ErrorTally, GroupBy, Look, OverviewStore, RunSample, Tally,
};
use pawl_kernel::ports::store::{Along, StoreResult};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::lists::{self, Values};
use crate::rows::Reader;
use crate::session::{Params, Session};
use crate::{PostgresStore, sql};

#[async_trait]
impl OverviewStore for PostgresStore {
    async fn tally(&self, looks: Vec<Look>, group: GroupBy, limit: u32) -> StoreResult<Vec<Tally>> {
        let done = self.readers.run(move |session| async move {
            let mut tallies = Vec::with_capacity(looks.len());
            for look in &looks {
                tallies.push(tally(&session, look, group, limit).await?);
            }
            Ok(tallies)
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn tally_errors(&self, look: Look, limit: u32) -> StoreResult<ErrorTally> {
        let done = self.readers.run(move |session| async move {
            let values = Values::of(&look.filter, None);
            let limit = i64::from(limit);
            let mut params = values.params();
            params.push(&limit);
            let rows = session.alone(&lists::ERRORS, &params).await?;
            errors_of(&rows)
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn samples(
        &self,
        ranges: Vec<(Uuid, Uuid)>,
        schema_id: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>> {
        let done = self.readers.run(move |session| async move {
            let (from, to): (Vec<Uuid>, Vec<Uuid>) = ranges.iter().copied().unzip();
            let limit = i64::from(limit);
            let rows = match schema_id {
                None => {
                    session
                        .alone(&sql::SAMPLES_ALL, &[&from, &to, &limit])
                        .await?
                }
                Some(SchemaId(id)) => {
                    let params: Params<'_> = &[&from, &to, &limit, &id];
                    session.alone(&sql::SAMPLES_BY_SCHEMA, params).await?
                }
            };
            placed(ranges.len(), &rows)
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn newest_of(
        &self,
        schemas: Vec<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>> {
        let done = self.readers.run(move |session| async move {
            let ids: Vec<Uuid> = schemas.iter().map(|id| id.0).collect();
            let limit = i64::from(limit);
            let rows = session
                .alone(&sql::NEWEST_OF_SCHEMAS, &[&ids, &limit])
                .await?;
            placed(ids.len(), &rows)
        });
        done.await.map_err(|fault| fault.of_read())
    }
}

async fn tally(session: &Session, look: &Look, group: GroupBy, limit: u32) -> Outcome<Tally> {
    let limit = i64::from(limit);
    let rows = match (group, &look.along) {
        (GroupBy::Status, Along::Statuses(statuses)) if look.filter.is_by_status_alone() => {
            let codes = lists::codes(statuses);
            session
                .alone(&sql::TALLY_STATUSES, &[&codes, &limit, &look.filter.trial])
                .await?
        }
        _ => {
            let (values, group) = (Values::of(&look.filter, None), group.code());
            let mut params = values.params();
            params.push(&limit);
            params.push(&group);
            session
                .alone(lists::TALLY.along(&look.along), &params)
                .await?
        }
    };
    let mut tally = Tally::default();
    for row in &rows {
        let mut reader = Reader::new(row);
        let (key, count) = (reader.optional_text()?, reader.count()?);
        tally.looked_at += count;
        if let Some(key) = key.filter(|_| count > 0) {
            *tally.groups.entry(key).or_default() += count;
        }
    }
    Ok(tally)
}

fn errors_of(rows: &[Row]) -> Outcome<ErrorTally> {
    let mut tally = ErrorTally::default();
    for row in rows {
        let mut reader = Reader::new(row);
        let (code, schema_id) = (reader.optional_text()?, SchemaId(reader.get()?));
        let (node_id, count) = (reader.text()?, reader.count()?);
        let (unresolved, last) = (reader.count()?, ExecutionId(reader.get()?));
        tally.looked_at += count;
        if let Some(code) = code {
            tally.groups.push(ErrorGroup {
                code,
                schema_id,
                node_id,
                count,
                unresolved,
                last,
            });
        }
    }
    Ok(tally)
}

/// The rows of each place, of which there are so many.
fn placed(places: usize, rows: &[Row]) -> Outcome<Vec<Vec<RunSample>>> {
    let mut all = vec![Vec::new(); places];
    for row in rows {
        let mut reader = Reader::new(row);
        let place = reader.count()? as usize;
        let sample = RunSample {
            id: ExecutionId(reader.get()?),
            status: reader.code(Status::from_code)?,
            created_at: reader.time()?,
            finished_at: reader.optional_time()?,
        };
        let unknown = || Fault::Corrupt(format!("the server answers for a place {place}"));
        let list = place.checked_sub(1).and_then(|at| all.get_mut(at));
        list.ok_or_else(unknown)?.push(sample);
    }
    Ok(all)
}
