//! Several installations, several classes, several processes.

use std::time::Duration;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::ports::queue::{Message, Queue};
use pawl_rabbitmq::Options;
use tokio::time::timeout;

use crate::support::{Place, connect, depths, eventually, message, number, one, within};

#[tokio::test]
async fn two_prefixes_do_not_see_each_other() {
    let place = Place::fresh().await;
    let prefixed = |prefix: &str| Options {
        prefix: prefix.into(),
        ..place.options()
    };
    let blue = connect(prefixed("blue.")).await;
    let green = connect(prefixed("green.")).await;
    let plain = place.queue().await;
    blue.publish(message(1)).await.unwrap();
    green.publish(message(2)).await.unwrap();
    plain.publish(message(3)).await.unwrap();
    for (queue, expected) in [(&blue, 1), (&green, 2), (&plain, 3)] {
        let delivery = one(queue).await;
        assert_eq!(number(&delivery), expected);
        queue.acknowledge(delivery.tag).await.unwrap();
        let more = timeout(Duration::from_millis(100), queue.receive(1)).await;
        assert!(more.is_err(), "{more:?}");
    }
    assert_eq!(
        blue.topology().work_queue(PriorityClass::High),
        "blue.schema_execution_queue.high"
    );
}

#[tokio::test]
async fn low_priority_is_never_starved() {
    const EACH: u64 = 1_500;
    let place = Place::fresh().await;
    let sender = connect(Options {
        consume: false,
        ..place.options()
    })
    .await;
    for priority in PriorityClass::ALL {
        let sent = (0..EACH).map(|number| {
            sender.publish(Message {
                priority: *priority,
                ..message(number)
            })
        });
        for published in futures_util::future::join_all(sent).await {
            published.unwrap();
        }
    }
    let queue = place.queue().await;
    let mut received = Vec::new();
    while received.len() < 1_000 {
        // As behind a busy worker: the broker has had the time to fill up all three.
        eventually("all three classes are there", async || {
            (queue.stats().await.prefetched == 3 * 64).then_some(())
        })
        .await;
        for delivery in within(queue.receive(63)).await.unwrap() {
            queue.acknowledge(delivery.tag).await.unwrap();
            received.push(delivery.message.priority);
        }
    }
    let of = |class| {
        let first = received[..1_000].iter();
        first.filter(|one| **one == class).count()
    };
    let shares = [
        PriorityClass::High,
        PriorityClass::Normal,
        PriorityClass::Low,
    ]
    .map(of);
    assert!(shares[2] >= 40, "{shares:?}");
    assert!(shares[0] >= 700 && shares[1] >= 180, "{shares:?}");
}

#[tokio::test]
async fn the_broker_hands_out_no_more_than_there_are_slots() {
    let place = Place::fresh().await;
    let narrow = Options {
        slots: 3,
        ..place.options()
    };
    let first = connect(narrow.clone()).await;
    for number in 0..10 {
        first.publish(message(number)).await.unwrap();
    }
    eventually("three are here", async || {
        let stats = first.stats().await;
        (stats.prefetched == 3 && stats.queues[1].messages == Some(7)).then_some(())
    })
    .await;
    // The rest is for others.
    let second = connect(narrow).await;
    eventually("three more are there", async || {
        (second.stats().await.prefetched == 3).then_some(())
    })
    .await;
    assert_eq!(depths(&first).await, [0, 4, 0, 0].map(Some));
}

#[tokio::test]
async fn a_worker_that_stops_receiving_gives_back_what_nobody_took() {
    let place = Place::fresh().await;
    let leaving = place.queue().await;
    for number in 0..10 {
        leaving.publish(message(number)).await.unwrap();
    }
    let held = one(&leaving).await;
    eventually("the others are here too", async || {
        (leaving.stats().await.prefetched == 9).then_some(())
    })
    .await;
    leaving.stop_receiving();
    assert!(leaving.receive(1).await.is_err());
    let staying = place.queue().await;
    let mut seen = Vec::new();
    while seen.len() < 9 {
        for delivery in within(staying.receive(9)).await.unwrap() {
            seen.push(number(&delivery));
            staying.acknowledge(delivery.tag).await.unwrap();
        }
    }
    // Meanwhile the one that leaves finishes what it holds, and hands it on.
    leaving.publish(message(100)).await.unwrap();
    leaving.acknowledge(held.tag).await.unwrap();
    within(leaving.close()).await;
    assert_eq!(number(&one(&staying).await), 100);
    let more = timeout(Duration::from_millis(200), staying.receive(1)).await;
    assert!(more.is_err(), "{more:?}");
}

#[tokio::test]
async fn stats_tell_how_things_stand() {
    let place = Place::fresh().await;
    let queue = connect(Options {
        consume: false,
        ..place.options()
    })
    .await;
    queue.publish(message(1)).await.unwrap();
    let stats = queue.stats().await;
    let names: Vec<&str> = stats
        .queues
        .iter()
        .map(|queue| queue.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "schema_execution_queue.high",
            "schema_execution_queue",
            "schema_execution_queue.low",
            "schema_execution_dlq"
        ]
    );
    assert_eq!(stats.queues[1].messages, Some(1));
    assert_eq!(stats.queues[1].consumers, Some(0));
    assert!(stats.publishing.connected);
    assert_eq!((stats.consuming, stats.blocked), (None, None));
    within(queue.close()).await;
    let stats = queue.stats().await;
    assert!(!stats.publishing.connected);
    assert_eq!(stats.queues[1].messages, None);
}
