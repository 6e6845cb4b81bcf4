//! Scheduled actions on bad days, by seed: workers that die at any call of the store, answers that are lost or come much
//! later, locks that are stolen, clocks that are set, users who write, change, pause and delete meanwhile. Whatever happens:
//!
//! - nothing fires early,
//! - no attempt is made twice, and none beyond what the policy allows,
//! - a firing succeeds at most once, and what is left to itself comes to its end,
//! - the queues hold each action that is due some time exactly once.

#![allow(clippy::unwrap_used)]

#[path = "actions/backlog.rs"]
mod backlog;
#[path = "actions/day.rs"]
mod day;
#[path = "actions/shares.rs"]
mod shares;
#[path = "actions/world.rs"]
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use day::{Outcome, Tally, day};
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::schedule::ActionEnding;
use pawl_kernel::time::Clock;
use pawl_testkit::faults::{Fault, FaultPlan};
use serde_json::json;
use world::{Place, World, dies_at, paused};

/// More with `PAWL_ACTION_SEEDS`.
const SCHEDULES: u64 = 2_000;
const SHARDS: u32 = 16;

#[derive(Clone, Copy, Debug)]
enum On {
    Model,
    Sqlite,
}

/// Runs seeds on two threads; calls `each` with every outcome, until it says that this is enough.
fn schedules(on: On, seeds: u64, bug: Option<Bug>, each: impl Fn(Outcome) -> bool + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                planted::plant(bug);
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds || !each(one(on, seed)) {
                        next.store(seeds, Ordering::SeqCst);
                        return;
                    }
                }
            });
        }
    });
}

fn one(on: On, seed: u64) -> Outcome {
    on.play(async |place| day(seed, place).await)
}

impl On {
    /// On a clock that stands still while somebody works.
    fn play<T>(self, scene: impl AsyncFnOnce(Place) -> T) -> T {
        match self {
            Self::Model => paused().block_on(scene(Place::model())),
            Self::Sqlite => {
                let folder = tempfile::TempDir::new().unwrap();
                paused().block_on(scene(Place::sqlite(&folder, SHARDS)))
            }
        }
    }
}

/// On both stores.
fn both(scene: impl AsyncFn(Place)) {
    for on in [On::Model, On::Sqlite] {
        println!("{on:?}");
        on.play(async |place| scene(place).await);
    }
}

fn bad_days(on: On) {
    let more = std::env::var("PAWL_ACTION_SEEDS");
    let seeds = more.map_or(SCHEDULES, |text| text.parse().unwrap());
    let (sum, days) = (Mutex::new(Tally::default()), AtomicU64::new(0));
    schedules(on, seeds, None, |outcome| {
        let Outcome {
            seed, violations, ..
        } = &outcome;
        assert!(
            violations.is_empty(),
            "{on:?}, seed {seed}: {violations:#?}"
        );
        sum.lock().unwrap().join(outcome.tally);
        days.fetch_add(1, Ordering::SeqCst);
        true
    });
    let (sum, days) = (sum.into_inner().unwrap(), days.into_inner());
    println!("{days} schedules on {on:?}: {sum:#?}");
    assert_eq!(days, seeds);
    for what in HAPPENS {
        assert!(sum.of(what) > 0, "{what} never happened");
    }
}

/// What a suite of bad days has seen, or it proves nothing.
const HAPPENS: &[&str] = &[
    "paused",
    "resumed",
    "run now",
    "deleted",
    "none",
    "all",
    "meta_and_spec_only",
    "thefts",
    "deaths",
    "clock back an hour",
    "clock back",
    "clock ahead",
    "ErrorBefore",
    "ErrorAfter",
    "Delay",
    "CrashBefore",
    "CrashAfter",
    "made",
    "successful",
    "failed",
    "interrupted",
];

#[test]
fn two_thousand_bad_days_on_the_model() {
    bad_days(On::Model);
}

#[test]
fn two_thousand_bad_days_on_sqlite() {
    bad_days(On::Sqlite);
}

#[test]
fn the_same_seed_gives_the_same_day() {
    for seed in 0..20 {
        let [first, second] = [(); 2].map(|()| one(On::Model, seed));
        let same = format!("{:?}", first.tally) == format!("{:?}", second.tally);
        assert!(same, "seed {seed}: {:?} {:?}", first.tally, second.tally);
    }
}

/// A suite that cannot fail proves nothing: each of these bugs must be found.
fn finds(bug: Bug) {
    let found = Mutex::new(None);
    schedules(On::Model, 200, Some(bug), |outcome| {
        let Some(first) = outcome.violations.first() else {
            return true;
        };
        println!("{bug:?} found by seed {}: {first}", outcome.seed);
        *found.lock().unwrap() = Some(outcome.seed);
        false
    });
    assert_ne!(
        found.into_inner().unwrap(),
        None,
        "{bug:?} was not found in 200 schedules"
    );
}

#[test]
fn finds_an_action_that_is_early() {
    finds(Bug::ActionEarly);
}

#[test]
fn finds_an_attempt_recorded_before_it_is_made() {
    finds(Bug::ActionRecordedFirst);
}

#[test]
fn finds_an_end_that_counts_for_another_attempt() {
    finds(Bug::ActionTicketIgnored);
}

#[test]
fn finds_an_interruption_that_is_not_counted() {
    finds(Bug::ActionInterruptionForgotten);
}

/// A worker dies before and after each call of the store that it makes for one action; another finds what is left.
#[test]
fn a_death_at_any_call_is_made_good() {
    let calls = death_at(FaultPlan::Never);
    assert!(calls > 8, "only {calls} calls");
    for call in 1..=calls {
        for fault in [Fault::CrashBefore, Fault::CrashAfter] {
            death_at(FaultPlan::At { call, fault });
        }
    }
}

fn death_at(plan: FaultPlan) -> u64 {
    paused().block_on(async {
        let world = World::new(1, Place::model());
        let start = world.clock.now().plus(Duration::from_secs(5));
        let body = json!({"spec": {
            "start_at": start.to_string(),
            "policy": {"once": {"retry": {"max_retries": 2}}},
            "action": {"mock": {"takes": "1s"}},
        }});
        let people = world.people();
        people.put_action("only", &body, "people").await.unwrap();
        let calls = dies_at(&world, plan.clone()).await;
        let _heir = world.worker("heir", |_| {});
        tokio::time::sleep(Duration::from_secs(60)).await;
        let action = world.actions().await.remove(0);
        let status = &action.status;
        assert_eq!(
            status.finished,
            Some(ActionEnding::Done),
            "{plan:?}: {action:#?}"
        );
        let made = world.told.lock().unwrap().len() as u64;
        let counts = (status.successful, status.failed);
        assert_eq!(counts, (1, 0), "{plan:?}: {action:#?}");
        let counted = 1 + status.interrupted;
        assert!(made >= 1 && made <= counted, "{plan:?}: {made} made");
        calls
    })
}
