//! JSON values as parameters. They travel as text and are read by the server's own input functions, so that no type
//! needs a translation of its own and no digit is lost. What can be checked here is, because here it is known which
//! parameter it is; what the server finds wrong comes back with the parameter's number.
//!
//! | type | takes |
//! |---|---|
//! | integers | integers, texts of digits, `5.0` |
//! | `numeric`, `real`, `double precision` | numbers, texts of numbers |
//! | `boolean` | `true`, `false`, and texts of these |
//! | texts, enums | texts, numbers; objects and lists as JSON |
//! | `json`, `jsonb` | anything, as it is |
//! | `bytea` | base64 text, or `{"base64": …}` |
//! | dates and times | ISO 8601 texts |
//! | arrays | lists of what the element takes |
//! | others | texts that their type can read |

use std::error::Error;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, BytesMut};
use serde_json::{Number, Value};
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

/// A parameter as text; `None` is NULL.
#[derive(Debug)]
pub(crate) struct Parameter(pub(crate) Option<String>);

impl ToSql for Parameter {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            None => Ok(IsNull::Yes),
            Some(text) => {
                out.put_slice(text.as_bytes());
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// The error says what does not fit, without the value.
pub(crate) fn parameter(value: &Value, ty: &Type) -> Result<Parameter, String> {
    if value.is_null() {
        return Ok(Parameter(None));
    }
    let text = text(value, ty)?;
    if text.contains('\0') {
        return Err("a text holds the character NUL, which PostgreSQL cannot keep".into());
    }
    Ok(Parameter(Some(text)))
}

fn text(value: &Value, ty: &Type) -> Result<String, String> {
    match ty.kind() {
        Kind::Domain(base) => return text(value, base),
        Kind::Array(element) => return array(value, element),
        _ => {}
    }
    match *ty {
        Type::BOOL => boolean(value).ok_or_else(|| wants(value, ty, "true or false")),
        Type::INT2 => integer(value, ty, i16::MIN.into(), i16::MAX.into()),
        Type::INT4 => integer(value, ty, i32::MIN.into(), i32::MAX.into()),
        Type::INT8 => integer(value, ty, i64::MIN, i64::MAX),
        Type::OID => integer(value, ty, 0, u32::MAX.into()),
        Type::NUMERIC | Type::FLOAT4 | Type::FLOAT8 => {
            number(value).ok_or_else(|| wants(value, ty, "a number"))
        }
        Type::JSON => Ok(value.to_string()),
        Type::JSONB => jsonb(value),
        Type::BYTEA => {
            bytes_of(value).ok_or_else(|| wants(value, ty, "base64 text or {\"base64\": …}"))
        }
        Type::UUID => uuid(value).ok_or_else(|| wants(value, ty, "the text of a UUID")),
        Type::TIMESTAMPTZ | Type::TIMESTAMP | Type::DATE | Type::TIME | Type::TIMETZ => {
            moment(value).ok_or_else(|| wants(value, ty, "an ISO 8601 text"))
        }
        Type::INTERVAL => match value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(wants(value, ty, "a text like `PT1H` or `1 day`")),
        },
        _ => plain(value).ok_or_else(|| wants(value, ty, "a text")),
    }
}

fn wants(value: &Value, ty: &Type, what: &str) -> String {
    let given = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number that does not fit",
        Value::String(_) => "a text that does not fit",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!(
        "its type is {}, which takes {what}; it was given {given}",
        ty.name()
    )
}

fn boolean(value: &Value) -> Option<String> {
    let flag = match value {
        Value::Bool(flag) => *flag,
        Value::String(text) if text == "true" => true,
        Value::String(text) if text == "false" => false,
        _ => return None,
    };
    Some(flag.to_string())
}

fn integer(value: &Value, ty: &Type, least: i64, most: i64) -> Result<String, String> {
    let number = match value {
        Value::Number(number) => whole(number),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number
        .filter(|number| (least..=most).contains(number))
        .map(|number| number.to_string())
        .ok_or_else(|| wants(value, ty, &format!("integers from {least} to {most}")))
}

/// `5.0` is 5, as long as a float can tell neighbouring integers apart.
fn whole(number: &Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|_| number.is_f64())?;
        (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i64)
    })
}

/// Digits are kept as they are, however many there are.
fn number(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => {
            let text = text.trim();
            is_number(text).then(|| text.to_owned())
        }
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "NaN" || unsigned == "Infinity" {
        return true;
    }
    let allowed =
        |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | 'e' | 'E' | '+' | '-');
    unsigned.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.')
        && unsigned.chars().all(allowed)
}

/// `jsonb` refuses what `json` keeps.
fn jsonb(value: &Value) -> Result<String, String> {
    if holds_nul(value) {
        return Err(
            "a text in it holds the character NUL, which jsonb cannot keep; json can".into(),
        );
    }
    Ok(value.to_string())
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains('\0') || holds_nul(value)),
        _ => false,
    }
}

