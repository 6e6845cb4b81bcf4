//! Request bodies: the right type, whole, in time, and not too large.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use pawl_kernel::json::{self, JsonError};
use pawl_kernel::ports::store::SourceFormat;
use serde_json::{Value, json};
use tokio::time::{Duration, timeout};

use super::ApiState;
use super::error::{ApiError, ApiResult};

/// A client in the middle of sending does not see an answer; so a body that is a little too large is read to
/// its end, up to this much, before it is refused.
const DRAIN_BYTES: usize = 8 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// A JSON body, or `None` if the request has none.
pub(super) struct OptionalJson(pub(super) Option<Value>);

/// A JSON body that must be there.
pub(super) struct JsonBody(pub(super) Value);

/// The text of a scheduled action: as a schema's, but with the usual limit.
pub(super) struct ActionText(pub(super) SchemaText);

/// The text of a schema.
pub(super) struct SchemaText {
    pub(super) text: String,
    pub(super) format: SourceFormat,
}

impl FromRequest<ApiState> for OptionalJson {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &ApiState) -> ApiResult<Self> {
        let (parts, body) = request.into_parts();
        let bytes = read(
            &parts.headers,
            body,
            state.limits.body_bytes,
            state.limits.body_time,
        )
        .await?;
        if bytes.is_empty() {
            return Ok(Self(None));
        }
        require_json(&parts.headers)?;
        Ok(Self(Some(json::read(&bytes)?)))
    }
}

impl FromRequest<ApiState> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &ApiState) -> ApiResult<Self> {
        let OptionalJson(value) = OptionalJson::from_request(request, state).await?;
        value.map(Self).ok_or_else(|| {
            ApiError::new(
                StatusCode::BAD_REQUEST,
                "INVALID_JSON",
                "the request has no body",
            )
        })
    }
}

impl FromRequest<ApiState> for SchemaText {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &ApiState) -> ApiResult<Self> {
        Self::read(request, state, state.limits.schema_bytes).await
    }
}

impl FromRequest<ApiState> for ActionText {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &ApiState) -> ApiResult<Self> {
        let text = SchemaText::read(request, state, state.limits.body_bytes).await?;
        Ok(Self(text))
    }
}

impl SchemaText {
    async fn read(request: Request, state: &ApiState, limit: usize) -> ApiResult<Self> {
        let (parts, body) = request.into_parts();
        let declared = schema_format(&parts.headers)?;
        let bytes = read(&parts.headers, body, limit, state.limits.body_time).await?;
        let text = String::from_utf8(bytes.into()).map_err(|_| {
            ApiError::new(
                StatusCode::BAD_REQUEST,
                "INVALID_ENCODING",
                "the body is not UTF-8",
            )
        })?;
        let format = declared.unwrap_or_else(|| sniff(&text));
        Ok(Self { text, format })
    }
}

/// The bytes as they came.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    within: Duration,
) -> ApiResult<Bytes> {
    refuse_encoding(headers)?;
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|bytes| bytes > limit.saturating_add(DRAIN_BYTES)) {
        return Err(over(limit));
    }
    match timeout(within, collect(body, limit)).await {
        Ok(result) => result,
        Err(_) => {
            let message = format!("the body did not arrive within {} s", within.as_secs());
            Err(ApiError::new(
                StatusCode::REQUEST_TIMEOUT,
                "REQUEST_TIMEOUT",
                message,
            ))
        }
    }
}

async fn collect(mut body: Body, limit: usize) -> ApiResult<Bytes> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let message = format!("the body broke off: {error}");
            ApiError::new(StatusCode::BAD_REQUEST, "INVALID_BODY", message)
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > limit {
            let _ = Box::pin(timeout(DRAIN_TIME, drain(body))).await;
            return Err(over(limit));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.into())
}

