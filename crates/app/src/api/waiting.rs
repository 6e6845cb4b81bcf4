//! Waiting for an execution to end, without polling: hints wake, and a slow re-read covers a lost one.

use std::time::Duration;

use pawl_engine::Watcher;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::ExecutionView;
use tokio::time::{Instant, sleep_until};

use super::ApiState;
use super::error::ApiResult;

/// The execution as it is at its end, or when `wait` or the server is over.
pub(super) async fn for_end(
    state: &ApiState,
    id: ExecutionId,
    wait: Option<Duration>,
) -> ApiResult<ExecutionView> {
    let Some(wait) = wait else {
        return Ok(state.control.view(id).await?);
    };
    let deadline = Instant::now() + wait;
    // Watched before the first look, so that no change falls between the two.
    let mut watcher = state.runtime().hints.watch(id);
    loop {
        let view = state.control.view(id).await?;
        let now = Instant::now();
        if view.execution.head.status.is_terminal() || now >= deadline || state.stop.is_cancelled()
        {
            return Ok(view);
        }
        tokio::select! {
            () = ended(&mut watcher) => {}
            () = sleep_until(deadline.min(now + state.limits.reread)) => {}
            () = state.stop.cancelled() => {}
        }
    }
}

/// Steps on the way are no reason to look.
async fn ended(watcher: &mut Watcher) {
    while watcher.changed().await.ended.is_none() {}
}
