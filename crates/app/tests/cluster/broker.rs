//! The broker as an operator and as another program see it.

use std::path::Path;
use std::sync::OnceLock;

use futures_util::StreamExt;
use lapin::options::{
    BasicConsumeOptions, BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions,
    QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use serde_json::Value;
use tokio::sync::watch;
use xtask::services::{AMQP_NODE, RabbitMq, RabbitNode, RabbitOptions};

use crate::site::{PATIENCE, blocking, eventually};

pub(crate) const WORK: &str = "schema_execution_queue";

/// A vhost, and the node it is on.
#[derive(Clone)]
pub(crate) struct Broker {
    pub(crate) url: String,
    pub(crate) vhost: String,
    pub(crate) node: RabbitNode,
}

/// Messages that wait, and messages that somebody has and has not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Depth {
    pub(crate) ready: u64,
    pub(crate) held: u64,
}

impl Broker {
    /// A vhost of its own on the broker that all tests share.
    pub(crate) async fn shared(name: &'static str) -> Self {
        blocking(move || Self::fresh(shared_node(), name)).await
    }

    pub(crate) fn fresh(node: RabbitNode, name: &str) -> Self {
        let url = node.fresh_vhost(name).unwrap();
        let vhost = url.rsplit('/').next().unwrap().to_owned();
        Self { url, vhost, node }
    }

    /// The vhost that is there after everything was wiped.
    pub(crate) fn default_vhost(node: RabbitNode) -> Self {
        Self {
            url: node.url(),
            vhost: "/".into(),
            node,
        }
    }

    /// Evaluates Erlang in the node.
    pub(crate) async fn eval(&self, code: String) -> String {
        let node = self.node.clone();
        blocking(move || node.eval(&code).unwrap()).await
    }

    /// Runs rabbitmqctl; the word `VHOST` stands for the vhost.
    pub(crate) async fn ctl(&self, words: &[&str]) {
        let node = self.node.clone();
        let vhost = |word: &&str| word.replace("VHOST", &self.vhost);
        let words: Vec<String> = words.iter().map(vhost).collect();
        blocking(move || {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            node.ctl(&words).unwrap();
        })
        .await;
    }

    pub(crate) async fn depth(&self, queue: &str) -> Depth {
        let code = format!(
            "{{ok, Q}} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"{}\">>, queue, <<\"{queue}\">>)), \
             [{{_, R}}, {{_, U}}] = rabbit_amqqueue:info(Q, [messages_ready, messages_unacknowledged]), \
             {{R, U}}.",
            self.vhost
        );
        let answer = self.eval(code).await;
        let mut numbers = answer
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|word| word.parse().ok());
        Depth {
            ready: numbers.next().unwrap(),
            held: numbers.next().unwrap(),
        }
    }

    /// Ends every connection to this vhost from the broker's side.
    pub(crate) async fn close_connections(&self) {
        let code = format!(
            "[rabbit_networking:close_connection(P, \"test\") || P <- rabbit_networking:connections(), \
             [{{vhost, <<\"{}\">>}}] == rabbit_networking:connection_info(P, [vhost])], ok.",
            self.vhost
        );
        self.eval(code).await;
    }
}

/// The broker of `cargo xtask test`, or one of our own.
fn shared_node() -> RabbitNode {
    static OURS: OnceLock<RabbitMq> = OnceLock::new();
    match std::env::var(AMQP_NODE) {
        Ok(folder) if !folder.is_empty() => RabbitNode::attach(Path::new(&folder)).unwrap(),
        _ => RabbitNode::clone(
            OURS.get_or_init(|| RabbitMq::start(RabbitOptions::default()).unwrap()),
        ),
    }
}

/// Another program on the same vhost.
pub(crate) struct Stranger {
    _connection: Connection,
    channel: Channel,
}

impl Stranger {
    pub(crate) async fn connect(broker: &Broker) -> Self {
        let properties = ConnectionProperties::default();
        let connecting = Box::pin(Connection::connect(&broker.url, properties));
        let connection = connecting.await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        let confirms = ConfirmSelectOptions::default();
        channel.confirm_select(confirms).await.unwrap();
        Self {
            _connection: connection,
            channel,
        }
    }

    pub(crate) async fn declare(&self, queue: &str) {
        let options = QueueDeclareOptions::default();
        let declared = self
            .channel
            .queue_declare(queue.into(), options, FieldTable::default());
        declared.await.unwrap();
    }

    /// Durable, and with a limit that Pawl would not give it.
    pub(crate) async fn declare_otherwise(&self, queue: &str) {
        let durable = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let mut arguments = FieldTable::default();
        arguments.insert("x-max-length".into(), AMQPValue::LongInt(100_000));
        let declared = self.channel.queue_declare(queue.into(), durable, arguments);
        declared.await.unwrap();
    }

