//! How many fire in a second, and how late: Pawl and the plain design in turns, all of it written before it is due.

use std::time::Duration;

use pawl_engine::Options;
use pawl_kernel::time::Timestamp;

use super::firings::{Firings, Lateness};
use super::ground::{Ground, Queue};
use super::plan;
use crate::bench::{BenchError, Row, median};

const PER_SECOND: u64 = 5_000;
/// Rows of a batch of the plain design; after one that is not full it waits for its next turn.
const PLAIN_BATCH: usize = 500;
const POLLS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// How long after the last planned time everything must have been made.
const PATIENCE: Duration = Duration::from_secs(120);
/// Fired before anything is measured.
const WARM_UP: u64 = 200;

struct Plan {
    rounds: usize,
    count: u64,
}

impl Plan {
    fn new(quick: bool) -> Self {
        match quick {
            true => Self {
                rounds: 1,
                count: PER_SECOND * 2,
            },
            false => Self {
                rounds: 3,
                count: PER_SECOND * 20,
            },
        }
    }

    fn apart(&self) -> Duration {
        Duration::from_secs(1) / PER_SECOND as u32
    }

    /// From the moment the writing begins to the first planned time.
    fn lead(&self) -> Duration {
        Duration::from_secs(6 + self.count / 10_000)
    }
}

#[derive(Default)]
struct Samples {
    pawl: Vec<Lateness>,
    plain: [Vec<Lateness>; 2],
    transactions: Vec<f64>,
}

pub(super) async fn measure(ground: &dyn Ground, quick: bool) -> Result<Vec<Row>, BenchError> {
    let plan = Plan::new(quick);
    let mut samples = Samples::default();
    for round in 0..plan.rounds {
        let name = format!("rate{round}");
        let (lateness, transactions) = pawl(ground, &plan, &name).await?;
        samples.pawl.push(lateness);
        samples.transactions.extend(transactions);
        for (every, samples) in POLLS.into_iter().zip(&mut samples.plain) {
            samples.push(plain(ground, &plan, &name, every).await?);
        }
    }
    Ok(samples.rows())
}

/// Lateness, and transactions per action.
async fn pawl(
    ground: &dyn Ground,
    plan: &Plan,
    name: &str,
) -> Result<(Lateness, Option<f64>), BenchError> {
    let clock = ground.clock();
    let first = clock.now().plus(plan.lead());
    let actions = plan::actions(name, plan.count, first, plan.apart(), clock.now())?;
    ground.fill_all(actions, Queue::Incoming).await?;
    let firings = Firings::default();
    let options = Options {
        worker_id: "bench".into(),
        allow_mock: true,
        on_mock: Some(firings.hook()),
        ..Options::default()
    };
    let engine = ground.start(options).await?;
    warm_up(ground, &engine, &firings, name).await?;
    let before = ground.transactions().await?;
    in_time(clock.now(), first)?;
    let last = first.plus(plan.apart() * plan.count as u32);
    let all = firings.wait_for(plan.count, &*clock, last.plus(PATIENCE));
    all.await?;
    engine.stop().await;
    let after = ground.transactions().await?;
    ground.verify(&format!("{name}-"), plan.count).await?;
    let used = after.zip(before).map(|(after, before)| after - before);
    let lateness = firings.take(plan.count)?;
    Ok((lateness, used.map(|used| used / plan.count as f64)))
}

async fn warm_up(
    ground: &dyn Ground,
    engine: &super::ground::Engine,
    firings: &Firings,
    name: &str,
) -> Result<(), BenchError> {
    let clock = ground.clock();
    for number in 0..WARM_UP {
        let id = plan::fresh_id(&format!("warm-{name}-{number}"));
        let body = plan::body(clock.now());
        let put = engine.control().put_action(&id, &body, "bench").await;
        put.map_err(BenchError::of)?;
    }
    let give_up_at = clock.now().plus(PATIENCE);
    firings.wait_for(WARM_UP, &*clock, give_up_at).await?;
    firings.take(WARM_UP)?;
    Ok(())
}

fn in_time(now: Timestamp, first: Timestamp) -> Result<(), BenchError> {
    match now < first {
        true => Ok(()),
        false => Err(BenchError::Failed(format!(
            "the actions were not written before the first of them was due ({:.1} s too late); this machine is too \
             slow or too busy for this figure",
            now.since(first).as_secs_f64()
        ))),
    }
}

async fn plain(
    ground: &dyn Ground,
    plan: &Plan,
    name: &str,
    every: Duration,
) -> Result<Lateness, BenchError> {
    let clock = ground.clock();
    let first = clock.now().plus(plan.lead());
    let actions = plan::actions(name, plan.count, first, plan.apart(), clock.now())?;
    ground.plain_clear().await?;
    ground.plain_fill_all(actions).await?;
    in_time(clock.now(), first)?;
    let firings = Firings::default();
    let mut act = |id, planned_at| firings.note(id, planned_at, clock.now());
    let mut made = 0;
    let mut next = clock.now();
    while made < plan.count {
        let now = clock.now();
        let batch = ground.plain_batch(now, &mut act).await?;
        made += batch as u64;
        if batch < PLAIN_BATCH {
            next = next.plus(every).max(now);
            clock.sleep_until(next).await;
        }
    }
    let done = ground.plain_done().await?;
    match done == plan.count {
        true => firings.take(plan.count),
        false => Err(BenchError::Failed(format!(
            "{made} actions of the plain design were made, {done} are marked"
        ))),
    }
}

fn middle(samples: &[Lateness], of: fn(&Lateness) -> f64) -> f64 {
    median(&mut samples.iter().map(of).collect::<Vec<_>>())
}

impl Samples {
    fn rows(mut self) -> Vec<Row> {
        let [often, seldom] = &self.plain;
        let against = |name, of: fn(&Lateness) -> f64, unit, plain: &[Lateness], goal| {
            Row::against(name, middle(&self.pawl, of), unit, middle(plain, of), goal)
        };
        let mut rows = vec![
            against(
                "rate_5000",
                |s| s.rate,
                "per s",
                often,
                ">= 0.7x of 100 ms polls",
            ),
            against(
                "rate_5000_to_1s_polls",
                |s| s.rate,
                "per s",
                seldom,
                ">= 0.7x",
            ),
            against("late_p50", |s| s.p50, "ms", often, "printed"),
            against(
                "late_p99",
                |s| s.p99,
                "ms",
                often,
                "<= 0.2x of 100 ms polls",
            ),
            against("late_p99_to_1s_polls", |s| s.p99, "ms", seldom, "<= 0.2x"),
            against("late_max", |s| s.max, "ms", often, "printed"),
        ];
        if !self.transactions.is_empty() {
            rows.push(Row::plain(
                "rate_transactions",
                median(&mut self.transactions),
                "an action",
                "printed",
            ));
        }
        rows
    }
}
