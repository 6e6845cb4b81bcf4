//! The OpenAPI 3.1 document, made from the table of routes and the types of [`crate::wire`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::State;
use axum::response::Response;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::ApiState;
use super::access::Needs;
use super::error::{ApiError, ApiResult};
use super::path::PART_BYTES_MAX;
use super::reply;
use super::routes::{self, Route};
use crate::wire::{self, ErrorBody, TEXT_MAX};

const JSON: &str = "application/json";

/// A parameter in query or header.
#[derive(Clone, Copy)]
pub(super) struct Param {
    pub(super) name: &'static str,
    doc: &'static str,
    kind: ParamKind,
}

#[derive(Clone, Copy)]
enum ParamKind {
    Text,
    Flag,
    Choice(&'static [&'static str]),
    Integer { least: u64, most: Option<u64> },
}

impl Param {
    pub(super) const fn text(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            doc,
            kind: ParamKind::Text,
        }
    }

    /// Zero or more.
    pub(super) const fn integer(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            doc,
            kind: ParamKind::Integer {
                least: 0,
                most: None,
            },
        }
    }

    pub(super) const fn flag(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            doc,
            kind: ParamKind::Flag,
        }
    }

    /// One of a few words.
    pub(super) const fn choice(
        name: &'static str,
        doc: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            doc,
            kind: ParamKind::Choice(words),
        }
    }

    /// From one to `most`.
    pub(super) const fn up_to(self, most: u64) -> Self {
        self.between(1, most)
    }

    pub(super) const fn between(self, least: u64, most: u64) -> Self {
        Self {
            kind: ParamKind::Integer {
                least,
                most: Some(most),
            },
            ..self
        }
    }
}

/// Has a generator describe a type.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(super) struct Body {
    schema: SchemaOf,
    required: bool,
    is_document: bool,
}

impl Body {
    pub(super) fn new<T: JsonSchema>() -> Self {
        Self {
            schema: SchemaGenerator::subschema_for::<T>,
            required: true,
            is_document: false,
        }
    }

    pub(super) fn optional(self) -> Self {
        Self {
            required: false,
            ..self
        }
    }

    pub(super) fn or_yaml(self) -> Self {
        Self {
            is_document: true,
            ..self
        }
    }
}

pub(super) struct Answer {
    status: u16,
    /// Its media type and schema; an answer without body has none.
    content: Option<(&'static str, SchemaOf)>,
}

impl Answer {
    pub(super) fn json<T: JsonSchema>(status: u16) -> Self {
        Self::text::<T>(status, JSON)
    }

    pub(super) fn text<T: JsonSchema>(status: u16, kind: &'static str) -> Self {
        Self {
            status,
            content: Some((kind, SchemaGenerator::subschema_for::<T>)),
        }
    }

    pub(super) fn empty(status: u16) -> Self {
        let content = None;
        Self { status, content }
    }
}

pub(super) async fn document(State(state): State<ApiState>) -> ApiResult<Response> {
    static WITH_KEYS: LazyLock<Result<Value, String>> = LazyLock::new(|| build(true));
    static OPEN: LazyLock<Result<Value, String>> = LazyLock::new(|| build(false));
    let document = match state.access.is_open() {
        true => &OPEN,
        false => &WITH_KEYS,
    };
    match &**document {
        Ok(document) => Ok(reply::ok(document)),
        Err(reason) => Err(ApiError::internal(reason)),
    }
}

/// The document as a text, for those who have no server.
pub fn openapi_text() -> Result<String, String> {
    let document = build(true)?;
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

/// Describes types and collects what it has described, as requests send them and as answers show them: a field that
/// may be left out of a body is not one that may be missing in an answer.
struct Components {
    bodies: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Components {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
                settings.transforms = vec![Box::new(RecursiveTransform(drop_width))];
            })
        };
        Self {
            bodies: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    /// What no route names: the events of a stream.
    fn add<T: JsonSchema>(&mut self) {
        self.answers.subschema_for::<T>();
    }

    /// By name. A type that is both sent and shown must look the same.
    fn schemas(mut self) -> Result<BTreeMap<String, Value>, String> {
        let mut all: BTreeMap<String, Value> =
            self.answers.take_definitions(true).into_iter().collect();
        for (name, schema) in self.bodies.take_definitions(true) {
            match all.insert(name.clone(), schema.clone()) {
                Some(other) if other != schema => {
                    return Err(format!("`{name}` is two schemas: {other} and {schema}"));
                }
                _ => {}
            }
        }
        Ok(all)
    }
}

/// How many bits Rust gives a number is no part of the interface.
fn drop_width(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| {
        format.starts_with("int") || format.starts_with("uint") || format == "double"
    }) {
        schema.remove("format");
    }
}

/// `keys`: does this server ask for them?
fn build(keys: bool) -> Result<Value, String> {
    let mut components = Components::new();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes::table() {
        // A part that takes all the rest is a part like any other to readers.
        let path = route.path.replace("{*", "{");
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        methods[route.method.as_str().to_lowercase()] = operation(&route, keys, &mut components);
    }
    let login = match keys {
        true => "Send an API key with every request.",
        false => "This is `pawl dev`, for this machine only: it needs no key.",
    };
    components.add::<wire::HelloEvent>();
    components.add::<wire::RunsEvent>();
    components.add::<wire::RunEvent<'_>>();
    components.add::<wire::LogEvent<'_>>();
    components.add::<wire::ChangeEvent>();
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pawl",
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!("Durable workflows from one binary. Errors are {{error, message, details}}; lists take limit and cursor. {login}"),
        },
        "paths": paths,
        "components": {
            "schemas": components.schemas()?,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}},
        },
    }))
}

