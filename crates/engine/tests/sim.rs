//! The engine on a simulated clock, store and queue, with faults by seed.
//!
//! A schedule is three workers, a client and twenty or more executions on one bad day. Afterwards a judge that
//! shares no code with the engine reads what is left. A schedule in which the faults did not fire or the work did
//! not finish has failed. `cargo xtask sim --seed N` replays one.

#![allow(clippy::unwrap_used)]

#[path = "sim/flows.rs"]
mod flows;
#[path = "sim/judge.rs"]
mod judge;
#[path = "sim/nodes.rs"]
mod nodes;
#[path = "sim/observer.rs"]
mod observer;
#[path = "sim/world.rs"]
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use pawl_kernel::planted::{self, Bug};
use pawl_testkit::faults::{Fault, FaultCounts};
use world::{Outcome, run};

const SCHEDULES: u64 = 2_000;

/// Runs seeds on two threads; calls `each` with every outcome.
fn schedules(seeds: std::ops::Range<u64>, bug: Option<Bug>, each: impl Fn(Outcome) -> bool + Sync) {
    let next = AtomicU64::new(seeds.start);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                planted::plant(bug);
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds.end || !each(run(seed)) {
                        next.store(seeds.end, Ordering::SeqCst);
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn two_thousand_bad_days() {
    let counts = FaultCounts::default();
    let (executions, steps, faults) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let (kills, clock_steps, purges) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    schedules(0..SCHEDULES, None, |outcome| {
        assert!(
            outcome.violations.is_empty(),
            "seed {}: {:#?}",
            outcome.seed,
            outcome.violations
        );
        assert!(
            outcome.executions >= 20,
            "seed {}: only {} executions",
            outcome.seed,
            outcome.executions
        );
        assert!(
            outcome.faults >= 5,
            "seed {}: only {} faults fired",
            outcome.seed,
            outcome.faults
        );
        counts.add(&outcome.counts);
        for (sum, value) in [
            (&executions, outcome.executions),
            (&steps, outcome.steps),
            (&faults, outcome.faults),
            (&kills, outcome.kills),
            (&clock_steps, outcome.clock_steps),
            (&purges, outcome.purges),
        ] {
            sum.fetch_add(value, Ordering::SeqCst);
        }
        true
    });
    let sum = |value: &AtomicU64| value.load(Ordering::SeqCst);
    println!(
        "{SCHEDULES} schedules: {} executions, {} steps, {} faults ({} kills, {} clock steps, {} purges)",
        sum(&executions),
        sum(&steps),
        sum(&faults),
        sum(&kills),
        sum(&clock_steps),
        sum(&purges)
    );
    for fault in Fault::ALL {
        println!("  {fault:?}: {}", counts.of(*fault));
    }
    assert_eq!(counts.missing(100), [], "these kinds of fault hardly fired");
    for rare in [&kills, &clock_steps, &purges] {
        assert!(sum(rare) >= 100);
    }
    assert!(
        sum(&steps) >= 8 * sum(&executions),
        "executions must have eight steps on average"
    );
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    schedules(10_000..10_050, None, |first| {
        let second = run(first.seed);
        assert_eq!(
            first.trace, second.trace,
            "seed {} is not repeatable",
            first.seed
        );
        true
    });
}

/// A suite that cannot fail proves nothing: each of these bugs must be found.
fn finds(bug: Bug) {
    let found = AtomicU64::new(u64::MAX);
    schedules(0..200, Some(bug), |outcome| {
        if outcome.violations.is_empty() {
            return true;
        }
        println!(
            "{bug:?} found by seed {}: {}",
            outcome.seed, outcome.violations[0]
        );
        found.fetch_min(outcome.seed, Ordering::SeqCst);
        false
    });
    assert_ne!(
        found.into_inner(),
        u64::MAX,
        "{bug:?} was not found in 200 schedules"
    );
}

#[test]
fn finds_m2_no_token_guard() {
    finds(Bug::NoTokenGuard);
}

#[test]
fn finds_m4_ack_before_commit() {
    finds(Bug::AckBeforeCommit);
}

#[test]
fn finds_m7_no_sweeper() {
    finds(Bug::NoSweeper);
}

#[test]
fn finds_m12_seq_compare_inclusive() {
    finds(Bug::SeqCompareInclusive);
}

#[test]
fn finds_m15_attempt_counted_late() {
    finds(Bug::AttemptCountedLate);
}

#[test]
fn finds_m19_unknown_commit_is_failure() {
    finds(Bug::UnknownCommitIsFailure);
}

#[test]
fn finds_a_quota_off_by_one() {
    finds(Bug::QuotaOffByOne);
}

#[test]
fn finds_a_quota_that_the_stopped_keep() {
    finds(Bug::QuotaKeptByTheStopped);
}

/// `cargo xtask sim --seed N`: one schedule with its trace. Without a seed it replays the first.
#[test]
fn replay() {
    let seed = std::env::var("PAWL_SIM_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let outcome = run(seed.unwrap_or(0));
    if seed.is_some() {
        outcome.trace.iter().for_each(|line| println!("{line}"));
        println!(
            "seed {}: {} executions, {} steps, {} faults",
            outcome.seed, outcome.executions, outcome.steps, outcome.faults
        );
    }
    assert!(outcome.violations.is_empty(), "{:#?}", outcome.violations);
}
