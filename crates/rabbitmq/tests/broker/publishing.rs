//! What becomes of a message that cannot simply be confirmed.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::ports::queue::{Message, Queue, QueueError};
use pawl_rabbitmq::{Options, RabbitQueue, Start};
use tokio::task::JoinSet;
use tokio::time::Instant;
use xtask::services::Proxy;

use crate::support::{
    Place, blocking, connect, depths, eventually, message, number, one, options, ports,
    publish_when_possible, within,
};

fn reason(refused: Result<(), QueueError>) -> String {
    match refused {
        Err(QueueError::Unavailable(reason)) => reason,
        other => panic!("expected to be unavailable, got {other:?}"),
    }
}

/// Only publishes, so that no consumer notices a deleted queue first.
async fn publish_only(place: &Place) -> RabbitQueue {
    connect(Options {
        consume: false,
        ..place.options()
    })
    .await
}

#[tokio::test]
async fn a_deleted_queue_is_declared_again_and_the_message_arrives() {
    let place = Place::fresh().await;
    let queue = publish_only(&place).await;
    queue.publish(message(1)).await.unwrap();
    place
        .stranger()
        .await
        .delete_queue("schema_execution_queue")
        .await;
    within(queue.publish(message(2))).await.unwrap();
    assert_eq!(depths(&queue).await, [0, 1, 0, 0].map(Some));
    assert_eq!(queue.stats().await.publishing.reconnects, 0);
}

/// With many in flight lapin hands returns to the wrong confirmations; still nothing counts as confirmed that is not in
/// its queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_in_flight_into_a_deleted_queue_all_arrive() {
    const EACH: u32 = 200;
    let place = Place::fresh().await;
    let queue = Arc::new(publish_only(&place).await);
    let stranger = place.stranger().await;
    for round in 1..=10 {
        stranger.delete_queue("schema_execution_queue.high").await;
        let mut publishes = JoinSet::new();
        for number in 0..3 * EACH {
            let queue = queue.clone();
            let priority = PriorityClass::ALL[number as usize % 3];
            let sent = Message {
                priority,
                ..message(number.into())
            };
            publishes.spawn(async move { queue.publish(sent).await });
        }
        while let Some(published) = publishes.join_next().await {
            published.unwrap().unwrap();
        }
        // Some may be there twice, none may be missing.
        let depths = depths(&queue).await;
        assert!(depths[0] >= Some(EACH), "round {round}: {depths:?}");
        assert!(depths[1] >= Some(EACH * round), "round {round}: {depths:?}");
        assert!(depths[2] >= Some(EACH * round), "round {round}: {depths:?}");
    }
    assert_eq!(queue.stats().await.publishing.reconnects, 0);
}

#[tokio::test]
async fn a_queue_that_is_full_refuses_and_says_so() {
    let place = Place::fresh().await;
    let queue = publish_only(&place).await;
    let (node, vhost) = (place.node.clone(), place.vhost.clone());
    blocking(move || {
        let limit = r#"{"max-length":1,"overflow":"reject-publish"}"#;
        let pattern = "^schema_execution_queue$";
        node.ctl(&["set_policy", "-p", &vhost, "short", pattern, limit])
            .unwrap();
    })
    .await;
    let refused = eventually("the queue is full", async || {
        queue.publish(message(1)).await.err()
    })
    .await;
    assert!(reason(Err(refused)).starts_with("refused"));
    // The connection is none the worse for it, and other queues take messages.
    let urgent = Message {
        priority: PriorityClass::High,
        ..message(2)
    };
    queue.publish(urgent).await.unwrap();
    assert_eq!(queue.stats().await.publishing.reconnects, 0);
}

#[tokio::test]
async fn without_a_broker_publishing_fails_at_once() {
    let place = Place::fresh().await;
    let proxy = Proxy::start(port(&place.url)).unwrap();
    let queue = connect(options(&place.through(proxy.port()))).await;
    proxy.refuse(true);
    proxy.cut();
    eventually("the cut is noticed", async || {
        (!queue.stats().await.publishing.connected).then_some(())
    })
    .await;
    let begun = Instant::now();
    for number in 0..100 {
        let refused = reason(queue.publish(message(number)).await);
        assert!(refused.starts_with("connection lost"), "{refused}");
    }
    assert!(begun.elapsed() < Duration::from_secs(1));
    proxy.refuse(false);
    publish_when_possible(&queue, message(1)).await;
    assert_eq!(number(&one(&queue).await), 1);
}

#[tokio::test]
async fn a_connection_cut_in_flight_ends_every_publish() {
    let place = Place::fresh().await;
    let proxy = Proxy::start(port(&place.url)).unwrap();
    let queue = Arc::new(connect(options(&place.through(proxy.port()))).await);
    proxy.stall(true);
    let mut publishes = JoinSet::new();
    for number in 0..200 {
        let queue = queue.clone();
        publishes.spawn(async move { queue.publish(message(number)).await });
    }
    tokio::task::yield_now().await;
    proxy.cut();
    proxy.stall(false);
    let begun = Instant::now();
    while let Some(published) = within(publishes.join_next()).await {
        let _ = published.unwrap();
    }
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
    publish_when_possible(&queue, message(1_000)).await;
}

#[tokio::test]
async fn a_silent_broker_costs_the_time_limit_and_no_more() {
    let place = Place::fresh().await;
    let proxy = Proxy::start(port(&place.url)).unwrap();
    let limit = Duration::from_millis(500);
    let queue = connect(Options {
        publish_timeout: limit,
        call_timeout: Duration::from_secs(1),
        ..options(&place.through(proxy.port()))
    })
    .await;
    proxy.stall(true);
    let begun = Instant::now();
    let refused = reason(within(queue.publish(message(1))).await);
    assert!(refused.starts_with("timeout"), "{refused}");
    assert!(begun.elapsed() < limit * 3, "{:?}", begun.elapsed());
    // Nobody was answered meanwhile, so the connection is given up and later calls fail at once.
    eventually("the silence is noticed", async || {
        let refused = reason(queue.publish(message(2)).await);
        refused.starts_with("connection lost").then_some(())
    })
    .await;
    proxy.stall(false);
    publish_when_possible(&queue, message(3)).await;
    eventually("messages are received again", async || {
        let delivery = one(&queue).await;
        queue.acknowledge(delivery.tag).await.unwrap();
        (number(&delivery) == 3).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_process_can_begin_before_its_broker() {
    let place = Place::fresh().await;
    let proxy = Proxy::start(port(&place.url)).unwrap();
    proxy.refuse(true);
    let queue = within(RabbitQueue::connect(
        Options {
            start: Start::Anyway,
            ..options(&place.through(proxy.port()))
        },
        ports(),
    ))
    .await
    .unwrap();
    let refused = reason(queue.publish(message(1)).await);
    assert!(refused.contains("cannot be reached"), "{refused}");
    proxy.refuse(false);
    publish_when_possible(&queue, message(1)).await;
    assert_eq!(number(&one(&queue).await), 1);
}

pub(crate) fn port(url: &str) -> u16 {
    let authority = url.rsplit('@').next().unwrap();
    let port = authority.split(['/', ':']).nth(1).unwrap();
    port.parse().unwrap()
}
