//! What answers look like. These types exist only on the wire; rows are borrowed, and payloads, which are
//! JSON text already, go through as they are.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use pawl_engine::control::Gone;
use pawl_kernel::execution::{Hold, LogRecord, Step, Wait};
use pawl_kernel::ports::store::{ExecutionView, SchemaRecord, VersionRecord};
use pawl_kernel::time::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::error::ApiError;

/// A JSON answer. A value that cannot be written is our fault, not the client's.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => {
            let mut response = Response::new(Body::from(bytes));
            *response.status_mut() = status;
            let kind = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        Err(error) => axum::response::IntoResponse::into_response(ApiError::internal(error)),
    }
}

pub(super) fn ok(value: &impl Serialize) -> Response {
    json(StatusCode::OK, value)
}

#[derive(Serialize)]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Option<String>,
}

/// A page of steps, and what of the beginning is not kept any more.
#[derive(Serialize)]
pub(super) struct StepPage<'a> {
    pub(super) items: Vec<StepJson<'a>>,
    pub(super) next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gone: Option<GoneJson>,
}

#[derive(Serialize)]
pub(super) struct GoneJson {
    up_to: u64,
    execution_id: String,
    message: String,
}

impl From<&Gone> for GoneJson {
    fn from(gone: &Gone) -> Self {
        Self {
            up_to: gone.up_to,
            execution_id: gone.id.to_string(),
            message: gone.message(),
        }
    }
}

/// RFC 3339 in UTC.
#[derive(Clone, Copy)]
pub(super) struct Time(pub(super) Timestamp);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

/// Stored JSON text, embedded without being built into a tree.
struct Raw<'a>(&'a str);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(self.0) {
            Ok(raw) => raw.serialize(to),
            // Damaged text must not make the rest unreadable.
            Err(_) => to.serialize_str(self.0),
        }
    }
}

fn raw(text: Option<&String>) -> Option<Raw<'_>> {
    text.map(|text| Raw(text))
}

#[derive(Serialize)]
pub(super) struct ExecutionJson<'a> {
    id: String,
    schema_id: String,
    schema: &'a str,
    version: u32,
    status: &'static str,
    current_node_id: &'a str,
    current_step_id: Option<String>,
    seq: u64,
    output: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
    created_by: &'a str,
    created_at: Time,
    queued_at: Option<Time>,
    started_at: Option<Time>,
    finished_at: Option<Time>,
    debug_mode: bool,
    priority: &'static str,
    tenant: Option<&'a str>,
    labels: Raw<'a>,
    /// The quotas it counts against.
    quotas: Vec<&'a str>,
    correlation_id: &'a str,
    idempotency_key: Option<&'a str>,
    retry_of: Option<String>,
    retried_as: Option<String>,
    forked_from: Option<String>,
    base_seq: u64,
    wait: Option<WaitJson<'a>>,
    hold: Option<&'static str>,
    stop_requested: bool,
    attempt: u32,
    /// Why the try before failed, while the node is tried again.
    last_error: Option<Raw<'a>>,
    recoveries: u32,
    deadline_at: Time,
    event_version: u64,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

impl<'a> ExecutionJson<'a> {
    /// With what the caller may not have meant.
    pub(super) fn warning(self, warnings: &'a [String]) -> Self {
        Self { warnings, ..self }
    }
}

#[derive(Serialize)]
struct WaitJson<'a> {
    kind: &'static str,
    name: Option<&'a str>,
    wake_at: Option<Time>,
}

impl<'a> From<&'a Wait> for WaitJson<'a> {
    fn from(wait: &'a Wait) -> Self {
        Self {
            kind: wait.kind.name(),
            name: wait.name.as_deref(),
            wake_at: wait.wake_at.map(Time),
        }
    }
}

impl<'a> From<&'a ExecutionView> for ExecutionJson<'a> {
    fn from(view: &'a ExecutionView) -> Self {
        let (execution, state) = (&view.execution, &view.state);
        let own_step = state.seq > execution.head.base_seq;
        Self {
            id: execution.head.id.to_string(),
            schema_id: execution.head.schema_id.to_string(),
            schema: &view.schema_name,
            version: execution.head.schema_version,
            status: execution.head.status.name(),
            current_node_id: &state.position.node_id,
            current_step_id: own_step.then(|| format!("{}:{}", execution.head.id, state.seq)),
            seq: state.seq,
            output: raw(execution.record.output.as_ref()),
            error: raw(execution.record.error.as_ref()),
            created_by: &execution.record.created_by,
            created_at: Time(execution.head.created_at),
            queued_at: execution.head.queued_at.map(Time),
            started_at: execution.head.started_at.map(Time),
            finished_at: execution.head.finished_at.map(Time),
            debug_mode: execution.head.debug_mode,
            priority: execution.head.priority.name(),
            tenant: execution.record.tenant.as_deref(),
            labels: Raw(execution.record.labels.as_deref().unwrap_or("{}")),
            quotas: execution
                .head
                .quotas
                .iter()
                .map(|claim| claim.name.as_str())
                .collect(),
            correlation_id: &execution.record.correlation_id,
            idempotency_key: execution.record.idempotency_key.as_deref(),
            retry_of: execution.record.retry_of.map(|id| id.to_string()),
            retried_as: execution.record.retried_as.map(|id| id.to_string()),
            forked_from: execution.record.forked_from.map(|id| id.to_string()),
            base_seq: execution.head.base_seq,
            wait: state.wait.as_ref().map(WaitJson::from),
            hold: state.hold.map(Hold::name),
            stop_requested: state.control.is_some(),
            attempt: state.position.attempt + 1,
            last_error: raw(state.position.last_error.as_ref()),
            recoveries: state.recoveries,
            deadline_at: Time(state.deadline_at),
            event_version: state.version,
            warnings: &[],
        }
    }
}

