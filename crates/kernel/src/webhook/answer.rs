//! What the caller of a webhook receives: from a `respond` node, or by the way the execution ended.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::execution::{Execution, Status};

/// The type of the node whose output is an answer.
pub const NODE_TYPE: &str = "respond";

pub const STATUS_MIN: u16 = 200;
pub const STATUS_MAX: u16 = 599;
/// What a caller sees of a failure that was not made for callers.
const FAILED: &str = "the execution failed";
const HEADERS_MAX: usize = 64;
const HEADER_BYTES_MAX: usize = 16 << 10;

/// Headers that belong to the connection, or that the server works out itself.
const OWN_HEADERS: &[&str] = &[
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Webhooks answer from the same place as the UI: these would reach beyond the answer, into its pages.
const FORBIDDEN_HEADERS: &[&str] = &["clear-site-data", "service-worker-allowed"];
/// How cookies begin that only Pawl itself sets.
const OWN_COOKIES: &[&str] = &["pawl_", "__host-pawl", "__secure-pawl"];

/// Ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case; one that comes several times is sent several times.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Of the body, unless the headers say it.
    pub content_type: Option<String>,
}

impl Answer {
    fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.to_string().into_bytes(),
            content_type: Some("application/json".into()),
        }
    }

    /// From `{status, headers, body}`. The message of an error says what is wrong with it.
    pub fn read(said: &Value) -> Result<Self, String> {
        let status = read_status(&said["status"])?;
        let headers = read_headers(&said["headers"])?;
        let mut answer = Self {
            status,
            headers,
            body: Vec::new(),
            content_type: None,
        };
        answer.set_body(&said["body"])?;
        if matches!(status, 204 | 205 | 304) && !answer.body.is_empty() {
            return Err(format!("an answer with status {status} has no body"));
        }
        Ok(answer)
    }

    /// In place of one that cannot be sent.
    pub fn unreadable() -> Self {
        let message = "the answer of the execution cannot be sent";
        Self::json(500, &json!({"error": "INTERNAL", "message": message}))
    }

    fn has_content_type(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == "content-type")
    }

    /// Text is sent as it is, bytes as what they are, anything else as JSON. Nothing is nothing.
    fn set_body(&mut self, body: &Value) -> Result<(), String> {
        let kind = match body {
            Value::Null => return Ok(()),
            Value::String(text) => {
                self.body = text.clone().into_bytes();
                "text/plain; charset=utf-8".to_owned()
            }
            Value::Object(fields) if self.is_bytes(fields) => {
                let text = fields["base64"].as_str().unwrap_or_default();
                let decoded = STANDARD.decode(text);
                self.body = decoded.map_err(|_| "`body.base64` is not base64".to_owned())?;
                let kind = fields.get("content_type").and_then(Value::as_str);
                kind.unwrap_or("application/octet-stream").to_owned()
            }
            other => {
                self.body = crate::json::to_text(other).into_bytes();
                "application/json".to_owned()
            }
        };
        check_header("content-type", &kind)?;
        self.content_type = Some(kind).filter(|_| !self.has_content_type());
        Ok(())
    }

    /// As the body of a request with bytes is shown, or with a header that says what they are.
    fn is_bytes(&self, fields: &Map<String, Value>) -> bool {
        let known = |name: &String| name == "base64" || name == "content_type";
        let kind = fields.get("content_type").is_some_and(Value::is_string);
        fields.get("base64").is_some_and(Value::is_string)
            && fields.keys().all(known)
            && (kind || self.has_content_type())
    }

    /// How an execution that has ended answers by itself.
    pub fn of_end(execution: &Execution) -> Self {
        let id = execution.head.id.to_string();
        if execution.head.status == Status::Completed {
            let body = execution.record.output.as_deref().unwrap_or("null");
            return Self {
                status: 200,
                headers: Vec::new(),
                body: body.as_bytes().to_vec(),
                content_type: Some("application/json".into()),
            };
        }
        if execution.head.status == Status::Stopped {
            let message = "the execution was stopped";
            let body = json!({"error": "STOPPED", "message": message, "execution_id": id});
            return Self::json(409, &body);
        }
        let error = execution.record.error.as_deref();
        let error = error.and_then(|text| serde_json::from_str::<Value>(text).ok());
        of_error(&error.unwrap_or_default(), id)
    }
}