fn operation(route: &Route, keys: bool, components: &mut Components) -> Value {
    let mut operation = json!({
        "tags": [route.tag],
        "summary": route.summary,
        "operationId": operation_id(route),
        "parameters": parameters(route),
        "responses": responses(route, components),
    });
    if let Some(body) = &route.body {
        operation["requestBody"] = request_body(body, components);
    }
    if let Needs::Role(role) = route.needs {
        if keys {
            operation["security"] = json!([{"key": []}]);
        }
        operation["x-role"] = role.name().into();
    }
    operation
}

/// `GET /api/executions/{id}/steps` is `get_executions_id_steps`.
fn operation_id(route: &Route) -> String {
    let words: Vec<&str> = route
        .path
        .split(['/', '{', '}', '*', '.', '-'])
        .filter(|word| !matches!(*word, "" | "api"))
        .collect();
    let place = if words.is_empty() {
        "root".to_owned()
    } else {
        words.join("_")
    };
    format!("{}_{place}", route.method.as_str().to_lowercase())
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| name.trim_start_matches('*'));
    let in_path = in_path.map(|name| {
        let schema = match name {
            // A context has a beginning, which is step 0.
            "seq" => {
                json!({"type": "integer", "minimum": i32::from(!route.path.ends_with("/context"))})
            }
            _ => json!({"type": "string", "minLength": 1, "maxLength": PART_BYTES_MAX}),
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    });
    let query = route.query.iter().map(|param| parameter("query", param));
    let headers = route.headers.iter().map(|param| parameter("header", param));
    in_path.chain(query).chain(headers).collect()
}

fn parameter(place: &str, param: &Param) -> Value {
    let schema = match param.kind {
        // Empty ones are refused under `/api/`, but for `cursor`, which then is the first page.
        ParamKind::Text if place == "query" && param.name != "cursor" => {
            json!({"type": "string", "minLength": 1})
        }
        ParamKind::Text if place == "header" => json!({"type": "string", "maxLength": TEXT_MAX}),
        ParamKind::Text => json!({"type": "string"}),
        ParamKind::Flag => json!({"type": "boolean"}),
        ParamKind::Choice(words) => json!({"type": "string", "enum": words}),
        ParamKind::Integer { least, most: None } => json!({"type": "integer", "minimum": least}),
        ParamKind::Integer {
            least,
            most: Some(most),
        } => json!({"type": "integer", "minimum": least, "maximum": most}),
    };
    json!({"name": param.name, "in": place, "description": param.doc, "schema": schema})
}

fn request_body(body: &Body, components: &mut Components) -> Value {
    let schema = (body.schema)(&mut components.bodies);
    let mut content = json!({JSON: {"schema": schema}});
    if body.is_document {
        content["application/yaml"] = json!({"schema": schema});
    }
    json!({"required": body.required, "content": content})
}

fn responses(route: &Route, components: &mut Components) -> Value {
    let mut all = json!({});
    for answer in &route.answers {
        all[answer.status.to_string()] = response(answer, components);
    }
    let failed = Answer::json::<ErrorBody>(0);
    all["default"] = response(&failed, components);
    all
}

fn response(answer: &Answer, components: &mut Components) -> Value {
    let description = describe(answer.status);
    let Some((kind, schema)) = answer.content else {
        return json!({"description": description});
    };
    let schema = schema(&mut components.answers);
    json!({"description": description, "content": {kind: {"schema": schema}}})
}

fn describe(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No content",
        404 => "Not found",
        409 => "Conflicts with the current state",
        412 => "There is a newer version",
        401 => "Not a good key or session",
        403 => "Not allowed",
        422 => "The request is not valid",
        429 => "Too many tries",
        503 => "Not available",
        _ => "Any error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::query::LIMIT_MAX;

    #[test]
    fn every_reference_leads_somewhere_and_every_id_is_its_own() {
        let document = build(true).unwrap();
        let known = document["components"]["schemas"].as_object().unwrap();
        let mut names = Vec::new();
        collect(&document, &mut names);
        assert!(names.len() > 50);
        for name in names {
            let name = name.strip_prefix("#/components/schemas/").unwrap();
            assert!(known.contains_key(name), "{name}");
        }
        let mut ids: Vec<String> = routes::table().iter().map(operation_id).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn bounds_are_those_of_the_handlers() {
        let document = build(true).unwrap();
        let parameters = &document["paths"]["/api/executions"]["get"]["parameters"];
        let limit = parameters.as_array().unwrap().iter();
        let limit = limit.clone().find(|one| one["name"] == "limit").unwrap();
        let expected = json!({"type": "integer", "minimum": 1, "maximum": LIMIT_MAX});
        assert_eq!(limit["schema"], expected);
        let start = &document["components"]["schemas"]["StartRequest"]["properties"];
        assert_eq!(start["tenant"]["maxLength"], TEXT_MAX);
        assert_eq!(start["version"]["minimum"], 1);
        assert_eq!(start["idempotency_key"]["maxLength"], TEXT_MAX);
    }

    #[test]
    fn dev_says_that_it_needs_no_key() {
        let (locked, open) = (build(true).unwrap(), build(false).unwrap());
        let start = |document: &Value| document["paths"]["/api/executions"]["post"].clone();
        assert!(start(&locked)["security"].is_array());
        assert!(start(&open)["security"].is_null());
        assert_eq!(start(&open)["x-role"], "operator");
        let about = open["info"]["description"].as_str().unwrap();
        assert!(about.contains("needs no key"), "{about}");
    }

    fn collect<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                into.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| collect(value, into));
            }
            Value::Array(items) => items.iter().for_each(|value| collect(value, into)),
            _ => {}
        }
    }
}
