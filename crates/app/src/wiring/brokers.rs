//! The brokers of the user's connections, for the node `rabbitmq_publish`.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use pawl_nodes::brokers::{Brokers, NotPublished, Outgoing, no_connection};
use pawl_rabbitmq::{PublishError, PublishRequest, Publisher};

use super::WiringError;
use crate::config::Config;

/// One publisher per connection; each connects with its first message.
pub(super) struct ConfiguredBrokers(BTreeMap<String, Publisher>);

impl ConfiguredBrokers {
    pub(super) fn new(config: &Config) -> Result<Self, WiringError> {
        let is_broker = |url: &str| url.starts_with("amqp://") || url.starts_with("amqps://");
        let mut publishers = BTreeMap::new();
        for (name, connection) in &config.connections {
            if !is_broker(&connection.url) {
                continue;
            }
            let publisher = Publisher::new(&connection.url, &format!("pawl {name}"), None)
                .map_err(|error| WiringError::Config(format!("connections.{name}: {error}")))?;
            publishers.insert(name.clone(), publisher);
        }
        Ok(Self(publishers))
    }
}

#[async_trait]
impl Brokers for ConfiguredBrokers {
    fn knows(&self, connection: &str) -> bool {
        self.0.contains_key(connection)
    }

    async fn publish(
        &self,
        connection: &str,
        message: Outgoing,
        limit: Duration,
    ) -> Result<(), NotPublished> {
        let publisher = self
            .0
            .get(connection)
            .ok_or_else(|| no_connection(connection))?;
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
