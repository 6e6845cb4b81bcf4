//! `sql`: a transaction on a database of the configuration, exactly once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{
    Any, Boolean, Choice, Either, Integer, List, Map as MapOf, Object, Text,
};
use pawl_kernel::node::FieldMode::{LateExpression, LateTemplate, Raw};
use pawl_kernel::node::field::{defaulted, optional, required};
use pawl_kernel::node::{
    FieldKind, FieldSpec, NodeCall, NodeError, NodeHandler, NodeSpec, Outcome,
};
use pawl_kernel::schema::graph::LateTexts;
use pawl_kernel::secrets::CarriedSecrets;
use serde_json::{Map, Value, json};

use crate::{Connections, Expectation, Isolation, Params, Plan, Scope, Script, Work};

static TEXTS: [FieldSpec; 2] = [
    optional("postgres", Text, Raw, "The text for PostgreSQL.")
        .titled("PostgreSQL")
        .in_language("sql"),
    optional("sqlite", Text, Raw, "The text for SQLite.")
        .titled("SQLite")
        .in_language("sql"),
];
static ERROR: [FieldSpec; 4] = [
    optional(
        "code",
        Text,
        Raw,
        "The code of the error; `EXPECTATION_FAILED` if left out.",
    ),
    optional(
        "status",
        Integer { min: 400, max: 599 },
        Raw,
        "The HTTP status for a webhook that waits.",
    ),
    optional("message", Text, LateTemplate, "What to say."),
    optional(
        "details",
        Any,
        LateTemplate,
        "What else to say; its fields go into the error's details.",
    ),
];
static STATEMENT: [FieldSpec; 6] = [
    required("id", Text, Raw, "Its result is `results.<id>`."),
    required(
        "sql",
        Either(&[Text, Object(&TEXTS)]),
        Raw,
        "One statement, never interpolated: values are `$1` or `:name`. A text for each dialect where they differ.",
    )
    .titled("SQL")
    .in_language("sql"),
    optional(
        "params",
        Either(&[List(&Any), MapOf(&Any)]),
        LateTemplate,
        "The values: a list, or a map of names.",
    ),
    optional(
        "for_each",
        Text,
        LateExpression,
        "A list; the statement runs for each `item` of it, with its `index`.",
    ),
    optional(
        "expect",
        Text,
        LateExpression,
        "`rows`, `one`, `none`, `affected >= 1`, or an expression over `results`. If it does not hold, everything is rolled back.",
    ),
    optional(
        "error",
        Object(&ERROR),
        Raw,
        "How the node fails if `expect` does not hold.",
    ),
];
static STATEMENT_KIND: FieldKind = Object(&STATEMENT);

static SPEC: NodeSpec = NodeSpec {
    node_type: "sql",
    title: "SQL transaction",
    category: "effects",
    doc: "Runs statements in one transaction on a database of the configuration (`[connections.NAME] url = \
          \"postgres://…\"` or `\"sqlite:PATH\"`), never of a schema's text. Values are bound, never spliced in. A \
          statement may use the results of those before it; `expect` says what must be true, or everything is rolled \
          back and the node fails with the `error` of that statement.\n\nExactly once: the first statement of the \
          transaction notes the effect key in the table `pawl_applied` of that database (`pawl connection prepare \
          NAME` makes it), the last one the result. A node that runs again after a crash gets the stored result. \
          Serialization failures and deadlocks are tried again.",
    pure: false,
    handles: &["success", "error"],
    fields: &[
        required(
            "connection",
            Text,
            Raw,
            "The name of a connection in the configuration.",
        )
        .names_from("connections"),
        defaulted(
            "isolation",
            Choice(Isolation::NAMES),
            Raw,
            "\"read_committed\"",
            "SQLite is always serializable.",
        ),
        defaulted(
            "readonly",
            Boolean,
            Raw,
            "false",
            "Nothing is written, and nothing noted: it may simply run again.",
        )
        .titled("Read only"),
        required(
            "statements",
            List(&STATEMENT_KIND),
            Raw,
            "What to do, in order.",
        ),
        optional(
            "output",
            Any,
            LateTemplate,
            "What the step leaves; all `results` if left out.",
        ),
    ],
    output: "`output`, or the results by statement: `{rows, row, count, affected}`.",
    example: "connection: shop\nstatements:\n  - id: take\n    sql: UPDATE stock SET left = left - $1 WHERE sku = $2 AND left >= $1 RETURNING left\n    params: [\"{{input.count}}\", \"{{input.sku}}\"]\n    expect: one\n    error: { code: OUT_OF_STOCK, status: 409, message: \"not enough of {{input.sku}}\" }\noutput:\n  left: \"{{results.take.row.left}}\"",
};