#[derive(Serialize)]
pub(super) struct StepJson<'a> {
    seq: u64,
    node_id: &'a str,
    node_type: &'a str,
    status: &'static str,
    input: Option<Raw<'a>>,
    output: Option<Raw<'a>>,
    changes: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
    attempts: Option<Raw<'a>>,
    prev_node_id: Option<&'a str>,
    next_node_id: Option<&'a str>,
    started_at: Time,
    finished_at: Time,
    duration_ms: f64,
    /// It was made by the execution that this one was retried or forked from.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inherited: bool,
}

impl<'a> StepJson<'a> {
    /// A step of the history of an execution whose own steps begin after `base_seq`.
    pub(super) fn in_history(step: &'a Step, base_seq: u64) -> Self {
        Self {
            inherited: step.seq <= base_seq,
            ..Self::from(step)
        }
    }
}

impl<'a> From<&'a Step> for StepJson<'a> {
    fn from(step: &'a Step) -> Self {
        Self {
            seq: step.seq,
            node_id: &step.node_id,
            node_type: &step.node_type,
            status: step.status.name(),
            input: raw(step.input.as_ref()),
            output: raw(step.output.as_ref()),
            changes: raw(step.changes.as_ref()),
            error: raw(step.error.as_ref()),
            attempts: raw(step.attempts.as_ref()),
            prev_node_id: step.prev_node_id.as_deref(),
            next_node_id: step.next_node_id.as_deref(),
            started_at: Time(step.started_at),
            finished_at: Time(step.finished_at),
            duration_ms: step.finished_at.since(step.started_at).as_micros() as f64 / 1_000.0,
            inherited: false,
        }
    }
}

#[derive(Serialize)]
pub(super) struct LogJson<'a> {
    id: u64,
    seq: u64,
    node_id: &'a str,
    level: &'a str,
    message: &'a str,
    at: Time,
}

impl<'a> From<&'a (u64, LogRecord)> for LogJson<'a> {
    fn from((id, record): &'a (u64, LogRecord)) -> Self {
        Self {
            id: *id,
            seq: record.seq,
            node_id: &record.node_id,
            level: record.level,
            message: &record.message,
            at: Time(record.at),
        }
    }
}

#[derive(Serialize)]
pub(super) struct SchemaJson<'a> {
    id: String,
    name: &'a str,
    description: Option<&'a str>,
    external_id: Option<i64>,
    active: bool,
    /// Of the definition shown; in lists the latest.
    version: u32,
    latest_version: u32,
    created_at: Time,
    updated_at: Time,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    shown: Option<VersionJson<'a>>,
}

impl<'a> SchemaJson<'a> {
    pub(super) fn brief(record: &'a SchemaRecord) -> Self {
        Self {
            id: record.id.to_string(),
            name: &record.name,
            description: record.description.as_deref(),
            external_id: record.external_id,
            active: record.active,
            version: record.latest_version,
            latest_version: record.latest_version,
            created_at: Time(record.created_at),
            updated_at: Time(record.updated_at),
            shown: None,
        }
    }

    pub(super) fn full(record: &'a SchemaRecord, version: &'a VersionRecord) -> Self {
        let shown = VersionJson::from(version);
        Self {
            version: version.version,
            shown: Some(shown),
            ..Self::brief(record)
        }
    }
}

#[derive(Serialize)]
struct VersionJson<'a> {
    language: u32,
    hash: &'a str,
    created_by: &'a str,
    definition: Raw<'a>,
}

impl<'a> From<&'a VersionRecord> for VersionJson<'a> {
    fn from(version: &'a VersionRecord) -> Self {
        Self {
            language: version.language,
            hash: &version.hash,
            created_by: &version.created_by,
            definition: Raw(&version.definition),
        }
    }
}

/// One line of a schema's history, without its definition.
#[derive(Serialize)]
pub(super) struct VersionLine<'a> {
    version: u32,
    language: u32,
    hash: &'a str,
    created_by: &'a str,
    created_at: Time,
}

impl<'a> From<&'a VersionRecord> for VersionLine<'a> {
    fn from(version: &'a VersionRecord) -> Self {
        Self {
            version: version.version,
            language: version.language,
            hash: &version.hash,
            created_by: &version.created_by,
            created_at: Time(version.created_at),
        }
    }
}
