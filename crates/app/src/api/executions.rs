//! Starting, finding and showing executions.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use pawl_engine::control::{SchemaKey, StartRequest, Started};
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::start_key;
use pawl_kernel::time::Timestamp;
use serde_json::{Map, Number, Value, json};
use std::time::Duration;

use super::ApiState;
use super::body::JsonBody;
use super::cursor::{self, Kind};
use super::error::{ApiError, ApiResult};
use super::fields::{Fields, check_text, mismatch, unknown_name};
use super::guard::Identity;
use super::path::PathParts;
use super::query::{self, Query};
use super::waiting;
use super::wire::{self, ExecutionJson, Page};

pub(super) const START_FIELDS: &[&str] = &[
    "schema",
    "schema_id",
    "version",
    "input",
    "variables",
    "debug_mode",
    "priority",
    "tenant",
    "labels",
    "idempotency_key",
    "start_at",
];

const LABELS_MAX: usize = 64;

/// Nobody plans further ahead, and every clock and database holds it.
const START_AHEAD_MAX: Duration = Duration::from_secs(100 * 366 * 86_400);

pub(super) async fn start(
    State(state): State<ApiState>,
    identity: Identity,
    query: Query,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let wait = query.wait(&state)?;
    let mut request = start_request(Fields::of(body, START_FIELDS)?, state.now())?;
    adopt_headers(&mut request, &headers)?;
    request.created_by = identity.created_by;
    request.user = Some(identity.user);
    let started = state.control.start(request).await?;
    answer_started(&state, started, wait).await
}

