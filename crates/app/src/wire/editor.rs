//! What editors keep beside the versions of a schema: layouts and pins. And names for them to complete.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pawl_kernel::execution::StepStatus;
use pawl_kernel::operations::{Pin as StoredPin, PinHead};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::{ConnectionKind, LogLevel};
use super::{Name, Payload, Text, Time};

/// Where a schema is drawn.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layout {
    /// By the id of a node; nodes that are not here are placed by the canvas. Up to 5000.
    #[serde(default)]
    pub(crate) positions: BTreeMap<String, Point>,
    /// Texts on the canvas. Up to 500.
    #[serde(default)]
    pub(crate) notes: Vec<CanvasNote>,
    /// Frames around nodes. Up to 500.
    #[serde(default)]
    pub(crate) groups: Vec<CanvasGroup>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// A text on the canvas.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CanvasNote {
    /// Its own among the notes, up to 200 characters.
    pub(crate) id: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Up to 4000 characters.
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) color: Option<String>,
}

/// A frame around nodes.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CanvasGroup {
    /// Its own among the groups, up to 200 characters.
    pub(crate) id: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Up to 200 characters.
    pub(crate) title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) color: Option<String>,
}

/// A layout as it is stored. Its ETag is the revision.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ShownLayout<'a> {
    pub(crate) positions: BTreeMap<String, Point>,
    pub(crate) notes: Vec<CanvasNote>,
    pub(crate) groups: Vec<CanvasGroup>,
    /// Counts the writes; 0: none was written, and the positions are those of the latest version.
    pub(crate) revision: u64,
    pub(crate) updated_by: Option<Cow<'a, str>>,
    pub(crate) updated_at: Option<Time>,
}

/// An output to use instead of running the node.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutPin {
    /// What `steps.NODE.output` is. Up to 256 KiB; null is a value.
    #[serde(default, deserialize_with = "super::given")]
    #[schemars(with = "Value")]
    pub(crate) output: Option<Value>,
    /// The exit to leave by; left out, the one that an edge without a name means.
    pub(crate) handle: Option<Text>,
}

/// An output that trial runs use instead of running the node.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Pin<'a> {
    pub(crate) node: Cow<'a, str>,
    /// Null: the exit that an edge without a name means.
    pub(crate) handle: Option<Cow<'a, str>>,
    /// Left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub(crate) output: Option<Payload<'a>>,
    /// Of the output.
    pub(crate) bytes: u64,
    pub(crate) updated_by: Cow<'a, str>,
    pub(crate) updated_at: Time,
}

impl<'a> From<&'a StoredPin> for Pin<'a> {
    fn from(pin: &'a StoredPin) -> Self {
        Self {
            node: pin.node_id.as_str().into(),
            handle: pin.handle.as_deref().map(Cow::from),
            output: Some(Payload::Stored(&pin.output)),
            bytes: pin.output.len() as u64,
            updated_by: pin.updated_by.as_str().into(),
            updated_at: Time(pin.updated_at),
        }
    }
}

impl<'a> From<&'a PinHead> for Pin<'a> {
    fn from(pin: &'a PinHead) -> Self {
        Self {
            node: pin.node_id.as_str().into(),
            handle: pin.handle.as_deref().map(Cow::from),
            output: None,
            bytes: pin.bytes,
            updated_by: pin.updated_by.as_str().into(),
            updated_at: Time(pin.updated_at),
        }
    }
}

/// One node to be tried by itself.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeTrialRequest {
    /// The node as the schema has it, or as it is going to.
    pub(crate) node: Map<String, Value>,
    /// What it sees: `input`, `variables`, `steps`, `webhook`.
    pub(crate) context: Option<Map<String, Value>>,
    /// The node whose output is `$json` in a script.
    pub(crate) previous: Option<Text>,
}

/// What a node did that was tried by itself. Nothing of it is stored.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeTrialResult<'a> {
    pub(crate) status: Name<StepStatus>,
    /// The exit it would leave by; null if it ends the run or waits.
    pub(crate) handle: Option<Cow<'a, str>>,
    /// Its config with all expressions evaluated.
    pub(crate) input: Value,
    pub(crate) output: Value,
    /// Variables that it would set.
    pub(crate) changes: Map<String, Value>,
    /// `{code, message, retryable, details}`, or null.
    pub(crate) error: Value,
    /// What it would wait for; null if it would not wait.
    pub(crate) waits: Option<NodeTrialWait>,
    pub(crate) logs: Vec<NodeTrialLog>,
    pub(crate) started_at: Time,
    pub(crate) finished_at: Time,
    pub(crate) duration_ms: f64,
}

/// What a node would wait for: a time, an event, or an event until a time.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeTrialWait {
    pub(crate) until: Option<Time>,
    pub(crate) event: Option<String>,
}

/// A line that the node wrote.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeTrialLog {
    pub(crate) level: Name<LogLevel>,
    pub(crate) message: String,
}

/// A connection of the configuration. Its address is never shown.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct NamedConnection<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) kind: Name<ConnectionKind>,
}

/// A secret or a variable of the environment. Its value is never shown.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct KnownName<'a> {
    pub(crate) name: Cow<'a, str>,
}
