//! What an execution did: steps, contexts, logs.

use axum::extract::State;
use pawl_engine::control::{self, Lineage};
use pawl_kernel::context::{Context, difference};
use pawl_kernel::execution::Step;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{ExecutionView, StoreResult};
use serde_json::{Map, Value};
use std::borrow::Cow;

use super::ApiState;
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::path::PathParts;
use super::query::Query;
use super::reply;
use crate::wire;
use crate::wire::{Change, CurrentContext, GoneSteps, LogLine, Page, StepContext, StepPage};

/// Steps are fetched in small bites, so that a page of large ones never is in memory at once.
const BITE: u32 = 25;

/// Steps with the version of the commit that wrote them.
#[derive(Default)]
pub(super) struct Stretch {
    pub(super) steps: Vec<(Step, u64)>,
    /// There are more, cut off by number or by size.
    pub(super) more: bool,
}

/// How much is read at once: so many steps, and not much more than so many bytes, but at least one step.
#[derive(Clone, Copy)]
pub(super) struct Portion {
    pub(super) steps: usize,
    pub(super) bytes: usize,
}

/// The steps of one execution after `after`.
pub(super) async fn stretch(
    state: &ApiState,
    id: ExecutionId,
    after: u64,
    portion: Portion,
) -> StoreResult<Stretch> {
    let mut found = Stretch::default();
    let steps = control::Stretch {
        id,
        after,
        up_to: u64::MAX,
    };
    found.read(state, steps, portion).await?;
    Ok(found)
}

/// The steps of a history after `after`, of all executions it goes back to.
pub(super) async fn history(
    state: &ApiState,
    lineage: &Lineage,
    after: u64,
    portion: Portion,
) -> StoreResult<Stretch> {
    let mut found = Stretch::default();
    for stretch in lineage.stretches.iter().filter(|part| part.up_to > after) {
        let after = stretch.after.max(after);
        let rest = control::Stretch { after, ..*stretch };
        found.read(state, rest, portion).await?;
        if found.more {
            break;
        }
    }
    Ok(found)
}

impl Stretch {
    async fn read(
        &mut self,
        state: &ApiState,
        part: control::Stretch,
        portion: Portion,
    ) -> StoreResult<()> {
        let mut last = part.after;
        let mut bytes: usize = self.steps.iter().map(|(step, _)| weight(step)).sum();
        loop {
            let bite = state.store().steps(part.id, last, BITE).await?;
            let at_end = bite.len() < BITE as usize;
            for pair in bite {
                if pair.0.seq > part.up_to {
                    return Ok(());
                }
                if self.steps.len() == portion.steps || bytes >= portion.bytes {
                    self.more = true;
                    return Ok(());
                }
                last = pair.0.seq;
                bytes += weight(&pair.0);
                self.steps.push(pair);
            }
            if at_end {
                return Ok(());
            }
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
    query: Query,
) -> ApiResult {
    let id = path.execution()?;
    let portion = Portion {
        steps: query.limit()? as usize,
        bytes: state.limits.page_bytes,
    };
    let after = cursor::from_query(CursorKind::Step, &query)?.unwrap_or(0);
    let view = state.control.view(id).await?;
    let lineage = lineage(&state, &view, &query).await?;
    let Stretch { steps, more } = history(&state, &lineage, after, portion).await?;
    let next = steps
        .last()
        .filter(|_| more)
        .map(|(step, _)| cursor::write(CursorKind::Step, step.seq));
    let base_seq = view.execution.head.base_seq;
    let shown = steps
        .iter()
        .map(|(step, _)| wire::Step::in_history(step, base_seq));
    Ok(reply::ok(&StepPage {
        items: shown.collect(),
        next,
        gone: lineage.gone.as_ref().map(GoneSteps::from),
    }))
}

/// With `inherited=false` only what the execution did itself.
pub(super) async fn lineage(
    state: &ApiState,
    view: &ExecutionView,
    query: &Query,
) -> ApiResult<Lineage> {
    match query.get("inherited").is_none() || query.flag("inherited")? {
        true => Ok(state.control.lineage(view).await?),
        false => Ok(Lineage::own(view)),
    }
}

/// The context before and after a step, and the difference.
pub(super) async fn step_context(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let (id, seq) = (path.execution()?, path.seq()?);
    let view = state.control.view(id).await?;
    let maker = state.control.maker(&view, seq).await?;
    let step = state
        .store()
        .steps(maker.execution.head.id, seq - 1, 1)
        .await?
        .pop()
        .map(|(step, _)| step);
    let Some(step) = step.filter(|step| step.seq == seq) else {
        return Err(ApiError::not_found(format!(
            "the execution has no step {seq}"
        )));
    };
    let before = state.control.context_at(&maker, seq - 1).await?;
    let mut after = before.clone();
    after.apply_step(&step).map_err(ApiError::internal)?;
    let (before, after) = (value(before), value(after));
    let difference: Vec<Change> =
        serde_json::from_value(difference(&before, &after).into()).map_err(ApiError::internal)?;
    Ok(reply::ok(&StepContext {
        seq,
        before: roots(before),
        after: roots(after),
        difference,
    }))
}

/// The context as it is now.
pub(super) async fn context(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let view = state.control.view(path.execution()?).await?;
    let seq = view.state.seq;
    let context = state.control.context_at(&view, seq).await?;
    Ok(reply::ok(&CurrentContext {
        seq,
        context: Cow::Borrowed(context.roots()),
    }))
}

fn value(context: Context) -> Value {
    Value::Object(context.roots().clone())
}

fn roots(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(roots) => roots,
        _ => Map::new(),
    }
}

pub(super) async fn logs(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
) -> ApiResult {
    let id = path.execution()?;
    let limit = query.limit()?;
    let after = cursor::from_query(CursorKind::Log, &query)?.unwrap_or(0);
    state.control.view(id).await?;
    let mut lines = state.store().logs(id, after, limit + 1).await?;
    let more = lines.len() > limit as usize;
    lines.truncate(limit as usize);
    let next = lines
        .last()
        .filter(|_| more)
        .map(|(number, _)| cursor::write(CursorKind::Log, number));
    Ok(reply::ok(&Page {
        items: lines.iter().map(LogLine::from).collect(),
        next,
    }))
}
