//! Why an execution is where it is, and where two runs part.

use pawl_engine::insight::explain::Explanation;
use pawl_kernel::execution::{Status, StepStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::name::ChangeKind;
use super::{GoneSteps, Name, Time, given, is_false};

/// One place at which two values differ.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Change {
    pub(crate) op: Name<ChangeKind>,
    /// JSON pointer.
    pub(crate) path: String,
    /// Any.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) before: Option<Value>,
    /// Any.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) after: Option<Value>,
}

/// Why an execution is where it is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Explanation")]
pub(crate) struct ExplainAnswer {
    /// Stable, for programs.
    pub(crate) reason: String,
    /// For people.
    pub(crate) sentence: String,
    /// What the sentence names, as data, so that it can be said in another language.
    pub(crate) params: Map<String, Value>,
    pub(crate) facts: Map<String, Value>,
}

impl From<Explanation> for ExplainAnswer {
    fn from(found: Explanation) -> Self {
        Self {
            reason: found.reason.to_owned(),
            sentence: found.sentence,
            params: found.params,
            facts: found.facts,
        }
    }
}

/// Two runs side by side.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Difference")]
pub(crate) struct Comparison {
    pub(crate) same_path: bool,
    /// The first step at which path, status or values differ; null if they do not.
    pub(crate) first_divergence: Option<Divergence>,
    pub(crate) steps: Vec<StepPair>,
    pub(crate) duration_ms: BothDurations,
    pub(crate) left: ComparedRun,
    pub(crate) right: ComparedRun,
}

/// One of the two runs.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ComparedRun {
    pub(crate) id: Uuid,
    pub(crate) schema: String,
    pub(crate) version: u32,
    pub(crate) status: Name<Status>,
    pub(crate) created_at: Time,
    pub(crate) finished_at: Option<Time>,
    /// Steps at the beginning that are not kept any more; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gone: Option<GoneSteps>,
}

/// Where two runs part.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Divergence {
    /// Its place in the runs, from 1.
    pub(crate) index: u64,
    /// `path`, `status`, `output`, `error` or `length`.
    pub(crate) what: String,
    pub(crate) left: Option<StepPlace>,
    pub(crate) right: Option<StepPlace>,
}

/// A step of one of the runs.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct StepPlace {
    pub(crate) seq: u64,
    pub(crate) node_id: String,
}

/// The same visit of the same node in both runs.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct StepPair {
    pub(crate) node_id: String,
    /// Which visit of the node, from 1.
    pub(crate) visit: u32,
    /// Null if this run did not come there.
    pub(crate) left: Option<ShownStep>,
    /// Null if this run did not come there.
    pub(crate) right: Option<ShownStep>,
    pub(crate) same: bool,
    pub(crate) difference: Vec<Change>,
}

/// One side of a pair.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ShownStep {
    pub(crate) seq: u64,
    pub(crate) status: Name<StepStatus>,
    pub(crate) duration_ms: f64,
    /// True if it was taken over; left out otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) inherited: bool,
}

/// How long each run took.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct BothDurations {
    pub(crate) left: f64,
    pub(crate) right: f64,
}
