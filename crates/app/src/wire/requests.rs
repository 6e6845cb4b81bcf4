//! Bodies of the routes that start and control executions. `null` is the same as left out, unless a field says otherwise.

use std::borrow::Cow;

use pawl_kernel::execution::{PriorityClass, Status};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Number, Value};
use uuid::Uuid;

use super::name::BulkAction;
use super::{Name, Text, Time, given};

/// A route that takes no fields.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoFields {}

/// What to start, and how.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartRequest {
    /// Name or id; this or `schema_id`.
    #[schemars(with = "Option<Text>")]
    pub(crate) schema: Option<Reference>,
    /// A number is looked up in `external_id`.
    pub(crate) schema_id: Option<Reference>,
    /// The published one if left out; a draft may be named.
    #[schemars(range(min = 1))]
    pub(crate) version: Option<u64>,
    /// What expressions see as `input`. It has to fit the `input` of the schema.
    pub(crate) input: Option<Value>,
    /// Initial variables.
    pub(crate) variables: Option<Map<String, Value>>,
    /// Stop after every step.
    pub(crate) debug_mode: Option<bool>,
    #[schemars(with = "Option<Name<PriorityClass>>")]
    pub(crate) priority: Option<Text>,
    pub(crate) tenant: Option<Text>,
    /// Texts to find it by.
    pub(crate) labels: Option<Map<String, Value>>,
    /// The same key gives the same execution. Not beginning with `wh:`, `amqp:`, `cron:`, `schedule:` or `requeue:`, which are Pawl's own.
    pub(crate) idempotency_key: Option<Text>,
    #[schemars(with = "Option<Time>")]
    pub(crate) start_at: Option<Text>,
    /// As a test that lists and statistics leave out; `{}` is one that runs like any other.
    pub(crate) trial: Option<TrialRequest>,
}

/// How an execution is tried. Nodes without a pin run with their effects.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrialRequest {
    /// True: the pinned outputs of the schema stand in for their nodes.
    pub(crate) pins: Option<bool>,
    /// It ends as completed, with the output of this node, once that was left.
    pub(crate) stop_after: Option<Text>,
}

/// How to go on in debug mode.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContinueRequest {
    /// "step" (default), "run", {"to": NODE} or {"until": [NODE, …]}
    pub(crate) mode: Option<ContinueMode>,
    /// Set before it goes on.
    pub(crate) variables: Option<Map<String, Value>>,
    /// 409 unless it stands after this step: a double click does one step.
    pub(crate) expect_seq: Option<u64>,
}

/// How to repeat a failed execution from its failed step.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetryRequest {
    pub(crate) max_steps: Option<u64>,
    pub(crate) max_calls: Option<u64>,
    /// `1h30m`, or seconds.
    pub(crate) max_duration: Option<Span>,
    pub(crate) variables: Option<Map<String, Value>>,
    /// The failed effect is to happen again even where the other side remembers it, or as another request.
    pub(crate) new_effect_key: Option<bool>,
    /// Also if it was retried before.
    pub(crate) again: Option<bool>,
    /// `latest`, which is the published one, or a number; the same version if left out.
    pub(crate) version: Option<Value>,
    pub(crate) debug_mode: Option<bool>,
    /// The same key gives the same retry.
    pub(crate) idempotency_key: Option<Text>,
}

/// How to go on from a step as a new execution.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRequest {
    /// The last step to take over; 0 for none.
    #[schemars(required)]
    pub(crate) from_seq: Option<u64>,
    /// `latest`, which is the published one, or a number; the same version if left out.
    pub(crate) version: Option<Value>,
    pub(crate) variables: Option<Map<String, Value>>,
    /// Takes the place of the whole input; not null.
    #[serde(default, deserialize_with = "given")]
    pub(crate) input: Option<Value>,
    pub(crate) debug_mode: Option<bool>,
}

/// One action on every execution that a filter finds.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BulkRequest {
    #[schemars(with = "Filter")]
    pub(crate) filter: Option<Value>,
    #[schemars(required, with = "Name<BulkAction>")]
    pub(crate) action: Option<Text>,
    /// True if left out: only count.
    pub(crate) dry_run: Option<bool>,
    /// `next` of the call before.
    pub(crate) cursor: Option<Text>,
}

/// Which executions. A field that is there must say something.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// A comma list or a list of names.
    pub(crate) status: Option<StatusList>,
    #[schemars(with = "Option<Text>")]
    pub(crate) schema: Option<Reference>,
    #[schemars(with = "Option<Text>")]
    pub(crate) schema_id: Option<Reference>,
    #[schemars(with = "Option<Time>")]
    pub(crate) since: Option<Text>,
    #[schemars(with = "Option<Time>")]
    pub(crate) until: Option<Text>,
    pub(crate) text: Option<Text>,
    pub(crate) tenant: Option<Text>,
    /// A label and its value, `team:payments`.
    pub(crate) label: Option<Text>,
    pub(crate) created_by: Option<Text>,
    /// Of the schema.
    #[schemars(range(min = 1))]
    pub(crate) version: Option<u64>,
    /// The node it stands at.
    pub(crate) node: Option<Text>,
    /// The code of the error it ended with.
    pub(crate) error_code: Option<Text>,
    #[schemars(with = "Option<Uuid>")]
    pub(crate) retry_of: Option<Text>,
    #[schemars(with = "Option<Uuid>")]
    pub(crate) forked_from: Option<Text>,
    /// Ended at this time or later.
    #[schemars(with = "Option<Time>")]
    pub(crate) finished_since: Option<Text>,
    /// It took longer than this, or has taken longer by now: `30s`.
    pub(crate) longer_than: Option<Text>,
    /// Only these, at most 500.
    #[schemars(with = "Option<Vec<Uuid>>")]
    pub(crate) ids: Option<Vec<Value>>,
    /// Only what failed, got stuck or was stopped and has not been retried.
    pub(crate) unresolved: Option<bool>,
    /// Only trial runs; left out: none of them, unless `ids` names some.
    pub(crate) trial: Option<bool>,
}