/// The status that the error names, and what it says about itself. One that names none was not made for callers: its
/// message and its details may tell of addresses, headers and bodies that are none of their business.
fn of_error(error: &Value, execution_id: String) -> Answer {
    let text = |field: &str, default: &str| error[field].as_str().unwrap_or(default).to_owned();
    let mut body = Map::new();
    body.insert("error".into(), text("code", "FAILED").into());
    let named = error["details"]["status"].as_u64();
    let named = named.filter(|status| (400..=599).contains(status));
    let message = match named {
        Some(_) => text("message", FAILED),
        None => FAILED.to_owned(),
    };
    body.insert("message".into(), message.into());
    let status = named.map_or(500, |status| status as u16);
    if let (Some(_), Value::Object(details)) = (named, &error["details"]) {
        // Which statement of a `sql` node it was is for those who look at the run.
        let others = details
            .iter()
            .filter(|(name, _)| !["status", "statement"].contains(&name.as_str()));
        for (name, value) in others {
            body.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    body.insert("execution_id".into(), execution_id.into());
    Answer::json(status, &Value::Object(body))
}

fn read_status(status: &Value) -> Result<u16, String> {
    if status.is_null() {
        return Ok(200);
    }
    let number = status
        .as_u64()
        .and_then(|number| u16::try_from(number).ok());
    number
        .filter(|number| (STATUS_MIN..=STATUS_MAX).contains(number))
        .ok_or_else(|| format!("`status` must be a whole number from {STATUS_MIN} to {STATUS_MAX}"))
}

fn read_headers(headers: &Value) -> Result<Vec<(String, String)>, String> {
    let fields = match headers {
        Value::Null => return Ok(Vec::new()),
        Value::Object(fields) => fields,
        _ => return Err("`headers` must be an object of names and texts".into()),
    };
    let mut read = Vec::new();
    for (name, value) in fields {
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, Vec::as_slice) {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => {
                    return Err(format!(
                        "the header `{name}` must be text, or a list of texts"
                    ));
                }
            };
            check_header(name, &text)?;
            read.push((name.to_ascii_lowercase(), text));
        }
    }
    let bytes: usize = read
        .iter()
        .map(|(name, text)| name.len() + text.len())
        .sum();
    if read.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX {
        return Err(format!(
            "an answer has at most {HEADERS_MAX} headers of {HEADER_BYTES_MAX} bytes together"
        ));
    }
    Ok(read)
}

/// May an answer carry this header?
pub fn check_header(name: &str, value: &str) -> Result<(), String> {
    check_name(name)?;
    let control = |letter: char| letter.is_control() && letter != '\t';
    if value.contains(control) {
        return Err(format!(
            "the header `{name}` holds a line break or another control character"
        ));
    }
    match name.eq_ignore_ascii_case("set-cookie") && is_own_cookie(value) {
        true => Err("cookies named `pawl_…` and `__Host-pawl…` belong to Pawl itself".into()),
        false => Ok(()),
    }
}

/// Browsers read `=name=value` as a cookie without a name, and send it back as `name=value`.
fn is_own_cookie(value: &str) -> bool {
    let own = value.trim_start_matches(|letter: char| letter == '=' || letter.is_whitespace());
    let own = own.to_ascii_lowercase();
    OWN_COOKIES.iter().any(|start| own.starts_with(start))
}

/// The same for the name alone.
pub fn check_name(name: &str) -> Result<(), String> {
    if !is_header_name(name) {
        return Err(format!("`{name}` is no name of a header"));
    }
    let lower = name.to_ascii_lowercase();
    if OWN_HEADERS.contains(&lower.as_str()) {
        return Err(format!("the header `{name}` is set by the server itself"));
    }
    match FORBIDDEN_HEADERS.contains(&lower.as_str()) {
        true => Err(format!(
            "the header `{name}` is refused: it would reach into the UI, which is at the same place"
        )),
        false => Ok(()),
    }
}

