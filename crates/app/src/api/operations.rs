//! Node types, the doctor.

use axum::extract::State;
use pawl_engine::insight::doctor::{self, Report};
use serde_json::{Map, Value, json};

use super::ApiState;
use super::body::OptionalJson;
use super::error::{ApiError, ApiResult};
use super::fields::Fields;
use super::guard::shorten;
use super::path::PathParts;
use super::query::Query;
use super::wire::{self, Page};

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
    let name = path.get("type");
    match state.parts().registry.get(name) {
        Some(handler) => Ok(wire::ok(&handler.spec().to_value())),
        None => Err(ApiError::not_found(format!(
            "there is no node type `{}`",
            shorten(name)
        ))),
    }
}

/// Looks only: a GET never changes anything.
pub(super) async fn examine(State(state): State<ApiState>, query: Query) -> ApiResult {
    if query.flag("fix")? {
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
