//! The engine on PostgreSQL and RabbitMQ, against pgbench on the same server in the same run.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pawl_engine::Options;
use pawl_engine::control::Control;
use pawl_engine::worker::Roles;
use pawl_kernel::execution::Status;
use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::store::ExecutionFilter;
use pawl_postgres::baseline::{Counters, Measure, PGBENCH_SCRIPT};
use serde_json::{Value, json};

use super::load::{run_one, save};
use super::{BenchError, Row, flows, median, percentile};
use crate::config::Config;
use crate::wiring::{Cluster, Membership};

mod crew;

pub(super) use crew::{CHILD, Crew, child};

/// Where the measurement takes place.
#[derive(Clone, Debug)]
pub struct ServerUrls {
    pub database_url: String,
    pub broker_url: String,
}

const CLIENTS: u32 = 32;

/// An installation of its own in the database and on the broker, gone afterwards.
pub(super) struct Site {
    pub(super) places: ServerUrls,
    pub(super) config: Config,
    pub(super) measure: Measure,
}

impl Site {
    pub(super) async fn open(places: &ServerUrls) -> Result<Self, BenchError> {
        Self::named(places, "").await
    }

    /// One of several.
    pub(super) async fn named(places: &ServerUrls, name: &str) -> Result<Self, BenchError> {
        let mut config = Config::default();
        config.database.schema = format!("pawl_bench_{}{name}", std::process::id());
        config.broker.prefix = format!("bench-{}{name}.", std::process::id());
        let options = config
            .database
            .options(&places.database_url, &Options::default());
        let measure = Measure::open(&options).await.map_err(BenchError::of)?;
        Ok(Self {
            places: places.clone(),
            config,
            measure,
        })
    }

    async fn join(&self, roles: Roles, slots: usize) -> Result<Cluster, BenchError> {
        join(&self.places, &self.config, roles, slots).await
    }

    pub(super) async fn counters(&self) -> Result<Counters, BenchError> {
        self.measure.counters().await.map_err(BenchError::Failed)
    }

    /// Takes the tables away again. After a failure a worker may still be at them.
    pub(super) async fn leave(&self) {
        for tries_left in (0..3).rev() {
            match self.measure.drop_namespace().await {
                Ok(()) => return,
                Err(_) if tries_left > 0 => tokio::time::sleep(Duration::from_secs(1)).await,
                Err(error) => {
                    eprintln!("bench: the tables of the benchmark stay behind: {error}");
                }
            }
        }
    }
}

async fn join(
    places: &ServerUrls,
    config: &Config,
    roles: Roles,
    slots: usize,
) -> Result<Cluster, BenchError> {
    let options = Options {
        worker_id: format!("bench/{}", std::process::id()),
        slots,
        ..Options::default()
    };
    let member = Membership {
        database_url: places.database_url.clone(),
        broker_url: places.broker_url.clone(),
        roles,
        slots: Some(slots),
    };
    let registry = Arc::new(flows::registry()?);
    Cluster::join_with(&member, config, registry, options)
        .await
        .map_err(BenchError::of)
}

pub(super) async fn measure(
    places: &ServerUrls,
    what: Option<&str>,
    quick: bool,
) -> Result<Vec<Row>, BenchError> {
    let site = Site::open(places).await?;
    let rows = measure_at(&site, what, quick).await;
    site.leave().await;
    rows
}

async fn measure_at(site: &Site, what: Option<&str>, quick: bool) -> Result<Vec<Row>, BenchError> {
    refuse_weak_durability(site).await?;
    site.measure
        .prepare_pgbench()
        .await
        .map_err(BenchError::Failed)?;
    match what {
        Some("crew") => return crew::measure(site, quick).await,
        Some(one @ ("pure" | "effect" | "strict")) => return single(site, one, quick).await,
        _ => {}
    }
    let mut rows = throughput(site, quick).await?;
    rows.extend(crew::measure(site, quick).await?);
    rows.push(long_history(site, quick).await?);
    Ok(rows)
}

/// A figure without durability is no figure.
pub(super) async fn refuse_weak_durability(site: &Site) -> Result<(), BenchError> {
    let cluster = site.join(Roles::NONE, 1).await?;
    let facts = cluster.control.runtime().store.about().await;
    cluster.shutdown().await;
    let facts = facts.map_err(BenchError::of)?;
    for name in ["fsync", "synchronous_commit", "full_page_writes"] {
        let value = facts
            .iter()
            .find(|(fact, _)| fact == name)
            .map_or("unknown", |(_, value)| value.as_str());
        eprintln!("{name} = {value} (for Pawl and for pgbench: both take the server's default)");
        if value != "on" {
            return Err(BenchError::Failed(format!(
                "the server runs with {name} = {value}; figures of weakened durability are worth nothing"
            )));
        }
    }
    Ok(())
}

