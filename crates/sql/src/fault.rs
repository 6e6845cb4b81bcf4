//! Why a transaction did not happen, and whether to try the whole of it again.

use std::time::Duration;

use pawl_kernel::node::NodeError;
use pawl_kernel::time::format_duration;
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// It would fail again, or it is for the engine to try again.
    Final,
    /// Others were in the way; rolled back, try at once.
    Contended,
    /// The connection is gone. Whether it was committed is not known, but the next try will find out: its first
    /// statement runs into the row that this one may have left.
    Lost,
}

#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// Boxed, because errors are rare and results are everywhere.
    pub(crate) error: Box<NodeError>,
}

impl From<NodeError> for Fault {
    fn from(error: NodeError) -> Self {
        Self {
            kind: FaultKind::Final,
            error: Box::new(error),
        }
    }
}

impl Fault {
    pub(crate) fn contended(error: NodeError) -> Self {
        Self {
            kind: FaultKind::Contended,
            error: Box::new(error.retryable()),
        }
    }

    pub(crate) fn lost(error: NodeError) -> Self {
        Self {
            kind: FaultKind::Lost,
            error: Box::new(error.retryable()),
        }
    }

    /// Says in which statement it happened.
    pub(crate) fn in_statement(mut self, id: &str, item: Option<usize>) -> Self {
        let place = match item {
            Some(item) => format!("statement `{id}`, item {item}"),
            None => format!("statement `{id}`"),
        };
        self.error.message = format!("{place}: {}", self.error.message);
        if !self.error.details.is_object() {
            self.error.details = json!({});
        }
        self.error.details["statement"] = json!(id);
        if let Some(item) = item {
            self.error.details["item"] = json!(item);
        }
        self
    }
}

pub(crate) fn late(limit: Duration) -> NodeError {
    NodeError::new(
        "NODE_TIMEOUT",
        format!(
            "the transaction was not done within {} and was given up; raise the node's timeout, or do less in it",
            format_duration(limit)
        ),
    )
    .retryable()
}

/// The next try finds out: it runs into the row that this one has left, or has not.
pub(crate) fn in_doubt(waited: Duration) -> NodeError {
    NodeError::new(
        "NODE_TIMEOUT",
        format!(
            "the time was over while the transaction was being committed, and there was no answer within {} more: it is \
             not known whether it was; run again, the step finds out and does nothing twice",
            format_duration(waited)
        ),
    )
    .retryable()
}

pub(crate) fn cancelled() -> NodeError {
    NodeError::new("CANCELLED", "the transaction was cancelled and rolled back").retryable()
}

pub(crate) fn not_prepared(connection: &str) -> NodeError {
    NodeError::new(
        "NOT_PREPARED",
        format!(
            "the database of connection `{connection}` has no table `pawl_applied`, in which Pawl remembers what it has \
             done; run `pawl connection prepare {connection}` once"
        ),
    )
}

pub(crate) fn unreachable(connection: &str, reason: &str) -> NodeError {
    NodeError::new(
        "CONNECTION_FAILED",
        format!("connection `{connection}`: {reason}"),
    )
    .retryable()
}

pub(crate) fn busy(connection: &str, waited: Duration) -> NodeError {
    NodeError::new(
        "POOL_TIMEOUT",
        format!(
            "connection `{connection}`: all its connections to the database were busy for {}; raise `pool_size` in \
             [connections.{connection}] of pawl.toml, or make transactions shorter",
            format_duration(waited)
        ),
    )
    .retryable()
}
