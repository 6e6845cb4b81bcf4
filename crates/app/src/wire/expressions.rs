//! The expression language for editors: its functions, and what a text gives.

use std::borrow::Cow;

use pawl_kernel::expr::{ErrorCode, ExprError, FunctionDoc, TextMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::name::ValueKind;
use super::{Name, Text};

/// A function of the expression language.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExpressionFunction {
    pub(crate) name: Cow<'static, str>,
    /// `name(needed, optional?, repeated...)`; `x => y` stands for an arrow function.
    pub(crate) signature: Cow<'static, str>,
    pub(crate) category: Cow<'static, str>,
    pub(crate) doc: Cow<'static, str>,
    pub(crate) example: Cow<'static, str>,
    /// What the example gives, as JSON text.
    pub(crate) result: Cow<'static, str>,
}

impl From<&FunctionDoc> for ExpressionFunction {
    fn from(function: &FunctionDoc) -> Self {
        Self {
            name: function.name.into(),
            signature: function.signature.into(),
            category: function.category.into(),
            doc: function.doc.into(),
            example: function.example.into(),
            result: function.result.into(),
        }
    }
}

/// A text with expressions, and where to evaluate it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvaluateRequest {
    /// Up to 64 KiB.
    pub(crate) text: String,
    /// As a field of a node reads it: with `{{ }}`, with `{{ }}` in a URL, or as one expression.
    #[schemars(with = "Name<TextMode>")]
    pub(crate) mode: Text,
    pub(crate) at: EvaluationPlace,
}

/// A point of an execution, or a context: one of the two.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvaluationPlace {
    #[schemars(with = "Option<Uuid>")]
    pub(crate) execution: Option<Text>,
    /// After this step of the execution; 0 is before the first.
    pub(crate) seq: Option<u64>,
    /// The names that the text may begin with: `input`, `steps`, `variables`.
    pub(crate) context: Option<Map<String, Value>>,
}

/// What the text gives, or what is wrong with it.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Evaluation {
    pub(crate) ok: bool,
    /// Left out if there is none, or if it is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Value>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<Name<ValueKind>>,
    /// The value is too large to be shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cut: bool,
    /// The size of a value that is cut, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<EvaluationError>,
}

/// Why a text gives nothing, and where in the text.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct EvaluationError {
    pub(crate) code: Name<ErrorCode>,
    pub(crate) message: String,
    /// How to fix it.
    pub(crate) hint: Option<String>,
    /// Counted as strings of JavaScript are, in UTF-16 units.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl EvaluationError {
    pub(crate) fn of(error: ExprError, text: &str) -> Self {
        let units = |bytes: usize| {
            let before = text.char_indices().take_while(|(at, _)| *at < bytes);
            before.map(|(_, letter)| letter.len_utf16() as u64).sum()
        };
        Self {
            code: error.code.into(),
            start: units(error.span.start),
            end: units(error.span.end),
            message: error.message,
            hint: error.hint,
        }
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::expr::WrittenText;

    use super::*;

    #[test]
    fn places_are_counted_as_in_javascript() {
        let text = "'😀é' + nothing(";
        let error = WrittenText::compile(text, TextMode::Expression).unwrap_err();
        let (start, bytes) = (error.span.start, error.span.end);
        let told = EvaluationError::of(error, text);
        assert_eq!(told.start as usize, text[..start].encode_utf16().count());
        assert_eq!(told.end as usize, text[..bytes].encode_utf16().count());
    }
}
