//! JSON inside JSON: inputs, outputs, errors, definitions.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON value. On the way out it is stored text, which goes through without being built into a tree.
#[derive(Debug, PartialEq)]
pub(crate) enum Payload<'a> {
    Stored(&'a str),
    Value(Value),
}

impl<'a> Payload<'a> {
    pub(crate) fn stored(text: Option<&'a String>) -> Option<Self> {
        text.map(|text| Self::Stored(text))
    }

    pub(crate) fn value(&self) -> Cow<'_, Value> {
        match self {
            Self::Value(value) => Cow::Borrowed(value),
            Self::Stored(text) => Cow::Owned(
                serde_json::from_str(text).unwrap_or_else(|_| Value::String((*text).to_owned())),
            ),
        }
    }
}

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let text = match self {
            Self::Value(value) => return value.serialize(to),
            Self::Stored(text) => *text,
        };
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => raw.serialize(to),
            // Damaged text must not make the rest unreadable.
            Err(_) => to.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Payload<'_> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self::Value)
    }
}

impl JsonSchema for Payload<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Payload".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}
