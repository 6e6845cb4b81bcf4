//! The routes that are about many executions at once.

use super::super::access::{OPERATOR, VIEWER};
use super::super::openapi::Param;
use super::super::query::LIMIT_MAX;
use super::super::{bulk, overview};
use super::runs::FILTER;
use super::{Route, get, post};
use crate::wire;

pub(super) fn all() -> Vec<Route> {
    let tag = "executions";
    vec![
        get(
            "/api/executions/counts",
            VIEWER,
            tag,
            "Count executions by status, node or schema, up to 10 000 each",
            overview::counts,
        )
        .query(FILTER)
        .query(&[Param::choice("group", "`status` if left out.", &overview::GROUPS)])
        .answer::<wire::ExecutionCounts>(200),
        get(
            "/api/executions/errors",
            VIEWER,
            tag,
            "What went wrong lately, by error code, schema and node",
            overview::errors,
        )
        .query(&[
            Param::text("since", "Created at or after this time (RFC 3339); a day ago if left out."),
            Param::text("until", "Created before this time (RFC 3339)."),
            Param::text("schema", "Name or id of a schema."),
            Param::text("error_code", "Only this code."),
            Param::integer("limit", "How many groups, 1 to 500; 50 if left out.")
                .up_to(LIMIT_MAX as u64),
        ])
        .answer::<wire::ErrorList>(200),
        get(
            "/api/stats",
            VIEWER,
            tag,
            "Executions by time: started, how they ended, how long they took",
            overview::statistics,
        )
        .query(&[
            Param::text("since", "From this time (RFC 3339); an hour ago if left out."),
            Param::text("until", "To this time (RFC 3339); now if left out."),
            Param::text(
                "step",
                "The length of a bucket, like `5m`; at most 500 of them. Left out: one that makes no more than 120.",
            ),
            Param::text("schema", "Name or id of a schema."),
        ])
        .answer::<wire::StatisticsReport>(200),
        post(
            "/api/executions/bulk",
            OPERATOR,
            tag,
            "Pause, resume, stop or retry all that a filter finds",
            bulk::act,
        )
        .audited()
        .json::<wire::BulkRequest>()
        .answer::<wire::BulkResult>(200),
    ]
}
