//! Sessions of browsers: a cookie that a person gets for a key, so that no page ever keeps the key. What was found open is
//! remembered for a moment, like keys are, and a use is written once a minute.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use pawl_kernel::ports::keys::KeyHash;
use pawl_kernel::ports::sessions::{NewSession, SessionRecord};
use pawl_kernel::time::Timestamp;

use super::super::ApiState;
use super::super::error::{ApiError, ApiResult};
use super::{LookPurpose, key_text, unauthorized};

/// The cookie over https. Browsers keep its name from pages of other hosts and from plain http.
const SECURE_COOKIE: &str = "__Host-pawl_session";
/// The cookie over plain http.
const PLAIN_COOKIE: &str = "pawl_session";

const REMEMBERED: Duration = Duration::from_secs(3);
const USE_NOTED: Duration = Duration::from_secs(60);
/// Sessions remembered at once, before the old ones are thrown out.
const REMEMBERED_MAX: usize = 1_024;

#[derive(Default)]
pub(in crate::api) struct Sessions {
    remembered: Mutex<HashMap<KeyHash, CachedSession>>,
}

#[derive(Clone, Copy)]
struct CachedSession {
    record: SessionRecord,
    /// When the store was asked.
    asked_at: Timestamp,
}

impl CachedSession {
    /// A clock that was set back makes it stale, not eternal.
    fn is_fresh(&self, now: Timestamp) -> bool {
        now >= self.asked_at && now.since(self.asked_at) < REMEMBERED
    }
}

impl Sessions {
    /// A new session with this key; what the cookie is to hold.
    pub(in crate::api) async fn open(&self, state: &ApiState, key: KeyHash) -> ApiResult<String> {
        let token = key_text::draw_session(&*state.runtime().entropy);
        let session = NewSession {
            hash: KeyHash::of(&token),
            key_hash: key,
            created_at: state.now(),
        };
        state.store().add_session(session).await?;
        Ok(token)
    }

    /// The key that the session was opened with, if it is not over.
    pub(super) async fn key(
        &self,
        state: &ApiState,
        token: &str,
        purpose: LookPurpose,
    ) -> ApiResult<KeyHash> {
        let record = self.record(state, token).await?;
        if purpose == LookPurpose::Request {
            self.note_use(state, KeyHash::of(token), &record, state.now());
        }
        Ok(record.key_hash)
    }

    pub(in crate::api) async fn record(
        &self,
        state: &ApiState,
        token: &str,
    ) -> ApiResult<SessionRecord> {
        if !key_text::is_session(token) {
            return Err(over());
        }
        let (hash, now) = (KeyHash::of(token), state.now());
        let record = self.look_up(state, hash, now).await?;
        if !record.is_open(now) {
            return Err(over());
        }
        Ok(record)
    }

    async fn look_up(
        &self,
        state: &ApiState,
        hash: KeyHash,
        now: Timestamp,
    ) -> ApiResult<SessionRecord> {
        let known = self.lock().get(&hash).copied();
        if let Some(known) = known.filter(|known| known.is_fresh(now)) {
            return Ok(known.record);
        }
        let record = state.store().session(hash).await?.ok_or_else(over)?;
        let mut remembered = self.lock();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.retain(|_, known| known.is_fresh(now));
        }
        let asked_at = now;
        remembered.insert(hash, CachedSession { record, asked_at });
        Ok(record)
    }

    /// Off the path of the request, like the use of a key.
    fn note_use(&self, state: &ApiState, hash: KeyHash, record: &SessionRecord, now: Timestamp) {
        if now.since(record.used_at) < USE_NOTED {
            return;
        }
        if let Some(known) = self.lock().get_mut(&hash) {
            known.record.used_at = now;
        }
        let store = state.runtime().store.clone();
        tokio::spawn(async move {
            let noted = store.touch_session(hash, now, now.minus(USE_NOTED));
            if let Err(error) = noted.await {
                tracing::debug!(%error, "the use of a session was not noted");
            }
        });
    }

    /// Gone here at once, elsewhere within seconds.
    pub(in crate::api) async fn end(&self, state: &ApiState, token: &str) -> ApiResult<bool> {
        let hash = KeyHash::of(token);
        let was_there = state.store().end_session(hash).await?;
        self.lock().remove(&hash);
        Ok(was_there)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<KeyHash, CachedSession>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn over() -> ApiError {
    unauthorized("this session is over; log in again")
}

fn is_secure(state: &ApiState) -> bool {
    let public = state.ui.public_url.as_ref();
    public.is_some_and(|public| public.is_secure())
}

fn cookie_name(state: &ApiState) -> &'static str {
    match is_secure(state) {
        true => SECURE_COOKIE,
        false => PLAIN_COOKIE,
    }
}

/// What the request's cookie of a session holds. A server that needs no login knows no sessions.
pub(in crate::api) fn cookie<'a>(state: &ApiState, headers: &'a HeaderMap) -> Option<&'a str> {
    if state.access.is_open() {
        return None;
    }
    let name = cookie_name(state);
    let all = headers.get_all(header::COOKIE).iter();
    let pairs = all.filter_map(|value| value.to_str().ok());
    let pairs = pairs.flat_map(|list| list.split(';'));
    let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(known, value)| (known == name).then_some(value))
}

/// The header that gives a browser its session, or with an empty text takes it away.
pub(in crate::api) fn set_cookie(state: &ApiState, token: &str, life: Duration) -> String {
    let name = cookie_name(state);
    let secure = if is_secure(state) { "; Secure" } else { "" };
    let seconds = life.as_secs();
    format!("{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}
