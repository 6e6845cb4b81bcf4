//! The routes of dead letters.

use super::super::access::{OPERATOR, VIEWER};
use super::super::letters;
use super::super::openapi::Param;
use super::table::PAGE;
use super::{Route, get, post};
use crate::wire::{self, Page};

const LETTERS: &[Param] = &[
    Param::flag("open", "`true`: only those that were not requeued."),
    Param::text("reason", "A part of the reason."),
];

pub(super) fn all() -> Vec<Route> {
    let tag = "dead letters";
    vec![
        get(
            "/api/dead-letters",
            VIEWER,
            tag,
            "List dead letters",
            letters::list,
        )
        .query(LETTERS)
        .query(&[Param::choice(
            "order",
            "Which come first; `oldest` if left out.",
            &letters::ORDERS,
        )])
        .query(PAGE)
        .answer::<Page<wire::DeadLetter>>(200),
        get(
            "/api/dead-letters/count",
            VIEWER,
            tag,
            "Count dead letters, up to 10 000",
            letters::count,
        )
        .query(LETTERS)
        .answer::<wire::LetterCount>(200),
        post(
            "/api/dead-letters/bulk",
            OPERATOR,
            tag,
            "Let all that a filter finds go on",
            letters::bulk,
        )
        .audited()
        .json::<wire::LetterBulkRequest>()
        .answer::<wire::LetterBulkResult>(200),
        get(
            "/api/dead-letters/{id}",
            VIEWER,
            tag,
            "One of them, with its message",
            letters::show,
        )
        .answer::<wire::WholeDeadLetter>(200)
        .refusal(404),
        post(
            "/api/dead-letters/{id}/requeue",
            OPERATOR,
            tag,
            "Let it go on; may be repeated",
            letters::requeue,
        )
        .answer::<wire::Requeue>(201)
        .answer::<wire::Requeue>(200)
        .refusal(404)
        .refusal(409),
    ]
}
