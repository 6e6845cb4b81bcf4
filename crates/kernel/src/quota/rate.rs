//! How many may be admitted in a time: `10/s`, `100/m`, `5000/h`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::time::Timestamp;

/// So many in every period, evenly spread: `10/s` is one every 100 ms. Above 20 a second some go together, so that
/// no scheduler has to look a thousand times a second; even then no period sees more than its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    count: u32,
    period: Period,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Period {
    Second,
    Minute,
    Hour,
}

/// What is admitted within this time may be admitted together.
const TOGETHER_MICROS: i64 = 50_000;
const COUNT_MAX: u32 = 1_000_000;

impl Period {
    const fn micros(self) -> i64 {
        match self {
            Self::Second => 1_000_000,
            Self::Minute => 60_000_000,
            Self::Hour => 3_600_000_000,
        }
    }

    const fn letter(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Minute => "m",
            Self::Hour => "h",
        }
    }
}

impl Rate {
    pub fn count(self) -> u32 {
        self.count
    }

    /// So many in this time.
    pub fn period(self) -> Duration {
        Duration::from_micros(self.period.micros() as u64)
    }

    /// How many may go together.
    fn burst(self) -> i64 {
        (i64::from(self.count) * TOGETHER_MICROS / self.period.micros()).max(1)
    }

    /// The time between two that do not go together. With `burst` at once, no period sees more than `count`.
    fn interval_micros(self) -> i64 {
        let spread = i64::from(self.count) - self.burst() + 1;
        // Rounded up: a little slower, never faster.
        (self.period.micros() + spread - 1) / spread
    }

    /// The first moment at which one may be admitted, if `next` is what the last admission left.
    pub(super) fn opens_at(self, next: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let slack = (self.burst() - 1) * self.interval_micros();
        let next = self.sane(next, now).as_micros();
        Timestamp::from_micros(next.saturating_sub(slack)).max(now)
    }

    /// How many may be admitted right now.
    pub(super) fn room(self, next: Option<Timestamp>, now: Timestamp) -> u64 {
        let start = self.sane(next, now).max(now).as_micros();
        let ahead = start - now.as_micros();
        let taken = (ahead + self.interval_micros() - 1) / self.interval_micros();
        (self.burst() - taken).max(0) as u64
    }

    /// What an admission at `now` leaves.
    pub(super) fn after(self, next: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let start = self.sane(next, now).max(now);
        start.plus(Duration::from_micros(self.interval_micros() as u64))
    }

    /// A clock that was set back must not close the quota for as long as it was wrong.
    fn sane(self, next: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let longest = Duration::from_micros((self.burst() * self.interval_micros()) as u64);
        next.unwrap_or(now).min(now.plus(longest))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.period.letter())
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{text}` is no rate; write 10/s, 100/m or 5000/h with a number from 1 to {COUNT_MAX}"
            )
        };
        let (count, period) = text.split_once('/').ok_or_else(bad)?;
        let count: u32 = count.trim().parse().map_err(|_| bad())?;
        let period = match period.trim() {
            "s" => Period::Second,
            "m" => Period::Minute,
            "h" => Period::Hour,
            _ => return Err(bad()),
        };
        if !(1..=COUNT_MAX).contains(&count) {
            return Err(bad());
        }
        Ok(Self { count, period })
    }
}
