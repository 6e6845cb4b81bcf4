//! Reading configs: what several node types need to understand a value.

use std::time::Duration;

use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::{NodeCall, NodeError};
use pawl_kernel::time::{duration_from_seconds, parse_duration};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// The config as the node's struct; a node written without a config has an empty one.
pub(crate) fn config<C: DeserializeOwned>(call: &mut NodeCall<'_>) -> Result<C, NodeError> {
    if call.config.is_null() {
        call.config = json!({});
    }
    call.parse()
}

pub(crate) fn type_error(message: impl Into<String>) -> NodeError {
    NodeError::new("TYPE_ERROR", message)
}

/// Text of a config before rendering, if it is final: without an expression in it.
pub(crate) fn literal(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.contains("{{"))
}

/// Keeps `null` apart from a field that is not there.
pub(crate) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

pub(crate) fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) => parse_duration(&text).map(Some).map_err(D::Error::custom),
        Value::Number(number) => duration_from_seconds(number.as_f64().unwrap_or(f64::NAN))
            .map(Some)
            .map_err(D::Error::custom),
        other => Err(D::Error::custom(format!(
            "{} is not a valid duration; write 30s or 5m",
            kind_of(&other)
        ))),
    }
}

/// What a value is, for messages; never the value itself, which may be large or secret.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

const VARIABLE_CHARS_MAX: usize = 100;

/// A variable must be readable as `variables.NAME`, so its name follows the expression language.
pub(crate) fn check_variable(name: &str) -> Result<(), String> {
    let mut chars = name.chars();
    let starts_well = chars
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_');
    if !starts_well || !chars.all(|c| c.is_alphanumeric() || c == '_') {
        return Err(format!(
            "`{name}` is no variable name; use letters, digits and _, and begin with a letter or _"
        ));
    }
    if name.chars().count() > VARIABLE_CHARS_MAX {
        return Err(format!(
            "a variable name has at most {VARIABLE_CHARS_MAX} characters"
        ));
    }
    Ok(())
}

/// The same check when the schema is saved, for a field that holds a variable name.
pub(crate) fn variable_diagnostic(config: &Value, field: &str) -> Option<Diagnostic> {
    let message = check_variable(literal(config.get(field))?).err()?;
    Some(Diagnostic::error(
        "INVALID_VARIABLE_NAME",
        format!("/{field}"),
        message,
    ))
}
