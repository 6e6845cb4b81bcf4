//! A request as expressions see it: `webhook.payload`, `headers`, `query`, `params`, `method`, `path`.

use axum::body::Bytes;
use axum::http::request::Parts as Head;
use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pawl_kernel::json::{self, JsonError};
use pawl_kernel::percent;
use pawl_kernel::webhook::{Auth, auth};
use serde_json::{Map, Value, json};

use super::Call;
use crate::api::body;
use crate::api::error::{ApiError, ApiResult};

/// What stands for a value that proves something.
const HIDDEN: &str = "***";
/// Headers that open doors here or elsewhere.
const SECRET_HEADERS: &[&str] = &[
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-api-key",
];
const SIGNATURES: &[&str] = &[auth::SIGNATURE, auth::STANDARD_SIGNATURE];

pub(super) fn context(call: &Call, head: &Head, bytes: &Bytes) -> ApiResult<Value> {
    let query = head.uri.query().unwrap_or_default();
    // Not by `json!`, which would copy every value.
    let fields = [
        ("payload", payload(&head.headers, bytes)?),
        ("headers", headers(call, &head.headers)),
        ("query", pairs(query.as_bytes())?),
        ("params", Value::Object(call.params.clone())),
        ("method", head.method.as_str().into()),
        ("path", call.path.as_str().into()),
    ];
    Ok(fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

/// The content type decides how the body reads, and nothing else does.
fn payload(headers: &HeaderMap, bytes: &Bytes) -> ApiResult<Value> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let kind = headers
        .get(header::CONTENT_TYPE)
        .map(|kind| kind.to_str().map_err(|_| unreadable()))
        .transpose()?;
    let (essence, is_utf8) = kind.map_or((String::new(), true), body::media_type);
    match essence.as_str() {
        kind if body::is_json(kind) && !is_utf8 => Err(body::unsupported("JSON is UTF-8")),
        kind if body::is_json(kind) => json::read(bytes).map_err(bad_json),
        "application/x-www-form-urlencoded" if is_utf8 => pairs(bytes),
        kind if kind.starts_with("text/") && is_utf8 => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err(ApiError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "INVALID_ENCODING",
                "the body says that it is text, and is not UTF-8",
            )),
        },
        // With the whole type: the workflow that takes it apart needs the boundary, or the charset.
        _ => Ok(json!({"base64": STANDARD.encode(bytes), "content_type": kind})),
    }
}

fn unreadable() -> ApiError {
    body::unsupported("the Content-Type is not readable")
}

/// JSON by the rules that hold everywhere: what cannot be kept is refused, and nothing has been written yet.
fn bad_json(error: JsonError) -> ApiError {
    let JsonError {
        message,
        line,
        column,
        ..
    } = error;
    let text =
        format!("the request body is not valid JSON: {message}, line {line}, column {column}");
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_JSON", text)
        .details(json!({"line": line, "column": column, "reason": message}))
}

/// Names in lower case; one that comes several times is one text with commas, as HTTP has it.
fn headers(call: &Call, headers: &HeaderMap) -> Value {
    let own = match &call.webhook.trigger.auth {
        Auth::Header { header, .. } | Auth::Hmac { header, .. } => header.as_deref(),
        Auth::Open => None,
    };
    let mut shown: Map<String, Value> = Map::with_capacity(headers.keys_len());
    for name in headers.keys() {
        let name = name.as_str();
        let is_secret =
            SECRET_HEADERS.contains(&name) || SIGNATURES.contains(&name) || own == Some(name);
        let text = match is_secret {
            true => HIDDEN.to_owned(),
            false => {
                let values = headers.get_all(name).iter();
                let texts: Vec<_> = values
                    .map(|value| String::from_utf8_lossy(value.as_bytes()))
                    .collect();
                texts.join(", ")
            }
        };
        shown.insert(name.to_owned(), text.into());
    }
    Value::Object(shown)
}

/// A name that comes several times is a list.
fn pairs(bytes: &[u8]) -> ApiResult<Value> {
    if bytes.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    if !is_utf8(bytes) {
        return Err(ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "INVALID_ENCODING",
            "the form or the query is not UTF-8",
        ));
    }
    let mut read: Map<String, Value> = Map::new();
    for (name, value) in url::form_urlencoded::parse(bytes) {
        let value = Value::String(value.into_owned());
        match read.get_mut(&*name) {
            None => {
                read.insert(name.into_owned(), value);
            }
            Some(Value::Array(all)) => all.push(value),
            Some(first) => *first = json!([first.take(), value]),
        }
    }
    Ok(Value::Object(read))
}

/// With its escapes taken for what they stand for. What separates pairs is ASCII, so no character can lie across two.
fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(&percent::decoded(bytes)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, bytes: &'static [u8]) -> ApiResult<Value> {
        let mut headers = HeaderMap::new();
        if !kind.is_empty() {
            headers.insert("content-type", kind.parse().unwrap());
        }
        payload(&headers, &Bytes::from_static(bytes))
    }

    #[test]
    fn bodies_read_by_their_type() {
        for (kind, bytes, expected) in [
            (
                "application/json",
                b"{\"a\":[1]}".as_slice(),
                json!({"a": [1]}),
            ),
            ("application/vnd.x+json; charset=utf-8", b"5", json!(5)),
            (
                "application/x-www-form-urlencoded",
                b"a=1&b=x%20y&a=2&c&a=3",
                json!({"a": ["1", "2", "3"], "b": "x y", "c": ""}),
            ),
            (
                "text/xml",
                b"<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>",
                json!("<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>"),
            ),
            ("text/plain", b"{\"a\":1}", json!("{\"a\":1}")),
            (
                "image/png",
                b"\x00\xff",
                json!({"base64": "AP8=", "content_type": "image/png"}),
            ),
            ("", b"x", json!({"base64": "eA==", "content_type": null})),
            ("application/json", b"", Value::Null),
            ("multipart/form-data; boundary=x", b"", Value::Null),
            (
                "multipart/form-data; boundary=x",
                b"--x",
                json!({"base64": "LS14", "content_type": "multipart/form-data; boundary=x"}),
            ),
            (
                "text/plain; charset=latin1",
                b"\xe4",
                json!({"base64": "5A==", "content_type": "text/plain; charset=latin1"}),
            ),
            ("text/plain; charset=us-ascii", b"x", json!("x")),
            (
                "application/x-www-form-urlencoded",
                b"a=%EF%BF%BD",
                json!({"a": "\u{fffd}"}),
            ),
        ] {
            assert_eq!(read(kind, bytes).unwrap(), expected, "{kind}");
        }
    }

    #[test]
    fn bodies_that_are_not_what_they_say() {
        for (kind, bytes) in [
            ("application/json", b"{\"a\":1,}".as_slice()),
            ("application/json", b"\"\\ud800\""),
            ("application/json", b"1e400"),
            ("application/json", b"{\"a\":1,\"a\":2}"),
            ("application/json", b"\xff"),
            ("text/plain", b"\xff"),
            ("application/json; charset=latin1", b"1"),
            ("application/x-www-form-urlencoded", b"a=%ff"),
            ("application/x-www-form-urlencoded", b"a=%EF%BF%BD&b=%ff"),
            ("application/x-www-form-urlencoded", b"a=%c3&%a9=1"),
        ] {
            assert!(read(kind, bytes).is_err(), "{kind}");
        }
    }
}
