//! From a rendered config to a request that is safe to send.

use ::http::Method;
use ::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use pawl_kernel::node::{NodeCall, NodeError};
use serde_json::{Map, Value};
use url::Url;
use url::form_urlencoded::Serializer;

use super::{
    Auth, Config, Follow, MAX_BYTES_DEFAULT, MAX_BYTES_MAX, METHODS, REDIRECTS_DEFAULT,
    REDIRECTS_MAX,
};
use crate::http::Request;
use crate::parse::{kind_of, type_error};

const FORM: &str = "application/x-www-form-urlencoded";

pub(super) fn request(config: Config, call: &NodeCall<'_>) -> Result<Request, NodeError> {
    let method = method(config.method.as_deref().unwrap_or("GET"))?;
    let mut url = url(&config.url)?;
    add_query(&mut url, &config.query.unwrap_or_default())?;
    let mut headers = headers(&config.headers.unwrap_or_default())?;
    if let Some(auth) = config.auth {
        add_auth(&mut headers, auth)?;
    }
    let body = body(config.body, &mut headers)?;
    add_own(&mut headers, call);
    Ok(Request {
        headers,
        body,
        body_bytes_max: max_bytes(config.max_bytes)?,
        redirects_max: redirects(config.follow_redirects)?,
        secrets: call.secrets.clone(),
        ..Request::new(method, url)
    })
}

fn method(text: &str) -> Result<Method, NodeError> {
    let text = text.to_ascii_uppercase();
    let known = METHODS
        .contains(&text.as_str())
        .then(|| Method::from_bytes(text.as_bytes()).ok());
    known.flatten().ok_or_else(|| {
        type_error(format!(
            "`{text}` is no method; use one of {}",
            METHODS.join(", ")
        ))
    })
}

fn invalid_url(problem: impl std::fmt::Display) -> NodeError {
    NodeError::new(
        "INVALID_URL",
        format!("the URL cannot be called: {problem}"),
    )
}

/// Stricter than browsers: what they would quietly drop or rewrite is refused, because it hides where
/// a request really goes.
pub(super) fn url(text: &str) -> Result<Url, NodeError> {
    if text.contains(char::is_control) {
        return Err(invalid_url(
            "it holds a line break or another control character",
        ));
    }
    let url = Url::parse(text.trim()).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => {
            invalid_url("it must begin with https:// or http://")
        }
        other => invalid_url(other),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid_url(format!(
            "only http and https work, not `{}:`",
            url.scheme()
        )));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid_url("it holds a user name or password; use `auth`"));
    }
    if has_dot_segment(text) {
        return Err(invalid_url(
            "its path holds `.` or `..`; a value may have changed where it leads",
        ));
    }
    Ok(url)
}

/// Percent-encoding a value does not help against `..`: `%2e%2e` climbs just the same.
fn has_dot_segment(text: &str) -> bool {
    let path = text.trim().split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\']).any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    })
}

fn add_query(url: &mut Url, query: &Map<String, Value>) -> Result<(), NodeError> {
    if query.is_empty() {
        return Ok(());
    }
    let mut pairs = url.query_pairs_mut();
    for (name, text) in form_pairs(query)? {
        pairs.append_pair(name, &text);
    }
    Ok(())
}

/// A list repeats the name, null leaves it out.
fn form_pairs(fields: &Map<String, Value>) -> Result<Vec<(&str, String)>, NodeError> {
    let mut pairs = Vec::new();
    for (name, value) in fields {
        let values = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values.iter().filter(|value| !value.is_null()) {
            let text = scalar(value).ok_or_else(|| {
                type_error(format!(
                    "the parameter `{name}` is {}; use text, numbers or booleans",
                    kind_of(value)
                ))
            })?;
            pairs.push((name.as_str(), text));
        }
    }
    Ok(pairs)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn headers(given: &Map<String, Value>) -> Result<HeaderMap, NodeError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        let text = scalar(value).ok_or_else(|| {
            type_error(format!(
                "the header `{name}` is {}; it must be text",
                kind_of(value)
            ))
        })?;
        headers.append(header_name(name)?, header_value(name, &text)?);
    }
    Ok(headers)
}