    /// Asks on one queue and waits for the answer on another; gives the answer and its correlation id.
    pub(crate) async fn ask(
        &self,
        queue: &str,
        body: &[u8],
        (reply_to, correlation_id): (&str, &str),
    ) -> (Value, Option<String>) {
        let properties = BasicProperties::default()
            .with_reply_to(reply_to.into())
            .with_correlation_id(correlation_id.into());
        self.publish_with(queue, body, properties).await;
        let answer = eventually("there is an answer", async || {
            let got = self
                .channel
                .basic_get(reply_to.into(), BasicGetOptions { no_ack: true });
            got.await.unwrap()
        })
        .await;
        let delivery = answer.delivery;
        let correlation_id = delivery.properties.correlation_id().as_ref();
        (
            serde_json::from_slice(&delivery.data).unwrap(),
            correlation_id.map(ToString::to_string),
        )
    }

    pub(crate) async fn delete(&self, queue: &str) {
        let options = QueueDeleteOptions::default();
        let deleted = self.channel.queue_delete(queue.into(), options);
        deleted.await.unwrap();
    }

    /// Returns when the broker has it.
    pub(crate) async fn publish(&self, queue: &str, body: &[u8]) {
        self.publish_with(queue, body, BasicProperties::default())
            .await;
    }

    pub(crate) async fn publish_with(&self, queue: &str, body: &[u8], properties: BasicProperties) {
        let options = BasicPublishOptions::default();
        let sent = self
            .channel
            .basic_publish("".into(), queue.into(), options, body, properties);
        sent.await.unwrap().await.unwrap();
    }
}

/// A message that somebody published.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    pub(crate) exchange: String,
    pub(crate) queue: String,
    pub(crate) delivery_mode: Option<u64>,
    pub(crate) bytes: Vec<u8>,
}

impl Published {
    pub(crate) fn body(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }
}

/// Sees every message that is published in a vhost.
pub(crate) struct Spy {
    seen: watch::Receiver<Vec<Published>>,
    _stranger: Stranger,
}

impl Spy {
    pub(crate) async fn on(broker: &Broker) -> Self {
        let vhost = &broker.vhost;
        let traced = format!("rabbit_trace:start(<<\"{vhost}\">>), ok.");
        broker.eval(traced).await;
        let stranger = Stranger::connect(broker).await;
        let channel = &stranger.channel;
        let exclusive = QueueDeclareOptions {
            exclusive: true,
            ..QueueDeclareOptions::default()
        };
        let declared = channel.queue_declare("".into(), exclusive, FieldTable::default());
        let queue = declared.await.unwrap().name().clone();
        let bound = channel.queue_bind(
            queue.clone(),
            "amq.rabbitmq.trace".into(),
            "publish.#".into(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        bound.await.unwrap();
        let options = BasicConsumeOptions {
            no_ack: true,
            ..BasicConsumeOptions::default()
        };
        let consumer = channel.basic_consume(queue, "spy".into(), options, FieldTable::default());
        let mut consumer = consumer.await.unwrap();
        let (sender, seen) = watch::channel(Vec::new());
        tokio::spawn(async move {
            while let Some(Ok(delivery)) = consumer.next().await {
                let headers = delivery.properties.headers().clone().unwrap_or_default();
                let message = published(&headers, delivery.data);
                sender.send_modify(|seen: &mut Vec<Published>| seen.push(message));
            }
        });
        Self {
            seen,
            _stranger: stranger,
        }
    }

    /// What was published to the work queues.
    pub(crate) fn work(&self) -> Vec<Published> {
        let mut seen = self.seen.borrow().clone();
        seen.retain(|message| message.exchange.is_empty() && message.queue.contains(WORK));
        seen
    }

    /// Waits until there are this many.
    pub(crate) async fn until_work(&self, count: usize) -> Vec<Published> {
        let mut seen = self.seen.clone();
        let came = seen.wait_for(|_| self.work().len() >= count);
        let came = tokio::time::timeout(PATIENCE, came).await;
        assert!(came.is_ok(), "not {count} messages: {:?}", self.work());
        drop(came);
        self.work()
    }
}

fn published(headers: &FieldTable, bytes: Vec<u8>) -> Published {
    let text = |value: Option<&AMQPValue>| match value {
        Some(AMQPValue::LongString(text)) => text.to_string(),
        _ => String::new(),
    };
    let keys = match headers.inner().get("routing_keys") {
        Some(AMQPValue::FieldArray(keys)) => text(keys.as_slice().first()),
        _ => String::new(),
    };
    let mode = match headers.inner().get("properties") {
        Some(AMQPValue::FieldTable(table)) => match table.inner().get("delivery_mode") {
            Some(AMQPValue::LongInt(mode)) => Some(*mode as u64),
            Some(AMQPValue::LongLongInt(mode)) => Some(*mode as u64),
            Some(AMQPValue::ShortShortUInt(mode)) => Some(u64::from(*mode)),
            _ => None,
        },
        _ => None,
    };
    Published {
        exchange: text(headers.inner().get("exchange_name")),
        queue: keys,
        delivery_mode: mode,
        bytes,
    }
}
