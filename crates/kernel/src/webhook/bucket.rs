//! How many calls a webhook takes: as many as its rate names at once, and as many again as time goes by.

use std::time::Duration;

use crate::quota::Rate;
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    /// When it would be full again.
    full_at: Option<Timestamp>,
}

impl Bucket {
    /// Takes one; if there is none, says how long it takes until there is.
    pub fn take(&mut self, rate: Rate, now: Timestamp) -> Result<(), Duration> {
        let one = rate.period() / rate.count();
        // A clock that was set back must not close it for as long as it was wrong.
        let full_at = self.full_at.unwrap_or(now).max(now);
        let full_at = full_at.min(now.plus(rate.period()));
        self.full_at = Some(full_at);
        let after = full_at.plus(one);
        match after.since(now).checked_sub(rate.period()) {
            Some(missing) if !missing.is_zero() => Err(missing),
            _ => {
                self.full_at = Some(after);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn taken(bucket: &mut Bucket, rate: &str, now: Timestamp) -> usize {
        let rate = rate.parse().unwrap();
        (0..1_000)
            .take_while(|_| bucket.take(rate, now).is_ok())
            .count()
    }

    #[test]
    fn as_many_at_once_as_the_rate_names_and_then_as_time_goes_by() {
        let mut bucket = Bucket::default();
        assert_eq!(taken(&mut bucket, "10/s", START), 10);
        let wait = bucket.take("10/s".parse().unwrap(), START).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        let later = |millis| START.plus(Duration::from_millis(millis));
        assert_eq!(taken(&mut bucket, "10/s", later(99)), 0);
        assert_eq!(taken(&mut bucket, "10/s", later(350)), 3);
        assert_eq!(taken(&mut bucket, "10/s", later(60_000)), 10);
        assert_eq!(taken(&mut Bucket::default(), "1/h", START), 1);
    }

    #[test]
    fn a_clock_set_back_does_not_close_it() {
        let mut bucket = Bucket::default();
        let late = START.plus(Duration::from_secs(86_400));
        assert_eq!(taken(&mut bucket, "5/s", late), 5);
        assert!(bucket.take("5/s".parse().unwrap(), START).is_err());
        assert_eq!(
            taken(&mut bucket, "5/s", START.plus(Duration::from_secs(2))),
            5
        );
    }
}
