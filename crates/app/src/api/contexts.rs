//! Contexts: before and after a step, whole or a part in so many bytes.

use std::borrow::Cow;

use axum::extract::State;
use pawl_kernel::context::{Context, difference};
use pawl_kernel::json::cut::{Cutter, size};
use pawl_kernel::ports::store::ExecutionView;
use serde_json::{Map, Value, json};

use super::error::{ApiError, ApiResult};
use super::path::PathParts;
use super::query::Query;
use super::{ApiState, history, reply};
use crate::wire::{Change, ContextAnswer, ContextView, CurrentContext, Name, StepContext};

const BYTES_DEFAULT: usize = 64 << 10;
pub(super) const BYTES_LEAST: u64 = 1_000;
/// What both contexts of a step may have together, and more.
pub(super) const BYTES_MOST: u64 = 32 << 20;
pub(super) const DEPTH_MOST: u64 = 64;
/// A change that is cut takes about so much.
const CHANGE_BYTES: usize = 250;

pub(super) const VIEWS: [&str; 3] = ["difference", "before", "after"];

/// What part of a context is to be shown, and how large.
struct ContextPart {
    view: &'static str,
    pointer: String,
    depth: Option<usize>,
    bytes: usize,
}

impl ContextPart {
    /// None: whole, as callers without parameters know it.
    fn of(query: &Query) -> ApiResult<Option<Self>> {
        let names = ["view", "pointer", "depth", "max_bytes"];
        if names.iter().all(|name| query.get(name).is_none()) {
            return Ok(None);
        }
        let within = |name: &str, least: u64, most: u64| match query.whole(name)? {
            Some(number) if !(least..=most).contains(&number) => Err(ApiError::invalid_query(
                format!("`{name}` must be between {least} and {most}"),
            )),
            number => Ok(number.map(|number| number as usize)),
        };
        let pointer = query.get("pointer").unwrap_or_default();
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let message = "`pointer` must be a JSON pointer like /variables/total";
            return Err(ApiError::invalid_query(message));
        }
        Ok(Some(Self {
            view: query.choice("view", &VIEWS)?.unwrap_or("after"),
            pointer: pointer.to_owned(),
            depth: within("depth", 0, DEPTH_MOST)?,
            bytes: within("max_bytes", BYTES_LEAST, BYTES_MOST)?.unwrap_or(BYTES_DEFAULT),
        }))
    }
}

/// The context before and after a step, and the difference.
pub(super) async fn of_step(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
) -> ApiResult {
    let id = path.execution()?;
    let answer = match ContextPart::of(&query)? {
        None => {
            ContextAnswer::Whole(whole(&state, path.seq()?, &state.control.view(id).await?).await?)
        }
        Some(wanted) => {
            let seq = path.seq_or_start()?;
            let view = state.control.view(id).await?;
            ContextAnswer::View(part(&state, &view, seq, wanted).await?)
        }
    };
    Ok(reply::ok(&answer))
}

async fn whole(state: &ApiState, seq: u64, view: &ExecutionView) -> ApiResult<StepContext> {
    let (before, after) = around(state, view, seq).await?;
    let difference: Vec<Change> = changes(&before, &after)?;
    Ok(StepContext {
        seq,
        before: roots(before),
        after: roots(after),
        difference,
    })
}

/// What a step of this history saw, and what there was after it.
async fn around(state: &ApiState, view: &ExecutionView, seq: u64) -> ApiResult<(Value, Value)> {
    let maker = state.control.maker(view, seq).await?;
    let step = history::step_of(state, &maker, seq).await?;
    let before = state.control.context_at(&maker, seq - 1).await?;
    let mut after = before.clone();
    after.apply_step(&step).map_err(ApiError::internal)?;
    Ok((value(before), value(after)))
}

async fn part(
    state: &ApiState,
    view: &ExecutionView,
    seq: u64,
    wanted: ContextPart,
) -> ApiResult<ContextView> {
    if seq > view.state.seq {
        let message = format!("the execution has no step {seq}");
        return Err(ApiError::not_found(message));
    }
    match (wanted.view, seq) {
        ("difference", 0) => shown_changes(seq, wanted, Vec::new()),
        ("difference", _) => {
            let (before, after) = around(state, view, seq).await?;
            shown_changes(seq, wanted, changes(&before, &after)?)
        }
        ("before", 0) => Err(ApiError::not_found("there is no context before step 0")),
        (side, _) => {
            let maker = state.control.maker(view, seq).await?;
            let at = if side == "before" { seq - 1 } else { seq };
            let context = state.control.context_at(&maker, at).await?;
            shown_value(seq, wanted, value(context))
        }
    }
}

