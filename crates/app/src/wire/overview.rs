//! Counts, errors and statistics of many executions.

use std::borrow::Cow;
use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::ports::overview;
use pawl_kernel::ports::store::ExecutionView;
use pawl_kernel::statistics::{Statistics, StatisticsPeriod, TimeBucket};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::brief::brief_message;
use super::name::GroupName;
use super::{Name, Time};

/// How many executions a filter finds, by group.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExecutionCounts<'a> {
    pub(crate) group: Name<GroupName>,
    /// Those with at least one: statuses in their order, nodes and schemas the largest first.
    pub(crate) groups: Vec<CountGroup<'a>>,
    /// Of all groups.
    pub(crate) total: u64,
    /// There may be more: only so many of the newest executions are looked at.
    pub(crate) capped: bool,
    /// No group is counted further.
    pub(crate) capped_at: u64,
}

/// One group of a count.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct CountGroup<'a> {
    /// A status, a node id or the id of a schema.
    pub(crate) key: Cow<'a, str>,
    /// The name of the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<Cow<'a, str>>,
    pub(crate) count: u64,
    /// There are at least so many, perhaps more.
    pub(crate) capped: bool,
}

impl<'a> From<&'a overview::GroupCount> for CountGroup<'a> {
    fn from(group: &'a overview::GroupCount) -> Self {
        Self {
            key: group.key.as_str().into(),
            schema: None,
            count: group.count,
            capped: group.is_capped,
        }
    }
}

/// What went wrong, by error.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ErrorGroups")]
pub(crate) struct ErrorList<'a> {
    /// The most frequent first, then the newest.
    pub(crate) groups: Vec<ErrorGroup<'a>>,
    /// Executions of all groups, also of those that are not here.
    pub(crate) total: u64,
    /// There may be more: only so many of the newest executions of each status are looked at.
    pub(crate) capped: bool,
    pub(crate) capped_at: u64,
}

/// Executions that ended with the same error at the same node.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ErrorGroup<'a> {
    pub(crate) code: Cow<'a, str>,
    pub(crate) schema_id: Uuid,
    pub(crate) schema: Cow<'a, str>,
    /// The node they stand at.
    pub(crate) node: Cow<'a, str>,
    pub(crate) count: u64,
    /// Of them, how many were not retried.
    pub(crate) unresolved: u64,
    /// The newest of them.
    pub(crate) last: Uuid,
    /// When the newest was created.
    pub(crate) last_at: Time,
    /// The message of the newest, at most 200 characters.
    pub(crate) last_message: String,
}

impl<'a> ErrorGroup<'a> {
    pub(crate) fn of(group: &'a overview::ErrorGroup, newest: &'a ExecutionView) -> Self {
        let error = newest.execution.record.error.as_deref();
        Self {
            code: group.code.as_str().into(),
            schema_id: group.schema_id.0,
            schema: newest.schema_name.as_str().into(),
            node: group.node_id.as_str().into(),
            count: group.count,
            unresolved: group.unresolved,
            last: group.last.0,
            last_at: Time(newest.execution.head.created_at),
            last_message: error.map(brief_message).unwrap_or_default(),
        }
    }
}

/// Executions by the time of their creation.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Statistics")]
pub(crate) struct StatisticsReport {
    pub(crate) since: Time,
    pub(crate) until: Time,
    pub(crate) step_ms: u64,
    /// Oldest first, also empty ones.
    pub(crate) buckets: Vec<StatisticsBucket>,
    /// 1: every execution was counted. Less: in some buckets only this part of the time was read, and their numbers are estimates.
    pub(crate) sampled: f64,
    /// Executions that were read.
    pub(crate) looked_at: u64,
}

/// The executions created in one step of time, and what has become of them by now.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct StatisticsBucket {
    pub(crate) from: Time,
    pub(crate) started: u64,
    pub(crate) open: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) stopped: u64,
    pub(crate) failed_stuck: u64,
    /// From creation to end, of those that ended: half took no longer.
    pub(crate) p50_ms: Option<f64>,
    /// The same: 95 of 100 took no longer.
    pub(crate) p95_ms: Option<f64>,
    /// Its numbers are estimates, because it had too many executions to read.
    pub(crate) estimated: bool,
}

impl StatisticsReport {
    pub(crate) fn of(period: StatisticsPeriod, found: &Statistics) -> Self {
        Self {
            since: Time(period.since),
            until: Time(period.until),
            step_ms: u64::try_from(period.step.as_millis()).unwrap_or(u64::MAX),
            buckets: found.buckets.iter().map(StatisticsBucket::from).collect(),
            sampled: found.sampled(),
            looked_at: found.looked_at,
        }
    }
}

impl From<&TimeBucket> for StatisticsBucket {
    fn from(bucket: &TimeBucket) -> Self {
        let ended = |wanted: Status| {
            let found = bucket.ended.iter().find(|(status, _)| *status == wanted);
            found.map_or(0, |(_, count)| *count)
        };
        let millis = |duration: Option<Duration>| duration.map(|one| one.as_secs_f64() * 1e3);
        Self {
            from: Time(bucket.from),
            started: bucket.started,
            open: bucket.open,
            completed: ended(Status::Completed),
            failed: ended(Status::Failed),
            stopped: ended(Status::Stopped),
            failed_stuck: ended(Status::FailedStuck),
            p50_ms: millis(bucket.p50),
            p95_ms: millis(bucket.p95),
            estimated: bucket.share < 1.0,
        }
    }
}
