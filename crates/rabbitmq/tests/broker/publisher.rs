//! Publishing for nodes: every answer is certain, and tells what to do.

use std::sync::Arc;
use std::time::Duration;

use lapin::ExchangeKind;
use lapin::message::BasicGetMessage;
use lapin::options::{
    BasicGetOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use pawl_rabbitmq::{PublishError, PublishRequest, Publisher};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;
use xtask::services::Proxy;

use crate::publishing::port;
use crate::support::{Place, Stranger, blocking, eventually};

const LIMIT: Duration = Duration::from_secs(5);

fn publisher(url: &str) -> Publisher {
    Publisher::new(url, "test", None).unwrap()
}

fn to_queue(queue: &str) -> PublishRequest {
    PublishRequest {
        routing_key: queue.into(),
        body: b"{\"hello\":1}".to_vec(),
        ..PublishRequest::default()
    }
}

async fn with_queue(place: &Place, queue: &str) -> Stranger {
    let stranger = place.stranger().await;
    stranger
        .channel
        .queue_declare(
            queue.into(),
            QueueDeclareOptions::default(),
            FieldTable::default(),
        )
        .await
        .unwrap();
    stranger
}

async fn get(stranger: &Stranger, queue: &str) -> Option<BasicGetMessage> {
    stranger
        .channel
        .basic_get(queue.into(), BasicGetOptions { no_ack: true })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_message_arrives_with_all_its_properties() {
    let place = Place::fresh().await;
    let stranger = with_queue(&place, "orders").await;
    let exchange = stranger.channel.exchange_declare(
        "shop".into(),
        ExchangeKind::Topic,
        ExchangeDeclareOptions::default(),
        FieldTable::default(),
    );
    exchange.await.unwrap();
    let bound = stranger.channel.queue_bind(
        "orders".into(),
        "shop".into(),
        "order.*".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.unwrap();
    let headers = json!({"x-tenant": "blue", "tries": 3, "nested": {"list": [true, null, 1.5]}});
    let request = PublishRequest {
        exchange: "shop".into(),
        routing_key: "order.new".into(),
        body: vec![0, 159, 146, 150],
        headers: headers.as_object().unwrap().clone(),
        persistent: true,
        message_id: Some("key-1".into()),
        correlation_id: Some("trace-1".into()),
        content_type: Some("application/octet-stream".into()),
    };
    let publisher = publisher(&place.url);
    publisher.publish(request, LIMIT).await.unwrap();
    let received = get(&stranger, "orders").await.unwrap().delivery;
    assert_eq!(received.data, [0, 159, 146, 150]);
    let properties = &received.properties;
    assert_eq!(properties.delivery_mode(), &Some(2));
    assert_eq!(properties.message_id().as_ref().unwrap().as_str(), "key-1");
    assert_eq!(
        properties.correlation_id().as_ref().unwrap().as_str(),
        "trace-1"
    );
    assert_eq!(
        properties.content_type().as_ref().unwrap().as_str(),
        "application/octet-stream"
    );
    let headers = properties.headers().as_ref().unwrap().inner();
    assert_eq!(headers["x-tenant"], AMQPValue::LongString("blue".into()));
    assert_eq!(headers["tries"], AMQPValue::LongLongInt(3));
    assert!(matches!(&headers["nested"], AMQPValue::FieldTable(_)));
    publisher.close().await;
}

#[tokio::test]
async fn each_refusal_has_its_name() {
    let place = Place::fresh().await;
    let stranger = with_queue(&place, "q").await;
    let publisher = publisher(&place.url);
    let unroutable = publisher.publish(to_queue("nobody"), LIMIT).await;
    let Err(PublishError::Unroutable { routing_key, .. }) = &unroutable else {
        panic!("{unroutable:?}");
    };
    assert_eq!(routing_key, "nobody");
    let nowhere = PublishRequest {
        exchange: "nope".into(),
        ..to_queue("q")
    };
    let missing = publisher.publish(nowhere, LIMIT).await;
    assert!(
        matches!(&missing, Err(PublishError::NoExchange { exchange }) if exchange == "nope"),
        "{missing:?}"
    );
    let internal = PublishRequest {
        exchange: "amq.rabbitmq.log".into(),
        ..to_queue("q")
    };
    let forbidden = publisher.publish(internal, LIMIT).await;
    assert!(
        matches!(
            &forbidden,
            Err(PublishError::Refused(_) | PublishError::NoExchange { .. })
        ),
        "{forbidden:?}"
    );
    // None of these hurts those that follow.
    publisher.publish(to_queue("q"), LIMIT).await.unwrap();
    assert!(get(&stranger, "q").await.is_some());
}

#[tokio::test]
async fn a_full_queue_refuses() {
    let place = Place::fresh().await;
    let _stranger = with_queue(&place, "short").await;
    let (node, vhost) = (place.node.clone(), place.vhost.clone());
    blocking(move || {
        let limit = r#"{"max-length":1,"overflow":"reject-publish"}"#;
        node.ctl(&["set_policy", "-p", &vhost, "short", "^short$", limit])
            .unwrap();
    })
    .await;
    let publisher = publisher(&place.url);
    let refused = eventually("the queue is full", async || {
        publisher.publish(to_queue("short"), LIMIT).await.err()
    })
    .await;
    assert!(matches!(refused, PublishError::Refused(_)), "{refused:?}");
}

/// Good and bad ones mixed, many at once: each gets its own answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_never_mixed_up() {
    let place = Place::fresh().await;
    let _stranger = with_queue(&place, "q").await;
    let publisher = Arc::new(publisher(&place.url));
    let mut publishes = JoinSet::new();
    for number in 0..600 {
        let publisher = publisher.clone();
        publishes.spawn(async move {
            let request = match number % 3 {
                0 => to_queue("q"),
                1 => to_queue("nobody"),
                _ => PublishRequest {
                    exchange: "nope".into(),
                    ..to_queue("q")
                },
            };
            (number, publisher.publish(request, 2 * LIMIT).await)
        });
    }
    while let Some(done) = publishes.join_next().await {
        let (number, published) = done.unwrap();
        match (number % 3, &published) {
            (0, Ok(())) => {}
            (1, Err(PublishError::Unroutable { .. })) => {}
            (2, Err(PublishError::NoExchange { .. })) => {}
            _ => panic!("{number}: {published:?}"),
        }
    }
}

#[tokio::test]
async fn faults_of_the_network_are_told_apart() {
    let place = Place::fresh().await;
    let _stranger = with_queue(&place, "q").await;
    let proxy = Proxy::start(port(&place.url)).unwrap();
    let publisher = publisher(&place.through(proxy.port()));
    publisher.publish(to_queue("q"), LIMIT).await.unwrap();
    // Silence: unknown.
    proxy.stall(true);
    let begun = Instant::now();
    let silent = publisher
        .publish(to_queue("q"), Duration::from_secs(2))
        .await;
    assert!(
        matches!(silent, Err(PublishError::Timeout(_))),
        "{silent:?}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
    // Silence already while connecting: certainly not sent.
    let silent = publisher
        .publish(to_queue("q"), Duration::from_secs(1))
        .await;
    assert!(
        matches!(silent, Err(PublishError::Connection(_))),
        "{silent:?}"
    );
    proxy.stall(false);
    publisher.publish(to_queue("q"), LIMIT).await.unwrap();
    // A cut that nobody notices until the next message.
    proxy.cut();
    eventually("it works again", async || {
        publisher.publish(to_queue("q"), LIMIT).await.ok()
    })
    .await;
    // Nobody there: certainly not sent.
    proxy.refuse(true);
    proxy.cut();
    let refused = eventually("the cut is noticed", async || {
        match publisher.publish(to_queue("q"), LIMIT).await {
            Err(PublishError::Connection(reason)) => Some(reason),
            _ => None,
        }
    })
    .await;
    assert!(refused.contains("cannot be reached"), "{refused}");
}
