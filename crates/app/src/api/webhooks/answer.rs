//! The answer to the caller, and waiting for it.
//!
//! The store is not asked while nothing has happened: an execution that has answered or ended says so, in this process
//! with the answer itself, from another one with a hint. A hint that was lost is made up for by a slow look.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use pawl_engine::control::StartOutcome;
use pawl_engine::{News, Watcher};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::webhook::Respond;
use pawl_kernel::webhook::answer::Answer;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::api::ApiState;
use crate::api::error::{ApiError, ApiResult};
use crate::api::reply;
use crate::wire::WebhookReceipt;

/// When a caller whose waiting time is over might look again.
const LOOK_AGAIN: u64 = 1;
const EXECUTION_ID: HeaderName = HeaderName::from_static("x-pawl-execution-id");
/// Those that every answer has.
const OWN_HEADERS: usize = 9;
/// Pages of webhooks come from the same place as those of the API, and must not be able to use it.
const SANDBOX: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";
/// Whatever policy the flow itself gives: policies add up, so a page of a flow always has an origin of its own, without
/// the session of the person who looks at it.
const ALWAYS: HeaderValue =
    HeaderValue::from_static("sandbox allow-forms allow-scripts allow-popups");

/// 202: it is on disk, and will run.
pub(super) fn accepted(id: ExecutionId) -> Response {
    let url = format!("/api/executions/{id}");
    let body = WebhookReceipt {
        execution_id: id.0,
        status_url: url.clone(),
    };
    let mut response = reply::json(StatusCode::ACCEPTED, &body);
    let headers = response.headers_mut();
    if let Ok(place) = HeaderValue::from_str(&url) {
        headers.insert(header::LOCATION, place);
    }
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        headers.insert(EXECUTION_ID, id);
    }
    response
}

/// The same for a caller that had waited for more.
pub(super) fn still_running(id: ExecutionId) -> Response {
    let mut response = accepted(id);
    let again = HeaderValue::from(LOOK_AGAIN);
    response.headers_mut().insert(header::RETRY_AFTER, again);
    response
}

/// A key that was used before: for the same request, or not?
pub(super) async fn check_repetition(
    state: &ApiState,
    id: ExecutionId,
    fingerprint: Option<&Value>,
) -> ApiResult<()> {
    let first = state.control.view(id).await?.execution;
    let first: Value = serde_json::from_str(&first.record.initial).map_err(ApiError::internal)?;
    let (first, now) = (&first["request"], fingerprint.unwrap_or(&Value::Null));
    let details = json!({"execution_id": id.to_string()});
    if now["signature"].is_string() && first["signature"] == now["signature"] {
        let message = "this signed request was taken before; a signature is good for one request";
        return Err(ApiError::new(StatusCode::CONFLICT, "REPLAYED", message).details(details));
    }
    if first["hash"] != now["hash"] {
        let message = "this idempotency key (or `webhook-id`) was used before, for a request with another method, path, query or body";
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return Err(ApiError::new(status, "IDEMPOTENCY_MISMATCH", message).details(details));
    }
    Ok(())
}

/// One that has run to its answer already.
pub(super) fn at_once(started: &StartOutcome, respond: Respond) -> Option<Response> {
    let watcher = started.watcher.as_ref();
    let watcher = watcher.filter(|_| respond == Respond::RespondNode)?;
    Some(send(started.id, watcher.answer()?))
}

/// The answer, or where to look for it once `wait` or the server is over.
pub(super) async fn wait(
    state: &ApiState,
    started: StartOutcome,
    respond: Respond,
    wait: Duration,
) -> ApiResult {
    let (id, is_new) = (started.id, started.created);
    let deadline = Instant::now() + wait;
    let watcher = started.watcher;
    let mut watcher = watcher.unwrap_or_else(|| state.runtime().hints.watch(id));
    // One that is new has done nothing before it was watched.
    let mut is_due = !is_new;
    loop {
        if respond == Respond::RespondNode
            && let Some(answer) = watcher.answer()
        {
            return Ok(send(id, answer));
        }
        if is_due && let Some(response) = Box::pin(look(state, id, respond)).await? {
            return Ok(response);
        }
        let now = Instant::now();
        if now >= deadline || state.stop.is_cancelled() {
            return Ok(still_running(id));
        }
        is_due = tokio::select! {
            () = worth_a_look(&mut watcher, respond) => true,
            () = sleep_until(deadline.min(now + state.limits.reread)) => true,
            () = state.stop.cancelled() => false,
        };
    }
}

/// Steps on the way are no reason to look.
async fn worth_a_look(watcher: &mut Watcher, respond: Respond) {
    let is_over =
        |news: News| news.ended.is_some() || (news.responded && respond == Respond::RespondNode);
    while !is_over(watcher.changed().await) {}
}

/// What the store knows of an answer.
async fn look(state: &ApiState, id: ExecutionId, respond: Respond) -> ApiResult<Option<Response>> {
    // In this order: one that answers and ends between the two looks has answered.
    let execution = state.control.view(id).await?.execution;
    if respond == Respond::RespondNode
        && let Some(text) = state.store().answer_of(id).await?
    {
        return said(id, &text).map(Some);
    }
    let is_over = execution.head.status.is_terminal();
    Ok(is_over.then(|| send(id, Answer::of_end(&execution))))
}

/// The output of a `respond` node, which checked it before it was written.
fn said(id: ExecutionId, text: &str) -> ApiResult {
    let said: Value = serde_json::from_str(text).map_err(ApiError::internal)?;
    let answer = Answer::read(&said).unwrap_or_else(|_| Answer::unreadable());
    Ok(send(id, answer))
}

fn send(id: ExecutionId, answer: Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.reserve(answer.headers.len() + OWN_HEADERS);
    if let Some(kind) = answer.content_type
        && let Ok(kind) = HeaderValue::try_from(kind)
    {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    for (name, text) in answer.headers {
        if let (Ok(name), Ok(text)) = (HeaderName::try_from(name), HeaderValue::try_from(text)) {
            headers.append(name, text);
        }
    }
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        headers.insert(EXECUTION_ID, id);
    }
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(SANDBOX));
    headers.append(header::CONTENT_SECURITY_POLICY, ALWAYS);
    response
}
