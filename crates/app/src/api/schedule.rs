//! Scheduled actions: what is to be done later, once or again and again. Those of cron triggers are among them; they are
//! written by saving their schema.

mod list;

use std::str::FromStr;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pawl_engine::control::ScheduleError;
use pawl_kernel::json;
use pawl_kernel::ports::schedule::PutEffect;
use pawl_kernel::ports::store::SourceFormat;
use pawl_kernel::schedule::{PastAttempt, ScheduledAction};
use pawl_kernel::schema::source::Source;
use pawl_kernel::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::ApiState;
use super::body::{ActionText, OptionalJson};
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::fields::{self, mismatch};
use super::guard::Identity;
use super::path::PathParts;
use super::query::Query;
use super::reply;
use crate::wire::{
    self, ActionMeta, ActionStatus, Attempt, NoFields, Page, PlannedTime, Time, TimerPlace,
};

pub(super) use list::{ORDERS, list};

const FIRINGS_DEFAULT: usize = 10;
const FIRINGS_MAX: u64 = 1_000;

pub(super) async fn put(
    State(state): State<ApiState>,
    identity: Identity,
    path: PathParts,
    ActionText(text): ActionText,
) -> ApiResult {
    let (id, body) = (path.get("id"), read(text.text, text.format).await?);
    let written = state.control.put_action(id, &body, identity.writer());
    let (action, effect) = written.await?;
    let shown = shown(&state, &action);
    if effect == PutEffect::Replaced {
        return Ok(reply::ok(&shown));
    }
    let mut response = reply::json(StatusCode::CREATED, &shown);
    if let Ok(place) = HeaderValue::from_str(&format!("/api/scheduled-actions/{id}")) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// A long text takes a while: not on the threads that serve all requests.
async fn read(text: String, format: SourceFormat) -> ApiResult<Value> {
    let work = move || match format {
        SourceFormat::Json => Ok(json::read(text.as_bytes())?),
        SourceFormat::Yaml => match Source::parse(None, &text) {
            Ok(source) => Ok(source.value().clone()),
            Err(found) => Err(ScheduleError::Invalid(found).into()),
        },
    };
    tokio::task::spawn_blocking(work)
        .await
        .map_err(ApiError::internal)?
}

pub(super) async fn get(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let id = known_id(&path)?;
    let action = state.control.action(&id).await?;
    let queued = state.control.queue_row(&id).await?;
    let mut shown = described(&action);
    shown.place = Some(queued.as_ref().map(TimerPlace::from).unwrap_or_default());
    Ok(reply::ok(&redacted(&state, &shown)))
}

pub(super) async fn delete(State(state): State<ApiState>, path: PathParts) -> ApiResult<Response> {
    state.control.delete_action(&known_id(&path)?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn firings(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
) -> ApiResult {
    let asked = query.whole("count")?;
    let count = count(asked, ApiError::invalid_query)?;
    let times = state.control.next_firings(&known_id(&path)?, count).await?;
    Ok(planned(times))
}

/// The body of a put, and `count`.
pub(super) async fn preview(
    State(state): State<ApiState>,
    ActionText(text): ActionText,
) -> ApiResult {
    let mut body = read(text.text, text.format).await?;
    let asked = match body.as_object_mut().and_then(|body| body.remove("count")) {
        None | Some(Value::Null) => None,
        Some(value) => {
            let wrong = || mismatch("count", "a whole number", &value);
            Some(value.as_u64().ok_or_else(wrong)?)
        }
    };
    let count = count(asked, ApiError::invalid_request)?;
    let work = move || state.control.preview_action(&body, count);
    let times = tokio::task::spawn_blocking(work).await;
    Ok(planned(times.map_err(ApiError::internal)??))
}

fn count(asked: Option<u64>, wrong: fn(String) -> ApiError) -> ApiResult<usize> {
    match asked {
        None => Ok(FIRINGS_DEFAULT),
        Some(count) if (1..=FIRINGS_MAX).contains(&count) => Ok(count as usize),
        Some(_) => Err(wrong(format!(
            "`count` must be between 1 and {FIRINGS_MAX}"
        ))),
    }
}

fn planned(times: Vec<Timestamp>) -> Response {
    reply::ok(&Page {
        items: times.into_iter().map(|at| PlannedTime(Time(at))).collect(),
        next: None,
    })
}

pub(super) async fn run(
    State(state): State<ApiState>,
    path: PathParts,
    body: OptionalJson,
) -> ApiResult {
    let id = plain(&path, body)?;
    Ok(reply::ok(&shown(
        &state,
        &state.control.run_action_now(&id).await?,
    )))
}

pub(super) async fn pause(
    State(state): State<ApiState>,
    path: PathParts,
    body: OptionalJson,
) -> ApiResult {
    let id = plain(&path, body)?;
    Ok(reply::ok(&shown(
        &state,
        &state.control.pause_action(&id).await?,
    )))
}

pub(super) async fn resume(
    State(state): State<ApiState>,
    path: PathParts,
    body: OptionalJson,
) -> ApiResult {
    let id = plain(&path, body)?;
    Ok(reply::ok(&shown(
        &state,
        &state.control.resume_action(&id).await?,
    )))
}

/// Commands without parameters: nothing a client sends is silently ignored.
fn plain(path: &PathParts, OptionalJson(body): OptionalJson) -> ApiResult<String> {
    let NoFields {} = fields::read_optional(body)?;
    known_id(path)
}

pub(super) async fn attempts(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
) -> ApiResult {
    let limit = query.limit()?;
    let before: Option<AttemptPlace> = cursor::from_query(CursorKind::Attempt, &query)?;
    let before = before.map(|AttemptPlace(generation, ordinal)| (generation, ordinal));
    let id = known_id(&path)?;
    let mut attempts = state.control.attempts(&id, before, limit + 1).await?;
    let more = attempts.len() > limit as usize;
    attempts.truncate(limit as usize);
    let last = attempts.last().filter(|_| more);
    let next = last.map(|(generation, past)| {
        cursor::write(
            CursorKind::Attempt,
            format_args!("{generation}.{}", past.attempt.ordinal),
        )
    });
    let items = attempts
        .iter()
        .map(|one| shown_attempt(&state, one))
        .collect();
    Ok(reply::ok(&Page { items, next }))
}

/// Text that may be an id, or the beginning of one. Everything else names nothing.
struct ActionId(String);

impl FromStr for ActionId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
        match !text.is_empty() && text.chars().all(allowed) {
            true => Ok(Self(text.to_owned())),
            false => Err(()),
        }
    }
}

fn known_id(path: &PathParts) -> ApiResult<String> {
    let found = path.get("id").parse::<ActionId>();
    found
        .map(|id| id.0)
        .map_err(|()| ApiError::not_found("no scheduled action can have this id"))
}

/// `generation.ordinal`.
struct AttemptPlace(u64, u64);

impl FromStr for AttemptPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| {
            text.parse()
                .ok()
                .filter(|number| *number <= i64::MAX as u64)
        };
        let (generation, ordinal) = text.split_once('.').ok_or(())?;
        number(generation)
            .zip(number(ordinal))
            .map(|(generation, ordinal)| Self(generation, ordinal))
            .ok_or(())
    }
}

