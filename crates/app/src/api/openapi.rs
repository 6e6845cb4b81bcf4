//! The OpenAPI 3.1 document, made from the table of routes and `openapi/components.json`.

use std::sync::LazyLock;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::ApiState;
use super::access::Needs;
use super::error::{ApiError, ApiResult};
use super::fields::TEXT_MAX;
use super::path::PART_BYTES_MAX;
use super::routes::{self, Route};
use super::wire;

const COMPONENTS: &str = include_str!("openapi/components.json");

/// A parameter in query or header.
#[derive(Clone, Copy)]
pub(super) struct Param {
    pub(super) name: &'static str,
    doc: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Integer { least: u64, most: Option<u64> },
}

impl Param {
    pub(super) const fn text(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            doc,
            kind: Kind::Text,
        }
    }

    /// Zero or more.
    pub(super) const fn integer(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            doc,
            kind: Kind::Integer {
                least: 0,
                most: None,
            },
        }
    }

    /// From one to `most`.
    pub(super) const fn up_to(self, most: u64) -> Self {
        Self {
            kind: Kind::Integer {
                least: 1,
                most: Some(most),
            },
            ..self
        }
    }
}

pub(super) struct Body {
    pub(super) kind: &'static str,
    pub(super) schema: &'static str,
    pub(super) required: bool,
}

pub(super) struct Answer {
    pub(super) status: u16,
    /// A name in the components; empty for an answer without body.
    pub(super) schema: &'static str,
}

pub(super) async fn document(State(state): State<ApiState>) -> ApiResult<Response> {
    static WITH_KEYS: LazyLock<Result<Value, String>> = LazyLock::new(|| build(true));
    static OPEN: LazyLock<Result<Value, String>> = LazyLock::new(|| build(false));
    let document = match state.access.is_open() {
        true => &OPEN,
        false => &WITH_KEYS,
    };
    match &**document {
        Ok(document) => Ok(wire::ok(document)),
        Err(reason) => Err(ApiError::internal(reason)),
    }
}

/// `keys`: does this server ask for them?
fn build(keys: bool) -> Result<Value, String> {
    let mut components: Value =
        serde_json::from_str(COMPONENTS).map_err(|error| error.to_string())?;
    bound_numbers(&mut components);
    bound_texts(&mut components);
    let mut paths: Map<String, Value> = Map::new();
    for route in routes::table() {
        // A part that takes all the rest is a part like any other to readers.
        let path = route.path.replace("{*", "{");
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        methods[route.method.as_str().to_lowercase()] = operation(&route, keys);
    }
    let login = match keys {
        true => "Send an API key with every request.",
        false => "This is `pawl dev`, for this machine only: it needs no key.",
    };
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pawl",
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!("Durable workflows from one binary. Errors are {{error, message, details}}; lists take limit and cursor. {login}"),
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}},
        },
    }))
}

/// No number of this interface is negative.
fn bound_numbers(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("type") == Some(&json!("integer")) {
                fields.entry("minimum").or_insert(json!(0));
            }
            fields.values_mut().for_each(bound_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(bound_numbers),
        _ => {}
    }
}

/// Bodies whose texts become columns: [`super::fields`] holds them to this length.
const BODIES: [&str; 5] = [
    "StartRequest",
    "RetryRequest",
    "BulkRequest",
    "GcRequest",
    "Filter",
];

fn bound_texts(components: &mut Value) {
    for name in BODIES {
        let Some(fields) = components[name]["properties"].as_object_mut() else {
            continue;
        };
        for field in fields.values_mut().filter_map(Value::as_object_mut) {
            let is_text = field
                .get("type")
                .is_some_and(|kind| *kind == json!("string") || *kind == json!(["string", "null"]));
            if is_text && !field.contains_key("format") {
                field.insert("minLength".to_owned(), json!(1));
                field.insert("maxLength".to_owned(), json!(TEXT_MAX));
            }
        }
    }
}

fn operation(route: &Route, keys: bool) -> Value {
    let mut operation = json!({
        "tags": [route.tag],
        "summary": route.summary,
        "operationId": operation_id(route),
        "parameters": parameters(route),
        "responses": responses(route),
    });
    if let Some(body) = &route.body {
        operation["requestBody"] = request_body(body);
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
            "seq" => json!({"type": "integer", "minimum": 1}),
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
        Kind::Text if place == "query" && param.name != "cursor" => {
            json!({"type": "string", "minLength": 1})
        }
        Kind::Text if place == "header" => json!({"type": "string", "maxLength": TEXT_MAX}),
        Kind::Text => json!({"type": "string"}),
        Kind::Integer { least, most: None } => json!({"type": "integer", "minimum": least}),
        Kind::Integer {
            least,
            most: Some(most),
        } => json!({"type": "integer", "minimum": least, "maximum": most}),
    };
    json!({"name": param.name, "in": place, "description": param.doc, "schema": schema})
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn request_body(body: &Body) -> Value {
    let mut content = json!({"application/json": {"schema": reference(body.schema)}});
    content[body.kind] = json!({"schema": reference(body.schema)});
    json!({"required": body.required, "content": content})
}

fn responses(route: &Route) -> Value {
    let mut all = json!({});
    for answer in &route.answers {
        all[answer.status.to_string()] = response(answer);
    }
    let failed = Answer {
        status: 0,
        schema: "Error",
    };
    all["default"] = response(&failed);
    all
}

fn response(answer: &Answer) -> Value {
    let kind = match answer.schema {
        "" => return json!({"description": describe(answer.status)}),
        "Html" => "text/html",
        "Metrics" => "text/plain",
        "EventStream" => "text/event-stream",
        _ => "application/json",
    };
    let mut content = json!({});
    content[kind] = json!({"schema": reference(answer.schema)});
    json!({"description": describe(answer.status), "content": content})
}

fn describe(status: u16) -> &'static str {
    match status {
        200 => "Done",
        201 => "Made",
        202 => "Taken in",
        204 => "Nothing to show",
        404 => "There is no such thing",
        409 => "Not in the state it is in",
        412 => "There is a newer version",
        422 => "The request does not make sense",
        503 => "Not now",
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
