//! Counts, errors and statistics of many executions. None of them costs more when there are more of them: what is counted is
//! capped, and what was left out is said.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::State;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::overview::{COUNT_MAX, ErrorGroups, GroupBy, count_by, errors_by};
use pawl_kernel::ports::store::{ExecutionFilter, ExecutionView};
use pawl_kernel::statistics::{BUCKETS_MAX, StatisticsPeriod, gather};
use pawl_kernel::time::{Timestamp, parse_duration};

use super::ApiState;
use super::error::{ApiError, ApiResult};
use super::fields::unknown_name;
use super::query::Query;
use super::reply;
use super::schemas;
use crate::wire::{self, CountGroup, ErrorList, ExecutionCounts, Name, StatisticsReport};

pub(super) const GROUPS: [&str; 3] = [
    GroupBy::Status.name(),
    GroupBy::Node.name(),
    GroupBy::Schema.name(),
];
const ERRORS_SINCE: Duration = Duration::from_secs(86_400);
const STATS_SINCE: Duration = Duration::from_secs(3_600);
/// Steps that are chosen by themselves: the least that makes no more than so many buckets.
const STEPS: [u64; 7] = [60, 300, 900, 3_600, 6 * 3_600, 86_400, 7 * 86_400];
const BUCKETS_CHOSEN: u128 = 120;
/// A finer step says nothing about people's time, and ids are no finer than milliseconds.
const STEP_MIN: Duration = Duration::from_secs(1);

pub(super) async fn counts(State(state): State<ApiState>, query: Query) -> ApiResult {
    let group = group(&query)?;
    let filter = query.filter(&state).await?;
    let counts = count_by(state.store(), &filter, group).await?;
    let mut groups: Vec<CountGroup> = counts.groups.iter().map(CountGroup::from).collect();
    if group == GroupBy::Schema {
        let ids = groups.iter().filter_map(|one| one.key.parse().ok());
        let names = names_of(&state, ids.collect()).await?;
        for one in &mut groups {
            one.schema = names.get(&*one.key).cloned().map(Into::into);
        }
    }
    Ok(reply::ok(&ExecutionCounts {
        group: Name::new(group.name()),
        total: groups.iter().map(|one| one.count).sum(),
        groups,
        capped: counts.is_capped,
        capped_at: COUNT_MAX,
    }))
}

fn group(query: &Query) -> ApiResult<GroupBy> {
    let name = query.get("group").unwrap_or(GroupBy::Status.name());
    let found = GroupBy::ALL.into_iter().find(|one| one.name() == name);
    found.ok_or_else(|| ApiError::invalid_query(unknown_name("group", name, &GROUPS)))
}

/// The names of schemas, also of deleted ones, which have executions too: as the newest execution of each is shown.
async fn names_of(state: &ApiState, ids: Vec<SchemaId>) -> ApiResult<HashMap<String, String>> {
    let newest = state.store().newest_of(ids, 1).await?;
    let newest: Vec<ExecutionId> = newest.iter().flatten().map(|one| one.id).collect();
    let views = briefs_of(state, newest).await?;
    let named = views.into_iter().map(|view| {
        let id = view.execution.head.schema_id;
        (id.to_string(), view.schema_name)
    });
    Ok(named.collect())
}

/// A name or a message is read of each, so that nothing large is loaded.
async fn briefs_of(state: &ApiState, ids: Vec<ExecutionId>) -> ApiResult<Vec<ExecutionView>> {
    let limit = ids.len() as u32;
    let filter = ExecutionFilter {
        ids: Some(ids),
        ..ExecutionFilter::default()
    };
    Ok(state.store().execution_briefs(filter, None, limit).await?)
}

