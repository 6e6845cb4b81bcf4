//! What it costs to add one action, where many are pending and where none is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use pawl_engine::control::Control;

use super::firings::Firings;
use super::ground::{Engine, Ground};
use super::plan;
use crate::bench::{BenchError, Row, median};

const AT_ONCE: usize = 32;
const NAME: &str = "add";

struct AddPlan {
    rounds: u64,
    alone: u64,
    together: u64,
}

impl AddPlan {
    fn new(quick: bool) -> Self {
        match quick {
            true => Self {
                rounds: 3,
                alone: 50,
                together: 500,
            },
            false => Self {
                rounds: 5,
                alone: 200,
                together: 4_000,
            },
        }
    }

    fn of_round(&self) -> u64 {
        self.alone + self.together
    }
}

/// Microseconds of one action.
#[derive(Default)]
struct AddSamples {
    alone: Vec<f64>,
    together: Vec<f64>,
}

impl AddSamples {
    async fn round(&mut self, control: &Control, plan: &AddPlan) -> Result<(), BenchError> {
        for _ in 0..plan.alone {
            let start = Instant::now();
            add(control).await?;
            self.alone.push(start.elapsed().as_secs_f64() * 1e6);
        }
        self.together.push(together(control, plan.together).await?);
        Ok(())
    }
}

pub(super) async fn measure(
    empty: &dyn Ground,
    full: &dyn Ground,
    quick: bool,
) -> Result<Vec<Row>, BenchError> {
    let plan = AddPlan::new(quick);
    let firings = Firings::default();
    let engines = [
        empty.start(plan::options(&firings)).await?,
        full.start(plan::options(&firings)).await?,
    ];
    let mut samples: [AddSamples; 2] = Default::default();
    for engine in &engines {
        // Statements are prepared, connections opened.
        AddSamples::default().round(engine.control(), &plan).await?;
    }
    for _ in 0..plan.rounds {
        for (engine, samples) in engines.iter().zip(&mut samples) {
            samples.round(engine.control(), &plan).await?;
        }
    }
    for engine in engines {
        Engine::stop(engine).await;
    }
    for ground in [empty, full] {
        let added = (plan.rounds + 1) * plan.of_round();
        ground.expect_actions(&format!("{NAME}-"), added).await?;
    }
    Ok(rows(samples))
}

fn rows([mut empty, mut full]: [AddSamples; 2]) -> Vec<Row> {
    let goal = "<= 1.5x of none pending";
    let against = |name, full: &mut [f64], empty: &mut [f64]| {
        Row::against(name, median(full), "us", median(empty), goal)
    };
    vec![
        against("add_with_1m_pending", &mut full.alone, &mut empty.alone),
        against(
            "add_with_1m_pending_32_at_once",
            &mut full.together,
            &mut empty.together,
        ),
    ]
}

async fn add(control: &Control) -> Result<(), BenchError> {
    let id = plan::fresh_id(NAME);
    let body = plan::body(plan::far_time(control.runtime().clock.now()));
    let put = control.put_action(&id, &body, "bench").await;
    put.map(drop).map_err(BenchError::of)
}

/// Many at once; microseconds for each that is done.
async fn together(control: &Control, count: u64) -> Result<f64, BenchError> {
    let left = Arc::new(AtomicU64::new(count));
    let start = Instant::now();
    let mut clients = Vec::new();
    for _ in 0..AT_ONCE {
        let (control, left) = (control.clone(), left.clone());
        clients.push(tokio::spawn(async move {
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                .is_ok()
            {
                add(&control).await?;
            }
            Ok::<(), BenchError>(())
        }));
    }
    for client in clients {
        client.await.map_err(BenchError::of)??;
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / count as f64)
}
