//! After an outage, and after a clock that was set back.

use std::collections::BTreeMap;
use std::time::Duration;

use pawl_kernel::time::{Clock, Timestamp};
use serde_json::{Value, json};

use crate::both;
use crate::world::World;

const OVERDUE: u64 = 100_000;
const NEW: u64 = 60;
const RATE: u64 = 2_000;

fn once(at: Timestamp) -> Value {
    json!({"spec": {"start_at": at.to_string(), "policy": {"once": {}}, "action": {"mock": {}}}})
}

/// What is overdue comes at the configured rate, what comes due meanwhile is on time, and everything fires once.
#[test]
fn an_hour_of_outage_is_caught_up_with_and_hides_nothing_new() {
    both(async |place| {
        let world = World::new(0, place);
        let control = world.people();
        let start = world.clock.now();
        let old = (0..OVERDUE).map(|number| {
            let at = start.plus(Duration::from_millis(number % 1_000));
            (format!("old-{number}"), once(at))
        });
        world.put_all(old.collect());
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let came = world.clock.now();
        let worker = world.worker("worker", |options| {
            options.catch_up_rate = RATE as u32;
            options.action_slots = 64;
        });
        for number in 0..NEW {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let at = world.clock.now().plus(Duration::from_secs(6));
            let id = format!("new-{number}");
            control.put_action(&id, &once(at), "people").await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
        judge(&world, came);
        println!("{} questions", worker.questions());
    });
}

fn judge(world: &World, came: Timestamp) {
    let told = world.told.lock().unwrap().clone();
    let (old, new): (Vec<_>, Vec<_>) = told
        .iter()
        .map(|heard| &heard.run)
        .partition(|run| run.action_id.starts_with("old"));
    let keys: BTreeMap<&str, u64> = told.iter().map(|heard| (&*heard.run.key, 1)).collect();
    assert_eq!((old.len() as u64, new.len() as u64), (OVERDUE, NEW));
    assert_eq!(keys.len(), told.len(), "each once");
    let late = new.iter().map(|run| run.at.since(run.planned_at)).max();
    assert!(late <= Some(Duration::from_secs(2)), "{late:?}");
    for second in 0..=OVERDUE / RATE {
        let until = came.plus(Duration::from_secs(second));
        let gone = old.iter().filter(|run| run.at <= until).count() as u64;
        // A second's worth may go at once.
        let (most, least) = ((second + 1) * RATE, second * RATE * 9 / 10);
        assert!(gone <= most + 1, "{gone} after {second} s");
        assert!(gone >= least.min(OVERDUE), "{gone} after {second} s");
    }
}

/// What has fired stays so; what has not waits until the clock says the time again.
#[test]
fn a_clock_set_back_an_hour_makes_nothing_fire_twice() {
    both(async |place| {
        let world = World::new(3, place);
        let control = world.people();
        let start = world.clock.now();
        let _worker = world.worker("worker", |_| {});
        for number in 0..40 {
            let at = start.plus(Duration::from_secs(number));
            let id = format!("once-{number}");
            control.put_action(&id, &once(at), "people").await.unwrap();
        }
        let body = json!({"spec": {"start_at": start.to_string(), "policy": {"periodic": {"period": "5s"}}, "action": {"mock": {}}}});
        control.put_action("often", &body, "people").await.unwrap();
        tokio::time::sleep(Duration::from_millis(20_500)).await;
        let before = world.told.lock().unwrap().len();
        assert_eq!(before, 21 + 5);
        world.step_clock(-3_600);
        tokio::time::sleep(Duration::from_secs(3_599)).await;
        assert_eq!(world.told.lock().unwrap().len(), before, "an hour again");
        tokio::time::sleep(Duration::from_secs(21)).await;
        let told = world.told.lock().unwrap().clone();
        let mut keys = BTreeMap::new();
        for heard in &told {
            *keys.entry(heard.run.key.clone()).or_insert(0) += 1;
            assert!(heard.run.at >= heard.run.planned_at, "{heard:?}");
        }
        assert!(keys.values().all(|times| *times == 1), "{keys:#?}");
        assert_eq!(told.len(), 40 + 9, "{keys:#?}");
    });
}
