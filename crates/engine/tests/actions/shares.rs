//! Workers share the shards, and nobody's timers wait for a worker that is gone.

use std::time::Duration;

use pawl_kernel::time::Clock;
use pawl_testkit::faults::{Fault, FaultPlan};
use serde_json::{Value, json};

use crate::both;
use crate::world::{Crew, Place, World, paused};

const SHARDS: u64 = crate::SHARDS as u64;

async fn held(crews: &[Crew]) -> Vec<u64> {
    let mut held = Vec::new();
    for crew in crews {
        held.push(crew.held().await);
    }
    held.sort_unstable();
    held
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[test]
fn three_workers_share_and_a_dead_ones_shards_are_taken_over() {
    both(async |place| {
        let world = World::new(1, place);
        let mut crews = vec![world.worker("a", |_| {})];
        pass(1).await;
        assert_eq!(held(&crews).await, [SHARDS], "alone it has all at once");
        for name in ["b", "c"] {
            crews.push(world.worker(name, |_| {}));
            pass(8).await;
            let all = held(&crews).await;
            let share = SHARDS.div_ceil(crews.len() as u64);
            assert_eq!(all.iter().sum::<u64>(), SHARDS, "{all:?}");
            assert!(
                all.iter().all(|held| *held <= share && *held > 0),
                "{all:?}"
            );
        }
        drop(crews.pop());
        pass(7).await;
        assert!(held(&crews).await.iter().sum::<u64>() < SHARDS, "not yet");
        pass(4).await;
        assert_eq!(held(&crews).await.iter().sum::<u64>(), SHARDS);
        pass(60).await;
        assert_eq!(held(&crews).await, [SHARDS / 2; 2]);
        crews.pop().unwrap().shut_down().await;
        pass(3).await;
        assert_eq!(held(&crews).await, [SHARDS]);
    });
}

#[test]
fn workers_that_start_together_share() {
    both(async |place| {
        let world = World::new(2, place);
        let crews = ["a", "b", "c", "d"].map(|name| world.worker(name, |_| {}));
        pass(10).await;
        assert_eq!(held(&crews).await, [SHARDS / 4; 4]);
    });
}

#[test]
fn an_idle_cluster_asks_hardly_anything() {
    both(async |place| {
        let world = World::new(2, place);
        let crews = ["a", "b", "c"].map(|name| world.worker(name, |_| {}));
        pass(60).await;
        let before: Vec<u64> = crews.iter().map(Crew::questions).collect();
        pass(60).await;
        let asked: Vec<u64> = crews
            .iter()
            .zip(before)
            .map(|(crew, before)| crew.questions() - before)
            .collect();
        println!("{asked:?} questions in a minute");
        assert!(asked.iter().all(|asked| *asked < 60), "{asked:?}");
    });
}

fn slow(world: &World, takes: &str) -> Value {
    let start = world.clock.now().plus(Duration::from_secs(2));
    json!({"spec": {"start_at": start.to_string(), "policy": {"once": {}}, "action": {"mock": {"takes": takes}}}})
}

async fn put_many(world: &World, count: u64, takes: &str) {
    let (people, body) = (world.people(), slow(world, takes));
    for number in 0..count {
        let id = format!("{takes}-{number}");
        people.put_action(&id, &body, "people").await.unwrap();
    }
}

/// A shard goes to another worker only when nothing of it is under way.
#[test]
fn what_is_under_way_is_not_given_away() {
    both(async |place| {
        let world = World::new(4, place);
        let slots = |options: &mut pawl_engine::Options| options.action_slots = 100;
        let mut crews = vec![world.worker("a", slots)];
        put_many(&world, 60, "6s").await;
        pass(3).await;
        crews.push(world.worker("b", slots));
        put_many(&world, 60, "1s").await;
        pass(90).await;
        for action in world.actions().await {
            let status = &action.status;
            let counts = (status.successful, status.failed, status.interrupted);
            assert_eq!(counts, (1, 0, 0), "{action:#?}");
        }
        assert_eq!(held(&crews).await, [SHARDS / 2; 2]);
    });
}

/// Somebody has added shards since: whoever has fewer in his settings serves them too.
#[test]
fn shards_beyond_ones_own_setting_are_served() {
    let folder = tempfile::TempDir::new().unwrap();
    paused().block_on(async {
        let world = World::new(5, Place::sqlite(&folder, 32));
        let crews = ["a", "b"].map(|name| world.worker(name, |options| options.timer_shards = 16));
        put_many(&world, 200, "0s").await;
        pass(20).await;
        assert_eq!(held(&crews).await, [16; 2]);
        assert_eq!(world.told.lock().unwrap().len(), 200);
    });
}

/// Somebody else fires what is due, although the last attempt of the one that leaves takes its time.
#[test]
fn who_leaves_lets_go_of_what_is_idle_at_once() {
    both(async |place| {
        let world = World::new(6, place);
        let (a, b) = (world.worker("a", |_| {}), world.worker("b", |_| {}));
        pass(10).await;
        assert_eq!(b.held().await, SHARDS / 2);
        put_many(&world, 2, "7s").await;
        pass(3).await;
        let look = async {
            pass(4).await;
            b.held().await
        };
        let (held, ()) = tokio::join!(look, a.shut_down());
        assert!(held >= SHARDS - 2, "{held} of {SHARDS}");
    });
}

/// Whichever answer of the store is lost, rows of no shard are left unread.
#[test]
fn no_shard_is_forgotten_with_a_lost_answer() {
    let calls = answer_lost_at(FaultPlan::Never);
    assert!(calls > 20, "only {calls} calls");
    for call in 1..=calls {
        answer_lost_at(FaultPlan::At {
            call,
            fault: Fault::ErrorAfter,
        });
    }
}

/// A neighbour leaves, and there are rows in its shards that are due in half a minute.
fn answer_lost_at(plan: FaultPlan) -> u64 {
    const ROWS: usize = 40;
    paused().block_on(async {
        let world = World::new(7, Place::model());
        let leaving = world.worker("leaving", |_| {});
        pass(2).await;
        let heir = world.worker_with(plan.clone(), "heir", |_| {});
        pass(10).await;
        let start = world.clock.now().plus(Duration::from_secs(60));
        let body = json!({"spec": {"start_at": start.to_string(), "policy": {"once": {}}, "action": {"mock": {}}}});
        for number in 0..ROWS {
            let id = format!("row-{number}");
            world.people().put_action(&id, &body, "people").await.unwrap();
        }
        // Taken in by both.
        pass(12).await;
        leaving.shut_down().await;
        pass(70).await;
        let made = world.told.lock().unwrap();
        assert_eq!(made.len(), ROWS, "{plan:?}");
        let late = made.iter().map(|one| one.run.at.since(one.run.planned_at));
        let late = late.max().unwrap();
        // An attempt whose beginning nobody heard of is found interrupted after ten seconds.
        assert!(late < Duration::from_secs(12), "{plan:?}: late by {late:?}");
        heir.questions()
    })
}
