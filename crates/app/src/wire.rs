//! What travels over HTTP, as types: the server writes them, its OpenAPI document is made from them, and the client of
//! the command line reads them.
//!
//! Doc comments on them and on their fields are the descriptions in the OpenAPI document, so they are written for users
//! of the API. Texts of rows are borrowed on the way out. Every field that a request may have stands here and nowhere
//! else: `api/fields.rs` reads bodies by these types and says in words what does not fit.

mod actions;
mod brief;
mod diagnostics;
mod editor;
mod executions;
mod expressions;
mod format;
mod history;
mod insight;
mod keys;
mod letters;
mod live;
mod name;
mod notes;
mod operations;
mod outline;
mod overview;
mod payload;
mod quotas;
mod requests;
mod schemas;
mod session;
mod text;

pub(crate) use actions::{
    ActionKind, ActionMeta, ActionSpec, ActionStatus, Attempt, PlannedTime, Policy, PreviewAction,
    PutAction, ScheduledAction, TimerPlace,
};
pub(crate) use diagnostics::{DiagnosticLine, ErrorBody};
pub(crate) use editor::{
    CanvasGroup, CanvasNote, KnownName, Layout, NamedConnection, NodeTrialLog, NodeTrialRequest,
    NodeTrialResult, NodeTrialWait, Pin, Point, PutPin, ShownLayout,
};
pub(crate) use executions::{CurrentWait, Execution, StartRecord};
pub(crate) use expressions::{
    EvaluateRequest, Evaluation, EvaluationError, EvaluationPlace, ExpressionFunction,
};
pub(crate) use history::{
    ContextAnswer, ContextView, CurrentContext, GoneSteps, LogLine, Step, StepContext, StepPage,
    TakenSignal,
};
pub(crate) use insight::{
    Change, ComparedRun, Comparison, ExplainAnswer, ShownStep, StepPair, StepPlace,
};
pub(crate) use keys::{CreatedKey, Key, NewKey};
pub(crate) use letters::{
    DeadLetter, LetterBulkRequest, LetterBulkResult, LetterCount, LetterFilter, LetterOutcomes,
    RefusedLetter, Requeue, WholeDeadLetter,
};
pub(crate) use live::{ChangeEvent, HelloEvent, LogEvent, RunEvent, RunsEvent};
pub(crate) use name::Name;
pub(crate) use notes::{NewNote, Note};
pub(crate) use operations::{
    DoctorFinding, DoctorReport, DoctorRequest, GcReport, GcRequest, GcSchema, HealthReport,
    NodeType, Worker,
};
pub(crate) use outline::{Outline, OutlinedNode};
pub(crate) use overview::{CountGroup, ErrorGroup, ErrorList, ExecutionCounts, StatisticsReport};
pub(crate) use payload::Payload;
pub(crate) use quotas::{Quota, QuotaHolder, SetQuota};
pub(crate) use requests::{
    BulkOutcomes, BulkRequest, BulkResult, ContinueMode, ContinueRequest, Filter, ForkRequest,
    NoFields, Reference, RetryRequest, Span, StartRequest, StatusList, TrialRequest,
};
pub(crate) use schemas::{
    Definition, PinnedDefinition, PublishRequest, RunOutcome, SavedSchema, Schema, SchemaSummary,
    TriggerSummary, Validation, Version,
};
pub(crate) use session::{LoginRequest, Me, Session, ShownLimits};
pub(crate) use text::{TEXT_MAX, Text, problem_of};

use std::borrow::Cow;

use pawl_kernel::time::Timestamp;
use schemars::{JsonSchema, Schema as JsonSchemaText, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

/// One page of a list.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// Give it as `cursor` for the next page; null at the end.
    pub(crate) next: Option<String>,
}

/// RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Timestamp);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bad = || de::Error::custom(format!("`{text}` is no time"));
        Timestamp::parse(&text).map(Self).ok_or_else(bad)
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> JsonSchemaText {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

/// The answer of a webhook whose execution goes on.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Accepted")]
pub(crate) struct WebhookReceipt {
    pub(crate) execution_id: Uuid,
    /// Where to look for its end; this needs a key.
    pub(crate) status_url: String,
}

/// Answers and bodies that are no JSON object of their own: the name in the document, and its schema.
macro_rules! plain_schema {
    ($type:ident, $schema:tt) => {
        pub(crate) enum $type {}

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> JsonSchemaText {
                json_schema!($schema)
            }
        }
    };
}

plain_schema!(Any, {"description": "Any JSON value."});
plain_schema!(Html, {"type": "string"});
plain_schema!(Metrics, {
    "type": "string",
    "description": "The text format of Prometheus, version 0.0.4."
});
plain_schema!(EventStream, {
    "type": "string",
    "description": "Events `step` (a Step), `status` and `end` (an Execution). The id of an event is a version of the execution: everything up to it has been told."
});

plain_schema!(LiveStream, {
    "type": "string",
    "description": "Events: `hello` (a HelloEvent), `runs` (a RunsEvent), `run` (a RunEvent), `log` (a LogEvent), `letters`, `workers` and `schemas` (a ChangeEvent)."
});

/// A field that may be null and may be left out, where the two differ.
pub(crate) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

fn is_false(flag: &bool) -> bool {
    !flag
}
