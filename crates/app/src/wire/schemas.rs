//! The catalog: schemas, their versions, and definitions as they are sent.

use std::borrow::Cow;

use pawl_kernel::execution::Status;
use pawl_kernel::ports::overview::RunSample;
use pawl_kernel::ports::store::{SchemaRecord, VersionRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::name::{ErrorPolicy, InterruptPolicy, TriggerName};
use super::{DiagnosticLine, Name, Payload, Time};

/// A schema, as JSON or YAML.
#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct Definition {
    /// Unique; a-z, 0-9 and -.
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// The number under which other programs know it; unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) external_id: Option<i64>,
    /// Limits, priority, concurrency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) triggers: Option<Vec<Map<String, Value>>>,
    pub(crate) nodes: Vec<DefinedNode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) edges: Option<Vec<DefinedEdge>>,
}

/// A node of a schema.
#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Node")]
pub(crate) struct DefinedNode {
    pub(crate) id: String,
    /// One of /api/node-types.
    #[serde(rename = "type")]
    pub(crate) node_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// See the node type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<Map<String, Value>>,
    /// Per try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<Value>,
    /// max_attempts, delay, backoff, max_delay, jitter
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_error: Option<Name<ErrorPolicy>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_interrupt: Option<Name<InterruptPolicy>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disabled: Option<bool>,
}

/// Where a node goes on to.
#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Edge")]
pub(crate) struct DefinedEdge {
    pub(crate) source: String,
    pub(crate) target: String,
    /// The exit; success if left out.
    #[serde(rename = "sourceHandle", skip_serializing_if = "Option::is_none")]
    pub(crate) source_handle: Option<String>,
}

/// A schema of the catalog. The definition and what belongs to it are left out in lists.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Schema<'a> {
    pub(crate) id: Uuid,
    pub(crate) name: Cow<'a, str>,
    pub(crate) description: Option<Cow<'a, str>>,
    /// The number under which other programs know it, as the latest version says.
    pub(crate) external_id: Option<i64>,
    /// May be started.
    pub(crate) active: bool,
    /// Of the definition shown; in lists the latest.
    pub(crate) version: u32,
    pub(crate) latest_version: u32,
    pub(crate) created_at: Time,
    pub(crate) updated_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) language: Option<u32>,
    /// SHA-256 of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hash: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_by: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Definition>")]
    pub(crate) definition: Option<Payload<'a>>,
    /// Only in a list that was asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<SchemaSummary>,
}

/// What goes on with a schema.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct SchemaSummary {
    /// Those that are not disabled.
    pub(crate) triggers: Vec<SchemaTrigger>,
    /// Executions that have not ended.
    pub(crate) open: u64,
    /// There may be more than `open`: only so many of the newest are looked at.
    pub(crate) open_capped: bool,
    /// The newest 20, newest first.
    pub(crate) last: Vec<RunOutcome>,
    /// When its cron triggers fire next.
    pub(crate) next_at: Option<Time>,
}

/// What starts a schema.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct SchemaTrigger {
    pub(crate) kind: Name<TriggerName>,
    pub(crate) name: String,
    /// The cron line, or method and path.
    pub(crate) text: String,
}

/// How one execution went.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunOutcome {
    pub(crate) id: Uuid,
    pub(crate) status: Name<Status>,
    pub(crate) created_at: Time,
    pub(crate) finished_at: Option<Time>,
}

impl From<&RunSample> for RunOutcome {
    fn from(run: &RunSample) -> Self {
        Self {
            id: run.id.0,
            status: run.status.into(),
            created_at: Time(run.created_at),
            finished_at: run.finished_at.map(Time),
        }
    }
}

impl<'a> Schema<'a> {
    pub(crate) fn brief(record: &'a SchemaRecord) -> Self {
        Self {
            id: record.id.0,
            name: record.name.as_str().into(),
            description: record.description.as_deref().map(Cow::from),
            external_id: record.external_id,
            active: record.active,
            version: record.latest_version,
            latest_version: record.latest_version,
            created_at: Time(record.created_at),
            updated_at: Time(record.updated_at),
            language: None,
            hash: None,
            created_by: None,
            definition: None,
            summary: None,
        }
    }

    pub(crate) fn full(record: &'a SchemaRecord, version: &'a VersionRecord) -> Self {
        Self {
            version: version.version,
            language: Some(version.language),
            hash: Some(version.hash.as_str().into()),
            created_by: Some(version.created_by.as_str().into()),
            definition: Some(Payload::Stored(&version.definition)),
            ..Self::brief(record)
        }
    }
}

/// A schema that was just saved.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct SavedSchema<'a> {
    #[serde(flatten)]
    pub(crate) schema: Schema<'a>,
    pub(crate) warnings: Vec<DiagnosticLine>,
}

/// One line of a schema's history, without its definition.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Version<'a> {
    pub(crate) version: u32,
    pub(crate) language: u32,
    pub(crate) hash: Cow<'a, str>,
    pub(crate) created_by: Cow<'a, str>,
    pub(crate) created_at: Time,
}

impl<'a> From<&'a VersionRecord> for Version<'a> {
    fn from(version: &'a VersionRecord) -> Self {
        Self {
            version: version.version,
            language: version.language,
            hash: version.hash.as_str().into(),
            created_by: version.created_by.as_str().into(),
            created_at: Time(version.created_at),
        }
    }
}

/// What a check of a schema found.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Validation {
    pub(crate) valid: bool,
    /// Null if the text cannot be read.
    pub(crate) name: Option<String>,
    pub(crate) diagnostics: Vec<DiagnosticLine>,
}
