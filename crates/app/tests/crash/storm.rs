//! The storm: a process under load, killed at random moments more than a hundred times, then judged.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::flows::Flow;
use crate::judge::{Evidence, Verdict, judge};
use crate::load::{Appetite, Load, Order};
use crate::process::{self, Pawl};
use crate::rows::{self, Copy};
use crate::sink::Sink;
use crate::wreck::{self, Wreck};
use crate::{ONE_AT_A_TIME, http, now};

const KILLS: usize = 120;
/// How long after the last kill everything must have ended.
const DRAIN: Duration = Duration::from_secs(60);
/// One kill in so many comes while the process is still starting.
const AT_START: u64 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_loses_nothing_and_repeats_only_what_it_interrupted() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let seed = seed();
    println!("PAWL_CRASH_SEED={seed}");
    let began = Instant::now();
    let mut storm = Storm::prepare(seed).await;
    for life in 0..KILLS {
        storm.live_and_die(life).await;
    }
    let stormed = began.elapsed();
    let evidence = storm.aftermath().await;
    let drained = began.elapsed() - stormed;
    let mut verdict = judge(&evidence);
    verdict.problems.append(&mut storm.problems);
    verdict.problems.extend(storm.load.problems());
    report(&evidence, &verdict, stormed, drained);
    let said = process::stderr(storm.folder.path());
    assert!(!said.contains("panicked"), "{said}");
    assert!(
        verdict.problems.is_empty(),
        "seed {seed}, {} problems:\n{}",
        verdict.problems.len(),
        verdict.problems[..verdict.problems.len().min(20)].join("\n")
    );
    assert_enough(&evidence.wrecks);
}

fn seed() -> u64 {
    match std::env::var("PAWL_CRASH_SEED") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => getrandom::u64().unwrap(),
    }
}

struct Storm {
    folder: TempDir,
    sink: Sink,
    load: Load,
    wrecks: Vec<Wreck>,
    problems: Vec<String>,
}

impl Storm {
    async fn prepare(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The kills are ours: no execution is to be blamed for them, however often it was hit.
        let settings = "[engine]\nmax_recoveries = 1000\n";
        std::fs::write(folder.path().join("pawl.toml"), settings).unwrap();
        let sink = Sink::start().await;
        let (pawl, address) = Pawl::start(folder.path()).await;
        for flow in Flow::ALL {
            let schema = flow.schema(&sink.url());
            let answer = http::post(address, "/api/schemas", &schema).await.unwrap();
            assert_eq!(answer.status, 201, "{answer:?}");
        }
        pawl.kill().await;
        Self {
            folder,
            sink,
            load: Load::new(seed),
            wrecks: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// One life of the process, from its start to its kill, and a look at what is left.
    async fn live_and_die(&mut self, life: usize) {
        self.sink.begin_life(life);
        let mut pawl = Pawl::spawn(self.folder.path());
        let pid = pawl.pid;
        if self.load.draw(1, AT_START) == 1 {
            let moment = Duration::from_millis(self.load.draw(0, 200));
            // The kill is to come while it is busy starting; if that is over already, at once.
            let _ = tokio::time::timeout(moment, pawl.ready()).await;
            pawl.kill().await;
        } else {
            let address = pawl.ready().await;
            let load = self.load.clone();
            let work = tokio::spawn(async move { load.work(address, Appetite::Endless).await });
            let moment = Duration::from_millis(self.load.draw(20, 400));
            tokio::time::sleep(moment).await;
            pawl.kill().await;
            work.await.unwrap();
        }
        let killed_at = now();
        self.sink.settle().await;
        let data = process::data(self.folder.path());
        let wreck = wreck::inspect(&data, pid, life, killed_at, &self.sink.requests());
        let problems = wreck.problems(self.wrecks.last(), &self.load.orders());
        self.problems.extend(problems);
        self.wrecks.push(wreck);
    }

    /// The last life, which nobody kills: all that was accepted comes to its end.
    async fn aftermath(&mut self) -> Evidence {
        self.sink.begin_life(self.wrecks.len());
        let deadline = Instant::now() + DRAIN;
        let (pawl, address) = Pawl::start(self.folder.path()).await;
        self.load.work(address, Appetite::Leftovers).await;
        let orders = self.load.orders();
        let mut contexts = BTreeMap::new();
        for order in &orders {
            let id = order.id.clone().expect("accepted in the last life");
            let ended = wait_for_end(address, &id, deadline).await;
            match ended {
                Some(ended) => {
                    contexts.insert(id, context(address, &ended).await);
                }
                None => self.problems.push(still_open(address, order).await),
            }
        }
        pawl.terminate().await;
        assert_eq!(pawl.ended().await.code(), Some(0));
        self.sink.settle().await;
        let copy = Copy::of(&process::data(self.folder.path()));
        let checked = copy.all("PRAGMA integrity_check", |row| row.get::<_, String>(0));
        assert_eq!(checked, [Ok("ok".to_owned())]);
        Evidence {
            orders,
            runs: rows::runs(&copy),
            requests: self.sink.requests(),
            wrecks: std::mem::take(&mut self.wrecks),
            contexts,
        }
    }
}

/// `None`: it had not ended at the deadline.
async fn wait_for_end(address: SocketAddr, id: &str, deadline: Instant) -> Option<Value> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let path = format!(
            "/api/executions/{id}?wait={}ms",
            left.as_millis().min(10_000)
        );
        let shown = http::get(address, &path).await.unwrap();
        assert_eq!(shown.status, 200, "{shown:?}");
        if !shown.body["finished_at"].is_null() {
            return Some(shown.body);
        }
        if left.is_zero() {
            return None;
        }
    }
}

