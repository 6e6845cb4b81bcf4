//! Statements about many executions: what is asked, the way along an index, and the filter, put together of pieces, because
//! each of them can be combined with each other. The parameters have the same numbers everywhere:
//!
//! 1 before, 2 statuses, 3 schema, 4 tenant, 5 and 6 created after and before, 7 and 8 text, 9 limit, 10 the status of the way,
//! 11 not retried, 12 and 13 label, 14 creator, 15 version, 16 node, 17 error code, 18 retry of, 19 forked from, 20 finished
//! since, 21 and 22 longer than and now, 23 ids, 24 trial, 25 and 26 the ids of its time, 27 group.

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{Along, ExecutionFilter};
use pawl_kernel::time::Timestamp;
use rusqlite::{CachedStatement, Connection, ToSql};
use uuid::Uuid;

use crate::rows::integer;

macro_rules! piece {
    ($name:literal) => {
        include_str!(concat!("../sql/pieces/", $name, ".sql"))
    };
}

/// One statement for each way.
pub(crate) struct Statements {
    all: &'static str,
    schema: &'static str,
    status: &'static str,
    ids: &'static str,
    retries: &'static str,
    forks: &'static str,
}

macro_rules! along_each {
    ($one:ident) => {
        Statements {
            all: $one!("along_all"),
            schema: $one!("along_schema"),
            status: $one!("along_status"),
            ids: $one!("along_ids"),
            retries: $one!("along_retries"),
            forks: $one!("along_forks"),
        }
    };
}

macro_rules! list {
    ($along:literal) => {
        concat!(
            piece!("list_head"),
            piece!($along),
            piece!("and"),
            piece!("filter"),
            piece!("list_tail")
        )
    };
}

macro_rules! count {
    ($along:literal) => {
        concat!(
            piece!("count_head"),
            piece!($along),
            piece!("and"),
            piece!("filter")
        )
    };
}

macro_rules! tally {
    ($along:literal) => {
        concat!(
            piece!("tally_head"),
            piece!("filter"),
            piece!("tally_key"),
            piece!($along),
            piece!("tally_tail")
        )
    };
}

macro_rules! errors {
    ($along:literal) => {
        concat!(
            piece!("errors_head"),
            piece!("filter"),
            piece!("errors_key"),
            piece!($along),
            piece!("errors_tail")
        )
    };
}

pub(crate) const LIST: Statements = along_each!(list);
pub(crate) const COUNT: Statements = along_each!(count);
pub(crate) const TALLY: Statements = along_each!(tally);
pub(crate) const ERRORS: Statements = along_each!(errors);

impl Statements {
    /// The statements that a way takes: along statuses, the same once for each.
    pub(crate) fn along(&self, way: &Along) -> Vec<(&'static str, Option<Status>)> {
        match way {
            Along::Ids => vec![(self.ids, None)],
            Along::Retries => vec![(self.retries, None)],
            Along::Forks => vec![(self.forks, None)],
            Along::Schema => vec![(self.schema, None)],
            Along::Newest => vec![(self.all, None)],
            Along::Statuses(statuses) => {
                let one = |status: &Status| (self.status, Some(*status));
                statuses.iter().map(one).collect()
            }
        }
    }
}

/// What a statement gets besides the filter.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extra {
    pub(crate) before: Option<ExecutionId>,
    pub(crate) limit: Option<u32>,
    pub(crate) status: Option<Status>,
    pub(crate) group: Option<i64>,
}

pub(crate) fn prepare<'a>(
    connection: &'a Connection,
    text: &str,
    filter: &ExecutionFilter,
    extra: Extra,
) -> rusqlite::Result<CachedStatement<'a>> {
    let mut statement = Parameters(connection.prepare_cached(text)?);
    let before = extra.before.map_or(Uuid::max(), |id| id.0);
    statement.put(1, before.as_bytes())?;
    statement.put_if(9, extra.limit)?;
    statement.put_if(10, extra.status.map(Status::code))?;
    statement.put_if(27, extra.group)?;
    plain_fields(&mut statement, filter)?;
    related_fields(&mut statement, filter)?;
    Ok(statement.0)
}

struct Parameters<'a>(CachedStatement<'a>);

impl Parameters<'_> {
    fn put(&mut self, number: usize, value: impl ToSql) -> rusqlite::Result<()> {
        self.0.raw_bind_parameter(number, value)
    }

    /// A statement that has no such parameter is not given one.
    fn put_if(&mut self, number: usize, value: Option<impl ToSql>) -> rusqlite::Result<()> {
        match value {
            Some(value) => self.put(number, value),
            None => Ok(()),
        }
    }
}

fn plain_fields(statement: &mut Parameters<'_>, filter: &ExecutionFilter) -> rusqlite::Result<()> {
    let statuses = filter.statuses.iter();
    let mask = statuses.fold(0_i64, |mask, status| mask | 1 << status.code());
    let (first, last) = filter.id_range();
    statement.put(2, mask)?;
    statement.put(3, filter.schema_id.as_ref().map(|id| id.0.as_bytes()))?;
    statement.put(4, &filter.tenant)?;
    statement.put(5, filter.created_after.map(Timestamp::as_micros))?;
    statement.put(6, filter.created_before.map(Timestamp::as_micros))?;
    statement.put(7, &filter.text)?;
    statement.put(8, filter.text.as_deref().and_then(part_of_id))?;
    statement.put(11, filter.not_retried)?;
    statement.put(24, filter.trial)?;
    statement.put(14, &filter.created_by)?;
    statement.put(15, filter.version)?;
    statement.put(25, first.as_bytes())?;
    statement.put(26, last.as_bytes())
}

