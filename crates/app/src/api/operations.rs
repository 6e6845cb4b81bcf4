//! Node types, the doctor.

use axum::extract::State;
use pawl_engine::insight::doctor::{self, Report};
use pawl_kernel::schema::format;

use super::ApiState;
use super::body::OptionalJson;
use super::error::{ApiError, ApiResult};
use super::fields;
use super::guard::shorten;
use super::path::PathParts;
use super::query::Query;
use super::reply;
use crate::wire::{DoctorFinding, DoctorReport, DoctorRequest, NodeType, Page};

pub(super) async fn node_types(State(state): State<ApiState>) -> ApiResult {
    let items = state
        .runtime()
        .registry
        .iter()
        .map(|handler| NodeType::of(&**handler))
        .collect();
    Ok(reply::ok(&Page { items, next: None }))
}

/// What a schema file may hold, with the node types of this server.
pub(super) async fn format(State(state): State<ApiState>) -> ApiResult {
    Ok(reply::ok(&format::json_schema(&state.runtime().registry)))
}

pub(super) async fn node_type(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let name = path.get("type");
    match state.runtime().registry.get(name) {
        Some(handler) => Ok(reply::ok(&NodeType::of(&**handler))),
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
    let asked: DoctorRequest = fields::read_optional(body)?;
    report(&state, asked.fix.unwrap_or(true)).await
}

async fn report(state: &ApiState, fix: bool) -> ApiResult {
    let Report {
        open_executions,
        findings,
        about,
    } = doctor::examine(state.runtime(), fix).await?;
    let about = about.into_iter();
    Ok(reply::ok(&DoctorReport {
        healthy: findings.iter().all(|finding| finding.fixed),
        open_executions,
        findings: findings.into_iter().map(DoctorFinding::from).collect(),
        about: about.map(|(name, fact)| (name, fact.into())).collect(),
    }))
}
