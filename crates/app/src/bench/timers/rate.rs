//! How many fire in a second, and how late: Pawl and the plain design in turns, all of it written before it is due.

use std::time::Duration;

use pawl_engine::Options;
use pawl_kernel::time::Timestamp;

use super::firings::{Firings, Lateness};
use super::ground::{Engine, Ground, Queue};
use super::{plain, plan};
use crate::bench::{BenchError, Row, median};

const PER_SECOND: u64 = 5_000;
const APART: Duration = Duration::from_micros(1_000_000 / PER_SECOND);
const POLLS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// How long after the last planned time everything must have been made.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
/// Fired before anything is measured.
pub(super) const WARM_UP: u64 = 200;

struct RatePlan {
    rounds: usize,
    count: u64,
    /// Due at once.
    backlog: u64,
    /// What writing one takes here, roughly.
    writing: Duration,
}

impl RatePlan {
    fn new(quick: bool, writing: Duration) -> Self {
        match quick {
            true => Self {
                rounds: 1,
                count: PER_SECOND * 2,
                backlog: 5_000,
                writing,
            },
            false => Self {
                rounds: 3,
                count: PER_SECOND * 20,
                backlog: 50_000,
                writing,
            },
        }
    }

    /// From the moment the writing begins to the first planned time: enough for the writing, for a worker to start and for
    /// it to take everything in.
    fn lead(&self) -> Duration {
        Duration::from_secs(6) + self.writing * self.count as u32 * 3
    }
}

#[derive(Default)]
struct RateSamples {
    pawl: Vec<Lateness>,
    plain: [Vec<Lateness>; 2],
    transactions: Vec<f64>,
}

pub(super) async fn measure(
    ground: &dyn Ground,
    quick: bool,
    writing: Duration,
) -> Result<Vec<Row>, BenchError> {
    let plan = RatePlan::new(quick, writing);
    let mut samples = RateSamples::default();
    for round in 0..plan.rounds {
        let name = format!("rate{round}");
        let (lateness, transactions) = pawl_rate(ground, &plan, &name).await?;
        samples.pawl.push(lateness);
        samples.transactions.extend(transactions);
        for (every, samples) in POLLS.into_iter().zip(&mut samples.plain) {
            samples.push(plain_rate(ground, &plan, &name, every).await?);
        }
    }
    Ok(samples.rows())
}

/// Lateness, and transactions per action.
async fn pawl_rate(
    ground: &dyn Ground,
    plan: &RatePlan,
    name: &str,
) -> Result<(Lateness, Option<f64>), BenchError> {
    let clock = ground.clock();
    let first = clock.now().plus(plan.lead());
    let actions = plan::actions(name, plan.count, first, APART, clock.now())?;
    ground.fill_all(actions, Queue::Incoming).await?;
    let firings = Firings::default();
    let engine = ground.start(plan::options(&firings)).await?;
    warm_up(ground, &engine, &firings, name).await?;
    let before = ground.transactions().await?;
    in_time(clock.now(), first)?;
    firings.take(WARM_UP)?;
    let last = first.plus(APART * plan.count as u32);
    let give_up_at = last.plus(PATIENCE);
    firings.wait_for(plan.count, &*clock, give_up_at).await?;
    engine.stop().await;
    let after = ground.transactions().await?;
    ground.verify(&format!("{name}-"), plan.count).await?;
    let used = after.zip(before).map(|(after, before)| after - before);
    let lateness = firings.take(plan.count)?;
    Ok((lateness, used.map(|used| used / plan.count as f64)))
}

/// Statements are prepared and connections open before anything counts. What was made for that is yet to be taken.
pub(super) async fn warm_up(
    ground: &dyn Ground,
    engine: &Engine,
    firings: &Firings,
    name: &str,
) -> Result<(), BenchError> {
    let clock = ground.clock();
    for _ in 0..WARM_UP {
        let id = plan::fresh_id(&format!("warm-{name}"));
        let body = plan::body(clock.now());
        let put = engine.control().put_action(&id, &body, "bench").await;
        put.map_err(BenchError::of)?;
    }
    let give_up_at = clock.now().plus(PATIENCE);
    firings.wait_for(WARM_UP, &*clock, give_up_at).await
}