struct ClusterPlan {
    rounds: usize,
    pure: u64,
    effect: u64,
    strict: u64,
    alone: u64,
    pgbench: Duration,
}

impl ClusterPlan {
    fn new(quick: bool) -> Self {
        let seconds = Duration::from_secs;
        match quick {
            true => Self {
                rounds: 1,
                pure: 4_000,
                effect: 1_500,
                strict: 600,
                alone: 40,
                pgbench: seconds(3),
            },
            false => Self {
                rounds: 3,
                pure: 20_000,
                effect: 8_000,
                strict: 3_000,
                alone: 100,
                pgbench: seconds(8),
            },
        }
    }
}

#[derive(Default)]
struct ClusterSamples {
    pgbench: Vec<f64>,
    pure: [Vec<f64>; 2],
    effect: [Vec<f64>; 2],
    strict: [Vec<f64>; 2],
    per_pure_step: Vec<Cost>,
    per_effect_step: Vec<Cost>,
    per_strict_step: Vec<Cost>,
    pure_alone: Vec<f64>,
    effect_alone: Vec<f64>,
    strict_alone: Vec<f64>,
}

const IN_FLIGHT: [usize; 2] = [64, 512];

/// Names and goals, in the order of [`IN_FLIGHT`].
type Names = [(&'static str, &'static str); 2];
const PURE: Names = [
    ("pure_10_in_flight_64", ">= 2 P, aim 4 P"),
    ("pure_10_in_flight_512", ">= 2 P, aim 4 P"),
];
const EFFECT: Names = [
    ("effect_10_in_flight_64", ">= 0.8 P"),
    ("effect_10_in_flight_512", ">= 1.0 P"),
];
const STRICT: Names = [
    ("strict_10_in_flight_64", ">= 0.25 P, aim 0.4 P"),
    ("strict_10_in_flight_512", ">= 0.25 P, aim 0.4 P"),
];

async fn throughput(site: &Site, quick: bool) -> Result<Vec<Row>, BenchError> {
    let plan = ClusterPlan::new(quick);
    let cluster = site.join(Roles::ALL, 1_024).await?;
    let control = &cluster.control;
    let pure = save(control, &flows::pure_ten()).await?;
    let effect = save(control, &flows::effect_ten()).await?;
    let strict = save(control, &flows::strict_ten()).await?;
    for schema in [pure, effect, strict] {
        run_many(control, schema, 200, 64).await?;
    }
    let mut samples = ClusterSamples::default();
    for _ in 0..plan.rounds {
        samples.pgbench.push(pgbench(site, plan.pgbench)?);
        for (place, in_flight) in IN_FLIGHT.into_iter().enumerate() {
            let start = ResourceUse::read(site, control).await?;
            samples.pure[place].push(rate(control, pure, plan.pure, in_flight).await?);
            let after_pure = ResourceUse::read(site, control).await?;
            samples.effect[place].push(rate(control, effect, plan.effect, in_flight).await?);
            let after_effect = ResourceUse::read(site, control).await?;
            samples.strict[place].push(rate(control, strict, plan.strict, in_flight).await?);
            let after_strict = ResourceUse::read(site, control).await?;
            let costs = [
                (&mut samples.per_pure_step, start, after_pure),
                (&mut samples.per_effect_step, after_pure, after_effect),
                (&mut samples.per_strict_step, after_effect, after_strict),
            ];
            for (costs, before, after) in costs {
                costs.push(after.per_step_since(before));
            }
        }
        for (schema, times) in [
            (pure, &mut samples.pure_alone),
            (effect, &mut samples.effect_alone),
            (strict, &mut samples.strict_alone),
        ] {
            alone(control, schema, plan.alone, times).await?;
        }
    }
    verify(
        control,
        pure,
        plan.rounds as u64 * (2 * plan.pure + plan.alone) + 200,
    )
    .await?;
    let rows = samples.rows();
    cluster.shutdown().await;
    Ok(rows)
}

