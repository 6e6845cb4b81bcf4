//! What an execution did: steps, contexts, logs.

use axum::extract::State;
use pawl_kernel::context::{Context, difference};
use pawl_kernel::execution::Step;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::StoreResult;
use serde_json::{Value, json};

use super::ApiState;
use super::cursor::{self, Kind};
use super::error::{ApiError, ApiResult};
use super::path::PathParts;
use super::query::RawQuery;
use super::wire::{self, LogJson, Page, StepJson};

/// Steps are fetched in small bites, so that a page of large ones never is in memory at once.
const BITE: u32 = 25;

/// Steps with the version of the commit that wrote them.
pub(super) struct Stretch {
    pub(super) steps: Vec<(Step, u64)>,
    /// There are more, cut off by number or by size.
    pub(super) more: bool,
}

/// The steps after `after`: at most `limit`, and not much more than `bytes_max` bytes, but at least one.
pub(super) async fn stretch(
    state: &ApiState,
    id: ExecutionId,
    after: u64,
    limit: usize,
    bytes_max: usize,
) -> StoreResult<Stretch> {
    let mut steps: Vec<(Step, u64)> = Vec::new();
    let mut bytes = 0;
    loop {
        let last = steps.last().map_or(after, |(step, _)| step.seq);
        let bite = state.store().steps(id, last, BITE).await?;
        let at_end = bite.len() < BITE as usize;
        for pair in bite {
            if steps.len() == limit || bytes >= bytes_max {
                return Ok(Stretch { steps, more: true });
            }
            bytes += weight(&pair.0);
            steps.push(pair);
        }
        if at_end {
            return Ok(Stretch { steps, more: false });
        }
    }
}

fn weight(step: &Step) -> usize {
    let payloads = [
        &step.input,
        &step.output,
        &step.changes,
        &step.error,
        &step.attempts,
    ];
    payloads.into_iter().flatten().map(String::len).sum()
}

pub(super) async fn steps(
    State(state): State<ApiState>,
    path: PathParts,
    raw: RawQuery,
) -> ApiResult {
    let id = path.execution()?;
    let query = raw.with(&[&["limit", "cursor"]])?;
    let limit = query.limit()? as usize;
    let after = cursor::from_query(Kind::Step, &query)?.unwrap_or(0);
    state.control.view(id).await?;
    let Stretch { steps, more } =
        stretch(&state, id, after, limit, state.limits.page_bytes).await?;
    let next = steps
        .last()
        .filter(|_| more)
        .map(|(step, _)| cursor::write(Kind::Step, step.seq));
    Ok(wire::ok(&Page {
        items: steps.iter().map(|(step, _)| StepJson::from(step)).collect(),
        next,
    }))
}

/// The context before and after a step, and the difference.
pub(super) async fn step_context(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let (id, seq) = (path.execution()?, path.seq()?);
    let view = state.control.view(id).await?;
    let step = state
        .store()
        .steps(id, seq - 1, 1)
        .await?
        .pop()
        .map(|(step, _)| step);
    let Some(step) = step.filter(|step| step.seq == seq) else {
        return Err(ApiError::not_found(format!(
            "the execution has no step {seq}"
        )));
    };
    let before = state.control.context_at(&view, seq - 1).await?;
    let mut after = before.clone();
    after.apply_step(&step).map_err(ApiError::internal)?;
    let (before, after) = (value(before), value(after));
    let changed = difference(&before, &after);
    Ok(wire::ok(
        &json!({"seq": seq, "before": before, "after": after, "difference": changed}),
    ))
}

/// The context as it is now.
pub(super) async fn context(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let view = state.control.view(path.execution()?).await?;
    let seq = view.state.seq;
    let context = state.control.context_at(&view, seq).await?;
    Ok(wire::ok(&json!({"seq": seq, "context": context.roots()})))
}

fn value(context: Context) -> Value {
    Value::Object(context.roots().clone())
}

pub(super) async fn logs(
    State(state): State<ApiState>,
    path: PathParts,
    raw: RawQuery,
) -> ApiResult {
    let id = path.execution()?;
    let query = raw.with(&[&["limit", "cursor"]])?;
    let limit = query.limit()?;
    let after = cursor::from_query(Kind::Log, &query)?.unwrap_or(0);
    state.control.view(id).await?;
    let mut lines = state.store().logs(id, after, limit + 1).await?;
    let more = lines.len() > limit as usize;
    lines.truncate(limit as usize);
    let next = lines
        .last()
        .filter(|_| more)
        .map(|(number, _)| cursor::write(Kind::Log, number));
    Ok(wire::ok(&Page {
        items: lines.iter().map(LogJson::from).collect(),
        next,
    }))
}
