//! Why a request got no response, by what the caller can do about it.

use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

use ::http::StatusCode;
use pawl_kernel::time::format_duration;

#[derive(Clone, Debug)]
pub struct HttpError {
    pub kind: HttpErrorKind,
    pub message: String,
    /// Known when the response began well.
    pub status: Option<StatusCode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpErrorKind {
    InvalidUrl,
    Dns,
    Connection,
    Tls,
    Forbidden,
    Timeout,
    TooLarge,
    Redirect,
    /// A secret in the request is not for this host.
    Secret,
}

impl HttpErrorKind {
    pub fn code(self) -> &'static str {
        match self {
            Self::InvalidUrl => "INVALID_URL",
            Self::Dns => "DNS_FAILED",
            Self::Connection => "CONNECTION_FAILED",
            Self::Tls => "TLS_FAILED",
            Self::Forbidden => "FORBIDDEN_ADDRESS",
            Self::Timeout => "NODE_TIMEOUT",
            Self::TooLarge => "RESPONSE_TOO_LARGE",
            Self::Redirect => "REDIRECT_REFUSED",
            Self::Secret => "SECRET_NOT_ALLOWED",
        }
    }

    /// Whether the same request may well succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Dns | Self::Connection | Self::Timeout)
    }
}

impl HttpError {
    pub(super) fn new(kind: HttpErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
        }
    }

    /// The same words for every forbidden address, whether anything listens there or not.
    pub(super) fn forbidden(host: &str) -> Self {
        let message = format!(
            "`{host}` is not a public address, and workflows may not call it; \
             `http.allow` in the configuration can allow its network"
        );
        Self::new(HttpErrorKind::Forbidden, message)
    }

    /// Whatever is allowed.
    pub(super) fn own(host: &str, port: u16) -> Self {
        let message = format!(
            "`{host}:{port}` is Pawl itself, its database or its broker, and workflows may not call it"
        );
        Self::new(HttpErrorKind::Forbidden, message)
    }

    pub(super) fn timeout(host: &str, limit: Duration) -> Self {
        let limit = format_duration(limit);
        Self::new(
            HttpErrorKind::Timeout,
            format!("`{host}` did not answer within {limit}"),
        )
    }

    pub(super) fn too_large(limit: usize, status: StatusCode) -> Self {
        let message =
            format!("the response is longer than {limit} bytes; raise `max_bytes` if it has to be");
        Self {
            status: Some(status),
            ..Self::new(HttpErrorKind::TooLarge, message)
        }
    }

    /// Finds out what really happened inside the errors of hyper, rustls and the system.
    pub(super) fn from_chain(error: &(dyn Error + 'static), host: &str) -> Self {
        if let Some(ours) = find::<Self>(error) {
            return ours.clone();
        }
        if let Some(tls) = find::<rustls::Error>(error) {
            return Self::new(
                HttpErrorKind::Tls,
                format!("no secure connection to `{host}`: {tls}"),
            );
        }
        match find::<hyper::Error>(error) {
            Some(inner) if inner.is_parse_too_large() => Self::new(
                HttpErrorKind::TooLarge,
                format!("the response headers of `{host}` are too large"),
            ),
            Some(inner) if inner.is_timeout() => Self::new(
                HttpErrorKind::Timeout,
                format!("`{host}` did not answer in time"),
            ),
            _ => Self::new(
                HttpErrorKind::Connection,
                format!("the connection to `{host}` failed: {}", root(error)),
            ),
        }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for HttpError {}

/// `io::Error` hides what it wraps from `source()`, so it is opened by hand.
fn below<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut links = std::iter::successors(Some(error), |link| below(*link));
    links.find_map(|link| link.downcast_ref())
}

fn root<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    std::iter::successors(Some(error), |link| below(*link))
        .last()
        .unwrap_or(error)
}
