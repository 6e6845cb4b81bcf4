//! Who asks, and what they may do.
//!
//! Every route says in the table of [`routes`](super::routes) what it needs; [`enforce`] stands before its handler
//! and lets no other caller through. In `dev`, which only this machine can reach, every caller is the developer.

pub(super) mod key_text;
mod ring;
pub(super) mod sessions;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use pawl_kernel::id::KeyId;
use pawl_kernel::ports::keys::{KeyRecord, Role};
use pawl_kernel::user::{self, Writer};
use serde_json::{Value, json};

use super::ApiState;
use super::body::check_kind;
use super::error::{ApiError, ApiResult};
use super::guard::{changes_state, check_own_page, shorten};
use super::query::Query;

pub(super) use ring::{ADMIN_NAME, KeyRing, LookPurpose};
pub use ring::{BadAdminKey, check_admin_key};

/// Lines that an auditor wants to see.
pub(super) const AUDIT: &str = "pawl::audit";

/// What a route asks of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing: for probes that have no key, and for callers that prove themselves in another way.
    Nothing,
    Role(Role),
}

pub(super) const ANYBODY: Needs = Needs::Nothing;
pub(super) const VIEWER: Needs = Needs::Role(Role::Viewer);
pub(super) const OPERATOR: Needs = Needs::Role(Role::Operator);
pub(super) const EDITOR: Needs = Needs::Role(Role::Editor);
pub(super) const ADMIN: Needs = Needs::Role(Role::Admin);

/// Who asks: what goes into `created_by` and into the context as `user`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Identity {
    pub(super) created_by: String,
    pub(super) user: Value,
    pub(super) role: Role,
    pub(super) login: Login,
}

/// How a caller showed who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Login {
    /// Not at all: every caller on loopback.
    None,
    Key,
    Session,
}

/// What a request shows of its caller.
#[derive(Clone)]
pub(super) enum Credential {
    Key(String),
    /// What the cookie holds.
    Session(String),
}

impl Credential {
    /// A request that shows two says nothing clear: one might be meant, and the other used.
    fn of(state: &ApiState, headers: &HeaderMap) -> ApiResult<Self> {
        let session = sessions::cookie(state, headers);
        match session.filter(|_| headers.contains_key(header::AUTHORIZATION)) {
            Some(_) => Err(ApiError::invalid_header(
                "the request has the header Authorization and the cookie of a session; send one of them",
            )),
            None => match session {
                Some(token) => Ok(Self::Session(token.to_owned())),
                None => bearer(headers).map(|key| Self::Key(key.to_owned())),
            },
        }
    }

    fn login(&self) -> Login {
        match self {
            Self::Key(_) => Login::Key,
            Self::Session(_) => Login::Session,
        }
    }
}

impl Identity {
    /// Every caller on loopback.
    fn developer() -> Self {
        Self {
            created_by: "dev".into(),
            user: user::developer(),
            role: Role::Admin,
            login: Login::None,
        }
    }

    fn key(id: &str, name: &str, email: Option<&str>, role: Role) -> Self {
        Self {
            created_by: format!("key:{name}"),
            user: user::user(id, name, email),
            role,
            login: Login::Key,
        }
    }

    /// As what is written now keeps it, for what it starts later.
    pub(super) fn writer(self) -> Writer {
        Writer::with_user(self.created_by, self.user)
    }
}

impl From<&KeyRecord> for Identity {
    fn from(key: &KeyRecord) -> Self {
        Self::key(
            &key.id.to_string(),
            &key.name,
            key.email.as_deref(),
            key.role,
        )
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Identity {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| ApiError::internal("a route that needs no login asks who is calling"))
    }
}

#[derive(Clone)]
pub(super) enum Access {
    /// No login: only for a server that no other machine can reach.
    Open,
    Keys(std::sync::Arc<KeyRing>),
}

impl Access {
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// A revoked key is forgotten here at once, elsewhere within seconds.
    pub(super) fn forget(&self, id: KeyId) {
        if let Self::Keys(ring) = self {
            ring.forget(id);
        }
    }
}

/// Says who asks, whatever they may do.
pub(super) async fn identify(state: &ApiState, headers: &HeaderMap) -> ApiResult<Identity> {
    match &state.access {
        Access::Open => Ok(Identity::developer()),
        Access::Keys(ring) => {
            let credential = Credential::of(state, headers)?;
            ring.identify(state, &credential, LookPurpose::Request)
                .await
        }
    }
}

