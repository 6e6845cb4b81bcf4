//! What it costs to do nothing: memory per sleeping execution, wake-ups of an idle process. Measured in child
//! processes, so that nothing the other benchmarks left behind counts.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Arguments, Bench, BenchError, Row, flows};
use pawl_engine::control::StartRequest;

/// The hidden name under which the binary measures itself.
pub(super) const CHILD: &str = "idle-child";

pub(super) async fn measure(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let sleepers: u64 = if quick { 5_000 } else { 100_000 };
    let (empty, full) = (folder.join("idle-empty"), folder.join("idle-full"));
    prepare(&empty, 0).await?;
    prepare(&full, sleepers).await?;
    let (without, with) = (watch(&empty)?, watch(&full)?);
    let number = |report: &Value, name: &str| report[name].as_f64().unwrap_or(f64::NAN);
    let bytes =
        (number(&with, "resident_bytes") - number(&without, "resident_bytes")) / sleepers as f64;
    Ok(vec![
        Row::plain("memory_per_sleeping_execution", bytes, "bytes", "<= 200"),
        Row::plain(
            "resident_with_sleepers",
            number(&with, "resident_bytes") / 1e6,
            "MB",
            "printed",
        ),
        Row::plain(
            "idle_wakeups",
            number(&with, "wakeups_per_second"),
            "per s",
            "< 1",
        ),
        Row::plain(
            "start_with_sleepers",
            number(&with, "start_ms"),
            "ms",
            "< 1000",
        ),
    ])
}

async fn prepare(folder: &Path, sleepers: u64) -> Result<(), BenchError> {
    let bench = Bench::open(folder).await?;
    let schema = bench.save(&flows::sleeper()).await?;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..sleepers {
        if tasks.len() >= 256 {
            tasks.join_next().await;
        }
        let control = bench.control().clone();
        tasks.spawn(async move {
            let request = StartRequest {
                created_by: "bench".into(),
                watch: true,
                ..StartRequest::default()
            };
            if let Ok(started) = control.start_version(schema, 1, request).await
                && let Some(mut watcher) = started.watcher
            {
                // The first commit after creation is the one that enters the sleep.
                watcher.changed().await;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    bench.close().await;
    Ok(())
}

/// Starts this binary on the folder and lets it report about itself.
pub(super) fn watch(folder: &Path) -> Result<Value, BenchError> {
    let program = std::env::current_exe().map_err(BenchError::of)?;
    let output = Command::new(program)
        .args(["bench", CHILD, "--data"])
        .arg(folder)
        .output()
        .map_err(BenchError::of)?;
    if !output.status.success() {
        return Err(BenchError::Failed(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(BenchError::of)
}

/// The child: opens the engine, does nothing for a while, prints what that cost.
pub(super) fn child(arguments: &Arguments) -> ExitCode {
    let Some(folder) = &arguments.data else {
        return ExitCode::from(2);
    };
    let runtime = match crate::system::runtime() {
        Ok(runtime) => runtime,
        Err(_) => return ExitCode::FAILURE,
    };
    let start = std::time::Instant::now();
    let Ok(bench) = runtime.block_on(Bench::open(folder)) else {
        return ExitCode::FAILURE;
    };
    let start_ms = start.elapsed().as_secs_f64() * 1e3;
    runtime.block_on(async { tokio::time::sleep(Duration::from_secs(4)).await });
    let before = voluntary_switches();
    const SECONDS: u64 = 10;
    runtime.block_on(async { tokio::time::sleep(Duration::from_secs(SECONDS)).await });
    // The measuring itself wakes up once.
    let wakeups = voluntary_switches()
        .saturating_sub(before)
        .saturating_sub(1) as f64
        / SECONDS as f64;
    println!(
        "{}",
        json!({"resident_bytes": resident_bytes(), "wakeups_per_second": wakeups, "start_ms": start_ms})
    );
    runtime.block_on(bench.close());
    ExitCode::SUCCESS
}

fn voluntary_switches() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    tasks
        .map(|task| status_number(&task.path().join("status"), "voluntary_ctxt_switches:"))
        .sum()
}

fn resident_bytes() -> u64 {
    status_number(Path::new("/proc/self/status"), "VmRSS:") * 1_024
}

pub(super) fn status_number(path: &Path, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next())
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}