async fn still_open(address: SocketAddr, order: &Order) -> String {
    let id = order.id.as_deref().unwrap();
    let path = format!("/api/executions/{id}");
    let shown = http::get(address, &path).await.unwrap();
    format!("still open after {DRAIN:?}: {} {order:?}", shown.body)
}

async fn context(address: SocketAddr, ended: &Value) -> Value {
    let (id, seq) = (ended["id"].as_str().unwrap(), &ended["seq"]);
    let path = format!("/api/executions/{id}/steps/{seq}/context");
    let shown = http::get(address, &path).await.unwrap();
    assert_eq!(shown.status, 200, "{shown:?}");
    shown.body["after"].clone()
}

/// A kind of moment: its name, how many kills must hit it, and how often one kill did.
type Kind = (&'static str, usize, fn(&Wreck) -> usize);

const KINDS: [Kind; 6] = [
    ("claimed work", 60, |wreck| wreck.claimed),
    ("an effect", 10, |wreck| wreck.in_effect),
    ("a sleep", 10, |wreck| wreck.asleep),
    ("a retry delay under a lease", 10, |wreck| {
        wreck.retry_under_lease
    }),
    ("a retry delay with a timer", 10, |wreck| {
        wreck.retry_waiting
    }),
    ("an event wait", 10, |wreck| wreck.waiting_for_event),
];

fn kills_that_hit(wrecks: &[Wreck], (_, _, count): Kind) -> usize {
    wrecks.iter().filter(|wreck| count(wreck) > 0).count()
}

/// A storm that hit nothing proves nothing.
fn assert_enough(wrecks: &[Wreck]) {
    assert!(wrecks.len() >= 100);
    for kind in KINDS {
        let hit = kills_that_hit(wrecks, kind);
        assert!(hit >= kind.1, "only {hit} kills hit {}", kind.0);
    }
}

fn report(evidence: &Evidence, verdict: &Verdict, stormed: Duration, drained: Duration) {
    let hits: Vec<String> = KINDS
        .iter()
        .map(|kind| format!("{} {}", kind.0, kills_that_hit(&evidence.wrecks, *kind)))
        .collect();
    println!(
        "{} kills in {stormed:.1?}, hit: {}; drained in {drained:.1?}; {} executions, {} steps, {} effects, \
         {} requests, {} repeated after a kill, {} given up by on_interrupt; {} problems",
        evidence.wrecks.len(),
        hits.join(", "),
        evidence.runs.len(),
        verdict.steps,
        verdict.effects,
        evidence.requests.len(),
        verdict.repeated,
        verdict.given_up,
        verdict.problems.len(),
    );
}
