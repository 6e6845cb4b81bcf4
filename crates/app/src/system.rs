//! The real clock, real randomness, and the threads to run on.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pawl_kernel::id::Entropy;
use pawl_kernel::time::{Clock, Timestamp};

/// The runtime of the process. One core is left to the store's writer, which is busy whenever the engine is: with a
/// thread more than cores the two take turns instead of working side by side (measured: a fifth slower on two cores).
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.saturating_sub(1).max(1))
        .enable_all()
        .build()
}

pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)] // The one place that reads the system's clock.
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_micros(since.as_micros() as i64)
    }

    async fn sleep_until(&self, until: Timestamp) {
        // The runtime counts in its own monotonic time: look again in case the wall clock was stepped, and at
        // least once a minute so that a step forward is noticed.
        loop {
            let left = until.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(Duration::from_secs(60))).await;
        }
    }
}

/// The operating system's randomness, fetched in blocks: a draw per commit must not be a system call each.
pub struct SystemEntropy;

const BLOCK: usize = 4_096;

struct Buffer {
    bytes: [u8; BLOCK],
    used: usize,
}

thread_local! {
    static BUFFER: RefCell<Buffer> = const { RefCell::new(Buffer { bytes: [0; BLOCK], used: BLOCK }) };
}

impl Entropy for SystemEntropy {
    fn bits(&self) -> u128 {
        BUFFER.with_borrow_mut(|buffer| {
            if buffer.used + 16 > BLOCK {
                // Without randomness no token is safe: there is nothing sensible to go on with.
                #[allow(clippy::expect_used)]
                getrandom::fill(&mut buffer.bytes)
                    .expect("the operating system gives no random bytes");
                buffer.used = 0;
            }
            let mut draw = [0; 16];
            draw.copy_from_slice(&buffer.bytes[buffer.used..buffer.used + 16]);
            buffer.bytes[buffer.used..buffer.used + 16].fill(0);
            buffer.used += 16;
            u128::from_be_bytes(draw)
        })
    }
}