/// One flow alone, against the baseline before and after: something to tune by.
async fn single(site: &Site, what: &str, quick: bool) -> Result<Vec<Row>, BenchError> {
    let plan = ClusterPlan::new(quick);
    let cluster = site.join(Roles::ALL, 1_024).await?;
    let control = &cluster.control;
    let (flow, count, names) = match what {
        "pure" => (flows::pure_ten(), plan.pure, PURE),
        "effect" => (flows::effect_ten(), plan.effect, EFFECT),
        _ => (flows::strict_ten(), plan.strict, STRICT),
    };
    let schema = save(control, &flow).await?;
    run_many(control, schema, 200, 64).await?;
    let mut baseline = vec![pgbench(site, plan.pgbench)?];
    let mut samples: [Vec<f64>; 2] = Default::default();
    for _ in 0..plan.rounds {
        for (place, in_flight) in IN_FLIGHT.into_iter().enumerate() {
            samples[place].push(rate(control, schema, count, in_flight).await?);
        }
    }
    baseline.push(pgbench(site, plan.pgbench)?);
    cluster.shutdown().await;
    let p = median(&mut baseline);
    let rows = samples
        .iter_mut()
        .zip(names)
        .map(|(samples, (name, goal))| Row::against(name, median(samples), "steps/s", p, goal));
    Ok(rows.collect())
}

/// What was used up to some moment.
#[derive(Clone, Copy)]
struct ResourceUse {
    server: Counters,
    messages: f64,
    steps: f64,
}

impl ResourceUse {
    /// The server's statistics come a second late.
    async fn read(site: &Site, control: &Control) -> Result<Self, BenchError> {
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let metrics = &control.runtime().metrics;
        Ok(Self {
            server: site.counters().await?,
            messages: metrics.queue.published_count() as f64,
            steps: metrics.executions.step_count() as f64,
        })
    }

    fn per_step_since(self, before: Self) -> Cost {
        let steps = self.steps - before.steps;
        Cost {
            transactions: (self.server.transactions - before.server.transactions) / steps,
            wal_bytes: (self.server.wal_bytes - before.server.wal_bytes) / steps,
            messages: (self.messages - before.messages) / steps,
        }
    }
}

/// Of one step.
struct Cost {
    transactions: f64,
    wal_bytes: f64,
    messages: f64,
}

/// Steps per second: ten a run.
async fn rate(
    control: &Control,
    schema: SchemaId,
    count: u64,
    in_flight: usize,
) -> Result<f64, BenchError> {
    Ok(count as f64 * 10.0 / run_many(control, schema, count, in_flight).await?)
}

