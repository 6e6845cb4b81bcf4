//! What can go wrong between us and a broker, in words by which an operator can fix it.

use std::time::Duration;

use lapin::ErrorKind;
use lapin::protocol::AMQPError;
use pawl_kernel::ports::queue::QueueError;

use crate::address::BrokerUrl;

/// Numbers of AMQP 0-9-1.
mod code {
    pub(super) const ACCESS_REFUSED: u16 = 403;
    pub(super) const RESOURCE_LOCKED: u16 = 405;
    pub(super) const PRECONDITION_FAILED: u16 = 406;
    pub(super) const NOT_ALLOWED: u16 = 530;
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    #[error(
        "this is no broker URL: {0}; write amqp://user:password@host:5672/vhost, or amqps:// for TLS"
    )]
    BadUrl(String),
    #[error("the setting `{name}` cannot be used: {reason}")]
    BadSetting { name: &'static str, reason: String },
    #[error(
        "the broker at {url} cannot be reached: {reason}; check that it runs and that host and port are right"
    )]
    Unreachable { url: String, reason: String },
    #[error(
        "the broker at {url} refuses the login of user `{user}`: check name and password in the broker URL \
         (characters such as @ / : in a password must be percent-encoded)"
    )]
    LoginRefused { url: String, user: String },
    #[error(
        "the broker at {url} lets user `{user}` not into vhost `{vhost}`: {reason}; create it with \
         `rabbitmqctl add_vhost {vhost}` and `rabbitmqctl set_permissions -p {vhost} {user} '.*' '.*' '.*'`, or name \
         another vhost in the broker URL"
    )]
    NoVhost {
        url: String,
        user: String,
        vhost: String,
        reason: String,
    },
    #[error(
        "the {what} exists on the broker and cannot be used: {reason}. Either change the setting `broker.prefix`, or delete \
         it once, e.g. `rabbitmqctl {remedy}`; messages of executions deleted with a queue are sent again from the database, \
         but let it run empty first: starts by other programs and dead letters are nowhere else"
    )]
    Mismatch {
        what: String,
        reason: String,
        remedy: String,
    },
    #[error(
        "the broker forbids it to {what}: {reason}; grant it with `rabbitmqctl set_permissions`"
    )]
    Forbidden { what: String, reason: String },
    #[error("the broker did not answer within {after:?} to the wish to {what}")]
    Timeout { what: String, after: Duration },
    #[error("the connection to the broker failed while it was to {what}: {reason}")]
    Lost { what: String, reason: String },
}

impl BrokerError {
    /// Waiting will not fix it; an operator must.
    pub fn needs_a_person(&self) -> bool {
        matches!(
            self,
            Self::BadUrl(_)
                | Self::BadSetting { .. }
                | Self::LoginRefused { .. }
                | Self::NoVhost { .. }
                | Self::Mismatch { .. }
                | Self::Forbidden { .. }
        )
    }

    /// What an error means that came while connecting.
    pub(crate) fn connecting(url: &BrokerUrl, error: &lapin::Error) -> Self {
        let reason = plain(error);
        match protocol(error).map(AMQPError::get_id) {
            Some(code::ACCESS_REFUSED) => Self::LoginRefused {
                url: url.to_string(),
                user: url.user().to_owned(),
            },
            Some(code::NOT_ALLOWED) => Self::NoVhost {
                url: url.to_string(),
                user: url.user().to_owned(),
                vhost: url.vhost().to_owned(),
                reason,
            },
            _ => Self::Unreachable {
                url: url.to_string(),
                reason,
            },
        }
    }

    /// What an error means that came from a call on an open connection.
    pub(crate) fn calling(what: &str, error: &lapin::Error) -> Self {
        let reason = plain(error);
        let what = what.to_owned();
        match protocol(error).map(AMQPError::get_id) {
            Some(code::ACCESS_REFUSED) => Self::Forbidden { what, reason },
            _ => Self::Lost { what, reason },
        }
    }

    /// What an error means that came from declaring `what`; `remedy` deletes it.
    pub(crate) fn declaring(what: &str, remedy: &str, error: &lapin::Error) -> Self {
        match protocol(error).map(AMQPError::get_id) {
            Some(code::PRECONDITION_FAILED | code::RESOURCE_LOCKED) => Self::Mismatch {
                what: what.to_owned(),
                reason: plain(error),
                remedy: remedy.to_owned(),
            },
            _ => Self::calling(&format!("declare the {what}"), error),
        }
    }
}

impl From<BrokerError> for QueueError {
    fn from(error: BrokerError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

pub(crate) fn protocol(error: &lapin::Error) -> Option<&AMQPError> {
    match error.kind() {
        ErrorKind::ProtocolError(error) => Some(error),
        _ => None,
    }
}

/// The broker's own words without the decoration around them.
pub(crate) fn plain(error: &lapin::Error) -> String {
    match error.kind() {
        ErrorKind::ProtocolError(error) => error.get_message().to_string(),
        ErrorKind::IOError(error) => error.to_string(),
        ErrorKind::MissingHeartbeatError => "it sent no heartbeat for too long".into(),
        _ => error.to_string(),
    }
}