pub(super) async fn errors(State(state): State<ApiState>, query: Query) -> ApiResult {
    let limit = query.limit()? as usize;
    let since = query.time("since")?;
    let filter = ExecutionFilter {
        schema_id: schema_of(&state, &query).await?,
        created_after: Some(since.unwrap_or_else(|| state.now().minus(ERRORS_SINCE))),
        created_before: query.time("until")?,
        error_code: query.get("error_code").map(str::to_owned),
        trial: Some(false),
        ..ExecutionFilter::default()
    };
    let ErrorGroups {
        mut groups,
        total,
        is_capped,
    } = errors_by(state.store(), &filter).await?;
    groups.truncate(limit);
    let newest = groups.iter().map(|group| group.last).collect();
    let views = briefs_of(&state, newest).await?;
    let views: HashMap<ExecutionId, &ExecutionView> = views
        .iter()
        .map(|view| (view.execution.head.id, view))
        .collect();
    let shown = groups.iter().filter_map(|group| {
        // One that was removed a moment ago is no trouble any more.
        let view = views.get(&group.last)?;
        Some(wire::ErrorGroup::of(group, view))
    });
    Ok(reply::ok(&ErrorList {
        groups: shown.collect(),
        total,
        capped: is_capped,
        capped_at: COUNT_MAX,
    }))
}

async fn schema_of(state: &ApiState, query: &Query) -> ApiResult<Option<SchemaId>> {
    match query.get("schema") {
        Some(key) => schemas::id_of(state, key).await.map(Some),
        None => Ok(None),
    }
}

pub(super) async fn statistics(State(state): State<ApiState>, query: Query) -> ApiResult {
    let until = query.time("until")?.unwrap_or_else(|| state.now());
    let since = query.time("since")?;
    let since = since.unwrap_or_else(|| until.minus(STATS_SINCE));
    let period = StatisticsPeriod {
        since,
        until,
        step: step(query.get("step"), since, until)?,
    };
    let schema_id = schema_of(&state, &query).await?;
    let found = gather(state.store(), period, schema_id).await?;
    Ok(reply::ok(&StatisticsReport::of(period, &found)))
}

fn step(text: Option<&str>, since: Timestamp, until: Timestamp) -> ApiResult<Duration> {
    if since >= until {
        let message = "`since` must be before `until`";
        return Err(ApiError::invalid_query(message));
    }
    let length = until.since(since);
    let step = match text {
        None => chosen(length),
        Some(text) => parse_duration(text)
            .map_err(|reason| ApiError::invalid_query(format!("`step`: {reason}")))?,
    };
    if step < STEP_MIN {
        let message = "`step` must be at least 1s";
        return Err(ApiError::invalid_query(message));
    }
    let buckets = length.as_micros().div_ceil(step.as_micros());
    if buckets > BUCKETS_MAX as u128 {
        return Err(ApiError::invalid_query(format!(
            "`step` cuts the time into {buckets} pieces; at most {BUCKETS_MAX} are told, so take a longer step or a shorter time"
        )));
    }
    Ok(step)
}

fn chosen(length: Duration) -> Duration {
    let few = |step: &Duration| length.as_micros().div_ceil(step.as_micros()) <= BUCKETS_CHOSEN;
    let steps = STEPS.map(Duration::from_secs);
    // A time that is too long even for the longest is cut into as many as are told.
    let longest = length / BUCKETS_CHOSEN as u32;
    steps.into_iter().find(few).unwrap_or(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_fits_the_time() {
        let at = |seconds: i64| Timestamp::from_micros(1_800_000_000_000_000 + seconds * 1_000_000);
        let step = |text, seconds| step(text, at(0), at(seconds));
        for (seconds, expected) in [(60, 60), (7_200, 60), (7_201, 300), (86_400, 900)] {
            assert_eq!(step(None, seconds).unwrap().as_secs(), expected);
        }
        assert!(step(None, 86_400 * 366 * 50).is_ok());
        assert_eq!(step(Some("2m"), 3_600).unwrap().as_secs(), 120);
        for (text, seconds) in [
            (Some("1s"), 501),
            (Some("10ms"), 1),
            (Some("x"), 60),
            (None, 0),
        ] {
            assert_eq!(step(text, seconds).unwrap_err().code(), "INVALID_QUERY");
        }
    }
}
