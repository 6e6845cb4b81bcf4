//! Problems: the shape of every refusal, and findings in documents.

use std::borrow::Cow;

use pawl_kernel::diagnostic::{Diagnostic, Place, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::{Name, SeverityName};

/// The shape of every refusal.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorBody<'a> {
    /// A stable code in upper case.
    pub(crate) error: Cow<'a, str>,
    /// For people.
    pub(crate) message: Cow<'a, str>,
    /// More for programs, or null. Of `INVALID_INPUT`: `{"problems": [{"pointer", "message"}], "more"}`.
    pub(crate) details: Value,
    /// What the message names, for programs that say it in another language; `details` can name more.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) params: Map<String, Value>,
}

/// One problem of a schema or of a scheduled action.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Diagnostic")]
pub(crate) struct DiagnosticLine {
    pub(crate) severity: Name<SeverityName>,
    /// Stable and in upper case.
    pub(crate) code: String,
    pub(crate) message: String,
    /// What the message names, for programs that say it in another language. Not every message has them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) params: Map<String, Value>,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node_id: Option<String>,
    /// JSON pointer to the value in question.
    pub(crate) pointer: String,
}

impl From<&Diagnostic> for DiagnosticLine {
    fn from(found: &Diagnostic) -> Self {
        let severity = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let place = |pick: fn(Place) -> usize| found.place.map(|place| pick(place) as u64);
        Self {
            severity: Name::new(severity),
            code: found.code.to_owned(),
            message: found.message.clone(),
            params: found.params.clone(),
            hint: found.hint.clone(),
            file: found.file.clone(),
            line: place(|place| place.line),
            column: place(|place| place.column),
            length: place(|place| place.length),
            node_id: found.node_id.clone(),
            pointer: found.pointer.clone(),
        }
    }
}
