//! How much memory this process has, as far as the system tells. SQLite counts its own for the whole process only, and
//! does not say which statement has it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer is good enough to begin with.
const RECENT: Duration = Duration::from_millis(50);

static LAST: Mutex<Option<(Instant, usize)>> = Mutex::new(None);

/// Bytes that are in memory and of no file. `None` where the system does not tell.
pub(crate) fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// As it was a moment ago.
pub(crate) fn recently() -> Option<usize> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match *last {
        Some((at, bytes)) if at.elapsed() < RECENT => Some(bytes),
        _ => {
            let bytes = resident()?;
            *last = Some((Instant::now(), bytes));
            Some(bytes)
        }
    }
}
