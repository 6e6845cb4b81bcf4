//! Short texts in requests, which become columns of their own.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// Longest text in a field that ends up in a column of its own, in characters.
pub(crate) const TEXT_MAX: usize = 255;

/// A text of 1 to [`TEXT_MAX`] characters without control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Text(pub(crate) String);

/// What keeps a text from being one: short, and nothing that a log or terminal would obey.
pub(crate) fn problem_of(text: &str) -> Option<String> {
    let count = text.chars().count();
    if count == 0 || count > TEXT_MAX {
        return Some(format!(
            "must have 1 to {TEXT_MAX} characters, it has {count}"
        ));
    }
    let unsafe_text = text.chars().any(char::is_control);
    unsafe_text.then(|| "must not hold control characters".to_owned())
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        match problem_of(&text) {
            None => Ok(Self(text)),
            Some(problem) => Err(de::Error::custom(problem)),
        }
    }
}

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 1, "maxLength": TEXT_MAX})
    }
}
