//! Counts and statistics that cost the same however long the history is: every look is along an index, newest first, and
//! ends after so many rows. What was cut short says so.

use std::collections::BTreeMap;

use async_trait::async_trait;
use uuid::Uuid;

use super::store::{Along, ExecutionFilter, StoreResult};
use crate::execution::Status;
use crate::id::{ExecutionId, SchemaId};
use crate::time::Timestamp;

/// So many rows are looked at along one way.
pub const LOOK_MAX: u32 = 20_000;

/// Nothing is counted further than this.
pub const COUNT_MAX: u64 = 10_000;

/// So many groups by node or schema are told.
pub const GROUPS_MAX: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    Status = 1,
    /// The node they stand at.
    Node = 2,
    Schema = 3,
}

impl GroupBy {
    pub const ALL: [Self; 3] = [Self::Status, Self::Node, Self::Schema];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Node => "node",
            Self::Schema => "schema",
        }
    }

    /// In a statement.
    pub const fn code(self) -> i64 {
        self as i64
    }
}

/// The newest rows along one way. `along` may be longer than the way that the filter would take.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    pub filter: ExecutionFilter,
    pub along: Along,
}

/// How many rows of a look fit its filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// A status is its code as text, a schema its id.
    pub groups: BTreeMap<String, u64>,
    pub looked_at: u64,
}

/// Ended executions with the same error code at the same node of the same schema.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorGroup {
    pub code: String,
    pub schema_id: SchemaId,
    pub node_id: String,
    pub count: u64,
    /// Of them, how many were not retried.
    pub unresolved: u64,
    /// The newest.
    pub last: ExecutionId,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorTally {
    pub groups: Vec<ErrorGroup>,
    pub looked_at: u64,
}

/// What statistics need of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSample {
    pub id: ExecutionId,
    pub status: Status,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

#[async_trait]
pub trait OverviewStore: Send + Sync {
    /// One answer for each look, which ends after `limit` rows (of each status, along statuses).
    async fn tally(&self, looks: Vec<Look>, group: GroupBy, limit: u32) -> StoreResult<Vec<Tally>>;

    /// The same by error; in no order. Rows without an error only count as looked at.
    async fn tally_errors(&self, look: Look, limit: u32) -> StoreResult<ErrorTally>;

