//! What people ask of an execution. Every answer is the execution as it is then.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use pawl_engine::control::{ControlError, ForkRequest, RetryRequest, WantedVersion};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::ContinueMode;
use pawl_kernel::time::{duration_from_seconds, parse_duration};
use serde_json::{Value, json};

use super::ApiState;
use super::body::{JsonBody, OptionalJson};
use super::error::{ApiError, ApiResult};
use super::executions::{self, header_text};
use super::fields::{self, check_text, mismatch};
use super::guard::{Identity, shorten};
use super::path::PathParts;
use super::query::Query;
use super::reply;
use crate::wire::{self, Execution, NoFields, Span};

pub(super) async fn pause(
    State(state): State<ApiState>,
    path: PathParts,
    body: OptionalJson,
) -> ApiResult {
    let id = plain(&path, body)?;
    state.control.pause(id).await?;
    executions::show(&state, id, None).await
}

pub(super) async fn resume(
    State(state): State<ApiState>,
    path: PathParts,
    body: OptionalJson,
) -> ApiResult {
    let id = plain(&path, body)?;
    state.control.resume(id).await?;
    executions::show(&state, id, None).await
}

/// Hands a live execution to the debugger.
pub(super) async fn debug(
    State(state): State<ApiState>,
    path: PathParts,
    body: OptionalJson,
) -> ApiResult {
    let id = plain(&path, body)?;
    state.control.debug(id).await?;
    executions::show(&state, id, None).await
}

pub(super) async fn stop(
    State(state): State<ApiState>,
    path: PathParts,
    body: OptionalJson,
) -> ApiResult {
    let id = plain(&path, body)?;
    state.control.stop(id).await?;
    executions::show(&state, id, None).await
}

/// Commands without parameters: nothing a client sends is silently ignored.
fn plain(path: &PathParts, OptionalJson(body): OptionalJson) -> ApiResult<ExecutionId> {
    let id = path.execution()?;
    let NoFields {} = fields::read_optional(body)?;
    Ok(id)
}

pub(super) async fn go_on(
    State(state): State<ApiState>,
    path: PathParts,
    OptionalJson(body): OptionalJson,
) -> ApiResult {
    let id = path.execution()?;
    let asked: wire::ContinueRequest = fields::read_optional(body)?;
    let mode = match asked.mode {
        None | Some(wire::ContinueMode::Step) => ContinueMode::Step,
        Some(wire::ContinueMode::Run) => ContinueMode::Run,
        Some(wire::ContinueMode::Until(nodes)) => ContinueMode::Until(nodes),
    };
    let variables = asked.variables.unwrap_or_default();
    // Afterwards every one of them is known.
    let warnings = match state.control.doubts_about(id, &variables).await {
        Ok(warnings) => warnings,
        Err(error @ ControlError::NotFound(_)) => return Err(error.into()),
        Err(error) => {
            // A history that cannot be read is no reason to refuse the command.
            tracing::warn!(execution_id = %id, %error, "variables of a continue were not checked");
            Vec::new()
        }
    };
    state
        .control
        .continue_debug(id, mode, variables, asked.expect_seq)
        .await?;
    let view = state.control.view(id).await?;
    Ok(reply::ok(&Execution::from(&view).warning(&warnings)))
}

pub(super) async fn retry(
    State(state): State<ApiState>,
    path: PathParts,
    identity: Identity,
    query: Query,
    headers: HeaderMap,
    OptionalJson(body): OptionalJson,
) -> ApiResult {
    let id = path.execution()?;
    let wait = query.wait(&state)?;
    let asked: wire::RetryRequest = fields::read_optional(body)?;
    let key = asked.idempotency_key.map(|key| key.0);
    let request = RetryRequest {
        max_steps: asked.max_steps,
        max_calls: asked.max_calls,
        max_duration: duration("max_duration", asked.max_duration)?,
        new_effect_key: asked.new_effect_key.unwrap_or(false),
        again: asked.again.unwrap_or(false),
        version: wanted_version(asked.version)?,
        variables: asked.variables.unwrap_or_default(),
        debug_mode: asked.debug_mode.unwrap_or(false),
        idempotency_key: executions::idempotency_key(key, &headers)?,
        created_by: identity.created_by,
        user: Some(identity.user),
    };
    let started = state.control.retry(id, request).await?;
    executions::answer_started(&state, started, wait).await
}

