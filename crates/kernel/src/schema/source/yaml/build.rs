//! From the parser's tree to a JSON value with places, noting everything JSON cannot say.

use std::ops::Range;

use saphyr::{MarkedYaml, Scalar, YamlData};
use serde_json::{Map, Number, Value};

use super::{Offsets, QUOTE_HINT};
use crate::schema::codes;
use crate::schema::findings::{Finding, join};
use crate::schema::source::{Document, MAX_VALUES, Mark, Refused, duplicate_key};

const MAX_REFUSED: usize = 100;

pub(super) struct Builder<'a> {
    text: &'a str,
    offsets: &'a Offsets,
    /// Characters at which a repeated key was renamed to get past the parser.
    repeated: &'a [usize],
    values: usize,
    pub refused: Refused,
}

impl<'a> Builder<'a> {
    pub(super) fn new(text: &'a str, offsets: &'a Offsets, repeated: &'a [usize]) -> Self {
        Self {
            text,
            offsets,
            repeated,
            values: 0,
            refused: Vec::new(),
        }
    }

    pub(super) fn build(&mut self, yaml: &MarkedYaml<'_>, pointer: &str) -> Document {
        self.values += 1;
        let range = self.range(yaml);
        if self.values > MAX_VALUES {
            self.refuse_size(range, pointer);
            return (Value::Null, Mark::default());
        }
        let (value, children) = match &yaml.data {
            YamlData::Value(scalar) => (self.scalar(yaml, scalar, pointer), Vec::new()),
            YamlData::Sequence(items) => self.list(items, pointer),
            YamlData::Mapping(_) => self.map(yaml, pointer),
            YamlData::Tagged(..) => {
                self.bad_tag(yaml, pointer, "a tag such as `!name` means nothing here")
            }
            _ => self.bad_tag(yaml, pointer, "the value does not fit its tag"),
        };
        let mark = Mark {
            key: None,
            value: range,
            children,
        };
        (value, mark)
    }

    fn bad_tag(
        &mut self,
        yaml: &MarkedYaml<'_>,
        pointer: &str,
        message: &str,
    ) -> (Value, Vec<Mark>) {
        let finding = Finding::error(codes::INVALID_YAML, pointer, message)
            .hint("put a text that begins with `!` in quotes");
        self.refuse(self.range(yaml), finding);
        (Value::Null, Vec::new())
    }

    fn list(&mut self, items: &[MarkedYaml<'_>], pointer: &str) -> (Value, Vec<Mark>) {
        let (values, marks) = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.build(item, &join(pointer, index)))
            .unzip();
        (Value::Array(values), marks)
    }

    fn map(&mut self, yaml: &MarkedYaml<'_>, pointer: &str) -> (Value, Vec<Mark>) {
        let mut map = Map::new();
        let mut marks: Vec<Mark> = Vec::new();
        if self.is_unquoted_expression(yaml) {
            let message = "`{{` outside quotes opens a mapping in YAML, not an expression";
            let finding = Finding::error(codes::UNQUOTED_EXPRESSION, pointer, message);
            self.refuse(self.range(yaml), finding.hint(QUOTE_HINT));
            return (Value::Null, marks);
        }
        for (key, value) in entries(yaml) {
            let key_range = self.range(key);
            if self.repeated.contains(&key.span.start.index()) {
                self.refuse_repeated(&key_range, pointer, &map, &marks);
                continue;
            }
            let Some(name) = self.key(key, pointer) else {
                continue;
            };
            let (value, mut mark) = self.build(value, &join(pointer, &name));
            mark.key = Some(key_range);
            map.insert(name, value);
            marks.push(mark);
        }
        (Value::Object(map), marks)
    }

    /// `{{x}}` reads as a mapping whose only key is the mapping `{x: null}`.
    fn is_unquoted_expression(&self, yaml: &MarkedYaml<'_>) -> bool {
        let first = entries(yaml).next();
        first.is_some_and(|(key, _)| matches!(key.data, YamlData::Mapping(_)))
            && self.text[self.range(yaml)].starts_with("{{")
    }

    fn refuse_repeated(
        &mut self,
        key_range: &Range<usize>,
        pointer: &str,
        map: &Map<String, Value>,
        marks: &[Mark],
    ) {
        let spelling = &self.text[key_range.clone()];
        let name = spelling.trim_matches(['"', '\'']);
        let first = map.keys().position(|other| other == name);
        let first = first.and_then(|index| marks[index].key.clone());
        let finding = duplicate_key(self.text, name, join(pointer, name), first);
        self.refuse(key_range.clone(), finding);
    }

