//! What an execution did: steps, contexts, logs.

use axum::extract::State;
use pawl_engine::control::{self, ControlError, Lineage};
use pawl_kernel::execution::{Signal, Step};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::node::LogLevel;
use pawl_kernel::ports::history::LogQuery;
use pawl_kernel::ports::store::{ExecutionView, StoreResult};
use pawl_kernel::schema::graph::Graph;
use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::ApiState;
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::path::PathParts;
use super::query::Query;
use super::reply;
use crate::wire;
use crate::wire::{GoneSteps, LogLine, Page, StepPage, TakenSignal};

/// Steps are fetched in small bites, so that a page of large ones never is in memory at once.
const BITE: u32 = 25;
const SIGNALS_BITE: u32 = 20;

pub(super) const LEVELS: [&str; 4] = ["debug", "info", "warn", "error"];
pub(super) const ORDERS: [&str; 2] = ["asc", "desc"];

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
    found.read(state, id, after..=u64::MAX, portion).await?;
    Ok(found)
}

/// The steps of a history after `after`, of all executions it goes back to.
pub(super) async fn history(
    state: &ApiState,
    lineage: &Lineage,
    after: u64,
    portion: Portion,
) -> Result<Stretch, ControlError> {
    span(state, lineage, after..=u64::MAX, portion).await
}

