//! From a response to an output, or to an error that says what came instead.

use ::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use ::http::{Method, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_kernel::json::{self, JsonError, JsonRule};
use pawl_kernel::node::NodeError;
use pawl_kernel::time::Timestamp;
use serde_json::{Map, Value, json};
use url::Position;

use super::accept::Accepted;
use super::{Reading, retry_after};
use crate::http::Response;
use crate::parse::type_error;

/// What the answer is measured by.
pub(super) struct AnswerExpectation {
    pub(super) method: Method,
    pub(super) reading: Reading,
    pub(super) accepted: Accepted,
    pub(super) now: Timestamp,
}

pub(super) fn outcome(asked: &AnswerExpectation, response: &Response) -> Result<Value, NodeError> {
    let code = response.status.as_u16();
    if code < 400 || asked.accepted.iter().any(|range| range.contains(&code)) {
        return Ok(shape(response, body(asked, response)?));
    }
    Err(status_error(asked, response))
}

pub(super) fn is_retryable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500..)
}

fn shape(response: &Response, body: Value) -> Value {
    json!({"status_code": response.status.as_u16(), "headers": headers(&response.headers), "body": body})
}

fn status_error(asked: &AnswerExpectation, response: &Response) -> NodeError {
    // The status is the error; a body that cannot be read as asked must not hide it.
    let body = body(asked, response).unwrap_or_else(|_| plain(&response.body));
    let place = &response.url[..Position::AfterPath];
    let message = format!("{} {place} answered {}", asked.method, response.status);
    let mut error = NodeError::new("HTTP_STATUS", message).details(shape(response, body));
    error.retryable = is_retryable(response.status);
    error.retry_after = retry_after::read(&response.headers, asked.now);
    error
}

fn body(asked: &AnswerExpectation, response: &Response) -> Result<Value, NodeError> {
    let bytes = &response.body;
    let bodyless =
        asked.method == Method::HEAD || matches!(response.status.as_u16(), 204 | 205 | 304);
    match asked.reading {
        Reading::Auto | Reading::Json if bytes.is_empty() && bodyless => Ok(Value::Null),
        Reading::Auto if bytes.is_empty() => Ok(Value::Null),
        Reading::Auto if !is_json(&response.headers) => Ok(plain(bytes)),
        Reading::Auto | Reading::Json => json_body(response),
        Reading::Base64 => Ok(BASE64.encode(bytes).into()),
        Reading::Text => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err(type_error(
                "the response is not UTF-8 text; read it with `response: base64`",
            )),
        },
    }
}

fn plain(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok("") => Value::Null,
        Ok(text) => text.into(),
        Err(_) => json!({"base64": BASE64.encode(bytes)}),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let text = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media = text
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    matches!(media.as_str(), "application/json" | "text/json") || media.ends_with("+json")
}

fn json_body(response: &Response) -> Result<Value, NodeError> {
    // RFC 8259 lets a reader ignore a byte order mark, and some servers count on it.
    let bytes = response
        .body
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(&response.body);
    json::read(bytes).map_err(|error| refused(response, &error))
}

fn refused(response: &Response, error: &JsonError) -> NodeError {
    if error.rule == JsonRule::Depth {
        let message = format!("the JSON of the response cannot be kept: {error}");
        return NodeError::new("LIMIT_EXCEEDED", message);
    }
    let hint = match error.rule {
        JsonRule::Integer | JsonRule::DoubleKey => {
            "; set `response: text` and take from the text what you need".to_owned()
        }
        _ => why(&response.headers),
    };
    let message = format!("the response is no JSON that can be kept: {error}{hint}");
    NodeError::new("INVALID_JSON", message).details(json!({
        "status_code": response.status.as_u16(),
        "body": plain(&response.body),
        "reason": error.message,
    }))
}

fn why(headers: &HeaderMap) -> String {
    match headers
        .get(header::CONTENT_ENCODING)
        .and_then(|value| value.to_str().ok())
    {
        None | Some("identity") => String::new(),
        Some(encoding) => {
            format!("; it came compressed ({encoding}) though that was not asked for")
        }
    }
}

/// Names are in lower case already; repeated headers become one, as HTTP has it, except cookies.
fn headers(headers: &HeaderMap) -> Map<String, Value> {
    headers
        .keys()
        .map(|name| (name.as_str().to_owned(), values(headers, name)))
        .collect()
}

fn values(headers: &HeaderMap, name: &HeaderName) -> Value {
    let texts: Vec<String> = headers.get_all(name).iter().map(text).collect();
    if name == header::SET_COOKIE {
        texts.into()
    } else {
        texts.join(", ").into()
    }
}

/// Bytes outside of UTF-8 are read as Latin-1, which is what they were in older HTTP.
fn text(value: &HeaderValue) -> String {
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => value.as_bytes().iter().copied().map(char::from).collect(),
    }
}