/// A token as HTTP has it.
pub fn is_header_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=100).contains(&name.len()) && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(said: Value) -> Answer {
        Answer::read(&said).unwrap_or_else(|problem| panic!("{said}: {problem}"))
    }

    #[test]
    fn bodies_by_what_they_are() {
        let nothing = read(json!({}));
        assert_eq!(
            (nothing.status, nothing.body.len(), nothing.content_type),
            (200, 0, None)
        );
        let text = read(json!({"status": 201, "body": "hello"}));
        assert_eq!(
            (text.status, text.body.as_slice()),
            (201, b"hello".as_slice())
        );
        assert_eq!(
            text.content_type.as_deref(),
            Some("text/plain; charset=utf-8")
        );
        let html = read(json!({"headers": {"Content-Type": "text/html"}, "body": "<p>"}));
        assert_eq!((html.content_type, html.headers.len()), (None, 1));
        for body in [
            json!({"a": 1}),
            json!([1]),
            json!(5),
            json!(false),
            json!({"base64": "AAA="}),
        ] {
            let answer = read(json!({"body": body}));
            assert_eq!(answer.body, body.to_string().into_bytes());
            assert_eq!(answer.content_type.as_deref(), Some("application/json"));
        }
        let bytes = read(json!({"body": {"base64": "AP8=", "content_type": "image/png"}}));
        assert_eq!(
            (bytes.body.as_slice(), bytes.content_type.as_deref()),
            ([0, 255].as_slice(), Some("image/png"))
        );
        let named = read(json!({"headers": {"content-type": "a/b"}, "body": {"base64": "AP8="}}));
        assert_eq!(
            (named.body.as_slice(), named.content_type),
            ([0, 255].as_slice(), None)
        );
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for bad in [
            json!({"status": 199}),
            json!({"status": 600}),
            json!({"status": "200"}),
            json!({"status": 200.5}),
            json!({"status": 204, "body": "x"}),
            json!({"headers": ["x"]}),
            json!({"headers": {"a b": "c"}}),
            json!({"headers": {"": "c"}}),
            json!({"headers": {"x": null}}),
            json!({"headers": {"x": {"y": 1}}}),
            json!({"headers": {"x": "a\r\nSet-Cookie: b"}}),
            json!({"headers": {"Clear-Site-Data": "*"}}),
            json!({"headers": {"service-worker-allowed": "/"}}),
            json!({"headers": {"Set-Cookie": "pawl_session=x; Path=/"}}),
            json!({"headers": {"set-cookie": ["a=1", " __HOST-pawl_session=x"]}}),
            json!({"headers": {"set-cookie": " = pawl_session=x"}}),
            json!({"headers": {"set-cookie": "__Secure-Pawl=x"}}),
            json!({"headers": {"x": "a\0"}}),
            json!({"headers": {"Content-Length": "5"}}),
            json!({"headers": {"transfer-encoding": "chunked"}}),
            json!({"headers": {"x": "y".repeat(20_000)}}),
            json!({"headers": {"content-type": "a/b"}, "body": {"base64": "?"}}),
            json!({"body": {"base64": "AA==", "content_type": "a\nb"}}),
        ] {
            assert!(Answer::read(&bad).is_err(), "{bad}");
        }
        let several = read(json!({"headers": {"Set-Cookie": ["a=1", "b=2"], "x-n": 5}}));
        let names: Vec<_> = several
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["set-cookie", "set-cookie", "x-n"]);
    }

    #[test]
    fn an_error_names_its_status_and_what_it_knows() {
        let id = || "e1".to_owned();
        let error = json!({"code": "LOCKED", "message": "held", "retryable": false,
            "details": {"status": 423, "statement": "lock", "holder": "ann", "error": "x", "message": "y", "execution_id": "z"}});
        let answer = of_error(&error, id());
        assert_eq!(answer.status, 423);
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(
            body,
            json!({"error": "LOCKED", "message": "held", "holder": "ann", "execution_id": "e1"})
        );
        for status in [json!(399), json!(600), json!(-1), json!("404"), json!(null)] {
            let error = json!({"code": "X", "message": "m", "details": {"status": status}});
            assert_eq!(of_error(&error, id()).status, 500, "{status}");
        }
        assert_eq!(of_error(&Value::Null, id()).status, 500);
    }
}
