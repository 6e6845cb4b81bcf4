//! JSON Schema of a whole schema file, for editors that complete and check while one types. What it refuses is refused by
//! [`load`](super::load) too; the other way round `load` knows more: references, expressions, reachability.
//!
//! What an editor needs beyond JSON Schema has names that begin with `x-pawl-`, as in the schema of a node type's config.

use serde_json::{Map, Value, json};

use super::read::{MAX_EDGES, MAX_NODES};
use crate::node::form::title_of;
use crate::node::{NodeHandler, Registry};
use crate::schedule::{CatchUp, Overlap};
use crate::webhook::{self, BODY_MAX, Method, Respond};

/// A schema as people write it. Exports of React Flow, which `load` takes too, are not described.
pub fn json_schema(registry: &Registry) -> Value {
    let mut schema = object(
        &["name", "nodes"],
        [
            (
                "name",
                named("^[a-z0-9-]{1,100}$", "Unique; a-z, 0-9 and -."),
            ),
            ("language", integer(1, 1, "The language level.")),
            ("description", text("What it is for.")),
            (
                "external_id",
                integer(
                    0,
                    i64::MAX,
                    "The number under which other programs know it; unique.",
                ),
            ),
            (
                "input",
                json!({
                    "type": "object",
                    "description": "A JSON Schema (2020-12) of the input; every start is checked against it.",
                }),
            ),
            ("settings", settings()),
            ("triggers", list(trigger(), "What starts it.")),
            ("nodes", nodes(registry)),
            ("edges", edges()),
        ],
    );
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Schema");
    schema
}

fn settings() -> Value {
    described(
        object(
            &[],
            [
                (
                    "max_steps",
                    integer(1, 10_000_000, "An execution with more steps fails."),
                ),
                (
                    "max_duration",
                    duration("An execution that takes longer fails."),
                ),
                (
                    "node_timeout",
                    duration("Of one try, for nodes without a timeout of their own."),
                ),
                (
                    "max_nodes_per_message",
                    integer(
                        1,
                        10_000,
                        "Nodes that a worker runs before it hands the execution over.",
                    ),
                ),
                (
                    "on_stuck",
                    choice(
                        &["requeue", "fail"],
                        "After a worker is lost: go on elsewhere, or end as failed_stuck.",
                    ),
                ),
                (
                    "max_calls",
                    integer(
                        1,
                        10_000_000,
                        "An execution with more visits to effectful nodes fails.",
                    ),
                ),
                (
                    "concurrency",
                    described(concurrency(), "How many executions at once."),
                ),
                (
                    "priority",
                    choice(&["high", "normal", "low"], "Which messages go first."),
                ),
                (
                    "tenant",
                    text("The tenant of its executions, unless the start names one."),
                ),
                (
                    "retention",
                    duration("How long executions are kept after their end, or forever."),
                ),
            ],
        ),
        "Limits, priority, concurrency.",
    )
}

fn concurrency() -> Value {
    object(
        &["limit"],
        [
            ("limit", integer(1, 1_000_000, "Executions at once.")),
            (
                "key",
                template("With it the limit holds for each value of this text."),
            ),
        ],
    )
}

