//! Starting, finding and showing executions.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use pawl_engine::control::{SchemaKey, StartOutcome, StartRequest};
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::ExecutionView;
use pawl_kernel::start_key;
use pawl_kernel::time::Timestamp;
use pawl_kernel::trial::Trial;
use serde_json::{Map, Number, Value, json};
use std::time::Duration;

use super::ApiState;
use super::body::JsonBody;
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::fields::{self, check_text, mismatch, unknown_name};
use super::guard::Identity;
use super::path::PathParts;
use super::query::{self, Query};
use super::reply;
use super::waiting;
use crate::wire::{self, Execution, Page, Reference, StartRecord, Text};

const LABELS_MAX: usize = 64;

pub(super) const LIST_VIEWS: [&str; 2] = ["full", "brief"];
pub(super) const INCLUDED: [&str; 1] = ["initial"];

/// No user plans further ahead, and every clock and database holds it.
const START_AHEAD_MAX: Duration = Duration::from_secs(100 * 366 * 86_400);

pub(super) async fn start(
    State(state): State<ApiState>,
    identity: Identity,
    query: Query,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let wait = query.wait(&state)?;
    let mut request = start_request(fields::read(body)?, state.now())?;
    adopt_headers(&mut request, &headers)?;
    request.created_by = identity.created_by;
    request.user = Some(identity.user);
    let started = state.control.start(request).await?;
    answer_started(&state, started, wait).await
}

