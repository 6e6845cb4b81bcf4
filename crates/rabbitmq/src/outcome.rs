//! What became of a message that was to be published.

use std::time::Duration;

use pawl_kernel::ports::queue::QueueError;

/// Only `Confirmed` is a success; for all others the message counts as not published, though it may be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Outcome {
    #[error("the broker confirmed it")]
    Confirmed,
    #[error("unroutable: {0}")]
    Unroutable(String),
    #[error(
        "refused: the broker answered with a nack, as it does when a queue with a length limit is full"
    )]
    Refused,
    #[error("not confirmed: the channel is not in confirm mode")]
    NotRequested,
    #[error("timeout: the broker did not confirm within {0:?}")]
    Timeout(Duration),
    #[error("connection lost: {0}")]
    Lost(String),
    #[error("blocked: the broker takes no messages for now ({0})")]
    Blocked(String),
    #[error("too many messages wait for the broker's confirmation")]
    TooMany,
    #[error("closed")]
    Closed,
}

impl From<Outcome> for Result<(), QueueError> {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Confirmed => Ok(()),
            Outcome::TooMany => Err(QueueError::Full),
            Outcome::Closed => Err(QueueError::Closed),
            other => Err(QueueError::Unavailable(other.to_string())),
        }
    }
}
