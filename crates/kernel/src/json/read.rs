//! JSON as it is let in: one meaning or none.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

pub const DEPTH_MAX: usize = 64;

/// Which rule a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonRule {
    /// The grammar, or what a number or a text can be: `1e400`, half of a surrogate pair.
    Grammar,
    Depth,
    /// An integer that 64 bits do not hold.
    Integer,
    /// A key that comes twice in one object.
    DoubleKey,
}

/// Why a text is not let in, and where. Line and column start at 1; columns count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    pub rule: JsonRule,
    /// Names the key that comes twice; quotes nothing else.
    pub message: String,
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            message,
            line,
            column,
            ..
        } = self;
        write!(f, "{message} (line {line}, column {column})")
    }
}

impl std::error::Error for JsonError {}

/// A text by the one policy of every edge: the API, webhooks, answers of `http_request`, results of `code` and
/// `sql`, messages, `parse_json`, the command line.
///
/// Refused besides what the grammar refuses: a key that comes twice, nesting beyond [`DEPTH_MAX`], numbers
/// that no machine number holds (`1e400`, integers outside i64 and u64), lone surrogates. Any other Unicode,
/// NUL included, is kept.
pub fn read(bytes: &[u8]) -> Result<Value, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = "the text is not UTF-8".to_owned();
        place(&bytes[..error.valid_up_to()], JsonRule::Grammar, message)
    })?;
    scan(text)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    Strict
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| refused(text, &error))
}

fn refused(text: &str, error: &serde_json::Error) -> JsonError {
    // The parser has no other errors of this class: a value of any type is welcome.
    let rule = match error.is_data() {
        true => JsonRule::DoubleKey,
        false => JsonRule::Grammar,
    };
    let message = error.to_string();
    let plain = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(text, _)| text);
    let (line, column) = (error.line().max(1), error.column().max(1));
    JsonError {
        rule,
        message: plain.to_owned(),
        line,
        column: characters(text, line, column),
    }
}

/// What the parser would let pass or lose: the depth, and integers it would round to floats.
fn scan(text: &str) -> Result<(), JsonError> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let next = match byte {
            b'"' => string_end(bytes, at),
            b'-' | b'0'..=b'9' => number_end(bytes, at),
            _ => at + 1,
        };
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b'-' | b'0'..=b'9' => check_number(text, at, next)?,
            _ => {}
        }
        if depth > DEPTH_MAX as i64 {
            let message = format!("nested deeper than {DEPTH_MAX} levels");
            return Err(place(&bytes[..at], JsonRule::Depth, message));
        }
        at = next;
    }
    Ok(())
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn number_end(bytes: &[u8], start: usize) -> usize {
    let part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    start + bytes[start..].iter().take_while(|byte| part(byte)).count()
}

fn check_number(text: &str, start: usize, end: usize) -> Result<(), JsonError> {
    let token = &text[start..end];
    let digits = token.strip_prefix('-').unwrap_or(token);
    let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !integer || token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok() {
        return Ok(());
    }
    let message = "an integer outside the range of 64 bits; send it as a string".to_owned();
    Err(place(&text.as_bytes()[..start], JsonRule::Integer, message))
}

/// The place right after `before`.
fn place(before: &[u8], rule: JsonRule, message: String) -> JsonError {
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    JsonError {
        rule,
        message,
        line,
        column,
    }
}

/// The parser counts columns in bytes; people count characters.
fn characters(text: &str, line: usize, column: usize) -> usize {
    let Some(line) = text.split('\n').nth(line - 1) else {
        return column;
    };
    line.char_indices()
        .take_while(|(at, _)| *at < column)
        .count()
        .max(1)
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} comes twice"
                )));
            }
            let value = entries.next_value_seed(Strict)?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, value: Value) {
        assert_eq!(read(text.as_bytes()).unwrap(), value, "{text}");
    }

    /// The same table goes through every edge; see the tests of those that are named `policy`.
    #[test]
    fn policy_of_the_reader() {
        let cases = include_str!("../../../../tests/json_policy.json");
        for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
            let read = read(case["text"].as_str().unwrap().as_bytes());
            match case.get("kept") {
                Some(kept) => assert_eq!(read.as_ref(), Ok(kept), "{case}"),
                None => {
                    let rule = format!("{:?}", read.unwrap_err().rule);
                    assert_eq!(case["refused"], rule, "{case}");
                }
            }
        }
    }

    #[test]
    fn values_keep_their_meaning() {
        check(
            " {\"a\": [1, -2, 0.5, null, true, \"x\"]} ",
            json!({"a": [1, -2, 0.5, null, true, "x"]}),
        );
        check("18446744073709551615", json!(u64::MAX));
        check("-9223372036854775808", json!(i64::MIN));
        check(
            r#""\u0000 \ud83d\ude00 [[[[ 99999999999999999999""#,
            json!("\0 😀 [[[[ 99999999999999999999"),
        );
        check(
            r#"{"__proto__": 1, "\"": "\\"}"#,
            json!({"__proto__": 1, "\"": "\\"}),
        );
        check(
            &format!("{}1{}", "[".repeat(64), "]".repeat(64)),
            nested(64),
        );
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn what_has_two_meanings_or_none_is_refused() {
        let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
        let bombs = [
            "[".repeat(100_000),
            r#"{"a":"#.repeat(100_000),
            "]".repeat(10),
        ];
        let texts = [
            "",
            " ",
            "nul",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "// x\n1",
            "1 2",
            "NaN",
            "Infinity",
            "-",
            "1e400",
            "-1e400",
            "01",
            "18446744073709551616",
            "-9223372036854775809",
            r#""\ud800""#,
            r#""\udc00x""#,
            "\u{feff}{}",
            "\"a\nb\"",
            "{\"a\":1,\"a\":2}",
            "{\"x\":{\"a\":1,\"\\u0061\":2}}",
            &deep,
        ];
        for text in texts
            .iter()
            .copied()
            .chain(bombs.iter().map(String::as_str))
        {
            assert!(
                read(text.as_bytes()).is_err(),
                "{}",
                &text[..text.len().min(40)]
            );
        }
        assert!(read(&"9".repeat(400).into_bytes()).is_err());
        assert!(read(b"\"\xc0\xaf\"").is_err());
    }

    #[test]
    fn a_refusal_names_its_place() {
        let error = read("{\n  \"é\": 1,\n  \"b\": }".as_bytes()).unwrap_err();
        assert_eq!((error.line, error.column), (3, 8));
        let error = read("{\"é\": 99999999999999999999}".as_bytes()).unwrap_err();
        assert_eq!((error.line, error.column), (1, 7));
        let error = read(b"{\"a\":1,\n\"a\":2}").unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.line),
            ("the key \"a\" comes twice", 2)
        );
    }
}