fn shown_value(seq: u64, wanted: ContextPart, mut context: Value) -> ApiResult<ContextView> {
    let Some(found) = context.pointer_mut(&wanted.pointer) else {
        let message = format!("there is nothing at `{}` in this context", wanted.pointer);
        return Err(ApiError::not_found(message));
    };
    let found = found.take();
    let bytes = size(&found);
    let mut cutter = Cutter::new(wanted.depth);
    let value = cutter.fit(found, wanted.bytes, "/value".into());
    Ok(ContextView {
        seq,
        view: Name::new(wanted.view),
        pointer: wanted.pointer,
        bytes,
        value: Some(value),
        difference: None,
        cut: cutter.places,
        left_out: 0,
    })
}

fn shown_changes(seq: u64, wanted: ContextPart, mut all: Vec<Change>) -> ApiResult<ContextView> {
    all.retain(|change| touches(&change.path, &wanted.pointer));
    let bytes = size(&json!(all));
    let count = all.len();
    all.truncate(wanted.bytes / CHANGE_BYTES);
    let mut cutter = Cutter::new(wanted.depth);
    let mut sides = Vec::new();
    for (at, change) in all.iter_mut().enumerate() {
        let sided = [
            ("before", change.before.take()),
            ("after", change.after.take()),
        ];
        for (side, value) in sided {
            sides.extend(value.map(|value| (at, side, value)));
        }
    }
    let values = sides
        .iter_mut()
        .map(|(at, side, value)| (format!("/difference/{at}/{side}"), value.take()));
    let values = cutter.fit_all(values.collect(), wanted.bytes);
    for ((at, side, _), value) in sides.into_iter().zip(values) {
        match side {
            "before" => all[at].before = Some(value),
            _ => all[at].after = Some(value),
        }
    }
    Ok(ContextView {
        seq,
        view: Name::new(wanted.view),
        pointer: wanted.pointer,
        bytes,
        value: None,
        left_out: count - all.len(),
        difference: Some(all),
        cut: cutter.places,
    })
}

/// Is a change at this path one of what the pointer names, of a part of it, or of what it is a part of?
fn touches(path: &str, pointer: &str) -> bool {
    let inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    inside(path, pointer) || inside(pointer, path)
}

fn changes(before: &Value, after: &Value) -> ApiResult<Vec<Change>> {
    serde_json::from_value(difference(before, after).into()).map_err(ApiError::internal)
}

/// The context as it is now.
pub(super) async fn current(State(state): State<ApiState>, path: PathParts) -> ApiResult {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, after: Value) -> Change {
        let json = json!({"op": "changed", "path": path, "before": 1, "after": after});
        serde_json::from_value(json).unwrap()
    }

    fn wanted(pointer: &str, bytes: usize) -> ContextPart {
        ContextPart {
            view: "difference",
            pointer: pointer.into(),
            depth: None,
            bytes,
        }
    }

    #[test]
    fn changes_that_do_not_fit_are_cut_or_counted() {
        let long = "x".repeat(9_000);
        let all = vec![
            change("/variables/a", json!(2)),
            change("/steps/b", json!(long)),
        ];
        let shown = shown_changes(3, wanted("", 2_000), all).ok().unwrap();
        let difference = shown.difference.unwrap();
        assert_eq!(difference[0].after, Some(json!(2)));
        assert_eq!(difference[1].after.as_ref().unwrap()["$cut"], 9_002);
        assert_eq!(shown.cut, ["/difference/1/after"]);
        let many = (0..100).map(|n| change(&format!("/variables/v{n}"), json!(n)));
        let shown = shown_changes(3, wanted("", 2_000), many.collect())
            .ok()
            .unwrap();
        assert_eq!((shown.difference.unwrap().len(), shown.left_out), (8, 92));
    }

    #[test]
    fn a_pointer_takes_what_is_at_it_below_it_and_above_it() {
        let paths = |pointer: &str| {
            let all = ["/a", "/a/b", "/a/bc", "/a/b/c"].map(|path| change(path, json!(2)));
            let shown = shown_changes(1, wanted(pointer, 9_000), all.into())
                .ok()
                .unwrap();
            let paths = shown.difference.unwrap().into_iter().map(|one| one.path);
            paths.collect::<Vec<_>>()
        };
        assert_eq!(paths("/a/b"), ["/a", "/a/b", "/a/b/c"]);
        assert_eq!(paths("/a/b/c/d"), ["/a", "/a/b", "/a/b/c"]);
        assert_eq!(paths("/z"), [""; 0]);
    }
}
