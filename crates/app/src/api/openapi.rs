//! The OpenAPI 3.1 document, made from the table of routes and `openapi/components.json`.

use std::sync::LazyLock;

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::access::Needs;
use super::error::{ApiError, ApiResult};
use super::routes::{self, Route};
use super::wire;

const COMPONENTS: &str = include_str!("openapi/components.json");

/// A parameter in query or header.
#[derive(Clone, Copy)]
pub(super) struct Param {
    name: &'static str,
    doc: &'static str,
    kind: &'static str,
}

impl Param {
    pub(super) const fn text(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            doc,
            kind: "string",
        }
    }

    pub(super) const fn integer(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            doc,
            kind: "integer",
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

pub(super) async fn document() -> ApiResult<Response> {
    static DOCUMENT: LazyLock<Result<Value, String>> = LazyLock::new(build);
    match &*DOCUMENT {
        Ok(document) => Ok(wire::ok(document)),
        Err(reason) => Err(ApiError::internal(reason)),
    }
}

fn build() -> Result<Value, String> {
    let components: Value = serde_json::from_str(COMPONENTS).map_err(|error| error.to_string())?;
    let mut paths: Map<String, Value> = Map::new();
    for route in routes::table() {
        // A part that takes all the rest is a part like any other to readers.
        let path = route.path.replace("{*", "{");
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        methods[route.method.as_str().to_lowercase()] = operation(&route);
    }
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pawl",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Durable workflows from one binary. Errors are {error, message, details}; lists take limit and cursor.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}},
        },
    }))
}

fn operation(route: &Route) -> Value {
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
        operation["security"] = json!([{"key": []}]);
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
        let kind = if name == "seq" { "integer" } else { "string" };
        json!({"name": name, "in": "path", "required": true, "schema": {"type": kind}})
    });
    let query = route.query.iter().map(|param| parameter("query", param));
    let headers = route.headers.iter().map(|param| parameter("header", param));
    in_path.chain(query).chain(headers).collect()
}

fn parameter(place: &str, param: &Param) -> Value {
    json!({"name": param.name, "in": place, "description": param.doc, "schema": {"type": param.kind}})
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

    #[test]
    fn every_reference_leads_somewhere_and_every_id_is_its_own() {
        let document = build().unwrap();
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
