//! How many step rows a second the store takes: executions are created, claimed, and committed with ten steps and
//! their end, a batch of them at a time.
//!
//! `cargo run --release -p pawl-sqlite --example raw_speed -- [folder] [batch] [batches]`

use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_kernel::execution::{Ending, Position, State, Status, Step, StepStatus};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::ClaimRequest;
use pawl_kernel::ports::store::{Claim, ExecutionStore, NewExecution, lease};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{Next, Transition};
use pawl_sqlite::{Options, SqliteStore};
use pawl_testkit::fixture;
use tokio::task::JoinSet;
use uuid::Uuid;

const STEPS: u64 = 10;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments
        .first()
        .map_or("/tmp/pawl-raw-speed", String::as_str);
    let number = |at: usize, or: u64| arguments.get(at).map_or(or, |n| n.parse().unwrap_or(or));
    let (batch, batches) = (number(1, 64), number(2, 500));
    let _ = std::fs::remove_dir_all(folder);
    let store = SqliteStore::open(folder.as_ref(), Options::default());
    let store = Arc::new(store.unwrap_or_else(|error| panic!("{error}")));
    let mut phases = [Duration::ZERO; 3];
    for round in 0..batches {
        run_batch(&store, round * batch..(round + 1) * batch, &mut phases).await;
    }
    let total: Duration = phases.iter().sum();
    let steps = (batch * batches * STEPS) as f64;
    println!(
        "{:.0} steps/s in all, {:.0} without claims (create {:.2?}, claim {:.2?}, commit {:.2?})",
        steps / total.as_secs_f64(),
        steps / (phases[0] + phases[2]).as_secs_f64(),
        phases[0],
        phases[1],
        phases[2],
    );
}

async fn run_batch(
    store: &Arc<SqliteStore>,
    numbers: std::ops::Range<u64>,
    phases: &mut [Duration; 3],
) {
    let now = fixture::at(1);
    let new: Vec<NewExecution> = numbers.clone().map(fixture::new_execution).collect();
    let started = Instant::now();
    let mut jobs = JoinSet::new();
    for new in new {
        let store = Arc::clone(store);
        jobs.spawn(async move { store.create(new).await.map(|_| ()) });
    }
    finish(jobs).await;
    phases[0] += started.elapsed();

    let started = Instant::now();
    let requests = numbers.clone().map(|n| claim(n, now)).collect();
    let claims = store.claim(requests, now).await;
    phases[1] += started.elapsed();

    let claims = claims.unwrap_or_else(|error| panic!("{error}"));
    let transitions: Vec<Transition> = claims.into_iter().map(|c| transition(c, now)).collect();
    let started = Instant::now();
    let mut jobs = JoinSet::new();
    for transition in transitions {
        let store = Arc::clone(store);
        jobs.spawn(async move { store.commit(transition).await.map(|_| ()) });
    }
    finish(jobs).await;
    phases[2] += started.elapsed();
}

async fn finish<E: std::fmt::Display + 'static>(mut jobs: JoinSet<Result<(), E>>) {
    while let Some(result) = jobs.join_next().await {
        match result {
            Ok(Ok(())) => {}
            Ok(Err(error)) => panic!("{error}"),
            Err(error) => panic!("{error}"),
        }
    }
}

fn claim(number: u64, now: Timestamp) -> ClaimRequest {
    let until = now.plus(Duration::from_secs(30));
    ClaimRequest {
        execution_id: fixture::execution_id(number),
        message_seq: Some(0),
        redelivered: false,
        lease: lease("raw-speed", Uuid::from_u128(number.into()), until),
        allow_suspect: false,
        max_recoveries: 5,
    }
}

fn transition(claim: Claim, now: Timestamp) -> Transition {
    let Claim::Taken(claimed) = claim else {
        panic!("{claim:?}");
    };
    let state: State = claimed.state;
    let token = state.lease.as_ref().map(|lease| lease.token);
    Transition {
        execution_id: state.execution_id,
        expected_seq: 0,
        lease_token: token.unwrap_or_default(),
        commit_id: state.execution_id.0,
        inbox_seen: None,
        steps: (1..=STEPS)
            .map(|seq| step(state.execution_id, seq, now))
            .collect(),
        logs: Vec::new(),
        consumed: Vec::new(),
        snapshot: None,
        next: Next::End {
            position: Position::at("end_1".into(), None, now),
            ending: Ending {
                status: Status::Completed,
                output: Some(r#"{"sum":55}"#.into()),
                error: None,
            },
        },
        calls_spent: 0,
        bytes_spent: 0,
        now,
    }
}

/// About 250 bytes of payload.
fn step(id: ExecutionId, seq: u64, now: Timestamp) -> Step {
    Step {
        seq,
        node_id: "variable_set_1".into(),
        node_type: "variable_set".into(),
        prev_node_id: Some("variable_set_0".into()),
        next_node_id: Some("variable_set_2".into()),
        input: Some(format!(r#"{{"set":{{"total":{seq},"of":"{id}"}}}}"#)),
        output: Some(format!(r#"{{"total":{seq},"text":"{}"}}"#, "x".repeat(80))),
        changes: Some(format!(r#"{{"total":{seq}}}"#)),
        status: StepStatus::Success,
        error: None,
        attempts: None,
        started_at: now,
        finished_at: now,
    }
}
