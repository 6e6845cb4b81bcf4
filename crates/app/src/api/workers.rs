//! Who runs the executions: every worker as it last reported itself.

use axum::extract::State;
use pawl_engine::alive_since;
use pawl_kernel::ports::workers::WorkerRecord;
use serde::Serialize;

use super::ApiState;
use super::error::ApiResult;
use super::wire::{self, Page, Time};

#[derive(Serialize)]
struct WorkerJson<'a> {
    id: &'a str,
    roles: &'a [String],
    node_types: &'a [String],
    slots: u32,
    busy: u32,
    /// Some of the executions in its hands.
    doing: &'a [String],
    version: &'a str,
    started_at: Time,
    heartbeat_at: Time,
}

impl<'a> From<&'a WorkerRecord> for WorkerJson<'a> {
    fn from(record: &'a WorkerRecord) -> Self {
        Self {
            id: &record.id,
            roles: &record.roles,
            node_types: &record.node_types,
            slots: record.slots,
            busy: record.busy,
            doing: &record.doing,
            version: &record.version,
            started_at: Time(record.started_at),
            heartbeat_at: Time(record.heartbeat_at),
        }
    }
}

/// Those that live. There are few, so there is one page.
pub(super) async fn list(State(state): State<ApiState>) -> ApiResult {
    let since = alive_since(&state.parts().options, state.now());
    let records = state.store().workers(since).await?;
    Ok(wire::ok(&Page {
        items: records.iter().map(WorkerJson::from).collect(),
        next: None,
    }))
}
