//! Reading the object that a request body is, by the type that describes it: every field named, typed and bounded, and
//! none ignored.
//!
//! The names and types of fields stand once, in [`crate::wire`]. serde hands the names of a struct and the types of its
//! fields to the deserializer; this one checks them against the body and says in words what does not fit. Fields are read
//! in the order of the struct, so that the same body always meets the same complaint.

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess,
    Unexpected, Visitor,
};
use serde_json::{Map, Value, json};

use super::error::{ApiError, ApiResult};
use crate::wire::problem_of;

/// A body whose every field must be known: a typo must not silently be a default.
pub(super) fn read<T: DeserializeOwned>(body: Value) -> ApiResult<T> {
    read_with(body, Strangers::Refused)
}

/// No body is an object without fields.
pub(super) fn read_optional<T: DeserializeOwned>(body: Option<Value>) -> ApiResult<T> {
    read(body.unwrap_or_else(|| json!({})))
}

/// Fields of a message, which carries hints for others too: names that mean nothing here are ignored.
pub(super) fn read_known<T: DeserializeOwned>(fields: Map<String, Value>) -> ApiResult<T> {
    read_with(Value::Object(fields), Strangers::Ignored)
}

fn read_with<T: DeserializeOwned>(value: Value, strangers: Strangers) -> ApiResult<T> {
    T::deserialize(BodyReader { value, strangers }).map_err(Problem::into_error)
}

/// What becomes of fields that the type does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strangers {
    Refused,
    Ignored,
}

/// A value that is read by a type.
struct BodyReader {
    value: Value,
    strangers: Strangers,
}

/// What does not fit. The struct that reads a field knows its name, the type that is read does not.
#[derive(Debug)]
enum Problem {
    /// Another type than was wanted.
    Kind { wanted: String, found: Value },
    /// The rest of a sentence that begins with the name of the field.
    Reason(String),
    /// All that is to be said.
    Said(ApiError),
}

impl Problem {
    fn of_field(self, name: &str) -> Self {
        match self {
            Self::Kind { wanted, found } => Self::Said(mismatch(name, &wanted, &found)),
            Self::Reason(reason) => {
                Self::Said(ApiError::invalid_request(format!("`{name}` {reason}")))
            }
            said @ Self::Said(_) => said,
        }
    }

