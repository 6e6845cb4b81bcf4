//! The one table of routes. What is not in it is not mounted; what is mounted is in the OpenAPI document.

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};

use super::openapi::{self, Answer, Body, Param};
use super::{
    ApiState, bulk, control, events, executions, history, insight, operations, pages, schemas,
};

pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Vec<Param>,
    pub(super) headers: Vec<Param>,
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answer>,
    handler: MethodRouter<ApiState>,
}

impl Route {
    fn new<H, T>(
        method: Method,
        path: &'static str,
        tag: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: Handler<T, ApiState>,
        T: 'static,
    {
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET);
        let handler = on(filter, handler);
        let (query, headers, answers) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            method,
            path,
            tag,
            summary,
            query,
            headers,
            body: None,
            answers,
            handler,
        }
    }

    fn query(mut self, params: &[Param]) -> Self {
        self.query.extend_from_slice(params);
        self
    }

    fn header(mut self, param: Param) -> Self {
        self.headers.push(param);
        self
    }

    fn body(mut self, kind: &'static str, schema: &'static str, required: bool) -> Self {
        self.body = Some(Body {
            kind,
            schema,
            required,
        });
        self
    }

    fn json(self, schema: &'static str) -> Self {
        self.body("application/json", schema, true)
    }

    fn optional(self, schema: &'static str) -> Self {
        self.body("application/json", schema, false)
    }

    fn answer(mut self, status: u16, schema: &'static str) -> Self {
        self.answers.push(Answer { status, schema });
        self
    }
}

pub(super) fn mount() -> Router<ApiState> {
    table().into_iter().fold(Router::new(), |router, route| {
        router.route(route.path, route.handler)
    })
}

fn get<H: Handler<T, ApiState>, T: 'static>(
    path: &'static str,
    tag: &'static str,
    summary: &'static str,
    handler: H,
) -> Route {
    Route::new(Method::GET, path, tag, summary, handler)
}

fn post<H: Handler<T, ApiState>, T: 'static>(
    path: &'static str,
    tag: &'static str,
    summary: &'static str,
    handler: H,
) -> Route {
    Route::new(Method::POST, path, tag, summary, handler)
}

const PAGE: &[Param] = &[
    Param::integer("limit", "How many, 1 to 500; 50 if left out."),
    Param::text("cursor", "`next` of the page before."),
];
const WAIT: &[Param] = &[Param::text(
    "wait",
    "Wait up to this long for the end, at most 60s: `30s`.",
)];
const FILTER: &[Param] = &[
    Param::text("status", "Status names, separated by commas."),
    Param::text("schema", "Name or id of a schema."),
    Param::text("schema_id", "The same as `schema`."),
    Param::text("since", "Created at or after this time (RFC 3339)."),
    Param::text("until", "Created before this time (RFC 3339)."),
    Param::text(
        "text",
        "Found in id, correlation id, idempotency key, creator, labels or error.",
    ),
    Param::text("tenant", "The tenant."),
];

