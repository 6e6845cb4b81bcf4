//! Dead letters.

use std::borrow::Cow;

use pawl_kernel::ports::letters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::name::{LetterAction, RequeueAction};
use super::{Execution, Name, Text, Time};

/// A message that could not be handled.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct DeadLetter<'a> {
    pub(crate) id: u64,
    /// Null if the message did not say.
    pub(crate) execution_id: Option<Uuid>,
    pub(crate) reason: Cow<'a, str>,
    /// Length of the message, if it is kept.
    pub(crate) message_bytes: Option<u64>,
    pub(crate) created_at: Time,
    pub(crate) requeued_at: Option<Time>,
    /// The execution that goes on in its place.
    pub(crate) requeued_as: Option<Uuid>,
}

impl<'a> From<&'a letters::DeadLetter> for DeadLetter<'a> {
    fn from(letter: &'a letters::DeadLetter) -> Self {
        Self {
            id: letter.id,
            execution_id: letter.execution_id.map(|id| id.0),
            reason: letter.reason.as_str().into(),
            message_bytes: letter.message_bytes,
            created_at: Time(letter.created_at),
            requeued_at: letter.requeued_at.map(Time),
            requeued_as: letter.requeued_as.map(|id| id.0),
        }
    }
}

/// A dead letter with its message, which can be large: only one at a time.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct WholeDeadLetter<'a> {
    #[serde(flatten)]
    pub(crate) letter: DeadLetter<'a>,
    /// The message as it came, if it could not be read.
    pub(crate) message: Option<Cow<'a, str>>,
}

/// How many dead letters there are.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LetterCount {
    /// At most `capped_at`.
    pub(crate) count: u64,
    /// There are more.
    pub(crate) capped: bool,
    pub(crate) capped_at: u64,
}

/// One action on every dead letter that a filter finds.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LetterBulkRequest {
    #[schemars(with = "LetterFilter")]
    pub(crate) filter: Option<Value>,
    /// `requeue`
    #[schemars(required, with = "Name<LetterAction>")]
    pub(crate) action: Option<Text>,
    /// True if left out: only count.
    pub(crate) dry_run: Option<bool>,
    /// `next` of the call before.
    pub(crate) cursor: Option<Text>,
}

/// Which dead letters, of those that were not requeued.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LetterFilter {
    /// True, if it is there.
    pub(crate) open: Option<bool>,
    /// A part of the reason.
    pub(crate) reason: Option<Text>,
    /// Only these, at most 500.
    pub(crate) ids: Option<Vec<u64>>,
}

/// What a bulk action on dead letters did, or would do.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LetterBulkResult {
    pub(crate) action: Name<LetterAction>,
    pub(crate) dry_run: bool,
    /// How many the filter finds, at most 10 000, or how many were tried, at most 500.
    pub(crate) matched: u64,
    /// There are more.
    pub(crate) capped: bool,
    /// Null for a dry run.
    pub(crate) outcomes: Option<LetterOutcomes>,
    /// The first 20 that could not go on, and why.
    pub(crate) refused: Vec<RefusedLetter>,
    /// Null if there are no more.
    pub(crate) next: Option<String>,
}

/// How many dead letters each outcome had.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LetterOutcomes {
    /// A new message.
    pub(crate) looked: u64,
    /// A new execution.
    pub(crate) retried: u64,
    /// The execution that another program asked for.
    pub(crate) started: u64,
    /// It has completed.
    pub(crate) nothing: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
}

impl LetterOutcomes {
    /// By the name of what a requeue did.
    pub(crate) fn count(&mut self, action: &str) {
        match action {
            "look" => self.looked += 1,
            "retry" => self.retried += 1,
            "start" => self.started += 1,
            _ => self.nothing += 1,
        }
    }
}

/// A dead letter that could not go on.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct RefusedLetter {
    pub(crate) id: u64,
    /// A stable code in upper case.
    pub(crate) error: String,
    pub(crate) message: String,
}

/// How a dead letter goes on.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Requeued")]
pub(crate) struct Requeue<'a> {
    /// A new message; a new execution; the execution that another program asked for; nothing, because it has completed.
    pub(crate) action: Name<RequeueAction>,
    pub(crate) letter: DeadLetter<'a>,
    pub(crate) execution: Execution<'a>,
}
