//! The path of an execution in columns: small enough for ten thousand steps.

use std::borrow::Cow;

use pawl_kernel::execution::StepStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GoneSteps, Name, Time};

/// Every step without its payloads, in columns of the same length: entry `i` is step `from + i`.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Outline<'a> {
    /// The last finished step of the execution.
    pub(crate) seq: u64,
    /// Steps up to here were taken over.
    pub(crate) base_seq: u64,
    /// The step of the first entry, also where there is none yet.
    pub(crate) from: u64,
    /// What `node` counts.
    pub(crate) nodes: Vec<OutlinedNode<'a>>,
    /// What `status` counts.
    pub(crate) statuses: Vec<Name<StepStatus>>,
    /// What `handle` counts.
    pub(crate) handles: Vec<Cow<'a, str>>,
    /// What `start` counts from; null if there is no entry.
    pub(crate) origin: Option<Time>,
    pub(crate) node: Vec<usize>,
    pub(crate) status: Vec<usize>,
    /// The exit; null if it left by none, or by one that is not known.
    pub(crate) handle: Vec<Option<usize>>,
    /// Microseconds after `origin`.
    pub(crate) start: Vec<i64>,
    /// Microseconds.
    pub(crate) duration: Vec<i64>,
    /// How often the node was tried.
    pub(crate) tries: Vec<u32>,
    /// Give it as `after` for the rest; null at the end.
    pub(crate) next: Option<u64>,
    /// Steps at the beginning that are not kept any more; left out if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gone: Option<GoneSteps>,
}

/// A node that was visited.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct OutlinedNode<'a> {
    pub(crate) id: Cow<'a, str>,
    #[serde(rename = "type")]
    pub(crate) node_type: Cow<'a, str>,
}
