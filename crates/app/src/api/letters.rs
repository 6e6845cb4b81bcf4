//! Dead letters: what could not be processed, and how it goes on.
//!
//! A requeue may be repeated: an open execution gets one message more, a failed one has a single retry, and what another
//! program asked for starts once, however often it is asked for.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use pawl_engine::control::{ControlError, RequeueOutcome, StartRequest};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::DeadLetter;
use pawl_kernel::ports::store::ExecutionView;

use super::ApiState;
use super::body::OptionalJson;
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::fields;
use super::guard::{Identity, shorten};
use super::path::PathParts;
use super::query::Query;
use super::reply;
use crate::services::starts::start_of_letter;
use crate::wire::{self, Execution, Name, NoFields, Page, Requeue, WholeDeadLetter};

pub(super) async fn list(State(state): State<ApiState>, query: Query) -> ApiResult {
    let (open_only, limit) = (query.flag("open")?, query.limit()?);
    let after = cursor::from_query(CursorKind::DeadLetter, &query)?.unwrap_or(0);
    let mut letters = state
        .store()
        .dead_letters(open_only, after, limit + 1)
        .await?;
    let more = letters.len() > limit as usize;
    letters.truncate(limit as usize);
    let next = letters
        .last()
        .filter(|_| more)
        .map(|letter| cursor::write(CursorKind::DeadLetter, letter.id));
    Ok(reply::ok(&Page {
        items: letters.iter().map(wire::DeadLetter::from).collect(),
        next,
    }))
}

pub(super) async fn show(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let (letter, message) = find(&state, &path).await?;
    Ok(reply::ok(&WholeDeadLetter {
        letter: wire::DeadLetter::from(&letter),
        message: message.map(Cow::from),
    }))
}

pub(super) async fn requeue(
    State(state): State<ApiState>,
    identity: Identity,
    path: PathParts,
    OptionalJson(body): OptionalJson,
) -> ApiResult {
    let NoFields {} = fields::read_optional(body)?;
    let (letter, message) = find(&state, &path).await?;
    let created_by = identity.created_by.clone();
    let wish = message.and_then(|message| start_of_letter(&message, created_by, state.now()));
    let user = Some(identity.user.clone());
    let wish = wish.map(|wish| wish.map(|start| StartRequest { user, ..start }));
    // First: a start calls its own name `execution_id`, which may look like one of ours.
    match (wish, letter.execution_id) {
        (Some(wish), _) => start_anew(&state, &letter, wish).await,
        (None, Some(id)) => bring_back(&state, &letter, id, identity).await,
        (None, None) => Err(unreadable()),
    }
}

async fn find(state: &ApiState, path: &PathParts) -> ApiResult<(DeadLetter, Option<String>)> {
    let text = path.get("id");
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let id = text.parse().ok().filter(|id: &u64| digits && *id > 0);
    let found = match id {
        Some(id) => state.store().dead_letter(id).await?,
        None => None,
    };
    found.ok_or_else(|| ApiError::not_found(format!("there is no dead letter `{}`", shorten(text))))
}

/// First it goes on, then the letter says so: a crash in between leaves a letter that can be requeued again.
async fn bring_back(
    state: &ApiState,
    letter: &DeadLetter,
    id: ExecutionId,
    identity: Identity,
) -> ApiResult {
    if state.store().execution(id).await?.is_none() {
        return Err(gone(id));
    }
    let requeued = state
        .control
        .requeue(id, identity.created_by, Some(identity.user))
        .await?;
    let (action, status, new) = match &requeued {
        RequeueOutcome::Looked => ("look", StatusCode::OK, None),
        RequeueOutcome::Nothing => ("none", StatusCode::OK, None),
        RequeueOutcome::Retried(started) if started.created => {
            ("retry", StatusCode::CREATED, Some(started.id))
        }
        RequeueOutcome::Retried(started) => ("retry", StatusCode::OK, Some(started.id)),
    };
    let store = state.store();
    store.mark_requeued(letter.id, new, state.now()).await?;
    let view = state.control.view(new.unwrap_or(id)).await?;
    answer(state, letter.id, action, status, &view).await
}

async fn answer(
    state: &ApiState,
    letter_id: u64,
    action: &'static str,
    status: StatusCode,
    view: &ExecutionView,
) -> ApiResult {
    let found = state.store().dead_letter(letter_id).await?;
    let (letter, _) = found.ok_or_else(|| ApiError::not_found("the dead letter is gone"))?;
    let body = Requeue {
        action: Name::new(action),
        letter: wire::DeadLetter::from(&letter),
        execution: Execution::from(view),
    };
    let mut response = reply::json(status, &body);
    let place = format!("/api/executions/{}", view.execution.head.id);
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// A start that another program asked for: under the key of its message, so it starts once, whatever became of the
/// message otherwise. What was started before stays what the letter led to, even when the key is free again.
async fn start_anew(
    state: &ApiState,
    letter: &DeadLetter,
    wish: Result<StartRequest, String>,
) -> ApiResult {
    if !state.takes_starts {
        return Err(ApiError::conflict(format!(
            "dead letter {} is a start from another program, which this server does not take \
             (broker.accept_external); start the execution with POST /api/executions",
            letter.id
        )));
    }
    let (id, status) = match letter.requeued_as {
        Some(id) => (id, StatusCode::OK),
        None => start(state, wish.map_err(ApiError::conflict)?).await?,
    };
    let store = state.store();
    store
        .mark_requeued(letter.id, Some(id), state.now())
        .await?;
    let view = store.execution(id).await?.ok_or_else(|| gone(id))?;
    answer(state, letter.id, "start", status, &view).await
}

async fn start(state: &ApiState, request: StartRequest) -> ApiResult<(ExecutionId, StatusCode)> {
    match state.control.start(request).await {
        Ok(started) if started.created => Ok((started.id, StatusCode::CREATED)),
        Ok(started) => Ok((started.id, StatusCode::OK)),
        // Not the letter is missing.
        Err(ControlError::NotFound(what)) => Err(ApiError::conflict(format!(
            "{what}; save it, then requeue again"
        ))),
        Err(error) => Err(error.into()),
    }
}

fn gone(id: ExecutionId) -> ApiError {
    ApiError::conflict(format!(
        "execution {id} is gone; there is nothing left to go on with"
    ))
}

fn unreadable() -> ApiError {
    ApiError::conflict(
        "this message cannot be read, so it cannot be handled the second time either; \
         fix the program that sent it, or start the execution with POST /api/executions",
    )
}