pub struct SqlNode {
    connections: Arc<Connections>,
}

impl SqlNode {
    pub fn new(connections: Arc<Connections>) -> Self {
        Self { connections }
    }
}

#[async_trait]
impl NodeHandler for SqlNode {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    /// `rows`, `one`, `none` and `affected` read like names where they are whole expectations.
    fn locals(&self) -> &'static [&'static str] {
        &[
            "results", "item", "index", "rows", "one", "none", "affected",
        ]
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        let name = config["connection"].as_str().unwrap_or_default();
        let dialect = self.connections.dialect(name);
        let mut found = Plan::read(config, dialect).err().unwrap_or_default();
        let statements = config["statements"].as_array();
        for (place, statement) in statements.into_iter().flatten().enumerate() {
            found.extend(doubts(place, statement));
        }
        if dialect.is_none() && !name.is_empty() {
            let message = format!(
                "there is no connection `{name}` here; running this will fail with NO_CONNECTION"
            );
            let hint = format!(
                "add [connections.{name}] with url = \"postgres://…\" or \"sqlite:…\" to pawl.toml"
            );
            found.push(Diagnostic::warning("NO_CONNECTION", "/connection", message).hint(hint));
        }
        found
    }

    fn guards_secrets(&self) -> bool {
        true
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let name = call.config["connection"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        call.secrets.check_connection(&name)?;
        let plan = Plan::read(&call.config, self.connections.dialect(&name)).map_err(unreadable)?;
        let work = Work {
            connection: name,
            plan: Arc::new(plan),
            script: Arc::new(Texts::of(&call)),
            effect_key: call.effect_key.map(str::to_owned),
            time_limit: call.timeout,
            limits: call.limits,
        };
        let applied = self.connections.run(work).await?;
        Ok(Outcome::done(applied.output))
    }
}

/// What can be meant, but hardly is.
fn doubts(place: usize, statement: &Value) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let at = |field: &str| format!("/statements/{place}/{field}");
    let sql = &statement["sql"];
    let texts = [sql, &sql["postgres"], &sql["sqlite"]];
    if texts
        .iter()
        .any(|text| text.as_str().is_some_and(|text| text.contains("{{")))
    {
        let message =
            "the text of a statement is never interpolated: `{{…}}` in it is sent as it is";
        let doubt = Diagnostic::warning("INVALID_FIELD", at("sql"), message);
        found.push(doubt.hint("write :name, and params: { name: \"{{…}}\" }"));
    }
    if statement["error"].is_object() && statement["expect"].is_null() {
        let message = "without `expect` nothing is checked, and `error` is never told";
        let doubt = Diagnostic::warning("INVALID_FIELD", at("error"), message);
        found.push(doubt.hint("add expect: one, or what else must hold"));
    }
    found
}

/// Saved under other rules, or for another kind of database.
fn unreadable(found: Vec<Diagnostic>) -> NodeError {
    let message = found
        .first()
        .map(|one| one.message.clone())
        .unwrap_or_default();
    NodeError::new("INVALID_SQL", message)
}

/// What stands around the statements, evaluated by the kernel.
struct Texts {
    late: LateTexts,
    secrets: CarriedSecrets,
    statements: Vec<Around>,
    /// The names that the texts of the statement at hand can use. The results before it are copied once, not for each
    /// item.
    locals: Mutex<Map<String, Value>>,
}

struct Around {
    id: String,
    expectation: Option<Expectation>,
    code: Option<String>,
    status: Option<u64>,
}

impl Around {
    fn of(statement: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            id: text(&statement["id"]).unwrap_or_default(),
            expectation: statement["expect"].as_str().and_then(Expectation::parse),
            code: text(&statement["error"]["code"]),
            status: statement["error"]["status"].as_u64(),
        }
    }
}

impl Texts {
    fn of(call: &NodeCall<'_>) -> Self {
        let statements = call.config["statements"].as_array();
        Self {
            late: call.late.clone(),
            secrets: call.secrets.clone(),
            statements: statements.into_iter().flatten().map(Around::of).collect(),
            locals: Mutex::default(),
        }
    }

