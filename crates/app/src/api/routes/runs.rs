//! The routes of executions.

use super::super::access::{OPERATOR, VIEWER};
use super::super::openapi::Param;
use super::super::{contexts, control, events, executions, history, insight, outline};
use super::table::PAGE;
use super::{Route, get, post};
use crate::wire::{self, Page};

const WAIT: &[Param] = &[Param::text(
    "wait",
    "Wait up to this long for the end, at most 60s: `30s`.",
)];
pub(super) const FILTER: &[Param] = &[
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
    Param::text("label", "A label and its value, `team:payments`."),
    Param::text("created_by", "The caller who started it."),
    Param::integer("version", "Of the schema.").up_to(u32::MAX as u64),
    Param::text("node", "The node it stands at."),
    Param::text("error_code", "The code of the error it ended with."),
    Param::text("retry_of", "Retries of this execution."),
    Param::text("forked_from", "Forks of this execution."),
    Param::text("finished_since", "Ended at or after this time (RFC 3339)."),
    Param::text(
        "longer_than",
        "It took longer than this, or has taken longer by now: `30s`.",
    ),
    Param::text("ids", "Only these, separated by commas; at most 500."),
    Param::flag(
        "unresolved",
        "`true`: only what failed, got stuck or was stopped and has not been retried.",
    ),
    Param::flag(
        "trial",
        "`true`: only trial runs; left out: none of them, unless `ids` names some.",
    ),
];
const INHERITED: &[Param] = &[Param::flag(
    "inherited",
    "`false`: without the steps that a retry or fork took over.",
)];

const CONTEXT_VIEW: &[Param] = &[
    Param::choice(
        "view",
        "Only this, cut to size; both contexts whole if none of these parameters is there.",
        &contexts::VIEWS,
    ),
    Param::text("pointer", "JSON pointer of the part to show."),
    Param::integer("depth", "Objects and lists deeper than this are cut.")
        .between(0, contexts::DEPTH_MOST),
    Param::integer(
        "max_bytes",
        "About how large the shown values get; 65,536 if left out.",
    )
    .between(contexts::BYTES_LEAST, contexts::BYTES_MOST),
];

