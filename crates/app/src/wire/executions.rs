//! An execution as it is now.

use std::borrow::Cow;

use pawl_kernel::execution::{self, Hold, PriorityClass, Status, Wait, WaitKind};
use pawl_kernel::operations;
use pawl_kernel::ports::store::ExecutionView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::brief::brief_error;
use super::{Name, Note, Payload, Time};

/// One run of one version of a schema.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Execution<'a> {
    pub(crate) id: Uuid,
    pub(crate) schema_id: Uuid,
    /// The schema's name.
    pub(crate) schema: Cow<'a, str>,
    /// Of the schema.
    pub(crate) version: u32,
    pub(crate) status: Name<Status>,
    /// The node it stands at.
    pub(crate) current_node_id: Cow<'a, str>,
    /// The last finished step, `<id>:<seq>`.
    pub(crate) current_step_id: Option<String>,
    /// Number of the last finished step.
    pub(crate) seq: u64,
    /// What it ended with.
    pub(crate) output: Option<Payload<'a>>,
    /// How it failed.
    #[schemars(with = "Option<RunError>")]
    pub(crate) error: Option<Payload<'a>>,
    pub(crate) created_by: Cow<'a, str>,
    pub(crate) created_at: Time,
    pub(crate) queued_at: Option<Time>,
    pub(crate) started_at: Option<Time>,
    pub(crate) finished_at: Option<Time>,
    pub(crate) debug_mode: bool,
    pub(crate) priority: Name<PriorityClass>,
    pub(crate) tenant: Option<Cow<'a, str>>,
    #[schemars(with = "Map<String, Value>")]
    pub(crate) labels: Payload<'a>,
    /// The quotas it counts against, like `tenant:acme`.
    pub(crate) quotas: Vec<Cow<'a, str>>,
    pub(crate) correlation_id: Cow<'a, str>,
    pub(crate) idempotency_key: Option<Cow<'a, str>>,
    pub(crate) retry_of: Option<Uuid>,
    /// Its newest retry.
    pub(crate) retried_as: Option<Uuid>,
    pub(crate) forked_from: Option<Uuid>,
    /// An editor's test, which lists and statistics leave out.
    pub(crate) trial: bool,
    /// When it came to the node it stands at: waits and timeouts count from here.
    pub(crate) entered_at: Time,
    /// The tries of that node so far; none in brief lists.
    #[schemars(with = "Vec<NodeTry>")]
    pub(crate) tries: Payload<'a>,
    /// Null if no worker has it.
    pub(crate) lease: Option<HeldLease<'a>>,
    /// What it was started with; left out unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) initial: Option<StartRecord>,
    /// Steps up to here belong to the execution it was made from.
    pub(crate) base_seq: u64,
    pub(crate) wait: Option<CurrentWait<'a>>,
    pub(crate) hold: Option<Name<Hold>>,
    pub(crate) stop_requested: bool,
    /// The try of the current node, from 1.
    pub(crate) attempt: u32,
    /// Why the try before failed, while the node is tried again. Long details are left out.
    #[schemars(with = "Option<RunError>")]
    pub(crate) last_error: Option<Payload<'a>>,
    /// Times it was picked up since its last commit.
    pub(crate) recoveries: u32,
    pub(crate) deadline_at: Time,
    /// Grows with every change; the cursor of its events.
    pub(crate) event_version: u64,
    /// What people wrote on it, oldest first; left out if there is nothing, and in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<Note<'a>>,
    /// What the caller of a retry, fork or continue may not have meant; left out if there is nothing.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub(crate) warnings: Cow<'a, [String]>,
}

/// The worker that has an execution now.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Lease")]
pub(crate) struct HeldLease<'a> {
    /// The id of a worker.
    pub(crate) owner: Cow<'a, str>,
    /// Over and not renewed: the worker has vanished, and another takes it.
    pub(crate) until: Time,
}

/// One try of a node.
#[derive(JsonSchema)]
#[schemars(rename = "Try")]
#[expect(dead_code, reason = "describes text that goes through as it is stored")]
pub(crate) struct NodeTry {
    /// From 1.
    attempt: u32,
    started_at: Time,
    finished_at: Time,
    /// Null if it went well.
    error: Option<RunError>,
}

/// How a node or an execution failed.
#[derive(JsonSchema)]
#[schemars(rename = "Failure")]
#[expect(dead_code, reason = "describes text that goes through as it is stored")]
pub(crate) struct RunError {
    code: String,
    message: String,
    /// Left out in brief lists.
    #[schemars(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
    /// By code; left out if there are none, and in brief lists.
    #[schemars(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    /// Where an execution failed.
    #[schemars(skip_serializing_if = "Option::is_none")]
    node_id: Option<String>,
}