fn trigger() -> Value {
    let name = || {
        named(
            "^[A-Za-z0-9._-]{1,64}$",
            "Its own among the triggers of its type.",
        )
    };
    let disabled = || boolean("True: it starts nothing.");
    let webhook = object(
        &["type"],
        [
            ("type", json!({"const": "webhook"})),
            (
                "path",
                text(
                    "Below /webhook/; `:name` is a parameter. Left out: one that cannot be guessed.",
                ),
            ),
            (
                "method",
                choice(&names(Method::CHOICES), "POST if left out."),
            ),
            (
                "respond",
                choice(&names(Respond::CHOICES), "When the caller is answered."),
            ),
            (
                "wait",
                duration("How long a caller is kept waiting at most."),
            ),
            ("auth", auth()),
            ("max_body", integer(0, BODY_MAX as i64, "Bytes.")),
            ("rate", text("Like 100/s.")),
            (
                "input",
                choice(
                    &names(webhook::INPUTS),
                    "`payload`: the body is the input, too.",
                ),
            ),
            ("name", name()),
            ("disabled", disabled()),
        ],
    );
    let cron = object(
        &["type", "cron"],
        [
            ("type", json!({"const": "cron"})),
            ("cron", text("Like `0 9 * * MON-FRI`, or @daily.")),
            ("timezone", text("Like Europe/Berlin; UTC if left out.")),
            (
                "overlap",
                choice(&names(Overlap::CHOICES), "If the one before has not ended."),
            ),
            (
                "catch_up",
                choice(&names(CatchUp::CHOICES), "Firings that were missed."),
            ),
            (
                "input",
                described(json!({}), "What expressions see as `input`."),
            ),
            ("name", name()),
            ("disabled", disabled()),
        ],
    );
    json!({"oneOf": [titled(webhook, "Webhook"), titled(cron, "Cron")]})
}

fn auth() -> Value {
    let secret = || {
        let mut secret = named(
            "^[A-Za-z0-9._-]{1,100}$",
            "The name of a secret, never its value.",
        );
        secret["x-pawl-source"] = json!("secrets");
        secret
    };
    let token = object(
        &["type", "secret"],
        [
            ("type", json!({"const": "header"})),
            ("header", text("Where the token is.")),
            ("secret", secret()),
        ],
    );
    let signature = object(
        &["type", "secret"],
        [
            ("type", json!({"const": "hmac"})),
            ("header", text("Where the signature is.")),
            ("secret", secret()),
            (
                "tolerance",
                duration("How far the clock of the caller may be off."),
            ),
        ],
    );
    described(
        json!({"oneOf": [titled(token, "Token"), titled(signature, "Signature")]}),
        "Who may call; left out, every caller may.",
    )
}

fn nodes(registry: &Registry) -> Value {
    let mut node = object(
        &["id", "type"],
        [
            (
                "id",
                json!({"type": "string", "minLength": 1, "maxLength": 100, "description": "Expressions use it as steps.ID.", "pattern": "^[^$]"}),
            ),
            (
                "type",
                choice(&registry.types().collect::<Vec<_>>(), "The node type."),
            ),
            ("name", text("A label for people.")),
            (
                "config",
                json!({"type": "object", "description": "The fields of the type."}),
            ),
            ("timeout", duration("Of one try; effectful nodes only.")),
            ("retry", retry()),
            (
                "on_error",
                choice(
                    &["fail", "continue"],
                    "Continue: leave by success with `error` set.",
                ),
            ),
            (
                "on_interrupt",
                choice(
                    &["rerun", "fail"],
                    "After a crash in the middle of an effect.",
                ),
            ),
            ("disabled", boolean("True: the execution passes through.")),
            ("entry", boolean("True: executions can start here.")),
            (
                "position",
                json!({"type": "object", "description": "Where a canvas draws it."}),
            ),
        ],
    );
    let by_type = registry.iter().map(|handler| of_type(&**handler));
    node["allOf"] = by_type.collect();
    let mut nodes = list(node, "Exactly one of them is of type `start`.");
    nodes["minItems"] = json!(1);
    nodes["maxItems"] = json!(MAX_NODES);
    nodes
}

/// `timeout` and `retry` in the config mean the fields of the node, as some editors write them.
fn of_type(handler: &dyn NodeHandler) -> Value {
    let spec = handler.spec();
    let mut config = spec.json_schema();
    for (name, schema) in [
        ("timeout", duration("Read as the node's own.")),
        ("retry", retry()),
    ] {
        if !spec.has_field(name) {
            config["properties"][name] = schema;
        }
    }
    let needed: &[&str] = match spec.fields.iter().any(|field| field.required) {
        true => &["config"],
        false => &[],
    };
    json!({
        "if": {"properties": {"type": {"const": spec.node_type}}, "required": ["type"]},
        "then": {"properties": {"config": config}, "required": needed},
    })
}

