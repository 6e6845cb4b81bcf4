//! One shape for every refusal: `{"error": CODE, "message", "details", "params"}` with the fitting status.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pawl_engine::control::ControlError;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::input::INVALID_INPUT;
use pawl_kernel::lifecycle::Refusal;
use pawl_kernel::ports::store::{CatalogError, StoreError};
use serde_json::{Map, Value, json};

use super::reply;
use crate::wire::ErrorBody;

/// Boxed, because it travels in every result and is rarely there.
#[derive(Debug)]
pub(super) struct ApiError(Box<ErrorParts>);

#[derive(Debug)]
struct ErrorParts {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Value,
    params: Map<String, Value>,
    header: Option<(HeaderName, HeaderValue)>,
}

pub(super) type ApiResult<T = Response> = Result<T, ApiError>;

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorParts {
            status,
            code,
            message: message.into(),
            details: Value::Null,
            params: Map::new(),
            header: None,
        }))
    }

    pub(super) fn details(mut self, details: Value) -> Self {
        self.0.details = details;
        self
    }

    /// What the message names.
    pub(super) fn param(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.params.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.0.header = Some((name, HeaderValue::from_static(value)));
        self
    }

    pub(super) fn header_value(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CONFLICT", message)
    }

    pub(super) fn invalid_query(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_QUERY", message)
    }

    pub(super) fn invalid_header(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_HEADER", message)
    }

    /// Well-formed JSON that is not what the route takes.
    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_REQUEST", message)
    }

    /// Every problem of a document, with the first in the message.
    pub(super) fn diagnosed(code: &'static str, what: &str, found: &[Diagnostic]) -> Self {
        let errors = || found.iter().filter(|problem| problem.is_error());
        let first = errors().next();
        let first = first.map_or_else(String::new, |problem| format!(": {}", problem.message));
        let count = match errors().count() {
            1 => "one problem".to_owned(),
            count => format!("{count} problems"),
        };
        let message = format!("the {what} has {count}{first}");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message).details(json!(found))
    }

    pub(super) fn too_large(message: impl Into<String>) -> Self {
        // What is left of the body is not read, so the connection is of no more use.
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "LIMIT_EXCEEDED", message)
            .header(header::CONNECTION, "close")
    }

    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
            .header(header::RETRY_AFTER, "1")
    }

    /// The cause goes to the log; the client learns only that it was not its fault.
    pub(super) fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "a request failed");
        let message = "something went wrong inside the server; its log says what";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", message)
    }

    pub(super) fn message(&self) -> &str {
        &self.0.message
    }

    pub(super) fn code(&self) -> &'static str {
        self.0.code
    }

    pub(super) fn is_not_found(&self) -> bool {
        self.0.status == StatusCode::NOT_FOUND
    }

    pub(super) fn is_conflict(&self) -> bool {
        self.0.status == StatusCode::CONFLICT
    }

    pub(super) fn is_unauthorized(&self) -> bool {
        self.0.status == StatusCode::UNAUTHORIZED
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let ErrorParts {
            status,
            code,
            message,
            details,
            params,
            header,
        } = *self.0;
        let body = ErrorBody {
            error: code.into(),
            message: message.into(),
            details,
            params,
        };
        let mut response = reply::json(status, &body);
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

const TOO_LONG: &str = "the store gave this up because it took too long; narrow the filter: a shorter time, a schema, a status";

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(cause) => {
                tracing::warn!(%cause, "the store cannot be reached");
                Self::unavailable("the store cannot be reached; nothing was changed, try again")
            }
            StoreError::TooLong(cause) => {
                tracing::warn!(%cause, "a read was given up");
                Self::unavailable(TOO_LONG)
            }
            StoreError::Unknown(cause) => {
                tracing::warn!(%cause, "a write has an unknown result");
                Self::unavailable(
                    "the store did not say whether it happened; look before trying again",
                )
            }
            StoreError::Rejected(_) | StoreError::Corrupt(_) => Self::internal(error),
        }
    }
}

impl From<ControlError> for ApiError {
    fn from(error: ControlError) -> Self {
        let message = error.to_string();
        match error {
            ControlError::AlreadyRetried { retried_as, .. } => {
                Self::conflict(message).details(json!({"retried_as": retried_as.to_string()}))
            }
            ControlError::NotFound(message) => Self::not_found(message),
            ControlError::Invalid {
                code: "NOT_FOUND",
                message,
            } => Self::not_found(message),
            ControlError::Conflict(message) => Self::conflict(message),
            ControlError::Refused(refusal) => not_now(&refusal),
            ControlError::Invalid { code, message } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
            }
            ControlError::InvalidInput(problems) => {
                let details = json!({"problems": problems.list, "more": problems.more});
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, INVALID_INPUT, message).details(details)
            }
            ControlError::Store(error) => error.into(),
        }
    }
}

/// `refusal` tells apart what the code `CONFLICT` has in common.
fn not_now(refusal: &Refusal) -> ApiError {
    let error = ApiError::conflict(refusal.to_string());
    match refusal {
        Refusal::NotFound => error.param("refusal", "not_found"),
        Refusal::Ended(status) => error
            .param("refusal", "ended")
            .param("status", status.name()),
        Refusal::NotPaused(status) => error
            .param("refusal", "not_paused")
            .param("status", status.name()),
        Refusal::InDebugger => error.param("refusal", "in_debugger"),
        Refusal::NotInDebugger(status) => error
            .param("refusal", "not_in_debugger")
            .param("status", status.name()),
        Refusal::OtherSeq { at, expected } => error
            .param("refusal", "other_seq")
            .param("at", *at)
            .param("expected", *expected),
    }
}

impl From<CatalogError> for ApiError {
    fn from(error: CatalogError) -> Self {
        let message = error.to_string();
        match error {
            CatalogError::NameTaken(name) => Self::conflict(message).details(json!({"name": name})),
            CatalogError::ExternalIdTaken {
                external_id,
                schema,
            } => {
                let details = json!({"external_id": external_id, "schema": schema});
                Self::conflict(message).details(details)
            }
            CatalogError::NotFound | CatalogError::NoVersion(_) => Self::not_found(message),
            CatalogError::PathTaken {
                method,
                path,
                schema,
            } => {
                let details = json!({"method": method, "path": path, "schema": schema});
                Self::conflict(message).details(details)
            }
            CatalogError::VersionConflict { latest, expected } => Self::new(
                StatusCode::PRECONDITION_FAILED,
                "PRECONDITION_FAILED",
                message,
            )
            .details(json!({"latest": latest, "expected": expected})),
            CatalogError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_caller_can_do_decides_the_status() {
        let status = |error: StoreError| ApiError::from(error).into_response().status().as_u16();
        assert_eq!(status(StoreError::Unavailable("disk".into())), 503);
        assert_eq!(status(StoreError::Unknown("timeout".into())), 503);
        assert_eq!(status(StoreError::TooLong("10 s".into())), 503);
        let slow = ApiError::from(StoreError::TooLong("10 s".into()));
        assert!(slow.message().contains("narrow the filter"));
        assert_eq!(status(StoreError::Rejected("too large".into())), 500);
        assert_eq!(status(StoreError::Corrupt("no JSON".into())), 500);
        let hidden = ApiError::from(StoreError::Corrupt("/secret/path".into()));
        assert!(!hidden.message().contains("/secret/path"));
    }
}
