//! Node types, the doctor, dead letters, workers, health.

use axum::extract::State;
use pawl_engine::insight::doctor::{self, Report};
use serde_json::{Map, Value, json};
use tokio::time::{Duration, timeout};

use super::ApiState;
use super::body::OptionalJson;
use super::cursor::{self, Kind};
use super::error::{ApiError, ApiResult};
use super::fields::Fields;
use super::path::PathParts;
use super::query::RawQuery;
use super::wire::{self, DeadLetterJson, Page};

/// A store that takes longer is not ready, whatever it answers then.
const READY_TIME: Duration = Duration::from_secs(2);

pub(super) async fn node_types(State(state): State<ApiState>) -> ApiResult {
    let items = state
        .parts()
        .registry
        .iter()
        .map(|handler| handler.spec().to_value())
        .collect();
    Ok(wire::ok(&Page::<Value> { items, next: None }))
}

pub(super) async fn node_type(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    match state.parts().registry.get(path.get("type")) {
        Some(handler) => Ok(wire::ok(&handler.spec().to_value())),
        None => Err(ApiError::not_found("there is no such node type")),
    }
}

/// Looks only: a GET never changes anything.
pub(super) async fn examine(State(state): State<ApiState>, raw: RawQuery) -> ApiResult {
    if raw.with(&[&["fix"]])?.flag("fix")? {
        return Err(ApiError::invalid_query(
            "a GET repairs nothing; send a POST",
        ));
    }
    report(&state, false).await
}

pub(super) async fn repair(
    State(state): State<ApiState>,
    OptionalJson(body): OptionalJson,
) -> ApiResult {
    let fix = Fields::of_optional(body, &["fix"])?
        .flag("fix")?
        .unwrap_or(true);
    report(&state, fix).await
}

async fn report(state: &ApiState, fix: bool) -> ApiResult {
    let Report {
        open_executions,
        findings,
        about,
    } = doctor::examine(state.parts(), fix).await?;
    let about: Map<String, Value> = about
        .into_iter()
        .map(|(name, fact)| (name, fact.into()))
        .collect();
    let healthy = findings.iter().all(|finding| finding.fixed);
    Ok(wire::ok(&json!({
        "healthy": healthy, "open_executions": open_executions, "findings": findings, "about": about,
    })))
}

pub(super) async fn dead_letters(State(state): State<ApiState>, raw: RawQuery) -> ApiResult {
    let query = raw.with(&[&["limit", "cursor"]])?;
    let limit = query.limit()?;
    let after = cursor::from_query(Kind::DeadLetter, &query)?.unwrap_or(0);
    let mut letters = state.store().dead_letters(after, limit + 1).await?;
    let more = letters.len() > limit as usize;
    letters.truncate(limit as usize);
    let next = letters
        .last()
        .filter(|_| more)
        .map(|letter| cursor::write(Kind::DeadLetter, letter.id));
    Ok(wire::ok(&Page {
        items: letters.iter().map(DeadLetterJson::from).collect(),
        next,
    }))
}

/// The worker of this process; on one data folder there is no other.
pub(super) async fn workers(State(state): State<ApiState>) -> ApiResult {
    let (options, registry) = (&state.parts().options, &state.parts().registry);
    let worker = json!({
        "id": options.worker_id,
        "slots": options.slots,
        "node_types": registry.types().collect::<Vec<_>>(),
        "roles": ["engine", "timers", "reaper"],
        "version": env!("CARGO_PKG_VERSION"),
    });
    Ok(wire::ok(&Page {
        items: vec![worker],
        next: None,
    }))
}

pub(super) async fn live() -> ApiResult {
    Ok(wire::ok(&json!({"status": "ok"})))
}

pub(super) async fn ready(State(state): State<ApiState>) -> ApiResult {
    if state.stop.is_cancelled() {
        return Err(ApiError::unavailable("the server is shutting down"));
    }
    match timeout(READY_TIME, state.store().about()).await {
        Ok(Ok(_)) => Ok(wire::ok(&json!({"status": "ok"}))),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(ApiError::unavailable("the store does not answer")),
    }
}
