//! Messages of other programs.

use lapin::BasicProperties;
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::ports::queue::Queue;
use pawl_rabbitmq::{DeadLetterDrain, ExternalStart, Options};

use crate::support::{
    Place, connect, depths, eventually, execution_id, message, number, one, ports, within,
};

const START: &[u8] =
    br#"{"execution_id":"order 17","schema_id":"ship","action":"start","context":{"weight":{"kg":2}}}"#;

fn accepting(place: &Place) -> Options {
    Options {
        accept_external: true,
        ..place.options()
    }
}

async fn buried_reason(place: &Place) -> String {
    let mut drain = DeadLetterDrain::connect(&place.options(), &ports())
        .await
        .unwrap();
    let letter = within(drain.next()).await.unwrap();
    let reason = letter.reason.clone();
    assert_eq!(letter.body.as_bytes(), START);
    assert_eq!(letter.queue.as_deref(), Some("schema_execution_queue"));
    letter.stored();
    drain.close().await;
    reason
}

#[tokio::test]
async fn a_start_arrives_with_everything_it_says() {
    let place = Place::fresh().await;
    let queue = connect(accepting(&place)).await;
    let mut externals = queue.externals().unwrap();
    assert!(queue.externals().is_none());
    let stranger = place.stranger().await;
    stranger.publish("schema_execution_queue", START).await;
    let start = within(externals.recv()).await.unwrap();
    assert_eq!(start.body, START);
    assert!(!start.redelivered);
    assert_eq!((&start.reply_to, &start.correlation_id), (&None, &None));
    start.done();
    // It does not come again, and it never was a message for a worker.
    queue.publish(message(1)).await.unwrap();
    assert_eq!(number(&one(&queue).await), 1);
    queue.close().await;
    let observer = place.queue().await;
    eventually(
        "nothing is left but what was not acknowledged",
        async || (number(&one(&observer).await) == 1).then_some(()),
    )
    .await;
    assert_eq!(depths(&observer).await, [0, 0, 0, 0].map(Some));
}

#[tokio::test]
async fn a_start_says_who_waits_for_an_answer() {
    let place = Place::fresh().await;
    let queue = connect(accepting(&place)).await;
    let mut externals = queue.externals().unwrap();
    let stranger = place.stranger().await;
    let properties = BasicProperties::default()
        .with_reply_to("answers".into())
        .with_correlation_id("call 5".into());
    // One that cannot be read is offered too, to be refused with an answer.
    for (body, defect) in [(START, None), (&b"garbage"[..], Some("no message"))] {
        stranger
            .publish_with("schema_execution_queue", body, properties.clone())
            .await;
        let start = within(externals.recv()).await.unwrap();
        assert_eq!(start.reply_to.as_deref(), Some("answers"));
        assert_eq!(start.correlation_id.as_deref(), Some("call 5"));
        match (&start.defect, defect) {
            (None, None) => {}
            (Some(found), Some(wanted)) => assert!(found.contains(wanted), "{found}"),
            other => panic!("{other:?}"),
        }
        start.done();
    }
}

/// The usual queue says nothing about the priority, so the schema decides.
#[tokio::test]
async fn only_the_queues_with_a_name_ask_for_a_priority() {
    let place = Place::fresh().await;
    let queue = connect(accepting(&place)).await;
    let mut externals = queue.externals().unwrap();
    let stranger = place.stranger().await;
    for (name, priority) in [
        ("schema_execution_queue", None),
        ("schema_execution_queue.high", Some(PriorityClass::High)),
        ("schema_execution_queue.low", Some(PriorityClass::Low)),
    ] {
        stranger.publish(name, START).await;
        let start = within(externals.recv()).await.unwrap();
        assert_eq!(start.priority, priority, "{name}");
        start.done();
    }
}

#[tokio::test]
async fn a_resume_is_a_look() {
    let place = Place::fresh().await;
    let queue = connect(accepting(&place)).await;
    let body = format!(
        "{{\"execution_id\":\"{}\",\"action\":\"resume\"}}",
        execution_id(9)
    );
    place
        .stranger()
        .await
        .publish("schema_execution_queue.low", body.as_bytes())
        .await;
    let delivery = one(&queue).await;
    assert_eq!(number(&delivery), 9);
    assert_eq!(delivery.message.seq, u64::MAX);
}

#[tokio::test]
async fn a_refused_start_is_buried_with_the_reason() {
    let place = Place::fresh().await;
    let queue = connect(accepting(&place)).await;
    let mut externals = queue.externals().unwrap();
    place
        .stranger()
        .await
        .publish("schema_execution_queue", START)
        .await;
    let start: ExternalStart = within(externals.recv()).await.unwrap();
    start.refuse("there is no schema `ship`");
    assert_eq!(buried_reason(&place).await, "there is no schema `ship`");
    assert_eq!(depths(&queue).await, [0, 0, 0, 0].map(Some));
}

#[tokio::test]
async fn where_they_are_not_accepted_they_are_buried() {
    let place = Place::fresh().await;
    let queue = place.queue().await;
    place
        .stranger()
        .await
        .publish("schema_execution_queue", START)
        .await;
    let reason = buried_reason(&place).await;
    assert!(reason.contains("broker.accept_external"), "{reason}");
    assert_eq!(depths(&queue).await, [0, 0, 0, 0].map(Some));
}

#[tokio::test]
async fn a_start_given_back_is_offered_again_and_does_not_spin() {
    let place = Place::fresh().await;
    let queue = connect(accepting(&place)).await;
    let mut externals = queue.externals().unwrap();
    place
        .stranger()
        .await
        .publish("schema_execution_queue", START)
        .await;
    let begun = tokio::time::Instant::now();
    within(externals.recv()).await.unwrap().give_back();
    let again = within(externals.recv()).await.unwrap();
    assert!(begun.elapsed().as_secs() >= 4, "{:?}", begun.elapsed());
    assert_eq!(again.body, START);
    // Dropped without an answer, as by a panic: back into the queue, and here again.
    drop(again);
    let last = within(externals.recv()).await.unwrap();
    assert!(last.redelivered);
    last.done();
}
