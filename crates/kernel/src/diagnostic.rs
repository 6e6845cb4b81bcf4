//! One problem found in a schema, as data: the API returns it, the terminal draws it with a caret.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::text::shortened;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Forbids saving.
    Error,
    /// Probably not what was meant.
    Warning,
    /// What was read otherwise than it was written, and means the same.
    Note,
}

/// Names come from the text and may be of any length.
const MAX_PARAM: usize = 200;

/// A place in a source text. Lines and columns start at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    /// How many characters the caret underlines, at least 1.
    pub length: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable and upper case, like `UNKNOWN_NODE_TYPE`.
    pub code: &'static str,
    pub message: String,
    /// What the message names, for programs that say it in another language. Not every message has them.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
    /// JSON pointer to the value in question.
    pub pointer: String,
}

impl Diagnostic {
    pub fn error(
        code: &'static str,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            params: Map::new(),
            hint: None,
            file: None,
            place: None,
            node_id: None,
            pointer: pointer.into(),
        }
    }

    pub fn warning(
        code: &'static str,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, pointer, message)
        }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn param(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        let value = match value.into() {
            Value::String(text) => shortened(&text, MAX_PARAM).into(),
            other => other,
        };
        self.params.insert(name.to_owned(), value);
        self
    }

    pub fn node(mut self, node_id: impl Into<String>) -> Self {
        self.node_id = Some(node_id.into());
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
