//! Who is asking: what a page must know before it shows anything.

use axum::extract::State;

use super::access::Login;
use super::error::ApiResult;
use super::guard::Identity;
use super::query::LIMIT_MAX;
use super::{ApiState, Limits, live, reply};
use crate::ui;
use crate::wire::{Me, Name, ShownLimits, Time};

impl From<Limits> for ShownLimits {
    fn from(limits: Limits) -> Self {
        Self {
            request_body: limits.body_bytes,
            schema: limits.schema_bytes,
            page: LIMIT_MAX,
            wait_seconds: limits.wait.as_secs(),
            bulk: limits.bulk,
            watched_runs: live::RUNS_MAX,
        }
    }
}

pub(super) async fn show(State(state): State<ApiState>, identity: Identity) -> ApiResult {
    let mode = match state.access.is_open() {
        true => "dev",
        false => "server",
    };
    let login = match identity.login {
        Login::None => "none",
        Login::Key => "key",
        Login::Session => "session",
    };
    Ok(reply::ok(&Me {
        created_by: identity.created_by,
        user: identity.user,
        role: identity.role.into(),
        login: Name::new(login),
        mode: Name::new(mode),
        version: env!("CARGO_PKG_VERSION").into(),
        ui_build: ui::build().into(),
        server_time: Time(state.now()),
        limits: state.limits.into(),
    }))
}