/// What an execution was started with.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct StartRecord {
    /// Any.
    pub(crate) input: Value,
    /// The request that started it; null if none did.
    pub(crate) webhook: Value,
    /// As they were at the start.
    pub(crate) variables: Map<String, Value>,
}

/// What an execution waits for.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Wait")]
pub(crate) struct CurrentWait<'a> {
    pub(crate) kind: Name<WaitKind>,
    /// Of the event.
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) wake_at: Option<Time>,
}

impl<'a> Execution<'a> {
    /// Without what it ended with.
    pub(crate) fn without_output(self) -> Self {
        Self {
            output: None,
            ..self
        }
    }

    /// With what people wrote on it.
    pub(crate) fn with_notes(self, notes: &'a [operations::Note]) -> Self {
        Self {
            notes: notes.iter().map(Note::from).collect(),
            ..self
        }
    }

    /// With what it was started with.
    pub(crate) fn with_initial(self, initial: Option<StartRecord>) -> Self {
        Self { initial, ..self }
    }

    /// For lists: without its output, and of errors only the beginning.
    pub(crate) fn brief(view: &'a ExecutionView) -> Self {
        Self {
            output: None,
            error: view.execution.record.error.as_deref().map(brief_error),
            last_error: view.state.position.last_error.as_deref().map(brief_error),
            tries: Payload::Stored("[]"),
            ..Self::from(view)
        }
    }

    /// With what the caller may not have meant.
    pub(crate) fn warning(self, warnings: &'a [String]) -> Self {
        Self {
            warnings: warnings.into(),
            ..self
        }
    }
}

impl<'a> From<&'a Wait> for CurrentWait<'a> {
    fn from(wait: &'a Wait) -> Self {
        Self {
            kind: wait.kind.into(),
            name: wait.name.as_deref().map(Cow::from),
            wake_at: wait.wake_at.map(Time),
        }
    }
}

impl<'a> From<&'a execution::Lease> for HeldLease<'a> {
    fn from(lease: &'a execution::Lease) -> Self {
        Self {
            owner: lease.owner.as_str().into(),
            until: Time(lease.until),
        }
    }
}

impl<'a> From<&'a ExecutionView> for Execution<'a> {
    fn from(view: &'a ExecutionView) -> Self {
        let (head, record) = (&view.execution.head, &view.execution.record);
        let state = &view.state;
        let own_step = state.seq > head.base_seq;
        let quotas = head.quotas.iter();
        Self {
            id: head.id.0,
            schema_id: head.schema_id.0,
            schema: view.schema_name.as_str().into(),
            version: head.schema_version,
            status: head.status.into(),
            current_node_id: Cow::from(&*state.position.node_id),
            current_step_id: own_step.then(|| format!("{}:{}", head.id, state.seq)),
            seq: state.seq,
            output: Payload::stored(record.output.as_ref()),
            error: Payload::stored(record.error.as_ref()),
            created_by: record.created_by.as_str().into(),
            created_at: Time(head.created_at),
            queued_at: head.queued_at.map(Time),
            started_at: head.started_at.map(Time),
            finished_at: head.finished_at.map(Time),
            debug_mode: head.debug_mode,
            priority: head.priority.into(),
            tenant: record.tenant.as_deref().map(Cow::from),
            labels: Payload::Stored(record.labels.as_deref().unwrap_or("{}")),
            quotas: quotas.map(|claim| claim.name.as_str().into()).collect(),
            correlation_id: record.correlation_id.as_str().into(),
            idempotency_key: record.idempotency_key.as_deref().map(Cow::from),
            retry_of: record.retry_of.map(|id| id.0),
            retried_as: record.retried_as.map(|id| id.0),
            forked_from: record.forked_from.map(|id| id.0),
            trial: record.trial,
            entered_at: Time(state.position.entered_at),
            tries: Payload::Stored(state.position.attempts.as_deref().unwrap_or("[]")),
            lease: state.lease.as_ref().map(HeldLease::from),
            initial: None,
            base_seq: head.base_seq,
            wait: state.wait.as_ref().map(CurrentWait::from),
            hold: state.hold.map(Name::from),
            stop_requested: state.control.is_some(),
            attempt: state.position.attempt + 1,
            last_error: Payload::stored(state.position.last_error.as_ref()),
            recoveries: state.recoveries,
            deadline_at: Time(state.deadline_at),
            event_version: state.version,
            notes: Vec::new(),
            warnings: Cow::Borrowed(&[]),
        }
    }
}