    fn key(&mut self, key: &MarkedYaml<'_>, pointer: &str) -> Option<String> {
        let (message, hint) = match &key.data {
            YamlData::Value(Scalar::String(name)) if name == "<<" => (
                "merge keys (`<<`) are not part of YAML 1.2",
                "write the fields out",
            ),
            YamlData::Value(Scalar::String(name)) => return Some(name.to_string()),
            YamlData::Value(_) => (
                "a key must be text, not a number, a boolean or null",
                "put the key in quotes",
            ),
            _ => (
                "a key must be text, not a list or an object",
                "put the key in quotes",
            ),
        };
        let finding = Finding::error(codes::NOT_A_STRING_KEY, pointer, message).hint(hint);
        self.refuse(self.range(key), finding);
        None
    }

    fn scalar(&mut self, yaml: &MarkedYaml<'_>, scalar: &Scalar<'_>, pointer: &str) -> Value {
        match scalar {
            Scalar::Null => Value::Null,
            Scalar::Boolean(truth) => Value::Bool(*truth),
            Scalar::Integer(number) => Value::from(*number),
            Scalar::String(text) if !self.is_wide_integer(yaml, text) => {
                Value::String(text.to_string())
            }
            Scalar::FloatingPoint(number) => match self.number(yaml, number.0) {
                Some(number) => Value::Number(number),
                None => self.refuse_number(yaml, pointer),
            },
            Scalar::String(_) => self.refuse_number(yaml, pointer),
        }
    }

    /// The parser reads integers beyond `i64` as floats; only the spelling tells.
    fn number(&self, yaml: &MarkedYaml<'_>, float: f64) -> Option<Number> {
        let spelling = self.spelling(yaml);
        let digits = spelling.strip_prefix(['-', '+']).unwrap_or(spelling);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let positive = spelling.strip_prefix('+').unwrap_or(spelling);
            return positive.parse::<u64>().ok().map(Number::from);
        }
        Number::from_f64(float)
    }

    /// Hexadecimal and octal integers beyond `i64` come as text.
    fn is_wide_integer(&self, yaml: &MarkedYaml<'_>, text: &str) -> bool {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0o"));
        digits.is_some_and(|digits| {
            !digits.is_empty()
                && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
                && self.text[self.range(yaml)] == *text
        })
    }

    fn refuse_number(&mut self, yaml: &MarkedYaml<'_>, pointer: &str) -> Value {
        let spelling: String = self.spelling(yaml).chars().take(40).collect();
        let message = format!("the number {spelling} would be rounded or is not finite");
        let finding = Finding::error(codes::NUMBER_OUT_OF_RANGE, pointer, message)
            .hint("write it in quotes to keep it as text");
        self.refuse(self.range(yaml), finding);
        Value::Null
    }

    fn refuse_size(&mut self, range: Range<usize>, pointer: &str) {
        if self.values == MAX_VALUES + 1 {
            let message = format!("more than {MAX_VALUES} values");
            self.refuse(range, Finding::error(codes::TOO_LARGE, pointer, message));
        }
    }

    /// How a scalar was written, without anchor and tag.
    fn spelling(&self, yaml: &MarkedYaml<'_>) -> &str {
        let spelling = &self.text[self.range(yaml)];
        spelling.split_whitespace().next_back().unwrap_or("")
    }

    fn range(&self, yaml: &MarkedYaml<'_>) -> Range<usize> {
        let start = self.offsets.byte(yaml.span.start.index());
        let end = self.offsets.byte(yaml.span.end.index()).max(start);
        let opens = self.text[start..].starts_with(['{', '[']);
        let closes = self.text[end..].starts_with(['}', ']']);
        start..end + usize::from(opens && closes)
    }

    fn refuse(&mut self, range: Range<usize>, finding: Finding) {
        if self.refused.len() < MAX_REFUSED {
            self.refused.push((range, finding));
        }
    }
}

fn entries<'a, 'b>(
    yaml: &'a MarkedYaml<'b>,
) -> impl Iterator<Item = (&'a MarkedYaml<'b>, &'a MarkedYaml<'b>)> {
    yaml.data.as_mapping().into_iter().flatten()
}
