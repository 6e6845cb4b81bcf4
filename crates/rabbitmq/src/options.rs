//! The settings of the broker and what we need from the process around us.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::Entropy;
use pawl_kernel::time::Clock;

use crate::address::BrokerUrl;
use crate::error::BrokerError;
use crate::wire::Rules;

/// How the broker keeps the work queues. It can never be changed for a queue that exists: that is used as it is.
///
/// Either is right, since the database can rebuild every message, and while workers keep up they are equally fast
/// (measured on one node of RabbitMQ 3.10). `Classic` is the default because it asks least of the broker: it runs on any,
/// and it needs no write-ahead log, which for quorum queues may take half a gigabyte of the broker's memory and so bring
/// a small machine to its alarm. Choose `Quorum` for a cluster: a classic queue is out of reach while the one node that
/// hosts it is down; other programs can then not declare the queues without these arguments. Only quorum queues count deliveries, so `delivery_limit` works there alone; poison is caught
/// without it, by the count of recoveries in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueType {
    #[default]
    Classic,
    Quorum,
}

impl QueueType {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Quorum => "quorum",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Classic, Self::Quorum]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// What to do at the start of the process while the broker does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Wait for it this long, then give up.
    WhenConnected { within: Duration },
    /// Begin without it after the first attempt; the connection comes when it can. What an operator must fix (password,
    /// vhost, mismatched queues) is an error all the same.
    Anyway,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub url: BrokerUrl,
    /// Put before the name of every queue and exchange, so that several installations can share a vhost.
    pub prefix: String,
    pub queue_type: QueueType,
    /// Deliveries after which a quorum queue gives a message up to the dead letters.
    pub delivery_limit: u32,
    /// Messages of one class that the broker hands out before the first is acknowledged.
    pub slots: u16,
    /// `false`: publish only, as a server without the engine does.
    pub consume: bool,
    /// Take `"action": "start"` and `"resume"` of other programs.
    pub accept_external: bool,
    /// Longest message that is read, as long as a body of the API.
    pub max_message_bytes: usize,
    /// From the call of `publish` to the broker's confirmation.
    pub publish_timeout: Duration,
    /// For every other call, connecting included.
    pub call_timeout: Duration,
    pub start: Start,
    /// Certificates (PEM) to trust with `amqps://` beside those of the system.
    pub ca_certificates: Option<String>,
    /// Shown in the broker's list of connections.
    pub name: String,
}

impl Options {
    pub fn new(url: BrokerUrl) -> Self {
        Self {
            url,
            prefix: String::new(),
            queue_type: QueueType::default(),
            delivery_limit: 20,
            slots: 64,
            consume: true,
            accept_external: false,
            max_message_bytes: 1 << 20,
            publish_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(5),
            start: Start::WhenConnected {
                within: Duration::from_secs(30),
            },
            ca_certificates: None,
            name: "pawl".into(),
        }
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules {
            max_bytes: self.max_message_bytes,
            accept_external: self.accept_external,
        }
    }

    pub(crate) fn check(&self) -> Result<(), BrokerError> {
        let bad = |name, reason: &str| {
            Err(BrokerError::BadSetting {
                name,
                reason: reason.into(),
            })
        };
        // The broker allows 255 bytes for a name, and ours come after the prefix.
        if self.prefix.len() > 200 || self.prefix.chars().any(char::is_control) {
            return bad(
                "prefix",
                "it must have at most 200 bytes and no control characters",
            );
        }
        if self.prefix.starts_with("amq.") {
            return bad(
                "prefix",
                "names that begin with `amq.` belong to the broker",
            );
        }
        if self.slots == 0 {
            return bad(
                "slots",
                "it must be at least 1, since 0 means without any limit to the broker",
            );
        }
        Ok(())
    }
}

/// Time and chance, which come from outside so that tests can decide them.
#[derive(Clone)]
pub struct Ports {
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_work_are_refused_by_name() {
        let good = Options::new(BrokerUrl::parse("amqp://host").unwrap());
        assert_eq!(good.check(), Ok(()));
        let cases = [
            (
                "prefix",
                Options {
                    prefix: "x".repeat(201),
                    ..good.clone()
                },
            ),
            (
                "prefix",
                Options {
                    prefix: "a\nb".into(),
                    ..good.clone()
                },
            ),
            (
                "prefix",
                Options {
                    prefix: "amq.".into(),
                    ..good.clone()
                },
            ),
            ("slots", Options { slots: 0, ..good }),
        ];
        for (name, options) in cases {
            let error = options.check().unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
    }
}
