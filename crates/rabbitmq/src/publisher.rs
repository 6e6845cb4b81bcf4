//! Publishing to any broker, for the node `rabbitmq_publish`: each message confirmed, each answer certain.

use std::sync::Arc;
use std::time::Duration;

use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{BasicProperties, Channel, Confirmation};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout_at};

use crate::address::BrokerUrl;
use crate::confirm_publisher::PERSISTENT;
use crate::error::{BrokerError, plain, protocol};
use crate::link::{Dial, Link};
use crate::table::table;

/// Messages under way at once, each on a channel of its own: only then is it certain which message was returned.
const LANES: usize = 16;
const CONNECTING: Duration = Duration::from_secs(5);
/// A connection on which nothing was answered for this long is not used for new messages.
const SUSPICIOUS: Duration = Duration::from_secs(2);
const BLOCKED_CHECK: Duration = Duration::from_millis(50);
const TRANSIENT: u8 = 1;
const NOT_FOUND: u16 = 404;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishRequest {
    /// Empty: the default exchange, where the routing key is the name of a queue.
    pub exchange: String,
    pub routing_key: String,
    pub body: Vec<u8>,
    pub headers: Map<String, Value>,
    pub persistent: bool,
    pub message_id: Option<String>,
    pub correlation_id: Option<String>,
    /// `application/json` if not given.
    pub content_type: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    #[error(
        "no queue took the message: nothing is bound to exchange `{exchange}` for routing key `{routing_key}` (with the \
         default exchange the routing key is the name of a queue); create the queue or the binding"
    )]
    Unroutable {
        exchange: String,
        routing_key: String,
    },
    #[error(
        "there is no exchange `{exchange}`; create it, or leave it empty to publish to a queue by its name"
    )]
    NoExchange { exchange: String },
    #[error("the broker refused the message: {0}")]
    Refused(String),
    #[error(
        "the broker did not confirm the message within {0:?}; it is unknown whether it arrived"
    )]
    Timeout(Duration),
    #[error("{0}; it is unknown whether the message arrived")]
    Lost(String),
    /// Certainly not sent.
    #[error("{0}")]
    Connection(String),
    /// Certainly not sent, and never will be.
    #[error("the message cannot be published: {0}")]
    Invalid(String),
}

/// Connects at the first message and again when needed. Cheap to keep; share one per connection name.
pub struct Publisher {
    dial: Dial,
    lanes: Semaphore,
    state: Mutex<PublisherState>,
}

#[derive(Default)]
struct PublisherState {
    link: Option<Arc<Link>>,
    idle: Vec<Channel>,
}

/// A channel with nothing under way on it.
struct Lane<'a> {
    link: Arc<Link>,
    channel: Channel,
    _permit: SemaphorePermit<'a>,
}

impl Publisher {
    /// `name` is shown in the broker's list of connections; `ca_certificates` (PEM) are trusted beside the system's.
    pub fn new(
        url: &str,
        name: &str,
        ca_certificates: Option<String>,
    ) -> Result<Self, BrokerError> {
        Ok(Self {
            dial: Dial {
                url: BrokerUrl::parse(url)?,
                ca_certificates,
                limit: CONNECTING,
                name: name.to_owned(),
            },
            lanes: Semaphore::new(LANES),
            state: Mutex::new(PublisherState::default()),
        })
    }

    /// Returns once the broker has confirmed that at least one queue has the message.
    pub async fn publish(
        &self,
        request: PublishRequest,
        limit: Duration,
    ) -> Result<(), PublishError> {
        let begun = Instant::now();
        let parcel = Parcel::new(request)?;
        let lane = timeout_at(begun + limit, Box::pin(self.lane()))
            .await
            .unwrap_or_else(|_| {
                Err(PublishError::Connection(format!(
                    "no connection to the broker at {} within {limit:?}",
                    self.dial.url
                )))
            })?;
        let answer = tokio::select! {
            answer = timeout_at(begun + limit, Box::pin(parcel.send(&lane.channel))) => answer,
            () = blocked(&lane.link) => {
                return Err(PublishError::Lost("the broker takes no messages for now (a resource alarm)".into()));
            }
        };
        match answer {
            Ok(answer) => self.judge(answer, parcel, lane).await,
            Err(_) => {
                if begun.elapsed() >= SUSPICIOUS {
                    self.forget(&lane.link).await;
                }
                Err(PublishError::Timeout(limit))
            }
        }
    }

    /// Leaves the broker, if connected.
    pub async fn close(&self) {
        let state = std::mem::take(&mut *self.state.lock().await);
        if let Some(link) = &state.link {
            link.close().await;
        }
    }

