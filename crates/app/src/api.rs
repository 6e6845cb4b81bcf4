//! The HTTP interface: what a request may look like, and how it is answered.
//!
//! [`routes`] is the one table of everything mounted; router, OpenAPI document and docs page come from it.
//! Handlers parse ([`body`], [`query`], [`fields`]), ask [`Control`] or the store, and answer with a
//! type of [`crate::wire`]. No rule of the engine lives here. Every request passes [`guard`] first, then [`access`]; calls of
//! [`webhooks`] go past the router ([`direct`]) and past access, because they prove themselves to their trigger.

mod access;
mod body;
mod bulk;
mod contexts;
mod control;
mod cursor;
mod direct;
mod editor;
mod error;
mod events;
mod executions;
mod expressions;
mod fields;
mod filter;
mod guard;
mod health;
mod history;
mod insight;
mod keys;
mod knocks;
mod letters;
mod live;
mod me;
mod messages;
pub mod metrics;
mod openapi;
mod operations;
mod outline;
mod overview;
mod packing;
mod pages;
mod path;
mod query;
mod quotas;
mod reply;
mod retention;
mod routes;
mod sampled;
mod schedule;
mod schemas;
mod serve;
mod session;
mod shell;
mod summaries;
mod waiting;
mod webhooks;
mod workers;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use pawl_engine::Runtime;
use pawl_engine::control::Control;
use pawl_kernel::ports::store::Store;
use pawl_kernel::time::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, UiSection};

pub use access::{BadAdminKey, check_admin_key};
pub use openapi::openapi_text;
pub use serve::serve;

use access::{Access, KeyRing};

/// What every handler works with. Every layer before a handler takes one along with every request, so it is one pointer.
#[derive(Clone)]
pub struct ApiState(Arc<SharedState>);

#[derive(Clone)]
pub struct SharedState {
    control: Control,
    limits: Limits,
    access: Access,
    health: Arc<health::Health>,
    webhooks: Arc<webhooks::Desk>,
    knocks: Arc<knocks::Knocks>,
    logins: Arc<session::LoginTries>,
    pulses: Arc<live::pulse::PulseDesk>,
    /// May dead letters be started that other programs sent?
    takes_starts: bool,
    /// Names besides loopback under which this server may be called.
    trusted_hosts: Arc<[String]>,
    /// How browsers reach it.
    ui: Arc<UiSection>,
    /// Cancelled when the server goes down: long answers end.
    stop: CancellationToken,
}

/// Sizes and times of requests. All of them bound what one client can cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub body_bytes: usize,
    pub schema_bytes: usize,
    /// A request body must have arrived by then.
    pub body_time: Duration,
    pub header_time: Duration,
    pub header_bytes: usize,
    pub connections: usize,
    /// Of one peer; 0: no limit.
    pub connections_per_peer: usize,
    /// A client that takes nothing of its answer for so long is hung up on.
    pub write_time: Duration,
    /// Longest `?wait=`.
    pub wait: Duration,
    /// A watcher looks again after this time even if no hint came.
    pub reread: Duration,
    /// A page of steps ends early at this size.
    pub page_bytes: usize,
    /// Rows that a list looks at to fill one page, where no index finds what is wanted.
    pub rows_read: usize,
    /// Executions touched by one bulk request.
    pub bulk: usize,
    /// How long open requests may go on after a stop.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            schema_bytes: 4 << 20,
            body_time: Duration::from_secs(30),
            header_time: Duration::from_secs(10),
            header_bytes: 64 << 10,
            connections: 1_000,
            connections_per_peer: 200,
            write_time: Duration::from_secs(30),
            wait: Duration::from_secs(60),
            reread: Duration::from_secs(15),
            page_bytes: 16 << 20,
            rows_read: 2_000,
            bulk: 10_000,
            grace: Duration::from_secs(3),
        }
    }
}

pub(crate) use messages::{MessageStart, StartRefusal, read_start};

/// JSON by the rules that hold at every edge; the sentence of the error says what is wrong and where.
pub(crate) fn read_json(bytes: &[u8]) -> Result<serde_json::Value, String> {
    pawl_kernel::json::read(bytes).map_err(|error| format!("not valid JSON: {error}"))
}

impl From<&Config> for Limits {
    fn from(config: &Config) -> Self {
        let defaults = config.server.apply(Self::default());
        let body_bytes = config.limits.request_body.unwrap_or(defaults.body_bytes);
        Self {
            body_bytes,
            schema_bytes: defaults.schema_bytes.max(body_bytes),
            ..defaults
        }
    }
}

impl Deref for ApiState {
    type Target = SharedState;

    fn deref(&self) -> &SharedState {
        &self.0
    }
}

impl ApiState {
    /// The state of a server on loopback, where every caller is the developer.
    pub fn new(control: Control, limits: Limits) -> Self {
        Self(Arc::new(SharedState {
            health: Arc::new(health::Health::new(control.runtime().clone())),
            webhooks: Arc::new(webhooks::Desk::new(&limits)),
            knocks: Arc::default(),
            logins: Arc::default(),
            pulses: Arc::default(),
            control,
            limits,
            access: Access::Open,
            takes_starts: false,
            trusted_hosts: Arc::new([]),
            ui: Arc::default(),
            stop: CancellationToken::new(),
        }))
    }

    fn with(self, change: impl FnOnce(&mut SharedState)) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.0);
        change(&mut shared);
        Self(Arc::new(shared))
    }

    /// The state of a server that other machines can reach: no caller gets in without an API key. `admin_key`
    /// is the one that the environment may hold, with the role admin; without it one must have been created before.
    pub fn with_keys(
        control: Control,
        limits: Limits,
        admin_key: Option<&str>,
    ) -> Result<Self, BadAdminKey> {
        let ring = Arc::new(KeyRing::new(admin_key)?);
        Ok(Self::new(control, limits).with(|shared| shared.access = Access::Keys(ring)))
    }

    /// `broker.accept_external`: starts of other programs that ended as dead letters can be requeued.
    pub fn taking_starts(self, takes_starts: bool) -> Self {
        self.with(|shared| shared.takes_starts = takes_starts)
    }

    /// Lets requests name these hosts too.
    pub fn trusting(self, hosts: Vec<String>) -> Self {
        self.with(|shared| shared.trusted_hosts = hosts.into())
    }

    /// How browsers reach it: `[ui]` of the configuration.
    pub fn presenting(self, ui: &UiSection) -> Self {
        self.with(|shared| shared.ui = Arc::new(ui.clone()))
    }

    fn stopping_with(self, stop: CancellationToken) -> Self {
        self.with(|shared| shared.stop = stop)
    }

    fn runtime(&self) -> &Runtime {
        self.control.runtime()
    }

    fn store(&self) -> &dyn Store {
        &*self.control.runtime().store
    }

    fn now(&self) -> Timestamp {
        self.runtime().clock.now()
    }
}

/// All routes, behind the guard.
pub fn router(state: ApiState) -> Router {
    routes::mount(&state)
        .fallback(guard::no_such_route)
        .method_not_allowed_fallback(guard::no_such_method)
        .layer(from_fn_with_state(state.clone(), guard::admit))
        .layer(from_fn(guard::seal))
        .layer(from_fn_with_state(
            metrics::Gate::new(state.runtime()),
            metrics::count,
        ))
        .with_state(state)
}
