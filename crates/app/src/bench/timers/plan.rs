//! Actions to be measured: as users write them, made without a user.

use std::time::{Duration, Instant};

use pawl_engine::Options;
use pawl_kernel::id::{self, Entropy};
use pawl_kernel::schedule::{Author, Override, Put, Request, ScheduledAction, put, read_request};
use pawl_kernel::time::Timestamp;
use serde_json::{Map, Value, json};

use super::firings::Firings;
use super::ground::{Ground, Queue};
use crate::bench::BenchError;
use crate::system::SystemEntropy;

const HOUR: Duration = Duration::from_secs(3_600);
const YEAR: Duration = Duration::from_secs(365 * 86_400);
/// Each goes through all of the table in order: quick, and its pages end up as full as many single writes leave them.
const PASSES: u64 = 2;

/// The options of a worker whose actions only pretend.
pub(super) fn options(firings: &Firings) -> Options {
    Options {
        worker_id: "bench".into(),
        allow_mock: true,
        on_mock: Some(firings.hook()),
        ..Options::default()
    }
}

/// The body of a `PUT` for an action that only pretends.
pub(super) fn body(start_at: Timestamp) -> Value {
    json!({"spec": {"start_at": start_at.to_string(), "policy": {"once": {}}, "action": {"mock": {}}}})
}

/// Ids that begin like this, in no order: their rows are all over the table.
pub(super) fn fresh_id(name: &str) -> String {
    format!("{name}-{}", id::random(&SystemEntropy))
}

/// Some time in the next year, but not in the next hour.
pub(super) fn far_time(now: Timestamp) -> Timestamp {
    let micros = SystemEntropy.bits() % YEAR.as_micros();
    now.plus(HOUR + Duration::from_micros(micros as u64))
}

/// `count` of them, planned `apart` from each other, the first at `first`.
pub(super) fn actions(
    name: &str,
    count: u64,
    first: Timestamp,
    apart: Duration,
    now: Timestamp,
) -> Result<impl Iterator<Item = ScheduledAction>, BenchError> {
    let name = name.to_owned();
    let ids = (0..count).map(move |_| fresh_id(&name));
    of_ids(ids, first, apart, now)
}

fn of_ids(
    ids: impl Iterator<Item = String>,
    first: Timestamp,
    apart: Duration,
    now: Timestamp,
) -> Result<impl Iterator<Item = ScheduledAction>, BenchError> {
    let Request { spec, .. } = read_request(&body(first), Author::Engine, now).map_err(refused)?;
    let mut next = first;
    let action = move |id: String| {
        let mut spec = spec.clone();
        spec.start_at = next;
        next = next.plus(apart);
        let request = Put {
            id,
            guid: id::random(&SystemEntropy),
            spec,
            notes: Map::new(),
            mode: Override::None,
            written_by: "bench".into(),
        };
        // Where there is none before, nothing can be in the way.
        put(None, request, now).ok()
    };
    Ok(ids.filter_map(action))
}

fn refused(found: Vec<pawl_kernel::diagnostic::Diagnostic>) -> BenchError {
    let messages: Vec<_> = found.into_iter().map(|one| one.message).collect();
    BenchError::Failed(messages.join("; "))
}

/// A million actions over the next year, or a tenth of that, none of them due within the hour. Workers have taken them
/// in already. Returns what one of them took.
pub(super) async fn fill_pending(ground: &dyn Ground, quick: bool) -> Result<Duration, BenchError> {
    let count: u64 = if quick { 100_000 } else { 1_000_000 };
    eprintln!("filling in {count} pending actions");
    let now = ground.clock().now();
    let each = count / PASSES;
    let start = Instant::now();
    for _ in 0..PASSES {
        let mut ids: Vec<String> = (0..each).map(|_| fresh_id("pending")).collect();
        ids.sort_unstable();
        let apart = YEAR / each as u32;
        let actions = of_ids(ids.into_iter(), now.plus(HOUR * 2), apart, now)?;
        ground.fill_all(actions, Queue::Processing).await?;
    }
    let took = start.elapsed();
    ground.expect_actions("pending-", count).await?;
    Ok(took / count as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_times_are_evenly_apart_and_ids_are_different() {
        let first = Timestamp::from_micros(1_800_000_000_000_000);
        let apart = Duration::from_micros(200);
        let found: Vec<_> = actions("rate", 3, first, apart, first).unwrap().collect();
        let times: Vec<_> = found.iter().map(|action| action.due_at()).collect();
        let expected = [0, 200, 400].map(|micros| Some(first.plus(Duration::from_micros(micros))));
        assert_eq!(times, expected);
        assert!(found.iter().all(|action| action.id.starts_with("rate-")));
        assert_ne!(found[0].id, found[1].id);
    }

    #[test]
    fn what_is_far_is_neither_near_nor_never() {
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        for _ in 0..100 {
            let ahead = far_time(now).since(now);
            assert!(ahead >= HOUR && ahead <= HOUR + YEAR);
        }
    }
}
