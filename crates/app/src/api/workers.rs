//! Who runs the executions: every worker as it last reported itself.

use axum::extract::State;
use pawl_engine::alive_since;

use super::ApiState;
use super::error::ApiResult;
use super::reply;
use crate::wire::{Page, Worker};

/// Those that live. There are few, so there is one page.
pub(super) async fn list(State(state): State<ApiState>) -> ApiResult {
    let since = alive_since(&state.runtime().options, state.now());
    let records = state.store().workers(since).await?;
    Ok(reply::ok(&Page {
        items: records.iter().map(Worker::from).collect(),
        next: None,
    }))
}
