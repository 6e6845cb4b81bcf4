//! Counts and statistics.

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::overview::{
    ErrorGroup, ErrorTally, GroupBy, Look, OverviewStore, RunSample, Tally,
};
use pawl_kernel::ports::store::{Along, StoreResult};

use super::ModelStore;
use super::query::{error_code, matches};
use super::tables::{Row, Tables};

#[async_trait]
impl OverviewStore for ModelStore {
    async fn tally(&self, looks: Vec<Look>, group: GroupBy, limit: u32) -> StoreResult<Vec<Tally>> {
        let tables = self.lock();
        let one = |look: &Look| {
            let rows = looked_at(&tables, look, limit);
            let mut tally = Tally {
                looked_at: rows.len() as u64,
                ..Tally::default()
            };
            for row in rows.iter().filter(|row| matches(&look.filter, row)) {
                *tally.groups.entry(key(group, row)).or_default() += 1;
            }
            tally
        };
        Ok(looks.iter().map(one).collect())
    }

    async fn tally_errors(&self, look: Look, limit: u32) -> StoreResult<ErrorTally> {
        let tables = self.lock();
        let rows = looked_at(&tables, &look, limit);
        let fitting = rows.iter().filter(|row| matches(&look.filter, row));
        let each = fitting.filter_map(|row| {
            Some(ErrorGroup {
                code: error_code(row)?,
                schema_id: row.execution.head.schema_id,
                node_id: row.state.position.node_id.to_string(),
                count: 1,
                unresolved: u64::from(row.execution.record.retried_as.is_none()),
                last: row.execution.head.id,
            })
        });
        Ok(ErrorTally {
            groups: each.collect(),
            looked_at: rows.len() as u64,
        })
    }

    async fn samples(
        &self,
        ranges: Vec<(Uuid, Uuid)>,
        schema_id: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>> {
        let tables = self.lock();
        let wanted = |row: &&Row| schema_id.is_none_or(|id| id == row.execution.head.schema_id);
        let one = |(from, to): &(Uuid, Uuid)| {
            let within = |row: &&Row| (*from..*to).contains(&row.execution.head.id.0);
            let rows = tables.rows.values().filter(wanted).filter(within);
            let rows = rows.filter(|row| !row.execution.record.trial);
            rows.map(sample).take(limit as usize).collect()
        };
        Ok(ranges.iter().map(one).collect())
    }

    async fn newest_of(
        &self,
        schemas: Vec<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>> {
        let tables = self.lock();
        let one = |id: &SchemaId| {
            let rows = tables.rows.values().rev();
            let rows = rows.filter(|row| row.execution.head.schema_id == *id);
            let rows = rows.filter(|row| !row.execution.record.trial);
            rows.map(sample).take(limit as usize).collect()
        };
        Ok(schemas.iter().map(one).collect())
    }
}

/// The newest rows along the way, whether they fit or not.
fn looked_at<'a>(tables: &'a Tables, look: &Look, limit: u32) -> Vec<&'a Row> {
    let filter = &look.filter;
    let newest = |is_on_way: &dyn Fn(&Row) -> bool| -> Vec<&'a Row> {
        let (first, last) = filter.id_range();
        let in_time = |row: &&Row| (first..=last).contains(&row.execution.head.id.0);
        let rows = tables.rows.values().rev().filter(in_time);
        let rows = rows.filter(|row| is_on_way(row));
        rows.take(limit as usize).collect()
    };
    let record = |row: &Row| row.execution.record.clone();
    match &look.along {
        Along::Newest => newest(&|_| true),
        Along::Schema => newest(&|row| Some(row.execution.head.schema_id) == filter.schema_id),
        Along::Ids => newest(&|row| {
            let ids = filter.ids.as_ref();
            ids.is_some_and(|ids| ids.contains(&row.execution.head.id))
        }),
        Along::Retries => newest(&|row| record(row).retry_of == filter.retry_of),
        Along::Forks => newest(&|row| record(row).forked_from == filter.forked_from),
        Along::Statuses(statuses) => {
            let each = statuses.iter();
            each.flat_map(|status| newest(&|row| row.execution.head.status == *status))
                .collect()
        }
    }
}

fn key(group: GroupBy, row: &Row) -> String {
    match group {
        GroupBy::Status => row.execution.head.status.code().to_string(),
        GroupBy::Node => row.state.position.node_id.to_string(),
        GroupBy::Schema => row.execution.head.schema_id.to_string(),
    }
}

fn sample(row: &Row) -> RunSample {
    let head = &row.execution.head;
    RunSample {
        id: head.id,
        status: head.status,
        created_at: head.created_at,
        finished_at: head.finished_at,
    }
}