/// 201 for a new execution, 200 for the one an idempotency key made before.
pub(super) async fn answer_started(
    state: &ApiState,
    started: StartOutcome,
    wait: Option<Duration>,
) -> ApiResult {
    let view = waiting::for_end(state, started.id, wait).await?;
    let status = if started.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let shown = Execution::from(&view).warning(&started.warnings);
    let mut response = reply::json(status, &shown);
    if let Ok(place) = HeaderValue::from_str(&format!("/api/executions/{}", started.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// By whichever way it came.
pub(super) fn start_request(asked: wire::StartRequest, now: Timestamp) -> ApiResult<StartRequest> {
    Ok(StartRequest {
        schema: schema_key(asked.schema, asked.schema_id)?,
        version: asked.version.map(version_number).transpose()?,
        input: asked.input,
        variables: asked.variables.unwrap_or_default(),
        debug_mode: asked.debug_mode.unwrap_or(false),
        priority: asked.priority.map(priority).transpose()?,
        tenant: asked.tenant.map(|tenant| tenant.0),
        labels: labels(asked.labels.unwrap_or_default())?,
        idempotency_key: asked.idempotency_key.map(|key| key.0),
        start_at: asked.start_at.map(|at| start_at(&at, now)).transpose()?,
        trial: asked.trial.map(trial),
        ..StartRequest::default()
    })
}

fn trial(asked: wire::TrialRequest) -> Trial {
    Trial {
        stop_after: asked.stop_after.map(|node| node.0),
        with_stored_pins: asked.pins.unwrap_or(false),
        ..Trial::default()
    }
}

/// A number is an `external_id`, a text a name or an id.
fn schema_key(schema: Option<Reference>, schema_id: Option<Reference>) -> ApiResult<SchemaKey> {
    match (schema, schema_id) {
        (Some(Reference::Number(_)), _) => Err(ApiError::invalid_request(
            "`schema` must be a text, the name or id of a schema; a number is an `external_id`, which `schema_id` takes",
        )
        .details(json!({"field": "schema"}))),
        (Some(Reference::Text(key)), None) => {
            check_text("schema", &key).map(|()| SchemaKey::Text(key))
        }
        (None, Some(Reference::Text(key))) => {
            check_text("schema_id", &key).map(|()| SchemaKey::Text(key))
        }
        (None, Some(Reference::Number(number))) => external_id(&number),
        (None, None) => Err(ApiError::invalid_request(
            "`schema` is missing: the name or id of a schema (or `schema_id`, which also takes its `external_id`)",
        )),
        (Some(_), Some(_)) => Err(ApiError::invalid_request(
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

fn priority(Text(name): Text) -> ApiResult<PriorityClass> {
    let known: Vec<&str> = PriorityClass::ALL
        .iter()
        .map(|class| class.name())
        .collect();
    let wrong = || ApiError::invalid_request(unknown_name("priority", &name, &known));
    PriorityClass::from_name(&name).ok_or_else(wrong)
}

fn labels(labels: Map<String, Value>) -> ApiResult<Map<String, Value>> {
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

fn start_at(Text(text): &Text, now: Timestamp) -> ApiResult<Timestamp> {
    let at = query::moment("start_at", text).map_err(ApiError::invalid_request)?;
    if at > now.plus(START_AHEAD_MAX) {
        return Err(ApiError::invalid_request(
            "`start_at` is more than a hundred years ahead",
        ));
    }
    Ok(at)
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
    let before: Option<ExecutionId> = cursor::from_query(CursorKind::Execution, &query)?;
    let filter = query.filter(&state).await?;
    let brief = query.choice("view", &LIST_VIEWS)? == Some("brief");
    // One more than asked for tells whether there is a next page.
    let found = match brief {
        true => state.store().execution_briefs(filter, before, limit + 1),
        false => state.store().executions(filter, before, limit + 1),
    };
    let mut views = found.await?;
    let more = views.len() > limit as usize;
    views.truncate(limit as usize);
    let last = views.last().filter(|_| more);
    let next = last.map(|view| cursor::write(CursorKind::Execution, view.execution.head.id));
    let shown = match brief {
        true => Execution::brief,
        false => Execution::from,
    };
    Ok(reply::ok(&Page {
        items: views.iter().map(shown).collect(),
        next,
    }))
}

pub(super) async fn get(State(state): State<ApiState>, path: PathParts, query: Query) -> ApiResult {
    let id = path.execution()?;
    let wait = query.wait(&state)?;
    let view = waiting::for_end(&state, id, wait).await?;
    let notes = state.control.notes(id).await?;
    let initial = match query.choice("include", &INCLUDED)? {
        Some(_) => Some(start_record(&view)?),
        None => None,
    };
    let shown = Execution::from(&view).with_notes(&notes);
    Ok(reply::ok(&shown.with_initial(initial)))
}

/// What it was started with, but for the user, whom `created_by` names.
fn start_record(view: &ExecutionView) -> ApiResult<StartRecord> {
    let stored = &view.execution.record.initial;
    let mut fields: Map<String, Value> =
        serde_json::from_str(stored).map_err(ApiError::internal)?;
    let mut take = |name: &str| fields.get_mut(name).map(Value::take).unwrap_or_default();
    let variables = match take("variables") {
        Value::Object(variables) => variables,
        _ => Map::new(),
    };
    Ok(StartRecord {
        input: take("input"),
        webhook: take("webhook"),
        variables,
    })
}

/// The version that it runs, also of a schema that was deleted.
pub(super) async fn definition(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let view = state.control.view(path.execution()?).await?;
    let head = &view.execution.head;
    let found = state.store().version(head.schema_id, head.schema_version);
    let Some(version) = found.await? else {
        let (number, name) = (head.schema_version, &view.schema_name);
        return Err(ApiError::not_found(format!(
            "version {number} of `{name}` is not kept any more"
        )));
    };
    let schema = state.store().schema(&head.schema_id.to_string()).await?;
    let published = schema.is_some_and(|schema| schema.published_version == version.version);
    Ok(reply::ok(&wire::PinnedDefinition {
        schema_id: head.schema_id.0,
        schema: view.schema_name.as_str().into(),
        version: wire::Version::new(&version, published),
        definition: wire::Payload::Stored(&version.definition),
    }))
}

pub(super) async fn show(
    state: &ApiState,
    id: ExecutionId,
    wait: Option<Duration>,
) -> ApiResult<Response> {
    let view = waiting::for_end(state, id, wait).await?;
    Ok(reply::ok(&Execution::from(&view)))
}
