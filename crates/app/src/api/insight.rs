//! Why an execution is where it is, and where two runs part.

use axum::extract::State;
use pawl_engine::alive_since;
use pawl_engine::control::{Lineage, RemovedSteps};
use pawl_engine::insight::diff::MarkedStep;
use pawl_engine::insight::{diff, explain};
use pawl_kernel::execution::{Status, Step, WaitKind};
use pawl_kernel::ports::store::{ExecutionFilter, ExecutionView};
use pawl_kernel::ports::workers::WorkerRecord;
use pawl_kernel::schema::definition::Definition;
use serde_json::json;

use super::ApiState;
use super::error::{ApiError, ApiResult};
use super::guard::shorten;
use super::history::{self, Portion, Stretch, weight};
use super::path::{PathParts, execution_id};
use super::query::Query;
use super::{outline, reply};
use crate::wire::{ComparedRun, Comparison, ExplainAnswer, GoneSteps, StepPair, Time};

/// Two runs are compared in memory, so their size has a limit.
const DIFF_BYTES_MAX: usize = 64 << 20;
const DIFF_STEPS_MAX: usize = 10_000;
/// Of each step only marks are kept, but all of them are read: so many steps, and so many pages of bytes, in bites.
const OUTLINE_STEPS_MAX: usize = 100_000;
const OUTLINE_PAGES: usize = 16;
const OUTLINE_BITE: usize = 4 << 20;

pub(super) const DIFF_VIEWS: [&str; 2] = ["full", "outline"];

pub(super) async fn why(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let view = state.control.view(path.execution()?).await?;
    let workers = engine_workers(&state).await?;
    let around = explain::Surroundings {
        now: state.now(),
        timer_shard: timer_shard(&state, &view).await?,
        unknown_type: unknown_type(&state, &view, &workers).await?,
        sweep_after: state.runtime().options.sweep_after,
        line: line(&state, &view).await?,
        // A process that is alone with its store runs them itself, and reports less often.
        nobody_runs: workers.is_empty() && !state.runtime().options.exclusive,
        queue_down: !state.runtime().queue.takes_messages(),
    };
    Ok(reply::ok(&ExplainAnswer::from(explain::explain(
        &view, &around,
    ))))
}

async fn line(state: &ApiState, view: &ExecutionView) -> ApiResult<Option<explain::InLine>> {
    let wait = view.state.wait.as_ref();
    if wait.is_none_or(|wait| wait.kind != WaitKind::Admission) {
        return Ok(None);
    }
    Ok(explain::line_of(state.store(), view.execution.head.id, state.now()).await?)
}

async fn timer_shard(state: &ApiState, view: &ExecutionView) -> ApiResult<Option<u32>> {
    let timed = view
        .state
        .wait
        .as_ref()
        .filter(|wait| wait.wake_at.is_some());
    let Some(wait) = timed else { return Ok(None) };
    let mut shards = state
        .store()
        .timer_shards(vec![(view.execution.head.id, wait.id)])
        .await?;
    Ok(shards.pop().flatten())
}

/// The type of the current node, if no worker that lives knows it.
async fn unknown_type(
    state: &ApiState,
    view: &ExecutionView,
    workers: &[WorkerRecord],
) -> ApiResult<Option<String>> {
    let execution = &view.execution;
    let version = state
        .store()
        .version(execution.head.schema_id, execution.head.schema_version)
        .await?;
    let definition =
        version.and_then(|version| serde_json::from_str::<Definition>(&version.definition).ok());
    let nodes = definition
        .map(|definition| definition.nodes)
        .unwrap_or_default();
    let current = nodes
        .into_iter()
        .find(|node| *node.id == *view.state.position.node_id);
    let Some(current) = current else {
        return Ok(None);
    };
    // Each worker reports what it can run; where no worker has reported yet, this process speaks for all.
    let known = match workers.is_empty() {
        true => state.runtime().registry.get(&current.node_type).is_some(),
        false => {
            let mut types = workers.iter().flat_map(|worker| &worker.node_types);
            types.any(|known| *known == current.node_type)
        }
    };
    Ok((!known).then_some(current.node_type))
}