/// These describe the connection and the body, which are not the author's to describe. `Host` would name another
/// server than the one whose address was checked.
const CONNECTION_HEADERS: [&str; 9] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn header_name(name: &str) -> Result<HeaderName, NodeError> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| type_error(format!("{name:?} is no header name")))?;
    if CONNECTION_HEADERS.contains(&parsed.as_str()) {
        let advice = match parsed.as_str() {
            "host" => "it follows from `url`",
            _ => "it is set by the connection",
        };
        return Err(type_error(format!(
            "the header `{name}` cannot be chosen: {advice}; leave it out"
        )));
    }
    Ok(parsed)
}

/// The value is not in the message: it may be a secret.
fn header_value(name: &str, text: &str) -> Result<HeaderValue, NodeError> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
        type_error(format!(
            "the value of the header `{name}` holds a line break or another control character"
        ))
    })
}

fn add_auth(headers: &mut HeaderMap, auth: Auth) -> Result<(), NodeError> {
    let (name, text) = match auth {
        Auth::Basic { username, .. } if username.contains(':') => {
            return Err(type_error("a user name for basic auth cannot hold a colon"));
        }
        Auth::Basic { username, password } => {
            let pair = format!("{username}:{}", password.unwrap_or_default());
            (
                header::AUTHORIZATION,
                format!("Basic {}", BASE64.encode(pair)),
            )
        }
        Auth::Bearer { token } => (header::AUTHORIZATION, format!("Bearer {token}")),
        Auth::Header { name, value } => (header_name(&name)?, value),
    };
    let mut value = header_value(name.as_str(), &text)?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

fn body(body: Value, headers: &mut HeaderMap) -> Result<Bytes, NodeError> {
    let given = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let is_form = given.is_some_and(|given| given.to_ascii_lowercase().starts_with(FORM));
    let (bytes, content_type) = match body {
        Value::Null => return Ok(Bytes::new()),
        Value::String(text) => (text, "text/plain; charset=utf-8"),
        Value::Object(fields) if is_form => (
            Serializer::new(String::new())
                .extend_pairs(form_pairs(&fields)?)
                .finish(),
            FORM,
        ),
        other => (other.to_string(), "application/json"),
    };
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static(content_type));
    Ok(bytes.into())
}

/// What every call sends, unless the author set it.
fn add_own(headers: &mut HeaderMap, call: &NodeCall<'_>) {
    let own = [
        ("idempotency-key", call.effect_key),
        ("x-correlation-id", Some(call.correlation_id)),
        (
            "user-agent",
            Some(concat!("pawl/", env!("CARGO_PKG_VERSION"))),
        ),
        ("accept", Some("*/*")),
        ("accept-encoding", Some("identity")),
    ];
    for (name, value) in own {
        // A correlation id from outside that no header can hold is better left out than the call refused.
        if let Some(Ok(value)) = value.map(HeaderValue::from_str) {
            headers.entry(name).or_insert(value);
        }
    }
}

fn max_bytes(given: Option<usize>) -> Result<usize, NodeError> {
    let bytes = given.unwrap_or(MAX_BYTES_DEFAULT);
    if i64::try_from(bytes).is_ok_and(|bytes| bytes <= MAX_BYTES_MAX) {
        return Ok(bytes);
    }
    Err(type_error(format!(
        "`max_bytes` is at most {MAX_BYTES_MAX}"
    )))
}

fn redirects(given: Option<Follow>) -> Result<Option<u32>, NodeError> {
    match given.unwrap_or(Follow::Yes(true)) {
        Follow::Yes(follow) => Ok(follow.then_some(REDIRECTS_DEFAULT)),
        Follow::UpTo(0) => Ok(None),
        Follow::UpTo(count @ 1..=REDIRECTS_MAX) => Ok(Some(count)),
        Follow::UpTo(_) => Err(type_error(format!(
            "`follow_redirects` is at most {REDIRECTS_MAX}"
        ))),
    }
}
