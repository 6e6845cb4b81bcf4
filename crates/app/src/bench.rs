//! `pawl bench`: how fast the engine is, as ratios against a baseline measured in the same run on the same disk.
//!
//! Each measurement is repeated in turns with its baseline and the median is shown. Creation of executions is
//! timed. Afterwards the rows that the figures claim are counted in the database.

mod cluster;
mod flows;
mod http;
mod idle;
mod lists;
mod load;
mod timers;
mod webhooks;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

pub use cluster::ServerUrls;
pub(crate) use load::Bench;

#[derive(Clone, Debug, Default)]
pub struct Arguments {
    pub what: Option<String>,
    pub json: bool,
    /// A tenth of the work: for a look, not for a figure.
    pub quick: bool,
    /// Where the measurements are written; a temporary folder if not given.
    pub data: Option<PathBuf>,
    /// Measure a cluster on these instead of the embedded engine.
    pub places: Option<ServerUrls>,
    /// For workers that the benchmark starts.
    pub slots: Option<usize>,
}

/// One figure.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) baseline: Option<f64>,
    pub(crate) ratio: Option<f64>,
    pub(crate) goal: &'static str,
}

impl Row {
    pub(crate) fn plain(
        name: &'static str,
        value: f64,
        unit: &'static str,
        goal: &'static str,
    ) -> Self {
        Self {
            name,
            value,
            unit,
            baseline: None,
            ratio: None,
            goal,
        }
    }

    pub(crate) fn against(
        name: &'static str,
        value: f64,
        unit: &'static str,
        baseline: f64,
        goal: &'static str,
    ) -> Self {
        Self {
            name,
            value,
            unit,
            baseline: Some(baseline),
            ratio: Some(value / baseline),
            goal,
        }
    }

    fn to_value(&self) -> Value {
        json!({
            "name": self.name, "value": self.value, "unit": self.unit,
            "baseline": self.baseline, "ratio": self.ratio, "goal": self.goal,
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("{0}")]
    Failed(String),
}

impl BenchError {
    pub(crate) fn of(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

pub fn run(arguments: &Arguments) -> ExitCode {
    match arguments.what.as_deref() {
        None | Some("engine") => {}
        Some(idle::CHILD) => return idle::child(arguments),
        Some(cluster::CHILD) => return cluster::child(arguments),
        Some("pure" | "effect" | "timers" | "lists") => {}
        Some("webhooks") if arguments.places.is_none() => {}
        Some("strict" | "crew") if arguments.places.is_some() => {}
        Some(other) => {
            eprintln!(
                "there is no benchmark `{other}`; there are: engine, pure, effect, timers, lists, webhooks (embedded), and with \
                 --database-url and --broker-url also strict and crew"
            );
            return ExitCode::from(2);
        }
    }
    match measure(arguments) {
        Ok(rows) => {
            show(&rows, arguments);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<Vec<Row>, BenchError> {
    if let Some(places) = &arguments.places {
        let runtime = crate::system::runtime().map_err(BenchError::of)?;
        let what = arguments.what.as_deref();
        if what == Some("timers") {
            return runtime.block_on(Box::pin(timers::on_cluster(places, arguments.quick)));
        }
        if what == Some("lists") {
            return runtime.block_on(Box::pin(lists::on_server(places, arguments.quick)));
        }
        return runtime.block_on(Box::pin(cluster::measure(places, what, arguments.quick)));
    }
    let folder = match &arguments.data {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("pawl-bench-{}", std::process::id())),
    };
    std::fs::create_dir_all(&folder).map_err(BenchError::of)?;
    let rows = match arguments.what.as_deref() {
        Some(one @ ("pure" | "effect")) => single(&folder, one, arguments.quick),
        Some("timers") => timers::on_folder(&folder, arguments.quick),
        Some("webhooks") => called(&folder, arguments.quick),
        Some("lists") => listed(&folder, arguments.quick),
        _ => engine(&folder, arguments.quick),
    };
    if arguments.data.is_none() {
        let _ = std::fs::remove_dir_all(&folder);
    }
    rows
}

fn engine(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let runtime = crate::system::runtime().map_err(BenchError::of)?;
    runtime.block_on(async {
        let mut rows = load::throughput(folder, quick).await?;
        rows.extend(load::growth(folder, quick).await?);
        rows.extend(http::measure(folder, quick).await?);
        rows.extend(idle::measure(folder, quick).await?);
        Ok(rows)
    })
}

fn called(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let runtime = crate::system::runtime().map_err(BenchError::of)?;
    runtime.block_on(Box::pin(webhooks::measure(folder, quick)))
}

fn listed(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let runtime = crate::system::runtime().map_err(BenchError::of)?;
    runtime.block_on(Box::pin(lists::on_folder(folder, quick)))
}

/// One measurement alone, without a baseline: something for a profiler to look at.
fn single(folder: &Path, what: &str, quick: bool) -> Result<Vec<Row>, BenchError> {
    let runtime = crate::system::runtime().map_err(BenchError::of)?;
    runtime.block_on(load::single(folder, what, quick))
}

fn show(rows: &[Row], arguments: &Arguments) {
    let durability = match arguments.places {
        None => "SQLite WAL, synchronous=FULL",
        Some(_) => "PostgreSQL, fsync, synchronous_commit and full_page_writes on",
    };
    if arguments.json {
        let rows: Vec<Value> = rows.iter().map(Row::to_value).collect();
        println!(
            "{}",
            json!({"machine": machine(), "durability": durability, "rows": rows})
        );
        return;
    }
    println!("{} · {durability}\n", machine());
    println!(
        "{:<34} {:>12} {:<9} {:>12} {:>7}   goal",
        "name", "value", "unit", "baseline", "ratio"
    );
    for row in rows {
        let baseline = row
            .baseline
            .map_or(String::new(), |value| format!("{value:.1}"));
        let ratio = row
            .ratio
            .map_or(String::new(), |value| format!("{value:.2}x"));
        println!(
            "{:<34} {:>12} {:<9} {:>12} {:>7}   {}",
            row.name,
            figure(row.value),
            row.unit,
            baseline,
            ratio,
            row.goal
        );
    }
}

/// Small figures with more digits.
fn figure(value: f64) -> String {
    match value.abs() < 10.0 {
        true => format!("{value:.3}"),
        false => format!("{value:.1}"),
    }
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model
        .lines()
        .find_map(|line| line.strip_prefix("model name\t: "))
        .unwrap_or("unknown CPU");
    format!("{cores} cores, {model}")
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// `share` of 0.99 is the p99.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let index = ((values.len() as f64 * share) as usize).min(values.len().saturating_sub(1));
    values.get(index).copied().unwrap_or(f64::NAN)
}