/// The workers that live and run executions.
async fn engine_workers(state: &ApiState) -> ApiResult<Vec<WorkerRecord>> {
    let since = alive_since(&state.runtime().options, state.now());
    let mut workers = state.store().workers(since).await?;
    workers.retain(|worker| worker.roles.iter().any(|role| role == "engine"));
    Ok(workers)
}

pub(super) async fn compare(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
) -> ApiResult {
    let is_outline = query.choice("view", &DIFF_VIEWS)? == Some("outline");
    let (left, right) = both(&state, &path, &query).await?;
    let (ours, theirs) = (
        history::lineage(&state, &left, &query).await?,
        history::lineage(&state, &right, &query).await?,
    );
    let mut result = match is_outline {
        true => diff::compare(
            &marked_run(&state, &left, &ours).await?,
            &marked_run(&state, &right, &theirs).await?,
        ),
        false => diff::compare(
            &whole_run(&state, &left, &ours).await?,
            &whole_run(&state, &right, &theirs).await?,
        ),
    };
    let (our_gone, their_gone) = (ours.gone, theirs.gone);
    result["left"] = json!(side(&left, our_gone));
    result["right"] = json!(side(&right, their_gone));
    let result: Comparison = serde_json::from_value(result).map_err(ApiError::internal)?;
    Ok(reply::ok(&result))
}

/// The last good run before this one, else the last good one at all.
async fn partner(state: &ApiState, view: &ExecutionView) -> ApiResult<ExecutionView> {
    if !matches!(
        view.execution.head.status,
        Status::Failed | Status::FailedStuck
    ) {
        return Err(ApiError::invalid_query(
            "`with` is missing: the execution to compare with",
        ));
    }
    let filter = ExecutionFilter {
        statuses: vec![Status::Completed],
        schema_id: Some(view.execution.head.schema_id),
        trial: Some(false),
        ..ExecutionFilter::default()
    };
    for before in [Some(view.execution.head.id), None] {
        if let Some(found) = state
            .store()
            .executions(filter.clone(), before, 1)
            .await?
            .pop()
        {
            return Ok(found);
        }
    }
    let name = &view.schema_name;
    Err(ApiError::not_found(format!(
        "no execution of `{name}` has completed yet; name one in `with`"
    )))
}

/// One visit of a node in both runs, with all that differs.
pub(super) async fn compare_pair(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
) -> ApiResult {
    let node = query.get("node").map(str::to_owned);
    let node =
        node.ok_or_else(|| ApiError::invalid_query("`node` is missing: the node to compare"))?;
    let visit = query.whole("visit")?.unwrap_or(1);
    let visit = u32::try_from(visit).ok().filter(|visit| *visit > 0);
    let visit = visit
        .ok_or_else(|| ApiError::invalid_query("`visit` must be a number from 1, in reach"))?;
    let (left, right) = both(&state, &path, &query).await?;
    let ours = visit_of(&state, &left, &query, &node, visit).await?;
    let theirs = visit_of(&state, &right, &query, &node, visit).await?;
    if ours.steps.is_empty() && theirs.steps.is_empty() {
        let message = format!("neither run has visit {visit} of `{}`", shorten(&node));
        return Err(ApiError::not_found(message));
    }
    let (one, other) = (ours.steps.first(), theirs.steps.first());
    let pair = diff::pair(&ours, &theirs, (&node, visit), one, other);
    let pair: StepPair = serde_json::from_value(pair).map_err(ApiError::internal)?;
    Ok(reply::ok(&pair))
}

