//! What the benchmark of timers rests on: actions that were filled in are what workers find, and the plain design makes
//! each of its own once.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::time::Duration;

use pawl_kernel::ports::store::TimerStore;
use pawl_kernel::schedule::{Action, Override, Policy, Put, Retry, ScheduledAction, Spec, put};
use pawl_kernel::time::Timestamp;
use pawl_postgres::baseline::Measure;
use pawl_postgres::baseline::timers::{PlainTimers, Queue};
use support::{database, open};
use uuid::Uuid;

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn action(number: u128) -> ScheduledAction {
    let spec = Spec {
        start_at: START,
        deadline: None,
        policy: Policy::Once {
            retry: Retry::default(),
        },
        action: Action::Mock {
            fail_first: 0,
            takes: Duration::ZERO,
        },
    };
    let request = Put {
        id: format!("filled-{number}"),
        guid: Uuid::from_u128(number),
        spec,
        notes: Default::default(),
        mode: Override::None,
        written_by: "bench".into(),
    };
    put(None, request, START).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_filled_in_is_what_workers_find() {
    let database = database("filled");
    let options = database.options();
    let store = open(options.clone()).await;
    let measure = Measure::open(&options).await.unwrap();
    let actions: Vec<_> = (0..20).map(action).collect();
    for (actions, queue) in [
        (&actions[..15], Queue::Processing),
        (&actions[15..], Queue::Incoming),
    ] {
        let filled = measure.fill_actions(actions, queue, 16, START).await;
        filled.unwrap();
    }
    measure.settle_actions().await.unwrap();
    assert_eq!(measure.actions("filled-").await, Ok(20));
    assert_eq!(measure.actions("other-").await, Ok(0));
    assert_eq!(measure.fired_once("filled-").await, Ok(0));
    let shards: Vec<u32> = (0..16).collect();
    let end = START.plus(Duration::from_secs(1));
    let upcoming = store
        .upcoming(&shards, Timestamp::default()..end, 100)
        .await
        .unwrap();
    assert_eq!(upcoming.len(), 15);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_plain_design_makes_each_once() {
    let database = database("plain");
    let options = database.options();
    let _store = open(options.clone()).await;
    let plain = PlainTimers::open(&options).await.unwrap();
    let actions: Vec<_> = (0..700).map(action).collect();
    plain.fill(&actions).await.unwrap();
    let mut made = Vec::new();
    let mut act = |id: String, _| made.push(id);
    let before = START.minus(Duration::from_micros(1));
    assert_eq!(plain.batch(before, &mut act).await, Ok(0));
    assert_eq!(plain.batch(START, &mut act).await, Ok(500));
    assert_eq!(plain.batch(START, &mut act).await, Ok(200));
    assert_eq!(plain.batch(START, &mut act).await, Ok(0));
    assert_eq!(plain.done().await, Ok(700));
    made.sort_unstable();
    made.dedup();
    assert_eq!(made.len(), 700);
}
