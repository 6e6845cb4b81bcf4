//! What it costs to wait for many actions, against waiting for none.

use std::time::Duration;

use super::firings::Firings;
use super::ground::{Ground, Idle};
use super::plan;
use crate::bench::{BenchError, Row};

pub(super) async fn measure(empty: &dyn Ground, full: &dyn Ground) -> Result<Vec<Row>, BenchError> {
    for ground in [empty, full] {
        take_in(ground).await?;
    }
    let (without, with) = (empty.idle().await?, full.idle().await?);
    let goal = "as with none pending";
    let megabytes = |idle: &Idle| idle.resident_bytes / 1e6;
    Ok(vec![
        Row::against(
            "idle_memory_with_1m_pending",
            megabytes(&with),
            "MB",
            megabytes(&without),
            goal,
        ),
        Row::against(
            with.what,
            with.per_second,
            "per s",
            without.per_second,
            goal,
        ),
    ])
}

/// What was added a moment ago is not what is measured: a worker takes it in before.
async fn take_in(ground: &dyn Ground) -> Result<(), BenchError> {
    let engine = ground.start(plan::options(&Firings::default())).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    engine.stop().await;
    Ok(())
}
