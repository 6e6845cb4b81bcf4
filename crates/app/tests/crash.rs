//! `kill -9` on real processes: nothing that was accepted is lost, nothing is done twice without need.
//!
//! The storm prints its seed; `PAWL_CRASH_SEED=N` takes the same draws again. What a kill hits depends on the machine
//! all the same, so every check holds for any moment.

#![allow(clippy::unwrap_used)]

#[path = "crash/flows.rs"]
mod flows;
#[path = "crash/http.rs"]
mod http;
#[path = "crash/judge.rs"]
mod judge;
#[path = "crash/load.rs"]
mod load;
#[path = "crash/process.rs"]
mod process;
#[path = "crash/restart.rs"]
mod restart;
#[path = "common/rng.rs"]
mod rng;
#[path = "crash/rows.rs"]
mod rows;
#[path = "common/sink.rs"]
mod sink;
#[path = "crash/storm.rs"]
mod storm;
#[path = "common/wire.rs"]
mod wire;
#[path = "crash/wreck.rs"]
mod wreck;

/// Tests with real processes and real time, on few cores: one after the other.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// UTC microseconds, as the database writes them.
fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}