/// A route as its guard sees it.
#[derive(Clone)]
pub(super) struct Door {
    pub(super) state: ApiState,
    pub(super) needs: Needs,
    pub(super) path: &'static str,
    /// Each use is a line for the auditor.
    pub(super) audited: bool,
    /// The parameters it knows.
    pub(super) query: Vec<&'static str>,
}

impl Door {
    /// A misspelt parameter must not silently mean its default: `?dry_run=true` where there is none would delete. Health
    /// checks, scrapers and browsers add parameters of their own to the other paths.
    fn query(&self, request: &Request) -> ApiResult<Query> {
        let text = request.uri().query().unwrap_or_default();
        match self.path.starts_with("/api/") {
            true => Query::read(text, &self.query),
            false => Ok(Query::default()),
        }
    }
}

/// Lets those in who may come in.
pub(super) async fn enforce(
    State(door): State<Door>,
    mut request: Request,
    next: Next,
) -> Response {
    let Needs::Role(needed) = door.needs else {
        return match door.query(&request) {
            Ok(_) => next.run(request).await,
            Err(refused) => refused.into_response(),
        };
    };
    let identity = match let_in(&door.state, request.method(), request.headers()).await {
        Ok(identity) => identity,
        Err(refused) => return refused.into_response(),
    };
    let method = request.method().clone();
    // A path is what the caller wrote: printable, as long as a head may be.
    let asked = door.audited.then(|| shorten(request.uri().path()));
    let allowed = check(&identity, needed).and_then(|()| door.query(&request));
    let response = match allowed {
        Ok(query) => {
            request.extensions_mut().insert(query);
            admitted(&door.state, identity.clone(), request, next).await
        }
        Err(refused) => refused.into_response(),
    };
    let is_done = changes_state(&method) && response.status().is_success();
    if is_done && !door.path.starts_with("/api/executions") {
        // Open pages show schemas and letters; executions tell of themselves.
        door.state.pulses.ring();
    }
    if !door.state.access.is_open() && (door.audited || response.status() == 403) {
        // A path that was refused may hold anything that the caller wrote there, a key for one.
        let asked = asked.filter(|_| response.status().is_success());
        let status = response.status().as_u16();
        let Identity {
            created_by, role, ..
        } = &identity;
        tracing::info!(target: AUDIT, by = %created_by, role = role.name(), %method, path = door.path, asked, status, "asked");
    }
    response
}

/// Sessions come from browsers, which foreign pages can make send things.
async fn let_in(state: &ApiState, method: &Method, headers: &HeaderMap) -> ApiResult<Identity> {
    let identity = identify(state, headers).await?;
    if identity.login == Login::Session && changes_state(method) {
        check_own_page(headers)?;
        check_kind(headers)?;
    }
    Ok(identity)
}

fn check(identity: &Identity, needed: Role) -> ApiResult<()> {
    if identity.role.includes(needed) {
        return Ok(());
    }
    let (needed, role) = (needed.name(), identity.role.name());
    let message = format!("this needs the role `{needed}`, and the key has the role `{role}`");
    let refusal = ApiError::new(StatusCode::FORBIDDEN, "FORBIDDEN", message);
    Err(refusal.details(json!({"needed": needed, "role": role})))
}

async fn admitted(
    state: &ApiState,
    identity: Identity,
    mut request: Request,
    next: Next,
) -> Response {
    let credential = match &state.access {
        Access::Keys(_) => Credential::of(state, request.headers()).ok(),
        Access::Open => None,
    };
    request.extensions_mut().insert(identity);
    let response = next.run(request).await;
    match (&state.access, credential) {
        (Access::Keys(ring), Some(credential)) if is_stream(&response) => {
            let good = ring.clone().until_refused(state.clone(), credential);
            response
                .map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(good))))
        }
        _ => response,
    }
}

/// An answer that may go on for longer than its key is good.
fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind == Some(&HeaderValue::from_static("text/event-stream"))
}

/// The key of a request: one header, one scheme, one word.
fn bearer(headers: &HeaderMap) -> ApiResult<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else {
        return Err(unauthorized(
            "this needs an API key: send one header `Authorization: Bearer KEY` (with the CLI: --key or PAWL_KEY)",
        ));
    };
    let text = value.to_str().unwrap_or_default();
    let (scheme, key) = text.split_once(' ').unwrap_or_default();
    let key = key.trim_matches(' ');
    let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
    match scheme.eq_ignore_ascii_case("bearer") && is_word {
        true => Ok(key),
        false => Err(unauthorized(
            "the header Authorization must be `Bearer KEY`, and nothing else",
        )),
    }
}

/// Never says what was sent.
fn unauthorized(message: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
        .header(header::WWW_AUTHENTICATE, "Bearer")
}