async fn drain(mut body: Body) {
    let mut left = DRAIN_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

fn over(limit: usize) -> ApiError {
    let message = format!(
        "the body is larger than {limit} bytes (setting `limits.request_body`, or `max_body` of the webhook)"
    );
    ApiError::too_large(message).details(json!({"limit_bytes": limit}))
}

/// Nothing is unpacked here, so there is nothing for a bomb to go off in.
fn refuse_encoding(headers: &HeaderMap) -> ApiResult<()> {
    match headers.get(header::CONTENT_ENCODING) {
        None => Ok(()),
        Some(coding) if coding.as_bytes().eq_ignore_ascii_case(b"identity") => Ok(()),
        Some(_) => Err(unsupported(
            "compressed bodies are not read; send it as it is",
        )),
    }
}

/// Browsers send other types across sites without asking; this one they do not.
fn require_json(headers: &HeaderMap) -> ApiResult<()> {
    match essence(headers)?.as_deref() {
        Some(essence) if is_json(essence) => Ok(()),
        _ => Err(unsupported(
            "the body must be JSON: send the header `Content-Type: application/json`",
        )),
    }
}

/// For requests of browsers: forms, and scripts of foreign pages, can send other types and none without being asked about it.
pub(super) fn check_kind(headers: &HeaderMap) -> ApiResult<()> {
    let length = headers.get(header::CONTENT_LENGTH);
    let is_empty = length.is_none_or(|length| length.as_bytes() == b"0");
    if is_empty && !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(());
    }
    let kind = essence(headers)?.unwrap_or_default();
    let is_plain_form = !kind.starts_with("application/") || kind.ends_with("urlencoded");
    match is_plain_form {
        true => Err(unsupported(
            "with a session a body is sent as `application/json` or `application/yaml`",
        )),
        false => Ok(()),
    }
}

fn schema_format(headers: &HeaderMap) -> ApiResult<Option<SourceFormat>> {
    let Some(essence) = essence(headers)? else {
        return Ok(None);
    };
    match essence.as_str() {
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml"
        | "text/vnd.yaml" => Ok(Some(SourceFormat::Yaml)),
        essence if essence.ends_with("+yaml") => Ok(Some(SourceFormat::Yaml)),
        essence if is_json(essence) => Ok(Some(SourceFormat::Json)),
        _ => Err(unsupported(
            "the body is sent as `application/json` or `application/yaml`",
        )),
    }
}

fn sniff(text: &str) -> SourceFormat {
    if text.trim_start().starts_with('{') {
        SourceFormat::Json
    } else {
        SourceFormat::Yaml
    }
}

pub(super) fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence.ends_with("+json")
}

/// The media type in lower case without parameters; a charset other than UTF-8 is refused.
fn essence(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Ok(None);
    };
    let text = value
        .to_str()
        .map_err(|_| unsupported("the Content-Type is not readable"))?;
    match media_type(text) {
        (essence, true) => Ok(Some(essence)),
        (_, false) => Err(unsupported("the body must be UTF-8")),
    }
}

/// The media type in lower case without parameters, and whether its texts are UTF-8.
pub(super) fn media_type(text: &str) -> (String, bool) {
    let mut parts = text.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_utf8 = parts.all(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = value.trim().trim_matches('"').to_ascii_lowercase();
        !name.trim().eq_ignore_ascii_case("charset")
            || matches!(value.as_str(), "utf-8" | "utf8" | "us-ascii")
    });
    (essence, is_utf8)
}

pub(super) fn unsupported(message: &str) -> ApiError {
    ApiError::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "UNSUPPORTED_MEDIA_TYPE",
        message,
    )
}

impl From<JsonError> for ApiError {
    fn from(error: JsonError) -> Self {
        let JsonError {
            message,
            line,
            column,
            ..
        } = error;
        let text =
            format!("the request body is not valid JSON: {message}, line {line}, column {column}");
        Self::new(StatusCode::BAD_REQUEST, "INVALID_JSON", text)
            .details(json!({"line": line, "column": column, "reason": message}))
    }
}
