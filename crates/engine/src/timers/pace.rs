//! How fast to catch up with the backlog: after an outage not everything should happen at once. A token bucket.

use std::time::Duration;

use pawl_kernel::time::Timestamp;

/// A few at a time, so that waiting for the next ones is not a query each.
const BREATH: Duration = Duration::from_millis(50);

pub(super) struct Pace {
    per_second: f64,
    left: f64,
    at: Timestamp,
}

impl Pace {
    pub(super) fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second.max(1));
        Self {
            per_second,
            left: per_second,
            at: Timestamp::default(),
        }
    }

    /// How many may go now. What was not used up is not saved for longer than a second.
    pub(super) fn left(&mut self, now: Timestamp) -> usize {
        let earned = now.since(self.at).as_secs_f64() * self.per_second;
        self.left = (self.left + earned).min(self.per_second);
        self.at = now;
        self.left as usize
    }

    pub(super) fn spend(&mut self, rows: usize) {
        self.left = (self.left - rows as f64).max(0.0);
    }

    pub(super) fn next(&self, now: Timestamp) -> Timestamp {
        let one = Duration::from_secs_f64(1.0 / self.per_second);
        now.plus(one.max(BREATH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_has_more_than_its_share() {
        let start = Timestamp::from_micros(1_000_000_000);
        let mut pace = Pace::new(100);
        let mut gone = 0;
        for tick in 0..100 {
            let now = start.plus(Duration::from_millis(tick * 50));
            let now_left = pace.left(now);
            pace.spend(now_left);
            gone += now_left;
        }
        // A full second's worth at first, then so many for each of almost five seconds.
        assert!((590..=600).contains(&gone), "{gone}");
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nothing() {
        let mut pace = Pace::new(10);
        let late = Timestamp::from_micros(9_000_000_000);
        pace.left(late);
        pace.spend(10);
        let early = Timestamp::from_micros(1_000_000_000);
        assert_eq!(pace.left(early), 0);
        assert_eq!(pace.left(early.plus(Duration::from_secs(1))), 10);
    }
}
