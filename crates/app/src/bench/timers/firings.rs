//! Who was made, and how late.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pawl_engine::{MockHook, MockRun};
use pawl_kernel::time::{Clock, Timestamp};

use crate::bench::{BenchError, percentile};

struct Firing {
    action_id: String,
    planned_at: Timestamp,
    at: Timestamp,
}

/// Everything that was made since the last look.
#[derive(Clone, Default)]
pub(super) struct Firings(Arc<Mutex<Vec<Firing>>>);

impl Firings {
    pub(super) fn hook(&self) -> MockHook {
        let firings = self.clone();
        let note = move |run: MockRun| firings.note(run.action_id, run.planned_at, run.at);
        MockHook(Arc::new(note))
    }

    pub(super) fn note(&self, action_id: String, planned_at: Timestamp, at: Timestamp) {
        self.with(|firings| {
            firings.push(Firing {
                action_id,
                planned_at,
                at,
            });
        });
    }

    fn with<T>(&self, look: impl FnOnce(&mut Vec<Firing>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn count(&self) -> usize {
        self.with(|firings| firings.len())
    }

    /// Until there are `count` of them. Those that come too late for that never come.
    pub(super) async fn wait_for(
        &self,
        count: u64,
        clock: &dyn Clock,
        give_up_at: Timestamp,
    ) -> Result<(), BenchError> {
        while (self.count() as u64) < count {
            if clock.now() > give_up_at {
                return Err(BenchError::Failed(format!(
                    "of {count} actions only {} were made in time",
                    self.count()
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// What they come to. `count` different ones must have been made, none twice.
    pub(super) fn take(&self, count: u64) -> Result<Lateness, BenchError> {
        let firings = self.with(std::mem::take);
        let ids: HashSet<&str> = firings.iter().map(|one| one.action_id.as_str()).collect();
        if ids.len() as u64 != count || firings.len() as u64 != count {
            return Err(BenchError::Failed(format!(
                "{count} actions were planned; {} were made, {} times",
                ids.len(),
                firings.len()
            )));
        }
        Ok(Lateness::of(&firings))
    }
}

/// Milliseconds, and how many were made in a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lateness {
    /// From the first planned time to the last that was made.
    pub(super) rate: f64,
    /// From the first that was made to the last.
    pub(super) burst: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

impl Lateness {
    fn of(firings: &[Firing]) -> Self {
        let late = |one: &Firing| (one.at.as_micros() - one.planned_at.as_micros()) as f64 / 1e3;
        let mut times: Vec<f64> = firings.iter().map(late).collect();
        let planned = firings.iter().map(|one| one.planned_at).min();
        let first = firings.iter().map(|one| one.at).min();
        let last = firings.iter().map(|one| one.at).max().unwrap_or_default();
        let per_second = |from: Option<Timestamp>| {
            firings.len() as f64 / last.since(from.unwrap_or_default()).as_secs_f64()
        };
        Self {
            rate: per_second(planned),
            burst: per_second(first),
            p50: percentile(&mut times, 0.5),
            p99: percentile(&mut times, 0.99),
            max: percentile(&mut times, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_micros(millis * 1_000)
    }

    #[test]
    fn lateness_counts_from_the_planned_time() {
        let firings = Firings::default();
        for number in 0..100 {
            let planned_at = at(number * 10);
            let late = if number == 99 { 50 } else { 5 };
            firings.note(number.to_string(), planned_at, at(number * 10 + late));
        }
        let lateness = firings.take(100).unwrap();
        assert_eq!((lateness.p50, lateness.max), (5.0, 50.0));
        // 990 ms to the last planned time, and that one was 50 ms late.
        assert!((lateness.rate - 100.0 / 1.04).abs() < 0.1);
        assert!((lateness.burst - 100.0 / 1.035).abs() < 0.1);
        assert_eq!(firings.count(), 0);
    }

    #[test]
    fn one_that_was_made_twice_is_no_figure() {
        let firings = Firings::default();
        for id in ["a", "b", "a"] {
            firings.note(id.into(), at(0), at(1));
        }
        let refusal = firings.take(3).unwrap_err().to_string();
        assert_eq!(refusal, "3 actions were planned; 2 were made, 3 times");
        firings.note("a".into(), at(0), at(1));
        assert!(firings.take(2).is_err());
    }
}
