//! Handing out keys, and taking them back. A key is in the answer to its creation and nowhere else, ever.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pawl_kernel::id::{self, KeyId};
use pawl_kernel::ports::keys::{KeyError, KeyHash, KeyRecord, NewKey, Role};
use pawl_kernel::time::Timestamp;
use pawl_kernel::user;

use super::ApiState;
use super::access::{ADMIN_NAME, AUDIT, key_text};
use super::body::JsonBody;
use super::control::duration;
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::fields;
use super::guard::Identity;
use super::path::PathParts;
use super::query::Query;
use super::reply;
use crate::wire::{self, CreatedKey, Page, Span, Text, Time};

const NAME_MAX: usize = 64;

impl<'a> From<&'a KeyRecord> for wire::Key<'a> {
    fn from(record: &'a KeyRecord) -> Self {
        Self {
            id: record.id.0,
            name: record.name.as_str().into(),
            role: record.role.into(),
            email: record.email.as_deref().map(Cow::from),
            starts_with: key_text::beginning(record.id),
            created_by: record.created_by.as_str().into(),
            created_at: Time(record.created_at),
            expires_at: record.expires_at.map(Time),
            last_used_at: record.last_used_at.map(Time),
            revoked_at: record.revoked_at.map(Time),
        }
    }
}

pub(super) async fn create(
    State(state): State<ApiState>,
    identity: Identity,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let asked: wire::NewKey = fields::read(body)?;
    let now = state.now();
    let entropy = &*state.runtime().entropy;
    let id = KeyId(id::time_ordered(now, entropy));
    let text = key_text::draw(id, entropy);
    let new = NewKey {
        id,
        name: name(asked.name)?,
        role: role(asked.role)?,
        email: email(asked.email)?,
        hash: KeyHash::of(&text),
        created_by: identity.created_by,
        created_at: now,
        expires_at: expires_at(asked.expires_in, now)?,
    };
    let record = state.store().add_key(new).await.map_err(ApiError::from)?;
    let role = record.role.name();
    tracing::info!(target: AUDIT, by = %record.created_by, key_id = %id, key = %record.name, role, "a key was made");
    let shown = CreatedKey {
        record: wire::Key::from(&record),
        key: text.as_str().into(),
    };
    Ok(reply::json(StatusCode::CREATED, &shown))
}

/// It stands in `created_by` and in logs: plain, short, and not to be mistaken for another.
fn name(asked: Option<Text>) -> ApiResult<String> {
    let Text(name) =
        asked.ok_or_else(|| ApiError::invalid_request("`name` is missing: what the key is for"))?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    let begins_well = name
        .as_bytes()
        .first()
        .is_some_and(u8::is_ascii_alphanumeric);
    if name.len() > NAME_MAX || !begins_well || !name.bytes().all(plain) {
        return Err(ApiError::invalid_request(format!(
            "`name` must have 1 to {NAME_MAX} letters, digits, `-`, `_`, `.` or `@`, and begin with a letter or digit"
        )));
    }
    if name.eq_ignore_ascii_case(ADMIN_NAME) || name.parse::<KeyId>().is_ok() {
        return Err(ApiError::invalid_request(
            "`name` looks like something that Pawl itself gives out; choose another",
        ));
    }
    Ok(name)
}

/// No default: the admin who hands out rights says which.
fn role(asked: Option<Text>) -> ApiResult<Role> {
    let Text(name) = asked.unwrap_or_default();
    Role::from_name(&name).ok_or_else(|| {
        let known: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
        // What was sent is not repeated: around here it may be a key in the wrong place.
        ApiError::invalid_request(format!("`role` must be one of {}", known.join(", ")))
    })
}

/// `user.email` of what the key starts.
fn email(asked: Option<Text>) -> ApiResult<Option<String>> {
    let Some(Text(email)) = asked else {
        return Ok(None);
    };
    match user::check_email(&email) {
        Ok(()) => Ok(Some(email)),
        Err(problem) => Err(ApiError::invalid_request(format!(
            "`email` is no address: {problem}"
        ))),
    }
}

fn expires_at(asked: Option<Span>, now: Timestamp) -> ApiResult<Option<Timestamp>> {
    match duration("expires_in", asked)? {
        None => Ok(None),
        Some(life) if life.is_zero() => Err(ApiError::invalid_request(
            "`expires_in` must be longer than nothing",
        )),
        Some(life) => Ok(Some(now.plus(life))),
    }
}

pub(super) async fn list(State(state): State<ApiState>, query: Query) -> ApiResult {
    let limit = query.limit()?;
    let before: Option<KeyId> = cursor::from_query(CursorKind::Key, &query)?;
    let mut records = state.store().keys(before, limit + 1).await?;
    let more = records.len() > limit as usize;
    records.truncate(limit as usize);
    let last = records.last().filter(|_| more);
    let next = last.map(|record| cursor::write(CursorKind::Key, record.id));
    Ok(reply::ok(&Page {
        items: records.iter().map(wire::Key::from).collect(),
        next,
    }))
}

/// Any number of times: the first one counts.
pub(super) async fn revoke(
    State(state): State<ApiState>,
    identity: Identity,
    path: PathParts,
) -> ApiResult<Response> {
    let unknown = || ApiError::not_found("there is no such key");
    let found = state.store().key(path.get("id")).await?;
    let id = found.ok_or_else(unknown)?.id;
    let revoked = state.store().revoke_key(id, state.now()).await?;
    let record = revoked.ok_or_else(unknown)?;
    state.access.forget(id);
    tracing::info!(target: AUDIT, by = %identity.created_by, key_id = %id, key = %record.name, "a key was revoked");
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl From<KeyError> for ApiError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::NameTaken(_) => Self::conflict(error.to_string()),
            KeyError::Store(error) => error.into(),
        }
    }
}
