//! The plain design at work: one table, looked at again and again.

use std::time::Duration;

use super::firings::Firings;
use super::ground::Ground;
use crate::bench::BenchError;

/// Rows of a batch; after one that is not full it waits for its next turn.
const BATCH: usize = 500;

/// Makes `count` actions that are in the table already, looking `every` so long. All of them must then be marked as done.
pub(super) async fn run(
    ground: &dyn Ground,
    count: u64,
    every: Duration,
) -> Result<Firings, BenchError> {
    let clock = ground.clock();
    let firings = Firings::default();
    let mut act = |id, planned_at| firings.note(id, planned_at, clock.now());
    let mut made = 0;
    let mut next = clock.now();
    while made < count {
        let now = clock.now();
        let batch = ground.plain_batch(now, &mut act).await?;
        made += batch as u64;
        if batch < BATCH && made < count {
            next = next.plus(every).max(now);
            clock.sleep_until(next).await;
        }
    }
    match ground.plain_done().await? {
        done if done == count => Ok(firings),
        done => Err(BenchError::Failed(format!(
            "{made} actions of the plain design were made, {done} are marked"
        ))),
    }
}
