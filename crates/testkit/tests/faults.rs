//! Faults do what they say, to one worker, and can all be made to fire.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::ports::queue::{Message, Queue, QueueError};
use pawl_kernel::ports::store::{CreateOutcome, ExecutionStore, QueryStore, StoreError};
use pawl_kernel::time::Clock;
use pawl_testkit::clock::SimClock;
use pawl_testkit::faults::{
    Fault, FaultControl, FaultPlan, Faults, FaultyQueue, FaultyStore, Rates,
};
use pawl_testkit::fixture::{at, execution_id, new_execution};
use pawl_testkit::model::ModelStore;
use pawl_testkit::model_queue::{Mishap, ModelQueue};

struct Worker {
    model: Arc<ModelStore>,
    broker: ModelQueue,
    store: FaultyStore,
    queue: FaultyQueue,
    consumer: Arc<ModelQueue>,
    faults: Arc<Faults>,
    control: FaultControl,
    clock: Arc<SimClock>,
}

fn worker(plan: FaultPlan) -> Worker {
    let (model, broker) = (Arc::new(ModelStore::new()), ModelQueue::new());
    let (control, clock) = (FaultControl::new(), Arc::new(SimClock::new()));
    let faults = Faults::new(plan, control.clone(), clock.clone());
    let consumer = Arc::new(broker.fork_consumer());
    Worker {
        store: FaultyStore::new(model.clone(), faults.clone()),
        queue: FaultyQueue::new(consumer.clone(), faults.clone()),
        model,
        broker,
        consumer,
        faults,
        control,
        clock,
    }
}

fn first(fault: Fault) -> Worker {
    worker(FaultPlan::At { call: 1, fault })
}

fn message(n: u64) -> Message {
    Message {
        execution_id: execution_id(n),
        schema_id: pawl_kernel::id::SchemaId(execution_id(n).0),
        node_id: "start".into(),
        seq: n,
        debug_mode: false,
        priority: PriorityClass::Normal,
        published_at: at(0),
    }
}

async fn stored(worker: &Worker) -> bool {
    let found = worker.model.execution(execution_id(1)).await.unwrap();
    found.is_some()
}

#[tokio::test(start_paused = true)]
async fn an_error_before_changes_nothing() {
    let worker = first(Fault::ErrorBefore);
    let answer = worker.store.create(new_execution(1)).await;
    assert!(matches!(answer, Err(StoreError::Unavailable(_))));
    assert!(!stored(&worker).await);
    let again = worker.store.create(new_execution(1)).await.unwrap();
    assert_eq!(again, CreateOutcome::New);
}

#[tokio::test(start_paused = true)]
async fn an_error_after_hides_what_happened() {
    let worker = first(Fault::ErrorAfter);
    let answer = worker.store.create(new_execution(1)).await;
    assert!(matches!(answer, Err(StoreError::Unknown(_))));
    assert!(stored(&worker).await);
}

#[tokio::test(start_paused = true)]
async fn a_delay_takes_time() {
    let worker = first(Fault::Delay);
    let before = worker.clock.now();
    worker.store.create(new_execution(1)).await.unwrap();
    assert!(worker.clock.now().since(before) >= Duration::from_secs(45));
}

