//! The time of the database, which is the time of all workers: leases and timers of many machines must not depend on
//! how well each keeps its clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::{Clock, Timestamp};

use crate::error::{Fault, Outcome};
use crate::session::{Pool, Session};
use crate::{sql, value};

/// How often the database is asked what time it is.
const RESYNC: Duration = Duration::from_secs(60);
/// How far a machine's own clock may run wrong: one part in ten thousand.
const DRIFT: u32 = 10_000;
/// A correction backwards up to this is waited out: time does not go back for it. A larger one means that an operator
/// has set the server's clock, and waiting would stop every timer.
const WAITED_OUT: Duration = Duration::from_secs(5);

/// Counts on from the last time the database told, by this machine's monotonic clock: setting the machine's clock
/// changes nothing.
pub struct DatabaseClock {
    known: Mutex<ClockReading>,
    /// The latest time that any caller got.
    told: AtomicI64,
    pool: Arc<Pool>,
}

#[derive(Clone, Copy, Debug)]
struct ClockReading {
    time: Timestamp,
    at: Instant,
    /// The database looked within this time of `at`.
    doubt: Duration,
}

impl ClockReading {
    fn now(&self, at: Instant) -> Timestamp {
        self.time.plus(at.saturating_duration_since(self.at))
    }

    /// Does this answer say more than an earlier one does by now? A slow one says little, but more than nothing.
    fn is_better_than(&self, earlier: &Self) -> bool {
        let age = self.at.saturating_duration_since(earlier.at);
        self.doubt <= earlier.doubt + age / DRIFT
    }
}

/// The next time to tell, after `told`.
fn forward(told: i64, now: i64) -> i64 {
    let waited_out = i64::try_from(WAITED_OUT.as_micros()).unwrap_or(i64::MAX);
    match told.saturating_sub(now) {
        behind if (0..=waited_out).contains(&behind) => told,
        _ => now,
    }
}

impl DatabaseClock {
    pub(crate) async fn start(pool: Arc<Pool>) -> StoreResult<Arc<Self>> {
        let mut known = read(&pool).await.map_err(|fault| fault.of_read())?;
        for _ in 0..2 {
            let again = read(&pool).await.map_err(|fault| fault.of_read())?;
            if again.doubt < known.doubt {
                known = again;
            }
        }
        let clock = Arc::new(Self {
            known: Mutex::new(known),
            told: AtomicI64::new(i64::MIN),
            pool,
        });
        tokio::spawn(keep_right(Arc::downgrade(&clock)));
        Ok(clock)
    }

    fn known(&self) -> ClockReading {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, known: ClockReading) {
        let mut current = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_better_than(&current) {
            *current = known;
        }
    }
}

#[async_trait]
impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        let now = self.known().now(Instant::now()).as_micros();
        let told = self
            .told
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |told| {
                Some(forward(told, now))
            });
        Timestamp::from_micros(told.map_or(now, |told| forward(told, now)))
    }

    async fn sleep_until(&self, until: Timestamp) {
        // At least once a minute the database may have corrected us.
        loop {
            let left = until.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(RESYNC)).await;
        }
    }
}

/// Asks now and then, for as long as the clock is in use.
async fn keep_right(clock: std::sync::Weak<DatabaseClock>) {
    loop {
        tokio::time::sleep(RESYNC).await;
        let Some(clock) = clock.upgrade() else { return };
        if let Ok(known) = read(&clock.pool).await {
            clock.learn(known);
        }
    }
}

/// What time the database says it is.
pub(crate) async fn ask(session: &Session) -> Outcome<Timestamp> {
    let rows = session.alone(&sql::CLOCK_READ, &[]).await?;
    match rows.first() {
        Some(row) => Ok(row.try_get::<_, value::Time>(0)?.0),
        None => Err(Fault::Corrupt("the database does not say the time".into())),
    }
}

/// The middle between question and answer is when the database looked.
async fn read(pool: &Arc<Pool>) -> Outcome<ClockReading> {
    pool.run(|session| async move {
        session.ready(&[&sql::CLOCK_READ]).await?;
        let asked = Instant::now();
        let time = ask(&session).await?;
        let doubt = asked.elapsed() / 2;
        Ok(ClockReading {
            time,
            at: asked + doubt,
            doubt,
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(at: Instant, doubt_millis: u64) -> ClockReading {
        ClockReading {
            // A server whose clock is decades off.
            time: Timestamp::from_micros(1_000_000),
            at,
            doubt: Duration::from_millis(doubt_millis),
        }
    }

    #[test]
    fn it_is_the_servers_time_plus_what_has_passed() {
        let start = Instant::now();
        let later = start + Duration::from_secs(90);
        assert_eq!(known(start, 1).now(later).as_micros(), 91_000_000);
    }

    #[test]
    fn an_answer_counts_if_it_says_more_than_the_last_one_does_by_now() {
        let start = Instant::now();
        let minute = start + Duration::from_secs(60);
        assert!(known(minute, 7).is_better_than(&known(start, 1)));
        assert!(!known(minute, 8).is_better_than(&known(start, 1)));
        // A line that is always slow is corrected all the same.
        assert!(known(minute, 80).is_better_than(&known(start, 80)));
    }

    #[test]
    fn time_goes_back_only_if_somebody_has_set_the_clock() {
        assert_eq!(forward(i64::MIN, 5), 5);
        assert_eq!(forward(10, 12), 12);
        assert_eq!(forward(12, 10), 12);
        assert_eq!(forward(100_000_000, 10), 10);
    }
}
