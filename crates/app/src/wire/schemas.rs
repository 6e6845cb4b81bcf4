//! The catalog: schemas, their versions, and definitions as they are sent.

use std::borrow::Cow;

use pawl_kernel::execution::Status;
use pawl_kernel::ports::overview::RunSample;
use pawl_kernel::ports::store::{SchemaRecord, SourceFormat, VersionRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::format::{FlowSettings, NodeRetry, SchemaTrigger};
use super::name::{ErrorPolicy, InterruptPolicy, TriggerName};
use super::{DiagnosticLine, Name, Payload, Span, Time};

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
    #[schemars(with = "Option<FlowSettings>")]
    pub(crate) settings: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<SchemaTrigger>>")]
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
    #[schemars(with = "Option<Span>")]
    pub(crate) timeout: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<NodeRetry>")]
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
    /// The number under which other programs know it, as the published version says.
    pub(crate) external_id: Option<i64>,
    /// May be started.
    pub(crate) active: bool,
    /// Of the definition shown; in lists the latest.
    pub(crate) version: u32,
    /// The newest, also if it is a draft.
    pub(crate) latest_version: u32,
    /// What starts without a version and triggers use.
    pub(crate) published_version: u32,
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
    /// The text as it was sent, with its comments; left out for versions that were saved before texts were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source_format: Option<Name<SourceFormat>>,
    /// What its author wrote about this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<Cow<'a, str>>,
    /// Only in a list that was asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<SchemaSummary>,
}

/// What goes on with a schema.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct SchemaSummary {
    /// Those that are not disabled.
    pub(crate) triggers: Vec<TriggerSummary>,
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
pub(crate) struct TriggerSummary {
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
            published_version: record.published_version,
            created_at: Time(record.created_at),
            updated_at: Time(record.updated_at),
            language: None,
            hash: None,
            created_by: None,
            definition: None,
            source: None,
            source_format: None,
            note: None,
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
            source: version.source.as_deref().map(Cow::from),
            source_format: version.source_format.map(Name::from),
            note: version.note.as_deref().map(Cow::from),
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
    /// What its author wrote about it.
    pub(crate) note: Option<Cow<'a, str>>,
    /// Starts without a version and triggers use this one.
    pub(crate) published: bool,
    /// `?version=` shows the text that was sent.
    pub(crate) has_source: bool,
}

impl<'a> Version<'a> {
    pub(crate) fn of(schema: &SchemaRecord, version: &'a VersionRecord) -> Self {
        Self::new(version, version.version == schema.published_version)
    }

    pub(crate) fn new(version: &'a VersionRecord, published: bool) -> Self {
        Self {
            version: version.version,
            language: version.language,
            hash: version.hash.as_str().into(),
            created_by: version.created_by.as_str().into(),
            created_at: Time(version.created_at),
            note: version.note.as_deref().map(Cow::from),
            published,
            has_source: version.source_format.is_some(),
        }
    }
}

/// The definition that an execution runs, also of a schema that was changed or deleted since.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExecutionDefinition")]
pub(crate) struct PinnedDefinition<'a> {
    pub(crate) schema_id: Uuid,
    /// The schema's name.
    pub(crate) schema: Cow<'a, str>,
    #[serde(flatten)]
    pub(crate) version: Version<'a>,
    #[schemars(with = "Definition")]
    pub(crate) definition: Payload<'a>,
}

/// Which version to use from now on.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishRequest {
    /// Any stored version, also an older one.
    #[schemars(range(min = 1))]
    pub(crate) version: u64,
}

/// What a check of a schema found.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Validation {
    pub(crate) valid: bool,
    /// Null if the text cannot be read.
    pub(crate) name: Option<String>,
    pub(crate) diagnostics: Vec<DiagnosticLine>,
}
