//! Quotas: how many executions may be under way at once, set by people who run Pawl.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pawl_kernel::ports::quotas::{Holder, SetQuota};
use pawl_kernel::quota::{BadName, Quota, QuotaKind, QuotaName, Rate, Source};
use serde::Serialize;

use super::ApiState;
use super::access::AUDIT;
use super::body::JsonBody;
use super::cursor::{self, Kind};
use super::error::{ApiError, ApiResult};
use super::fields::Fields;
use super::guard::Identity;
use super::path::PathParts;
use super::query::Query;
use super::wire::{self, Page, Time};

/// More than these are counted, not shown.
const HOLDERS_SHOWN: u32 = 100;

#[derive(Serialize)]
struct QuotaJson<'a> {
    kind: &'static str,
    name: &'a str,
    limit: Option<u32>,
    rate: Option<String>,
    /// Executions that hold a place in it.
    used: u64,
    /// Executions in line that would take one.
    waiting: u64,
    /// `api`, `config`, or `settings` of a schema.
    source: &'static str,
    updated_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    holders: Option<Vec<HolderJson>>,
}

#[derive(Serialize)]
struct HolderJson {
    execution_id: String,
    since: Time,
}

impl<'a> From<&'a Quota> for QuotaJson<'a> {
    fn from(quota: &'a Quota) -> Self {
        Self {
            kind: quota.name.kind().name(),
            name: quota.name.name(),
            limit: quota.limit(),
            rate: quota.rate.map(|rate| rate.to_string()),
            used: quota.used,
            waiting: quota.waiting,
            source: quota.source.map_or("settings", Source::name),
            updated_at: Time(quota.updated_at),
            holders: None,
        }
    }
}

impl From<&Holder> for HolderJson {
    fn from(holder: &Holder) -> Self {
        Self {
            execution_id: holder.execution_id.to_string(),
            since: Time(holder.since),
        }
    }
}

pub(super) async fn list(State(state): State<ApiState>, query: Query) -> ApiResult {
    let limit = query.limit()?;
    let after: Option<QuotaName> = cursor::from_query(Kind::Quota, &query)?;
    let mut quotas = state.store().quotas(false, after, limit + 1).await?;
    let more = quotas.len() > limit as usize;
    quotas.truncate(limit as usize);
    let last = quotas.last().filter(|_| more);
    let next = last.map(|quota| cursor::write(Kind::Quota, &quota.name));
    Ok(wire::ok(&Page {
        items: quotas.iter().map(QuotaJson::from).collect(),
        next,
    }))
}

pub(super) async fn get(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let name = quota_name(&path)?;
    let found = state.store().quota(name.clone()).await?;
    let quota = found.ok_or_else(|| unknown(&name))?;
    let holders = state.store().holders(name, HOLDERS_SHOWN).await?;
    let shown = QuotaJson {
        holders: Some(holders.iter().map(HolderJson::from).collect()),
        ..QuotaJson::from(&quota)
    };
    Ok(wire::ok(&shown))
}

pub(super) async fn put(
    State(state): State<ApiState>,
    identity: Identity,
    path: PathParts,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let name = quota_name(&path)?;
    let mut fields = Fields::of(body, &["limit", "rate"])?;
    let set = SetQuota {
        limit: limit(&mut fields)?,
        rate: rate(&mut fields)?,
        source: Source::Api,
        name,
    };
    let quota = state.control.set_quota(set).await?;
    let (by, quota_name) = (&identity.created_by, &quota.name);
    tracing::info!(target: AUDIT, %by, quota = %quota_name, limit = ?quota.limit, "a quota was set");
    Ok(wire::ok(&QuotaJson::from(&quota)))
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
    ApiError::not_found(format!("nobody has set a quota {name}"))
}

fn limit(fields: &mut Fields) -> ApiResult<u32> {
    let limit = fields.whole("limit")?.ok_or_else(|| {
        ApiError::invalid_request("`limit` is missing: how many may be under way at once")
    })?;
    u32::try_from(limit)
        .map_err(|_| ApiError::invalid_request(format!("`limit` must be at most {}", u32::MAX)))
}

fn rate(fields: &mut Fields) -> ApiResult<Option<Rate>> {
    let Some(text) = fields.text("rate")? else {
        return Ok(None);
    };
    let rate = text
        .parse()
        .map_err(|reason: String| ApiError::invalid_request(reason))?;
    Ok(Some(rate))
}