    async fn lane(&self) -> Result<Lane<'_>, PublishError> {
        let closed = |_| PublishError::Connection("the publisher is closed".into());
        let permit = self.lanes.acquire().await.map_err(closed)?;
        let (link, idle) = self.link().await?;
        let channel = match idle {
            Some(channel) => channel,
            None => link.confirming_channel().await.map_err(unconnected)?,
        };
        Ok(Lane {
            link,
            channel,
            _permit: permit,
        })
    }

    async fn link(&self) -> Result<(Arc<Link>, Option<Channel>), PublishError> {
        let mut state = self.state.lock().await;
        if let Some(link) = state.link.clone().filter(|link| link.is_connected()) {
            if link.is_blocked() {
                return Err(PublishError::Connection(
                    "the broker takes no messages for now (a resource alarm); try again later"
                        .into(),
                ));
            }
            return Ok((link, state.idle.pop()));
        }
        *state = PublisherState::default();
        let link = Arc::new(Link::open(&self.dial).await.map_err(unconnected)?);
        state.link = Some(link.clone());
        Ok((link, None))
    }

    async fn judge(
        &self,
        answer: lapin::Result<Confirmation>,
        parcel: Parcel,
        lane: Lane<'_>,
    ) -> Result<(), PublishError> {
        let verdict = match answer {
            Ok(Confirmation::Ack(None)) => Ok(()),
            Ok(Confirmation::Ack(Some(_))) => Err(PublishError::Unroutable {
                exchange: parcel.exchange.to_string(),
                routing_key: parcel.routing_key.to_string(),
            }),
            Ok(Confirmation::Nack(_)) => Err(PublishError::Refused(
                "it answered with a nack, as it does when a queue with a length limit is full"
                    .into(),
            )),
            Ok(Confirmation::NotRequested) => {
                return Err(PublishError::Lost("the broker does not confirm".into()));
            }
            Err(error) => return Err(failure(&error, &parcel)),
        };
        let mut state = self.state.lock().await;
        if state
            .link
            .as_ref()
            .is_some_and(|link| Arc::ptr_eq(link, &lane.link))
        {
            state.idle.push(lane.channel);
        }
        verdict
    }

    /// The next message gets a new connection; what is under way on the old one goes on.
    async fn forget(&self, link: &Arc<Link>) {
        let mut state = self.state.lock().await;
        if state
            .link
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, link))
        {
            *state = PublisherState::default();
        }
    }
}

fn unconnected(error: BrokerError) -> PublishError {
    PublishError::Connection(error.to_string())
}

fn failure(error: &lapin::Error, parcel: &Parcel) -> PublishError {
    match protocol(error) {
        Some(refused) if refused.get_id() == NOT_FOUND => PublishError::NoExchange {
            exchange: parcel.exchange.to_string(),
        },
        // An error of the channel is an answer to what was sent on it: no permission, too large.
        Some(_) if error.is_amqp_soft_error() => PublishError::Refused(plain(error)),
        _ => PublishError::Lost(format!(
            "the connection to the broker failed: {}",
            plain(error)
        )),
    }
}

async fn blocked(link: &Link) {
    while !link.is_blocked() {
        sleep(BLOCKED_CHECK).await;
    }
}

/// A request that fits what AMQP allows.
struct Parcel {
    exchange: ShortString,
    routing_key: ShortString,
    body: Vec<u8>,
    properties: BasicProperties,
}

impl Parcel {
    fn new(request: PublishRequest) -> Result<Self, PublishError> {
        let headers = table(&request.headers).map_err(PublishError::Invalid)?;
        let mode = if request.persistent {
            PERSISTENT
        } else {
            TRANSIENT
        };
        let content_type = request
            .content_type
            .as_deref()
            .unwrap_or("application/json");
        let mut properties = BasicProperties::default()
            .with_delivery_mode(mode)
            .with_content_type(short("content type", content_type)?)
            .with_headers(headers);
        if let Some(id) = &request.message_id {
            properties = properties.with_message_id(short("message id", id)?);
        }
        if let Some(id) = &request.correlation_id {
            properties = properties.with_correlation_id(short("correlation id", id)?);
        }
        Ok(Self {
            exchange: short("exchange", &request.exchange)?,
            routing_key: short("routing key", &request.routing_key)?,
            body: request.body,
            properties,
        })
    }

    async fn send(&self, channel: &Channel) -> lapin::Result<Confirmation> {
        let options = BasicPublishOptions {
            mandatory: true,
            immediate: false,
        };
        channel
            .basic_publish(
                self.exchange.clone(),
                self.routing_key.clone(),
                options,
                &self.body,
                self.properties.clone(),
            )
            .await?
            .await
    }
}

fn short(what: &str, text: &str) -> Result<ShortString, PublishError> {
    ShortString::try_new(text).map_err(|_| {
        PublishError::Invalid(format!(
            "its {what} has {} bytes, AMQP allows 255",
            text.len()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_amqp_cannot_carry_is_refused_by_name() {
        let long = "x".repeat(256);
        let good = PublishRequest::default();
        let cases = [
            (
                "exchange",
                PublishRequest {
                    exchange: long.clone(),
                    ..good.clone()
                },
            ),
            (
                "routing key",
                PublishRequest {
                    routing_key: long.clone(),
                    ..good.clone()
                },
            ),
            (
                "message id",
                PublishRequest {
                    message_id: Some(long.clone()),
                    ..good.clone()
                },
            ),
            (
                "correlation id",
                PublishRequest {
                    correlation_id: Some(long.clone()),
                    ..good.clone()
                },
            ),
            (
                "content type",
                PublishRequest {
                    content_type: Some(long),
                    ..good
                },
            ),
        ];
        for (what, request) in cases {
            let Err(PublishError::Invalid(reason)) = Parcel::new(request) else {
                panic!("{what} was accepted");
            };
            assert!(reason.contains(what), "{reason}");
        }
    }
}