pub(super) fn all() -> Vec<Route> {
    [
        execution_routes(),
        one_execution_routes(),
        history_routes(),
        context_routes(),
        record_routes(),
        insight_routes(),
        control_routes(),
        branch_routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn execution_routes() -> Vec<Route> {
    let tag = "executions";
    vec![
        post(
            "/api/executions",
            OPERATOR,
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
        .json::<wire::StartRequest>()
        .answer::<wire::Execution>(201)
        .answer::<wire::Execution>(200)
        .refusal(404)
        .refusal(409)
        .refusal(422),
        get(
            "/api/executions",
            VIEWER,
            tag,
            "List executions, newest first",
            executions::list,
        )
        .query(FILTER)
        .query(&[Param::choice(
            "view",
            "`brief`: without outputs, and of errors only code and the beginning of the message.",
            &executions::LIST_VIEWS,
        )])
        .query(PAGE)
        .answer::<Page<wire::Execution>>(200),
    ]
}

fn one_execution_routes() -> Vec<Route> {
    let tag = "executions";
    vec![
        get(
            "/api/executions/{id}",
            VIEWER,
            tag,
            "Show an execution",
            executions::get,
        )
        .query(WAIT)
        .query(&[Param::choice(
            "include",
            "`initial`: with what it was started with.",
            &executions::INCLUDED,
        )])
        .answer::<wire::Execution>(200)
        .refusal(404),
        get(
            "/api/executions/{id}/definition",
            VIEWER,
            tag,
            "The definition that it runs, also of a deleted schema",
            executions::definition,
        )
        .answer::<wire::PinnedDefinition>(200)
        .refusal(404),
    ]
}

fn history_routes() -> Vec<Route> {
    let tag = "history";
    vec![
        get(
            "/api/executions/{id}/steps",
            VIEWER,
            tag,
            "The steps, in order",
            history::steps,
        )
        .query(&[
            Param::integer("from", "Only from this step on."),
            Param::integer("to", "Only up to this step."),
        ])
        .query(PAGE)
        .query(INHERITED)
        .answer::<wire::StepPage>(200),
        get(
            "/api/executions/{id}/steps/{seq}",
            VIEWER,
            tag,
            "One step",
            history::step,
        )
        .answer::<wire::Step>(200)
        .refusal(404),
        get(
            "/api/executions/{id}/outline",
            VIEWER,
            tag,
            "Every step without its payloads, in columns",
            outline::show,
        )
        .query(&[Param::integer("after", "Only steps after this one.")])
        .query(INHERITED)
        .answer::<wire::Outline>(200)
        .refusal(404),
    ]
}

fn context_routes() -> Vec<Route> {
    let tag = "history";
    vec![
        get(
            "/api/executions/{id}/steps/{seq}/context",
            VIEWER,
            tag,
            "The context before and after a step",
            contexts::of_step,
        )
        .query(CONTEXT_VIEW)
        .answer::<wire::ContextAnswer>(200)
        .refusal(404),
        get(
            "/api/executions/{id}/context",
            VIEWER,
            tag,
            "The context as it is now",
            contexts::current,
        )
        .answer::<wire::CurrentContext>(200),
    ]
}

fn record_routes() -> Vec<Route> {
    let tag = "history";
    vec![
        get(
            "/api/executions/{id}/logs",
            VIEWER,
            tag,
            "What log nodes wrote",
            history::logs,
        )
        .query(&[
            Param::choice("level", "The lowest level shown.", &history::LEVELS),
            Param::text("node", "Only lines of this node."),
            Param::choice(
                "order",
                "`desc`: newest first; a cursor goes on in the same order.",
                &history::ORDERS,
            ),
        ])
        .query(PAGE)
        .answer::<Page<wire::LogLine>>(200),
        get(
            "/api/executions/{id}/signals",
            VIEWER,
            tag,
            "Events that were sent to it, in the order in which they came",
            history::signals,
        )
        .query(PAGE)
        .answer::<Page<wire::TakenSignal>>(200)
        .refusal(404),
        get(
            "/api/executions/{id}/events",
            VIEWER,
            tag,
            "Server-sent events: step, status, log, end",
            events::events,
        )
        .query(&[
            Param::integer("after", "Only what is newer than this version."),
            Param::text(
                "logs",
                "`true`: also log lines that are written from now on.",
            ),
        ])
        .header(Param::text(
            "Last-Event-ID",
            "The id of the last event seen.",
        ))
        .text::<wire::EventStream>(200, "text/event-stream")
        .empty(204),
    ]
}

fn insight_routes() -> Vec<Route> {
    let tag = "history";
    vec![
        get(
            "/api/executions/{id}/explain",
            VIEWER,
            tag,
            "Why it is where it is",
            insight::why,
        )
        .answer::<wire::ExplainAnswer>(200),
        get(
            "/api/executions/{id}/diff",
            VIEWER,
            tag,
            "Compare two runs",
            insight::compare,
        )
        .query(&[Param::text(
            "with",
            "The other execution; for a failed one the last good run if left out.",
        )])
        .query(&[Param::choice(
            "view",
            "`outline`: without what differs in a pair, for long runs.",
            &insight::DIFF_VIEWS,
        )])
        .query(INHERITED)
        .answer::<wire::Comparison>(200)
        .refusal(404),
        get(
            "/api/executions/{id}/diff/pair",
            VIEWER,
            tag,
            "Compare one visit of a node in two runs",
            insight::compare_pair,
        )
        .query(&[
            Param::text(
                "with",
                "The other execution; for a failed one the last good run if left out.",
            ),
            Param::text("node", "The node."),
            Param::integer("visit", "Which visit of it; the first if left out.")
                .up_to(u32::MAX as u64),
        ])
        .query(INHERITED)
        .answer::<wire::StepPair>(200)
        .refusal(404),
    ]
}

fn control_routes() -> Vec<Route> {
    let tag = "control";
    vec![
        post(
            "/api/executions/{id}/pause",
            OPERATOR,
            tag,
            "Start nothing new",
            control::pause,
        )
        .answer::<wire::Execution>(200)
        .refusal(409),
        post(
            "/api/executions/{id}/resume",
            OPERATOR,
            tag,
            "Go on after a pause",
            control::resume,
        )
        .answer::<wire::Execution>(200)
        .refusal(409),
        post(
            "/api/executions/{id}/stop",
            OPERATOR,
            tag,
            "End it",
            control::stop,
        )
        .audited()
        .answer::<wire::Execution>(200)
        .refusal(409),
        post(
            "/api/executions/{id}/debug",
            OPERATOR,
            tag,
            "Hand it to the debugger after the node it is at",
            control::debug,
        )
        .answer::<wire::Execution>(200)
        .refusal(409),
        post(
            "/api/executions/{id}/continue",
            OPERATOR,
            tag,
            "Go on in debug mode",
            control::go_on,
        )
        .optional::<wire::ContinueRequest>()
        .answer::<wire::Execution>(200)
        .refusal(409),
        post(
            "/api/executions/{id}/notes",
            OPERATOR,
            tag,
            "Write a note on it",
            control::note,
        )
        .json::<wire::NewNote>()
        .answer::<wire::Note>(201)
        .refusal(404)
        .refusal(409),
    ]
}

fn branch_routes() -> Vec<Route> {
    let tag = "control";
    vec![
        post(
            "/api/executions/{id}/retry",
            OPERATOR,
            tag,
            "A new execution from the failed step",
            control::retry,
        )
        .query(WAIT)
        .header(Param::text(
            "Idempotency-Key",
            "The same as `idempotency_key` in the body.",
        ))
        .optional::<wire::RetryRequest>()
        .answer::<wire::Execution>(201)
        .answer::<wire::Execution>(200)
        .refusal(409),
        post(
            "/api/executions/{id}/fork",
            OPERATOR,
            tag,
            "A new execution from any step",
            control::fork,
        )
        .query(WAIT)
        .json::<wire::ForkRequest>()
        .answer::<wire::Execution>(201)
        .refusal(404)
        .refusal(409),
        post(
            "/api/executions/{id}/signals/{name}",
            OPERATOR,
            tag,
            "Send an event; the body is its payload",
            control::signal,
        )
        .query(&[Param::text("id", "An id makes the signal count once.")])
        .header(Param::text("Idempotency-Key", "The same as `id`."))
        .optional::<wire::Any>()
        .answer::<wire::Execution>(202)
        .answer::<wire::Execution>(200)
        .refusal(409),
    ]
}
