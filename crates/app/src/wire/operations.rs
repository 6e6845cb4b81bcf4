//! Operating Pawl: node types, workers, the doctor, retention, health.

use std::borrow::Cow;

use pawl_engine::insight::doctor::Finding;
use pawl_kernel::node::NodeHandler;
use pawl_kernel::ports::workers::WorkerRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::name::{HealthStatus, WorkerRole};
use super::{Name, Text, Time, given};

/// What a node of this type does and takes.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeType {
    #[serde(rename = "type")]
    pub(crate) node_type: Cow<'static, str>,
    pub(crate) title: Cow<'static, str>,
    pub(crate) category: Cow<'static, str>,
    pub(crate) summary: String,
    /// Markdown.
    pub(crate) doc: Cow<'static, str>,
    pub(crate) pure: bool,
    pub(crate) handles: Vec<Cow<'static, str>>,
    /// JSON Schema 2020-12. Each field has a `title`; `x-pawl-mode` says how it reads a text, `x-pawl-language` what the
    /// text is written in, `x-pawl-source` where its names come from (`connections`, `secrets`), `x-pawl-when` the field and
    /// the values with which it means something.
    #[schemars(with = "Map<String, Value>")]
    pub(crate) config_schema: Value,
    /// Where in the config more exits are named: a JSON pointer in which `*` stands for each item of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exits_from: Option<Cow<'static, str>>,
    pub(crate) output: Cow<'static, str>,
    /// JSON Schema 2020-12 of `steps.X.output`; an empty object says nothing.
    #[schemars(with = "Map<String, Value>")]
    pub(crate) output_schema: Value,
    /// YAML.
    pub(crate) example: Cow<'static, str>,
}

impl NodeType {
    pub(crate) fn of(handler: &dyn NodeHandler) -> Self {
        let spec = handler.spec();
        let handles = match spec.handles {
            [] => &["success"],
            handles => handles,
        };
        Self {
            node_type: spec.node_type.into(),
            title: spec.title.into(),
            category: spec.category.into(),
            summary: spec.summary().to_owned(),
            doc: spec.doc.into(),
            pure: spec.pure,
            handles: handles.iter().map(|handle| Cow::from(*handle)).collect(),
            config_schema: spec.json_schema(),
            exits_from: handler.exits_from().map(Cow::from),
            output: spec.output.into(),
            output_schema: handler.output_schema(),
            example: spec.example.into(),
        }
    }
}

/// A process that works, as it last reported itself.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Worker<'a> {
    /// Host and process.
    pub(crate) id: Cow<'a, str>,
    #[schemars(with = "Vec<Name<WorkerRole>>")]
    pub(crate) roles: Cow<'a, [String]>,
    pub(crate) node_types: Cow<'a, [String]>,
    pub(crate) slots: u32,
    /// Executions it was running when it last reported.
    pub(crate) busy: u32,
    /// Some of them.
    #[schemars(with = "Vec<Uuid>")]
    pub(crate) doing: Cow<'a, [String]>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) started_at: Time,
    pub(crate) heartbeat_at: Time,
}

impl<'a> From<&'a WorkerRecord> for Worker<'a> {
    fn from(record: &'a WorkerRecord) -> Self {
        Self {
            id: record.id.as_str().into(),
            roles: Cow::from(&record.roles),
            node_types: Cow::from(&record.node_types),
            slots: record.slots,
            busy: record.busy,
            doing: Cow::from(&record.doing),
            version: record.version.as_str().into(),
            started_at: Time(record.started_at),
            heartbeat_at: Time(record.heartbeat_at),
        }
    }
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DoctorRequest {
    /// True if left out.
    pub(crate) fix: Option<bool>,
}

/// What keeps open executions from moving.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct DoctorReport {
    pub(crate) healthy: bool,
    pub(crate) open_executions: u64,
    pub(crate) findings: Vec<DoctorFinding>,
    /// Facts about the store.
    pub(crate) about: Map<String, Value>,
}

/// One problem.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct DoctorFinding {
    /// Empty for a finding about a quota.
    pub(crate) execution_id: String,
    pub(crate) schema: String,
    /// The quota, if the finding is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quota: Option<String>,
    pub(crate) problem: Cow<'static, str>,
    pub(crate) detail: String,
    pub(crate) fixed: bool,
}

impl From<Finding> for DoctorFinding {
    fn from(finding: Finding) -> Self {
        Self {
            execution_id: finding.execution_id,
            schema: finding.schema,
            quota: finding.quota,
            problem: finding.problem.into(),
            detail: finding.detail,
            fixed: finding.fixed,
        }
    }
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GcRequest {
    /// Only count what would go; not null.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<bool>")]
    pub(crate) dry_run: Option<Option<bool>>,
    /// `next` of the answer before.
    pub(crate) after: Option<Text>,
}

/// What was removed, or would be.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct GcReport {
    pub(crate) dry_run: bool,
    pub(crate) executions: u64,
    /// Steps, snapshots and log lines that were deleted one by one.
    pub(crate) history_rows: u64,
    pub(crate) signals: u64,
    pub(crate) dead_letters: u64,
    /// Partitions of the history that were dropped as a whole.
    pub(crate) dropped_tables: Vec<String>,
    /// Given back to the disk.
    pub(crate) bytes: u64,
    pub(crate) schemas: Vec<GcSchema>,
    /// One call does a part; another would do more.
    pub(crate) more: bool,
    /// Give it as `after` to go on.
    pub(crate) next: Option<String>,
}

/// What was removed of one schema's executions.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GcSchema {
    pub(crate) schema_id: Uuid,
    /// Null if it was deleted.
    pub(crate) schema: Option<String>,
    pub(crate) retention: String,
    pub(crate) executions: u64,
}

/// May work be sent to this process?
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Health")]
pub(crate) struct HealthReport {
    /// `degraded`: usable, but something is wrong.
    pub(crate) status: Name<HealthStatus>,
    /// Left out if all is well; else `ok` or what is wrong, by what was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub(crate) checks: Option<Map<String, Value>>,
}
