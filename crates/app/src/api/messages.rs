//! Starts that other programs ask for by message: the fields of `POST /api/executions`, read by the same code.
//!
//! What differs: the message's `execution_id` is the idempotency key, `context` is another name for `variables`, and names
//! that mean nothing here are ignored, because messages carry hints for others too.

use pawl_engine::control::{ControlError, StartRequest};
use pawl_kernel::start_key;
use pawl_kernel::time::Timestamp;
use serde_json::{Map, Value};

use super::error::{ApiError, ApiResult};
use super::executions::start_request;
use super::fields::{self, check_text, mismatch};
use pawl_kernel::json;

/// Characters of the key by which another program names what it starts: with the prefix it fits where keys of the API do.
const KEY_MAX: usize = 200;

/// What a message asks for.
#[derive(Debug)]
pub(crate) struct MessageStart {
    /// The sender's own name for it.
    pub(crate) key: String,
    pub(crate) request: StartRequest,
}

/// Why it will never be started, as the answer to the sender says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StartRefusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl StartRefusal {
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        ApiError::invalid_request(message).into()
    }
}

impl From<ApiError> for StartRefusal {
    fn from(error: ApiError) -> Self {
        Self {
            code: error.code(),
            message: error.message().to_owned(),
        }
    }
}

impl From<ControlError> for StartRefusal {
    fn from(error: ControlError) -> Self {
        ApiError::from(error).into()
    }
}

/// What a message asks for by its body and, if it has one, by the AMQP property `correlation_id`.
pub(crate) fn read_start(
    body: &[u8],
    correlation_id: Option<&str>,
    now: Timestamp,
) -> Result<MessageStart, StartRefusal> {
    Ok(read(body, correlation_id, now)?)
}

fn read(body: &[u8], correlation_id: Option<&str>, now: Timestamp) -> ApiResult<MessageStart> {
    let Value::Object(mut fields) = json::read(body)? else {
        return Err(ApiError::invalid_request("a start is an object"));
    };
    let key = key(&mut fields)?;
    if fields
        .get("idempotency_key")
        .is_some_and(|key| !key.is_null())
    {
        return Err(ApiError::invalid_request(
            "the idempotency key of a message is its `execution_id`; leave `idempotency_key` out",
        ));
    }
    rename_context(&mut fields)?;
    let mut request = start_request(fields::read_known(fields)?, now)?;
    request.idempotency_key = Some(format!("{}{key}", start_key::MESSAGE));
    if let Some(id) = correlation_id {
        check_text("correlation_id", id)?;
        request.correlation_id = Some(id.to_owned());
    }
    Ok(MessageStart { key, request })
}

fn key(fields: &mut Map<String, Value>) -> ApiResult<String> {
    let key = match fields.remove("execution_id") {
        Some(Value::String(key)) => key,
        None | Some(Value::Null) => {
            return Err(ApiError::invalid_request(
                "`execution_id` is missing: the sender's own name for what it starts",
            ));
        }
        Some(other) => return Err(mismatch("execution_id", "a text", &other)),
    };
    check_text("execution_id", &key)?;
    let count = key.chars().count();
    if count > KEY_MAX {
        return Err(ApiError::invalid_request(format!(
            "`execution_id` must have 1 to {KEY_MAX} characters, it has {count}"
        )));
    }
    Ok(key)
}

/// `context` becomes the initial variables.
fn rename_context(fields: &mut Map<String, Value>) -> ApiResult<()> {
    let context = match fields.remove("context") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(context)) => context,
        Some(other) => return Err(mismatch("context", "an object", &other)),
    };
    match fields.insert("variables".into(), Value::Object(context)) {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(ApiError::invalid_request(
            "give `context` or `variables`, not both: they are the same",
        )),
    }
}

#[cfg(test)]
mod tests {
    use pawl_engine::control::SchemaKey;
    use pawl_kernel::execution::PriorityClass;
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn start(body: &Value) -> Result<MessageStart, StartRefusal> {
        read_start(body.to_string().as_bytes(), None, NOW)
    }

    /// A start with one more field, or another.
    fn with(name: &str, value: Value) -> Result<MessageStart, StartRefusal> {
        let mut body = json!({"execution_id": "k", "schema_id": "s", "action": "start"});
        body[name] = value;
        start(&body)
    }

