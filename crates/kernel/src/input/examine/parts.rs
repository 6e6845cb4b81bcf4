//! Where a JSON Schema has schemas inside.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::schema::findings::join;

/// What a part holds for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The value that the schema around it holds for.
    SameValue,
    /// Values inside of it.
    Inside,
    /// Nothing, until a `$ref` leads there.
    Apart,
}

/// How the parts are written.
#[derive(Clone, Copy)]
enum Form {
    One,
    List,
    Named,
}

pub(super) struct Subschema<'a> {
    /// From the schema around it.
    pub(super) pointer: String,
    pub(super) schema: &'a Value,
    pub(super) reach: Reach,
}

const KEYWORDS: &[(&str, Form, Reach)] = &[
    ("allOf", Form::List, Reach::SameValue),
    ("anyOf", Form::List, Reach::SameValue),
    ("oneOf", Form::List, Reach::SameValue),
    ("not", Form::One, Reach::SameValue),
    ("if", Form::One, Reach::SameValue),
    ("then", Form::One, Reach::SameValue),
    ("else", Form::One, Reach::SameValue),
    ("dependentSchemas", Form::Named, Reach::SameValue),
    ("dependencies", Form::Named, Reach::SameValue),
    ("items", Form::One, Reach::Inside),
    ("prefixItems", Form::List, Reach::Inside),
    ("contains", Form::One, Reach::Inside),
    ("unevaluatedItems", Form::One, Reach::Inside),
    ("properties", Form::Named, Reach::Inside),
    ("patternProperties", Form::Named, Reach::Inside),
    ("additionalProperties", Form::One, Reach::Inside),
    ("unevaluatedProperties", Form::One, Reach::Inside),
    ("propertyNames", Form::One, Reach::Inside),
    ("contentSchema", Form::One, Reach::Apart),
    ("$defs", Form::Named, Reach::Apart),
    ("definitions", Form::Named, Reach::Apart),
];

/// Those without schemas inside.
const PLAIN: &[&str] = &[
    "$anchor",
    "$comment",
    "$id",
    "$ref",
    "$schema",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
];

pub(super) fn known() -> impl Iterator<Item = &'static str> + Clone {
    let with_parts = KEYWORDS.iter().map(|(word, _, _)| *word);
    PLAIN.iter().copied().chain(with_parts)
}

pub(super) fn is_known(word: &str) -> bool {
    known().any(|known| known == word)
}

/// What is no schema is left out: the draft's own schema finds it.
pub(super) fn parts(fields: &Map<String, Value>) -> Vec<Subschema<'_>> {
    let mut found = Vec::new();
    for (word, form, reach) in KEYWORDS {
        let Some(value) = fields.get(*word) else {
            continue;
        };
        let mut add = |pointer: String, schema| {
            found.push(Subschema {
                pointer,
                schema,
                reach: *reach,
            });
        };
        let here = join("", word);
        match (form, value) {
            (Form::One, schema) => add(here, schema),
            (Form::List, Value::Array(list)) => {
                for (place, schema) in list.iter().enumerate() {
                    add(join(&here, place), schema);
                }
            }
            (Form::Named, Value::Object(named)) => {
                for (name, schema) in named {
                    add(join(&here, name), schema);
                }
            }
            _ => {}
        }
    }
    found
}

/// Parts with an `$anchor`, by that name, with where they stand.
pub(super) fn anchors(root: &Value) -> HashMap<&str, (String, &Value)> {
    let mut found = HashMap::new();
    let mut open = vec![(String::new(), root)];
    while let Some((pointer, schema)) = open.pop() {
        let Some(fields) = schema.as_object() else {
            continue;
        };
        let below = parts(fields).into_iter();
        open.extend(below.map(|part| (format!("{pointer}{}", part.pointer), part.schema)));
        if let Some(name) = fields.get("$anchor").and_then(Value::as_str) {
            found.insert(name, (pointer, schema));
        }
    }
    found
}
