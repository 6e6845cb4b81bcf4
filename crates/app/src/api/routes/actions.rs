//! The routes of scheduled actions.

use axum::http::Method;

use super::super::access::{EDITOR, OPERATOR, VIEWER};
use super::super::openapi::Param;
use super::super::schedule;
use super::table::PAGE;
use super::{Route, get, post};
use crate::wire::{self, Page};

const TAG: &str = "scheduled actions";
const ONE: &str = "/api/scheduled-actions/{id}";
const FILTER: &[Param] = &[
    Param::text("prefix", "Ids that begin like this."),
    Param::text(
        "finished",
        "`true`: only those that are over; `false`: only the others.",
    ),
    Param::text("due_before", "Due before this time (RFC 3339)."),
    Param::choice(
        "order",
        "By `id` if left out; `due`: what is due next comes first, what is paused last.",
        &schedule::ORDERS,
    ),
    Param::text("schema", "Those that start this schema: its name or id."),
    Param::flag(
        "paused",
        "`true`: only those that are paused; `false`: only the others.",
    ),
    Param::text(
        "kind",
        "`http_callback`, `start_execution` or `rabbitmq_publish`.",
    ),
];

pub(super) fn all() -> Vec<Route> {
    [action_routes(), look_routes(), command_routes()]
        .into_iter()
        .flatten()
        .collect()
}

fn action_routes() -> Vec<Route> {
    vec![
        get(
            "/api/scheduled-actions",
            VIEWER,
            TAG,
            "List scheduled actions",
            schedule::list,
        )
        .query(FILTER)
        .query(PAGE)
        .answer::<Page<wire::ScheduledAction>>(200),
        get(ONE, VIEWER, TAG, "Show a scheduled action", schedule::get)
            .answer::<wire::ScheduledAction>(200)
            .refusal(404),
        Route::new(
            Method::PUT,
            ONE,
            EDITOR,
            TAG,
            "Write a scheduled action",
            schedule::put,
        )
        .document::<wire::PutAction>()
        .answer::<wire::ScheduledAction>(201)
        .answer::<wire::ScheduledAction>(200)
        .refusal(409)
        .refusal(422),
        Route::new(
            Method::DELETE,
            ONE,
            EDITOR,
            TAG,
            "Delete a scheduled action with its history",
            schedule::delete,
        )
        .empty(204)
        .refusal(404)
        .refusal(409),
    ]
}

fn look_routes() -> Vec<Route> {
    vec![
        post(
            "/api/scheduled-actions/preview",
            VIEWER,
            TAG,
            "When an action would fire, without writing it",
            schedule::preview,
        )
        .document::<wire::PreviewAction>()
        .answer::<Page<wire::PlannedTime>>(200)
        .refusal(422),
        get(
            "/api/scheduled-actions/{id}/firings",
            VIEWER,
            TAG,
            "The next planned firings, without retries",
            schedule::firings,
        )
        .query(&[Param::integer("count", "How many, 1 to 1000; 10 if left out.").up_to(1_000)])
        .answer::<Page<wire::PlannedTime>>(200)
        .refusal(404),
        get(
            "/api/scheduled-actions/{id}/attempts",
            VIEWER,
            TAG,
            "Attempts that are over, newest first",
            schedule::attempts,
        )
        .query(PAGE)
        .answer::<Page<wire::Attempt>>(200)
        .refusal(404),
    ]
}

fn command_routes() -> Vec<Route> {
    let routes = vec![
        post(
            "/api/scheduled-actions/{id}/run",
            OPERATOR,
            TAG,
            "Let it fire now; a schedule goes on as planned",
            schedule::run,
        ),
        post(
            "/api/scheduled-actions/{id}/pause",
            OPERATOR,
            TAG,
            "Let nothing new begin",
            schedule::pause,
        ),
        post(
            "/api/scheduled-actions/{id}/resume",
            OPERATOR,
            TAG,
            "Go on after a pause; what was missed is left out",
            schedule::resume,
        ),
    ];
    let answers = |route: Route| {
        route
            .answer::<wire::ScheduledAction>(200)
            .refusal(404)
            .refusal(409)
    };
    routes.into_iter().map(answers).collect()
}
