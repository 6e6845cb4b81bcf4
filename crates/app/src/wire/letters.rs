//! Dead letters.

use std::borrow::Cow;

use pawl_kernel::ports::letters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::name::RequeueAction;
use super::{Execution, Name, Time};

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

/// How a dead letter goes on.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Requeued")]
pub(crate) struct Requeue<'a> {
    /// A new message; a new execution; the execution that another program asked for; nothing, because it has completed.
    pub(crate) action: Name<RequeueAction>,
    pub(crate) letter: DeadLetter<'a>,
    pub(crate) execution: Execution<'a>,
}
