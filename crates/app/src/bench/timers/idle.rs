//! What it costs to wait for many actions, against waiting for none.

use super::ground::{Ground, Idle};
use crate::bench::{BenchError, Row};

pub(super) async fn measure(empty: &dyn Ground, full: &dyn Ground) -> Result<Vec<Row>, BenchError> {
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
