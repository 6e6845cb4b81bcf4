//! Workers in processes of their own: what a second one brings, and what idle ones cost.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use pawl_engine::worker::Roles;
use pawl_kernel::ports::store::Store;

use super::{Site, join, rate};
use crate::bench::idle::status_number;
use crate::bench::load::save;
use crate::bench::{Arguments, BenchError, Row, flows, median};
use crate::config::Config;
use crate::wiring::Cluster;

/// The hidden name under which the binary is a worker of the benchmark.
pub(in crate::bench) const CHILD: &str = "cluster-worker";

const SLOTS: usize = 256;

/// Ends with its standard input, so that no worker outlives the benchmark.
pub(in crate::bench) fn child(arguments: &Arguments) -> ExitCode {
    let run = async {
        let places = arguments.places.clone()?;
        let slots = arguments.slots?;
        let mut config = Config::default();
        config.database.schema = std::env::var("PAWL_BENCH_SCHEMA").ok()?;
        config.broker.prefix = std::env::var("PAWL_BENCH_PREFIX").ok()?;
        let cluster = join(&places, &config, Roles::ALL, slots).await.ok()?;
        let store = cluster.store.clone();
        let answers = move || answer_lines(|| store.questions());
        let _ = tokio::task::spawn_blocking(answers).await;
        cluster.shutdown().await;
        Some(())
    };
    match crate::system::runtime().map(|runtime| runtime.block_on(run)) {
        Ok(Some(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// For every line read, one is written: how often the database was asked until now.
fn answer_lines(questions: impl Fn() -> u64) {
    for _ in std::io::stdin().lines().map_while(Result::ok) {
        println!("{}", questions());
    }
}

/// Workers in processes of their own. They end with it.
pub(in crate::bench) struct Crew(Vec<Child>);

impl Crew {
    pub(in crate::bench) async fn start(
        site: &Site,
        server: &Cluster,
        sizes: &[usize],
    ) -> Result<Self, BenchError> {
        let program = std::env::current_exe().map_err(BenchError::of)?;
        let mut crew = Self(Vec::new());
        for slots in sizes {
            let child = Command::new(&program)
                .args(["bench", CHILD])
                .args(["--database-url", &site.places.database_url])
                .args(["--broker-url", &site.places.broker_url])
                .args(["--slots", &slots.to_string()])
                .env("PAWL_BENCH_SCHEMA", &site.config.database.schema)
                .env("PAWL_BENCH_PREFIX", &site.config.broker.prefix)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(BenchError::of)?;
            crew.0.push(child);
        }
        let store = &server.control.runtime().store;
        wait_for_workers(&**store, &server.control, sizes.len()).await?;
        Ok(crew)
    }

    /// How often all of them together have asked the database.
    pub(in crate::bench) fn questions(&mut self) -> Result<u64, BenchError> {
        let gone = || BenchError::Failed("a worker of the benchmark is gone".into());
        let mut sum = 0;
        for child in &mut self.0 {
            let (Some(words), Some(answers)) = (&mut child.stdin, &mut child.stdout) else {
                return Err(gone());
            };
            writeln!(words, "questions").map_err(BenchError::of)?;
            let mut line = String::new();
            // One line was asked for, so nothing is read ahead.
            BufReader::new(answers)
                .read_line(&mut line)
                .map_err(BenchError::of)?;
            sum += line.trim().parse::<u64>().map_err(|_| gone())?;
        }
        Ok(sum)
    }

    /// The memory of all of them together.
    pub(in crate::bench) fn resident_bytes(&self) -> u64 {
        let of = |child: &Child| {
            let path = format!("/proc/{}/status", child.id());
            status_number(Path::new(&path), "VmRSS:") * 1_024
        };
        self.0.iter().map(of).sum()
    }

    pub(in crate::bench) fn stop(mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
    }
}

async fn wait_for_workers(
    store: &dyn Store,
    control: &pawl_engine::control::Control,
    count: usize,
) -> Result<(), BenchError> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        let since = control.runtime().clock.now().minus(Duration::from_secs(20));
        let there = store.workers(since).await.map_err(BenchError::of)?;
        if there.len() == count {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(BenchError::Failed("the workers did not come up".into()))
}

pub(super) async fn measure(site: &Site, quick: bool) -> Result<Vec<Row>, BenchError> {
    let (count, rounds) = if quick { (500, 1) } else { (4_000, 3) };
    let server = site.join(Roles::NONE, 1).await?;
    let effect = save(&server.control, &flows::effect_ten()).await?;
    let layouts: [&[usize]; 3] = [&[SLOTS], &[SLOTS / 2, SLOTS / 2], &[SLOTS, SLOTS]];
    let mut rates: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        for (layout, samples) in layouts.iter().zip(&mut rates) {
            let crew = Crew::start(site, &server, layout).await?;
            rate(&server.control, effect, 100, 64).await?;
            samples.push(rate(&server.control, effect, count, 512).await?);
            crew.stop();
        }
    }
    let idle = idle_questions(site, &server).await?;
    server.shutdown().await;
    let [mut one, mut half, mut two] = rates;
    let one = median(&mut one);
    Ok(vec![
        Row::plain("one_worker", one, "steps/s", "printed"),
        Row::against(
            "two_workers_same_slots",
            median(&mut half),
            "steps/s",
            one,
            ">= 0.85x",
        ),
        Row::against(
            "two_workers_with_slots_each",
            median(&mut two),
            "steps/s",
            one,
            "printed",
        ),
        Row::plain("idle_questions_per_worker", idle, "per s", "< 1"),
    ])
}

/// What two idle workers ask the database, each, in a second.
async fn idle_questions(site: &Site, server: &Cluster) -> Result<f64, BenchError> {
    const WATCHED: Duration = Duration::from_secs(20);
    let mut crew = Crew::start(site, server, &[SLOTS, SLOTS]).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = crew.questions()?;
    tokio::time::sleep(WATCHED).await;
    let asked = crew.questions()? - before;
    crew.stop();
    Ok(asked as f64 / WATCHED.as_secs_f64() / 2.0)
}
