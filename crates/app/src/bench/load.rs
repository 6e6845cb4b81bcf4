//! Running many executions through a real engine on a real folder, and counting what it left behind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use pawl_engine::Options;
use pawl_engine::control::{Control, StartRequest};
use pawl_kernel::execution::Status;
use pawl_kernel::id::{self, SchemaId};
use pawl_kernel::ports::store::{ExecutionFilter, SaveMode, SaveSchema};
use pawl_kernel::schema;
use pawl_sqlite::baseline::Raw;
use serde_json::{Value, json};

use super::{BenchError, Row, flows, median, percentile};
use crate::system::{SystemClock, SystemEntropy};
use crate::wiring::EmbeddedEngine;
use pawl_kernel::time::Clock;

const IN_FLIGHT: usize = 64;

/// An engine under measurement.
pub(crate) struct Bench {
    pub(crate) embedded: EmbeddedEngine,
    folder: PathBuf,
}

impl Bench {
    pub(crate) async fn open(folder: &Path) -> Result<Self, BenchError> {
        let registry = Arc::new(flows::registry()?);
        let options = Options {
            exclusive: true,
            worker_id: "bench".into(),
            ..Options::default()
        };
        let embedded = EmbeddedEngine::start_with(folder, registry, options)
            .await
            .map_err(BenchError::of)?;
        Ok(Self {
            embedded,
            folder: folder.to_owned(),
        })
    }

    pub(crate) fn control(&self) -> &Control {
        &self.embedded.control
    }

    pub(crate) async fn save(&self, definition: &Value) -> Result<SchemaId, BenchError> {
        save(self.control(), definition).await
    }

    pub(crate) async fn run_one(&self, schema: SchemaId, input: Value) -> Result<(), BenchError> {
        run_one(self.control(), schema, input).await
    }