    #[test]
    fn everything_that_the_api_takes_is_taken() {
        let body = json!({
            "execution_id": "order 7", "schema_id": 123, "action": "start", "context": {"a": [1]},
            "input": {"b": 2}, "version": 3, "debug_mode": true, "priority": "high", "tenant": "acme",
            "labels": {"team": "blue"}, "start_at": "2027-02-01T00:00:00Z",
            // Hints for others, of any type.
            "current_node_id": 5, "seq": "x", "published_at": [], "more": {},
        });
        let read = read_start(body.to_string().as_bytes(), Some("c-1"), NOW).unwrap();
        assert_eq!(read.key, "order 7");
        let request = read.request;
        assert_eq!(request.schema, SchemaKey::Number(123));
        assert_eq!(request.idempotency_key.as_deref(), Some("amqp:order 7"));
        assert_eq!(request.correlation_id.as_deref(), Some("c-1"));
        assert_eq!(Value::Object(request.variables), json!({"a": [1]}));
        assert_eq!(request.input, Some(json!({"b": 2})));
        assert_eq!((request.version, request.debug_mode), (Some(3), true));
        assert_eq!(request.priority, Some(PriorityClass::High));
        assert_eq!(request.tenant.as_deref(), Some("acme"));
        assert_eq!(Value::Object(request.labels), json!({"team": "blue"}));
        assert_eq!(request.start_at, Timestamp::parse("2027-02-01T00:00:00Z"));
    }

    #[test]
    fn a_name_of_digits_is_no_number() {
        let key = |value: Value| with("schema_id", value).unwrap().request.schema;
        assert_eq!(key(json!("123")), SchemaKey::Text("123".into()));
        assert_eq!(key(json!(123)), SchemaKey::Number(123));
        assert_eq!(key(json!(-1)), SchemaKey::Number(-1));
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        for (name, value, expected) in [
            ("execution_id", json!(null), "`execution_id` is missing"),
            ("execution_id", json!(5), "`execution_id` must be a text"),
            ("execution_id", json!(""), "1 to 255"),
            ("execution_id", json!("x".repeat(201)), "1 to 200"),
            ("execution_id", json!("a\0b"), "control characters"),
            ("execution_id", json!("a\u{1b}b"), "control characters"),
            ("schema_id", json!(null), "`schema` is missing"),
            ("schema_id", json!([]), "`schema_id` must be a text"),
            ("schema_id", json!(1.5), "`external_id` 1.5"),
            ("context", json!([]), "`context` must be an object"),
            ("debug_mode", json!("yes"), "`debug_mode` must be true"),
            ("version", json!(0), "`version` must be"),
            ("priority", json!("urgent"), "unknown priority"),
            ("labels", json!({"a": []}), "`labels` must be"),
            ("tenant", json!("a\nb"), "control characters"),
            ("start_at", json!("soon"), "`start_at` must be a time"),
            ("idempotency_key", json!("k"), "is its `execution_id`"),
        ] {
            let refused = with(name, value.clone()).unwrap_err();
            assert!(
                refused.message.contains(expected),
                "{name} {value}: {refused:?}"
            );
        }
        let both = json!({"execution_id": "k", "schema_id": "s", "context": {}, "variables": {}});
        assert!(start(&both).unwrap_err().message.contains("not both"));
        assert_eq!(with("schema_id", json!(1.5)).unwrap_err().code, "NOT_FOUND");
        let bad_correlation =
            read_start(br#"{"execution_id":"k","schema_id":"s"}"#, Some("\0"), NOW);
        assert!(
            bad_correlation
                .unwrap_err()
                .message
                .contains("correlation_id")
        );
    }

    /// The same JSON as at every edge. The message itself is one level, so what is as deep as may be does not fit into it.
    #[test]
    fn policy_of_contexts() {
        let cases = include_str!("../../../../tests/json_policy.json");
        for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
            let context = case["text"].as_str().unwrap();
            let body = format!(r#"{{"execution_id":"k","schema_id":"s","context":{context}}}"#);
            let read = read_start(body.as_bytes(), None, NOW).ok();
            let read = read.map(|start| Value::Object(start.request.variables));
            let kept = case.get("kept").filter(|kept| depth(kept) < 64);
            assert_eq!(read.as_ref(), kept, "{case}");
        }
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }
}
