//! How many jobs a store writes together. Stores count, the metrics read.

use std::sync::atomic::{AtomicU64, Ordering};

/// Upper ends of the buckets; a bucket without an end follows.
pub const BOUNDS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// The sizes of all batches since the start.
#[derive(Debug, Default)]
pub struct BatchSizes {
    counts: [AtomicU64; BOUNDS.len() + 1],
    jobs: AtomicU64,
}

impl BatchSizes {
    pub fn record(&self, jobs: usize) {
        let jobs = jobs as u64;
        let bucket = BOUNDS.partition_point(|bound| *bound < jobs);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.jobs.fetch_add(jobs, Ordering::Relaxed);
    }

    /// How many batches fell into each bucket.
    pub fn counts(&self) -> [u64; BOUNDS.len() + 1] {
        std::array::from_fn(|bucket| self.counts[bucket].load(Ordering::Relaxed))
    }

    /// Batches, and jobs in all of them.
    pub fn totals(&self) -> (u64, u64) {
        let batches = self.counts().iter().sum();
        (batches, self.jobs.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_their_buckets() {
        let sizes = BatchSizes::default();
        for jobs in [1, 1, 2, 3, 512, 513] {
            sizes.record(jobs);
        }
        assert_eq!(sizes.counts(), [2, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(sizes.totals(), (6, 1_032));
    }
}
