//! What an editor needs to know of a field to draw it: a label, the language of its text, where its names come from, and when
//! it means anything. The defaults follow from name, kind and mode.

use serde_json::{Map, Value, json};

use super::{FieldKind, FieldMode, FieldSpec};

/// Nothing here changes what a field means.
#[derive(Clone, Copy, Debug)]
pub struct FieldForm {
    title: Option<&'static str>,
    language: Option<&'static str>,
    source: Option<&'static str>,
    when: Option<FieldCondition>,
}

/// The field means something only while another field of the same object has one of these values.
#[derive(Clone, Copy, Debug)]
struct FieldCondition {
    field: &'static str,
    values: &'static [&'static str],
}

impl FieldForm {
    pub const PLAIN: Self = Self {
        title: None,
        language: None,
        source: None,
        when: None,
    };
}

impl FieldSpec {
    /// The label, where the name does not say it well.
    pub const fn titled(mut self, title: &'static str) -> Self {
        self.form.title = Some(title);
        self
    }

    /// The language of a text that is never interpolated.
    pub const fn in_language(mut self, language: &'static str) -> Self {
        self.form.language = Some(language);
        self
    }

    /// The text is, or names, one of these: `connections`, `secrets`, `schemas`, `nodes`.
    pub const fn names_from(mut self, source: &'static str) -> Self {
        self.form.source = Some(source);
        self
    }

    pub const fn only_when(mut self, field: &'static str, values: &'static [&'static str]) -> Self {
        self.form.when = Some(FieldCondition { field, values });
        self
    }

    fn language(&self) -> Option<&'static str> {
        if self.form.language.is_some() {
            return self.form.language;
        }
        let (mode, _) = self.mode.reading();
        match (mode, &self.kind) {
            (_, FieldKind::Duration) => Some("duration"),
            (FieldMode::Expression, _) => Some("expression"),
            (FieldMode::Url, _) => Some("url"),
            (FieldMode::Raw, FieldKind::Text) => Some("text"),
            (FieldMode::Template, FieldKind::Text | FieldKind::Any) => Some("template"),
            _ => None,
        }
    }
}

/// Adds what an editor needs to the JSON Schema of a field.
pub(super) fn describe(field: &FieldSpec, schema: &mut Value) {
    let form = &field.form;
    schema["title"] = match form.title {
        Some(title) => json!(title),
        None => json!(title_of(field.name)),
    };
    if let Some(language) = field.language() {
        schema["x-pawl-language"] = json!(language);
    }
    if let Some(source) = form.source {
        schema["x-pawl-source"] = json!(source);
    }
    if let Some(when) = &form.when {
        schema["x-pawl-when"] = json!({"field": when.field, "in": when.values});
    }
}

/// `max_attempts` reads as "Max attempts".
pub(crate) fn title_of(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// JSON Schema of an object with these properties; those that end in `?` may be missing.
pub fn output_object(properties: &[(&str, Value)]) -> Value {
    let required: Vec<&str> = properties
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !name.ends_with('?'))
        .collect();
    let named = properties.iter();
    let named = named.map(|(name, schema)| (name.trim_end_matches('?').to_owned(), schema.clone()));
    json!({"type": "object", "properties": Map::from_iter(named), "required": required})
}

#[cfg(test)]
mod tests {
    use super::super::field::{optional, required};
    use super::*;

    #[test]
    fn a_field_says_how_to_edit_it() {
        let described = |field: FieldSpec| {
            let mut schema = json!({});
            describe(&field, &mut schema);
            schema
        };
        let plain = optional("max_wait", FieldKind::Duration, FieldMode::Template, "");
        assert_eq!(
            described(plain),
            json!({"title": "Max wait", "x-pawl-language": "duration"})
        );
        let code = required("source", FieldKind::Text, FieldMode::Raw, "")
            .titled("JavaScript")
            .in_language("javascript");
        assert_eq!(
            described(code),
            json!({"title": "JavaScript", "x-pawl-language": "javascript"})
        );
        let token = optional("token", FieldKind::Text, FieldMode::Template, "")
            .names_from("secrets")
            .only_when("type", &["bearer"]);
        assert_eq!(
            described(token),
            json!({
                "title": "Token", "x-pawl-language": "template", "x-pawl-source": "secrets",
                "x-pawl-when": {"field": "type", "in": ["bearer"]},
            })
        );
        let late = optional("expect", FieldKind::Text, FieldMode::LateExpression, "");
        assert_eq!(described(late)["x-pawl-language"], "expression");
    }
}