    /// For each range the oldest executions with ids from its first to before its second, of one schema or of all, in
    /// order, at most `limit` of each range; as many answers as ranges.
    async fn samples(
        &self,
        ranges: Vec<(Uuid, Uuid)>,
        schema_id: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>>;

    /// The newest executions of each schema, newest first; as many answers as schemas.
    async fn newest_of(
        &self,
        schemas: Vec<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCount {
    pub key: String,
    /// At most [`COUNT_MAX`].
    pub count: u64,
    /// There may be more.
    pub is_capped: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupCounts {
    /// By status in the order of the statuses, otherwise the largest first.
    pub groups: Vec<GroupCount>,
    /// There may be more, also in groups that are not here.
    pub is_capped: bool,
}

/// How many fit, by group.
pub async fn count_by(
    store: &(impl OverviewStore + ?Sized),
    filter: &ExecutionFilter,
    group: GroupBy,
) -> StoreResult<GroupCounts> {
    if filter.schema_id.is_some() && reads_a_history(filter) {
        let whole = vec![along(filter, Along::Schema)];
        let tallies = store.tally(whole, group, LOOK_MAX).await?;
        if tallies.iter().all(|tally| !is_cut(tally)) {
            return Ok(merged(&tallies, group));
        }
    }
    let tallies = store.tally(looks(filter), group, LOOK_MAX).await?;
    Ok(merged(&tallies, group))
}

fn along(filter: &ExecutionFilter, along: Along) -> Look {
    Look {
        filter: filter.clone(),
        along,
    }
}

fn reads_a_history(filter: &ExecutionFilter) -> bool {
    !matches!(filter.along(), Along::Ids | Along::Retries | Along::Forks)
}

/// Open and failed executions are found by their status, however many have completed since; completed ones are not.
fn looks(filter: &ExecutionFilter) -> Vec<Look> {
    if !reads_a_history(filter) {
        return vec![along(filter, filter.along())];
    }
    let wanted = |status: &&Status| filter.statuses.is_empty() || filter.statuses.contains(status);
    let one = |status: &Status| {
        let filter = ExecutionFilter {
            statuses: vec![*status],
            ..filter.clone()
        };
        let along = filter.along();
        Look { filter, along }
    };
    Status::ALL.iter().filter(wanted).map(one).collect()
}

fn is_cut(tally: &Tally) -> bool {
    tally.looked_at >= u64::from(LOOK_MAX)
}

fn merged(tallies: &[Tally], group: GroupBy) -> GroupCounts {
    let any_cut = tallies.iter().any(is_cut);
    let mut found: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    for tally in tallies {
        // Of a status nothing is told by the looks at others.
        let is_cut = if group == GroupBy::Status {
            is_cut(tally)
        } else {
            any_cut
        };
        for (key, count) in &tally.groups {
            let known = found.entry(key).or_default();
            *known = (known.0 + count, known.1 || is_cut);
        }
    }
    let mut groups: Vec<GroupCount> = found.into_iter().map(counted).collect();
    match group {
        GroupBy::Status => {
            let place = |one: &GroupCount| Status::ALL.iter().position(|s| s.name() == one.key);
            groups.iter_mut().for_each(name_of_status);
            groups.sort_by_key(place);
        }
        GroupBy::Node | GroupBy::Schema => {
            groups.sort_by(|a, b| (b.count, &a.key).cmp(&(a.count, &b.key)));
        }
    }
    let is_capped = any_cut || groups.len() > GROUPS_MAX || groups.iter().any(|g| g.is_capped);
    groups.truncate(GROUPS_MAX);
    GroupCounts { groups, is_capped }
}

fn counted((key, (count, is_cut)): (&str, (u64, bool))) -> GroupCount {
    GroupCount {
        key: key.to_owned(),
        count: count.min(COUNT_MAX),
        is_capped: is_cut || count > COUNT_MAX,
    }
}

fn name_of_status(group: &mut GroupCount) {
    let code = group.key.parse().ok();
    if let Some(status) = code.and_then(Status::from_code) {
        group.key = status.name().to_owned();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorGroups {
    /// Most frequent first, then newest.
    pub groups: Vec<ErrorGroup>,
    pub total: u64,
    pub is_capped: bool,
}

/// What went wrong, by error, schema and node.
pub async fn errors_by(
    store: &(impl OverviewStore + ?Sized),
    filter: &ExecutionFilter,
) -> StoreResult<ErrorGroups> {
    let mut all: BTreeMap<(String, SchemaId, String), ErrorGroup> = BTreeMap::new();
    let mut is_capped = false;
    for status in Status::UNRESOLVED {
        let filter = ExecutionFilter {
            statuses: vec![status],
            ..filter.clone()
        };
        let look = along(&filter, Along::Statuses(vec![status]));
        let tally = store.tally_errors(look, COUNT_MAX as u32).await?;
        is_capped |= tally.looked_at >= COUNT_MAX;
        for group in tally.groups {
            let key = (group.code.clone(), group.schema_id, group.node_id.clone());
            match all.get_mut(&key) {
                Some(known) => {
                    known.count += group.count;
                    known.unresolved += group.unresolved;
                    known.last = known.last.max(group.last);
                }
                None => drop(all.insert(key, group)),
            }
        }
    }
    let mut groups: Vec<ErrorGroup> = all.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse((group.count, group.last)));
    Ok(ErrorGroups {
        total: groups.iter().map(|group| group.count).sum(),
        groups,
        is_capped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(looked_at: u64, groups: &[(&str, u64)]) -> Tally {
        let groups = groups
            .iter()
            .map(|(key, count)| ((*key).to_owned(), *count));
        Tally {
            groups: groups.collect(),
            looked_at,
        }
    }

    fn told(counts: &GroupCounts) -> Vec<(&str, u64, bool)> {
        let groups = counts.groups.iter();
        groups
            .map(|group| (&*group.key, group.count, group.is_capped))
            .collect()
    }

    #[test]
    fn a_status_is_capped_by_its_own_look_and_a_node_by_any() {
        let cut = u64::from(LOOK_MAX);
        let status = [tally(7, &[("5", 7)]), tally(cut, &[("4", 15_000)])];
        let counts = merged(&status, GroupBy::Status);
        assert_eq!(
            told(&counts),
            [("completed", COUNT_MAX, true), ("failed", 7, false)]
        );
        assert!(counts.is_capped);
        let node = [tally(7, &[("a", 7)]), tally(cut, &[("b", 9), ("a", 1)])];
        let counts = merged(&node, GroupBy::Node);
        assert_eq!(told(&counts), [("b", 9, true), ("a", 8, true)]);
        let whole = [tally(3, &[("a", 1), ("b", 2)])];
        let counts = merged(&whole, GroupBy::Node);
        assert_eq!(told(&counts), [("b", 2, false), ("a", 1, false)]);
        assert!(!counts.is_capped);
    }

    #[test]
    fn each_status_is_looked_for_on_its_own_way() {
        let looks = looks(&ExecutionFilter::default());
        assert_eq!(looks.len(), Status::ALL.len());
        for look in &looks {
            match look.filter.statuses[..] {
                [Status::Completed] => assert_eq!(look.along, Along::Newest),
                [status] => assert_eq!(look.along, Along::Statuses(vec![status])),
                _ => panic!("{look:?}"),
            }
        }
    }
}
