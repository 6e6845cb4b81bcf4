//! `/metrics`, and how requests are counted: by the template of their route, never by the path that the client sent.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use pawl_engine::Runtime;
use pawl_engine::metrics::describe::{Description, WORK_TIME};
use pawl_engine::metrics::{CONTENT_TYPE, Counter, Histogram, catalogue};
use pawl_kernel::id::ExecutionId;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::error::{ApiError, ApiResult};
use super::health::Health;
use super::serve::run;
use super::{ApiState, Limits, guard, health};
use crate::process;

pub static HTTP_REQUESTS: Description = Description::counter(
    "pawl_http_requests_total",
    "Requests answered, by method and path as in the list of routes, and class of status: 2xx, 4xx, 5xx. What fits no route is `unmatched`.",
)
.by(&["method", "route", "status"]);
pub static HTTP_DURATION: Description = Description::histogram(
    "pawl_http_request_duration_seconds",
    &WORK_TIME,
    "From the head of a request to the head of its answer; `?wait=` makes it long on purpose.",
)
.by(&["method", "route"]);

/// Every metric there is, in the order of the documentation.
pub fn descriptions() -> Vec<&'static Description> {
    let own = [
        &HTTP_REQUESTS,
        &HTTP_DURATION,
        &process::BUILD_INFO,
        &process::START_TIME,
        &process::RESIDENT_MEMORY,
        &process::OPEN_FDS,
    ];
    catalogue::ALL.iter().copied().chain(own).collect()
}

/// What a process without an API has to say is little, and few ask.
const CONNECTIONS: usize = 64;

pub(super) async fn show(State(state): State<ApiState>) -> ApiResult {
    Ok(page(state.runtime()).await)
}

async fn page(runtime: &Runtime) -> Response {
    let mut response = Response::new(Body::from(runtime.metrics.page().await));
    let kind = HeaderValue::from_static(CONTENT_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Serves `/metrics`, `/health/live` and `/health/ready` and nothing else, without keys: for processes that have no
/// API, on an address that only those who scrape can reach. Ends when `stop` is cancelled.
pub async fn serve(
    listener: TcpListener,
    runtime: Runtime,
    stop: CancellationToken,
) -> io::Result<()> {
    let health = Arc::new(Health::new(runtime.clone()));
    let stopping = stop.clone();
    let ready = move || async move { health.ready(stopping.is_cancelled()).await };
    let app = Router::new()
        .route("/metrics", get(move || async move { page(&runtime).await }))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(ready))
        .fallback(async || ApiError::not_found("there is /metrics, /health/live, /health/ready"))
        .layer(from_fn(guard::seal));
    let limits = Limits {
        connections: CONNECTIONS,
        ..Limits::default()
    };
    run(listener, app, limits, stop).await
}

/// The series of one route, made when it is first asked for: most are not.
pub(super) struct RouteMeter {
    runtime: Runtime,
    method: String,
    route: &'static str,
    duration: OnceLock<Arc<Histogram>>,
    /// By the first digit of the status.
    answers: [OnceLock<Arc<Counter>>; CLASSES.len()],
}

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

impl RouteMeter {
    pub(super) fn new(runtime: &Runtime, method: &Method, route: &'static str) -> Arc<Self> {
        Self::named(runtime, method.as_str(), route)
    }

    fn named(runtime: &Runtime, method: &str, route: &'static str) -> Arc<Self> {
        Arc::new(Self {
            runtime: runtime.clone(),
            method: method.to_owned(),
            route,
            duration: OnceLock::new(),
            answers: Default::default(),
        })
    }

    pub(super) fn answered(&self, status: StatusCode, took: Duration) {
        let series = self.runtime.metrics.series();
        let labels = [self.method.as_str(), self.route];
        self.duration
            .get_or_init(|| series.histogram(&HTTP_DURATION, &labels))
            .record_time(took);
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        let labels = [labels[0], labels[1], CLASSES[class]];
        self.answers[class]
            .get_or_init(|| series.counter(&HTTP_REQUESTS, &labels))
            .increment();
    }
}

/// Where a request leaves word which route it came to.
#[derive(Clone, Default)]
struct Destination(Arc<OnceLock<Arc<RouteMeter>>>);

/// Stands before every handler.
pub(super) async fn arrive(
    State(meter): State<Arc<RouteMeter>>,
    request: Request,
    next: Next,
) -> Response {
    let route = meter.route;
    if let Some(destination) = request.extensions().get::<Destination>() {
        // Set once: a request comes to one route.
        let _ = destination.0.set(meter);
    }
    let span = match execution_of(route, request.uri().path()) {
        Some(id) => tracing::error_span!("request", execution_id = %id),
        None => tracing::Span::none(),
    };
    next.run(request).instrument(span).await
}

/// Whatever is logged on the way says which execution the request was about.
fn execution_of(route: &str, path: &str) -> Option<ExecutionId> {
    const BEFORE: &str = "/api/executions/";
    if !route.starts_with("/api/executions/{id}") {
        return None;
    }
    path.strip_prefix(BEFORE)?.split('/').next()?.parse().ok()
}

/// Outside of everything, so that refusals and panics count too.
#[derive(Clone)]
pub(super) struct Gate {
    runtime: Runtime,
    unmatched: Arc<RouteMeter>,
}

impl Gate {
    pub(super) fn new(runtime: &Runtime) -> Self {
        Self {
            runtime: runtime.clone(),
            unmatched: RouteMeter::named(runtime, "other", "unmatched"),
        }
    }
}

pub(super) async fn count(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let destination = Destination::default();
    request.extensions_mut().insert(destination.clone());
    let started = gate.runtime.clock.now();
    let response = next.run(request).await;
    let took = gate.runtime.clock.now().since(started);
    let meter = destination.0.get().unwrap_or(&gate.unmatched);
    meter.answered(response.status(), took);
    response
}
