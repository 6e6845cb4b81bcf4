//! Quotas: how many executions may be under way at once, set by people who run Pawl.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pawl_kernel::ports::quotas::SetQuota;
use pawl_kernel::quota::{BadName, QuotaKind, QuotaName, QuotaSource, Rate};

use super::ApiState;
use super::access::AUDIT;
use super::body::JsonBody;
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::fields;
use super::guard::Identity;
use super::path::PathParts;
use super::query::Query;
use super::reply;
use crate::wire::{self, Page, Quota, QuotaHolder, Text};

/// More than these are counted, not shown.
const HOLDERS_SHOWN: u32 = 100;

pub(super) async fn list(State(state): State<ApiState>, query: Query) -> ApiResult {
    let limit = query.limit()?;
    let after: Option<QuotaName> = cursor::from_query(CursorKind::Quota, &query)?;
    let mut quotas = state.store().quotas(false, after, limit + 1).await?;
    let more = quotas.len() > limit as usize;
    quotas.truncate(limit as usize);
    let last = quotas.last().filter(|_| more);
    let next = last.map(|quota| cursor::write(CursorKind::Quota, &quota.name));
    Ok(reply::ok(&Page {
        items: quotas.iter().map(Quota::from).collect(),
        next,
    }))
}

pub(super) async fn get(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let name = quota_name(&path)?;
    let found = state.store().quota(name.clone()).await?;
    let quota = found.ok_or_else(|| unknown(&name))?;
    let holders = state.store().holders(name, HOLDERS_SHOWN).await?;
    let shown = Quota {
        holders: Some(holders.iter().map(QuotaHolder::from).collect()),
        ..Quota::from(&quota)
    };
    Ok(reply::ok(&shown))
}

pub(super) async fn put(
    State(state): State<ApiState>,
    identity: Identity,
    path: PathParts,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let name = quota_name(&path)?;
    let asked: wire::SetQuota = fields::read(body)?;
    let set = SetQuota {
        limit: limit(asked.limit)?,
        rate: rate(asked.rate)?,
        source: QuotaSource::Api,
        name,
    };
    let quota = state.control.set_quota(set).await?;
    let (by, quota_name) = (&identity.created_by, &quota.name);
    tracing::info!(target: AUDIT, %by, quota = %quota_name, limit = ?quota.limit, "a quota was set");
    Ok(reply::ok(&Quota::from(&quota)))
}

pub(super) async fn delete(
    State(state): State<ApiState>,
    identity: Identity,
    path: PathParts,
) -> ApiResult<Response> {
    let name = quota_name(&path)?;
    if !state.control.remove_quota(name.clone()).await? {
        return Err(unknown(&name));
    }
    tracing::info!(target: AUDIT, by = %identity.created_by, quota = %name, "a quota was removed");
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn quota_name(path: &PathParts) -> ApiResult<QuotaName> {
    let kind = path.get("kind");
    let kind = QuotaKind::from_name(kind)
        .ok_or_else(|| refused(&BadName::UnknownKind(kind.to_owned())))?;
    QuotaName::new(kind, path.get("name")).map_err(|error| refused(&error))
}

fn refused(error: &BadName) -> ApiError {
    match error {
        BadName::UnknownKind(_) => ApiError::not_found(error.to_string()),
        _ => ApiError::invalid_request(error.to_string()),
    }
}

fn unknown(name: &QuotaName) -> ApiError {
    ApiError::not_found(format!("no quota {name} has been set"))
}

fn limit(asked: Option<u64>) -> ApiResult<u32> {
    let limit = asked.ok_or_else(|| {
        ApiError::invalid_request("`limit` is missing: how many may be under way at once")
    })?;
    u32::try_from(limit)
        .map_err(|_| ApiError::invalid_request(format!("`limit` must be at most {}", u32::MAX)))
}

fn rate(asked: Option<Text>) -> ApiResult<Option<Rate>> {
    let Some(Text(text)) = asked else {
        return Ok(None);
    };
    let rate = text
        .parse()
        .map_err(|reason: String| ApiError::invalid_request(reason))?;
    Ok(Some(rate))
}
