//! Random faults on a real cluster: PostgreSQL, RabbitMQ, a server and three workers, with `kill -9`, SIGSTOP beyond the
//! lease, brokers restarted and wiped, queues purged, the database restarted at once, connections cut and stalled.
//! Every promise is checked after every schedule, by code that shares nothing with the engine.
//!
//! A failure prints its seed: `cargo xtask chaos --seed N` begins with it. What a fault hits depends on the machine all
//! the same, so every check holds for any moment. `cargo xtask chaos --minutes N` runs longer.

#![allow(clippy::unwrap_used)]

#[path = "chaos/api.rs"]
mod api;
#[path = "chaos/cluster.rs"]
mod cluster;
#[path = "chaos/faults.rs"]
mod faults;
#[path = "chaos/flows.rs"]
mod flows;
#[path = "chaos/judge.rs"]
mod judge;
#[path = "chaos/load.rs"]
mod load;
#[path = "chaos/orders.rs"]
mod orders;
#[path = "chaos/process.rs"]
mod process;
#[path = "common/rng.rs"]
mod rng;
#[path = "chaos/rows.rs"]
mod rows;
#[path = "chaos/services.rs"]
mod services;
#[path = "common/sink.rs"]
mod sink;
#[path = "chaos/tally.rs"]
mod tally;
#[path = "chaos/storm.rs"]
mod tempest;
#[path = "common/wire.rs"]
mod wire;

use std::time::{Duration, Instant};

use tempest::{Broken, SCHEDULES, Storm};

/// UTC microseconds, as the database writes them.
fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storm() {
    let seed = setting("PAWL_CHAOS_SEED").unwrap_or_else(|| getrandom::u64().unwrap() >> 16);
    let time = setting("PAWL_CHAOS_MINUTES").map(|minutes| Duration::from_secs(60 * minutes));
    let most = setting("PAWL_CHAOS_SCHEDULES").map_or(SCHEDULES, |count| count as usize);
    println!("PAWL_CHAOS_SEED={seed}");
    let began = Instant::now();
    let mut storm = Storm::prepare().await;
    for seed in seed.. {
        if let Err(broken) = storm.run(seed).await {
            fail(storm, seed, &broken);
        }
        let over = match time {
            Some(time) => began.elapsed() >= time,
            None => storm.tally.schedules >= most,
        };
        if over {
            break;
        }
    }
    if let Err(broken) = storm.finish().await {
        fail(storm, seed, &broken);
    }
    println!("{}\n  in {:.0?}", storm.tally, began.elapsed());
    let missing = storm.tally.missing();
    let full = storm.tally.schedules >= SCHEDULES;
    if setting("PAWL_CHAOS_KEEP").is_some() {
        println!("logs in {}", storm.keep_logs());
    }
    assert!(
        missing.is_empty() || !full,
        "not enough happened:\n{}",
        missing.join("\n")
    );
}

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

fn fail(storm: Storm, seed: u64, broken: &Broken) -> ! {
    let Broken { problems, timeline } = broken;
    println!("{}", storm.tally);
    let folder = storm.keep_logs();
    panic!(
        "seed {seed}, {} problems; logs in {folder}\n{timeline}{}",
        problems.len(),
        problems[..problems.len().min(20)].join("\n")
    );
}
