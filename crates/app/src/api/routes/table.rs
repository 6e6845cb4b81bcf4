//! Every route there is, each with the role it needs.

use axum::http::Method;

use super::super::access::{ADMIN, ANYBODY, EDITOR, OPERATOR, VIEWER};
use super::super::openapi::{self, Param};
use super::super::query::LIMIT_MAX;
use super::super::{
    health, keys, letters, metrics, operations, pages, quotas, retention, schemas, workers,
};
use super::{Route, actions, get, post, runs, webhooks};

pub(super) const PAGE: &[Param] = &[
    Param::integer("limit", "How many, 1 to 500; 50 if left out.").up_to(LIMIT_MAX as u64),
    Param::text("cursor", "`next` of the page before."),
];

pub(in crate::api) fn table() -> Vec<Route> {
    [
        schema_routes(),
        version_routes(),
        runs::all(),
        actions::all(),
        operation_routes(),
        watch_routes(),
        letter_routes(),
        key_routes(),
        quota_routes(),
        webhooks::all(),
        page_routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn schema_routes() -> Vec<Route> {
    let tag = "schemas";
    vec![
        post(
            "/api/schemas",
            EDITOR,
            tag,
            "Save a new schema",
            schemas::create,
        )
        .body("application/yaml", "Definition", true)
        .answer(201, "SavedSchema")
        .answer(409, "Error")
        .answer(422, "Error"),
        get("/api/schemas", VIEWER, tag, "List schemas", schemas::list)
            .query(&[Param::text("text", "Found in name or description.")])
            .query(PAGE)
            .answer(200, "SchemaPage"),
        post(
            "/api/schemas/validate",
            VIEWER,
            tag,
            "Check a schema without saving it",
            schemas::validate,
        )
        .body("application/yaml", "Definition", true)
        .answer(200, "Validation"),
        get(
            "/api/schemas/{id}",
            VIEWER,
            tag,
            "Show a schema; the ETag is its version",
            schemas::get,
        )
        .query(&[
            Param::integer("version", "Another version than the latest.").up_to(u32::MAX as u64),
        ])
        .answer(200, "Schema")
        .answer(404, "Error"),
        Route::new(
            Method::PUT,
            "/api/schemas/{id}",
            EDITOR,
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
        .answer(409, "Error")
        .answer(412, "Error")
        .answer(422, "Error"),
        Route::new(
            Method::DELETE,
            "/api/schemas/{id}",
            EDITOR,
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
            VIEWER,
            tag,
            "List the versions, newest first",
            schemas::versions,
        )
        .answer(200, "VersionPage"),
        post(
            "/api/schemas/{id}/activate",
            EDITOR,
            tag,
            "Let it be started",
            schemas::activate,
        )
        .answer(200, "Schema"),
        post(
            "/api/schemas/{id}/deactivate",
            EDITOR,
            tag,
            "Keep it from being started",
            schemas::deactivate,
        )
        .answer(200, "Schema"),
    ]
}

fn operation_routes() -> Vec<Route> {
    let tag = "operations";
    vec![
        get(
            "/api/node-types",
            VIEWER,
            tag,
            "The node types",
            operations::node_types,
        )
        .answer(200, "NodeTypePage"),
        get(
            "/api/node-types/{type}",
            VIEWER,
            tag,
            "One node type",
            operations::node_type,
        )
        .answer(200, "NodeType")
        .answer(404, "Error"),
        get(
            "/api/doctor",
            VIEWER,
            tag,
            "What keeps open executions from moving",
            operations::examine,
        )
        .query(&[Param::text("fix", "Refused here; send a POST.")])
        .answer(200, "DoctorReport"),
        post(
            "/api/doctor",
            OPERATOR,
            tag,
            "The same, with repair",
            operations::repair,
        )
        .optional("DoctorRequest")
        .answer(200, "DoctorReport"),
        post(
            "/api/gc",
            ADMIN,
            tag,
            "Remove what is past its retention, now",
            retention::collect,
        )
        .optional("GcRequest")
        .answer(200, "GcReport"),
        get("/api/workers", VIEWER, tag, "The workers", workers::list).answer(200, "WorkerPage"),
    ]
}

fn watch_routes() -> Vec<Route> {
    let tag = "operations";
    vec![
        get(
            "/health/live",
            ANYBODY,
            tag,
            "The process runs",
            health::live,
        )
        .answer(200, "Health"),
        get(
            "/health/ready",
            ANYBODY,
            tag,
            "The store answers",
            health::ready,
        )
        .answer(200, "Health")
        .answer(503, "Health"),
        get(
            "/metrics",
            VIEWER,
            tag,
            "Numbers for Prometheus",
            metrics::show,
        )
        .answer(200, "Metrics"),
    ]
}

fn letter_routes() -> Vec<Route> {
    let tag = "dead letters";
    vec![
        get(
            "/api/dead-letters",
            VIEWER,
            tag,
            "What nobody could handle, oldest first",
            letters::list,
        )
        .query(&[Param::text(
            "open",
            "`true`: only those that were not requeued.",
        )])
        .query(PAGE)
        .answer(200, "DeadLetterPage"),
        get(
            "/api/dead-letters/{id}",
            VIEWER,
            tag,
            "One of them, with its message",
            letters::show,
        )
        .answer(200, "WholeDeadLetter")
        .answer(404, "Error"),
        post(
            "/api/dead-letters/{id}/requeue",
            OPERATOR,
            tag,
            "Let it go on; may be repeated",
            letters::requeue,
        )
        .answer(201, "Requeued")
        .answer(200, "Requeued")
        .answer(404, "Error")
        .answer(409, "Error"),
    ]
}

fn key_routes() -> Vec<Route> {
    let tag = "keys";
    vec![
        post(
            "/api/keys",
            ADMIN,
            tag,
            "Make an API key; the answer is the only place that shows it",
            keys::create,
        )
        .json("NewKey")
        .answer(201, "CreatedKey")
        .answer(409, "Error")
        .answer(422, "Error"),
        get(
            "/api/keys",
            ADMIN,
            tag,
            "List API keys, newest first",
            keys::list,
        )
        .query(PAGE)
        .answer(200, "KeyPage"),
        Route::new(
            Method::DELETE,
            "/api/keys/{id}",
            ADMIN,
            tag,
            "Revoke a key, by id or name",
            keys::revoke,
        )
        .answer(204, "")
        .answer(404, "Error"),
    ]
}

fn quota_routes() -> Vec<Route> {
    let tag = "quotas";
    let one = "/api/quotas/{kind}/{name}";
    vec![
        get(
            "/api/quotas",
            VIEWER,
            tag,
            "List quotas: limit, use and how many wait",
            quotas::list,
        )
        .query(PAGE)
        .answer(200, "QuotaPage"),
        get(
            one,
            VIEWER,
            tag,
            "Show a quota and who holds it",
            quotas::get,
        )
        .answer(200, "Quota")
        .answer(404, "Error"),
        Route::new(
            Method::PUT,
            one,
            EDITOR,
            tag,
            "Set the limit of a schema, a tenant or a concurrency key",
            quotas::put,
        )
        .json("SetQuota")
        .answer(200, "Quota")
        .answer(422, "Error"),
        Route::new(
            Method::DELETE,
            one,
            EDITOR,
            tag,
            "Take a limit back",
            quotas::delete,
        )
        .answer(204, "")
        .answer(404, "Error"),
    ]
}

fn page_routes() -> Vec<Route> {
    let tag = "pages";
    vec![
        get(
            "/api/openapi.json",
            VIEWER,
            tag,
            "This document",
            openapi::document,
        )
        .answer(200, "Any"),
        get(
            "/api/docs",
            VIEWER,
            tag,
            "This document for people",
            pages::docs,
        )
        .answer(200, "Html"),
        get("/", VIEWER, tag, "What is going on", pages::status).answer(200, "Html"),
    ]
}