fn retry() -> Value {
    described(
        object(
            &[],
            [
                ("enabled", boolean("False switches it off.")),
                (
                    "max_attempts",
                    integer(1, 1_000, "All tries, the first included."),
                ),
                ("delay", duration("Before the second try.")),
                (
                    "backoff",
                    choice(&["fixed", "linear", "exponential"], "How the delay grows."),
                ),
                ("max_delay", duration("The longest delay.")),
                (
                    "jitter",
                    boolean("Takes up to half of the delay off, at random."),
                ),
            ],
        ),
        "Tries after errors that may pass; effectful nodes only.",
    )
}

fn edges() -> Value {
    let node = |doc| {
        let mut node = text(doc);
        node["x-pawl-source"] = json!("nodes");
        node
    };
    let mut edge = object(
        &["source", "target"],
        [
            ("source", node("The node it leaves.")),
            ("target", node("The node it leads to.")),
            (
                "sourceHandle",
                json!({"type": ["string", "boolean", "integer", "null"], "description": "The exit; success if left out."}),
            ),
        ],
    );
    edge["properties"]["sourceHandle"]["title"] = json!("Exit");
    let mut edges = list(edge, "Where nodes go on to.");
    edges["maxItems"] = json!(MAX_EDGES);
    edges
}

/// A field that is null counts as left out, so null is allowed where a field may be missing.
fn object<const N: usize>(required: &[&str], fields: [(&str, Value); N]) -> Value {
    let properties = fields.into_iter().map(|(name, schema)| {
        let is_optional = !required.contains(&name);
        let schema = titled(schema, &title_of(name));
        (
            name.to_owned(),
            if is_optional { or_null(schema) } else { schema },
        )
    });
    json!({
        "type": "object",
        "properties": Map::from_iter(properties),
        "required": required,
        "additionalProperties": false,
    })
}

fn or_null(mut schema: Value) -> Value {
    if let Some(names) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        names.push(Value::Null);
    }
    if let Some(options) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
        options.push(json!({"type": "null"}));
    }
    let kinds = match schema.get_mut("type").map(Value::take) {
        Some(Value::String(kind)) => json!([kind, "null"]),
        Some(Value::Array(mut kinds)) => {
            if !kinds.contains(&json!("null")) {
                kinds.push(json!("null"));
            }
            Value::Array(kinds)
        }
        _ => return schema,
    };
    schema["type"] = kinds;
    schema
}

fn titled(mut schema: Value, title: &str) -> Value {
    if schema.get("title").is_none() {
        schema["title"] = json!(title);
    }
    schema
}

fn described(mut schema: Value, doc: &str) -> Value {
    schema["description"] = json!(doc);
    schema
}

fn text(doc: &str) -> Value {
    json!({"type": "string", "description": doc})
}

fn template(doc: &str) -> Value {
    json!({"type": "string", "description": doc, "x-pawl-language": "template"})
}

fn named(pattern: &str, doc: &str) -> Value {
    json!({"type": "string", "pattern": pattern, "description": doc})
}

fn boolean(doc: &str) -> Value {
    json!({"type": "boolean", "description": doc})
}

fn integer(least: i64, most: i64, doc: &str) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most, "description": doc})
}

fn duration(doc: &str) -> Value {
    json!({
        "type": ["string", "number"], "format": "duration", "description": doc, "x-pawl-language": "duration",
    })
}

fn choice(names: &[&str], doc: &str) -> Value {
    json!({"type": "string", "enum": names, "description": doc})
}

fn list(item: Value, doc: &str) -> Value {
    json!({"type": "array", "items": item, "description": doc})
}

fn names<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(name, _)| *name).collect()
}
