//! Dead letters: what could not be processed, and how it goes on.
//!
//! A requeue may be repeated: an open execution gets one message more, a failed one has a single retry, and what another
//! program asked for starts once, however often it is asked for.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use pawl_engine::control::{ControlError, RequeueOutcome, StartRequest};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::{
    DeadLetter, LETTERS_LOOK_MAX, LetterFilter, LetterList, LetterPage, LetterTally,
};
use pawl_kernel::ports::store::StoreResult;
use serde_json::Value;

use super::ApiState;
use super::access::AUDIT;
use super::body::{JsonBody, OptionalJson};
use super::bulk;
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::fields::{self, unknown_name};
use super::guard::{Identity, shorten};
use super::path::PathParts;
use super::query::Query;
use super::reply;
use crate::services::starts::start_of_letter;
use crate::wire::{
    self, Execution, LetterBulkResult, LetterCount, LetterOutcomes, Name, NoFields, Page,
    RefusedLetter, Requeue, Text, WholeDeadLetter,
};

pub(super) const ORDERS: [&str; 2] = ["oldest", "newest"];
const COUNT_MAX: u32 = 10_000;
/// Letters of one call of a bulk action.
const BULK_MAX: u32 = 500;
/// Refusals that its answer names.
const REFUSED_MAX: usize = 20;

pub(super) async fn list(State(state): State<ApiState>, query: Query) -> ApiResult {
    let limit = query.limit()?;
    let filter = filter_of(&query)?;
    let newest = is_newest_first(&query)?;
    let kind = match newest {
        true => CursorKind::NewestLetter,
        false => CursorKind::DeadLetter,
    };
    let place: Option<u64> = cursor::from_query(kind, &query)?;
    let page = match newest {
        true => LetterPage::Before(place),
        false => LetterPage::After(place.unwrap_or(0)),
    };
    let store = state.store();
    let found = store.letters(filter, page, limit + 1, LETTERS_LOOK_MAX);
    let LetterList {
        mut letters,
        looked_to,
    } = found.await?;
    let more = letters.len() > limit as usize;
    letters.truncate(limit as usize);
    let last = letters.last().filter(|_| more).map(|letter| letter.id);
    let next = last.or(looked_to).map(|id| cursor::write(kind, id));
    Ok(reply::ok(&Page {
        items: letters.iter().map(wire::DeadLetter::from).collect(),
        next,
    }))
}

fn filter_of(query: &Query) -> ApiResult<LetterFilter> {
    Ok(LetterFilter {
        open_only: query.flag("open")?,
        reason: query.get("reason").map(str::to_owned),
        ids: None,
    })
}

fn is_newest_first(query: &Query) -> ApiResult<bool> {
    match query.get("order") {
        None | Some("oldest") => Ok(false),
        Some("newest") => Ok(true),
        Some(other) => {
            let message = unknown_name("order", other, &ORDERS);
            Err(ApiError::invalid_query(message))
        }
    }
}

pub(super) async fn count(State(state): State<ApiState>, query: Query) -> ApiResult {
    let counted = counted(&state, filter_of(&query)?).await?;
    Ok(reply::ok(&LetterCount {
        count: counted.count,
        capped: counted.is_capped,
        capped_at: COUNT_MAX.into(),
    }))
}

async fn counted(state: &ApiState, filter: LetterFilter) -> StoreResult<LetterTally> {
    let store = state.store();
    let counted = store.count_letters(filter, COUNT_MAX, LETTERS_LOOK_MAX);
    counted.await
}

/// Only counts, unless told otherwise.
pub(super) async fn bulk(
    State(state): State<ApiState>,
    identity: Identity,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let asked: wire::LetterBulkRequest = fields::read(body)?;
    check_action(asked.action)?;
    let filter = bulk_filter(asked.filter)?;
    let after = asked
        .cursor
        .map(|text| cursor::read(CursorKind::DeadLetter, &text.0));
    let after: Option<u64> = after.transpose()?;
    if asked.dry_run.unwrap_or(true) {
        let counted = counted(&state, filter).await?;
        return Ok(reply::ok(&LetterBulkResult {
            action: Name::new("requeue"),
            dry_run: true,
            matched: counted.count,
            capped: counted.is_capped,
            outcomes: None,
            refused: Vec::new(),
            next: None,
        }));
    }
    let page = LetterPage::After(after.unwrap_or(0));
    let store = state.store();
    let found = store.letters(filter, page, BULK_MAX + 1, LETTERS_LOOK_MAX);
    let done = requeue_all(&state, &identity, found.await?).await?;
    let matched = done.matched;
    if !state.access.is_open() {
        let by = &identity.created_by;
        tracing::info!(target: AUDIT, %by, action = "requeue", matched, "bulk command on dead letters");
    }
    Ok(reply::ok(&done))
}

