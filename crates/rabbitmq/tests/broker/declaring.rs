//! Queues that exist already, and programs that declare them too.

use lapin::ExchangeKind;
use lapin::options::ExchangeDeclareOptions;
use lapin::types::FieldTable;
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::ports::queue::{Message, Queue};
use pawl_rabbitmq::{BrokerError, DeadLetterDrain, Options, QueueType, RabbitQueue, Start};

use crate::support::{self, Place, Stranger, connect, message, one, ports, within};

const WORK: [&str; 3] = [
    "schema_execution_queue",
    "schema_execution_queue.high",
    "schema_execution_queue.low",
];

/// A message of each class goes through, and what is refused becomes a dead letter.
async fn it_works(options: &Options, stranger: &Stranger) {
    let queue = connect(options.clone()).await;
    for (number, priority) in PriorityClass::ALL.iter().enumerate() {
        let sent = Message {
            priority: *priority,
            ..message(number as u64)
        };
        queue.publish(sent).await.unwrap();
        let delivery = one(&queue).await;
        assert_eq!(support::number(&delivery), number as u64);
        queue.acknowledge(delivery.tag).await.unwrap();
    }
    let mut drain = DeadLetterDrain::connect(options, &ports()).await.unwrap();
    stranger.publish(WORK[0], b"garbage").await;
    let letter = within(drain.next()).await.unwrap();
    assert!(letter.reason.contains("no message"), "{}", letter.reason);
    assert_eq!(letter.queue.as_deref(), Some(WORK[0]));
    letter.stored();
    within(drain.close()).await;
    within(queue.close()).await;
}

#[tokio::test]
async fn a_program_declares_the_queue_first() {
    let place = Place::fresh().await;
    let stranger = place.stranger().await;
    stranger.declare_plainly(WORK[0]).await;
    it_works(&place.options(), &stranger).await;
}

#[tokio::test]
async fn pawl_declares_the_queue_first() {
    let place = Place::fresh().await;
    let queue = place.queue().await;
    // Refused, it would have no channel to go on with.
    let stranger = place.stranger().await;
    for name in WORK {
        stranger.declare_plainly(name).await;
    }
    within(queue.close()).await;
    it_works(&place.options(), &stranger).await;
}

/// As Pawl itself declared them once.
#[tokio::test]
async fn queues_with_arguments_are_used_as_they_are() {
    let place = Place::fresh().await;
    let stranger = place.stranger().await;
    for name in WORK {
        let arguments = [
            ("x-queue-type", "classic"),
            ("x-dead-letter-exchange", "schema_execution_dlx"),
        ];
        stranger.declare_with(name, &arguments).await;
    }
    it_works(&place.options(), &stranger).await;
}

#[tokio::test]
async fn queues_of_another_type_are_used_as_they_are() {
    for (there, wanted) in [
        (QueueType::Classic, QueueType::Quorum),
        (QueueType::Quorum, QueueType::Classic),
    ] {
        let place = Place::fresh().await;
        let options = |queue_type| Options {
            queue_type,
            start: Start::Anyway,
            ..place.options()
        };
        within(connect(options(there)).await.close()).await;
        it_works(&options(wanted), &place.stranger().await).await;
    }
}

#[tokio::test]
async fn another_delivery_limit_is_used_as_it_is() {
    let place = Place::fresh().await;
    let quorum = Options {
        queue_type: QueueType::Quorum,
        ..place.options()
    };
    within(connect(quorum.clone()).await.close()).await;
    let other = Options {
        delivery_limit: 7,
        ..quorum
    };
    it_works(&other, &place.stranger().await).await;
}

/// An exchange routes, and one of another kind routes otherwise: that is no matter of taste.
#[tokio::test]
async fn an_exchange_of_another_kind_is_an_error() {
    let place = Place::fresh().await;
    let stranger = place.stranger().await;
    let declared = stranger.channel.exchange_declare(
        "schema_execution_dlx".into(),
        ExchangeKind::Topic,
        ExchangeDeclareOptions::default(),
        FieldTable::default(),
    );
    declared.await.unwrap();
    let refused = within(RabbitQueue::connect(place.options(), ports())).await;
    let Err(error) = refused else {
        panic!("it connected");
    };
    assert!(matches!(error, BrokerError::Mismatch { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("exchange `schema_execution_dlx`") && text.contains("rabbitmqctl"),
        "{text}"
    );
}
