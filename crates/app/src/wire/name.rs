//! Names out of a list that the kernel keeps: `completed`, `high`, `viewer`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use pawl_kernel::execution::{Hold, PriorityClass, Status, StepStatus, WaitKind};
use pawl_kernel::expr::{ErrorCode, TextMode};
use pawl_kernel::ports::keys::Role;
use pawl_kernel::ports::store::SourceFormat;
use pawl_kernel::quota::QuotaKind;
use pawl_kernel::schedule::{ActionEnding, CatchUp, Overlap, Override, SkipReason};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One of the names of `K`. A client takes names that are newer than itself.
pub(crate) struct Name<K> {
    text: Cow<'static, str>,
    kind: PhantomData<K>,
}

/// Where a [`Name`] comes from.
pub(crate) trait NameList {
    fn names() -> Vec<&'static str>;
}

impl<K> Name<K> {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            kind: PhantomData,
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl<K> fmt::Display for Name<K> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}

impl<K> Serialize for Name<K> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

impl<'de, K> Deserialize<'de> for Name<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Ok(Self {
            text: text.into(),
            kind: PhantomData,
        })
    }
}

impl<K: NameList> JsonSchema for Name<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Name_of_{}", std::any::type_name::<K>()).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": K::names()})
    }
}

macro_rules! names_of {
    ($($kind:ty),+) => {$(
        impl NameList for $kind {
            fn names() -> Vec<&'static str> {
                Self::ALL.iter().map(|one| one.name()).collect()
            }
        }

        impl From<$kind> for Name<$kind> {
            fn from(one: $kind) -> Self {
                Self::new(one.name())
            }
        }
    )+};
}

names_of!(
    Status,
    StepStatus,
    WaitKind,
    Hold,
    PriorityClass,
    Role,
    QuotaKind,
    SourceFormat,
    TextMode
);

impl NameList for ErrorCode {
    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|one| one.as_str()).collect()
    }
}

impl From<ErrorCode> for Name<ErrorCode> {
    fn from(code: ErrorCode) -> Self {
        Self::new(code.as_str())
    }
}

macro_rules! choices_of {
    ($($kind:ty),+) => {$(
        impl NameList for $kind {
            fn names() -> Vec<&'static str> {
                Self::CHOICES.iter().map(|(name, _)| *name).collect()
            }
        }
    )+};
}

choices_of!(Overlap, CatchUp, Override);

/// Lists of the kernel that say no more than their names.
macro_rules! listed_names {
    ($($kind:ty: $($one:ident)|+),+ $(,)?) => {$(
        impl NameList for $kind {
            fn names() -> Vec<&'static str> {
                vec![$(Self::$one.name()),+]
            }
        }
    )+};
}

listed_names!(
    ActionEnding: Done | OutOfRetries | Deadline,
    SkipReason: CatchUp | Overlap | Paused,
);

/// Lists that are only known here: a type, and its names.
macro_rules! own_names {
    ($($kind:ident: $($name:literal)|+),+ $(,)?) => {$(
        pub(crate) enum $kind {}

        impl NameList for $kind {
            fn names() -> Vec<&'static str> {
                vec![$($name),+]
            }
        }
    )+};
}

own_names!(
    SeverityName: "error" | "warning" | "note",
    LogLevel: "debug" | "info" | "warn" | "error",
    ContextSide: "before" | "after" | "difference",
    ChangeKind: "added" | "removed" | "changed",
    RequeueAction: "look" | "retry" | "start" | "none",
    LetterAction: "requeue",
    TriggerName: "cron" | "webhook",
    GroupName: "status" | "node" | "schema",
    BulkAction: "pause" | "resume" | "stop" | "retry",
    QuotaSource: "api" | "config" | "settings",
    WorkerRole: "engine" | "timers" | "scheduler" | "reaper",
    ValueKind: "null" | "boolean" | "integer" | "number" | "string" | "list" | "object",
    ConnectionKind: "postgres" | "sqlite" | "rabbitmq" | "unknown",
    HealthStatus: "ok" | "degraded" | "unavailable",
    AttemptOutcome: "success" | "failed" | "interrupted",
    ErrorPolicy: "fail" | "continue",
    InterruptPolicy: "rerun" | "fail",
    LoginKind: "none" | "key" | "session",
    ServerMode: "dev" | "server",
    RunEventKind: "step" | "status" | "end" | "gone",
    StuckPolicy: "requeue" | "fail",
    BackoffKind: "fixed" | "linear" | "exponential",
    TriggerType: "webhook" | "cron",
    MethodName: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS" | "ANY",
    RespondMode: "immediately" | "last_node" | "respond_node",
);
