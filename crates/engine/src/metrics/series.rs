//! The numbers themselves: counters, gauges and histograms of atomics. Counting is one relaxed addition, or two;
//! nothing here locks or allocates after it was made.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::describe::Buckets;

/// Only ever grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn increment(&self) {
        self.add(1);
    }

    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Higher by `amount` for as long as the answer lives.
    pub fn raised(self: &Arc<Self>, amount: i64) -> GaugeGuard {
        self.0.fetch_add(amount, Ordering::Relaxed);
        GaugeGuard {
            gauge: self.clone(),
            amount,
        }
    }
}

/// What [`Gauge::raised`] added; dropping takes it away, also when a task is aborted.
#[derive(Debug)]
pub struct GaugeGuard {
    gauge: Arc<Gauge>,
    amount: i64,
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.gauge.0.fetch_sub(self.amount, Ordering::Relaxed);
    }
}

/// How often values fell between fixed bounds. Whole numbers inside, so that a sum is one addition too.
#[derive(Debug)]
pub struct Histogram {
    buckets: &'static Buckets,
    /// One more than there are bounds: the last is for what is above all of them.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    pub fn new(buckets: &'static Buckets) -> Self {
        let counts = (0..=buckets.bounds.len()).map(|_| AtomicU64::new(0));
        Self {
            buckets,
            counts: counts.collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// In the unit of the bounds.
    pub fn record(&self, value: u64) {
        let bucket = self.buckets.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// For histograms of time, whose bounds are microseconds.
    pub fn record_time(&self, time: Duration) {
        self.record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    pub fn counts(&self) -> Counts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            buckets: self.counts.iter().map(load).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// What a histogram holds at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many fell into each bucket alone, the last one being without a bound.
    pub buckets: Vec<u64>,
    pub sum: u64,
}

#[cfg(test)]
mod tests {
    use super::super::describe::Buckets;
    use super::*;

    static SMALL: Buckets = Buckets {
        bounds: &[1, 2, 4],
        per_unit: 1,
    };

    #[test]
    fn a_value_falls_into_the_first_bucket_that_holds_it() {
        let histogram = Histogram::new(&SMALL);
        for value in [0, 1, 2, 3, 4, 5, 1_000_000] {
            histogram.record(value);
        }
        let expected = Counts {
            buckets: vec![2, 1, 2, 2],
            sum: 1_000_015,
        };
        assert_eq!(histogram.counts(), expected);
    }

    #[test]
    fn a_gauge_falls_back_when_what_raised_it_is_dropped() {
        let gauge = Arc::new(Gauge::default());
        let (one, two) = (gauge.raised(1), gauge.raised(5));
        assert_eq!(gauge.get(), 6);
        drop(two);
        assert_eq!(gauge.get(), 1);
        drop(one);
        assert_eq!(gauge.get(), 0);
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let (histogram, counter) = (Histogram::new(&SMALL), Counter::default());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for value in 0..10_000 {
                        histogram.record(value % 8);
                        counter.increment();
                    }
                });
            }
        });
        let counts = histogram.counts();
        assert_eq!(counts.buckets.iter().sum::<u64>(), 40_000);
        assert_eq!(counts.sum, 4 * 10_000 / 8 * 28);
        assert_eq!(counter.get(), 40_000);
    }
}
