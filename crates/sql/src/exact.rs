//! JSON out of a database, by the policy of every edge. One rule is added: fractions of a database are exact, so one
//! that would lose digits is an error too.

use pawl_kernel::json::{self, JsonRule};
use serde_json::Value;

/// Why a text is not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Inexact {
    Unreadable(String),
    Number,
}

pub(crate) const DIGITS_LOST: &str =
    "a number in its JSON has more digits than a number of 64 bits keeps";

pub(crate) fn json(text: &str) -> Result<Value, Inexact> {
    let value = json::read(text.as_bytes()).map_err(|error| match error.rule {
        JsonRule::Integer => Inexact::Number,
        _ => Inexact::Unreadable(error.to_string()),
    })?;
    match numbers(text).all(is_kept) {
        true => Ok(value),
        false => Err(Inexact::Number),
    }
}

/// Those of a text that is JSON.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = bytes.get(at) {
            let start = at;
            match byte {
                b'"' => at = string_end(bytes, at),
                b'-' | b'0'..=b'9' => {
                    let part =
                        |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                    at += bytes[at..].iter().take_while(part).count();
                    return text.get(start..at);
                }
                _ => at += 1,
            }
        }
        None
    })
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_kept(number: &str) -> bool {
    if number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return true;
    }
    if !number.contains(['.', 'e', 'E']) {
        return false;
    }
    let kept: Option<f64> = number.parse().ok();
    kept.is_some_and(|kept| digits(&format!("{kept:e}")) == digits(number))
}

/// The digits that count, and the power of ten of the first of them.
fn digits(number: &str) -> Option<(String, i64)> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches('-');
    let all = format!("{whole}{fraction}");
    let counting = all.trim_start_matches('0');
    if counting.is_empty() {
        return Some((String::new(), 0));
    }
    let leading = i64::try_from(all.len() - counting.len()).ok()?;
    let exponent: i64 = exponent.parse().ok()?;
    let power = exponent.checked_add(i64::try_from(whole.len()).ok()? - leading)?;
    Some((counting.trim_end_matches('0').to_owned(), power))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_that_fit_are_read() {
        for (text, value) in [
            ("0.1", json!(0.1)),
            ("1.50", json!(1.5)),
            ("-0.0", json!(-0.0)),
            ("1e2", json!(100.0)),
            ("12.5E-3", json!(0.0125)),
            ("0.000", json!(0.0)),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("3.141592653589793", json!(std::f64::consts::PI)),
            ("1.7976931348623157e308", json!(f64::MAX)),
            (
                r#"{"a\"1e999": "12345678901234567890123"}"#,
                json!({"a\"1e999": "12345678901234567890123"}),
            ),
        ] {
            assert_eq!(json(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn numbers_that_would_lose_digits_are_refused() {
        for text in [
            "18446744073709551616",
            "-9223372036854775809",
            "100000000000000000000",
            "0.12345678901234567890",
            "3.1415926535897932385",
            "[1, {\"a\": 9007199254740993.0}]",
            "1e-400",
            "1.0e-999999999999999999999",
        ] {
            assert_eq!(json(text), Err(Inexact::Number), "{text}");
        }
        for text in ["1e400", "{", "\"\\ud800\"", ""] {
            assert!(matches!(json(text), Err(Inexact::Unreadable(_))), "{text}");
        }
    }
}
