//! What a node type is: a description from which palette, form, docs and validation are made, and a
//! handler that turns a rendered config into an outcome. A handler sees neither store nor queue and
//! never names the next node.

pub mod field;
pub mod form;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::form::FieldForm;
use crate::diagnostic::Diagnostic;
use crate::schema::definition::HANDLE_SUCCESS;
use crate::schema::graph::{LateTexts, RenderError};
use crate::secrets::CarriedSecrets;
use crate::text::shortened;
use crate::time::Timestamp;

/// Characters of what is said about a config that does not fit.
const MISFIT_CHARS_MAX: usize = 1_000;

#[async_trait]
pub trait NodeHandler: Send + Sync {
    fn spec(&self) -> &'static NodeSpec;

    /// The exits this node has with this config; by default those of the spec.
    fn handles(&self, _config: &Value) -> Vec<String> {
        self.spec()
            .handles
            .iter()
            .map(|handle| (*handle).to_owned())
            .collect()
    }

    /// The exit that an edge without a `sourceHandle` means; `None` where every edge has to name its exit.
    fn unnamed_exit(&self) -> Option<&'static str> {
        let named = self.spec().handles;
        (named.is_empty() || named.contains(&HANDLE_SUCCESS)).then_some(HANDLE_SUCCESS)
    }

    /// Can the other side tell a second run from the first? If not, a retry may run it with another config.
    fn acts_outside(&self) -> bool {
        !self.spec().pure
    }

    /// Where in the config its other exits are named: a JSON pointer in which `*` stands for each item of a list.
    fn exits_from(&self) -> Option<&'static str> {
        None
    }

    /// JSON Schema of `steps.X.output`; an empty object says nothing.
    fn output_schema(&self) -> Value {
        json!({})
    }

    /// Problems beyond single fields: "one of these two", "names must differ". Pointers are relative
    /// to the config.
    fn check(&self, _config: &Value) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Names that texts left to the node can begin with besides those of the context.
    fn locals(&self) -> &'static [&'static str] {
        &[]
    }

    /// Does it ask `call.secrets` before it sends anything anywhere? Only then it is given secrets that may go to some
    /// hosts or connections only.
    fn guards_secrets(&self) -> bool {
        false
    }

    /// Runs one try. Dropping the future cancels it.
    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError>;
}

/// One try of one visit to a node.
pub struct NodeCall<'a> {
    pub node_id: &'a str,
    /// The config with every expression already evaluated.
    pub config: Value,
    pub execution_id: &'a str,
    pub correlation_id: &'a str,
    pub seq: u64,
    /// 1 for the first try.
    pub attempt: u32,
    /// When the position was entered; stays the same over retries and crashes.
    pub entered_at: Timestamp,
    pub now: Timestamp,
    /// The same for every try of this visit; `None` for pure nodes.
    pub effect_key: Option<&'a str>,
    pub timeout: Duration,
    pub limits: PayloadLimits,
    /// What expressions see, without secrets.
    pub context: &'a Map<String, Value>,
    /// The node whose output is the step before's; `None` at the start.
    pub previous: Option<&'a str>,
    /// Ids of nodes by their names.
    pub names: &'a BTreeMap<String, String>,
    /// The texts that the schema leaves to the node.
    pub late: LateTexts,
    /// Where the secrets in the config may go.
    pub secrets: CarriedSecrets,
}

#[derive(Clone, Copy, Debug)]
pub struct PayloadLimits {
    pub output_bytes: usize,
    pub context_bytes: usize,
    pub depth: usize,
}

impl Default for PayloadLimits {
    fn default() -> Self {
        Self {
            output_bytes: 1 << 20,
            context_bytes: 16 << 20,
            depth: 64,
        }
    }
}

