//! The way to message brokers: those of the user by the names of connections in the configuration, and the one that the
//! program itself runs on. What is behind it is chosen by the program; nodes only see this.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

/// One message, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct OutgoingMessage {
    /// Empty: the default exchange, where the routing key is the name of a queue.
    pub exchange: String,
    pub routing_key: String,
    pub body: Vec<u8>,
    pub content_type: &'static str,
    pub headers: Map<String, Value>,
    pub persistent: bool,
    pub message_id: String,
    pub correlation_id: String,
}

/// Why it was not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPublished {
    #[error("{0}")]
    NoConnection(String),
    /// What carries Pawl's own messages is not for others to write to.
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    Unroutable(String),
    /// The broker said no, and will again.
    #[error("{0}")]
    Refused(String),
    /// Try again; it may have arrived.
    #[error("{0}")]
    Unconfirmed(String),
    #[error("{0}")]
    Unreachable(String),
}

#[async_trait]
pub trait Brokers: Send + Sync {
    /// Is there a broker of this name in the configuration? `None`: has the program one of its own to offer?
    fn knows(&self, connection: Option<&str>) -> bool;

    /// Returns once the broker has confirmed that a queue has the message.
    async fn publish(
        &self,
        connection: Option<&str>,
        message: OutgoingMessage,
        limit: Duration,
    ) -> Result<(), NotPublished>;
}

/// A configuration without any broker.
pub struct NoBrokers;

#[async_trait]
impl Brokers for NoBrokers {
    fn knows(&self, _: Option<&str>) -> bool {
        false
    }

    async fn publish(
        &self,
        connection: Option<&str>,
        _: OutgoingMessage,
        _: Duration,
    ) -> Result<(), NotPublished> {
        Err(no_connection(connection))
    }
}

pub fn no_connection(name: Option<&str>) -> NotPublished {
    NotPublished::NoConnection(match name {
        Some(name) => format!(
            "there is no connection `{name}` to a broker; add [connections.{name}] with url = \"amqp://…\" to pawl.toml"
        ),
        None => "no `connection` is named, and this process has no broker of its own; name one of [connections] in pawl.toml, \
                 with url = \"amqp://…\""
            .to_owned(),
    })
}
