//! What the one stream of a page tells.

use pawl_kernel::id::ExecutionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::name::RunEventKind;
use super::{Execution, LogLine, Name, Step, Time};

/// The event `hello`, which comes first.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct HelloEvent {
    pub(crate) version: String,
    /// As in `GET /api/me`.
    pub(crate) ui_build: String,
    pub(crate) server_time: Time,
}

/// The event `runs`: these executions are new or have changed.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunsEvent {
    pub(crate) ids: Vec<Uuid>,
    /// Others too, or some may have been missed: read again what is shown.
    pub(crate) more: bool,
}

/// The event `run`: what an execution did.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunEvent<'a> {
    pub(crate) id: Uuid,
    /// Everything up to this version has been told.
    pub(crate) version: u64,
    /// `gone`: there is no such execution, or no longer.
    pub(crate) kind: Name<RunEventKind>,
    /// With `step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<Step<'a>>,
    /// With `status` and `end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) execution: Option<Execution<'a>>,
}

impl RunEvent<'_> {
    pub(crate) fn new(id: ExecutionId, kind: &'static str, version: u64) -> Self {
        Self {
            id: id.0,
            version,
            kind: Name::new(kind),
            step: None,
            execution: None,
        }
    }
}

/// The event `log`: what a node wrote to the log of an execution.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LogEvent<'a> {
    pub(crate) id: Uuid,
    pub(crate) line: LogLine<'a>,
}

/// The events `letters`, `workers` and `schemas`: something there has changed.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ChangeEvent {}
