//! From values to JSON and to text. Everything that leaves an expression is paid for here.

use serde_json::{Map, Value};

use super::error::{ExprError, Span};
use super::eval::{EvalResult, Evaluator, VALUE_BYTES, check_nesting};
use super::number::Number;
use super::value::{BuiltObject, Text, Val};

impl<'a> Evaluator<'a> {
    pub(super) fn json_of(&mut self, value: &Val<'a>, span: Span) -> Result<Value, ExprError> {
        self.json_at(value, 0, span)
    }

    fn json_at(&mut self, value: &Val<'a>, depth: usize, span: Span) -> Result<Value, ExprError> {
        self.meter.allocate(VALUE_BYTES, span)?;
        Ok(match value {
            Val::Null => Value::Null,
            Val::Bool(truth) => Value::Bool(*truth),
            Val::Number(number) => number.to_json(),
            Val::Text(text) => {
                self.meter.allocate(text.len(), span)?;
                Value::String((**text).to_owned())
            }
            Val::List(list) => {
                check_nesting(depth + 1, span)?;
                let items = list.iter().map(|item| self.json_at(&item, depth + 1, span));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Val::Object(object) => {
                check_nesting(depth + 1, span)?;
                let mut map = Map::new();
                for (key, item) in object.iter() {
                    self.meter.allocate(key.len(), span)?;
                    map.insert((*key).to_owned(), self.json_at(&item, depth + 1, span)?);
                }
                Value::Object(map)
            }
            // The parser lets a function stand only where a function is taken.
            Val::Arrow(_) => return Err(ExprError::types("a function is not a value", span)),
        })
    }

    /// Text as it is, everything else as compact JSON.
    pub(super) fn text_of(&mut self, value: &Val<'a>, span: Span) -> Result<Text<'a>, ExprError> {
        match value {
            Val::Text(text) => Ok(text.clone()),
            Val::Number(Number::Decimal(decimal)) => Ok(decimal.to_string().into()),
            _ => self.json_text_of(value, span).map(Text::from),
        }
    }

    pub(super) fn json_text_of(
        &mut self,
        value: &Val<'a>,
        span: Span,
    ) -> Result<String, ExprError> {
        let text = self.json_of(value, span)?.to_string();
        self.meter.allocate(text.len(), span)?;
        Ok(text)
    }

    /// JSON that was made while evaluating, as a value.
    pub(super) fn adopt_json(&mut self, value: Value, span: Span) -> EvalResult<'a> {
        match value {
            Value::Null => Ok(Val::Null),
            Value::Bool(truth) => Ok(Val::Bool(truth)),
            Value::Number(number) => Ok(Val::Number(Number::from_json(&number))),
            Value::String(text) => Ok(Val::Text(text.into())),
            Value::Array(items) => {
                let items = items.into_iter();
                let items = items.map(|item| self.adopt_json(item, span));
                let items = items.collect::<Result<_, _>>()?;
                self.build_list(items, span)
            }
            Value::Object(map) => {
                let mut object = BuiltObject::default();
                for (key, item) in map {
                    let item = self.adopt_json(item, span)?;
                    object.insert(key.into(), item);
                }
                self.build_object(object, span)
            }
        }
    }

    /// A text that equal values share and different values do not.
    pub(super) fn canonical(&mut self, value: &Val<'a>, span: Span) -> Result<String, ExprError> {
        let mut text = String::new();
        self.write_canonical(value, &mut text, span)?;
        Ok(text)
    }

    fn write_canonical(
        &mut self,
        value: &Val<'a>,
        out: &mut String,
        span: Span,
    ) -> Result<(), ExprError> {
        self.meter.step(1, span)?;
        match value {
            Val::Number(number) => out.push_str(&number.canonical()),
            Val::List(list) => {
                out.push('[');
                for item in list.iter() {
                    self.write_canonical(&item, out, span)?;
                    out.push(',');
                }
                out.push(']');
            }
            Val::Object(object) => {
                let mut entries: Vec<_> = object.iter().collect();
                entries.sort_by(|left, right| left.0.cmp(&right.0));
                out.push('{');
                for (key, item) in entries {
                    out.push_str(&self.json_text_of(&Val::Text(key), span)?);
                    self.write_canonical(&item, out, span)?;
                    out.push(',');
                }
                out.push('}');
            }
            scalar => out.push_str(&self.json_text_of(scalar, span)?),
        }
        Ok(())
    }
}
