//! What parts of a schema look like. The kernel reads them and says what is wrong with them; these types only describe,
//! so that programs that are made from the OpenAPI document know what there is.

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::schedule::{CatchUp, Overlap};
use schemars::JsonSchema;
use serde_json::Value;

use super::name::{BackoffKind, MethodName, RespondMode, StuckPolicy, TriggerType};
use super::{Name, Span};

/// How executions of a schema behave.
#[derive(JsonSchema)]
#[schemars(rename = "Settings")]
#[expect(dead_code, reason = "describes what the kernel reads")]
pub(super) struct FlowSettings {
    /// 10000 if left out.
    #[schemars(skip_serializing_if = "Option::is_none")]
    max_steps: Option<u64>,
    /// From the start to the end; `365d` if left out.
    #[schemars(skip_serializing_if = "Option::is_none")]
    max_duration: Option<Span>,
    /// Of each try; `30s` if left out.
    #[schemars(skip_serializing_if = "Option::is_none")]
    node_timeout: Option<Span>,
    /// 64 if left out; 1 is strictly one node per message.
    #[schemars(skip_serializing_if = "Option::is_none")]
    max_nodes_per_message: Option<u64>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    on_stuck: Option<Name<StuckPolicy>>,
    /// Outgoing calls of one execution.
    #[schemars(skip_serializing_if = "Option::is_none")]
    max_calls: Option<u64>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    concurrency: Option<ConcurrencySettings>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    priority: Option<Name<PriorityClass>>,
    /// A text, which may hold expressions.
    #[schemars(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    /// A duration, or `forever`.
    #[schemars(skip_serializing_if = "Option::is_none")]
    retention: Option<Span>,
}

/// Executions at once.
#[derive(JsonSchema)]
#[schemars(rename = "Concurrency")]
#[expect(dead_code, reason = "describes what the kernel reads")]
struct ConcurrencySettings {
    limit: u64,
    /// Counts each value of this text apart.
    #[schemars(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// When a node that failed is tried again.
#[derive(JsonSchema)]
#[schemars(rename = "Retry")]
#[expect(dead_code, reason = "describes what the kernel reads")]
pub(super) struct NodeRetry {
    /// True if left out.
    #[schemars(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    /// All tries, the first included.
    #[schemars(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u64>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    delay: Option<Span>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    backoff: Option<Name<BackoffKind>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    max_delay: Option<Span>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    jitter: Option<bool>,
}

/// What starts a schema: a webhook or a time. The fields of the other kind are left out.
#[derive(JsonSchema)]
#[schemars(rename = "Trigger")]
#[expect(dead_code, reason = "describes what the kernel reads")]
pub(super) struct SchemaTrigger {
    #[schemars(rename = "type")]
    kind: Name<TriggerType>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    disabled: Option<bool>,
    /// Of a webhook, below /webhook/.
    #[schemars(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Of a webhook; POST if left out.
    #[schemars(skip_serializing_if = "Option::is_none")]
    method: Option<Name<MethodName>>,
    /// Of a webhook: when its caller is answered.
    #[schemars(skip_serializing_if = "Option::is_none")]
    respond: Option<Name<RespondMode>>,
    /// Of a webhook: who may call it.
    #[schemars(skip_serializing_if = "Option::is_none")]
    auth: Option<Value>,
    /// Of a webhook: how long its caller is kept waiting.
    #[schemars(skip_serializing_if = "Option::is_none")]
    wait: Option<Span>,
    /// Of a webhook: bytes, as a number or as a text like `1MiB`.
    #[schemars(skip_serializing_if = "Option::is_none")]
    max_body: Option<Value>,
    /// Of a webhook: how often, like `10/s`.
    #[schemars(skip_serializing_if = "Option::is_none")]
    rate: Option<Value>,
    /// Of a cron trigger: five fields, six with seconds first, or `@daily`.
    #[schemars(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    /// Of a cron trigger; UTC if left out.
    #[schemars(skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    /// Of a cron trigger.
    #[schemars(skip_serializing_if = "Option::is_none")]
    overlap: Option<Name<Overlap>>,
    /// Of a cron trigger.
    #[schemars(skip_serializing_if = "Option::is_none")]
    catch_up: Option<Name<CatchUp>>,
    /// Of a cron trigger: `input` of what it starts.
    #[schemars(skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
}
