//! The brokers of the user's connections and the cluster's own, for the node `rabbitmq_publish` and for scheduled actions.

use std::collections::BTreeMap;
use std::iter;
use std::slice;
use std::time::Duration;

use async_trait::async_trait;
use pawl_nodes::brokers::{Brokers, NotPublished, OutgoingMessage, no_connection};
use pawl_rabbitmq::{BrokerUrl, Options, PublishError, PublishRequest, Publisher, Topology};
use serde_json::Value;

use super::WiringError;
use crate::config::Config;

/// Headers by which RabbitMQ routes copies of a message: lists of further routing keys.
const COPIES: [&str; 2] = ["CC", "BCC"];

/// One publisher per connection; each connects with its first message.
pub(super) struct ConfiguredBrokers {
    named: BTreeMap<String, Broker>,
    own: Own,
}

/// The broker that carries the cluster's own messages.
enum Own {
    /// This process has none.
    Missing,
    /// There is one, but `[broker] publish = false` keeps it for the cluster alone.
    Closed,
    Open(Box<Broker>),
}

struct Broker {
    publisher: Publisher,
    /// The names that only Pawl writes to there; `None`: it is another broker than the cluster's, or another vhost.
    guarded: Option<Topology>,
}

impl ConfiguredBrokers {
    pub(super) fn new(config: &Config, own: Option<&str>) -> Result<Self, WiringError> {
        let is_broker = |url: &str| url.starts_with("amqp://") || url.starts_with("amqps://");
        let own_url = own.map(BrokerUrl::parse).transpose()?;
        let mut named = BTreeMap::new();
        for (name, connection) in &config.connections {
            if !is_broker(&connection.url) {
                continue;
            }
            let wrong = |error| WiringError::Config(format!("connections.{name}: {error}"));
            let url = BrokerUrl::parse(&connection.url).map_err(wrong)?;
            let title = format!("pawl {name}");
            let shared = own_url.as_ref().filter(|own| own.same_place(&url));
            let broker = Broker {
                publisher: Publisher::new(&connection.url, &title, None).map_err(wrong)?,
                guarded: shared.map(|_| topology(url, config)),
            };
            named.insert(name.clone(), broker);
        }
        let own = match (own, own_url) {
            (Some(_), Some(_)) if !config.broker.publish => Own::Closed,
            (Some(text), Some(url)) => Own::Open(Box::new(Broker {
                publisher: Publisher::new(text, "pawl nodes", None)?,
                guarded: Some(topology(url, config)),
            })),
            _ => Own::Missing,
        };
        Ok(Self { named, own })
    }

    fn broker(&self, connection: Option<&str>) -> Result<&Broker, NotPublished> {
        match (connection, &self.own) {
            (Some(name), _) => self
                .named
                .get(name)
                .ok_or_else(|| no_connection(connection)),
            (None, Own::Open(broker)) => Ok(broker),
            (None, Own::Closed) => Err(NotPublished::NoConnection(
                "no `connection` is named, and the configuration keeps the cluster's own broker to the cluster ([broker] \
                 publish = false); name one of [connections]"
                    .to_owned(),
            )),
            (None, Own::Missing) => Err(no_connection(None)),
        }
    }
}

fn topology(url: BrokerUrl, config: &Config) -> Topology {
    let mut options = Options::new(url);
    options.prefix.clone_from(&config.broker.prefix);
    Topology::new(&options)
}

impl Broker {
    /// What carries the cluster's own messages is not for others to write to: a message there starts executions, or looks
    /// like one of Pawl's own. Through an exchange of the user's the key is no name of a queue; for copies no such
    /// difference is made.
    fn check(&self, message: &OutgoingMessage) -> Result<(), NotPublished> {
        let Some(topology) = &self.guarded else {
            return Ok(());
        };
        let name = match message.exchange.is_empty() {
            true => &message.routing_key,
            false => &message.exchange,
        };
        let headers = COPIES
            .into_iter()
            .filter_map(|name| message.headers.get(name));
        let mut names = iter::once(name.as_str()).chain(headers.flat_map(texts));
        match names.find(|name| topology.owns(name)) {
            Some(name) => Err(NotPublished::Forbidden(format!(
                "`{name}` belongs to Pawl itself; publish to an exchange or a queue of your own"
            ))),
            None => Ok(()),
        }
    }
}

/// The texts of a list, or the one that stands alone.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        single => slice::from_ref(single),
    };
    items.iter().filter_map(Value::as_str)
}

#[async_trait]
impl Brokers for ConfiguredBrokers {
    fn knows(&self, connection: Option<&str>) -> bool {
        self.broker(connection).is_ok()
    }

    async fn publish(
        &self,
        connection: Option<&str>,
        message: OutgoingMessage,
        limit: Duration,
    ) -> Result<(), NotPublished> {
        let broker = self.broker(connection)?;
        broker.check(&message)?;
        let request = PublishRequest {
            exchange: message.exchange,
            routing_key: message.routing_key,
            body: message.body,
            headers: message.headers,
            persistent: message.persistent,
            message_id: Some(message.message_id),
            correlation_id: Some(message.correlation_id),
            content_type: Some(message.content_type.to_owned()),
        };
        let published = broker.publisher.publish(request, limit).await;
        published.map_err(refusal)
    }
}