    fn into_error(self) -> ApiError {
        match self.of_field("the body") {
            Self::Said(error) => error,
            // `of_field` leaves nothing else.
            other => ApiError::invalid_request(other.to_string()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { wanted, .. } => write!(to, "must be {wanted}"),
            Self::Reason(reason) => to.write_str(reason),
            Self::Said(error) => to.write_str(error.message()),
        }
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::Reason(reason.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::Kind {
            wanted: wanted.to_string(),
            found: sample(found),
        }
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::invalid_type(found, wanted)
    }

    fn missing_field(name: &'static str) -> Self {
        Self::Said(ApiError::invalid_request(format!("`{name}` is missing")))
    }
}

/// A value of the same kind: the error names only the kind.
fn sample(found: Unexpected<'_>) -> Value {
    match found {
        Unexpected::Bool(flag) => flag.into(),
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => 0.into(),
        Unexpected::Str(_) | Unexpected::Char(_) => "".into(),
        Unexpected::Seq => json!([]),
        Unexpected::Map => json!({}),
        _ => Value::Null,
    }
}

impl BodyReader {
    fn inside(&self, value: Value) -> Self {
        let strangers = self.strangers;
        Self { value, strangers }
    }

    fn unlike(self, wanted: &str) -> Problem {
        Problem::Kind {
            wanted: wanted.to_owned(),
            found: self.value,
        }
    }

    /// The fields that the type knows, in its own order.
    fn members(mut self, known: &'static [&'static str]) -> Result<Members, Problem> {
        let Value::Object(fields) = &mut self.value else {
            let message = format!("the body must be an object with {}", list(known));
            return Err(Problem::Said(ApiError::invalid_request(message)));
        };
        let mut fields = std::mem::take(fields);
        let pick = |name: &&'static str| Some((*name, self.inside(fields.shift_remove(*name)?)));
        let members: Vec<_> = known.iter().filter_map(pick).collect();
        let unknown: Vec<&String> = fields.keys().collect();
        match unknown.first() {
            Some(first) if self.strangers == Strangers::Refused => {
                let details = json!({"unknown": unknown, "known": known});
                let refused = ApiError::invalid_request(unknown_name("field", first, known));
                Err(Problem::Said(refused.details(details)))
            }
            _ => Ok(Members {
                rest: members.into_iter(),
                next: None,
            }),
        }
    }
}

/// The fields of a struct that are there.
struct Members {
    rest: std::vec::IntoIter<(&'static str, BodyReader)>,
    next: Option<(&'static str, BodyReader)>,
}

impl<'de> MapAccess<'de> for Members {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        self.next = self.rest.next();
        let name = self.next.as_ref().map(|(name, _)| *name);
        name.map(|name| seed.deserialize(name.into_deserializer()))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let next = self.next.take();
        let (name, reader) = next.ok_or_else(|| Problem::Reason("is missing".to_owned()))?;
        let read = seed.deserialize(reader);
        read.map_err(|problem| problem.of_field(name))
    }
}

impl<'de> IntoDeserializer<'de, Problem> for BodyReader {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for BodyReader {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let strangers = self.strangers;
        let inside = |value| Self { value, strangers };
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(flag),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(inside)))
            }
            Value::Object(fields) => {
                let fields = fields.into_iter();
                visitor.visit_map(MapDeserializer::new(
                    fields.map(|(name, value)| (name, inside(value))),
                ))
            }
        }
    }

    /// `null` is the same as left out.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_map(self.members(fields)?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.value {
            Value::String(text) => visitor.visit_string(text),
            _ => Err(self.unlike("a text")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.value {
            Value::Bool(flag) => visitor.visit_bool(flag),
            _ => Err(self.unlike("true or false")),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let number = self.value.as_u64();
        match number.filter(|number| *number <= i64::MAX as u64) {
            Some(number) => visitor.visit_u64(number),
            None => Err(self.unlike("a whole number, zero or more")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.value {
            Value::Object(_) => self.deserialize_any(visitor),
            _ => Err(self.unlike("an object")),
        }
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char str bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct enum identifier ignored_any
    }
}

/// Texts that become columns.
pub(super) fn check_text(name: &str, text: &str) -> ApiResult<()> {
    match problem_of(text) {
        None => Ok(()),
        Some(problem) => Err(ApiError::invalid_request(format!("`{name}` {problem}"))),
    }
}

pub(super) fn mismatch(name: &str, wanted: &str, found: &Value) -> ApiError {
    let kind = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) if wanted.contains("number") => "another number",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    ApiError::invalid_request(format!("`{name}` must be {wanted}, not {kind}"))
        .details(json!({"field": name}))
}

pub(super) fn unknown_name(what: &str, name: &str, known: &[&str]) -> String {
    let shown: String = name.chars().take(60).collect();
    match nearest(name, known) {
        Some(near) => format!("unknown {what} `{shown}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("unknown {what} `{shown}`; there is none here"),
        None => format!("unknown {what} `{shown}`; there is {}", list(known)),
    }
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "no field".to_owned(),
        names => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// The known name a typo was probably meant to be.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > 60 {
        return None;
    }
    let close = |candidate: &&str| distance(name, candidate) <= 1 + candidate.len() / 4;
    known
        .iter()
        .copied()
        .filter(close)
        .min_by_key(|candidate| distance(name, candidate))
}

/// Edits from one text to the other (Levenshtein), by rows.
fn distance(from: &str, to: &str) -> usize {
    let target: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=target.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for column in 0..target.len() {
            let substitute = diagonal + usize::from(target[column] != letter);
            diagonal = row[column + 1];
            row[column + 1] = substitute.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[target.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{NoFields, StartRequest};

    fn complaint(body: Value) -> ApiError {
        read::<StartRequest>(body).err().unwrap()
    }

    #[test]
    fn a_typo_gets_the_name_it_was_meant_to_be() {
        let error = complaint(json!({"schma": "x"}));
        assert_eq!(
            error.message(),
            "unknown field `schma`; did you mean `schema`?"
        );
        let error = complaint(json!({"lease_token": 1}));
        let message = error.message();
        assert!(
            message.starts_with("unknown field `lease_token`; there is `schema`, `schema_id`, "),
            "{message}"
        );
        let error = read::<NoFields>(json!({"x": 1})).err().unwrap();
        assert_eq!(error.message(), "unknown field `x`; there is none here");
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_kind() {
        for (body, expected) in [
            (json!([]), "the body must be an object with `schema`, "),
            (
                json!({"tenant": 5}),
                "`tenant` must be a text, not a number",
            ),
            (
                json!({"tenant": ""}),
                "`tenant` must have 1 to 255 characters, it has 0",
            ),
            (
                json!({"tenant": "a\nb"}),
                "`tenant` must not hold control characters",
            ),
            (
                json!({"debug_mode": "yes"}),
                "`debug_mode` must be true or false, not a text",
            ),
            (
                json!({"version": -1}),
                "`version` must be a whole number, zero or more, not another number",
            ),
            (
                json!({"version": "1"}),
                "`version` must be a whole number, zero or more, not a text",
            ),
            (
                json!({"labels": []}),
                "`labels` must be an object, not a list",
            ),
            (
                json!({"schema_id": true}),
                "`schema_id` must be a text, not true or false",
            ),
        ] {
            let error = complaint(body);
            let message = error.message();
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn null_is_left_out_and_messages_may_say_more() {
        let body = json!({"schema": "s", "tenant": null, "input": null, "variables": null});
        let request: StartRequest = read(body).unwrap();
        assert!(request.tenant.is_none() && request.input.is_none() && request.variables.is_none());
        let Value::Object(fields) = json!({"schema": "s", "seq": 4}) else {
            unreachable!()
        };
        assert!(read_known::<StartRequest>(fields).is_ok());
    }

    #[test]
    fn distances() {
        for (a, b, n) in [
            ("", "", 0),
            ("a", "", 1),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
        ] {
            assert_eq!(distance(a, b), n, "{a} {b}");
        }
    }
}
