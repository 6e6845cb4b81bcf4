//! What cannot be removed keeps nobody else from going.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use pawl_engine::retention::Retention;
use pawl_engine::{Options, Runtime};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::node::Registry;
use pawl_kernel::ports::schedule::{ActionFilter, RecordRequest, ScheduleStore};
use pawl_kernel::ports::store::{
    CatalogStore, Claim, DueTimer, ExecutionFilter, ExecutionStore, QueryStore, TimerStore,
};
use pawl_kernel::schedule::{AttemptOutcome, Run, ScheduleLimits};
use pawl_sqlite::EmbeddedQueue;
use pawl_testkit::clock::{SeededEntropy, SimClock};
use pawl_testkit::fixture::{self, at, execution_id, pass, schema_id};
use pawl_testkit::model::ModelStore;

/// An execution of this schema that has ended.
async fn lived(store: &ModelStore, n: u64, schema: u64) -> ExecutionId {
    let mut new = fixture::new_execution(n);
    new.execution.head.schema_id = schema_id(schema);
    let id = new.execution.head.id;
    store.create(new).await.unwrap();
    let request = fixture::claim_request(id, n, at(1));
    let claims = store.claim(vec![request], at(1)).await.unwrap();
    let Some(Claim::Taken(claimed)) = claims.into_iter().next() else {
        panic!("not taken");
    };
    let end = fixture::commit(&claimed.state, at(2)).steps(1);
    let end = end.end(Status::Completed).build();
    store.commit(end).await.unwrap();
    id
}

fn retention(store: &Arc<ModelStore>) -> Retention {
    let options = Options {
        retention: Some(Duration::from_secs(3_600)),
        ..Options::default()
    };
    Retention::new(&Runtime::new(
        store.clone(),
        Arc::new(EmbeddedQueue::default()),
        Arc::new(SimClock::starting_at(at(86_400))),
        Arc::new(SeededEntropy::new(1)),
        Arc::new(Registry::new(vec![])),
        options,
    ))
}

async fn left(store: &ModelStore) -> Vec<ExecutionId> {
    let all = store.executions(ExecutionFilter::default(), None, 1_000);
    let ids = all
        .await
        .unwrap()
        .into_iter()
        .map(|view| view.execution.head.id);
    ids.collect()
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_go_is_left_and_all_others_go() {
    let store = Arc::new(ModelStore::default());
    for schema in 1..=2 {
        store.save_schema(fixture::schema(schema)).await.unwrap();
    }
    for n in 1..=250 {
        lived(&store, n, 1 + n / 200).await;
    }
    store.keep_from_removal(execution_id(30));
    store.keep_from_removal(execution_id(150));
    let mut retention = retention(&store);
    let collected = retention.remove_some().await.unwrap();
    assert_eq!((collected.removed.executions, collected.failed), (248, 2));
    let by_schema = collected.schemas.iter().map(|schema| schema.executions);
    assert_eq!(by_schema.collect::<Vec<_>>(), [197, 51]);
    assert_eq!(left(&store).await, [execution_id(150), execution_id(30)]);
    assert!(!collected.has_more());
}

/// A tick that has tried enough in vain goes on behind those, instead of trying the same ones for ever.
#[tokio::test(start_paused = true)]
async fn many_that_cannot_go_stop_a_tick_and_the_next_one_goes_on_behind_them() {
    let store = Arc::new(ModelStore::default());
    store.save_schema(fixture::schema(1)).await.unwrap();
    for n in 1..=250 {
        let id = lived(&store, n, 1).await;
        if n <= 220 {
            store.keep_from_removal(id);
        }
    }
    let mut retention = retention(&store);
    for (removed, failed, more) in [(0, 100, true), (0, 100, true), (30, 20, false)] {
        let collected = retention.remove_some().await.unwrap();
        assert_eq!(
            (
                collected.removed.executions,
                collected.failed,
                collected.has_more()
            ),
            (removed, failed, more)
        );
    }
    assert_eq!(left(&store).await.len(), 220);
}

#[tokio::test(start_paused = true)]
async fn trouble_with_one_schema_is_no_reason_not_to_look_at_the_next() {
    let store = Arc::new(ModelStore::default());
    let schemas = 7;
    for schema in 1..=schemas {
        store.save_schema(fixture::schema(schema)).await.unwrap();
        lived(&store, schema, schema).await;
    }
    store.keep_from_looking(schema_id(1));
    store.keep_from_looking(schema_id(2));
    let mut retention = retention(&store);
    let collected = retention.remove_some().await.unwrap();
    assert_eq!(collected.removed.executions, 5);
    assert_eq!(left(&store).await, [execution_id(2), execution_id(1)]);
}

/// When nothing works a tick says so; but it does not begin with the same schemas again.
#[tokio::test(start_paused = true)]
async fn trouble_with_many_schemas_is_an_error_and_the_next_tick_goes_on_behind_them() {
    let store = Arc::new(ModelStore::default());
    for schema in 1..=7 {
        store.save_schema(fixture::schema(schema)).await.unwrap();
        lived(&store, schema, schema).await;
        if schema <= 5 {
            store.keep_from_looking(schema_id(schema));
        }
    }
    let mut retention = retention(&store);
    assert!(retention.remove_some().await.is_err());
    let collected = retention.remove_some().await.unwrap();
    assert_eq!(collected.removed.executions, 2);
    assert_eq!(left(&store).await.len(), 5);
}

/// Actions go as executions do, also where there is no schema at all.
#[tokio::test(start_paused = true)]
async fn finished_actions_go_too() {
    let store = Arc::new(ModelStore::default());
    let action = |n: u64, start| fixture::put(&format!("action-{n}"), n, fixture::once(start, 0));
    for n in 1..=250 {
        store.put_action(action(n, at(10)), at(5)).await.unwrap();
    }
    let open = action(900, at(90_000));
    store.put_action(open, at(5)).await.unwrap();
    let lock = fixture::uuid(1);
    let shards = store.lock_shards(fixture::lock_request(1, at(10))).await;
    let due = store
        .collect(pass(lock), &shards.unwrap(), at(10), 1_000)
        .await;
    let begun = store.begin_actions(pass(lock), due.unwrap(), ScheduleLimits::default(), at(10));
    let record = |(timer, run): (DueTimer, Run)| RecordRequest {
        lock,
        timer,
        ticket: run.ticket,
        attempt: run.attempt,
        outcome: AttemptOutcome::Success,
        fresh: lock,
    };
    let requests: Vec<_> = begun.await.unwrap().into_iter().map(record).collect();
    assert_eq!(requests.len(), 250);
    let recorded = store.record_actions(lock, requests, ScheduleLimits::default(), at(11));
    recorded.await.unwrap();
    let mut retention = retention(&store);
    let seen = retention.preview().await.unwrap();
    assert_eq!((seen.removed.actions, seen.removed.history), (250, 0));
    let collected = retention.remove_some().await.unwrap();
    assert_eq!(
        (collected.removed.actions, collected.removed.history),
        (250, 250)
    );
    assert!(!collected.has_more());
    let left = store
        .actions(ActionFilter::default(), None, 10)
        .await
        .unwrap();
    assert_eq!(left.len(), 1);
}
