//! Waiting in tests, for what other processes do.

use std::time::{Duration, Instant};

/// Longer than anything here may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The helpers of the services block, and the test's runtime must go on meanwhile.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// Looks again and again: for what gives no signal.
pub(crate) async fn eventually<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look).await
}

pub(crate) async fn within<T>(
    limit: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