fn in_time(now: Timestamp, first: Timestamp) -> Result<(), BenchError> {
    match now < first {
        true => Ok(()),
        false => Err(BenchError::Failed(format!(
            "the actions were not all written before the first of them was due, but {:.1} s later; this machine is too slow \
             or too busy for this figure, try --quick",
            now.since(first).as_secs_f64()
        ))),
    }
}

async fn plain_rate(
    ground: &dyn Ground,
    plan: &RatePlan,
    name: &str,
    every: Duration,
) -> Result<Lateness, BenchError> {
    let clock = ground.clock();
    let first = clock.now().plus(plan.lead());
    let actions = plan::actions(name, plan.count, first, APART, clock.now())?;
    ground.plain_fill_all(actions).await?;
    in_time(clock.now(), first)?;
    let firings = plain::run(ground, plan.count, every).await?;
    firings.take(plan.count)
}

type Figure = fn(&Lateness) -> f64;

fn middle(samples: &[Lateness], of: Figure) -> f64 {
    median(&mut samples.iter().map(of).collect::<Vec<_>>())
}

impl RateSamples {
    fn rows(mut self) -> Vec<Row> {
        let [often, seldom] = &self.plain;
        let against = |name, of: Figure, unit, plain: &[Lateness], goal| {
            Row::against(name, middle(&self.pawl, of), unit, middle(plain, of), goal)
        };
        let (rate, p99): (Figure, Figure) = (|s| s.rate, |s| s.p99);
        let mut rows = vec![
            against(
                "rate_of_5000_to_polls_100ms",
                rate,
                "per s",
                often,
                ">= 0.7x",
            ),
            against("rate_of_5000_to_polls_1s", rate, "per s", seldom, ">= 0.7x"),
            against("late_p50_to_polls_100ms", |s| s.p50, "ms", often, "printed"),
            against("late_p99_to_polls_100ms", p99, "ms", often, "<= 0.2x"),
            against("late_p99_to_polls_1s", p99, "ms", seldom, "<= 0.2x"),
            against("late_max_to_polls_100ms", |s| s.max, "ms", often, "printed"),
        ];
        if !self.transactions.is_empty() {
            let transactions = median(&mut self.transactions);
            let name = "rate_transactions";
            rows.push(Row::plain(name, transactions, "an action", "printed"));
        }
        rows
    }
}

/// A backlog that is made as fast as it goes.
pub(super) async fn capacity(ground: &dyn Ground, quick: bool) -> Result<Row, BenchError> {
    let plan = RatePlan::new(quick, Duration::ZERO);
    let (mut pawl, mut plain) = (Vec::new(), Vec::new());
    for round in 0..plan.rounds {
        let name = format!("backlog{round}");
        pawl.push(pawl_capacity(ground, &plan, &name).await?);
        plain.push(plain_capacity(ground, &plan, &name).await?);
    }
    Ok(Row::against(
        "backlog_of_50000",
        median(&mut pawl),
        "per s",
        median(&mut plain),
        "printed",
    ))
}

async fn pawl_capacity(
    ground: &dyn Ground,
    plan: &RatePlan,
    name: &str,
) -> Result<f64, BenchError> {
    let clock = ground.clock();
    let now = clock.now();
    let actions = plan::actions(name, plan.backlog, now, Duration::ZERO, now)?;
    ground.fill_all(actions, Queue::Processing).await?;
    let firings = Firings::default();
    let options = Options {
        catch_up_rate: u32::MAX,
        ..plan::options(&firings)
    };
    let engine = ground.start(options).await?;
    let give_up_at = clock.now().plus(PATIENCE);
    firings.wait_for(plan.backlog, &*clock, give_up_at).await?;
    engine.stop().await;
    ground.verify(&format!("{name}-"), plan.backlog).await?;
    Ok(firings.take(plan.backlog)?.burst)
}

async fn plain_capacity(
    ground: &dyn Ground,
    plan: &RatePlan,
    name: &str,
) -> Result<f64, BenchError> {
    let now = ground.clock().now();
    let actions = plan::actions(name, plan.backlog, now, Duration::ZERO, now)?;
    ground.plain_fill_all(actions).await?;
    let firings = plain::run(ground, plan.backlog, POLLS[0]).await?;
    Ok(firings.take(plan.backlog)?.burst)
}
