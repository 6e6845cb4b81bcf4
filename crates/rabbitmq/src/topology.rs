//! The queues and exchanges, their names and properties. Declaring is idempotent; every process declares when it connects.
//!
//! A queue that exists with other properties is used as it is: another program may have declared it first, or an older
//! Pawl. Nothing here relies on the properties of a queue but that it keeps messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// It has been said that queues exist with other properties. Every connection declares, and once is enough.
    told: Arc<AtomicBool>,
}

impl Topology {
    pub fn new(options: &Options) -> Self {
        Self {
            prefix: options.prefix.clone(),
            queue_type: options.queue_type,
            delivery_limit: options.delivery_limit,
            told: Arc::default(),
        }
    }

    /// Is this the name of a queue or an exchange of ours? Only Pawl writes to these.
    pub fn owns(&self, name: &str) -> bool {
        let queues = CLASSES.map(|class| self.work_queue(class));
        let others = [
            self.dead_letter_queue(),
            self.dead_letter_exchange(),
            self.hint_exchange(),
        ];
        queues.iter().chain(&others).any(|own| own == name)
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

    /// Creates what is missing and uses what is there.
    pub(crate) async fn declare(&self, link: &Link) -> Result<(), BrokerError> {
        let mut different = self.declare_dead_letters(link).await?;
        for class in CLASSES {
            let name = self.work_queue(class);
            different.extend(declare_queue(link, &name, self.work_arguments()).await?);
        }
        if let Some(first) = different.first()
            && !self.told.swap(true, Ordering::Relaxed)
        {
            let names: Vec<&str> = different.iter().map(|one| one.queue.as_str()).collect();
            tracing::warn!(
                queues = names.join(", "),
                reason = first.reason,
                "queues exist on the broker with other properties than the settings ask for; they are used as they are"
            );
        }
        Ok(())
    }

    /// Those of the queues that exist with other properties.
    pub(crate) async fn declare_dead_letters(
        &self,
        link: &Link,
    ) -> Result<Vec<Different>, BrokerError> {
        let (exchange, queue) = (self.dead_letter_exchange(), self.dead_letter_queue());
        let different = declare_queue(link, &queue, self.dead_letter_arguments()).await?;
        let channel = link.channel().await?;
        declare_fanout(link, &channel, &exchange).await?;
        let bound = channel.queue_bind(
            queue.into(),
            exchange.into(),
            ShortString::default(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        link.call("bind the queue of dead letters", bound).await?;
        close(link, channel).await?;
        Ok(different.into_iter().collect())
    }

    pub(crate) async fn declare_hints(
        &self,
        link: &Link,
        channel: &Channel,
    ) -> Result<(), BrokerError> {
        declare_fanout(link, channel, &self.hint_exchange()).await
    }

    /// A classic queue has none at all, as a program declares it that knows no more than its name. For messages that are
    /// refused no queue needs any: these are published to the dead letters by us.
    fn work_arguments(&self) -> FieldTable {
        if self.queue_type == QueueType::Classic {
            return FieldTable::default();
        }
        let mut arguments = self.type_argument();
        // For those that the broker itself gives up, being delivered too often.
        insert_text(
            &mut arguments,
            "x-dead-letter-exchange",
            &self.dead_letter_exchange(),
        );
        insert_number(
            &mut arguments,
            "x-delivery-limit",
            self.delivery_limit.into(),
        );
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

/// A queue that exists with other properties than we would give it.
pub(crate) struct Different {
    queue: String,
    reason: String,
}

async fn declare_queue(
    link: &Link,
    name: &str,
    arguments: FieldTable,
) -> Result<Option<Different>, BrokerError> {
    let channel = link.channel().await?;
    let durable = QueueDeclareOptions {
        durable: true,
        ..QueueDeclareOptions::default()
    };
    let declared = channel.queue_declare(name.into(), durable, arguments);
    let what = format!("queue `{name}`");
    let remedy = format!("delete_queue {name}");
    match declared_in_time(link, &what, &remedy, declared).await {
        Ok(_) => close(link, channel).await.map(|()| None),
        Err(BrokerError::Mismatch { reason, .. }) => {
            look_at_queue(link, name).await?;
            let queue = name.to_owned();
            Ok(Some(Different { queue, reason }))
        }
        Err(error) => Err(error),
    }
}

/// Messages waiting and consumers of a queue that must exist. A question that is refused closes the channel, as does a
/// refused declaration, so each gets its own.
pub(crate) async fn look_at_queue(link: &Link, name: &str) -> Result<(u32, u32), BrokerError> {
    let channel = link.channel().await?;
    let passive = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let declared = channel.queue_declare(name.into(), passive, FieldTable::default());
    let what = format!("queue `{name}`");
    let queue = declared_in_time(link, &what, &format!("delete_queue {name}"), declared).await?;
    close(link, channel).await?;
    Ok((queue.message_count(), queue.consumer_count()))
}

async fn close(link: &Link, channel: Channel) -> Result<(), BrokerError> {
    link.call("close a channel", channel.close(200, "declared".into()))
        .await
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
