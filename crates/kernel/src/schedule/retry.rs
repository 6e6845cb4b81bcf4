//! How often a firing is tried, and how long to wait in between.

use std::time::Duration;

/// So many interruptions of one firing are forgiven: what kills every worker that tries it must end some time.
pub const INTERRUPTIONS_MAX: u32 = 5;

/// `min(max, min + scale × backoff^failures)` between tries, at most `1 + max_retries` of them and those that were
/// interrupted.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    pub max_retries: u32,
    pub min: Duration,
    pub max: Duration,
    pub scale: Duration,
    /// Finite, at least 1.
    pub backoff: f64,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_retries: 0,
            min: Duration::from_secs(1),
            max: Duration::from_secs(3_600),
            scale: Duration::from_secs(1),
            backoff: 2.0,
        }
    }
}

impl Retry {
    /// How long to wait after an attempt; `failures` counts those before it.
    pub fn delay(&self, failures: u32) -> Duration {
        // Nothing times infinity is not a number.
        if self.scale.is_zero() {
            return self.min.min(self.max);
        }
        let factor = self
            .backoff
            .powi(i32::try_from(failures).unwrap_or(i32::MAX));
        let seconds = self.min.as_secs_f64() + self.scale.as_secs_f64() * factor;
        if seconds >= self.max.as_secs_f64() {
            return self.max;
        }
        Duration::from_micros((seconds * 1e6).round() as u64)
    }

    /// May there be another attempt after so many, some of which were interrupted?
    pub fn allows(&self, attempts: u32, interruptions: u32) -> bool {
        let failures = attempts.saturating_sub(interruptions);
        failures <= self.max_retries && interruptions <= INTERRUPTIONS_MAX
    }
}
