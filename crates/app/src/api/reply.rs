//! Sending what [`crate::wire`] describes.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::error::ApiError;

/// A JSON answer. A value that cannot be written is our fault, not the client's.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => {
            let mut response = Response::new(Body::from(bytes));
            *response.status_mut() = status;
            let kind = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        Err(error) => ApiError::internal(error).into_response(),
    }
}

pub(super) fn ok(value: &impl Serialize) -> Response {
    json(StatusCode::OK, value)
}
