//! Logging in and out with a browser. A key goes in once; what the browser keeps is a cookie that no script can read.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use pawl_kernel::ports::keys::KeyHash;
use pawl_kernel::ports::sessions::LIFE_MAX;
use pawl_kernel::time::Timestamp;
use serde_json::json;

use super::access::sessions::{cookie, set_cookie};
use super::access::{AUDIT, Access, KeyRing, LookPurpose};
use super::body::JsonBody;
use super::error::{ApiError, ApiResult};
use super::guard::{Identity, check_own_page, is_local};
use super::serve::{Peer, peer_of};
use super::{ApiState, fields, reply};
use crate::wire::{self, LoginRequest, Time};

/// Wrong keys from one address in one while.
const TRIES_MAX: u32 = 10;
const TRIES_WHILE: Duration = Duration::from_secs(60);
/// Addresses that are told apart.
const PEERS_MAX: usize = 4_096;

/// Who tried to log in with a wrong key lately. A key cannot be guessed; this slows down those who do not know that.
#[derive(Default)]
pub(super) struct LoginTries(Mutex<HashMap<Option<IpAddr>, FailedTries>>);

#[derive(Clone, Copy)]
struct FailedTries {
    count: u32,
    since: Timestamp,
}

impl FailedTries {
    /// A clock that was set back forgives rather than locks out for ever.
    fn left(&self, now: Timestamp) -> Option<Duration> {
        let passed = now.since(self.since);
        TRIES_WHILE
            .checked_sub(passed)
            .filter(|left| now >= self.since && !left.is_zero())
    }
}

impl LoginTries {
    /// How long that address has to wait.
    fn wait(&self, peer: Option<IpAddr>, now: Timestamp) -> Option<Duration> {
        let tries = self.lock();
        let known = tries.get(&peer).or_else(|| tries.get(&None));
        known
            .filter(|tries| tries.count >= TRIES_MAX)
            .and_then(|tries| tries.left(now))
    }

