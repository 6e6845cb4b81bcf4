//! A node's config with its texts compiled by the mode of their field.

use serde_json::{Map, Value};

use crate::expr::{Encoding, ExprError, Expression, Meter, Reference, Scope, Template};
use crate::node::{FieldKind, FieldMode, FieldSpec};
use crate::schema::findings::join;

/// Parts without expressions are literals as a whole, whatever their size: they render by one clone.
#[derive(Debug)]
pub(in crate::schema) enum ConfigValue {
    Literal(Value),
    Template(Template),
    Expression(Expression),
    List(Vec<ConfigValue>),
    Object(Vec<(String, ConfigValue)>),
    /// Left to the node; until then it stands there as written.
    Late {
        source: Value,
        text: Box<ConfigValue>,
    },
}

/// A text that does not compile.
pub(in crate::schema) struct BadText {
    /// Relative to the config.
    pub pointer: String,
    pub error: ExprError,
}

/// An expression that failed while a config was rendered.
#[derive(Clone, Debug, thiserror::Error)]
#[error("config{pointer}: {}", error.message)]
pub struct RenderError {
    /// Relative to the config.
    pub pointer: String,
    pub error: ExprError,
}

pub(in crate::schema) fn compile(
    config: &Value,
    fields: &[FieldSpec],
    problems: &mut Vec<BadText>,
) -> ConfigValue {
    let Value::Object(map) = config else {
        return ConfigValue::Literal(config.clone());
    };
    Compiler { problems }.fields(map, fields, "")
}

/// One template outside any config, as settings have.
pub(in crate::schema) fn compile_text(text: &str) -> Result<ConfigValue, ExprError> {
    if !text.contains("{{") {
        return Ok(ConfigValue::Literal(Value::String(text.to_owned())));
    }
    Template::compile(text, Encoding::Text).map(ConfigValue::Template)
}

struct Compiler<'a> {
    problems: &'a mut Vec<BadText>,
}

impl Compiler<'_> {
    fn fields(
        &mut self,
        map: &Map<String, Value>,
        fields: &[FieldSpec],
        pointer: &str,
    ) -> ConfigValue {
        let compiled = map.iter().map(|(name, value)| {
            let field = fields.iter().find(|field| field.name == name);
            let compiled = match field {
                Some(field) => self.field(value, field, &join(pointer, name)),
                None => ConfigValue::Literal(value.clone()),
            };
            (name.clone(), compiled)
        });
        fold_object(compiled.collect())
    }

    fn field(&mut self, value: &Value, field: &FieldSpec, pointer: &str) -> ConfigValue {
        let (mode, is_late) = field.mode.reading();
        let text = self.value(value, &field.kind, mode, pointer);
        if !is_late {
            return text;
        }
        ConfigValue::Late {
            source: value.clone(),
            text: Box::new(text),
        }
    }

    fn value(
        &mut self,
        value: &Value,
        kind: &FieldKind,
        mode: FieldMode,
        pointer: &str,
    ) -> ConfigValue {
        let kind = fitting(kind, value);
        match value {
            Value::String(text) => self.text(text, mode, pointer),
            Value::Array(items) => {
                let item_kind = if let FieldKind::List(item) = kind {
                    item
                } else {
                    &FieldKind::Any
                };
                let compiled = items.iter().enumerate();
                let compiled = compiled
                    .map(|(index, item)| self.value(item, item_kind, mode, &join(pointer, index)));
                fold_list(compiled.collect())
            }
            Value::Object(map) => match kind {
                FieldKind::Object(fields) => self.fields(map, fields, pointer),
                FieldKind::Map(inner) => self.map(map, inner, mode, pointer),
                _ => self.map(map, &FieldKind::Any, mode, pointer),
            },
            other => ConfigValue::Literal(other.clone()),
        }
    }

    fn map(
        &mut self,
        map: &Map<String, Value>,
        kind: &FieldKind,
        mode: FieldMode,
        pointer: &str,
    ) -> ConfigValue {
        let compiled = map.iter().map(|(name, value)| {
            (
                name.clone(),
                self.value(value, kind, mode, &join(pointer, name)),
            )
        });
        fold_object(compiled.collect())
    }

    fn text(&mut self, text: &str, mode: FieldMode, pointer: &str) -> ConfigValue {
        let literal = || ConfigValue::Literal(Value::String(text.to_owned()));
        let template = |encoding| Template::compile(text, encoding).map(ConfigValue::Template);
        let compiled = match mode {
            FieldMode::Raw => Ok(literal()),
            FieldMode::Expression | FieldMode::LateExpression => {
                Expression::compile(text).map(ConfigValue::Expression)
            }
            _ if !text.contains("{{") => Ok(literal()),
            FieldMode::Template | FieldMode::LateTemplate => template(Encoding::Text),
            FieldMode::Url => template(Encoding::Url),
        };
        compiled.unwrap_or_else(|error| {
            let pointer = pointer.to_owned();
            self.problems.push(BadText { pointer, error });
            literal()
        })
    }
}