/// The run of the path and the one to compare it with.
async fn both(
    state: &ApiState,
    path: &PathParts,
    query: &Query,
) -> ApiResult<(ExecutionView, ExecutionView)> {
    let left = state.control.view(path.execution()?).await?;
    let right = match query.get("with") {
        Some(text) => {
            let unknown = || format!("`with`: there is no execution `{}`", shorten(text));
            let id = execution_id(text).ok_or_else(|| ApiError::not_found(unknown()))?;
            state.control.view(id).await?
        }
        None => partner(state, &left).await?,
    };
    Ok((left, right))
}

/// The step of one visit, found without reading what the others hold.
async fn visit_of(
    state: &ApiState,
    view: &ExecutionView,
    query: &Query,
    node: &str,
    visit: u32,
) -> ApiResult<diff::Run> {
    let lineage = history::lineage(state, view, query).await?;
    let seq = outline::seq_of_visit(state, &lineage, node, visit).await?;
    let mut steps = Vec::new();
    if let Some(seq) = seq {
        steps.push(history::step_of(state, view, seq).await?);
    }
    Ok(diff::Run {
        steps,
        base_seq: view.execution.head.base_seq,
    })
}

/// The run with the steps that it took over.
async fn whole_run(
    state: &ApiState,
    view: &ExecutionView,
    lineage: &Lineage,
) -> ApiResult<diff::Run> {
    let portion = Portion {
        steps: DIFF_STEPS_MAX,
        bytes: DIFF_BYTES_MAX,
    };
    let Stretch { steps, more } = history::history(state, lineage, 0, portion).await?;
    if more {
        let id = view.execution.head.id;
        let message = format!(
            "execution {id} is too large to compare: over {DIFF_STEPS_MAX} steps or {DIFF_BYTES_MAX} bytes; \
             `view=outline` compares larger ones"
        );
        return Err(ApiError::too_large(message));
    }
    Ok(diff::Run {
        steps: steps.into_iter().map(|(step, _)| step).collect(),
        base_seq: view.execution.head.base_seq,
    })
}

/// The same with marks of the steps, read bit by bit.
async fn marked_run(
    state: &ApiState,
    view: &ExecutionView,
    lineage: &Lineage,
) -> ApiResult<diff::Run<MarkedStep>> {
    let portion = Portion {
        steps: 1_000,
        bytes: OUTLINE_BITE.min(state.limits.page_bytes),
    };
    let bytes_max = OUTLINE_PAGES * state.limits.page_bytes;
    let mut bytes = 0;
    let mut run = diff::Run {
        steps: Vec::new(),
        base_seq: view.execution.head.base_seq,
    };
    let mut after = 0;
    loop {
        let Stretch { steps, more } = history::history(state, lineage, after, portion).await?;
        after = steps.last().map_or(after, |(step, _)| step.seq);
        bytes += steps.iter().map(|(step, _)| weight(step)).sum::<usize>();
        run.steps.extend(marked(steps).await?);
        if !more {
            return Ok(run);
        }
        if run.steps.len() > OUTLINE_STEPS_MAX || bytes > bytes_max {
            let id = view.execution.head.id;
            let message = format!(
                "execution {id} is too large to compare: over {OUTLINE_STEPS_MAX} steps or {bytes_max} bytes"
            );
            return Err(ApiError::too_large(message));
        }
    }
}

/// Reads and hashes all payloads, which takes long enough to hold up other requests.
async fn marked(steps: Vec<(Step, u64)>) -> ApiResult<Vec<MarkedStep>> {
    let marks = move || {
        steps
            .iter()
            .map(|(step, _)| MarkedStep::from(step))
            .collect()
    };
    let marking = tokio::task::spawn_blocking(marks);
    marking.await.map_err(ApiError::internal)
}

fn side(view: &ExecutionView, gone: Option<RemovedSteps>) -> ComparedRun {
    let head = &view.execution.head;
    ComparedRun {
        id: head.id.0,
        schema: view.schema_name.clone(),
        version: head.schema_version,
        status: head.status.into(),
        created_at: Time(head.created_at),
        finished_at: head.finished_at.map(Time),
        gone: gone.as_ref().map(GoneSteps::from),
    }
}