/// What a bulk action did, or would do.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct BulkResult {
    pub(crate) action: Name<BulkAction>,
    pub(crate) dry_run: bool,
    /// How many the filter finds, or how many were tried.
    pub(crate) matched: u64,
    /// Of a dry run: how many of them the action would do something to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) applicable: Option<u64>,
    /// Of a dry run: at most so many in one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcomes: Option<BulkOutcomes>,
    /// Left out by a dry run; null if there are no more.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) next: Option<Option<String>>,
}

/// How many executions each outcome had.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BulkOutcomes {
    pub(crate) done: u64,
    /// Retried before; nothing was done.
    pub(crate) skipped: u64,
    /// The state of the execution did not allow it.
    pub(crate) conflict: u64,
    /// Gone since it was listed.
    pub(crate) not_found: u64,
    pub(crate) failed: u64,
}

/// A text, or the number that other programs use.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Reference {
    Text(String),
    Number(Number),
}

/// A duration as a text like `1h30m`, or as a number of seconds.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Span {
    Text(String),
    Seconds(Number),
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextOrNumber {
            wanted: "a text",
            text: Self::Text,
            number: Self::Number,
        })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextOrNumber {
            wanted: "a duration",
            text: Self::Text,
            number: Self::Seconds,
        })
    }
}

/// Reads what may be a text or a number.
struct TextOrNumber<T> {
    wanted: &'static str,
    text: fn(String) -> T,
    number: fn(Number) -> T,
}

impl<T> Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(self.wanted)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok((self.text)(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Ok((self.number)(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Ok((self.number)(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        let finite = Number::from_f64(number);
        let finite = finite.ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self));
        finite.map(self.number)
    }
}

/// Nodes that a run in debug mode may stop before.
const UNTIL_MAX: usize = 100;

/// How far to go in debug mode.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ContinueMode {
    Step,
    Run,
    /// Before the first of these that it comes to.
    Until(Vec<String>),
}

impl Serialize for ContinueMode {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Step => to.serialize_str("step"),
            Self::Run => to.serialize_str("run"),
            Self::Until(nodes) => match &nodes[..] {
                [node] => to.collect_map([("to", node)]),
                nodes => to.collect_map([("until", nodes)]),
            },
        }
    }
}

impl<'de> Deserialize<'de> for ContinueMode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ReadMode)
    }
}

struct ReadMode;

impl<'de> Visitor<'de> for ReadMode {
    type Value = ContinueMode;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("\"step\", \"run\", {\"to\": NODE} or {\"until\": [NODE, …]}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ContinueMode, E> {
        match text {
            "step" => Ok(ContinueMode::Step),
            "run" => Ok(ContinueMode::Run),
            other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ContinueMode, A::Error> {
        let first = map.next_entry::<String, Value>()?;
        let is_alone = map.next_entry::<String, Value>()?.is_none();
        match first {
            Some((name, Value::String(node))) if name == "to" && is_alone => {
                Ok(ContinueMode::Until(vec![node]))
            }
            Some((name, Value::Array(nodes))) if name == "until" && is_alone => {
                several(nodes).map(ContinueMode::Until)
            }
            _ => Err(A::Error::custom(
                "as an object is {\"to\": NODE} or {\"until\": [NODE, …]}",
            )),
        }
    }
}

/// What `until` names.
fn several<E: Error>(nodes: Vec<Value>) -> Result<Vec<String>, E> {
    if !(1..=UNTIL_MAX).contains(&nodes.len()) {
        let message = format!("`until` names 1 to {UNTIL_MAX} nodes, not {}", nodes.len());
        return Err(E::custom(message));
    }
    let name = |node| match node {
        Value::String(node) => Ok(node),
        _ => Err(E::custom("`until` is a list of node ids")),
    };
    nodes.into_iter().map(name).collect()
}

/// Names of statuses, as a comma list or as a list.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum StatusList {
    Commas(String),
    Names(Vec<Value>),
}

impl<'de> Deserialize<'de> for StatusList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ReadStatuses)
    }
}

struct ReadStatuses;

impl<'de> Visitor<'de> for ReadStatuses {
    type Value = StatusList;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a text or a list")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<StatusList, E> {
        Ok(StatusList::Commas(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<StatusList, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = list.next_element()? {
            names.push(name);
        }
        Ok(StatusList::Names(names))
    }
}

/// The schema of a type that is read by hand.
macro_rules! schema_of {
    ($type:ident, |$generator:ident| $schema:expr) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

schema_of!(
    Reference,
    |_generator| json_schema!({"type": ["string", "integer"]})
);
schema_of!(
    Span,
    |_generator| json_schema!({"type": ["string", "number"]})
);
schema_of!(ContinueMode, |_generator| json_schema!({"oneOf": [
    {"type": "string", "enum": ["step", "run"]},
    {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"], "additionalProperties": false},
    {"type": "object", "required": ["until"], "additionalProperties": false, "properties": {
        "until": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": UNTIL_MAX},
    }},
]}));
schema_of!(StatusList, |generator| json_schema!({"anyOf": [
    {"type": "string"},
    {"type": "array", "items": generator.subschema_for::<Name<Status>>(), "minItems": 1},
]}));
