//! The queues and exchanges, their names and properties. Declaring is idempotent; whoever connects declares.

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, ExchangeKind};
use pawl_kernel::execution::PriorityClass;
use tokio::time::timeout;

use crate::error::BrokerError;
use crate::link::Link;
use crate::options::{Options, QueueType};

/// High, normal, low: the order of everything that is kept per class.
pub(crate) const CLASSES: [PriorityClass; 3] = [
    PriorityClass::High,
    PriorityClass::Normal,
    PriorityClass::Low,
];

pub(crate) const fn class_index(class: PriorityClass) -> usize {
    match class {
        PriorityClass::High => 0,
        PriorityClass::Normal => 1,
        PriorityClass::Low => 2,
    }
}

/// Dead letters have nowhere else to go: the 20 deliveries that RabbitMQ 4 allows by default would drop them silently.
const DEAD_LETTER_DELIVERIES: i64 = 1_000_000;

#[derive(Clone, Debug)]
pub struct Topology {
    prefix: String,
    queue_type: QueueType,
    delivery_limit: u32,
}

impl Topology {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            prefix: options.prefix.clone(),
            queue_type: options.queue_type,
            delivery_limit: options.delivery_limit,
        }
    }

    pub fn work_queue(&self, class: PriorityClass) -> String {
        let suffix = match class {
            PriorityClass::High => ".high",
            PriorityClass::Normal => "",
            PriorityClass::Low => ".low",
        };
        format!("{}schema_execution_queue{suffix}", self.prefix)
    }

    pub fn dead_letter_queue(&self) -> String {
        format!("{}schema_execution_dlq", self.prefix)
    }

    pub fn dead_letter_exchange(&self) -> String {
        format!("{}schema_execution_dlx", self.prefix)
    }

    pub fn hint_exchange(&self) -> String {
        format!("{}pawl.hints", self.prefix)
    }

    /// Creates what is missing; an error if something exists with other properties.
    pub(crate) async fn declare(&self, link: &Link) -> Result<(), BrokerError> {
        let channel = link.channel().await?;
        self.declare_dead_letters(link, &channel).await?;
        for class in CLASSES {
            let name = self.work_queue(class);
            declare_queue(link, &channel, &name, self.work_arguments()).await?;
        }
        link.call("close a channel", channel.close(200, "declared".into()))
            .await
    }

    pub(crate) async fn declare_dead_letters(
        &self,
        link: &Link,
        channel: &Channel,
    ) -> Result<(), BrokerError> {
        let (exchange, queue) = (self.dead_letter_exchange(), self.dead_letter_queue());
        declare_fanout(link, channel, &exchange).await?;
        declare_queue(link, channel, &queue, self.dead_letter_arguments()).await?;
        let bound = channel.queue_bind(
            queue.into(),
            exchange.into(),
            ShortString::default(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        link.call("bind the queue of dead letters", bound).await
    }

    pub(crate) async fn declare_hints(
        &self,
        link: &Link,
        channel: &Channel,
    ) -> Result<(), BrokerError> {
        declare_fanout(link, channel, &self.hint_exchange()).await
    }

    fn work_arguments(&self) -> FieldTable {
        let mut arguments = self.type_argument();
        insert_text(
            &mut arguments,
            "x-dead-letter-exchange",
            &self.dead_letter_exchange(),
        );
        if self.queue_type == QueueType::Quorum {
            insert_number(
                &mut arguments,
                "x-delivery-limit",
                self.delivery_limit.into(),
            );
        }
        arguments
    }

    fn dead_letter_arguments(&self) -> FieldTable {
        let mut arguments = self.type_argument();
        if self.queue_type == QueueType::Quorum {
            insert_number(&mut arguments, "x-delivery-limit", DEAD_LETTER_DELIVERIES);
        }
        arguments
    }

    fn type_argument(&self) -> FieldTable {
        let mut arguments = FieldTable::default();
        // Said for classic queues too: the default of a vhost may be another.
        insert_text(&mut arguments, "x-queue-type", self.queue_type.name());
        arguments
    }
}

pub(crate) fn insert_text(table: &mut FieldTable, key: &'static str, value: &str) {
    table.insert(key.into(), AMQPValue::LongString(value.into()));
}

pub(crate) fn insert_number(table: &mut FieldTable, key: &'static str, value: i64) {
    table.insert(key.into(), AMQPValue::LongLongInt(value));
}

async fn declare_queue(
    link: &Link,
    channel: &Channel,
    name: &str,
    arguments: FieldTable,
) -> Result<(), BrokerError> {
    let durable = QueueDeclareOptions {
        durable: true,
        ..QueueDeclareOptions::default()
    };
    let declared = channel.queue_declare(name.into(), durable, arguments);
    let what = format!("queue `{name}`");
    declared_in_time(link, &what, &format!("delete_queue {name}"), declared).await?;
    Ok(())
}

async fn declare_fanout(link: &Link, channel: &Channel, name: &str) -> Result<(), BrokerError> {
    let durable = ExchangeDeclareOptions {
        durable: true,
        ..ExchangeDeclareOptions::default()
    };
    let declared = channel.exchange_declare(
        name.into(),
        ExchangeKind::Fanout,
        durable,
        FieldTable::default(),
    );
    // There is no command line for exchanges; the code is what the management page would run.
    let remedy = format!(
        "eval 'rabbit_exchange:delete(rabbit_misc:r(<<\"VHOST\">>, exchange, <<\"{name}\">>), false, <<\"pawl\">>).'"
    );
    declared_in_time(link, &format!("exchange `{name}`"), &remedy, declared).await
}

async fn declared_in_time<T>(
    link: &Link,
    what: &str,
    remedy: &str,
    declared: impl Future<Output = lapin::Result<T>>,
) -> Result<T, BrokerError> {
    match timeout(link.limit(), declared).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(BrokerError::declaring(what, remedy, &error)),
        Err(_) => Err(link.too_slow(&format!("declare the {what}"))),
    }
}
