//! Sixty-four clients on the same atoms for at least twenty seconds, and a process killed every two, in the middle of a
//! transaction if one can be found. On a slow machine the storm lasts until enough has happened to judge. `PAWL_GRAPH_SEED=N` takes the same draws again; what a kill hits depends on the machine all the same.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;

use crate::bed::{Dev, install, settings};
use crate::database::Database;
use crate::judge::judge;
use crate::load::{Kind, Load};
use crate::model::Model;
use crate::process::{KEY, Process};
use crate::site::Site;

const CLIENTS: u64 = 64;
const STORM: Duration = Duration::from_secs(20);
/// By then enough has happened on any machine.
const STORM_MAX: Duration = Duration::from_secs(180);
const BETWEEN: Duration = Duration::from_secs(2);
/// Looks for an open transaction before a kill.
const LOOKS: usize = 100;
const ACCEPTED_MIN: usize = 20;
const OPEN_MIN: usize = 5;
/// Real processes on few cores: one storm after the other.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn seed() -> u64 {
    let seed = match std::env::var("PAWL_GRAPH_SEED") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => getrandom::u64().unwrap(),
    };
    println!("PAWL_GRAPH_SEED={seed}");
    seed
}

/// Stopped where it stands, in a transaction if one comes along soon. Whether it is in one.
async fn freeze(pid: u32, name: &str, database: &Database) -> bool {
    for _ in 0..LOOKS {
        signal(pid, "STOP").await;
        if database.is_in_use(name).await {
            return true;
        }
        signal(pid, "CONT").await;
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    false
}

async fn signal(pid: u32, name: &str) {
    let pid = pid.to_string();
    let sent = tokio::process::Command::new("kill")
        .args(["-s", name, &pid])
        .status();
    assert!(sent.await.unwrap().success(), "kill -s {name} {pid}");
}

/// Enough for a judgement: calls of each kind that changed something, and kills in the middle of a transaction.
fn is_enough(accepted: &BTreeMap<Kind, usize>, open: usize) -> bool {
    let kinds = [
        Kind::Propose,
        Kind::Lock,
        Kind::Unlock,
        Kind::Merge,
        Kind::Reject,
        Kind::Archive,
    ];
    let count = |kind| accepted.get(kind).copied().unwrap_or_default();
    open >= OPEN_MIN && kinds.iter().all(|kind| count(kind) >= ACCEPTED_MIN)
}

/// The storm, then the judgement. `kill` kills the process that runs nodes, starts the next, and says whether a transaction
/// was open.
async fn weather(load: Load, database: &Database, mut kill: impl AsyncFnMut() -> bool) {
    let seed = seed();
    let began = Instant::now();
    let (stop, stopped) = watch::channel(false);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| tokio::spawn(load.clone().work(client, seed, stopped.clone())))
        .collect();
    let (mut kills, mut open) = (0, 0);
    let goes_on = |open| match began.elapsed() + BETWEEN {
        elapsed if elapsed < STORM => true,
        elapsed => elapsed < STORM_MAX && !is_enough(&load.accepted(), open),
    };
    while goes_on(open) {
        tokio::time::sleep(BETWEEN).await;
        open += usize::from(kill().await);
        kills += 1;
    }
    tokio::time::sleep(STORM.saturating_sub(began.elapsed())).await;
    stop.send_replace(true);
    for client in clients {
        client.await.unwrap();
    }
    let (records, accepted) = (load.records(), load.accepted());
    let verdict = judge(&records, database).await;
    println!(
        "{} calls, accepted {accepted:?}, refused {:?}, {kills} kills, {open} in a transaction",
        records.len(),
        verdict.refused
    );
    assert!(
        verdict.problems.is_empty(),
        "seed {seed}, {} problems:\n{}",
        verdict.problems.len(),
        verdict.problems[..verdict.problems.len().min(20)].join("\n")
    );
    assert!(
        is_enough(&accepted, open),
        "{accepted:?}, {open} of {kills} kills hit a transaction"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_and_a_process_that_dies_on_sqlite() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let database = Database::Sqlite(folder.path().join("graph.db"));
    std::fs::write(folder.path().join("pawl.toml"), settings(&database)).unwrap();
    let model = Model::start().await;
    let (pawl, address) = Dev::start(folder.path(), &model).await;
    install(folder.path(), address, None).await;
    let (moved, current) = watch::channel::<SocketAddr>(address);
    let load = Load::prepare(current).await;
    let mut running = Some(pawl);
    weather(load, &database, async || {
        let pawl = running.take().unwrap();
        let open = freeze(pawl.pid, "", &database).await;
        pawl.kill().await;
        let (next, address) = Dev::start(folder.path(), &model).await;
        running = Some(next);
        moved.send_replace(address);
        open
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_and_workers_that_die_on_postgres() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let database = Database::postgres("storm").await;
    // Few slots: what a dead worker had in hand waits for its lease to run out, and the others are to go on.
    let settings = |name: &str| {
        format!(
            "[http]\nallow = [\"127.0.0.1/32\"]\n[engine]\nlease = \"3s\"\nsweep_after = \"2s\"\nslots = 8\n\
             max_recoveries = 1000\n[connections.graph]\nurl = \"{}\"\n",
            database.url_of(name)
        )
    };
    let mut site = Site::fresh("graph_storm").await;
    site.settings = settings("server");
    let server = site.server().await;
    // Two, so that there is always one that knows who waits for an answer.
    let mut running: VecDeque<(Process, String)> = VecDeque::new();
    for name in ["worker0", "worker1"] {
        site.settings = settings(name);
        running.push_back((site.worker().await, name.to_owned()));
    }
    let installed: Value = install(site.folder(), server.address, Some(KEY)).await;
    assert_eq!(installed["connection"], "graph");
    let (_server_stays, current) = watch::channel::<SocketAddr>(server.address);
    let load = Load::prepare(current).await;
    let mut started = running.len();
    weather(load, &database, async || {
        let (worker, name) = running.pop_front().unwrap();
        let open = freeze(worker.pid, &name, &database).await;
        worker.kill();
        let name = format!("worker{started}");
        started += 1;
        site.settings = settings(&name);
        running.push_back((site.worker().await, name));
        open
    })
    .await;
    site.sound().await;
}
