//! How many small scripts a second: through a pool with one child and with one per processor, next to the same
//! script in a realm of its own inside this process, which is the least that a fresh realm can cost.
//!
//! `cargo run --release -p pawl-script --example bench`; the child is built by
//! `cargo build --release -p pawl-script` and found beside the example.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_script::{Document, Job, Options, Pool};
use serde_json::{Value, json};

const MEASURE: Duration = Duration::from_secs(3);
const SOURCE: &str = "
    const { order, limit } = $json;
    const total = order.lines.reduce((sum, line) => sum + line.price * line.count, 0);
    return { json: { id: order.id, total, large: total > limit } };";
const IN_PROCESS: &str = "(function ($json) {
    const { order, limit } = $json;
    const total = order.lines.reduce((sum, line) => sum + line.price * line.count, 0);
    return { json: { id: order.id, total, large: total > limit } };
})";

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let (rate, cpu) = in_process()?;
    println!(
        "{:<28} {rate:>9.0} runs/s   {:>31} {:>9.0} runs per second of processor",
        "in process, fresh realm",
        "",
        rate / cpu
    );
    let cores = std::thread::available_parallelism()?.get();
    let rows = [
        ("1 child, one caller", 1, 1, 2_000),
        ("1 child, 8 callers", 1, 8, 2_000),
        ("a child per core, 64 callers", cores, 64, 2_000),
        ("a child per run, one caller", 1, 1, 1),
    ];
    for (name, children, callers, runs_per_child) in rows {
        let measured = pooled(children, callers, runs_per_child);
        let (rate, median, tail, cpu) = runtime.block_on(measured)?;
        println!(
            "{name:<28} {rate:>9.0} runs/s   p50 {median:>6.0} µs   p99 {tail:>6.0} µs   {:>9.0} runs per second of processor",
            rate / cpu
        );
    }
    Ok(())
}

fn input() -> Value {
    let lines: Vec<Value> = (0..10)
        .map(|index| json!({"sku": format!("sku-{index}"), "price": 9.5, "count": index}))
        .collect();
    json!({"order": {"id": "o-1", "lines": lines}, "limit": 100})
}

/// Runs a second, and processors used.
fn in_process() -> Result<(f64, f64), Box<dyn Error>> {
    let text = input().to_string();
    let (start, busy) = (Instant::now(), cpu_seconds());
    let mut runs = 0_u32;
    while start.elapsed() < MEASURE {
        let runtime = rquickjs::Runtime::new()?;
        let context = rquickjs::Context::full(&runtime)?;
        context.with(|ctx| {
            let function: rquickjs::Function<'_> = ctx.eval(IN_PROCESS)?;
            let value =
                function.call::<_, rquickjs::Value<'_>>((ctx.json_parse(text.as_str())?,))?;
            ctx.json_stringify(value).map(drop)
        })?;
        runs += 1;
    }
    let elapsed = start.elapsed().as_secs_f64();
    Ok((f64::from(runs) / elapsed, (cpu_seconds() - busy) / elapsed))
}

/// Runs a second, microseconds at the median and at 99 %, and processors used by parent and children.
async fn pooled(
    children: usize,
    callers: usize,
    runs_per_child: u32,
) -> Result<(f64, f64, f64, f64), Box<dyn Error>> {
    let mut options = Options::new(child()?);
    options.children = children;
    options.runs_per_child = runs_per_child;
    let pool = Arc::new(Pool::new(options)?);
    let job = Job {
        source: SOURCE.into(),
        data: Arc::new(Document::new(
            Cow::Owned([("input".to_owned(), input())].into_iter().collect()),
            None,
            Cow::default(),
        )),
        entered_at_ms: 0,
        seed: 0,
        time: None,
        until: None,
        owner: None,
    };
    pool.run(job.clone()).await?;
    let (start, busy) = (Instant::now(), cpu_seconds());
    let tasks: Vec<_> = (0..callers)
        .map(|_| tokio::spawn(call(pool.clone(), job.clone(), start)))
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    let elapsed = start.elapsed().as_secs_f64();
    let used = cpu_seconds() - busy + children_seconds(&pool);
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    Ok((
        times.len() as f64 / elapsed,
        at(0.5),
        at(0.99),
        used / elapsed,
    ))
}

async fn call(
    pool: Arc<Pool>,
    job: Job<'static>,
    start: Instant,
) -> Result<Vec<Duration>, pawl_script::ScriptError> {
    let mut times = Vec::new();
    while start.elapsed() < MEASURE {
        let begun = Instant::now();
        pool.run(job.clone()).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

/// Beside this example's folder.
fn child() -> Result<std::path::PathBuf, Box<dyn Error>> {
    let here = std::env::current_exe()?;
    let folder = here
        .parent()
        .and_then(|examples| examples.parent())
        .ok_or("no folder")?;
    Ok(folder.join("pawl-script-child"))
}

/// Of this process and of the children that were waited for.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks(&text, &[11, 12, 13, 14])
}

fn children_seconds(pool: &Pool) -> f64 {
    let stat = |id: &u32| std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let ids = pool.idle_children();
    ids.iter().map(|id| ticks(&stat(id), &[11, 12])).sum()
}

/// Sums fields of a stat line, counted from the state; a hundred ticks are a second on every Linux.
fn ticks(stat: &str, fields: &[usize]) -> f64 {
    let after: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let read = |field: &usize| after.get(*field)?.parse::<f64>().ok();
    fields.iter().filter_map(read).sum::<f64>() / 100.0
}
