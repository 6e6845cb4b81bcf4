//! A broker that runs out of memory takes no messages: publishing fails at once, and no new work is taken that could not
//! be handed on.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::ports::queue::{Queue, QueueError};
use pawl_rabbitmq::{Hint, HintBus, PublishError, PublishRequest, Publisher};
use tokio::time::{Instant, timeout};
use xtask::services::{RabbitMq, RabbitNode, RabbitOptions};

use crate::support::{
    blocking, connect, eventually, message, number, one, options, ports, publish_when_possible,
    within,
};

async fn watermark(broker: &Arc<RabbitMq>, share: &'static str) {
    let node = RabbitNode::clone(broker);
    blocking(move || {
        node.ctl(&["set_vm_memory_high_watermark", share]).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_memory_alarm_pauses_everything_and_nothing_hangs() {
    let broker = Arc::new(blocking(|| RabbitMq::start(RabbitOptions::default()).unwrap()).await);
    let queue = connect(options(&broker.url())).await;
    let publisher = Publisher::new(&broker.url(), "test", None).unwrap();
    let hints = HintBus::connect(&options(&broker.url()), &ports())
        .await
        .unwrap();
    let request = PublishRequest {
        routing_key: "schema_execution_dlq".into(),
        ..PublishRequest::default()
    };
    publisher
        .publish(request.clone(), Duration::from_secs(5))
        .await
        .unwrap();
    for number in 1..=3 {
        queue.publish(message(number)).await.unwrap();
    }
    let first = one(&queue).await;
    watermark(&broker, "0.00001").await;

    // The first message into the alarm makes the broker say so; that one may even pass. Nothing waits for its time limit.
    let begun = Instant::now();
    let refused = eventually("the alarm is noticed", async || {
        queue.publish(message(4)).await.err()
    })
    .await;
    assert!(
        matches!(&refused, QueueError::Unavailable(reason) if reason.starts_with("blocked")),
        "{refused}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    let begun = Instant::now();
    for number in 5..100 {
        assert!(queue.publish(message(number)).await.is_err());
        hints.send(Hint::Admission);
    }
    assert!(begun.elapsed() < Duration::from_secs(1));
    let blocked = queue.stats().await.blocked;
    assert!(blocked.is_some_and(|reason| reason.contains("memory")));

    // The node's publisher: the first may pass or be unknown, the next is certainly not sent, all at once.
    let begun = Instant::now();
    let first_refusal = publisher
        .publish(request.clone(), Duration::from_secs(5))
        .await;
    assert!(
        matches!(first_refusal, Ok(()) | Err(PublishError::Lost(_))),
        "{first_refusal:?}"
    );
    eventually("the publisher notices", async || {
        let refusal = publisher
            .publish(request.clone(), Duration::from_secs(5))
            .await;
        matches!(refusal, Err(PublishError::Connection(_))).then_some(())
    })
    .await;
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );

    // Two messages wait here already, and are not handed out.
    let paused = timeout(Duration::from_millis(500), queue.receive(1)).await;
    assert!(paused.is_err(), "{paused:?}");
    // What is in hand can be finished.
    queue.acknowledge(first.tag).await.unwrap();

    watermark(&broker, "0.4").await;
    let mut seen = vec![number(&one(&queue).await), number(&one(&queue).await)];
    seen.sort_unstable();
    assert_eq!(seen, [2, 3]);
    publish_when_possible(&queue, message(1_000)).await;
    // What was refused may arrive all the same, and before it.
    within(async { while number(&one(&queue).await) != 1_000 {} }).await;
    eventually("the publisher works again", async || {
        publisher
            .publish(request.clone(), Duration::from_secs(5))
            .await
            .ok()
    })
    .await;
    let stats = queue.stats().await;
    assert_eq!(stats.blocked, None);
    assert_eq!(
        (stats.publishing.reconnects, hints.stats().reconnects),
        (0, 0)
    );
}
