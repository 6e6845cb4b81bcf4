//! Statements about many executions: what is asked, the way along an index, and the filter, put together of pieces, because
//! each of them can be combined with each other. The parameters have the same numbers everywhere:
//!
//! 1 before, 2 statuses, 3 schema, 4 tenant, 5 and 6 created after and before, 7 and 8 text, 9 not retried, 10 and 11 label,
//! 12 creator, 13 version, 14 node, 15 error code, 16 retry of, 17 forked from, 18 finished since, 19 and 20 longer than and now,
//! 21 ids, 22 and 23 the ids of its time, 24 trial, 25 limit, 26 group.

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{Along, ExecutionFilter};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::queries::integer;
use crate::sql::Sql;
use crate::value::{Text, Time};

macro_rules! piece {
    ($name:literal) => {
        include_str!(concat!("../sql/pieces/", $name, ".sql"))
    };
}

/// One statement for each way.
pub(crate) struct Statements {
    all: Sql,
    schema: Sql,
    status: Sql,
    ids: Sql,
    retries: Sql,
    forks: Sql,
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

macro_rules! statements {
    ($what:literal, $one:ident, $statuses:expr) => {
        Statements {
            all: Sql::new(concat!($what, "_all"), $one!("along_all")),
            schema: Sql::new(concat!($what, "_by_schema"), $one!("along_schema")),
            status: Sql::new(concat!($what, "_by_status"), $statuses),
            ids: Sql::new(concat!($what, "_by_ids"), $one!("along_ids")),
            retries: Sql::new(concat!($what, "_retries"), $one!("along_retries")),
            forks: Sql::new(concat!($what, "_forks"), $one!("along_forks")),
        }
    };
}

pub(crate) static LIST: Statements = statements!(
    "list",
    list,
    concat!(
        piece!("list_statuses_head"),
        piece!("along_status"),
        piece!("and"),
        piece!("filter"),
        piece!("list_statuses_tail")
    )
);

pub(crate) static COUNT: Statements = statements!(
    "count",
    count,
    concat!(
        piece!("count_statuses_head"),
        piece!("along_status"),
        piece!("and"),
        piece!("filter"),
        piece!("count_statuses_tail")
    )
);

pub(crate) static TALLY: Statements = statements!(
    "tally",
    tally,
    concat!(
        piece!("tally_statuses_head"),
        piece!("filter"),
        piece!("tally_key"),
        piece!("along_status"),
        piece!("tally_tail")
    )
);

/// Errors are looked for along statuses only.
pub(crate) static ERRORS: Sql = Sql::new(
    "errors_by_status",
    concat!(
        piece!("errors_head"),
        piece!("filter"),
        piece!("errors_key"),
        piece!("along_status"),
        piece!("errors_tail")
    ),
);

/// All that are put together here.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    let each = [&LIST, &COUNT, &TALLY]
        .into_iter()
        .flat_map(Statements::all);
    each.chain([&ERRORS])
}

impl Statements {
    pub(crate) fn along(&'static self, way: &Along) -> &'static Sql {
        match way {
            Along::Ids => &self.ids,
            Along::Retries => &self.retries,
            Along::Forks => &self.forks,
            Along::Statuses(_) => &self.status,
            Along::Schema => &self.schema,
            Along::Newest => &self.all,
        }
    }

    fn all(&'static self) -> [&'static Sql; 6] {
        let Self {
            all,
            schema,
            status,
            ids,
            retries,
            forks,
        } = self;
        [all, schema, status, ids, retries, forks]
    }
}

/// The parameters 1 to 24, which all of them have in common.
pub(crate) struct Values<'a> {
    before: Uuid,
    statuses: Option<Vec<i16>>,
    schema_id: Option<Uuid>,
    tenant: Option<Text<'a>>,
    created_after: Option<Time>,
    created_before: Option<Time>,
    text: Option<Text<'a>>,
    part_of_id: Option<String>,
    not_retried: bool,
    label: Option<Text<'a>>,
    label_value: Option<Text<'a>>,
    created_by: Option<Text<'a>>,
    version: Option<i32>,
    node: Option<Text<'a>>,
    error_code: Option<Text<'a>>,
    retry_of: Option<Uuid>,
    forked_from: Option<Uuid>,
    finished_since: Option<Time>,
    longer_than: Option<i64>,
    now: Option<Time>,
    ids: Option<Vec<Uuid>>,
    first: Uuid,
    last: Uuid,
    trial: Option<bool>,
}

impl<'a> Values<'a> {
    pub(crate) fn of(filter: &'a ExecutionFilter, before: Option<ExecutionId>) -> Self {
        let text = |field: &'a Option<String>| field.as_deref().map(Text::new);
        let label = filter.label.as_ref();
        let longer = filter.longer_than;
        let micros =
            longer.map(|longer| u64::try_from(longer.than.as_micros()).unwrap_or(u64::MAX));
        let ids = filter.ids.as_ref();
        let (first, last) = filter.id_range();
        Self {
            before: before.map_or(Uuid::max(), |id| id.0),
            statuses: (!filter.statuses.is_empty()).then(|| codes(&filter.statuses)),
            schema_id: filter.schema_id.map(|id| id.0),
            tenant: text(&filter.tenant),
            created_after: filter.created_after.map(Time),
            created_before: filter.created_before.map(Time),
            text: text(&filter.text),
            part_of_id: filter.text.as_deref().and_then(part_of_id),
            not_retried: filter.not_retried,
            label: label.map(|(name, _)| Text::new(name)),
            label_value: label.map(|(_, value)| Text::new(value)),
            created_by: text(&filter.created_by),
            version: filter
                .version
                .map(|one| i32::try_from(one).unwrap_or(i32::MAX)),
            node: text(&filter.node),
            error_code: text(&filter.error_code),
            retry_of: filter.retry_of.map(|id| id.0),
            forked_from: filter.forked_from.map(|id| id.0),
            finished_since: filter.finished_since.map(Time),
            longer_than: micros.map(integer),
            now: longer.map(|longer| Time(longer.now)),
            ids: ids.map(|ids| ids.iter().map(|id| id.0).collect()),
            first,
            last,
            trial: filter.trial,
        }
    }

    pub(crate) fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        vec![
            &self.before,
            &self.statuses,
            &self.schema_id,
            &self.tenant,
            &self.created_after,
            &self.created_before,
            &self.text,
            &self.part_of_id,
            &self.not_retried,
            &self.label,
            &self.label_value,
            &self.created_by,
            &self.version,
            &self.node,
            &self.error_code,
            &self.retry_of,
            &self.forked_from,
            &self.finished_since,
            &self.longer_than,
            &self.now,
            &self.ids,
            &self.first,
            &self.last,
            &self.trial,
        ]
    }
}

/// Each once: every one of them is a way.
pub(crate) fn codes(statuses: &[Status]) -> Vec<i16> {
    let mut codes: Vec<i16> = statuses.iter().map(|one| one.code() as i16).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The hexadecimal digits of a text that could be a part of an id.
fn part_of_id(text: &str) -> Option<String> {
    let digits = text.replace('-', "").to_lowercase();
    let is_part = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    is_part.then_some(digits)
}

#[cfg(test)]
mod tests {
    use tokio_postgres::types::Type;

    use super::*;

    #[test]
    fn every_parameter_is_cast_to_a_known_type() {
        for sql in all() {
            let unknown = sql.kinds().iter().position(|kind| *kind == Type::UNKNOWN);
            assert_eq!(unknown, None, "{}: a parameter without a cast", sql.name);
        }
    }
}
