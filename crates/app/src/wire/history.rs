//! What an execution did: steps, contexts, log lines.

use std::borrow::Cow;

use pawl_engine::control::RemovedSteps;
use pawl_kernel::execution::{self, LogRecord, Signal, StepStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::executions::{NodeTry, RunError};
use super::name::{ContextSide, LogLevel};
use super::{Change, Name, Payload, Time, given, is_false};

/// One finished visit of a node.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Step<'a> {
    /// From 1.
    pub(crate) seq: u64,
    pub(crate) node_id: Cow<'a, str>,
    pub(crate) node_type: Cow<'a, str>,
    pub(crate) status: Name<StepStatus>,
    /// The config the node ran with.
    pub(crate) input: Option<Payload<'a>>,
    /// What it gave.
    pub(crate) output: Option<Payload<'a>>,
    /// Variables it set.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub(crate) changes: Option<Payload<'a>>,
    /// How it failed.
    #[schemars(with = "Option<RunError>")]
    pub(crate) error: Option<Payload<'a>>,
    /// Every try, if there was more than one.
    #[schemars(with = "Option<Vec<NodeTry>>")]
    pub(crate) attempts: Option<Payload<'a>>,
    pub(crate) prev_node_id: Option<Cow<'a, str>>,
    pub(crate) next_node_id: Option<Cow<'a, str>>,
    /// The exit it left by, with or without an edge there; null if it left by none (it ended or failed for good, or is an
    /// edit), and if it is not known (made by an earlier Pawl, with several exits to the same node).
    pub(crate) handle: Option<Cow<'a, str>>,
    pub(crate) started_at: Time,
    pub(crate) finished_at: Time,
    pub(crate) duration_ms: f64,
    /// True if it was taken over from the execution that this one was retried or forked from; left out otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) inherited: bool,
}

impl<'a> Step<'a> {
    /// A step of the history of an execution whose own steps begin after `base_seq`.
    pub(crate) fn in_history(step: &'a execution::Step, base_seq: u64) -> Self {
        Self {
            inherited: step.seq <= base_seq,
            ..Self::from(step)
        }
    }
}

impl Step<'_> {
    /// Without its payloads.
    pub(crate) fn brief(self) -> Self {
        Self {
            input: None,
            output: None,
            changes: None,
            attempts: None,
            ..self
        }
    }
}

impl<'a> From<&'a execution::Step> for Step<'a> {
    fn from(step: &'a execution::Step) -> Self {
        Self {
            seq: step.seq,
            node_id: Cow::from(&*step.node_id),
            node_type: Cow::from(&*step.node_type),
            status: step.status.into(),
            input: Payload::stored(step.input.as_ref()),
            output: Payload::stored(step.output.as_ref()),
            changes: Payload::stored(step.changes.as_ref()),
            error: Payload::stored(step.error.as_ref()),
            attempts: Payload::stored(step.attempts.as_ref()),
            prev_node_id: step.prev_node_id.as_deref().map(Cow::from),
            next_node_id: step.next_node_id.as_deref().map(Cow::from),
            handle: step.handle.as_deref().map(Cow::from),
            started_at: Time(step.started_at),
            finished_at: Time(step.finished_at),
            duration_ms: step.finished_at.since(step.started_at).as_micros() as f64 / 1_000.0,
            inherited: false,
        }
    }
}

/// A page of steps, and what of the beginning is not kept any more.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct StepPage<'a> {
    pub(crate) items: Vec<Step<'a>>,
    /// Give it as `cursor` for the next page; null at the end.
    pub(crate) next: Option<String>,
    /// Steps at the beginning that were taken over from an execution that is not kept any more; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gone: Option<GoneSteps>,
}

/// Steps that are not kept any more.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct GoneSteps {
    pub(crate) up_to: u64,
    pub(crate) execution_id: Uuid,
    pub(crate) message: String,
}

impl From<&RemovedSteps> for GoneSteps {
    fn from(gone: &RemovedSteps) -> Self {
        Self {
            up_to: gone.up_to,
            execution_id: gone.id.0,
            message: gone.message(),
        }
    }
}

/// What expressions saw before and after a step.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct StepContext {
    pub(crate) seq: u64,
    pub(crate) before: Map<String, Value>,
    pub(crate) after: Map<String, Value>,
    pub(crate) difference: Vec<Change>,
}

/// A part of a context, or of what a step changed in it, without what is too large.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ContextView {
    pub(crate) seq: u64,
    pub(crate) view: Name<ContextSide>,
    /// Of the part; empty for all of it.
    pub(crate) pointer: String,
    /// Of the whole part as compact JSON.
    pub(crate) bytes: usize,
    /// The part. Instead of what is too large it has `{"$cut": bytes, "type", "items" or "start"}`; left out of differences.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) value: Option<Value>,
    /// What the step changed; left out of other views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) difference: Option<Vec<Change>>,
    /// JSON pointers into this answer: what was cut.
    pub(crate) cut: Vec<String>,
    /// Changes that are not shown at all.
    pub(crate) left_out: usize,
}

/// Both contexts, or a view of one.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ContextAnswer {
    Whole(StepContext),
    View(ContextView),
}

/// What expressions see now.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct CurrentContext<'a> {
    pub(crate) seq: u64,
    pub(crate) context: Cow<'a, Map<String, Value>>,
}

/// What a node wrote to the log of its execution.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LogLine<'a> {
    pub(crate) id: u64,
    pub(crate) seq: u64,
    pub(crate) node_id: Cow<'a, str>,
    pub(crate) level: Name<LogLevel>,
    pub(crate) message: Cow<'a, str>,
    pub(crate) at: Time,
}

impl<'a> From<&'a (u64, LogRecord)> for LogLine<'a> {
    fn from((id, record): &'a (u64, LogRecord)) -> Self {
        Self {
            id: *id,
            seq: record.seq,
            node_id: Cow::from(&*record.node_id),
            level: Name::new(record.level),
            message: Cow::from(&*record.message),
            at: Time(record.at),
        }
    }
}

/// An event that was sent to an execution.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Signal")]
pub(crate) struct TakenSignal<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) payload: Payload<'a>,
    pub(crate) received_at: Time,
    /// The step that took it; null while it waits.
    pub(crate) consumed_by: Option<u64>,
}

impl<'a> From<&'a Signal> for TakenSignal<'a> {
    fn from(signal: &'a Signal) -> Self {
        Self {
            id: signal.id.as_str().into(),
            name: signal.name.as_str().into(),
            payload: Payload::Stored(&signal.payload),
            received_at: Time(signal.created_at),
            consumed_by: signal.consumed_seq,
        }
    }
}
