//! Long JSON answers are sent compressed to clients that say they read it: browsers do, the command line does not.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;

use super::error::ApiError;
use crate::gzip;

/// Below that it costs more than it saves.
const BYTES_MIN: u64 = 4 << 10;
/// Above that it takes too long to do it between other things.
const BYTES_INLINE: usize = 64 << 10;

/// Streams, which have no length, and what is not JSON go out as they are.
pub(super) fn is_worth_it(response: &Response) -> bool {
    let headers = response.headers();
    let kind = headers.get(header::CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let length = response.body().size_hint().exact();
    is_json
        && !headers.contains_key(header::CONTENT_ENCODING)
        && length.is_some_and(|length| length > BYTES_MIN)
}

pub(super) async fn packed(response: Response) -> Response {
    let (mut parts, whole) = response.into_parts();
    let bytes = match whole.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => return ApiError::internal(error).into_response(),
    };
    let packed = match bytes.len() <= BYTES_INLINE {
        true => gzip::fast(&bytes),
        false => {
            let long = bytes.clone();
            let packing = tokio::task::spawn_blocking(move || gzip::fast(&long));
            packing.await.unwrap_or_default()
        }
    };
    let Some(packed) = packed else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    let (coding, vary) = ("gzip", "accept-encoding");
    for (name, text) in [(header::CONTENT_ENCODING, coding), (header::VARY, vary)] {
        parts.headers.insert(name, HeaderValue::from_static(text));
    }
    Response::from_parts(parts, Body::from(packed))
}
