//! Typed access to the fields of one object. What does not fit is reported and reads as absent.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::schema::codes;
use crate::schema::findings::{Finding, Findings, join};
use crate::time::{duration_from_seconds, format_duration, parse_duration};

#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    map: &'a Map<String, Value>,
    pointer: &'a str,
    node: Option<&'a str>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(
        map: &'a Map<String, Value>,
        pointer: &'a str,
        node: Option<&'a str>,
    ) -> Self {
        Self { map, pointer, node }
    }

    pub(crate) fn node(&self) -> Option<&'a str> {
        self.node
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A field written as null counts as left out.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn at(&self, name: &str) -> String {
        join(self.pointer, name)
    }

    pub(crate) fn error(
        &self,
        code: &'static str,
        name: &str,
        message: impl Into<String>,
    ) -> Finding {
        Finding::error(code, self.at(name), message).node(self.node)
    }

    pub(crate) fn check_known(
        &self,
        known: &'static [&'static str],
        ignored: &[&str],
        findings: &mut Findings,
    ) {
        for name in self.map.keys() {
            if !known.contains(&name.as_str()) && !ignored.contains(&name.as_str()) {
                let message = format!("unknown field `{name}`");
                let hint = findings.suggest(name, known.iter().copied());
                findings.add(
                    self.error(codes::UNKNOWN_FIELD, name, message)
                        .param("field", name.as_str())
                        .key()
                        .maybe_hint(hint),
                );
            }
        }
    }

    pub(crate) fn missing(&self, name: &str, findings: &mut Findings) {
        let message = format!("the field `{name}` is missing");
        let finding = Finding::error(codes::MISSING_FIELD, self.pointer, message);
        findings.add(finding.param("field", name).node(self.node));
    }

    pub(crate) fn required_text(&self, name: &str, findings: &mut Findings) -> Option<String> {
        if !self.has(name) {
            self.missing(name, findings);
        }
        self.text(name, findings)
    }

    pub(crate) fn text(&self, name: &str, findings: &mut Findings) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => {
                let finding = self.wrong_type(name, "text", other);
                findings.add(if other.is_object() || other.is_array() {
                    finding
                } else {
                    finding.hint("put it in quotes")
                });
                None
            }
        }
    }

    pub(crate) fn boolean(&self, name: &str, findings: &mut Findings) -> Option<bool> {
        let value = self.get(name)?;
        if value.as_bool().is_none() {
            let finding = self.wrong_type(name, "true or false", value);
            let word = value.as_str().unwrap_or_default();
            findings.add(match word {
                "yes" | "on" | "y" => finding.hint("in YAML 1.2 it is `true`"),
                "no" | "off" | "n" => finding.hint("in YAML 1.2 it is `false`"),
                _ => finding,
            });
        }
        value.as_bool()
    }

    pub(crate) fn integer(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
        findings: &mut Findings,
    ) -> Option<u64> {
        let value = self.get(name)?;
        let Value::Number(number) = value else {
            findings.add(self.wrong_type(name, "a whole number", value));
            return None;
        };
        let fitting = number.as_u64().filter(|number| range.contains(number));
        if fitting.is_none() {
            let message = format!(
                "`{name}` is {number}; it must be a whole number from {} to {}",
                range.start(),
                range.end()
            );
            let finding = self.error(codes::OUT_OF_RANGE, name, message);
            findings.add(
                finding
                    .param("field", name)
                    .param("found", value.clone())
                    .param("from", *range.start())
                    .param("to", *range.end()),
            );
        }
        fitting
    }

    pub(crate) fn duration(
        &self,
        name: &str,
        range: RangeInclusive<Duration>,
        findings: &mut Findings,
    ) -> Option<Duration> {
        let duration = match duration(self.get(name)?) {
            Ok(duration) => duration,
            Err(message) => {
                let finding = self.error(codes::BAD_DURATION, name, message);
                findings.add(finding.param("field", name));
                return None;
            }
        };
        if !range.contains(&duration) {
            let (from, to) = (
                format_duration(*range.start()),
                format_duration(*range.end()),
            );
            let message = format!("`{name}` must be from {from} to {to}");
            let finding = self.error(codes::OUT_OF_RANGE, name, message);
            let finding = finding.param("from", from).param("to", to);
            findings.add(finding.param("field", name));
            return None;
        }
        Some(duration)
    }

    pub(crate) fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[(&'static str, T)],
        findings: &mut Findings,
    ) -> Option<T> {
        let word = self.text(name, findings)?;
        let found = choices.iter().find(|(choice, _)| *choice == word);
        if found.is_none() {
            let message = format!("`{name}` cannot be `{word}`");
            let hint = findings.suggest(&word, choices.iter().map(|(choice, _)| *choice));
            findings.add(
                self.error(codes::UNKNOWN_CHOICE, name, message)
                    .param("field", name)
                    .param("found", word)
                    .maybe_hint(hint),
            );
        }
        found.map(|(_, value)| *value)
    }

    pub(crate) fn object(
        &self,
        name: &str,
        findings: &mut Findings,
    ) -> Option<&'a Map<String, Value>> {
        let value = self.get(name)?;
        if !value.is_object() {
            findings.add(self.wrong_type(name, "an object", value));
        }
        value.as_object()
    }

    pub(crate) fn list(&self, name: &str, findings: &mut Findings) -> Option<&'a [Value]> {
        let value = self.get(name)?;
        if !value.is_array() {
            findings.add(self.wrong_type(name, "a list", value));
        }
        value.as_array().map(Vec::as_slice)
    }

    fn wrong_type(&self, name: &str, wanted: &str, found: &Value) -> Finding {
        let message = format!("`{name}` must be {wanted}, this is {}", describe(found));
        self.error(codes::WRONG_TYPE, name, message)
            .param("field", name)
            .param("wanted", wanted)
            .param("found", describe(found))
    }
}

pub(crate) fn object<'a>(
    value: &'a Value,
    pointer: &str,
    what: &str,
    findings: &mut Findings,
) -> Option<&'a Map<String, Value>> {
    if !value.is_object() {
        let message = format!("{what} is an object, this is {}", describe(value));
        findings.add(Finding::error(codes::WRONG_TYPE, pointer, message));
    }
    value.as_object()
}

pub(crate) fn duration(value: &Value) -> Result<Duration, String> {
    match value {
        Value::String(text) => parse_duration(text),
        Value::Number(number) => duration_from_seconds(number.as_f64().unwrap_or(f64::NAN)),
        other => Err(format!(
            "{} is not a valid duration; write 30s, 5m or a number of seconds",
            describe(other)
        )),
    }
}

pub(crate) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
