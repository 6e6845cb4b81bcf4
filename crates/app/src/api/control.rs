//! What people ask of an execution. Every answer is the execution as it is then.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use pawl_engine::control::{ForkRequest, RetryRequest, WantedVersion};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::ContinueMode;
use pawl_kernel::time::{duration_from_seconds, parse_duration};
use serde_json::{Value, json};

use super::ApiState;
use super::body::{JsonBody, OptionalJson};
use super::error::{ApiError, ApiResult};
use super::executions::{self, header_text};
use super::fields::{Fields, check_text, mismatch};
use super::guard::{Identity, shorten};
use super::path::PathParts;
use super::query::Query;
use super::wire::{self, ExecutionJson};

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
    Fields::of_optional(body, &[])?;
    Ok(id)
}

pub(super) async fn go_on(
    State(state): State<ApiState>,
    path: PathParts,
    OptionalJson(body): OptionalJson,
) -> ApiResult {
    let id = path.execution()?;
    let mut fields = Fields::of_optional(body, &["mode", "variables", "expect_seq"])?;
    let mode = mode(fields.take("mode"))?;
    let variables = fields.object("variables")?;
    let expect_seq = fields.whole("expect_seq")?;
    // Afterwards every one of them is known.
    let warnings = state.control.doubts_about(id, &variables).await?;
    state
        .control
        .continue_debug(id, mode, variables, expect_seq)
        .await?;
    let view = state.control.view(id).await?;
    Ok(wire::ok(&ExecutionJson::from(&view).warning(&warnings)))
}

fn mode(value: Option<Value>) -> ApiResult<ContinueMode> {
    let wrong = |value: &Value| mismatch("mode", "\"step\", \"run\" or {\"to\": NODE}", value);
    match &value {
        None => Ok(ContinueMode::Step),
        Some(Value::String(name)) if name == "step" => Ok(ContinueMode::Step),
        Some(Value::String(name)) if name == "run" => Ok(ContinueMode::Run),
        Some(Value::Object(fields)) => match (fields.get("to"), fields.len()) {
            (Some(Value::String(node)), 1) => Ok(ContinueMode::To(node.clone())),
            _ => Err(ApiError::invalid_request(
                "`mode` as an object is {\"to\": NODE}",
            )),
        },
        Some(other) => Err(wrong(other)),
    }
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
    let known = [
        "max_steps",
        "max_calls",
        "max_duration",
        "variables",
        "new_effect_key",
        "again",
        "version",
        "debug_mode",
        "idempotency_key",
    ];
    let mut fields = Fields::of_optional(body, &known)?;
    let request = RetryRequest {
        max_steps: fields.whole("max_steps")?,
        max_calls: fields.whole("max_calls")?,
        max_duration: duration(&mut fields, "max_duration")?,
        new_effect_key: fields.flag("new_effect_key")?.unwrap_or(false),
        again: fields.flag("again")?.unwrap_or(false),
        version: wanted_version(&mut fields)?,
        variables: fields.object("variables")?,
        debug_mode: fields.flag("debug_mode")?.unwrap_or(false),
        idempotency_key: executions::idempotency_key(fields.text("idempotency_key")?, &headers)?,
        created_by: identity.created_by,
        user: Some(identity.user),
    };
    let started = state.control.retry(id, request).await?;
    executions::answer_started(&state, started, wait).await
}

fn wanted_version(fields: &mut Fields) -> ApiResult<WantedVersion> {
    match fields.take("version") {
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
pub(super) fn duration(fields: &mut Fields, name: &str) -> ApiResult<Option<Duration>> {
    let Some(value) = fields.take(name) else {
        return Ok(None);
    };
    let read = match &value {
        Value::String(text) => parse_duration(text),
        Value::Number(number) => duration_from_seconds(number.as_f64().unwrap_or(f64::NAN)),
        other => return Err(mismatch(name, "a duration", other)),
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
    let known = ["from_seq", "version", "variables", "input", "debug_mode"];
    let mut fields = Fields::of(body, &known)?;
    let from_seq = fields.whole("from_seq")?;
    let request = ForkRequest {
        from_seq: from_seq.ok_or_else(|| {
            ApiError::invalid_request("`from_seq` is missing: the last step to take over")
        })?,
        version: wanted_version(&mut fields)?,
        variables: fields.object("variables")?,
        input: fork_input(&mut fields)?,
        debug_mode: fields.flag("debug_mode")?.unwrap_or(false),
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
    Ok(wire::json(status, &ExecutionJson::from(&view)))
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
fn fork_input(fields: &mut Fields) -> ApiResult<Option<Value>> {
    if fields.is_null("input") {
        let message = "`input` must be a value other than null; leave it out to keep the input";
        return Err(ApiError::invalid_request(message).details(json!({"field": "input"})));
    }
    Ok(fields.take("input"))
}