async fn alone(
    control: &Control,
    schema: SchemaId,
    count: u64,
    times: &mut Vec<f64>,
) -> Result<(), BenchError> {
    for _ in 0..count {
        let start = Instant::now();
        run_one(control, schema, input()).await?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}

fn input() -> Value {
    json!({"n": 5, "name": "known"})
}

/// Runs `count` executions, `in_flight` at a time; returns seconds.
async fn run_many(
    control: &Control,
    schema: SchemaId,
    count: u64,
    in_flight: usize,
) -> Result<f64, BenchError> {
    let left = Arc::new(AtomicU64::new(count));
    let start = Instant::now();
    let mut clients = Vec::new();
    for _ in 0..in_flight {
        let (control, left) = (control.clone(), left.clone());
        clients.push(tokio::spawn(async move {
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                .is_ok()
            {
                run_one(&control, schema, input()).await?;
            }
            Ok::<(), BenchError>(())
        }));
    }
    for client in clients {
        client.await.map_err(BenchError::of)??;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The figures claim so many executions: they must be in the database.
async fn verify(control: &Control, schema: SchemaId, executions: u64) -> Result<(), BenchError> {
    let filter = ExecutionFilter {
        schema_id: Some(schema),
        statuses: vec![Status::Completed],
        ..ExecutionFilter::default()
    };
    let found = control
        .runtime()
        .store
        .count_executions(filter)
        .await
        .map_err(BenchError::of)?;
    match found == executions {
        true => Ok(()),
        false => Err(BenchError::Failed(format!(
            "{executions} executions were claimed, {found} are in the database"
        ))),
    }
}

impl ClusterSamples {
    fn rows(mut self) -> Vec<Row> {
        let p = median(&mut self.pgbench);
        let [mut pure_64, mut pure_512] = self.pure;
        let [mut effect_64, mut effect_512] = self.effect;
        let [mut strict_64, mut strict_512] = self.strict;
        let against = |(name, goal), samples: &mut Vec<f64>| {
            Row::against(name, median(samples), "steps/s", p, goal)
        };
        let mut rows = vec![
            Row::plain("pgbench_P", p, "steps/s", "14 000 on the reference machine"),
            against(PURE[0], &mut pure_64),
            against(PURE[1], &mut pure_512),
            against(EFFECT[0], &mut effect_64),
            against(EFFECT[1], &mut effect_512),
            against(STRICT[0], &mut strict_64),
            against(STRICT[1], &mut strict_512),
        ];
        rows.extend(cost_rows("pure", &self.per_pure_step, "< 0.5"));
        rows.extend(cost_rows("effect", &self.per_effect_step, "printed"));
        rows.extend(cost_rows("strict", &self.per_strict_step, "printed"));
        rows.extend(latency_rows("pure", self.pure_alone));
        rows.extend(latency_rows("effect", self.effect_alone));
        rows.extend(latency_rows("strict", self.strict_alone));
        rows
    }
}

fn cost_rows(what: &str, costs: &[Cost], goal: &'static str) -> [Row; 3] {
    let of = |field: fn(&Cost) -> f64| median(&mut costs.iter().map(field).collect::<Vec<_>>());
    let [transactions, wal, messages] = match what {
        "pure" => ["pure_transactions", "pure_wal", "pure_messages"],
        "effect" => ["effect_transactions", "effect_wal", "effect_messages"],
        _ => ["strict_transactions", "strict_wal", "strict_messages"],
    };
    [
        Row::plain(transactions, of(|cost| cost.transactions), "per step", goal),
        Row::plain(wal, of(|cost| cost.wal_bytes), "B a step", "printed"),
        Row::plain(messages, of(|cost| cost.messages), "per step", "printed"),
    ]
}

fn latency_rows(what: &str, mut times: Vec<f64>) -> [Row; 2] {
    let (p50, p99) = match what {
        "pure" => ("pure_10_alone_p50", "pure_10_alone_p99"),
        "effect" => ("effect_10_alone_p50", "effect_10_alone_p99"),
        _ => ("strict_10_alone_p50", "strict_10_alone_p99"),
    };
    [
        Row::plain(p50, percentile(&mut times, 0.5), "ms", "printed"),
        Row::plain(p99, percentile(&mut times, 0.99), "ms", "printed"),
    ]
}

/// Transactions per second of the baseline, as pgbench counts them.
fn pgbench(site: &Site, duration: Duration) -> Result<f64, BenchError> {
    let script = std::env::temp_dir().join(format!("pawl-pgbench-{}.sql", std::process::id()));
    std::fs::write(&script, PGBENCH_SCRIPT).map_err(BenchError::of)?;
    let options = format!("-c search_path={}", site.config.database.schema);
    let output = Command::new(pgbench_program()?)
        .args(["-n", "-M", "prepared", "-j", "2"])
        .args(["-c", &CLIENTS.to_string()])
        .args(["-T", &duration.as_secs().to_string()])
        .arg("-f")
        .arg(&script)
        .arg(&site.places.database_url)
        .env("PGOPTIONS", options)
        .output()
        .map_err(BenchError::of)?;
    let _ = std::fs::remove_file(&script);
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .find_map(|line| line.strip_prefix("tps = "))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            BenchError::Failed(format!("pgbench gave no figure: {said}"))
        })
}

fn pgbench_program() -> Result<PathBuf, BenchError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        places.extend(versions.flatten().map(|entry| entry.path().join("bin")));
    }
    places
        .into_iter()
        .map(|place| place.join("pgbench"))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            BenchError::Failed(
                "pgbench, the baseline, is not installed; it is part of Debian's package postgresql-contrib or postgresql-15".into(),
            )
        })
}

/// The cost of a step must not grow with what lies in the tables.
async fn long_history(site: &Site, quick: bool) -> Result<Row, BenchError> {
    let (finished, queued, count, rounds) = match quick {
        true => (50_000, 5_000, 3_000, 1),
        false => (1_000_000, 100_000, 10_000, 3),
    };
    let cluster = site.join(Roles::ALL, 1_024).await?;
    let control = &cluster.control;
    let schema = save(control, &flows::pure_ten()).await?;
    let mut without = Vec::new();
    for _ in 0..rounds {
        without.push(rate(control, schema, count, 64).await?);
    }
    let parked = save(control, &flows::sleeper()).await?;
    site.measure
        .fill(&parked.to_string(), finished, queued)
        .await
        .map_err(BenchError::Failed)?;
    let mut with = Vec::new();
    for _ in 0..rounds {
        with.push(rate(control, schema, count, 64).await?);
    }
    cluster.shutdown().await;
    Ok(Row::against(
        "pure_10_with_long_history",
        median(&mut with),
        "steps/s",
        median(&mut without),
        ">= 0.8x of empty",
    ))
}
