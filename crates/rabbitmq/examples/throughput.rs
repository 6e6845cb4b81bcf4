//! Publishes, receives and acknowledges, and says how many per second:
//! `cargo run --release -p pawl-rabbitmq --example throughput -- amqp://guest:guest@127.0.0.1:5672 [messages] [classic|quorum]`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::{Entropy, ExecutionId, SchemaId};
use pawl_kernel::ports::queue::{Message, Queue};
use pawl_kernel::time::{Clock, Timestamp};
use pawl_rabbitmq::{BrokerUrl, Options, Ports, QueueType, RabbitQueue};
use uuid::Uuid;

/// Publishes under way at once, like the passes of a busy worker.
const PUBLISHERS: u64 = 256;

struct Zero;

#[async_trait]
impl Clock for Zero {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }

    async fn sleep_until(&self, _until: Timestamp) {}
}

struct Counting(AtomicU64);

impl Entropy for Counting {
    fn bits(&self) -> u128 {
        let low = self.0.fetch_add(1, Ordering::Relaxed);
        u128::from(std::process::id()) << 64 | u128::from(low)
    }
}

fn message(number: u64) -> Message {
    Message {
        execution_id: ExecutionId(Uuid::from_u128(number.into())),
        schema_id: SchemaId(Uuid::from_u128(7)),
        node_id: "http_request_1".into(),
        seq: number,
        debug_mode: false,
        priority: PriorityClass::Normal,
        published_at: Timestamp::from_micros(1_800_000_000_000_000),
    }
}

async fn publish(queue: &Arc<RabbitQueue>, count: u64) -> Result<(), Box<dyn std::error::Error>> {
    let mut publishers = tokio::task::JoinSet::new();
    for publisher in 0..PUBLISHERS {
        let queue = queue.clone();
        publishers.spawn(async move {
            for number in (publisher..count).step_by(PUBLISHERS as usize) {
                queue.publish(message(number)).await?;
            }
            Ok::<_, pawl_kernel::ports::queue::QueueError>(())
        });
    }
    while let Some(done) = publishers.join_next().await {
        done??;
    }
    Ok(())
}

async fn receive(queue: &RabbitQueue, count: u64) -> Result<(), Box<dyn std::error::Error>> {
    let mut received = 0;
    while received < count {
        for delivery in queue.receive(128).await? {
            queue.acknowledge(delivery.tag).await?;
            received += 1;
        }
    }
    Ok(())
}

fn tell(what: &str, count: u64, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{what}: {count} in {seconds:.2} s, {:.0}/s",
        count as f64 / seconds
    );
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments
        .next()
        .ok_or("which broker? amqp://user:password@host:5672/vhost")?;
    let count = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let kind = arguments.next().unwrap_or_else(|| "classic".into());
    let ports = Ports {
        clock: Arc::new(Zero),
        entropy: Arc::new(Counting(AtomicU64::new(0))),
    };
    let options = Options {
        prefix: format!("throughput-{}-{kind}-", std::process::id()),
        queue_type: QueueType::from_name(&kind).ok_or("classic or quorum?")?,
        slots: 256,
        ..Options::new(BrokerUrl::parse(&url)?)
    };
    let queue = Arc::new(RabbitQueue::connect(options.clone(), ports.clone()).await?);
    let begun = Instant::now();
    tokio::try_join!(publish(&queue, count), receive(&queue, count))?;
    tell("published, received and acknowledged", count, begun);
    queue.close().await;

    let sender = Arc::new(
        RabbitQueue::connect(
            Options {
                consume: false,
                ..options.clone()
            },
            ports.clone(),
        )
        .await?,
    );
    let begun = Instant::now();
    publish(&sender, count).await?;
    tell("published only", count, begun);
    sender.close().await;

    let queue = RabbitQueue::connect(options, ports).await?;
    let begun = Instant::now();
    receive(&queue, count).await?;
    tell("received and acknowledged only", count, begun);
    queue.close().await;
    Ok(())
}