fn wanted_version(asked: Option<Value>) -> ApiResult<WantedVersion> {
    match asked {
        None => Ok(WantedVersion::Same),
        Some(Value::String(name)) if name == "latest" => Ok(WantedVersion::Latest),
        Some(Value::String(name)) => Err(ApiError::invalid_request(format!(
            "`{}` is not a version; write `latest` or a number",
            shorten(&name)
        ))),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(WantedVersion::Number(executions::version_number(number)?)),
            None => Err(mismatch(
                "version",
                "\"latest\" or a version number",
                &value,
            )),
        },
    }
}

/// A text like `1h30m`, or a number of seconds.
pub(super) fn duration(name: &str, asked: Option<Span>) -> ApiResult<Option<Duration>> {
    let read = match asked {
        None => return Ok(None),
        Some(Span::Text(text)) => parse_duration(&text),
        Some(Span::Seconds(number)) => duration_from_seconds(number.as_f64().unwrap_or(f64::NAN)),
    };
    read.map(Some)
        .map_err(|reason| ApiError::invalid_request(format!("`{name}`: {reason}")))
}

pub(super) async fn fork(
    State(state): State<ApiState>,
    path: PathParts,
    identity: Identity,
    query: Query,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let id = path.execution()?;
    let wait = query.wait(&state)?;
    let asked: wire::ForkRequest = fields::read(body)?;
    let request = ForkRequest {
        from_seq: asked.from_seq.ok_or_else(|| {
            ApiError::invalid_request("`from_seq` is missing: the last step to take over")
        })?,
        version: wanted_version(asked.version)?,
        variables: asked.variables.unwrap_or_default(),
        input: fork_input(asked.input)?,
        debug_mode: asked.debug_mode.unwrap_or(false),
        created_by: identity.created_by,
        user: Some(identity.user),
    };
    let started = state.control.fork(id, request).await?;
    executions::answer_started(&state, started, wait).await
}

/// The body is the payload. 202 for a signal that is new, 200 for one whose id was seen before.
pub(super) async fn signal(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
    headers: HeaderMap,
    OptionalJson(payload): OptionalJson,
) -> ApiResult {
    let id = path.execution()?;
    let name = path.get("name").to_owned();
    check_text("name", &name)?;
    let signal_id = signal_id(&query, &headers)?;
    let payload = payload.unwrap_or(Value::Null);
    let new = state.control.signal(id, name, &payload, signal_id).await?;
    let status = if new {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    let view = state.control.view(id).await?;
    Ok(reply::json(status, &Execution::from(&view)))
}

fn signal_id(query: &Query, headers: &HeaderMap) -> ApiResult<Option<String>> {
    let header = header_text(headers, &HeaderName::from_static("idempotency-key"))?;
    match (query.get("id"), header) {
        (Some(id), Some(key)) if id != key => Err(ApiError::invalid_header(
            "`id` and the header Idempotency-Key differ",
        )),
        (Some(id), _) => check_text("id", id).map(|()| Some(id.to_owned())),
        (None, key) => Ok(key),
    }
}

/// A null is no way to leave the input out: the caller who writes it means something by it.
fn fork_input(asked: Option<Value>) -> ApiResult<Option<Value>> {
    if asked == Some(Value::Null) {
        let message = "`input` must be a value other than null; leave it out to keep the input";
        return Err(ApiError::invalid_request(message).details(json!({"field": "input"})));
    }
    Ok(asked)
}

pub(super) async fn note(
    State(state): State<ApiState>,
    path: PathParts,
    identity: Identity,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let id = path.execution()?;
    let asked: wire::NewNote = fields::read(body)?;
    let created_by = identity.created_by;
    let note = state.control.add_note(id, asked.text, created_by).await?;
    Ok(reply::json(StatusCode::CREATED, &wire::Note::from(&note)))
}
