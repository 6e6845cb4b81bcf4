//! How late an action fires that was written a moment before: on a cluster by one process, and fired by another, which
//! hears of it over the broker.

use std::time::Duration;

use super::firings::{Firings, Lateness};
use super::ground::Ground;
use super::{plan, rate};
use crate::bench::{BenchError, Row};

const AHEAD: Duration = Duration::from_millis(300);
const APART: Duration = Duration::from_millis(50);
const NAME: &str = "hint";

pub(super) async fn measure(ground: &dyn Ground, quick: bool) -> Result<Vec<Row>, BenchError> {
    let count: u64 = if quick { 40 } else { 200 };
    let firings = Firings::default();
    let engine = ground.start(plan::options(&firings)).await?;
    rate::warm_up(ground, &engine, &firings, NAME).await?;
    firings.take(rate::WARM_UP)?;
    let clock = ground.clock();
    let control = ground.writer().unwrap_or(engine.control());
    let mut next = clock.now();
    for _ in 0..count {
        clock.sleep_until(next).await;
        next = next.plus(APART);
        let body = plan::body(clock.now().plus(AHEAD));
        let id = plan::fresh_id(NAME);
        let put = control.put_action(&id, &body, "bench").await;
        put.map_err(BenchError::of)?;
    }
    let give_up_at = clock.now().plus(rate::PATIENCE);
    firings.wait_for(count, &*clock, give_up_at).await?;
    engine.stop().await;
    ground.verify(&format!("{NAME}-"), count).await?;
    Ok(rows(firings.take(count)?))
}

fn rows(late: Lateness) -> Vec<Row> {
    vec![
        Row::plain("put_300ms_ahead_late_p50", late.p50, "ms", "printed"),
        Row::plain("put_300ms_ahead_late_p99", late.p99, "ms", "< 100"),
        Row::plain("put_300ms_ahead_late_max", late.max, "ms", "printed"),
    ]
}
