//! Which executions a list, a count or a bulk action is about, and along which index a store looks for them.

use std::time::Duration;

use uuid::Uuid;

use crate::execution::Status;
use crate::id::{ExecutionId, SchemaId, ids_at};
use crate::time::Timestamp;

/// Ids are made by the clock that `created_at` is read from; this is for those of a clock that was set back in between.
const CLOCK_SLACK: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionFilter {
    pub statuses: Vec<Status>,
    pub schema_id: Option<SchemaId>,
    pub version: Option<u32>,
    pub tenant: Option<String>,
    pub created_by: Option<String>,
    pub created_after: Option<Timestamp>,
    pub created_before: Option<Timestamp>,
    /// Ended at this time or later.
    pub finished_since: Option<Timestamp>,
    pub longer_than: Option<MinimumDuration>,
    /// A label and its value; a number or a boolean is compared as its text.
    pub label: Option<(String, String)>,
    /// The node it stands at.
    pub node: Option<String>,
    /// `code` of the error it ended with.
    pub error_code: Option<String>,
    pub retry_of: Option<ExecutionId>,
    pub forked_from: Option<ExecutionId>,
    /// Only these.
    pub ids: Option<Vec<ExecutionId>>,
    /// Found in id, correlation id, idempotency key, creator, labels or error.
    pub text: Option<String>,
    /// Only those that have not been retried.
    pub not_retried: bool,
    /// Only trial runs, or none of them; `None`: whatever they are.
    pub trial: Option<bool>,
}

/// From its start, or its creation if it has not begun, to its end or until now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimumDuration {
    pub than: Duration,
    pub now: Timestamp,
}

/// The way to the rows that a filter can take, the shortest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Along {
    Ids,
    Retries,
    Forks,
    /// Only statuses that the small index knows: all but `completed`. In order, each once.
    Statuses(Vec<Status>),
    Schema,
    /// All there are.
    Newest,
}

impl ExecutionFilter {
    pub fn along(&self) -> Along {
        match self {
            Self { ids: Some(_), .. } => Along::Ids,
            Self {
                retry_of: Some(_), ..
            } => Along::Retries,
            Self {
                forked_from: Some(_),
                ..
            } => Along::Forks,
            Self { statuses, .. }
                if !statuses.is_empty() && !statuses.contains(&Status::Completed) =>
            {
                let mut statuses = statuses.clone();
                statuses.sort_unstable();
                statuses.dedup();
                Along::Statuses(statuses)
            }
            Self {
                schema_id: Some(_), ..
            } => Along::Schema,
            Self { .. } => Along::Newest,
        }
    }

    /// The first and the last id that something created in its time can have: a way to skip the rest of the history.
    pub fn id_range(&self) -> (Uuid, Uuid) {
        let first = self.created_after.map(|at| ids_at(at.minus(CLOCK_SLACK)).0);
        let last = self.created_before.map(|at| ids_at(at.plus(CLOCK_SLACK)).1);
        (first.unwrap_or(Uuid::nil()), last.unwrap_or(Uuid::max()))
    }

    /// Does it ask for nothing but statuses, and whether trial runs count?
    pub fn is_by_status_alone(&self) -> bool {
        let rest = Self {
            statuses: Vec::new(),
            trial: None,
            ..self.clone()
        };
        rest == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_taken() {
        let along = |change: fn(&mut ExecutionFilter)| {
            let mut filter = ExecutionFilter {
                schema_id: Some(SchemaId(Uuid::nil())),
                statuses: vec![Status::Failed, Status::Running, Status::Failed],
                ..ExecutionFilter::default()
            };
            change(&mut filter);
            filter.along()
        };
        let some = Some(ExecutionId(Uuid::nil()));
        assert_eq!(
            along(|_| {}),
            Along::Statuses(vec![Status::Running, Status::Failed])
        );
        let completed = |filter: &mut ExecutionFilter| filter.statuses.push(Status::Completed);
        assert_eq!(along(completed), Along::Schema);
        let bare = |filter: &mut ExecutionFilter| *filter = ExecutionFilter::default();
        assert_eq!(along(bare), Along::Newest);
        assert_eq!(along(|filter| filter.ids = Some(Vec::new())), Along::Ids);
        let mut filter = ExecutionFilter {
            retry_of: some,
            forked_from: some,
            ..ExecutionFilter::default()
        };
        assert_eq!(filter.along(), Along::Retries);
        filter.retry_of = None;
        assert_eq!(filter.along(), Along::Forks);
    }

    #[test]
    fn the_id_is_the_time() {
        let at = Timestamp::from_micros(1_800_000_000_123_456);
        let id = crate::id::time_ordered(at, &Fixed);
        let (first, last) = ids_at(at);
        assert!(first <= id && id <= last);
        let (before, after) = (ids_at(at.minus(CLOCK_SLACK)), ids_at(at.plus(CLOCK_SLACK)));
        assert!(before.1 < first && last < after.0);
        let filter = ExecutionFilter {
            created_after: Some(at),
            created_before: Some(at),
            ..ExecutionFilter::default()
        };
        assert_eq!(filter.id_range(), (before.0, after.1));
    }

    struct Fixed;

    impl crate::id::Entropy for Fixed {
        fn bits(&self) -> u128 {
            0x1234_5678_9abc_def0_1234_5678_9abc_def0
        }
    }
}