pub(super) fn table() -> Vec<Route> {
    [
        schema_routes(),
        version_routes(),
        execution_routes(),
        history_routes(),
        insight_routes(),
        control_routes(),
        operation_routes(),
        page_routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn schema_routes() -> Vec<Route> {
    let tag = "schemas";
    vec![
        post("/api/schemas", tag, "Save a new schema", schemas::create)
            .body("application/yaml", "Definition", true)
            .answer(201, "SavedSchema")
            .answer(409, "Error")
            .answer(422, "Error"),
        get("/api/schemas", tag, "List schemas", schemas::list)
            .query(&[Param::text("text", "Found in name or description.")])
            .query(PAGE)
            .answer(200, "SchemaPage"),
        post(
            "/api/schemas/validate",
            tag,
            "Check a schema without saving it",
            schemas::validate,
        )
        .body("application/yaml", "Definition", true)
        .answer(200, "Validation"),
        get(
            "/api/schemas/{id}",
            tag,
            "Show a schema; the ETag is its version",
            schemas::get,
        )
        .query(&[Param::integer(
            "version",
            "Another version than the latest.",
        )])
        .answer(200, "Schema")
        .answer(404, "Error"),
        Route::new(
            Method::PUT,
            "/api/schemas/{id}",
            tag,
            "Save a new version",
            schemas::update,
        )
        .header(Param::text(
            "If-Match",
            "The version last seen, `\"3\"`; 412 if there is a newer one.",
        ))
        .body("application/yaml", "Definition", true)
        .answer(200, "SavedSchema")
        .answer(404, "Error")
        .answer(412, "Error")
        .answer(422, "Error"),
        Route::new(
            Method::DELETE,
            "/api/schemas/{id}",
            tag,
            "Delete a schema; open executions go on",
            schemas::remove,
        )
        .answer(204, "")
        .answer(404, "Error"),
    ]
}

fn version_routes() -> Vec<Route> {
    let tag = "schemas";
    vec![
        get(
            "/api/schemas/{id}/versions",
            tag,
            "List the versions, newest first",
            schemas::versions,
        )
        .answer(200, "VersionPage"),
        post(
            "/api/schemas/{id}/activate",
            tag,
            "Let it be started",
            schemas::activate,
        )
        .answer(200, "Schema"),
        post(
            "/api/schemas/{id}/deactivate",
            tag,
            "Keep it from being started",
            schemas::deactivate,
        )
        .answer(200, "Schema"),
    ]
}

fn execution_routes() -> Vec<Route> {
    let tag = "executions";
    vec![
        post(
            "/api/executions",
            tag,
            "Start an execution",
            executions::start,
        )
        .query(WAIT)
        .header(Param::text(
            "Idempotency-Key",
            "The same as `idempotency_key` in the body.",
        ))
        .header(Param::text(
            "X-Correlation-Id",
            "Passed on to everything the execution calls.",
        ))
        .json("StartRequest")
        .answer(201, "Execution")
        .answer(200, "Execution")
        .answer(404, "Error")
        .answer(409, "Error")
        .answer(422, "Error"),
        get(
            "/api/executions",
            tag,
            "List executions, newest first",
            executions::list,
        )
        .query(FILTER)
        .query(PAGE)
        .answer(200, "ExecutionPage"),
        post(
            "/api/executions/bulk",
            tag,
            "Pause, resume, stop or retry all that a filter finds",
            bulk::act,
        )
        .json("BulkRequest")
        .answer(200, "BulkResult"),
        get(
            "/api/executions/{id}",
            tag,
            "Show an execution",
            executions::get,
        )
        .query(WAIT)
        .answer(200, "Execution")
        .answer(404, "Error"),
    ]
}

fn history_routes() -> Vec<Route> {
    let tag = "history";
    vec![
        get(
            "/api/executions/{id}/steps",
            tag,
            "The steps, in order",
            history::steps,
        )
        .query(PAGE)
        .answer(200, "StepPage"),
        get(
            "/api/executions/{id}/steps/{seq}/context",
            tag,
            "The context before and after a step",
            history::step_context,
        )
        .answer(200, "StepContext")
        .answer(404, "Error"),
        get(
            "/api/executions/{id}/context",
            tag,
            "The context as it is now",
            history::context,
        )
        .answer(200, "CurrentContext"),
        get(
            "/api/executions/{id}/logs",
            tag,
            "What log nodes wrote",
            history::logs,
        )
        .query(PAGE)
        .answer(200, "LogPage"),
        get(
            "/api/executions/{id}/events",
            tag,
            "Server-sent events: step, status, end",
            events::events,
        )
        .query(&[Param::integer(
            "after",
            "Only what is newer than this version.",
        )])
        .header(Param::text(
            "Last-Event-ID",
            "The id of the last event seen.",
        ))
        .answer(200, "EventStream")
        .answer(204, ""),
    ]
}

fn insight_routes() -> Vec<Route> {
    let tag = "history";
    vec![
        get(
            "/api/executions/{id}/explain",
            tag,
            "Why it is where it is",
            insight::why,
        )
        .answer(200, "Explanation"),
        get(
            "/api/executions/{id}/diff",
            tag,
            "Compare two runs",
            insight::compare,
        )
        .query(&[Param::text(
            "with",
            "The other execution; for a failed one the last good run if left out.",
        )])
        .answer(200, "Difference")
        .answer(404, "Error"),
    ]
}

fn control_routes() -> Vec<Route> {
    let tag = "control";
    vec![
        post(
            "/api/executions/{id}/pause",
            tag,
            "Start nothing new",
            control::pause,
        )
        .answer(200, "Execution")
        .answer(409, "Error"),
        post(
            "/api/executions/{id}/resume",
            tag,
            "Go on after a pause",
            control::resume,
        )
        .answer(200, "Execution")
        .answer(409, "Error"),
        post("/api/executions/{id}/stop", tag, "End it", control::stop)
            .answer(200, "Execution")
            .answer(409, "Error"),
        post(
            "/api/executions/{id}/continue",
            tag,
            "Go on in debug mode",
            control::go_on,
        )
        .optional("ContinueRequest")
        .answer(200, "Execution")
        .answer(409, "Error"),
        post(
            "/api/executions/{id}/retry",
            tag,
            "A new execution from the failed step",
            control::retry,
        )
        .query(WAIT)
        .optional("RetryRequest")
        .answer(201, "Execution")
        .answer(409, "Error"),
        post(
            "/api/executions/{id}/fork",
            tag,
            "A new execution from any step",
            control::fork,
        )
        .query(WAIT)
        .json("ForkRequest")
        .answer(201, "Execution")
        .answer(404, "Error")
        .answer(409, "Error"),
        post(
            "/api/executions/{id}/signals/{name}",
            tag,
            "Send an event; the body is its payload",
            control::signal,
        )
        .query(&[Param::text("id", "An id makes the signal count once.")])
        .header(Param::text("Idempotency-Key", "The same as `id`."))
        .optional("Any")
        .answer(202, "Execution")
        .answer(200, "Execution")
        .answer(409, "Error"),
    ]
}

fn operation_routes() -> Vec<Route> {
    let tag = "operations";
    vec![
        get(
            "/api/node-types",
            tag,
            "The node types",
            operations::node_types,
        )
        .answer(200, "NodeTypePage"),
        get(
            "/api/node-types/{type}",
            tag,
            "One node type",
            operations::node_type,
        )
        .answer(200, "NodeType")
        .answer(404, "Error"),
        get(
            "/api/doctor",
            tag,
            "What keeps open executions from moving",
            operations::examine,
        )
        .query(&[Param::text("fix", "Refused here; send a POST.")])
        .answer(200, "DoctorReport"),
        post(
            "/api/doctor",
            tag,
            "The same, with repair",
            operations::repair,
        )
        .optional("DoctorRequest")
        .answer(200, "DoctorReport"),
        get(
            "/api/dead-letters",
            tag,
            "Messages that could not be handled",
            operations::dead_letters,
        )
        .query(PAGE)
        .answer(200, "DeadLetterPage"),
        get("/api/workers", tag, "The workers", operations::workers).answer(200, "WorkerPage"),
        get("/health/live", tag, "The process runs", operations::live).answer(200, "Health"),
        get("/health/ready", tag, "The store answers", operations::ready)
            .answer(200, "Health")
            .answer(503, "Error"),
    ]
}

fn page_routes() -> Vec<Route> {
    let tag = "pages";
    vec![
        get("/api/openapi.json", tag, "This document", openapi::document).answer(200, "Any"),
        get("/api/docs", tag, "This document for people", pages::docs).answer(200, "Html"),
        get("/", tag, "What is going on", pages::status).answer(200, "Html"),
    ]
}