/// The steps of a history after the first number, up to the last.
async fn span(
    state: &ApiState,
    lineage: &Lineage,
    wanted: RangeInclusive<u64>,
    portion: Portion,
) -> Result<Stretch, ControlError> {
    let mut found = Stretch::default();
    let (after, up_to) = wanted.into_inner();
    for part in &lineage.stretches {
        let wanted = part.after.max(after)..=part.up_to.min(up_to);
        if wanted.is_empty() || wanted.start() == wanted.end() {
            continue;
        }
        let read = found.steps.len();
        found.read(state, part.id, wanted, portion).await?;
        name_exits(state, part, &mut found.steps[read..]).await?;
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
        id: ExecutionId,
        wanted: RangeInclusive<u64>,
        portion: Portion,
    ) -> StoreResult<()> {
        let (mut last, up_to) = wanted.into_inner();
        let mut bytes: usize = self.steps.iter().map(|(step, _)| weight(step)).sum();
        loop {
            let bite = state.store().steps(id, last, BITE).await?;
            let at_end = bite.len() < BITE as usize;
            for pair in bite {
                if pair.0.seq > up_to {
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

/// Steps that were stored before exits were: the exit is known where just one leads to the next node.
async fn name_exits(
    state: &ApiState,
    part: &control::Stretch,
    steps: &mut [(Step, u64)],
) -> Result<(), ControlError> {
    let unnamed = |step: &Step| step.handle.is_none() && step.next_node_id.is_some();
    if !steps.iter().any(|(step, _)| unnamed(step)) {
        return Ok(());
    }
    let Some(graph) = state.control.graph_of(part).await? else {
        return Ok(());
    };
    for (step, _) in steps.iter_mut().filter(|(step, _)| unnamed(step)) {
        step.handle = exit(&graph, &step.node_id, step.next_node_id.as_deref());
    }
    Ok(())
}

/// The exit that a step must have left by.
pub(super) fn exit(graph: &Graph, node: &str, next: Option<&str>) -> Option<Cow<'static, str>> {
    let found = graph.exit_between(node, next?)?;
    Some(Cow::Owned(found.to_owned()))
}

/// Bytes of its payloads.
pub(super) fn weight(step: &Step) -> usize {
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
    let wanted = wanted(&query)?;
    let view = state.control.view(id).await?;
    let lineage = lineage(&state, &view, &query).await?;
    let Stretch { steps, more } = span(&state, &lineage, wanted, portion).await?;
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

/// The step before the first one asked for, and the last one. A cursor goes on within `from` and `to`.
fn wanted(query: &Query) -> ApiResult<RangeInclusive<u64>> {
    let first = |name| match query.whole(name)? {
        Some(0) => Err(ApiError::invalid_query(format!(
            "`{name}` must be a step, and steps count from 1"
        ))),
        number => Ok(number),
    };
    let (from, to) = (first("from")?, first("to")?);
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        let message = format!("`from` is {from} and `to` is {to}: there is no step between them");
        return Err(ApiError::invalid_query(message));
    }
    let after = cursor::from_query::<u64>(CursorKind::Step, query)?.unwrap_or(0);
    let before = from.map_or(0, |from| from - 1);
    Ok(after.max(before)..=to.unwrap_or(u64::MAX))
}

/// One step of a history, with its payloads.
pub(super) async fn step(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let (id, seq) = (path.execution()?, path.seq()?);
    let view = state.control.view(id).await?;
    let step = step_of(&state, &view, seq).await?;
    let base_seq = view.execution.head.base_seq;
    Ok(reply::ok(&wire::Step::in_history(&step, base_seq)))
}

/// The step of this number, of the execution or of one it goes back to.
pub(super) async fn step_of(state: &ApiState, view: &ExecutionView, seq: u64) -> ApiResult<Step> {
    let lineage = state.control.lineage(view).await?;
    if let Some(gone) = lineage.gone.filter(|gone| seq <= gone.up_to) {
        return Err(ApiError::not_found(gone.message()));
    }
    let one = Portion { steps: 1, bytes: 1 };
    let mut found = span(state, &lineage, seq - 1..=seq, one).await?;
    let found = found.steps.pop().map(|(step, _)| step);
    found.ok_or_else(|| {
        ApiError::not_found(format!("the execution has no step {seq}")).param("step", seq)
    })
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

/// What log nodes wrote, in either order.
pub(super) async fn logs(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
) -> ApiResult {
    let id = path.execution()?;
    let limit = query.limit()?;
    let least = match query.choice("level", &LEVELS)? {
        Some("info") => LogLevel::Info,
        Some("warn") => LogLevel::Warn,
        Some("error") => LogLevel::Error,
        _ => LogLevel::Debug,
    };
    let wanted = LogQuery {
        id,
        beyond: cursor::from_query(CursorKind::Log, &query)?,
        least,
        node_id: query.get("node").map(str::to_owned),
        newest_first: query.choice("order", &ORDERS)? == Some("desc"),
        limit: limit + 1,
    };
    state.control.view(id).await?;
    let mut lines = state.store().log_page(wanted).await?;
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

/// Events that were sent to an execution, in the order in which they came.
pub(super) async fn signals(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
) -> ApiResult {
    let id = path.execution()?;
    let limit = query.limit()?;
    let after = cursor::from_query(CursorKind::Signal, &query)?.unwrap_or(0);
    state.control.view(id).await?;
    let portion = Portion {
        steps: limit as usize,
        bytes: state.limits.page_bytes,
    };
    let (signals, more) = signals_after(&state, id, after, portion).await?;
    let next = signals.last().filter(|_| more);
    let next = next.map(|(place, _)| cursor::write(CursorKind::Signal, place));
    let shown = signals.iter().map(|(_, signal)| TakenSignal::from(signal));
    Ok(reply::ok(&Page {
        items: shown.collect(),
        next,
    }))
}

/// Read bit by bit, like steps: each may be as large as a request. Says whether there are more.
async fn signals_after(
    state: &ApiState,
    id: ExecutionId,
    mut after: u64,
    portion: Portion,
) -> ApiResult<(Vec<(u64, Signal)>, bool)> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    loop {
        let bite = state.store().signal_page(id, after, SIGNALS_BITE).await?;
        let at_end = bite.len() < SIGNALS_BITE as usize;
        for (place, signal) in bite {
            if found.len() == portion.steps || bytes >= portion.bytes {
                return Ok((found, true));
            }
            after = place;
            bytes += signal.payload.len();
            found.push((place, signal));
        }
        if at_end {
            return Ok((found, false));
        }
    }
}
