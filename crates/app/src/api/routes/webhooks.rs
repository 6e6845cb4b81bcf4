//! The routes of webhooks. A caller proves itself to the trigger, not with a key.

use axum::http::Method;

use super::super::openapi::Param;
use super::super::webhooks;
use super::Route;
use crate::wire;

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
            .optional::<wire::Any>()
            .answer::<wire::Any>(200)
            .answer::<wire::WebhookReceipt>(202)
            .refusal(404)
            .refusal(409)
            .refusal(422),
    ]
}
