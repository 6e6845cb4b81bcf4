//! A few node types, enough to exercise every kind and mode of field.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::node::form::FieldForm;
use crate::node::{
    FieldKind, FieldMode, FieldSpec, NodeCall, NodeError, NodeHandler, NodeSpec, Outcome, Registry,
};

pub(super) fn registry() -> Registry {
    let specs = [
        &START, &END, &LOG, &CONDITION, &SWITCH, &HTTP, &CODE, &SQL, &WAIT,
    ];
    let handlers = specs.map(|spec| Arc::new(Fake(spec)) as Arc<dyn NodeHandler>);
    Registry::new(handlers.to_vec())
}

struct Fake(&'static NodeSpec);

#[async_trait]
impl NodeHandler for Fake {
    fn spec(&self) -> &'static NodeSpec {
        self.0
    }

    fn handles(&self, config: &Value) -> Vec<String> {
        if self.0.node_type == "wait_event" && config.get("timeout").is_none() {
            return vec!["success".into()];
        }
        let own = self.0.handles.iter().map(|handle| (*handle).to_owned());
        let cases = config["cases"].as_array().into_iter().flatten();
        own.chain(cases.filter_map(|case| case["name"].as_str().map(str::to_owned)))
            .collect()
    }

    fn unnamed_exit(&self) -> Option<&'static str> {
        match self.0.node_type {
            "condition" => Some("true"),
            "switch" => None,
            _ => Some("success"),
        }
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        if config["method"] == "GET" && config.get("body").is_some() {
            return vec![Diagnostic::error(
                "GET_WITH_BODY",
                "/body",
                "GET has no body",
            )];
        }
        Vec::new()
    }

    fn locals(&self) -> &'static [&'static str] {
        if self.0.node_type == "sql" {
            &["results", "item"]
        } else {
            &[]
        }
    }

    async fn run(&self, _call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        Ok(Outcome::done(Value::Null))
    }
}

const fn spec(
    node_type: &'static str,
    pure: bool,
    handles: &'static [&'static str],
    fields: &'static [FieldSpec],
) -> NodeSpec {
    NodeSpec {
        node_type,
        title: "",
        category: "",
        doc: "",
        pure,
        handles,
        fields,
        output: "",
        example: "",
    }
}

const fn field(name: &'static str, kind: FieldKind, mode: FieldMode) -> FieldSpec {
    FieldSpec {
        name,
        kind,
        mode,
        required: false,
        default: None,
        doc: "A field.",
        form: FieldForm::PLAIN,
    }
}

const fn required(name: &'static str, kind: FieldKind, mode: FieldMode) -> FieldSpec {
    FieldSpec {
        required: true,
        ..field(name, kind, mode)
    }
}

use FieldKind::{Any, Boolean, Choice, Duration, Either, Integer, List, Map, Object, Text};
use FieldMode::{Expression, LateExpression, LateTemplate, Raw, Template, Url};

static START: NodeSpec = spec("start", true, &[], &[]);
static END: NodeSpec = spec(
    "end",
    true,
    &[],
    &[
        field("success", Boolean, Template),
        field("message", Text, Template),
        field("output", Any, Template),
    ],
);
static LOG: NodeSpec = spec(
    "log",
    true,
    &[],
    &[
        field(
            "level",
            Choice(&["debug", "info", "warn", "error"]),
            Template,
        ),
        required("message", Text, Template),
    ],
);
static CONDITION: NodeSpec = spec(
    "condition",
    true,
    &["true", "false"],
    &[required("expression", Text, Expression)],
);
static CASE: [FieldSpec; 2] = [
    required("name", Text, Raw),
    required("when", Text, Expression),
];
static CASE_KIND: FieldKind = Object(&CASE);
static SWITCH: NodeSpec = spec(
    "switch",
    true,
    &["default"],
    &[
        field("value", Any, Template),
        required("cases", List(&CASE_KIND), Raw),
    ],
);
static TEXT_KIND: FieldKind = Text;
static STATUS: FieldKind = Integer { min: 100, max: 599 };
static HTTP: NodeSpec = spec(
    "http_request",
    false,
    &["success", "error"],
    &[
        field("method", Choice(&["GET", "POST", "PUT"]), Template),
        required("url", Text, Url),
        field("headers", Map(&TEXT_KIND), Template),
        field("body", Any, Template),
        field(
            "accept",
            Either(&[Integer { min: 100, max: 599 }, List(&STATUS)]),
            Template,
        ),
        field("wait", Duration, Template),
        field("max_bytes", Integer { min: 1, max: 1_000 }, Template),
    ],
);
static STATEMENT: [FieldSpec; 3] = [
    required("sql", Text, Raw),
    field("params", List(&FieldKind::Any), LateTemplate),
    field("expect", Text, LateExpression),
];
static STATEMENT_KIND: FieldKind = Object(&STATEMENT);
static SQL: NodeSpec = spec(
    "sql",
    false,
    &[],
    &[
        required("statements", List(&STATEMENT_KIND), Raw),
        field("output", Any, LateTemplate),
    ],
);
static CODE: NodeSpec = spec("code", false, &[], &[required("source", Text, Raw)]);
static WAIT: NodeSpec = spec(
    "wait_event",
    true,
    &["success", "timeout"],
    &[
        required("name", Text, Template),
        field("timeout", Duration, Template),
    ],
);