fn refusal(error: PublishError) -> NotPublished {
    let text = error.to_string();
    match error {
        PublishError::Unroutable { .. } | PublishError::NoExchange { .. } => {
            NotPublished::Unroutable(text)
        }
        PublishError::Refused(_) | PublishError::Invalid(_) => NotPublished::Refused(text),
        PublishError::Timeout(_) | PublishError::Lost(_) => NotPublished::Unconfirmed(text),
        PublishError::Connection(_) => NotPublished::Unreachable(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    const OWN: &str = "amqp://guest:guest@mq.example.com/pawl";

    fn brokers(config: &str, own: Option<&str>) -> ConfiguredBrokers {
        ConfiguredBrokers::new(&toml::from_str(config).unwrap(), own).unwrap()
    }

    fn message(exchange: &str, routing_key: &str) -> OutgoingMessage {
        OutgoingMessage {
            exchange: exchange.into(),
            routing_key: routing_key.into(),
            body: Vec::new(),
            content_type: "application/json",
            headers: Map::new(),
            persistent: true,
            message_id: String::new(),
            correlation_id: String::new(),
        }
    }

    fn is_forbidden(
        brokers: &ConfiguredBrokers,
        connection: Option<&str>,
        (exchange, key): (&str, &str),
    ) -> bool {
        refuses(brokers, connection, &message(exchange, key))
    }

    fn refuses(
        brokers: &ConfiguredBrokers,
        connection: Option<&str>,
        message: &OutgoingMessage,
    ) -> bool {
        let broker = brokers.broker(connection).unwrap();
        match broker.check(message) {
            Ok(()) => false,
            Err(NotPublished::Forbidden(why)) => why.contains("belongs to Pawl itself"),
            Err(other) => panic!("{other}"),
        }
    }

    /// Everything that [`Topology`] declares, and nothing else.
    #[test]
    fn no_name_of_our_own_is_written_to() {
        for prefix in ["", "blue."] {
            let config = format!(
                "[broker]\nprefix = \"{prefix}\"\n[connections.same]\nurl = \"amqps://other@MQ.example.com/pawl\"\n\
                 [connections.else]\nurl = \"amqp://mq.example.com/events\"\n"
            );
            let brokers = brokers(&config, Some(OWN));
            for name in [
                "schema_execution_queue",
                "schema_execution_queue.high",
                "schema_execution_queue.low",
                "schema_execution_dlq",
                "schema_execution_dlx",
                "pawl.hints",
            ] {
                let name = format!("{prefix}{name}");
                for connection in [None, Some("same")] {
                    assert!(is_forbidden(&brokers, connection, ("", &name)), "{name}");
                    assert!(is_forbidden(&brokers, connection, (&name, "k")), "{name}");
                    // The key of an exchange of theirs is no queue.
                    assert!(!is_forbidden(&brokers, connection, ("orders", &name)));
                }
                assert!(!is_forbidden(&brokers, Some("else"), ("", &name)));
            }
            assert!(!is_forbidden(&brokers, None, ("", "orders")));
            assert!(!is_forbidden(&brokers, None, ("pawl.orders", "k")));
        }
    }

    #[test]
    fn no_copy_is_written_to_a_name_of_our_own() {
        let config = "[connections.else]\nurl = \"amqp://mq.example.com/events\"\n";
        let brokers = brokers(config, Some(OWN));
        let own = "schema_execution_queue";
        for (header, value, expected) in [
            ("CC", json!([own]), true),
            ("BCC", json!([own]), true),
            ("CC", json!(["orders", 5, own]), true),
            ("BCC", json!("schema_execution_dlq"), true),
            ("CC", json!(["orders"]), false),
            ("BCC", json!("orders"), false),
            ("CC", json!(null), false),
            // The broker takes the names of these headers by the letter.
            ("cc", json!([own]), false),
            ("Cc", json!([own]), false),
        ] {
            let mut message = message("", "orders");
            message.headers.insert(header.into(), value.clone());
            let what = format!("{header} {value}");
            assert_eq!(refuses(&brokers, None, &message), expected, "{what}");
            assert!(!refuses(&brokers, Some("else"), &message), "{what}");
            message.exchange = "events".into();
            assert_eq!(refuses(&brokers, None, &message), expected, "{what}");
        }
    }

    #[test]
    fn without_a_connection_the_own_broker_is_used_if_it_may_be() {
        let open = brokers("", Some(OWN));
        assert!(open.knows(None) && !open.knows(Some("default")));
        for (closed, expected) in [
            (
                brokers("[broker]\npublish = false\n", Some(OWN)),
                "publish = false",
            ),
            (brokers("", None), "has no broker of its own"),
        ] {
            assert!(!closed.knows(None));
            let Err(NotPublished::NoConnection(why)) = closed.broker(None) else {
                panic!("there is a broker");
            };
            assert!(why.contains(expected), "{why}");
        }
    }
}
