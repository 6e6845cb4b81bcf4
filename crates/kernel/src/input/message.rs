//! What is expected, in words. No message repeats a value of the input.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::text::shortened;

pub(super) const TYPE_WANTED: &str = "`type` is one of `array`, `boolean`, `integer`, `null`, `number`, `object`, `string`, or a list of \
     some of them";
/// Names that are listed.
const NAMES_MAX: usize = 10;
const NAME_CHARS: usize = 100;
/// Of a value that the schema wants.
const WANTED_CHARS: usize = 300;
const MESSAGE_CHARS: usize = 500;

/// `found` is the type of what was found, where it is known.
pub(super) fn told(error: &ValidationError<'_>, found: Option<&str>) -> String {
    shortened(&text(error.kind(), found), MESSAGE_CHARS)
}

fn text(kind: &Kind, found: Option<&str>) -> String {
    match kind {
        Kind::Required { property } => format!("`{}` is missing", name(property)),
        Kind::Type { kind } => match found {
            Some(found) => format!("it must be {}, not {found}", types(kind)),
            None => format!("it must be {}", types(kind)),
        },
        Kind::Enum { options } => format!("it must be one of {}", list(options)),
        Kind::Constant { expected_value } => format!("it must be {}", wanted(expected_value)),
        Kind::Minimum { limit } => format!("it must be at least {limit}"),
        Kind::Maximum { limit } => format!("it must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("it must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("it must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("it must be a multiple of {multiple_of}"),
        Kind::Custom { message, .. } => message.clone(),
        other => of_size(other).unwrap_or_else(|| of_structure(other)),
    }
}

fn of_size(kind: &Kind) -> Option<String> {
    let (bound, limit, what) = match kind {
        Kind::MinLength { limit } => ("at least", limit, "character"),
        Kind::MaxLength { limit } => ("at most", limit, "character"),
        Kind::MinItems { limit } => ("at least", limit, "item"),
        Kind::MaxItems { limit } => ("at most", limit, "item"),
        Kind::MinProperties { limit } => ("at least", limit, "field"),
        Kind::MaxProperties { limit } => ("at most", limit, "field"),
        _ => return None,
    };
    let ending = if *limit == 1 { "" } else { "s" };
    Some(format!("it must have {bound} {limit} {what}{ending}"))
}

fn of_structure(kind: &Kind) -> String {
    match kind {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unknown_fields(unexpected)
        }
        Kind::AdditionalItems { .. } | Kind::UnevaluatedItems { .. } => {
            "it has items that are not allowed".into()
        }
        Kind::PropertyNames { error } => {
            format!("the name of a field does not fit: {}", told(error, None))
        }
        Kind::UniqueItems => "its items must differ from one another".into(),
        Kind::Contains => "the wrong number of its items fit `contains`".into(),
        Kind::AnyOf { .. } => "it fits none of the forms of `anyOf`".into(),
        Kind::OneOfNotValid { .. } => "it fits none of the forms of `oneOf`".into(),
        Kind::OneOfMultipleValid { .. } => {
            "it fits several forms of `oneOf`, and must fit just one".into()
        }
        Kind::Not { .. } => "it fits the schema of `not`, and must not".into(),
        Kind::FalseSchema => "nothing is allowed here".into(),
        Kind::Referencing(_) => "the `$ref` leads nowhere".into(),
        other => format!("it does not fit `{}`", other.keyword()),
    }
}

fn unknown_fields(names: &[String]) -> String {
    let listed = names.iter().take(NAMES_MAX);
    let listed: Vec<String> = listed
        .map(|name| format!("`{}`", shortened(name, NAME_CHARS)))
        .collect();
    let more = match names.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let fields = if names.len() == 1 { "field" } else { "fields" };
    format!("unknown {fields} {}{more}", listed.join(", "))
}

fn list(options: &Value) -> String {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    // Enough to fill the text.
    let texts: Vec<String> = options.iter().take(WANTED_CHARS).map(wanted).collect();
    shortened(&texts.join(", "), WANTED_CHARS)
}

fn wanted(value: &Value) -> String {
    shortened(&value.to_string(), WANTED_CHARS)
}

fn name(value: &Value) -> String {
    shortened(value.as_str().unwrap_or_default(), NAME_CHARS)
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => of_type(*one).to_owned(),
        TypeKind::Multiple(several) => {
            let names: Vec<&str> = several.iter().map(of_type).collect();
            names.join(" or ")
        }
    }
}

fn of_type(one: JsonType) -> &'static str {
    match one {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

pub(super) fn named_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
