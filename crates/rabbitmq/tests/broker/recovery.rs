//! The connection comes back by itself, whatever ended it, and what was not acknowledged comes again.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::ports::queue::{Message, Queue};
use pawl_rabbitmq::{Options, RabbitQueue};
use tokio::time::Instant;
use xtask::services::{Proxy, RabbitMq, RabbitNode, RabbitOptions};

use crate::publishing::port;
use crate::support::{
    PATIENCE, Place, blocking, connect, depths, eventually, message, number, one, options,
    publish_when_possible, within,
};

async fn reconnected(queue: &RabbitQueue) {
    eventually("the consumer is back", async || {
        let consuming = queue.stats().await.consuming.unwrap();
        (consuming.connected && consuming.reconnects > 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_killed_broker_comes_back_with_what_was_not_acknowledged() {
    let broker = Arc::new(blocking(|| RabbitMq::start(RabbitOptions::default()).unwrap()).await);
    let queue = connect(options(&broker.url())).await;
    for number in 1..=3 {
        queue.publish(message(number)).await.unwrap();
    }
    let done = one(&queue).await;
    queue.acknowledge(done.tag).await.unwrap();
    let held = one(&queue).await;
    eventually("the acknowledgement has arrived", async || {
        let unacked = RabbitNode::clone(&broker);
        let listed =
            blocking(move || unacked.ctl(&["list_queues", "name", "messages"]).unwrap()).await;
        listed.contains("schema_execution_queue\t2").then_some(())
    })
    .await;
    let killed = broker.clone();
    blocking(move || {
        killed.kill();
        killed.start_again().unwrap();
    })
    .await;
    let up = Instant::now();
    let mut again = [one(&queue).await, one(&queue).await];
    assert!(up.elapsed() < Duration::from_secs(15), "{:?}", up.elapsed());
    again.sort_by_key(number);
    assert_eq!(again.iter().map(number).collect::<Vec<_>>(), [2, 3]);
    assert!(again[0].redelivered);
    assert_ne!(again[0].tag, held.tag);
    // A tag of the old connection means nothing any more, and does no harm.
    queue.acknowledge(held.tag).await.unwrap();
    publish_when_possible(&queue, message(4)).await;
    assert_eq!(number(&one(&queue).await), 4);
    assert_eq!(queue.stats().await.consuming.unwrap().reconnects, 1);

    // A broker that has lost everything, queues included, is furnished again.
    let wiped = broker.clone();
    blocking(move || wiped.wipe().unwrap()).await;
    publish_when_possible(&queue, message(5)).await;
    assert_eq!(number(&one(&queue).await), 5);
}

#[tokio::test]
async fn a_deleted_queue_is_declared_and_consumed_again() {
    let place = Place::fresh().await;
    let queue = place.queue().await;
    place
        .stranger()
        .await
        .delete_queue("schema_execution_queue")
        .await;
    reconnected(&queue).await;
    publish_when_possible(&queue, message(1)).await;
    assert_eq!(number(&one(&queue).await), 1);
}

/// The broker closes a channel over an acknowledgement that it does not expect. We never send one, so it is told that
/// we did.
#[tokio::test]
async fn a_channel_closed_by_the_broker_is_replaced() {
    let place = Place::fresh().await;
    let queue = place.queue().await;
    queue.publish(message(1)).await.unwrap();
    let held = one(&queue).await;
    let ours = format!(
        "[C || C <- rabbit_channel:list(), [{{vhost, <<\"{}\">>}}] =:= (catch rabbit_channel:info(C, [vhost]))]",
        place.vhost
    );
    // Three for consuming and four for publishing; the broker's list of them lags a little.
    eventually("the broker knows our channels", async || {
        let (node, count) = (place.node.clone(), format!("length({ours})."));
        let known = blocking(move || node.eval(&count).unwrap()).await;
        (known == "7").then_some(())
    })
    .await;
    let told = format!("[rabbit_channel:do(C, {{'basic.ack', 99999, false}}) || C <- {ours}].");
    let node = place.node.clone();
    blocking(move || node.eval(&told).unwrap()).await;
    let again = one(&queue).await;
    assert_eq!(number(&again), 1);
    assert!(again.redelivered);
    assert_ne!(again.tag, held.tag);
    queue.acknowledge(again.tag).await.unwrap();
    publish_when_possible(&queue, message(2)).await;
    assert_eq!(number(&one(&queue).await), 2);
}

/// The same acknowledgement twice is swallowed here; the broker would close the channel over it.
#[tokio::test]
async fn acknowledging_twice_is_harmless() {
    let place = Place::fresh().await;
    let queue = place.queue().await;
    queue.publish(message(1)).await.unwrap();
    let delivery = one(&queue).await;
    for _ in 0..3 {
        queue.acknowledge(delivery.tag).await.unwrap();
        queue.reject(delivery.tag).await.unwrap();
    }
    queue.acknowledge(u64::MAX).await.unwrap();
    queue.publish(message(2)).await.unwrap();
    assert_eq!(number(&one(&queue).await), 2);
    assert_eq!(queue.stats().await.consuming.unwrap().reconnects, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_over_many_cuts() {
    const MESSAGES: u64 = 2_000;
    let place = Place::fresh().await;
    let proxy = Proxy::start(port(&place.url)).unwrap();
    let queue = Arc::new(connect(options(&place.through(proxy.port()))).await);
    let publisher = tokio::spawn({
        let queue = queue.clone();
        async move {
            for number in 0..MESSAGES {
                let priority = PriorityClass::ALL[number as usize % 3];
                let sent = Message {
                    priority,
                    ..message(number)
                };
                publish_when_possible(&queue, sent).await;
            }
        }
    });
    let mut seen = std::collections::BTreeSet::new();
    let mut next_cut = MESSAGES / 10;
    let deadline = Instant::now() + 2 * PATIENCE;
    while (seen.len() as u64) < MESSAGES {
        assert!(Instant::now() < deadline, "{} of {MESSAGES}", seen.len());
        for delivery in within(queue.receive(50)).await.unwrap() {
            seen.insert(number(&delivery));
            queue.acknowledge(delivery.tag).await.unwrap();
        }
        if seen.len() as u64 >= next_cut {
            next_cut += MESSAGES / 10;
            proxy.cut();
        }
    }
    publisher.await.unwrap();
    let stats = queue.stats().await;
    assert!(stats.publishing.reconnects >= 3, "{stats:?}");
}

/// Sockets of this process that are connected to `port` and held by somebody.
fn open_sockets(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let remote = format!(":{port:04X}");
    let held = table.lines().skip(1).filter(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[2].ends_with(&remote) && fields[9] != "0"
    });
    held.count()
}

/// A peer that is silent, not gone: the time limits must end the waiting, and no thread of lapin's with its socket may be
/// left behind.
#[tokio::test]
async fn a_silent_network_leaves_nothing_behind() {
    let place = Place::fresh().await;
    let proxy = Proxy::start(port(&place.url)).unwrap();
    let url = format!("{}?heartbeat=1", place.through(proxy.port()));
    let queue = connect(Options {
        call_timeout: Duration::from_millis(300),
        publish_timeout: Duration::from_millis(300),
        ..options(&url)
    })
    .await;
    queue.publish(message(1)).await.unwrap();
    let accepted = proxy.count();
    proxy.stall(true);
    // Each attempt to connect again ends in silence and must be given up.
    eventually("it tries again and again", async || {
        let _ = queue.publish(message(2)).await;
        (proxy.count() >= accepted + 6).then_some(())
    })
    .await;
    eventually("connections given up are closed", async || {
        (open_sockets(proxy.port()) <= 4).then_some(())
    })
    .await;
    proxy.stall(false);
    let deliveries = within(async {
        let mut seen = Vec::new();
        while !seen.contains(&1) {
            seen.push(number(&one(&queue).await));
        }
        seen
    })
    .await;
    assert!(deliveries.contains(&1));
}

#[tokio::test]
async fn what_was_acknowledged_before_closing_is_gone() {
    let place = Place::fresh().await;
    let queue = place.queue().await;
    for number in 0..100 {
        queue.publish(message(number)).await.unwrap();
    }
    let mut taken = Vec::new();
    while taken.len() < 50 {
        taken.extend(within(queue.receive(50 - taken.len())).await.unwrap());
    }
    for delivery in &taken {
        queue.acknowledge(delivery.tag).await.unwrap();
    }
    within(queue.close()).await;
    let observer = connect(Options {
        consume: false,
        ..place.options()
    })
    .await;
    eventually("the rest is back in the queue", async || {
        (depths(&observer).await[1] == Some(50)).then_some(())
    })
    .await;
    assert!(queue.receive(1).await.is_err());
    assert!(queue.publish(message(1)).await.is_err());
}