    fn failed(&self, peer: Option<IpAddr>, now: Timestamp) {
        let mut tries = self.lock();
        if tries.len() >= PEERS_MAX {
            tries.retain(|_, tries| tries.left(now).is_some());
        }
        // More than can be told apart are counted together.
        let has_room = tries.len() < PEERS_MAX || tries.contains_key(&peer);
        let peer = peer.filter(|_| has_room);
        let known = tries.get(&peer).filter(|tries| tries.left(now).is_some());
        let next = match known {
            Some(known) => FailedTries {
                count: known.count.saturating_add(1),
                ..*known
            },
            None => FailedTries {
                count: 1,
                since: now,
            },
        };
        tries.insert(peer, next);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, FailedTries>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn open(
    State(state): State<ApiState>,
    peer: Option<Extension<Peer>>,
    uri: Uri,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let asked: LoginRequest = fields::read(body)?;
    let ring = ring(&state)?;
    check_way(&state, &headers, &uri)?;
    let peer = peer.map(|Extension(Peer(address))| peer_of(address));
    let text = asked.key.ok_or_else(|| {
        ApiError::invalid_request("`key` is missing: an API key, as `pawl key create` shows it")
    })?;
    let (key, identity) = try_key(&state, ring, peer, &text.0).await?;
    let token = ring.sessions().open(&state, key).await?;
    tracing::info!(target: AUDIT, by = %identity.created_by, "logged in");
    let mut response = StatusCode::NO_CONTENT.into_response();
    put_cookie(&mut response, &set_cookie(&state, &token, LIFE_MAX))?;
    Ok(response)
}

/// `pawl dev` needs no login.
fn ring(state: &ApiState) -> ApiResult<&KeyRing> {
    match &state.access {
        Access::Keys(ring) => Ok(ring),
        Access::Open => Err(ApiError::conflict(
            "this server is for this machine only and needs no login",
        )),
    }
}

/// A cookie that goes over a network in the clear is as good as published.
fn check_way(state: &ApiState, headers: &HeaderMap, uri: &Uri) -> ApiResult<()> {
    let public = state.ui.public_url.as_ref();
    let is_safe = match public {
        Some(public) => public.is_secure(),
        None => is_local(headers, uri)?,
    };
    if is_safe || state.ui.allow_http || (public.is_some() && is_local(headers, uri)?) {
        return Ok(());
    }
    let message = "a session would go over plain http here: put a proxy with TLS before the server and set `public_url = \"https://…\"` in [ui], or set `allow_http = true` there if the network is safe";
    let refusal = ApiError::new(StatusCode::FORBIDDEN, "FORBIDDEN", message);
    Err(refusal.details(json!({"reason": "plain_http"})))
}

async fn try_key(
    state: &ApiState,
    ring: &KeyRing,
    peer: Option<IpAddr>,
    text: &str,
) -> ApiResult<(KeyHash, Identity)> {
    let tried = async {
        let key = ring.key(text.trim())?;
        Ok((key, ring.owner(state, key, LookPurpose::Request).await?))
    };
    let tried: ApiResult<_> = tried.await;
    if !tried.as_ref().is_err_and(ApiError::is_unauthorized) {
        return tried;
    }
    // Behind a proxy all callers have one address: a good key is let in whatever others have tried.
    if let Some(left) = state.logins.wait(peer, state.now()) {
        return Err(too_many(left));
    }
    state.logins.failed(peer, state.now());
    tried
}

fn too_many(left: Duration) -> ApiError {
    let seconds = left.as_secs() + 1;
    let message = format!("too many wrong keys from your address; try again in {seconds} s");
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_TRIES", message)
        .details(json!({"retry_after_seconds": seconds}))
        .header_value(header::RETRY_AFTER, HeaderValue::from(seconds))
}

fn put_cookie(response: &mut Response, text: &str) -> ApiResult<()> {
    let mut value = HeaderValue::from_str(text).map_err(ApiError::internal)?;
    value.set_sensitive(true);
    response.headers_mut().append(header::SET_COOKIE, value);
    Ok(())
}

pub(super) async fn show(
    State(state): State<ApiState>,
    identity: Identity,
    headers: HeaderMap,
) -> ApiResult {
    let (Access::Keys(ring), Some(token)) = (&state.access, cookie(&state, &headers)) else {
        let message = "this request comes without a session; POST /api/session opens one";
        return Err(ApiError::not_found(message));
    };
    let record = ring.sessions().record(&state, token).await?;
    let own_end = record.expires_at();
    let key_end = ring.end(&state, record.key_hash).await?;
    let name = identity.user["name"].as_str().unwrap_or_default();
    Ok(reply::ok(&wire::Session {
        key: name.to_owned(),
        created_by: identity.created_by,
        role: identity.role.into(),
        created_at: Time(record.created_at),
        expires_at: Time(key_end.map_or(own_end, |end| end.min(own_end))),
        idle_until: Time(record.idle_until()),
    }))
}

/// Any number of times, also with a session that is over.
pub(super) async fn close(State(state): State<ApiState>, headers: HeaderMap) -> ApiResult {
    let ring = ring(&state)?;
    if let Some(token) = cookie(&state, &headers) {
        check_own_page(&headers)?;
        if ring.sessions().end(&state, token).await? {
            tracing::info!(target: AUDIT, "logged out");
        }
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    put_cookie(&mut response, &set_cookie(&state, "", Duration::ZERO))?;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> Option<IpAddr> {
        Some(IpAddr::from(n.to_be_bytes()))
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn one_address_waits_and_others_do_not() {
        let tries = LoginTries::default();
        for _ in 0..TRIES_MAX {
            assert_eq!(tries.wait(address(1), at(0)), None);
            tries.failed(address(1), at(0));
        }
        assert_eq!(
            tries.wait(address(1), at(20)),
            Some(Duration::from_secs(40))
        );
        assert_eq!(tries.wait(address(2), at(20)), None);
        assert_eq!(tries.wait(address(1), at(60)), None);
        tries.failed(address(1), at(61));
        assert_eq!(
            tries.wait(address(1), at(61)),
            None,
            "a new while, a new count"
        );
    }

    #[test]
    fn a_clock_set_back_locks_nobody_out() {
        let tries = LoginTries::default();
        for _ in 0..TRIES_MAX {
            tries.failed(address(1), at(1_000));
        }
        assert!(tries.wait(address(1), at(1_000)).is_some());
        assert_eq!(tries.wait(address(1), at(0)), None);
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let tries = LoginTries::default();
        for n in 0..PEERS_MAX as u32 + 100 {
            tries.failed(address(n), at(0));
        }
        assert!(tries.lock().len() <= PEERS_MAX + 1);
        assert!(
            tries.wait(address(9_999_999), at(0)).is_some(),
            "the crowd waits"
        );
        assert_eq!(tries.wait(address(9_999_999), at(60)), None);
    }
}