impl NodeCall<'_> {
    /// The config as the node's own struct. Fields were checked when the schema was saved, but a value
    /// that came out of an expression can still have the wrong type.
    pub fn parse<C: serde::de::DeserializeOwned>(&mut self) -> Result<C, NodeError> {
        serde_json::from_value(self.config.take()).map_err(|error| {
            // It quotes the value, which may be a megabyte.
            let error = shortened(&error.to_string(), MISFIT_CHARS_MAX);
            let message = format!("the config of `{}` does not fit: {error}", self.node_id);
            NodeError::new("TYPE_ERROR", message)
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Leaves by `handle` with `output`; `changes` are variables to set.
    Done {
        handle: Cow<'static, str>,
        output: Value,
        changes: Map<String, Value>,
        logs: Vec<LogLine>,
    },
    /// Ends the execution here.
    End {
        success: bool,
        output: Value,
        message: Option<String>,
    },
    /// Done at `until`, not before.
    Sleep { until: Timestamp },
    /// Done when the event arrives, or by handle `timeout`: see [`crate::visit::time_out`].
    Wait {
        event: String,
        timeout: Option<Duration>,
    },
    /// Done, and the output is the answer to the caller that waits for one: see [`crate::webhook::answer`].
    Respond { answer: Value },
}

impl Outcome {
    pub fn done(output: Value) -> Self {
        Self::exit("success", output)
    }

    pub fn exit(handle: impl Into<Cow<'static, str>>, output: Value) -> Self {
        Self::Done {
            handle: handle.into(),
            output,
            changes: Map::new(),
            logs: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub level: LogLevel,
    pub message: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Debug,
    #[default]
    Info,
    Warn,
    Error,
}

impl LogLevel {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// How a node failed; stored with the step and shown to expressions as `steps.X.error`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeError {
    pub code: Cow<'static, str>,
    pub message: String,
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// The other side asked to come back no sooner than this.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
    #[serde(skip)]
    written: Option<Box<NodeWrites>>,
}

/// What a node wrote before it failed. Behind a pointer: errors are part of every result, and few have any.
#[derive(Clone, Debug, PartialEq)]
struct NodeWrites(Vec<LogLine>);

impl NodeError {
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            retryable: false,
            details: Value::Null,
            retry_after: None,
            written: None,
        }
    }

    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    pub fn details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// With what the node wrote before it failed, for the log of the execution.
    pub fn with_logs(mut self, lines: Vec<LogLine>) -> Self {
        self.written = (!lines.is_empty()).then(|| Box::new(NodeWrites(lines)));
        self
    }

    pub fn logs(&self) -> &[LogLine] {
        self.written.as_ref().map_or(&[], |written| &written.0)
    }

    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

impl From<RenderError> for NodeError {
    fn from(failure: RenderError) -> Self {
        let RenderError { pointer, error } = failure;
        Self::new(error.code.as_str(), error.message).details(json!({
            "field": pointer,
            "start": error.span.start,
            "end": error.span.end,
            "hint": error.hint,
        }))
    }
}

/// The description of a node type. Everything people and programs read about it comes from here.
pub struct NodeSpec {
    pub node_type: &'static str,
    pub title: &'static str,
    pub category: &'static str,
    /// Markdown; the first sentence is the palette text.
    pub doc: &'static str,
    /// Pure nodes run on in memory and share a commit; effectful ones get a commit before they start.
    pub pure: bool,
    /// Named exits besides `success` and `error`; empty means just `success`.
    pub handles: &'static [&'static str],
    pub fields: &'static [FieldSpec],
    /// What `steps.X.output` holds.
    pub output: &'static str,
    /// A config in YAML that validates.
    pub example: &'static str,
}

pub struct FieldSpec {
    pub name: &'static str,
    pub kind: FieldKind,
    pub mode: FieldMode,
    pub required: bool,
    /// JSON text shown in docs and schema; the handler's struct fills it in.
    pub default: Option<&'static str>,
    pub doc: &'static str,
    /// What an editor needs to know besides.
    pub form: FieldForm,
}

#[derive(Clone, Copy)]
pub enum FieldKind {
    Text,
    Boolean,
    Integer {
        min: i64,
        max: i64,
    },
    Number,
    /// `30s`, `1h30m`, ISO 8601 or a number of seconds.
    Duration,
    Choice(&'static [&'static str]),
    /// Any keys, values of one kind.
    Map(&'static FieldKind),
    List(&'static FieldKind),
    Object(&'static [FieldSpec]),
    /// Any of these.
    Either(&'static [FieldKind]),
    Any,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldMode {
    /// Strings may hold `{{ … }}`, at any depth below the field.
    Template,
    /// As `Template`, with values in path and query percent-encoded.
    Url,
    /// The whole text is an expression: `{{a}} == 200 && b`.
    Expression,
    /// Never interpolated (source code, SQL).
    Raw,
    /// As `Template`, but left to the node: it asks for the value when it wants it, and may add names of its own
    /// ([`NodeHandler::locals`]).
    LateTemplate,
    /// As `Expression`, and left to the node.
    LateExpression,
}

impl FieldMode {
    /// How the text reads, whenever that is; and whether it is left to the node.
    pub(crate) const fn reading(self) -> (Self, bool) {
        match self {
            Self::LateTemplate => (Self::Template, true),
            Self::LateExpression => (Self::Expression, true),
            other => (other, false),
        }
    }
}

impl NodeSpec {
    /// JSON Schema (2020-12) of the config. A string with `{{ … }}` is allowed wherever a value is.
    pub fn json_schema(&self) -> Value {
        let mut schema = object_schema(self.fields);
        schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        schema["title"] = json!(self.title);
        schema["description"] = json!(self.doc);
        schema
    }

    /// Does the config have a field of this name?
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    pub fn summary(&self) -> &'static str {
        let end = self.doc.find(". ").map_or(self.doc.len(), |dot| dot + 1);
        self.doc[..end].trim()
    }
}

pub(crate) fn object_schema(fields: &[FieldSpec]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| (field.name.to_owned(), field_schema(field)))
        .collect();
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn field_schema(field: &FieldSpec) -> Value {
    let mut schema = kind_schema(&field.kind);
    if field.mode != FieldMode::Raw && schema.get("type").is_some_and(|kind| kind != "string") {
        schema = json!({"anyOf": [schema, {"type": "string", "pattern": "\\{\\{"}]});
    }
    schema["description"] = json!(field.doc);
    schema["x-pawl-mode"] = json!(format!("{:?}", field.mode).to_lowercase());
    form::describe(field, &mut schema);
    if let Some(default) = field
        .default
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
    {
        schema["default"] = default;
    }
    schema
}

fn kind_schema(kind: &FieldKind) -> Value {
    match kind {
        FieldKind::Text => json!({"type": "string"}),
        FieldKind::Boolean => json!({"type": "boolean"}),
        FieldKind::Integer { min, max } => {
            json!({"type": "integer", "minimum": min, "maximum": max})
        }
        FieldKind::Number => json!({"type": "number"}),
        FieldKind::Duration => json!({"type": ["string", "number"], "format": "duration"}),
        FieldKind::Choice(names) => json!({"type": "string", "enum": names}),
        FieldKind::Map(value) => {
            json!({"type": "object", "additionalProperties": kind_schema(value)})
        }
        FieldKind::List(item) => json!({"type": "array", "items": kind_schema(item)}),
        FieldKind::Object(fields) => object_schema(fields),
        FieldKind::Either(kinds) => {
            json!({"anyOf": kinds.iter().map(kind_schema).collect::<Vec<_>>()})
        }
        FieldKind::Any => json!({}),
    }
}

/// The node types a process knows, by name.
#[derive(Clone, Default)]
pub struct Registry {
    handlers: BTreeMap<&'static str, Arc<dyn NodeHandler>>,
}

impl Registry {
    pub fn new(handlers: Vec<Arc<dyn NodeHandler>>) -> Self {
        Self {
            handlers: handlers
                .into_iter()
                .map(|handler| (handler.spec().node_type, handler))
                .collect(),
        }
    }

    pub fn get(&self, node_type: &str) -> Option<&Arc<dyn NodeHandler>> {
        self.handlers.get(node_type)
    }

    pub fn types(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.handlers.keys().copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn NodeHandler>> {
        self.handlers.values()
    }
}
