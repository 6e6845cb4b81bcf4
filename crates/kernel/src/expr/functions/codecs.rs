//! JSON, hashes and encodings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::super::encoding::hex_decode;
use super::*;
use crate::digest::{self, hex};
use crate::json::{self, JsonError, JsonRule};

/// What an element of a list takes in memory, where its text may be two bytes.
const PARSED_VALUE_BYTES: usize = 32;

pub(super) const TABLE: &[Row] = &[
    (
        "json(value)",
        "The value as compact JSON text.",
        "json({a: [1, 'x']})",
        r#""{\"a\":[1,\"x\"]}""#,
        Body::Eager(json),
    ),
    (
        "parse_json(text)",
        "The value written in the JSON text, at most 64 levels deep.",
        r#"parse_json('{"a": [1]}')"#,
        r#"{"a":[1]}"#,
        Body::Eager(parse_json),
    ),
    (
        "sha256(text)",
        "The SHA-256 of the text, in hex.",
        "substring(sha256('abc'), 0, 8)",
        r#""ba7816bf""#,
        Body::Eager(sha256),
    ),
    (
        "hmac_sha256(key, text)",
        "The HMAC-SHA-256 of the text under the key, in hex.",
        "substring(hmac_sha256('key', 'text'), 0, 8)",
        r#""6afa9046""#,
        Body::Eager(hmac_sha256),
    ),
    (
        "base64_encode(text)",
        "The text in base64.",
        "base64_encode('hello')",
        r#""aGVsbG8=""#,
        Body::Eager(base64_encode),
    ),
    (
        "base64_decode(text)",
        "The text inside the base64.",
        "base64_decode('aGVsbG8=')",
        r#""hello""#,
        Body::Eager(base64_decode),
    ),
    (
        "hex_encode(text)",
        "The bytes of the text in hex.",
        "hex_encode('hi')",
        r#""6869""#,
        Body::Eager(hex_encode),
    ),
    (
        "hex_decode(text)",
        "The text inside the hex.",
        "hex_decode('6869')",
        r#""hi""#,
        Body::Eager(hex_decoded),
    ),
];

fn json<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (value, span) = (call.value(0), call.span);
    call.evaluator.json_text_of(&value, span).map(new_text)
}

fn parse_json<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (text, span) = (call.text(0)?, call.span);
    call.scan(text.len())?;
    let values = text.bytes().filter(|byte| b",[{".contains(byte)).count();
    call.allocate(
        text.len()
            .saturating_add(values.saturating_mul(PARSED_VALUE_BYTES)),
    )?;
    match json::read(text.as_bytes()) {
        Ok(value) => call.evaluator.adopt_json(value, span),
        Err(error) => Err(not_json(call, &error)),
    }
}

/// Says where the text stops being JSON, without quoting it: it may be a secret.
fn not_json(call: &Call<'_, '_>, error: &JsonError) -> ExprError {
    let problem = match error.rule {
        JsonRule::Depth => {
            let message = format!("the JSON text is {}", error.message);
            return ExprError::limit(message, call.span);
        }
        JsonRule::Grammar => "the text is not JSON",
        JsonRule::Integer => "the text has an integer outside the range of 64 bits",
        JsonRule::DoubleKey => "the text has a key twice in one object",
    };
    let (line, column) = (error.line, error.column);
    call.invalid(&format!("{problem}, at line {line}, column {column}"))
}

fn sha256<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let text = call.text(0)?;
    call.scan(text.len().saturating_mul(4))?;
    call.allocate(64)?;
    Ok(new_text(hex(&Sha256::digest(text.as_bytes()))))
}

fn hmac_sha256<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (key, text) = (call.text(0)?, call.text(1)?);
    call.scan(text.len().saturating_add(key.len()).saturating_mul(4))?;
    call.allocate(64)?;
    Ok(new_text(hex(&digest::hmac_sha256(
        key.as_bytes(),
        text.as_bytes(),
    ))))
}

fn base64_encode<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let text = call.text(0)?;
    call.allocate(text.len() / 3 * 4 + 4)?;
    Ok(new_text(STANDARD.encode(text.as_bytes())))
}

fn base64_decode<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let text = call.text(0)?;
    call.allocate(text.len())?;
    let bytes = STANDARD.decode(text.as_bytes()).ok();
    decoded(call, bytes, "the text is not base64 of UTF-8 text")
}

fn hex_encode<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let text = call.text(0)?;
    call.allocate(text.len().saturating_mul(2))?;
    Ok(new_text(hex(text.as_bytes())))
}

fn hex_decoded<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let text = call.text(0)?;
    call.allocate(text.len())?;
    decoded(call, hex_decode(&text), "the text is not hex of UTF-8 text")
}

fn decoded<'a>(call: &Call<'_, 'a>, bytes: Option<Vec<u8>>, problem: &str) -> EvalResult<'a> {
    match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(text) => Ok(new_text(text)),
        None => Err(call.invalid(problem)),
    }
}