    /// Runs `count` executions, 64 at a time; returns seconds.
    pub(crate) async fn run_many(&self, schema: SchemaId, count: u64) -> Result<f64, BenchError> {
        let left = Arc::new(AtomicU64::new(count));
        let start = Instant::now();
        let mut clients = Vec::new();
        for _ in 0..IN_FLIGHT {
            let (control, left) = (self.control().clone(), left.clone());
            clients.push(tokio::spawn(async move {
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                    .is_ok()
                {
                    run_one(&control, schema, json!({"n": 5, "name": "known"})).await?;
                }
                Ok::<(), BenchError>(())
            }));
        }
        for client in clients {
            client.await.map_err(BenchError::of)??;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    pub(crate) async fn close(self) -> PathBuf {
        self.embedded.shutdown().await;
        self.folder
    }
}

/// Saves a schema, if it is not there yet.
pub(super) async fn save(control: &Control, definition: &Value) -> Result<SchemaId, BenchError> {
    let runtime = control.runtime();
    let name = definition["name"].as_str().unwrap_or_default();
    if let Some(known) = runtime.store.schema(name).await.map_err(BenchError::of)? {
        return Ok(known.id);
    }
    let loaded = schema::load(None, &definition.to_string(), &runtime.registry);
    let definition = loaded.definition.ok_or_else(|| {
        BenchError::Failed(
            loaded
                .diagnostics
                .iter()
                .map(|found| found.message.clone())
                .collect::<Vec<_>>()
                .join("; "),
        )
    })?;
    let id = SchemaId(id::time_ordered(SystemClock.now(), &SystemEntropy));
    let save = SaveSchema {
        id,
        name: definition.name.clone(),
        description: None,
        definition: schema::to_stored_json(&definition),
        hash: schema::content_hash(&definition),
        source: None,
        note: None,
        created_by: "bench".into(),
        now: SystemClock.now(),
        mode: SaveMode::Create,
    };
    runtime
        .store
        .save_schema(save)
        .await
        .map_err(BenchError::of)?;
    Ok(id)
}

pub(super) async fn run_one(
    control: &Control,
    schema: SchemaId,
    input: Value,
) -> Result<(), BenchError> {
    let request = StartRequest {
        input: Some(input),
        created_by: "bench".into(),
        watch: true,
        ..StartRequest::default()
    };
    let started = control
        .start_version(schema, 1, request)
        .await
        .map_err(BenchError::of)?;
    let mut watcher = started
        .watcher
        .ok_or_else(|| BenchError::Failed("no watcher".into()))?;
    loop {
        match watcher.changed().await.ended {
            Some(Status::Completed) => return Ok(()),
            Some(other) => {
                return Err(BenchError::Failed(format!(
                    "an execution ended as {}",
                    other.name()
                )));
            }
            None => {}
        }
    }
}

pub(crate) async fn single(folder: &Path, what: &str, quick: bool) -> Result<Vec<Row>, BenchError> {
    let bench = Bench::open(&folder.join("single")).await?;
    let flow = if what == "pure" {
        flows::pure_ten()
    } else {
        flows::effect_ten()
    };
    let schema = bench.save(&flow).await?;
    let count = if quick { 5_000 } else { 50_000 };
    let seconds = bench.run_many(schema, count).await?;
    bench.close().await;
    Ok(vec![Row::plain(
        "steps_in_flight_64",
        count as f64 * 10.0 / seconds,
        "steps/s",
        "printed",
    )])
}

/// How much of everything is measured.
struct LoadPlan {
    rounds: u64,
    pure: u64,
    effect: u64,
    single: u64,
    baseline: std::time::Duration,
}

impl LoadPlan {
    fn new(quick: bool) -> Self {
        let millis = std::time::Duration::from_millis;
        if quick {
            Self {
                rounds: 1,
                pure: 2_000,
                effect: 400,
                single: 50,
                baseline: millis(300),
            }
        } else {
            Self {
                rounds: 5,
                pure: 20_000,
                effect: 4_000,
                single: 80,
                baseline: millis(1_500),
            }
        }
    }
}

#[derive(Default)]
struct LoadSamples {
    raw: Vec<f64>,
    pure: Vec<f64>,
    effect: Vec<f64>,
    ten_commits: Vec<f64>,
    single: Vec<f64>,
}

/// Throughput and latency, each in turns with its baseline.
pub(crate) async fn throughput(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let plan = LoadPlan::new(quick);
    let mut raw = Raw::open(&folder.join("raw.db")).map_err(BenchError::of)?;
    let bench = Bench::open(&folder.join("throughput")).await?;
    let pure = bench.save(&flows::pure_ten()).await?;
    let effect = bench.save(&flows::effect_ten()).await?;
    bench.run_many(pure, 200).await?;
    bench.run_many(effect, 50).await?;
    let mut samples = LoadSamples::default();
    for _ in 0..plan.rounds {
        sample(&plan, &bench, &mut raw, (pure, effect), &mut samples).await?;
    }
    verify(&bench, pure, plan.rounds * plan.pure + 200, 10).await?;
    verify(
        &bench,
        effect,
        plan.rounds * (plan.effect + plan.single) + 50,
        12,
    )
    .await?;
    bench.close().await;
    Ok(samples.rows())
}

async fn sample(
    plan: &LoadPlan,
    bench: &Bench,
    raw: &mut Raw,
    (pure, effect): (SchemaId, SchemaId),
    samples: &mut LoadSamples,
) -> Result<(), BenchError> {
    samples.raw.push(
        raw.steps_per_second(plan.baseline)
            .map_err(BenchError::of)?,
    );
    samples
        .pure
        .push(plan.pure as f64 * 10.0 / bench.run_many(pure, plan.pure).await?);
    samples
        .effect
        .push(plan.effect as f64 * 10.0 / bench.run_many(effect, plan.effect).await?);
    for _ in 0..plan.single {
        samples
            .ten_commits
            .push(raw.ten_commits().map_err(BenchError::of)?);
        let start = Instant::now();
        bench.run_one(effect, json!({})).await?;
        samples.single.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(())
}

impl LoadSamples {
    fn rows(mut self) -> Vec<Row> {
        let r = median(&mut self.raw);
        let ten = median(&mut self.ten_commits);
        let ten_p99 = percentile(&mut self.ten_commits, 0.99);
        vec![
            Row::plain(
                "raw_sqlite_R",
                r,
                "steps/s",
                "44 000 on the reference machine",
            ),
            Row::against(
                "pure_10_in_flight_64",
                median(&mut self.pure),
                "steps/s",
                r,
                ">= 2 R, aim 4 R",
            ),
            Row::against(
                "effect_10_in_flight_64",
                median(&mut self.effect),
                "steps/s",
                r,
                ">= 0.6 R, aim 1 R",
            ),
            Row::against(
                "effect_10_alone_p50",
                percentile(&mut self.single, 0.5),
                "us",
                ten,
                "<= 3x ten commits",
            ),
            Row::against(
                "effect_10_alone_p99",
                percentile(&mut self.single, 0.99),
                "us",
                ten_p99,
                "printed",
            ),
        ]
    }
}

/// The figures claim so many executions and steps: they must be in the database.
async fn verify(
    bench: &Bench,
    schema: SchemaId,
    executions: u64,
    steps_each: usize,
) -> Result<(), BenchError> {
    let store = &bench.control().runtime().store;
    let filter = ExecutionFilter {
        schema_id: Some(schema),
        statuses: vec![Status::Completed],
        ..ExecutionFilter::default()
    };
    let found = store
        .count_executions(filter.clone())
        .await
        .map_err(BenchError::of)?;
    if found != executions {
        return Err(BenchError::Failed(format!(
            "{executions} executions were claimed, {found} are in the database"
        )));
    }
    for view in store
        .executions(filter, None, 20)
        .await
        .map_err(BenchError::of)?
    {
        let steps = store
            .steps(view.execution.head.id, 0, 100)
            .await
            .map_err(BenchError::of)?
            .len();
        if steps != steps_each {
            return Err(BenchError::Failed(format!(
                "an execution has {steps} steps, not {steps_each}"
            )));
        }
    }
    Ok(())
}

/// The cost of a step must not grow with the steps before it, nor with the executions in the file.
pub(crate) async fn growth(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let mut rows = long_runs(folder, quick).await?;
    rows.push(full_file(folder, quick).await?);
    Ok(rows)
}

async fn long_runs(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let rounds = if quick { 1 } else { 5 };
    let (mut long_us, mut short_us) = (Vec::new(), Vec::new());
    let (mut long_bytes, mut short_bytes) = (0.0, 0.0);
    for round in 0..rounds {
        // 12 loops of 4 nodes and 4 around them make 52 steps, 1 249 make 5 000.
        for (loops, runs, times, bytes) in [
            (12u64, 100u64, &mut short_us, &mut short_bytes),
            (1_249, 1, &mut long_us, &mut long_bytes),
        ] {
            let place = folder.join(format!("long-{loops}-{round}"));
            let bench = Bench::open(&place).await?;
            let schema = bench.save(&flows::counting_loop()).await?;
            bench.run_one(schema, json!({"rounds": 1})).await?;
            let steps = (runs * (loops * 4 + 4)) as f64;
            let start = Instant::now();
            for _ in 0..runs {
                bench.run_one(schema, json!({"rounds": loops})).await?;
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / steps);
            let place = bench.close().await;
            *bytes = folder_bytes(&place) / steps;
        }
    }
    let (long, short) = (median(&mut long_us), median(&mut short_us));
    Ok(vec![
        Row::against("step_of_5000_against_50", long, "us", short, "<= 1.3x"),
        Row::against(
            "bytes_per_step_5000_against_50",
            long_bytes,
            "bytes",
            short_bytes,
            "<= 1.3x",
        ),
    ])
}

async fn full_file(folder: &Path, quick: bool) -> Result<Row, BenchError> {
    let (filled, count, rounds) = if quick {
        (5_000, 2_000, 1)
    } else {
        (100_000, 10_000, 5)
    };
    let full = Bench::open(&folder.join("full")).await?;
    let schema = full.save(&flows::pure_ten()).await?;
    full.run_many(schema, filled).await?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let empty = Bench::open(&folder.join(format!("empty-{round}"))).await?;
        let empty_schema = empty.save(&flows::pure_ten()).await?;
        without.push(count as f64 * 10.0 / empty.run_many(empty_schema, count).await?);
        empty.close().await;
        with.push(count as f64 * 10.0 / full.run_many(schema, count).await?);
    }
    full.close().await;
    let (with, without) = (median(&mut with), median(&mut without));
    Ok(Row::against(
        "steps_with_100k_finished",
        with,
        "steps/s",
        without,
        ">= 0.8x",
    ))
}

fn folder_bytes(folder: &Path) -> f64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .map(|meta| meta.len())
        .sum::<u64>() as f64
}