fn bytes_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text,
        Value::Object(fields) if fields.len() == 1 => fields.get("base64")?.as_str()?,
        _ => return None,
    };
    let bytes = STANDARD.decode(text).ok()?;
    let mut hex = String::with_capacity(2 + bytes.len() * 2);
    hex.push_str("\\x");
    for byte in bytes {
        hex.push(char::from_digit(u32::from(byte >> 4), 16)?);
        hex.push(char::from_digit(u32::from(byte & 15), 16)?);
    }
    Some(hex)
}

fn uuid(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let digits = text.chars().filter(|letter| *letter != '-');
    let hex = digits.clone().all(|letter| letter.is_ascii_hexdigit());
    (hex && digits.count() == 32).then(|| text.to_owned())
}

/// Words like `now` and `tomorrow` would be read as times too; data must not mean anything else tomorrow.
fn moment(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let fits = text.starts_with(|letter: char| letter.is_ascii_digit())
        || matches!(text, "infinity" | "-infinity");
    fits.then(|| text.to_owned())
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
        Value::Null | Value::Bool(_) => None,
    }
}

/// `{"a","b",NULL}`; lists in lists are further dimensions, except of JSON.
fn array(value: &Value, element: &Type) -> Result<String, String> {
    let Value::Array(items) = value else {
        return Err(format!(
            "its type is {}[], which takes a list",
            element.name()
        ));
    };
    let is_json = matches!(*element, Type::JSON | Type::JSONB);
    let mut result = String::from("{");
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            result.push(',');
        }
        match item {
            Value::Null => result.push_str("NULL"),
            Value::Array(_) if !is_json => result.push_str(&array(item, element)?),
            item => push_quoted(&mut result, &text(item, element)?),
        }
    }
    result.push('}');
    Ok(result)
}

fn push_quoted(result: &mut String, text: &str) {
    result.push('"');
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            result.push('\\');
        }
        result.push(letter);
    }
    result.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: Value, ty: &Type, expected: &str) {
        let Parameter(text) = parameter(&value, ty).unwrap();
        assert_eq!(text.as_deref(), Some(expected), "{value}");
    }

    #[test]
    fn values_become_the_text_of_their_type() {
        let digits = "9".repeat(400);
        check(json!(5), &Type::INT4, "5");
        check(json!("-5"), &Type::INT8, "-5");
        check(json!(5.0), &Type::INT2, "5");
        check(json!(i64::MAX), &Type::INT8, "9223372036854775807");
        check(json!(digits), &Type::NUMERIC, &digits);
        check(json!(0.1), &Type::NUMERIC, "0.1");
        check(json!(u64::MAX), &Type::NUMERIC, "18446744073709551615");
        check(json!("NaN"), &Type::FLOAT8, "NaN");
        check(json!(true), &Type::BOOL, "true");
        check(json!({"a": [1]}), &Type::JSONB, "{\"a\":[1]}");
        check(json!("x"), &Type::JSON, "\"x\"");
        check(json!({"a": 1}), &Type::TEXT, "{\"a\":1}");
        check(json!(7), &Type::TEXT, "7");
        check(json!("aGk="), &Type::BYTEA, "\\x6869");
        check(json!({"base64": "aGk="}), &Type::BYTEA, "\\x6869");
        check(
            json!(["a\"\\", null, "NULL"]),
            &Type::TEXT_ARRAY,
            r#"{"a\"\\",NULL,"NULL"}"#,
        );
        check(
            json!([[1, 2], [3, 4]]),
            &Type::INT4_ARRAY,
            r#"{{"1","2"},{"3","4"}}"#,
        );
        check(json!([[1]]), &Type::JSONB_ARRAY, r#"{"[1]"}"#);
        assert!(parameter(&Value::Null, &Type::INT4).unwrap().0.is_none());
    }

    #[test]
    fn what_does_not_fit_is_refused_without_showing_it() {
        for (value, ty) in [
            (json!(40_000), Type::INT2),
            (json!("secret"), Type::INT4),
            (json!(1.5), Type::INT4),
            (json!(u64::MAX), Type::INT8),
            (json!(1e300), Type::INT8),
            (json!("1; secret"), Type::NUMERIC),
            (json!("secret"), Type::BOOL),
            (json!(true), Type::TEXT),
            (json!("secret!"), Type::BYTEA),
            (json!("secret"), Type::UUID),
            (json!("now"), Type::TIMESTAMPTZ),
            (json!(5), Type::DATE),
            (json!("secret\0"), Type::TEXT),
            (json!({"secret\0": 1}), Type::JSONB),
            (json!("secret"), Type::TEXT_ARRAY),
            (json!(["secret\0"]), Type::TEXT_ARRAY),
        ] {
            let error = parameter(&value, &ty).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
