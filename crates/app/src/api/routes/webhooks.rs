//! The routes of webhooks. Whoever calls one proves itself to the trigger, not with a key.

use axum::http::Method;

use super::super::openapi::Param;
use super::super::webhooks;
use super::Route;

pub(super) fn all() -> Vec<Route> {
    let route = Route::direct(
        Method::POST,
        webhooks::ROUTE,
        "webhooks",
        "Call a webhook: any method and body that its trigger takes; or `{schema_id}/{node_id}` to start at a node",
        webhooks::call,
    );
    vec![
        route
            .header(Param::text(
                "Idempotency-Key",
                "The same key, path and body get the same answer.",
            ))
            .header(Param::text(
                "X-Correlation-Id",
                "Passed on to everything the execution calls.",
            ))
            .body("application/json", "Any", false)
            .answer(200, "Any")
            .answer(202, "Accepted")
            .answer(404, "Error")
            .answer(409, "Error")
            .answer(422, "Error"),
    ]
}