fn shown(state: &ApiState, action: &ScheduledAction) -> Value {
    redacted(state, &described(action))
}

fn shown_attempt(state: &ApiState, (generation, past): &(u64, PastAttempt)) -> Value {
    redacted(state, &Attempt::of(*generation, past))
}

/// The writer of a secret knows it; readers need not.
fn redacted(state: &ApiState, shown: &impl Serialize) -> Value {
    // Maps with texts as keys: this cannot fail.
    let mut shown = serde_json::to_value(shown).unwrap_or_default();
    state.runtime().redactor.value(&mut shown);
    shown
}

fn described(action: &ScheduledAction) -> wire::ScheduledAction<'_, Value> {
    let (meta, status) = (&action.meta, &action.status);
    wire::ScheduledAction {
        id: action.id.as_str().into(),
        guid: action.guid,
        generation: status.generation,
        meta: ActionMeta {
            // What Pawl knows itself stands behind the notes, and wins over notes of the same name.
            notes: meta.notes.clone(),
            created_at: Time(meta.created_at),
            updated_at: Time(meta.updated_at),
            written_by: meta.written_by.clone(),
        },
        spec: action.spec.to_value(),
        status: ActionStatus::from(status),
        scheduled_at: action.due_at().map(Time),
        finished_at: status.finished_at.map(Time),
        place: None,
    }
}

impl From<ScheduleError> for ApiError {
    fn from(error: ScheduleError) -> Self {
        match error {
            ScheduleError::Invalid(found) => Self::diagnosed("INVALID_ACTION", "action", &found),
            ScheduleError::Control(error) => Self::from(error),
        }
    }
}
