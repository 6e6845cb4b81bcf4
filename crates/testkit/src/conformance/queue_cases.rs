//! What every queue must do.

use std::collections::BTreeSet;
use std::sync::Arc;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::queue::{Delivery, Message, Queue};

use super::{QueueCase, cases};
use crate::fixture::{at, execution_id};

pub(super) const CASES: &[QueueCase] = cases!["queue":
    a_message_arrives_as_it_was_sent,
    messages_keep_their_order,
    no_more_than_asked_for,
    a_receiver_waits_for_a_message,
    acknowledged_is_gone,
    rejected_comes_back_marked,
    unacknowledged_is_not_handed_out_twice,
    two_receivers_share,
    a_receiver_that_gives_up_loses_nothing,
    the_same_message_twice_is_two_messages,
    every_priority_arrives,
    a_thousand_messages,
];

async fn a_message_arrives_as_it_was_sent(queue: Arc<dyn Queue>) {
    let sent = Message {
        execution_id: execution_id(1),
        schema_id: SchemaId(execution_id(2).0),
        node_id: "käse \u{1f9c0} \"quoted\"".into(),
        seq: 1 << 40,
        debug_mode: true,
        priority: PriorityClass::High,
        published_at: at(3).plus(std::time::Duration::from_micros(7)),
    };
    queue.publish(sent.clone()).await.unwrap();
    let received = one(&queue).await;
    assert_eq!(received.message, sent);
    assert!(!received.redelivered);
}

async fn messages_keep_their_order(queue: Arc<dyn Queue>) {
    publish(&queue, 1..=5).await;
    let mut ids = Vec::new();
    while ids.len() < 5 {
        let batch = queue.receive(10).await.unwrap();
        ids.extend(batch.iter().map(|delivery| delivery.message.execution_id));
    }
    assert_eq!(ids, [1, 2, 3, 4, 5].map(execution_id));
}

async fn no_more_than_asked_for(queue: Arc<dyn Queue>) {
    publish(&queue, 1..=5).await;
    let mut received = 0;
    while received < 5 {
        let batch = queue.receive(2).await.unwrap();
        assert!((1..=2).contains(&batch.len()), "{}", batch.len());
        received += batch.len();
    }
}

async fn a_receiver_waits_for_a_message(queue: Arc<dyn Queue>) {
    let receiver = tokio::spawn({
        let queue = queue.clone();
        async move { one(&queue).await.message.execution_id }
    });
    tokio::task::yield_now().await;
    publish(&queue, 7..=7).await;
    assert_eq!(receiver.await.unwrap(), execution_id(7));
}

async fn acknowledged_is_gone(queue: Arc<dyn Queue>) {
    publish(&queue, 1..=1).await;
    let first = one(&queue).await;
    queue.acknowledge(first.tag).await.unwrap();
    publish(&queue, 2..=2).await;
    assert_eq!(one(&queue).await.message.execution_id, execution_id(2));
}

async fn rejected_comes_back_marked(queue: Arc<dyn Queue>) {
    publish(&queue, 1..=1).await;
    let first = one(&queue).await;
    queue.reject(first.tag).await.unwrap();
    let again = one(&queue).await;
    assert_eq!(again.message, first.message);
    assert!(again.redelivered);
    queue.acknowledge(again.tag).await.unwrap();
    publish(&queue, 2..=2).await;
    let next = one(&queue).await;
    assert_eq!(next.message.execution_id, execution_id(2));
    assert!(!next.redelivered);
}

async fn unacknowledged_is_not_handed_out_twice(queue: Arc<dyn Queue>) {
    publish(&queue, 1..=1).await;
    let held = one(&queue).await;
    publish(&queue, 2..=2).await;
    let other = one(&queue).await;
    assert_eq!(other.message.execution_id, execution_id(2));
    assert_ne!(held.tag, other.tag);
}

async fn two_receivers_share(queue: Arc<dyn Queue>) {
    let receivers = [(); 2].map(|()| {
        let queue = queue.clone();
        tokio::spawn(async move { one(&queue).await.message.execution_id })
    });
    tokio::task::yield_now().await;
    publish(&queue, 1..=2).await;
    let mut ids = BTreeSet::new();
    for receiver in receivers {
        ids.insert(receiver.await.unwrap());
    }
    assert_eq!(ids, BTreeSet::from([1, 2].map(execution_id)));
}

async fn a_receiver_that_gives_up_loses_nothing(queue: Arc<dyn Queue>) {
    for n in 1..=20 {
        let receiver = tokio::spawn({
            let queue = queue.clone();
            async move { queue.receive(1).await }
        });
        tokio::task::yield_now().await;
        receiver.abort();
        // It may have been cancelled before or after a message was there for it, but never in between.
        assert!(receiver.await.is_err());
        publish(&queue, n..=n).await;
        let received = one(&queue).await;
        assert_eq!(received.message.execution_id, execution_id(n));
        queue.acknowledge(received.tag).await.unwrap();
    }
}

async fn the_same_message_twice_is_two_messages(queue: Arc<dyn Queue>) {
    publish(&queue, 1..=1).await;
    publish(&queue, 1..=1).await;
    let (first, second) = (one(&queue).await, one(&queue).await);
    assert_ne!(first.tag, second.tag);
    assert!(!first.redelivered && !second.redelivered);
}

async fn every_priority_arrives(queue: Arc<dyn Queue>) {
    for (n, priority) in (1..).zip(PriorityClass::ALL) {
        let message = Message {
            priority: *priority,
            ..message(n)
        };
        queue.publish(message).await.unwrap();
    }
    let mut seen = BTreeSet::new();
    while seen.len() < PriorityClass::ALL.len() {
        let delivery = one(&queue).await;
        assert!(seen.insert(delivery.message.priority));
    }
}

async fn a_thousand_messages(queue: Arc<dyn Queue>) {
    publish(&queue, 1..=1000).await;
    let mut seen: BTreeSet<ExecutionId> = BTreeSet::new();
    while seen.len() < 1000 {
        for delivery in queue.receive(64).await.unwrap() {
            assert!(seen.insert(delivery.message.execution_id));
            queue.acknowledge(delivery.tag).await.unwrap();
        }
    }
}

fn message(n: u64) -> Message {
    Message {
        execution_id: execution_id(n),
        schema_id: SchemaId(execution_id(n).0),
        node_id: "start".into(),
        seq: n,
        debug_mode: false,
        priority: PriorityClass::Normal,
        published_at: at(0),
    }
}

async fn publish(queue: &Arc<dyn Queue>, numbers: std::ops::RangeInclusive<u64>) {
    for n in numbers {
        queue.publish(message(n)).await.unwrap();
    }
}

async fn one(queue: &Arc<dyn Queue>) -> Delivery {
    let mut batch = queue.receive(1).await.unwrap();
    assert_eq!(batch.len(), 1);
    batch.remove(0)
}