    fn locals(&self) -> MutexGuard<'_, Map<String, Value>> {
        self.locals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on texts see these results.
    fn see(&self, results: &Map<String, Value>) {
        let results = Value::Object(results.clone());
        *self.locals() = Map::from_iter([("results".to_owned(), results)]);
    }

    fn value(&self, statement: usize, path: &[&str]) -> Option<Result<Value, NodeError>> {
        let number = statement.to_string();
        let path: Vec<&str> = ["statements", &number]
            .iter()
            .chain(path)
            .copied()
            .collect();
        self.late.value(&path, &self.locals())
    }

    fn failed(&self, statement: usize, found: String) -> NodeError {
        let around = &self.statements[statement];
        let said = |field: &str| self.value(statement, &["error", field]);
        let mut details = Map::new();
        match said("details") {
            Some(Ok(Value::Object(more))) => details = more,
            Some(Ok(other)) => drop(details.insert("details".into(), other)),
            Some(Err(error)) => return error,
            None => {}
        }
        details.insert("statement".into(), json!(around.id));
        if let Some(status) = around.status {
            details.insert("status".into(), json!(status));
        }
        let message = match said("message") {
            Some(Ok(Value::String(message))) => message,
            Some(Ok(other)) => other.to_string(),
            Some(Err(error)) => return error,
            None => format!("statement `{}`: {found}", around.id),
        };
        let code = around
            .code
            .clone()
            .unwrap_or_else(|| "EXPECTATION_FAILED".into());
        NodeError::new(code, message).details(Value::Object(details))
    }
}

impl Script for Texts {
    fn for_each(
        &self,
        statement: usize,
        results: &Map<String, Value>,
    ) -> Result<Option<Vec<Value>>, NodeError> {
        self.see(results);
        let Some(items) = self.value(statement, &["for_each"]).transpose()? else {
            return Ok(None);
        };
        match items {
            Value::Array(items) => Ok(Some(items)),
            other => {
                let id = &self.statements[statement].id;
                let kind = if other.is_object() {
                    "an object"
                } else {
                    "no list"
                };
                Err(NodeError::new(
                    "TYPE_ERROR",
                    format!("`for_each` of statement `{id}` must give a list, this is {kind}"),
                ))
            }
        }
    }

    fn params(&self, statement: usize, scope: &Scope<'_>) -> Result<Params, NodeError> {
        if let (Some(item), Some(index)) = (scope.item, scope.index) {
            let mut locals = self.locals();
            locals.insert("item".into(), item.clone());
            locals.insert("index".into(), json!(index));
        }
        match self.value(statement, &["params"]).transpose()? {
            None | Some(Value::Null) => Ok(Params::List(Vec::new())),
            Some(Value::Array(values)) => Ok(Params::List(values)),
            Some(Value::Object(values)) => Ok(Params::Map(values)),
            Some(_) => {
                let id = &self.statements[statement].id;
                Err(NodeError::new(
                    "TYPE_ERROR",
                    format!("`params` of statement `{id}` must be a list or a map"),
                ))
            }
        }
    }

    fn expect(&self, statement: usize, results: &Map<String, Value>) -> Result<(), NodeError> {
        let around = &self.statements[statement];
        if let Some(expectation) = around.expectation {
            let found = expectation.check(&results[&around.id]);
            return found.map_err(|found| {
                self.see(results);
                self.failed(statement, found)
            });
        }
        self.see(results);
        match self.value(statement, &["expect"]).transpose()? {
            None | Some(Value::Null | Value::Bool(true)) => Ok(()),
            Some(Value::Bool(false)) => {
                Err(self.failed(statement, "what was expected does not hold".into()))
            }
            Some(_) => Err(NodeError::new(
                "TYPE_ERROR",
                format!(
                    "`expect` of statement `{}` must give true or false",
                    around.id
                ),
            )),
        }
    }

    fn output(&self, results: &Map<String, Value>) -> Result<Value, NodeError> {
        self.see(results);
        let output = self.late.value(&["output"], &self.locals()).transpose()?;
        let mut output = output.unwrap_or_else(|| Value::Object(results.clone()));
        // It is stored in the user's database too, in `pawl_applied`.
        self.secrets.hide(&mut output);
        Ok(output)
    }
}