/// Of several kinds, the one that has the value's shape.
pub(in crate::schema) fn fitting<'a>(kind: &'a FieldKind, value: &Value) -> &'a FieldKind {
    let FieldKind::Either(kinds) = kind else {
        return kind;
    };
    kinds
        .iter()
        .find(|kind| match value {
            Value::Object(_) => matches!(kind, FieldKind::Object(_) | FieldKind::Map(_)),
            Value::Array(_) => matches!(kind, FieldKind::List(_)),
            _ => false,
        })
        .unwrap_or(kind)
}

fn fold_list(items: Vec<ConfigValue>) -> ConfigValue {
    if !items
        .iter()
        .all(|item| matches!(item, ConfigValue::Literal(_)))
    {
        return ConfigValue::List(items);
    }
    let values = items.into_iter().filter_map(ConfigValue::into_literal);
    ConfigValue::Literal(Value::Array(values.collect()))
}

fn fold_object(entries: Vec<(String, ConfigValue)>) -> ConfigValue {
    if !entries
        .iter()
        .all(|(_, entry)| matches!(entry, ConfigValue::Literal(_)))
    {
        return ConfigValue::Object(entries);
    }
    let values = entries
        .into_iter()
        .filter_map(|(name, entry)| Some((name, entry.into_literal()?)));
    ConfigValue::Literal(Value::Object(values.collect()))
}

impl ConfigValue {
    fn into_literal(self) -> Option<Value> {
        match self {
            Self::Literal(value) => Some(value),
            _ => None,
        }
    }

    pub(in crate::schema) fn render(
        &self,
        scope: &Scope<'_>,
        meter: &mut Meter,
    ) -> Result<Value, RenderError> {
        match self {
            Self::Literal(value) | Self::Late { source: value, .. } => Ok(value.clone()),
            Self::Template(template) => template.render(scope, meter).map_err(RenderError::here),
            Self::Expression(expression) => {
                expression.evaluate(scope, meter).map_err(RenderError::here)
            }
            Self::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let value = item.render(scope, meter);
                    values.push(value.map_err(|error| error.below(index))?);
                }
                Ok(Value::Array(values))
            }
            Self::Object(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for (name, entry) in entries {
                    let value = entry.render(scope, meter);
                    map.insert(name.clone(), value.map_err(|error| error.below(name))?);
                }
                Ok(Value::Object(map))
            }
        }
    }

    /// What stands at a place of the config, with what is left to the node looked into.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else {
            return Some(self);
        };
        match self {
            Self::Late { text, .. } => text.at(path),
            Self::List(items) => items.get(first.parse::<usize>().ok()?)?.at(rest),
            Self::Object(entries) => {
                let entry = entries.iter().find(|(name, _)| name == first);
                entry?.1.at(rest)
            }
            Self::Literal(_) | Self::Template(_) | Self::Expression(_) => None,
        }
    }

    /// Every text that is left to the node.
    pub(super) fn each_late<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        match self {
            Self::Late { text, .. } => visit(text),
            Self::List(items) => items.iter().for_each(|item| item.each_late(visit)),
            Self::Object(entries) => entries.iter().for_each(|(_, entry)| entry.each_late(visit)),
            Self::Literal(_) | Self::Template(_) | Self::Expression(_) => {}
        }
    }

    /// Shows every path the expressions read, with the pointer of its text.
    pub(in crate::schema) fn each_reference(
        &self,
        pointer: &str,
        visit: &mut dyn FnMut(&str, &Reference),
    ) {
        match self {
            Self::Literal(_) => {}
            Self::Late { text, .. } => text.each_reference(pointer, visit),
            Self::Template(template) => template
                .references()
                .into_iter()
                .for_each(|reference| visit(pointer, reference)),
            Self::Expression(expression) => expression
                .references()
                .iter()
                .for_each(|reference| visit(pointer, reference)),
            Self::List(items) => items
                .iter()
                .enumerate()
                .for_each(|(index, item)| item.each_reference(&join(pointer, index), visit)),
            Self::Object(entries) => entries
                .iter()
                .for_each(|(name, entry)| entry.each_reference(&join(pointer, name), visit)),
        }
    }
}

impl RenderError {
    fn here(error: ExprError) -> Self {
        Self {
            pointer: String::new(),
            error,
        }
    }

    /// The pointer is put together on the way out: rendering that succeeds pays nothing for it.
    pub(super) fn below(mut self, token: impl std::fmt::Display) -> Self {
        self.pointer.insert_str(0, &join("", token));
        self
    }
}