fn check_action(action: Option<Text>) -> ApiResult<()> {
    match action {
        Some(Text(name)) if name == "requeue" => Ok(()),
        Some(Text(name)) => Err(ApiError::invalid_request(unknown_name(
            "action",
            &name,
            &["requeue"],
        ))),
        None => Err(ApiError::invalid_request("`action` is missing: `requeue`")),
    }
}

fn bulk_filter(asked: Option<Value>) -> ApiResult<LetterFilter> {
    let missing = || {
        ApiError::invalid_request("`filter` is missing; an empty object means every open letter")
    };
    let value = asked.ok_or_else(missing)?;
    bulk::check_filter(&value)?;
    let asked: wire::LetterFilter = fields::read(value)?;
    if asked.open == Some(false) {
        let message =
            "`open` of the filter may not be false: what was requeued is not requeued again";
        return Err(ApiError::invalid_request(message));
    }
    if asked
        .ids
        .as_ref()
        .is_some_and(|ids| ids.len() > BULK_MAX as usize)
    {
        let message = format!("`ids` of the filter may name {BULK_MAX} letters");
        return Err(ApiError::invalid_request(message));
    }
    Ok(LetterFilter {
        open_only: true,
        reason: asked.reason.map(|text| text.0),
        ids: asked.ids,
    })
}

/// One after the other: each may start an execution, and none may be started twice.
async fn requeue_all(
    state: &ApiState,
    identity: &Identity,
    found: LetterList,
) -> ApiResult<LetterBulkResult> {
    let mut letters = found.letters;
    let more = letters.len() > BULK_MAX as usize;
    letters.truncate(BULK_MAX as usize);
    let (mut outcomes, mut refused) = (LetterOutcomes::default(), Vec::new());
    for letter in &letters {
        // The message is not in the list.
        let Some((letter, message)) = state.store().dead_letter(letter.id).await? else {
            continue;
        };
        match go_on(state, identity, &letter, message).await {
            Ok(progress) => outcomes.count(progress.action),
            Err(error) => {
                match error.is_conflict() {
                    true => outcomes.refused += 1,
                    false => outcomes.failed += 1,
                }
                if refused.len() < REFUSED_MAX {
                    refused.push(RefusedLetter {
                        id: letter.id,
                        error: error.code().to_owned(),
                        message: error.message().to_owned(),
                    });
                }
            }
        }
    }
    let last = letters.last().filter(|_| more).map(|letter| letter.id);
    let next = last.or(found.looked_to);
    Ok(LetterBulkResult {
        action: Name::new("requeue"),
        dry_run: false,
        matched: letters.len() as u64,
        capped: next.is_some(),
        outcomes: Some(outcomes),
        refused,
        next: next.map(|id| cursor::write(CursorKind::DeadLetter, id)),
    })
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
    let progress = go_on(&state, &identity, &letter, message).await?;
    answer(&state, letter.id, progress).await
}

/// How a letter went on.
struct Progress {
    action: &'static str,
    status: StatusCode,
    execution: ExecutionId,
}

async fn go_on(
    state: &ApiState,
    identity: &Identity,
    letter: &DeadLetter,
    message: Option<String>,
) -> ApiResult<Progress> {
    let created_by = identity.created_by.clone();
    let wish = message.and_then(|message| start_of_letter(&message, created_by, state.now()));
    let user = Some(identity.user.clone());
    let wish = wish.map(|wish| wish.map(|start| StartRequest { user, ..start }));
    // First: a start calls its own name `execution_id`, which may look like one of ours.
    match (wish, letter.execution_id) {
        (Some(wish), _) => start_anew(state, letter, wish).await,
        (None, Some(id)) => bring_back(state, letter, id, identity).await,
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
    found.ok_or_else(|| {
        let text = shorten(text);
        ApiError::not_found(format!("there is no dead letter `{text}`")).param("letter", text)
    })
}

/// First it goes on, then the letter says so: a crash in between leaves a letter that can be requeued again.
async fn bring_back(
    state: &ApiState,
    letter: &DeadLetter,
    id: ExecutionId,
    identity: &Identity,
) -> ApiResult<Progress> {
    if state.store().execution(id).await?.is_none() {
        return Err(gone(id));
    }
    let requeued = state
        .control
        .requeue(id, identity.created_by.clone(), Some(identity.user.clone()))
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
    Ok(Progress {
        action,
        status,
        execution: new.unwrap_or(id),
    })
}

async fn answer(state: &ApiState, letter_id: u64, progress: Progress) -> ApiResult {
    let view = state.store().execution(progress.execution).await?;
    let view = view.ok_or_else(|| gone(progress.execution))?;
    let found = state.store().dead_letter(letter_id).await?;
    let (letter, _) = found.ok_or_else(|| ApiError::not_found("the dead letter is gone"))?;
    let body = Requeue {
        action: Name::new(progress.action),
        letter: wire::DeadLetter::from(&letter),
        execution: Execution::from(&view),
    };
    let mut response = reply::json(progress.status, &body);
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
) -> ApiResult<Progress> {
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
    Ok(Progress {
        action: "start",
        status,
        execution: id,
    })
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
