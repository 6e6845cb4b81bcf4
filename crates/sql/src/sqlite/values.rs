//! JSON and the five types of SQLite.
//!
//! A parameter becomes: null, integer, real, text as they are; `true` and `false` 1 and 0; `{"base64": …}` a blob;
//! other objects and lists their JSON text.
//!
//! A column becomes: null, integer, real, text as they are; a blob base64 text; an infinite real `"Infinity"`. A column
//! that is declared BOOLEAN or BOOL gives `true` and `false` for 1 and 0, one declared JSON gives the value of its text.
//! Results of expressions have no declaration: they are what they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::{Value as Cell, ValueRef};
use serde_json::Value;

use crate::exact::{self, DIGITS_LOST, Inexact};
use crate::postgres::float;

/// The error says what does not fit, without the value.
pub(crate) fn bind(value: Value) -> Result<Cell, String> {
    Ok(match value {
        Value::Null => Cell::Null,
        Value::Bool(flag) => Cell::Integer(i64::from(flag)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Cell::Integer(integer),
            (None, Some(float)) if number.is_f64() => Cell::Real(float),
            _ => return Err("an integer is larger than SQLite can keep; give it as text".into()),
        },
        Value::String(text) => Cell::Text(text),
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("base64") => {
            let bytes = fields["base64"]
                .as_str()
                .and_then(|text| STANDARD.decode(text).ok());
            Cell::Blob(bytes.ok_or("what is in {\"base64\": …} is no base64 text")?)
        }
        other => Cell::Text(other.to_string()),
    })
}

/// How a column is shown, by what it was declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnDisplay {
    Plain,
    Boolean,
    Json,
}

pub(crate) fn shown(declared: Option<&str>) -> ColumnDisplay {
    match declared.map(str::to_ascii_uppercase).as_deref() {
        Some("BOOLEAN" | "BOOL") => ColumnDisplay::Boolean,
        Some("JSON") => ColumnDisplay::Json,
        _ => ColumnDisplay::Plain,
    }
}

pub(crate) fn read(cell: ValueRef<'_>, shown: ColumnDisplay) -> Result<Value, String> {
    Ok(match (cell, shown) {
        (ValueRef::Null, _) => Value::Null,
        (ValueRef::Integer(number @ 0..=1), ColumnDisplay::Boolean) => Value::Bool(number == 1),
        (ValueRef::Integer(number), _) => Value::from(number),
        (ValueRef::Real(number), _) => float(number),
        (ValueRef::Text(bytes), shown) => {
            let text = std::str::from_utf8(bytes)
                .map_err(|_| "its text is no UTF-8; write CAST(… AS BLOB)".to_owned())?;
            match shown {
                ColumnDisplay::Json => exact::json(text).map_err(|error| match error {
                    Inexact::Number => format!("{DIGITS_LOST}; write CAST(… AS TEXT)"),
                    Inexact::Unreadable(reason) => format!(
                        "it is declared JSON, but its text cannot be kept as such: {reason}; write CAST(… AS TEXT)"
                    ),
                })?,
                _ => Value::String(text.to_owned()),
            }
        }
        (ValueRef::Blob(bytes), _) => Value::String(STANDARD.encode(bytes)),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn policy_of_json_columns() {
        let cases = include_str!("../../../../tests/json_policy.json");
        for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
            let text = ValueRef::Text(case["text"].as_str().unwrap().as_bytes());
            let read = read(text, ColumnDisplay::Json);
            match case.get("kept") {
                Some(kept) => assert_eq!(read.as_ref(), Ok(kept), "{case}"),
                None => assert!(
                    read.is_err_and(|error| error.contains("CAST(… AS TEXT)")),
                    "{case}"
                ),
            }
        }
    }

    #[test]
    fn values_become_cells() {
        for (value, cell) in [
            (json!(null), Cell::Null),
            (json!(true), Cell::Integer(1)),
            (json!(i64::MIN), Cell::Integer(i64::MIN)),
            (json!(0.5), Cell::Real(0.5)),
            (json!("a\0b"), Cell::Text("a\0b".into())),
            (json!({"base64": "aGk="}), Cell::Blob(b"hi".to_vec())),
            (json!({"a": 1}), Cell::Text("{\"a\":1}".into())),
            (json!([1]), Cell::Text("[1]".into())),
        ] {
            assert_eq!(bind(value), Ok(cell));
        }
        assert!(bind(json!(u64::MAX)).is_err());
        assert!(bind(json!({"base64": "!"})).is_err());
    }

    #[test]
    fn cells_become_values() {
        let text = |text: &'static str| ValueRef::Text(text.as_bytes());
        assert_eq!(
            read(ValueRef::Integer(1), ColumnDisplay::Boolean),
            Ok(json!(true))
        );
        assert_eq!(
            read(ValueRef::Integer(2), ColumnDisplay::Boolean),
            Ok(json!(2))
        );
        assert_eq!(
            read(ValueRef::Integer(1), ColumnDisplay::Plain),
            Ok(json!(1))
        );
        assert_eq!(read(text("[1]"), ColumnDisplay::Json), Ok(json!([1])));
        assert_eq!(read(text("[1]"), ColumnDisplay::Plain), Ok(json!("[1]")));
        assert_eq!(
            read(ValueRef::Blob(b"hi"), ColumnDisplay::Plain),
            Ok(json!("aGk="))
        );
        let infinite = ValueRef::Real(f64::INFINITY);
        assert_eq!(read(infinite, ColumnDisplay::Plain), Ok(json!("Infinity")));
        assert!(read(text("["), ColumnDisplay::Json).is_err());
        let lost = read(text("[0.12345678901234567890]"), ColumnDisplay::Json).unwrap_err();
        assert!(lost.contains("CAST(… AS TEXT)"), "{lost}");
        assert!(read(ValueRef::Text(&[0xff]), ColumnDisplay::Plain).is_err());
    }
}
