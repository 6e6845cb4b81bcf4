//! The path of an execution in columns.

use std::borrow::Cow;
use std::collections::HashMap;

use axum::extract::State;
use pawl_engine::control::{Lineage, Stretch};
use pawl_kernel::execution::StepStatus;
use pawl_kernel::ports::history::StepOutline;

use super::ApiState;
use super::error::ApiResult;
use super::path::PathParts;
use super::query::Query;
use super::{history, reply};
use crate::wire::{GoneSteps, Name, Outline, OutlinedNode, Time};

/// Steps in one answer.
const STEPS_MAX: usize = 50_000;
/// Rows that are read at once.
const BITE: u32 = 5_000;

pub(super) async fn show(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
) -> ApiResult {
    let id = path.execution()?;
    let after = query.whole("after")?.unwrap_or(0);
    let view = state.control.view(id).await?;
    let lineage = history::lineage(&state, &view, &query).await?;
    let mut found = Vec::new();
    for part in lineage.stretches.iter().filter(|part| part.up_to > after) {
        let part = Stretch {
            after: part.after.max(after),
            ..*part
        };
        read(&state, &part, &mut found).await?;
        if found.len() > STEPS_MAX {
            break;
        }
    }
    let next = (found.len() > STEPS_MAX).then(|| found[STEPS_MAX - 1].seq);
    found.truncate(STEPS_MAX);
    let begin = lineage.stretches.first().map_or(0, |part| part.after);
    let columns = Columns::of(&found);
    Ok(reply::ok(&Outline {
        seq: view.state.seq,
        base_seq: view.execution.head.base_seq,
        from: found.first().map_or(begin.max(after) + 1, |step| step.seq),
        next,
        gone: lineage.gone.as_ref().map(GoneSteps::from),
        ..columns.outline
    }))
}

/// Adds the steps of one execution, up to one more than an answer holds.
async fn read(state: &ApiState, part: &Stretch, found: &mut Vec<StepOutline>) -> ApiResult<()> {
    let begin = found.len();
    let mut last = part.after;
    while found.len() <= STEPS_MAX {
        let bite = state.store().outline(part.id, last, part.up_to, BITE);
        let bite = bite.await?;
        let at_end = bite.len() < BITE as usize;
        last = bite.last().map_or(last, |step| step.seq);
        found.extend(bite);
        if at_end {
            break;
        }
    }
    name_exits(state, part, &mut found[begin..]).await
}

/// Which step was this visit of a node.
pub(super) async fn seq_of_visit(
    state: &ApiState,
    lineage: &Lineage,
    node: &str,
    visit: u32,
) -> ApiResult<Option<u64>> {
    let mut seen = 0;
    for part in &lineage.stretches {
        let mut last = part.after;
        loop {
            let bite = state.store().outline(part.id, last, part.up_to, BITE);
            let bite = bite.await?;
            for step in bite.iter().filter(|step| *step.node_id == *node) {
                seen += 1;
                if seen == visit {
                    return Ok(Some(step.seq));
                }
            }
            last = bite.last().map_or(last, |step| step.seq);
            if bite.len() < BITE as usize {
                break;
            }
        }
    }
    Ok(None)
}

/// As for whole steps: those that are older than their exits.
async fn name_exits(state: &ApiState, part: &Stretch, steps: &mut [StepOutline]) -> ApiResult<()> {
    let unnamed = |step: &StepOutline| step.handle.is_none() && step.next_node_id.is_some();
    if !steps.iter().any(unnamed) {
        return Ok(());
    }
    let Some(graph) = state.control.graph_of(part).await? else {
        return Ok(());
    };
    for step in steps.iter_mut().filter(|step| unnamed(step)) {
        step.handle = history::exit(&graph, &step.node_id, step.next_node_id.as_deref());
    }
    Ok(())
}

/// Columns that grow step by step, and which node and exit has which number.
struct Columns<'a> {
    outline: Outline<'a>,
    nodes: HashMap<(&'a str, &'a str), usize>,
    handles: HashMap<&'a str, usize>,
}

impl<'a> Columns<'a> {
    fn of(steps: &'a [StepOutline]) -> Self {
        let statuses = StepStatus::ALL.iter().copied();
        let mut columns = Self {
            outline: Outline {
                seq: 0,
                base_seq: 0,
                from: 0,
                nodes: Vec::new(),
                statuses: statuses.map(Name::from).collect(),
                handles: Vec::new(),
                origin: steps.first().map(|step| Time(step.started_at)),
                node: Vec::with_capacity(steps.len()),
                status: Vec::with_capacity(steps.len()),
                handle: Vec::with_capacity(steps.len()),
                start: Vec::with_capacity(steps.len()),
                duration: Vec::with_capacity(steps.len()),
                tries: Vec::with_capacity(steps.len()),
                next: None,
                gone: None,
            },
            nodes: HashMap::new(),
            handles: HashMap::new(),
        };
        let origin = steps.first().map_or(0, |step| step.started_at.as_micros());
        for step in steps {
            columns.add(step, origin);
        }
        columns
    }

    fn add(&mut self, step: &'a StepOutline, origin: i64) {
        let outline = &mut self.outline;
        let key = (&*step.node_id, &*step.node_type);
        let node = *self.nodes.entry(key).or_insert_with(|| {
            outline.nodes.push(OutlinedNode {
                id: Cow::from(key.0),
                node_type: Cow::from(key.1),
            });
            outline.nodes.len() - 1
        });
        let handle = step.handle.as_deref().map(|name| {
            *self.handles.entry(name).or_insert_with(|| {
                outline.handles.push(Cow::from(name));
                outline.handles.len() - 1
            })
        });
        let (start, end) = (step.started_at.as_micros(), step.finished_at.as_micros());
        let status = StepStatus::ALL.iter().position(|one| *one == step.status);
        outline.node.push(node);
        outline.status.push(status.unwrap_or_default());
        outline.handle.push(handle);
        outline.start.push(start.saturating_sub(origin));
        outline.duration.push(end.saturating_sub(start));
        outline.tries.push(step.tries);
    }
}
