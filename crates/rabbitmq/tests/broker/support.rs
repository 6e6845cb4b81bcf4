//! What the tests need: the broker, queues on it, messages, and waiting with an end.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use lapin::options::{BasicPublishOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::{AMQPValue, FieldTable, LongString};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::{Entropy, ExecutionId, SchemaId};
use pawl_kernel::ports::queue::{Delivery, Message, Queue};
use pawl_kernel::time::{Clock, Timestamp};
use pawl_rabbitmq::{BrokerUrl, Options, Ports, RabbitQueue};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;
use xtask::services::{AMQP_NODE, RabbitMq, RabbitNode, RabbitOptions};

/// Longer than anything here may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_001);

/// The broker of `cargo xtask test`, or one of our own.
pub(crate) fn node() -> RabbitNode {
    static OURS: OnceLock<RabbitMq> = OnceLock::new();
    match std::env::var(AMQP_NODE) {
        Ok(folder) if !folder.is_empty() => RabbitNode::attach(Path::new(&folder)).unwrap(),
        _ => RabbitNode::clone(
            OURS.get_or_init(|| RabbitMq::start(RabbitOptions::default()).unwrap()),
        ),
    }
}

/// A vhost of its own: its name and its address.
pub(crate) struct Place {
    pub(crate) node: RabbitNode,
    pub(crate) vhost: String,
    pub(crate) url: String,
}

impl Place {
    pub(crate) async fn fresh() -> Self {
        blocking(|| Self::on(node())).await
    }

    pub(crate) fn on(node: RabbitNode) -> Self {
        let url = node.fresh_vhost("rabbitmq").unwrap();
        let vhost = url.rsplit('/').next().unwrap().to_owned();
        Self { node, vhost, url }
    }

    pub(crate) fn options(&self) -> Options {
        options(&self.url)
    }

    pub(crate) async fn queue(&self) -> RabbitQueue {
        connect(self.options()).await
    }

    /// A connection outside of everything that is tested.
    pub(crate) async fn stranger(&self) -> Stranger {
        Stranger::connect(&self.url).await
    }

    /// The same place by way of another port.
    pub(crate) fn through(&self, port: u16) -> String {
        format!("amqp://guest:guest@127.0.0.1:{port}/{}", self.vhost)
    }
}

pub(crate) fn options(url: &str) -> Options {
    Options::new(BrokerUrl::parse(url).unwrap())
}

pub(crate) async fn connect(options: Options) -> RabbitQueue {
    RabbitQueue::connect(options, ports()).await.unwrap()
}

/// The services' helpers block, and a test's runtime must go on meanwhile.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

pub(crate) struct Stranger {
    _connection: Connection,
    pub(crate) channel: Channel,
}

impl Stranger {
    pub(crate) async fn connect(url: &str) -> Self {
        let connection = Connection::connect(url, ConnectionProperties::default())
            .await
            .unwrap();
        let channel = connection.create_channel().await.unwrap();
        Self {
            _connection: connection,
            channel,
        }
    }

    pub(crate) async fn publish(&self, queue: &str, body: &[u8]) {
        self.publish_with(queue, body, BasicProperties::default())
            .await;
    }

    pub(crate) async fn publish_with(&self, queue: &str, body: &[u8], properties: BasicProperties) {
        self.channel
            .basic_publish(
                "".into(),
                queue.into(),
                BasicPublishOptions::default(),
                body,
                properties,
            )
            .await
            .unwrap()
            .await
            .unwrap();
    }

    /// Durable and nothing else, as a program does that knows only the name.
    pub(crate) async fn declare_plainly(&self, queue: &str) {
        let durable = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let declared = self
            .channel
            .queue_declare(queue.into(), durable, FieldTable::default());
        declared.await.unwrap();
    }

    pub(crate) async fn declare_with(&self, queue: &str, arguments: &[(&'static str, &str)]) {
        let durable = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let mut table = FieldTable::default();
        for (name, value) in arguments {
            let value: LongString = (*value).into();
            table.insert((*name).into(), AMQPValue::LongString(value));
        }
        let declared = self.channel.queue_declare(queue.into(), durable, table);
        declared.await.unwrap();
    }

    /// A queue that takes nothing: whatever is published to it is refused.
    pub(crate) async fn declare_full(&self, queue: &str) {
        let durable = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let mut table = FieldTable::default();
        table.insert("x-max-length".into(), AMQPValue::LongInt(0));
        let overflow: LongString = "reject-publish".into();
        table.insert("x-overflow".into(), AMQPValue::LongString(overflow));
        let declared = self.channel.queue_declare(queue.into(), durable, table);
        declared.await.unwrap();
    }

    pub(crate) async fn delete_queue(&self, queue: &str) {
        self.channel
            .queue_delete(queue.into(), QueueDeleteOptions::default())
            .await
            .unwrap();
    }
}

struct FixedClock;

#[async_trait]
impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        NOW
    }

    async fn sleep_until(&self, _until: Timestamp) {}
}

struct Counting;

impl Entropy for Counting {
    fn bits(&self) -> u128 {
        static DRAWN: AtomicU64 = AtomicU64::new(0);
        let drawn = u128::from(DRAWN.fetch_add(1, Ordering::Relaxed));
        u128::from(std::process::id()) << 64 | drawn << 32 | drawn
    }
}

pub(crate) fn ports() -> Ports {
    Ports {
        clock: Arc::new(FixedClock),
        entropy: Arc::new(Counting),
    }
}

pub(crate) fn execution_id(number: u64) -> ExecutionId {
    ExecutionId(Uuid::from_u128(number.into()))
}

pub(crate) fn message(number: u64) -> Message {
    Message {
        execution_id: execution_id(number),
        schema_id: SchemaId(Uuid::from_u128(7)),
        node_id: "start".into(),
        seq: number,
        debug_mode: false,
        priority: PriorityClass::Normal,
        published_at: NOW,
    }
}

/// The next delivery, or a failure.
pub(crate) async fn one(queue: &RabbitQueue) -> Delivery {
    within(queue.receive(1)).await.unwrap().remove(0)
}

/// The number of the execution that a delivery is about.
pub(crate) fn number(delivery: &Delivery) -> u64 {
    delivery.message.execution_id.0.as_u128() as u64
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("it took too long")
}

/// Looks again and again: for what the broker gives no signal of.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "never came true: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Publishes until it works: after a fault the connection needs a moment.
pub(crate) async fn publish_when_possible(queue: &RabbitQueue, message: Message) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = queue.publish(message.clone()).await {
        assert!(Instant::now() < deadline, "still not possible: {error}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Messages waiting in the broker, by queue: high, normal, low, dead letters.
pub(crate) async fn depths(queue: &RabbitQueue) -> Vec<Option<u32>> {
    let stats = queue.stats().await;
    stats.queues.iter().map(|queue| queue.messages).collect()
}
