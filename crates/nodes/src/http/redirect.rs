//! What follows from a redirect. Pure; the next hop is connected to, and checked, like any request.

use ::http::header::{self, HeaderMap, HeaderName};
use ::http::{Method, StatusCode};
use bytes::Bytes;
use url::Url;

use super::Request;
use super::error::{HttpError, HttpErrorKind};

/// The request to send next, or `None` if this answer is the response.
pub(super) fn next(
    request: &Request,
    status: StatusCode,
    answer: &HeaderMap,
) -> Result<Option<Request>, HttpError> {
    let (Some(left), Some(location)) = (request.redirects_max, answer.get(header::LOCATION)) else {
        return Ok(None);
    };
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(left) = left.checked_sub(1) else {
        return Err(refused(
            "there are too many redirects; raise `follow_redirects` or look for a loop",
        ));
    };
    let url = target(&request.url, location.as_bytes())?;
    let mut next = Request {
        redirects_max: Some(left),
        ..request.clone()
    };
    if matches!(status.as_u16(), 301..=303) && !matches!(next.method, Method::GET | Method::HEAD) {
        become_get(&mut next);
    }
    if request.url.origin() != url.origin() {
        next.headers = harmless(&next.headers);
        if !next.body.is_empty() {
            return Err(body_stays(status, &url));
        }
    }
    next.url = url;
    Ok(Some(next))
}

fn refused(message: impl Into<String>) -> HttpError {
    HttpError::new(HttpErrorKind::Redirect, message)
}

/// A body is as likely to hold a credential as a header, and nothing tells which part of it does.
fn body_stays(status: StatusCode, to: &Url) -> HttpError {
    let (status, origin) = (status.as_u16(), to.origin().ascii_serialization());
    refused(format!(
        "the answer {status} asks to send the body on to another origin, {origin}; \
         call that address directly if it is to have the body"
    ))
}

fn target(from: &Url, location: &[u8]) -> Result<Url, HttpError> {
    let text = std::str::from_utf8(location).map_err(|_| refused("the redirect leads nowhere"))?;
    let to = from
        .join(text)
        .map_err(|error| refused(format!("the redirect leads nowhere: {error}")))?;
    match (from.scheme(), to.scheme()) {
        ("https", "http") => Err(refused("the redirect leads from https to plain http")),
        (_, "http" | "https") => Ok(to),
        (_, other) => Err(refused(format!(
            "the redirect leads to `{other}:`, which is not followed"
        ))),
    }
}

/// Another origin gets only what is known to hold no secret: keys travel in headers of any name.
fn harmless(headers: &HeaderMap) -> HeaderMap {
    const HARMLESS: [HeaderName; 7] = [
        header::ACCEPT,
        header::ACCEPT_ENCODING,
        header::ACCEPT_LANGUAGE,
        header::CONTENT_TYPE,
        header::USER_AGENT,
        HeaderName::from_static("idempotency-key"),
        HeaderName::from_static("x-correlation-id"),
    ];
    let kept = headers.iter().filter(|(name, _)| HARMLESS.contains(name));
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn become_get(request: &mut Request) {
    request.method = Method::GET;
    request.body = Bytes::new();
    for name in [
        header::CONTENT_TYPE,
        header::CONTENT_ENCODING,
        header::CONTENT_LANGUAGE,
    ] {
        request.headers.remove(name);
    }
}