/// 201 for a new execution, 200 for the one an idempotency key made before.
pub(super) async fn answer_started(
    state: &ApiState,
    started: Started,
    wait: Option<Duration>,
) -> ApiResult {
    let view = waiting::for_end(state, started.id, wait).await?;
    let status = if started.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let shown = ExecutionJson::from(&view).warning(&started.warnings);
    let mut response = wire::json(status, &shown);
    if let Ok(place) = HeaderValue::from_str(&format!("/api/executions/{}", started.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// By whichever way it came.
pub(super) fn start_request(mut fields: Fields, now: Timestamp) -> ApiResult<StartRequest> {
    Ok(StartRequest {
        schema: schema_key(&mut fields)?,
        version: version(&mut fields)?,
        input: fields.take("input"),
        variables: fields.object("variables")?,
        debug_mode: fields.flag("debug_mode")?.unwrap_or(false),
        priority: priority(&mut fields)?,
        tenant: fields.text("tenant")?,
        labels: labels(&mut fields)?,
        idempotency_key: fields.text("idempotency_key")?,
        start_at: start_at(&mut fields, now)?,
        ..StartRequest::default()
    })
}

/// A number is an `external_id`, a text a name or an id.
fn schema_key(fields: &mut Fields) -> ApiResult<SchemaKey> {
    if fields.number("schema").is_some() {
        return Err(ApiError::invalid_request(
            "`schema` must be a text, the name or id of a schema; a number is an `external_id`, which `schema_id` takes",
        )
        .details(json!({"field": "schema"})));
    }
    let number = fields.number("schema_id");
    match (fields.text("schema")?, number, fields.text("schema_id")?) {
        (Some(key), None, None) | (None, None, Some(key)) => Ok(SchemaKey::Text(key)),
        (None, Some(number), _) => external_id(&number),
        (None, None, None) => Err(ApiError::invalid_request(
            "`schema` is missing: the name or id of a schema (or `schema_id`, which also takes its `external_id`)",
        )),
        (Some(_), _, _) => Err(ApiError::invalid_request(
            "give `schema` or `schema_id`, not both",
        )),
    }
}

fn external_id(number: &Number) -> ApiResult<SchemaKey> {
    let whole = number.as_i64().map(SchemaKey::Number);
    whole.ok_or_else(|| {
        ApiError::not_found(format!(
            "there is no schema with `external_id` {number}: it is a whole number"
        ))
    })
}

fn version(fields: &mut Fields) -> ApiResult<Option<u32>> {
    let number = fields.whole("version")?;
    number.map(version_number).transpose()
}

pub(super) fn version_number(number: u64) -> ApiResult<u32> {
    match u32::try_from(number) {
        Ok(version) if version > 0 => Ok(version),
        _ => Err(mismatch(
            "version",
            "a version number, from 1",
            &number.into(),
        )),
    }
}

fn priority(fields: &mut Fields) -> ApiResult<Option<PriorityClass>> {
    let Some(name) = fields.text("priority")? else {
        return Ok(None);
    };
    let known: Vec<&str> = PriorityClass::ALL
        .iter()
        .map(|class| class.name())
        .collect();
    let wrong = || ApiError::invalid_request(unknown_name("priority", &name, &known));
    PriorityClass::from_name(&name).map(Some).ok_or_else(wrong)
}

fn labels(fields: &mut Fields) -> ApiResult<Map<String, Value>> {
    let labels = fields.object("labels")?;
    if labels.len() > LABELS_MAX {
        return Err(ApiError::invalid_request(format!(
            "`labels` holds more than {LABELS_MAX}"
        )));
    }
    for (name, value) in &labels {
        check_text("labels", name)?;
        match value {
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => check_text("labels", text)?,
            Value::Bool(_) | Value::Number(_) => {}
            other => return Err(mismatch("labels", "an object of texts", other)),
        }
    }
    Ok(labels)
}

fn start_at(fields: &mut Fields, now: Timestamp) -> ApiResult<Option<Timestamp>> {
    let Some(text) = fields.text("start_at")? else {
        return Ok(None);
    };
    let at = query::moment("start_at", &text).map_err(ApiError::invalid_request)?;
    if at > now.plus(START_AHEAD_MAX) {
        return Err(ApiError::invalid_request(
            "`start_at` is more than a hundred years ahead",
        ));
    }
    Ok(Some(at))
}

/// `Idempotency-Key` and `X-Correlation-Id` say what the body can say, and what callers pass on.
fn adopt_headers(request: &mut StartRequest, headers: &HeaderMap) -> ApiResult<()> {
    request.idempotency_key = idempotency_key(request.idempotency_key.take(), headers)?;
    request.correlation_id = header_text(headers, &HeaderName::from_static("x-correlation-id"))?;
    Ok(())
}

/// From the body or the header; both may say the same.
pub(super) fn idempotency_key(
    given: Option<String>,
    headers: &HeaderMap,
) -> ApiResult<Option<String>> {
    let header = header_text(headers, &HeaderName::from_static("idempotency-key"))?;
    let key = match (given, header) {
        (Some(given), Some(key)) if given != key => {
            return Err(ApiError::invalid_header(
                "header and body name different idempotency keys",
            ));
        }
        (given, key) => given.or(key),
    };
    match key.as_deref().and_then(start_key::reserved) {
        Some(problem) => {
            Err(ApiError::invalid_request(problem).details(json!({"field": "idempotency_key"})))
        }
        None => Ok(key),
    }
}

pub(super) fn header_text(headers: &HeaderMap, name: &HeaderName) -> ApiResult<Option<String>> {
    let mut all = headers.get_all(name).iter();
    let Some(value) = all.next() else {
        return Ok(None);
    };
    if all.next().is_some() {
        let message = format!("the header `{name}` comes twice");
        return Err(ApiError::invalid_header(message));
    }
    let wrong = |_| {
        ApiError::invalid_header(format!(
            "the header `{name}` must hold 1 to 255 plain characters"
        ))
    };
    let text = value.to_str().map_err(|error| wrong(error.to_string()))?;
    check_text(name.as_str(), text).map_err(|error| wrong(error.message().to_owned()))?;
    Ok(Some(text.to_owned()))
}

pub(super) async fn list(State(state): State<ApiState>, query: Query) -> ApiResult {
    let limit = query.limit()?;
    let before: Option<ExecutionId> = cursor::from_query(Kind::Execution, &query)?;
    let filter = query.filter(&state).await?;
    // One more than asked for tells whether there is a next page.
    let mut views = state.store().executions(filter, before, limit + 1).await?;
    let more = views.len() > limit as usize;
    views.truncate(limit as usize);
    let last = views.last().filter(|_| more);
    let next = last.map(|view| cursor::write(Kind::Execution, view.execution.head.id));
    Ok(wire::ok(&Page {
        items: views.iter().map(ExecutionJson::from).collect(),
        next,
    }))
}

pub(super) async fn get(State(state): State<ApiState>, path: PathParts, query: Query) -> ApiResult {
    let id = path.execution()?;
    let wait = query.wait(&state)?;
    show(&state, id, wait).await
}

pub(super) async fn show(
    state: &ApiState,
    id: ExecutionId,
    wait: Option<Duration>,
) -> ApiResult<Response> {
    let view = waiting::for_end(state, id, wait).await?;
    Ok(wire::ok(&ExecutionJson::from(&view)))
}