#[tokio::test(start_paused = true)]
async fn a_crash_never_returns_and_nothing_follows_it() {
    for (fault, happened) in [(Fault::CrashBefore, false), (Fault::CrashAfter, true)] {
        let worker = first(fault);
        let died = worker.faults.crash().clone();
        tokio::select! {
            biased;
            answer = worker.store.create(new_execution(1)) => panic!("{answer:?}"),
            () = died.wait() => {}
        }
        assert_eq!(stored(&worker).await, happened);
        let late = tokio::time::timeout(
            Duration::from_secs(3600),
            worker.store.create(new_execution(2)),
        );
        assert!(late.await.is_err(), "the dead do not write");
        assert_eq!(worker.model.dump().executions.len(), usize::from(happened));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_consumer_gives_its_messages_back() {
    let worker = first(Fault::ReceiveCrash);
    worker.broker.publish(message(1)).await.unwrap();
    tokio::select! {
        biased;
        answer = worker.queue.receive(5) => panic!("{answer:?}"),
        () = worker.faults.crash().wait() => {}
    }
    assert_eq!(worker.broker.unacknowledged(), 1);
    let returned = worker.broker.drop_consumer(worker.consumer.consumer());
    assert_eq!(returned, 1);
    let again = worker.broker.receive(5).await.unwrap();
    assert!(again[0].redelivered);
}

#[tokio::test(start_paused = true)]
async fn messages_get_lost_doubled_and_late() {
    for (fault, waiting) in [
        (Fault::PublishLost, 0),
        (Fault::PublishDoubled, 2),
        (Fault::PublishDelayed, 1),
        (Fault::PublishReordered, 1),
    ] {
        let worker = first(fault);
        worker.queue.publish(message(1)).await.unwrap();
        assert_eq!(worker.broker.waiting(), waiting, "{fault:?}");
    }
    let worker = first(Fault::PublishUnconfirmed);
    let answer = worker.queue.publish(message(1)).await;
    assert!(matches!(answer, Err(QueueError::Unavailable(_))));
    assert_eq!(worker.broker.waiting(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_acknowledgement_brings_the_message_back() {
    let worker = worker(FaultPlan::At {
        call: 2,
        fault: Fault::AckLost,
    });
    worker.broker.publish(message(1)).await.unwrap();
    let delivery = worker.queue.receive(1).await.unwrap().remove(0);
    worker.queue.acknowledge(delivery.tag).await.unwrap();
    let again = worker.broker.receive(1).await.unwrap().remove(0);
    assert!(again.redelivered);
}

#[tokio::test(start_paused = true)]
async fn planned_mishaps_meet_one_message_each() {
    let queue = ModelQueue::new();
    queue.plan([Mishap::Lose, Mishap::Delay(Duration::from_secs(9))]);
    for n in 1..=3 {
        queue.publish(message(n)).await.unwrap();
    }
    queue.reorder_next(1);
    queue.publish(message(4)).await.unwrap();
    let mut seqs = Vec::new();
    let start = tokio::time::Instant::now();
    while seqs.len() < 3 {
        let batch = queue.receive(1).await.unwrap();
        seqs.extend(batch.iter().map(|delivery| delivery.message.seq));
    }
    assert_eq!(seqs, [4, 3, 2]);
    assert!(start.elapsed() >= Duration::from_secs(9));
}

/// Works until every kind has fired, with a new worker after each crash; the same seed, the same day.
async fn bad_day(seed: u64) -> (Vec<u64>, u64) {
    let control = FaultControl::new();
    let model = Arc::new(ModelStore::new());
    let broker = ModelQueue::new();
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new());
    for life in 0..300 {
        let plan = FaultPlan::random(seed * 1000 + life, Rates::all(30));
        let faults = Faults::new(plan, control.clone(), clock.clone());
        let consumer = Arc::new(broker.fork_consumer());
        let store = FaultyStore::new(model.clone(), faults.clone());
        let queue = FaultyQueue::new(consumer.clone(), faults.clone());
        tokio::select! {
            biased;
            () = work(&store, &queue, life) => {}
            () = faults.crash().wait() => { broker.drop_consumer(consumer.consumer()); }
        }
    }
    let counts = Fault::ALL.iter().map(|fault| control.counts().of(*fault));
    (counts.collect(), model.dump().executions.len() as u64)
}

async fn work(store: &FaultyStore, queue: &FaultyQueue, life: u64) {
    for n in 0..10 {
        let _ = store.create(new_execution(life * 10 + n)).await;
        let _ = queue.publish(message(n)).await;
        let _ = queue.publish(message(n)).await;
        if let Ok(batch) = queue.receive(1).await {
            let _ = queue.acknowledge(batch[0].tag).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_kind_fires_and_a_seed_repeats_itself() {
    let (counts, created) = bad_day(1).await;
    assert!(counts.iter().all(|count| *count >= 5), "{counts:?}");
    assert!(created > 500, "{created}");
    assert_eq!(bad_day(1).await, (counts.clone(), created));
    assert_ne!(bad_day(2).await.0, counts);
}

#[tokio::test(start_paused = true)]
async fn faults_stop_when_told() {
    let worker = worker(FaultPlan::random(7, Rates::all(80)));
    worker.control.stop();
    for n in 1..=200 {
        worker.store.create(new_execution(n)).await.unwrap();
    }
    assert_eq!(worker.control.counts().total(), 0);
    assert_eq!(worker.faults.calls(), 200);
}
