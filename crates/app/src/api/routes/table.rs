//! Every route there is, each with the role it needs.

use axum::http::Method;

use super::super::access::{ADMIN, ANYBODY, EDITOR, OPERATOR, VIEWER};
use super::super::openapi::{self, Param};
use super::super::query::LIMIT_MAX;
use super::super::{
    editor, expressions, health, keys, live, me, metrics, operations, pages, quotas, retention,
    schemas, session, workers,
};
use super::{Route, actions, get, letters, overview, post, runs, webhooks};
use crate::wire::{self, Page};

pub(super) const PAGE: &[Param] = &[
    Param::integer("limit", "How many, 1 to 500; 50 if left out.").up_to(LIMIT_MAX as u64),
    Param::text("cursor", "`next` of the page before."),
];

const NOTE: Param = Param::text(
    "note",
    "What has changed, up to 500 characters; shown with the version.",
);

pub(in crate::api) fn table() -> Vec<Route> {
    [
        catalog_routes(),
        schema_routes(),
        version_routes(),
        layout_routes(),
        pin_routes(),
        vec![node_trial_route()],
        runs::all(),
        overview::all(),
        actions::all(),
        operation_routes(),
        expression_routes(),
        name_routes(),
        watch_routes(),
        letters::all(),
        key_routes(),
        session_routes(),
        quota_routes(),
        webhooks::all(),
        page_routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn catalog_routes() -> Vec<Route> {
    let tag = "schemas";
    vec![
        post(
            "/api/schemas",
            EDITOR,
            tag,
            "Save a new schema",
            schemas::create,
        )
        .query(&[NOTE])
        .document::<wire::Definition>()
        .answer::<wire::SavedSchema>(201)
        .refusal(409)
        .refusal(422),
        get("/api/schemas", VIEWER, tag, "List schemas", schemas::list)
            .query(&[
                Param::text("text", "Found in name or description."),
                Param::choice(
                    "include",
                    "`summary`: also triggers, open executions, the last 20 outcomes and the next firing.",
                    &schemas::INCLUDED,
                ),
            ])
            .query(PAGE)
            .answer::<Page<wire::Schema>>(200),
        post(
            "/api/schemas/validate",
            VIEWER,
            tag,
            "Check a schema without saving it",
            schemas::validate,
        )
        .document::<wire::Definition>()
        .answer::<wire::Validation>(200),
    ]
}

fn schema_routes() -> Vec<Route> {
    let tag = "schemas";
    vec![
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
        .answer::<wire::Schema>(200)
        .refusal(404),
        Route::new(
            Method::PUT,
            "/api/schemas/{id}",
            EDITOR,
            tag,
            "Save a new version",
            schemas::update,
        )
        .query(&[
            Param::text(
                "publish",
                "`false`: save a draft, which starts without a version and triggers do not use.",
            ),
            NOTE,
        ])
        .header(Param::text(
            "If-Match",
            "The version last seen, `\"3\"`; 412 if there is a newer one.",
        ))
        .document::<wire::Definition>()
        .answer::<wire::SavedSchema>(200)
        .refusal(404)
        .refusal(409)
        .refusal(412)
        .refusal(422),
        Route::new(
            Method::DELETE,
            "/api/schemas/{id}",
            EDITOR,
            tag,
            "Delete a schema; open executions go on",
            schemas::remove,
        )
        .empty(204)
        .refusal(404),
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
        .answer::<Page<wire::Version>>(200),
        post(
            "/api/schemas/{id}/publish",
            EDITOR,
            tag,
            "Use a stored version from now on, also an older one",
            schemas::publish,
        )
        .json::<wire::PublishRequest>()
        .answer::<wire::Schema>(200)
        .refusal(404)
        .refusal(409)
        .refusal(422),
        post(
            "/api/schemas/{id}/activate",
            EDITOR,
            tag,
            "Let it be started",
            schemas::activate,
        )
        .answer::<wire::Schema>(200),
        post(
            "/api/schemas/{id}/deactivate",
            EDITOR,
            tag,
            "Keep it from being started",
            schemas::deactivate,
        )
        .answer::<wire::Schema>(200),
    ]
}

fn layout_routes() -> Vec<Route> {
    let (tag, layout) = ("schemas", "/api/schemas/{id}/layout");
    vec![
        get(
            layout,
            VIEWER,
            tag,
            "Where a schema is drawn; the ETag is the revision",
            editor::show_layout,
        )
        .answer::<wire::ShownLayout>(200)
        .refusal(404),
        Route::new(
            Method::PUT,
            layout,
            EDITOR,
            tag,
            "Draw it elsewhere; makes no version",
            editor::put_layout,
        )
        .header(Param::text(
            "If-Match",
            "The revision last seen, `\"3\"`; 412 if there is another one.",
        ))
        .json::<wire::Layout>()
        .answer::<wire::ShownLayout>(200)
        .refusal(404)
        .refusal(412)
        .refusal(422),
    ]
}

fn pin_routes() -> Vec<Route> {
    let (tag, pin) = ("schemas", "/api/schemas/{id}/pins/{node}");
    vec![
        get(
            "/api/schemas/{id}/pins",
            VIEWER,
            tag,
            "The nodes whose output is pinned for trial runs",
            editor::list_pins,
        )
        .answer::<Page<wire::Pin>>(200)
        .refusal(404),
        get(
            pin,
            VIEWER,
            tag,
            "One pin, with its output",
            editor::show_pin,
        )
        .answer::<wire::Pin>(200)
        .refusal(404),
        Route::new(
            Method::PUT,
            pin,
            EDITOR,
            tag,
            "Pin the output of a node for trial runs",
            editor::put_pin,
        )
        .json::<wire::PutPin>()
        .answer::<wire::Pin>(200)
        .refusal(404)
        .refusal(409)
        .refusal(422),
        Route::new(
            Method::DELETE,
            pin,
            EDITOR,
            tag,
            "Remove a pin",
            editor::remove_pin,
        )
        .empty(204)
        .refusal(404),
    ]
}

fn node_trial_route() -> Route {
    post(
        "/api/schemas/{id}/trial-node",
        EDITOR,
        "schemas",
        "Run one node by itself, with its effects; nothing is stored",
        editor::trial::try_node,
    )
    .json::<wire::NodeTrialRequest>()
    .answer::<wire::NodeTrialResult>(200)
    .refusal(404)
    .refusal(422)
}

fn name_routes() -> Vec<Route> {
    let tag = "operations";
    vec![
        get(
            "/api/connections",
            VIEWER,
            tag,
            "The connections that this server knows, by name",
            editor::connections,
        )
        .answer::<Page<wire::NamedConnection>>(200),
        get(
            "/api/secrets",
            VIEWER,
            tag,
            "The names of the secrets that this server knows",
            editor::secrets,
        )
        .answer::<Page<wire::KnownName>>(200),
        get(
            "/api/env",
            VIEWER,
            tag,
            "The names of the variables that expressions see as `env`",
            editor::env,
        )
        .answer::<Page<wire::KnownName>>(200),
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
        .answer::<Page<wire::NodeType>>(200),
        get(
            "/api/node-types/{type}",
            VIEWER,
            tag,
            "One node type",
            operations::node_type,
        )
        .answer::<wire::NodeType>(200)
        .refusal(404),
        get(
            "/api/format.json",
            VIEWER,
            tag,
            "JSON Schema of a whole schema file, for editors",
            operations::format,
        )
        .answer::<wire::Any>(200),
        get(
            "/api/doctor",
            VIEWER,
            tag,
            "What keeps open executions from moving",
            operations::examine,
        )
        .query(&[Param::text("fix", "Refused here; send a POST.")])
        .answer::<wire::DoctorReport>(200),
        post(
            "/api/doctor",
            OPERATOR,
            tag,
            "The same, with repair",
            operations::repair,
        )
        .optional::<wire::DoctorRequest>()
        .answer::<wire::DoctorReport>(200),
        post(
            "/api/gc",
            ADMIN,
            tag,
            "Remove what is past its retention, now",
            retention::collect,
        )
        .optional::<wire::GcRequest>()
        .answer::<wire::GcReport>(200),
        get("/api/workers", VIEWER, tag, "The workers", workers::list)
            .answer::<Page<wire::Worker>>(200),
    ]
}

fn expression_routes() -> Vec<Route> {
    let tag = "expressions";
    vec![
        get(
            "/api/expressions/functions",
            VIEWER,
            tag,
            "The functions of the expression language",
            expressions::list,
        )
        .answer::<Page<wire::ExpressionFunction>>(200),
        post(
            "/api/expressions/evaluate",
            VIEWER,
            tag,
            "What a text with expressions gives at a point of an execution; nothing is stored",
            expressions::evaluate,
        )
        .json::<wire::EvaluateRequest>()
        .answer::<wire::Evaluation>(200)
        .refusal(404)
        .refusal(422),
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
        .answer::<wire::HealthReport>(200),
        get(
            "/health/ready",
            ANYBODY,
            tag,
            "The store answers",
            health::ready,
        )
        .answer::<wire::HealthReport>(200)
        .answer::<wire::HealthReport>(503),
        get(
            "/metrics",
            VIEWER,
            tag,
            "Numbers for Prometheus",
            metrics::show,
        )
        .text::<wire::Metrics>(200, "text/plain"),
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
        .json::<wire::NewKey>()
        .answer::<wire::CreatedKey>(201)
        .refusal(409)
        .refusal(422),
        get(
            "/api/keys",
            ADMIN,
            tag,
            "List API keys, newest first",
            keys::list,
        )
        .query(PAGE)
        .answer::<Page<wire::Key>>(200),
        Route::new(
            Method::DELETE,
            "/api/keys/{id}",
            ADMIN,
            tag,
            "Revoke a key, by id or name",
            keys::revoke,
        )
        .empty(204)
        .refusal(404),
    ]
}

fn session_routes() -> Vec<Route> {
    let tag = "sessions";
    let one = "/api/session";
    vec![
        get("/api/me", VIEWER, tag, "Who is asking, and with what limits", me::show)
            .answer::<wire::Me>(200),
        post(
            one,
            ANYBODY,
            tag,
            "Log in with a key; the answer sets a cookie",
            session::open,
        )
        .json::<wire::LoginRequest>()
        .empty(204)
        .refusal(401)
        .refusal(403)
        .refusal(409)
        .refusal(422)
        .refusal(429),
        get(one, VIEWER, tag, "The session of the request", session::show)
            .answer::<wire::Session>(200)
            .refusal(404),
        Route::new(
            Method::DELETE,
            one,
            ANYBODY,
            tag,
            "Log out; may be repeated",
            session::close,
        )
        .empty(204)
        .refusal(409),
        get(
            "/api/events",
            VIEWER,
            tag,
            "Server-sent events about all that a page shows, in one stream",
            live::events,
        )
        .query(&[
            Param::text(
                "topics",
                "Any of `executions`, `letters`, `workers`, `schemas`, `run:ID`, `run:ID@VERSION`, with commas between them.",
            ),
            Param::text("brief", "`true`: steps and executions without payloads."),
            Param::text("logs", "`true`: also log lines of `run:ID` that are written from now on."),
        ])
        .text::<wire::LiveStream>(200, "text/event-stream"),
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
        .answer::<Page<wire::Quota>>(200),
        get(
            one,
            VIEWER,
            tag,
            "Show a quota and who holds it",
            quotas::get,
        )
        .answer::<wire::Quota>(200)
        .refusal(404),
        Route::new(
            Method::PUT,
            one,
            EDITOR,
            tag,
            "Set the limit of a schema, a tenant or a concurrency key",
            quotas::put,
        )
        .json::<wire::SetQuota>()
        .answer::<wire::Quota>(200)
        .refusal(422),
        Route::new(
            Method::DELETE,
            one,
            EDITOR,
            tag,
            "Remove a limit",
            quotas::delete,
        )
        .empty(204)
        .refusal(404),
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
        .answer::<wire::Any>(200),
        get(
            "/api/docs",
            VIEWER,
            tag,
            "This document for people",
            pages::docs,
        )
        .text::<wire::Html>(200, "text/html"),
    ]
}
