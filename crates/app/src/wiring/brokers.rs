//! The brokers of the user's connections, for the node `rabbitmq_publish` and for scheduled actions.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use pawl_nodes::brokers::{Brokers, NotPublished, Outgoing, no_connection};
use pawl_rabbitmq::{PublishError, PublishRequest, Publisher};

use super::WiringError;
use crate::config::Config;

/// What scheduled actions call the connection that they do not name.
const UNNAMED: &str = "default";

/// One publisher per connection; each connects with its first message.
pub(super) struct ConfiguredBrokers {
    named: BTreeMap<String, Publisher>,
    /// The broker that carries the cluster's own messages. Only for scheduled actions that name no connection: the nodes of a
    /// schema name theirs, which is what [`Brokers::knows`] is asked about.
    own: Option<Publisher>,
    /// How its exchanges and queues begin.
    own_names: [String; 2],
}

impl ConfiguredBrokers {
    pub(super) fn new(config: &Config, own: Option<&str>) -> Result<Self, WiringError> {
        let is_broker = |url: &str| url.starts_with("amqp://") || url.starts_with("amqps://");
        let mut named = BTreeMap::new();
        for (name, connection) in &config.connections {
            if !is_broker(&connection.url) {
                continue;
            }
            let publisher = Publisher::new(&connection.url, &format!("pawl {name}"), None)
                .map_err(|error| WiringError::Config(format!("connections.{name}: {error}")))?;
            named.insert(name.clone(), publisher);
        }
        let own = own.map(|url| Publisher::new(url, "pawl scheduled actions", None));
        Ok(Self {
            named,
            own: own.transpose()?,
            own_names: ["pawl.".into(), format!("{}pawl.", config.broker.prefix)],
        })
    }

    /// What carries the cluster's own messages is nobody else's to write to.
    fn guard_own(&self, connection: &str, message: &Outgoing) -> Result<(), NotPublished> {
        let is_own = connection == UNNAMED && !self.named.contains_key(UNNAMED);
        let names = [&message.exchange, &message.routing_key];
        let is_ours = |name: &&&String| self.own_names.iter().any(|own| name.starts_with(own));
        match names.iter().find(|name| is_own && is_ours(name)) {
            Some(name) => Err(NotPublished::Refused(format!(
                "`{name}` belongs to Pawl itself; publish to an exchange or a queue of your own"
            ))),
            None => Ok(()),
        }
    }

    fn publisher(&self, connection: &str) -> Result<&Publisher, NotPublished> {
        let own = self.own.as_ref().filter(|_| connection == UNNAMED);
        let found = self.named.get(connection).or(own);
        found.ok_or_else(|| match connection {
            UNNAMED => NotPublished::NoConnection(format!(
                "no `connection` is named, and this process has no broker of its own; name one of [connections], or add \
                 [connections.{UNNAMED}] with url = \"amqp://…\" to pawl.toml"
            )),
            name => no_connection(name),
        })
    }
}

#[async_trait]
impl Brokers for ConfiguredBrokers {
    fn knows(&self, connection: &str) -> bool {
        self.named.contains_key(connection)
    }

    async fn publish(
        &self,
        connection: &str,
        message: Outgoing,
        limit: Duration,
    ) -> Result<(), NotPublished> {
        let publisher = self.publisher(connection)?;
        self.guard_own(connection, &message)?;
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
        publisher.publish(request, limit).await.map_err(refusal)
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