fn related_fields(
    statement: &mut Parameters<'_>,
    filter: &ExecutionFilter,
) -> rusqlite::Result<()> {
    let label = filter.label.as_ref();
    statement.put(12, label.map(|(name, _)| name))?;
    statement.put(13, label.map(|(_, value)| value))?;
    statement.put(16, &filter.node)?;
    statement.put(17, &filter.error_code)?;
    statement.put(18, filter.retry_of.as_ref().map(|id| id.0.as_bytes()))?;
    statement.put(19, filter.forked_from.as_ref().map(|id| id.0.as_bytes()))?;
    statement.put(20, filter.finished_since.map(Timestamp::as_micros))?;
    let longer = filter.longer_than;
    let micros = longer.map(|longer| u64::try_from(longer.than.as_micros()).unwrap_or(u64::MAX));
    statement.put(21, micros.map(integer))?;
    statement.put(22, longer.map(|longer| longer.now.as_micros()))?;
    let ids = filter.ids.as_ref().filter(|_| filter.along() == Along::Ids);
    let list = ids.map(|ids| serde_json::json!(hex_of(ids)).to_string());
    statement.put_if(23, list)
}

fn hex_of(ids: &[ExecutionId]) -> Vec<String> {
    let mut ids: Vec<String> = ids.iter().map(|id| id.0.simple().to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The hexadecimal digits of a text that could be a part of an id.
fn part_of_id(text: &str) -> Option<String> {
    let digits = text.replace('-', "").to_uppercase();
    let is_part = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    is_part.then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{migrations, sql};

    impl Statements {
        fn texts(&self) -> [(&'static str, &'static str); 6] {
            [
                ("all", self.all),
                ("schema", self.schema),
                ("status", self.status),
                ("ids", self.ids),
                ("retries", self.retries),
                ("forks", self.forks),
            ]
        }
    }

    fn plan(connection: &Connection, text: &str) -> Vec<String> {
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {text}"))
            .unwrap();
        let mut rows = statement.raw_query();
        let mut plan = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            plan.push(row.get::<_, String>(3).unwrap());
        }
        plan
    }

    /// Each way is a search in the index that it is named after, in its order: nothing is sorted, nothing read whole.
    #[test]
    fn no_statement_reads_the_whole_history() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::apply(&mut connection).unwrap();
        for (what, statements) in [
            ("list", LIST),
            ("count", COUNT),
            ("tally", TALLY),
            ("errors", ERRORS),
        ] {
            for (way, text) in statements.texts() {
                let plan = plan(&connection, text);
                let index = match way {
                    "all" | "ids" => "SEARCH e USING PRIMARY KEY (id",
                    "schema" => "SEARCH e USING INDEX executions_by_schema (schema_id=? AND id",
                    "status" => "SEARCH e USING INDEX executions_by_status (status=? AND id",
                    "retries" => "SEARCH e USING INDEX executions_by_origin (retry_of=? AND id",
                    _ => "SEARCH e USING INDEX executions_by_fork (forked_from=? AND id",
                };
                assert!(
                    plan.iter().any(|line| line.starts_with(index)),
                    "{what} {way}: {plan:?}"
                );
                assert!(
                    !plan.iter().any(|line| line.starts_with("SCAN e")),
                    "{what} {way}: {plan:?}"
                );
                let sorts = |line: &String| line.contains("FOR ORDER BY");
                assert!(
                    way == "ids" || !plan.iter().any(sorts),
                    "{what} {way}: {plan:?}"
                );
            }
        }
        for (text, index) in [
            (sql::TALLY_STATUSES, "COVERING INDEX executions_by_status"),
            (sql::SAMPLES_ALL, "PRIMARY KEY (id"),
            (
                sql::SAMPLES_BY_SCHEMA,
                "INDEX executions_by_schema (schema_id=? AND id",
            ),
            (
                sql::NEWEST_OF_SCHEMA,
                "INDEX executions_by_schema (schema_id=?",
            ),
            (
                sql::ACTIONS_DUE,
                "INDEX scheduled_actions_due ((scheduled_at,id)>(?,?) AND scheduled_at<?",
            ),
            (
                sql::ACTIONS_NOT_DUE,
                "INDEX scheduled_actions_due (scheduled_at=? AND id>?)",
            ),
            (sql::LETTERS_OPEN_OLDEST, "INDEX dead_letters_open (id>?"),
            (sql::LETTERS_OPEN_NEWEST, "INDEX dead_letters_open (id>?"),
            (sql::LETTERS_OPEN_COUNT, "INDEX dead_letters_open (id<?"),
            (sql::LETTERS_OPEN_END_UP, "INDEX dead_letters_open (id>?"),
            (sql::LETTERS_OPEN_END_DOWN, "INDEX dead_letters_open (id<?"),
            (sql::LETTERS_OLDEST, "INTEGER PRIMARY KEY (rowid>?"),
            (sql::LETTERS_NAMED, "INTEGER PRIMARY KEY (rowid=?"),
            (sql::WEBHOOKS_OF_SCHEMA, "PRIMARY KEY (schema_id=?"),
        ] {
            let plan = plan(&connection, text);
            let found = |line: &String| line.starts_with("SEARCH") && line.contains(index);
            assert!(plan.iter().any(found), "{plan:?}");
            assert!(
                !plan.iter().any(|line| line.contains("FOR ORDER BY")),
                "{plan:?}"
            );
        }
    }
}
