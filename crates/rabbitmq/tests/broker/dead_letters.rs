//! What nobody can use ends among the dead letters, with its reason and its body.

use std::collections::BTreeMap;

use lapin::BasicProperties;
use lapin::options::QueuePurgeOptions;
use pawl_kernel::ports::queue::Queue;
use pawl_rabbitmq::{DeadLetterDrain, DeadLetterMessage, Options, QueueType};

use crate::support::{
    Place, connect, depths, eventually, execution_id, message, number, one, options, ports, within,
};

async fn drain(options: &Options) -> DeadLetterDrain {
    DeadLetterDrain::connect(options, &ports()).await.unwrap()
}

async fn next(drain: &mut DeadLetterDrain) -> DeadLetterMessage {
    within(drain.next()).await.unwrap()
}

async fn garbage_is_buried(queue_type: QueueType) {
    let place = Place::fresh().await;
    let options = Options {
        queue_type,
        ..place.options()
    };
    let queue = connect(options.clone()).await;
    let mut drain = drain(&options).await;
    let stranger = place.stranger().await;
    let id = execution_id(7).to_string();
    let bytes = vec![0xff, 0x00, 0xfe];
    let huge = vec![b'x'; 3_000_000];
    let deep = format!(
        "{{\"execution_id\":\"{id}\",\"x\":{}{}}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let wrong_type = format!("{{\"execution_id\":\"{id}\",\"action\":5}}");
    let cases: Vec<(&str, &[u8], &str)> = vec![
        ("schema_execution_queue", b"", "no message"),
        ("schema_execution_queue", &bytes, "no message"),
        ("schema_execution_queue.high", &huge, "3000000 bytes"),
        ("schema_execution_queue", deep.as_bytes(), "deeper than 64"),
        (
            "schema_execution_queue.low",
            wrong_type.as_bytes(),
            "invalid type: integer `5`",
        ),
        (
            "schema_execution_queue",
            b"{\"execution_id\":\"12\"}",
            "\"12\" is no UUID",
        ),
        ("schema_execution_queue", b"[1,2]", "no message"),
    ];
    for (to, body, expected) in cases {
        stranger.publish(to, body).await;
        let letter = next(&mut drain).await;
        assert!(
            letter.reason.contains(expected),
            "{} for {expected}",
            letter.reason
        );
        assert_eq!(letter.queue.as_deref(), Some(to));
        let shown = String::from_utf8_lossy(&body[..body.len().min(1 << 20)]);
        assert_eq!(letter.body, shown);
        let known = body == wrong_type.as_bytes();
        assert_eq!(letter.execution_id, known.then(|| execution_id(7)));
        letter.stored();
    }
    // Good ones pass in between, and nothing is left.
    queue.publish(message(1)).await.unwrap();
    assert_eq!(number(&one(&queue).await), 1);
    within(drain.close()).await;
    eventually("all are gone", async || {
        (depths(&queue).await == [0, 0, 0, 0].map(Some)).then_some(())
    })
    .await;
    assert_eq!(queue.stats().await.consuming.unwrap().reconnects, 0);
}

#[tokio::test]
async fn garbage_is_buried_on_classic_queues() {
    garbage_is_buried(QueueType::Classic).await;
}

#[tokio::test]
async fn garbage_is_buried_on_quorum_queues() {
    garbage_is_buried(QueueType::Quorum).await;
}

/// The broker has no part in it: a plain queue is as good as one with a dead-letter exchange of its own.
#[tokio::test]
async fn garbage_in_a_queue_of_another_program_is_buried() {
    let place = Place::fresh().await;
    let stranger = place.stranger().await;
    stranger.declare_plainly("schema_execution_queue").await;
    stranger.publish("schema_execution_queue", b"garbage").await;
    let queue = place.queue().await;
    let mut drain = drain(&place.options()).await;
    let letter = next(&mut drain).await;
    assert!(letter.reason.contains("no message"), "{}", letter.reason);
    letter.stored();
    within(drain.close()).await;
    assert_eq!(depths(&queue).await, [0, 0, 0, 0].map(Some));
}

/// It is acknowledged when a queue has it, and not before: the queue of dead letters is missing at first.
#[tokio::test]
async fn a_message_is_not_given_up_before_it_is_buried() {
    let place = Place::fresh().await;
    let queue = place.queue().await;
    let stranger = place.stranger().await;
    stranger.delete_queue("schema_execution_dlq").await;
    stranger.publish("schema_execution_queue", b"garbage").await;
    // Declared anew by the publisher that found it missing.
    let mut drain = drain(&place.options()).await;
    let letter = next(&mut drain).await;
    assert_eq!(letter.body, "garbage");
    letter.stored();
    within(drain.close()).await;
    assert_eq!(depths(&queue).await, [0, 0, 0, 0].map(Some));
}

/// While no queue takes it, it stays unacknowledged: a process that ends meanwhile leaves it to the next one.
#[tokio::test]
async fn a_message_whose_burial_is_refused_is_delivered_again() {
    let place = Place::fresh().await;
    let stranger = place.stranger().await;
    stranger.declare_full("schema_execution_dlq").await;
    stranger.declare_plainly("schema_execution_queue").await;
    stranger.publish("schema_execution_queue", b"garbage").await;
    let first = place.queue().await;
    // One behind it on the same channel: once it is acknowledged, so would be what came before it.
    first.publish(message(1)).await.unwrap();
    let behind = one(&first).await;
    assert_eq!(number(&behind), 1);
    first.acknowledge(behind.tag).await.unwrap();
    eventually("both are taken", async || {
        (depths(&first).await[1] == Some(0)).then_some(())
    })
    .await;
    within(first.close()).await;
    stranger.delete_queue("schema_execution_dlq").await;
    let second = place.queue().await;
    let mut drain = drain(&place.options()).await;
    let letter = next(&mut drain).await;
    assert_eq!(letter.body, "garbage");
    letter.stored();
    within(drain.close()).await;
    assert_eq!(depths(&second).await, [0, 0, 0, 0].map(Some));
}

#[tokio::test]
async fn a_letter_that_was_not_stored_comes_again() {
    let place = Place::fresh().await;
    let queue = place.queue().await;
    let mut first = drain(&place.options()).await;
    place
        .stranger()
        .await
        .publish("schema_execution_queue", b"one")
        .await;
    // Offered again to the same drain after a while.
    next(&mut first).await.not_stored();
    let again = next(&mut first).await;
    assert_eq!(again.body, "one");
    // The process dies with the letter in its hands: it goes to the next one.
    first.close().await;
    drop(again);
    let mut second = drain(&place.options()).await;
    let letter = next(&mut second).await;
    assert_eq!(letter.body, "one");
    letter.stored();
    second.close().await;
    assert_eq!(depths(&queue).await[3], Some(0));
}

/// A worker that dies again and again with an innocent message: the broker gives the message up, not we.
#[tokio::test]
async fn a_message_delivered_too_often_is_given_up() {
    let place = Place::fresh().await;
    let options = Options {
        queue_type: QueueType::Quorum,
        delivery_limit: 2,
        ..place.options()
    };
    let queue = connect(options.clone()).await;
    queue.publish(message(5)).await.unwrap();
    for _ in 0..3 {
        let delivery = one(&queue).await;
        queue.reject(delivery.tag).await.unwrap();
    }
    let letter = next(&mut drain(&options).await).await;
    assert!(
        letter.reason.starts_with("delivered too often"),
        "{}",
        letter.reason
    );
    assert_eq!(letter.execution_id, Some(execution_id(5)));
    letter.stored();
}

#[tokio::test]
async fn letters_from_anybody_are_read() {
    let place = Place::fresh().await;
    let mut drain = drain(&place.options()).await;
    let stranger = place.stranger().await;
    stranger
        .publish_with(
            "schema_execution_dlq",
            b"by hand",
            BasicProperties::default(),
        )
        .await;
    let letter = next(&mut drain).await;
    assert!(letter.reason.contains("directly"), "{}", letter.reason);
    assert_eq!(
        (letter.body.as_str(), letter.queue.as_deref()),
        ("by hand", None)
    );
    letter.stored();
}

/// More letters than fit into the hands of one drain.
#[tokio::test]
async fn a_flood_is_drained_completely() {
    let place = Place::fresh().await;
    let queue = connect(Options {
        slots: 10,
        ..options(&place.url)
    })
    .await;
    let stranger = place.stranger().await;
    for number in 0..500 {
        stranger
            .publish(
                "schema_execution_queue",
                format!("garbage {number}").as_bytes(),
            )
            .await;
    }
    let mut drain = drain(&place.options()).await;
    let mut seen = BTreeMap::new();
    while seen.len() < 500 {
        let letter = next(&mut drain).await;
        *seen.entry(letter.body.clone()).or_insert(0) += 1;
        letter.stored();
    }
    assert!(seen.values().all(|times| *times == 1));
    drain.close().await;
    assert_eq!(depths(&queue).await[3], Some(0));
    let left = stranger
        .channel
        .queue_purge("schema_execution_dlq".into(), QueuePurgeOptions::default())
        .await
        .unwrap();
    assert_eq!(left, 0);
}
