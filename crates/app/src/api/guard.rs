//! What a request must be before any handler looks at it. A server on loopback needs no login, so it must make sure
//! that the one who asks is not a web page from elsewhere: neither by a name that resolves here (DNS rebinding)
//! nor by a forged request. Who asks, and whether they may, is the business of [`access`].

use std::net::{IpAddr, Ipv6Addr};
use std::panic::AssertUnwindSafe;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use super::error::{ApiError, ApiResult};
use super::serve::Peer;
use super::{ApiState, access, packing, shell, webhooks};
use crate::gzip;

pub(super) use super::access::Identity;

/// The inner guard: refuses requests that are too large or that a foreign page has sent.
pub(super) async fn admit(
    State(state): State<ApiState>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let response = match inspect(&state, &mut request) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    state.knocks.answered(peer, "api", response.status());
    response
}

pub(super) fn inspect(state: &ApiState, request: &mut Request) -> ApiResult<()> {
    // Code that prints headers prints no key.
    if let Some(key) = request.headers_mut().get_mut(header::AUTHORIZATION) {
        key.set_sensitive(true);
    }
    check(state, request)
}

fn check(state: &ApiState, request: &Request) -> ApiResult<()> {
    let (headers, uri) = (request.headers(), request.uri());
    check_size(state, headers, uri)?;
    let host = host(headers, uri)?;
    let changes =
        changes_state(request.method()) || (is_webhook(uri) && !is_followed_link(headers));
    // A page can send no key of its own accord, so with keys only what changes something is looked at closely.
    let open = state.access.is_open();
    if open && !is_trusted(state, host) {
        let message = format!(
            "this server does not answer under the name `{}`",
            shorten(host)
        );
        return Err(forbidden(message));
    }
    if let Some(origin) = headers.get(header::ORIGIN).filter(|_| open || changes) {
        check_origin(state, origin, host)?;
    }
    if changes && is_cross_site(headers) {
        return Err(forbidden(
            "requests from other sites may not change anything".into(),
        ));
    }
    Ok(())
}

/// The connection's buffer bounds the head only roughly.
fn check_size(state: &ApiState, headers: &HeaderMap, uri: &Uri) -> ApiResult<()> {
    let fields = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    let target = uri
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    let limit = state.limits.header_bytes;
    if fields.sum::<usize>() + target <= limit {
        return Ok(());
    }
    let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    let message = format!("address and headers together are larger than {limit} bytes");
    Err(ApiError::new(status, "LIMIT_EXCEEDED", message))
}

/// `host[:port]` of the request: one header, and the same as in an absolute request line.
fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> ApiResult<&'a str> {
    let mut all = headers.get_all(header::HOST).iter();
    let host = all.next().and_then(|value| value.to_str().ok());
    let (Some(host), None) = (host, all.next()) else {
        return Err(ApiError::invalid_header(
            "a request needs exactly one Host header",
        ));
    };
    if place(host).is_none() {
        return Err(ApiError::invalid_header(
            "the Host header must be a name or an address, and a port if there is one",
        ));
    }
    match uri.authority() {
        Some(authority) if authority.as_str() != host => Err(ApiError::invalid_header(
            "the Host header and the request line differ",
        )),
        _ => Ok(host),
    }
}

/// The origin that the request names. Behind a proxy with TLS it begins with `https` for the browser; a policy that allows
/// `http` allows that too.
pub(super) fn request_origin(headers: &HeaderMap, uri: &Uri) -> ApiResult<String> {
    Ok(format!("http://{}", host(headers, uri)?))
}

/// A request of a browser that brings its session along: that it comes from a page of this server must be said, where a
/// program with a key need not say anything. If the origin is said, [`admit`] has compared it.
pub(super) fn check_own_page(headers: &HeaderMap) -> ApiResult<()> {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_own = match site {
        Some(site) => site == b"same-origin",
        None => headers.contains_key(header::ORIGIN),
    };
    match is_own {
        true => Ok(()),
        false => Err(forbidden(
            "with a session only pages of this server may change anything: the request must say `Sec-Fetch-Site: same-origin` or its `Origin`; programs send an API key"
                .into(),
        )),
    }
}

/// Does the request name this very machine?
pub(super) fn is_local(headers: &HeaderMap, uri: &Uri) -> ApiResult<bool> {
    let host = host(headers, uri)?;
    Ok(place(host).is_some_and(|place| is_loopback(place.name)))
}

fn is_trusted(state: &ApiState, host: &str) -> bool {
    place(host).is_some_and(|place| is_loopback(place.name)) || is_listed(state, host)
}

/// One of the names that were given to this server.
fn is_listed(state: &ApiState, host: &str) -> bool {
    let mut names = state.trusted_hosts.iter();
    place(host).is_some_and(|place| names.any(|name| name.eq_ignore_ascii_case(place.name)))
}

fn is_loopback(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// `name[:port]`, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HostPlace<'a> {
    /// Without the brackets of an IPv6 address.
    name: &'a str,
    port: Option<u16>,
}

/// `None` for what is neither a name nor an address, or has anything but a number as its port: no browser sends that, and
/// programs that read addresses differ in what they make of it.
fn place(host: &str) -> Option<HostPlace<'_>> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(inner) => {
            let (name, rest) = inner.split_once(']')?;
            name.parse::<Ipv6Addr>().ok()?;
            (name, rest)
        }
        None => {
            let end = host.find(':').unwrap_or(host.len());
            let (name, rest) = host.split_at(end);
            let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (!name.is_empty() && name.bytes().all(letters)).then_some((name, rest))?
        }
    };
    let port = match rest.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok()?)
        }
        Some(_) => return None,
        None if rest.is_empty() => None,
        None => return None,
    };
    Some(HostPlace { name, port })
}

/// A page may talk to the server it came from: another port is another site.
fn check_origin(state: &ApiState, origin: &HeaderValue, host: &str) -> ApiResult<()> {
    let text = origin.to_str().unwrap_or_default();
    let public = state.ui.public_url.as_ref();
    if public.is_some_and(|public| public.origin() == text) {
        return Ok(());
    }
    let origin = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    match origin {
        Some(origin) if is_own_place(state, origin, host) => Ok(()),
        _ => Err(forbidden(format!(
            "requests from the origin `{}` are refused",
            shorten(text)
        ))),
    }
}

/// Where keys are needed the server has any name: then its own page is the one that names it as the request does.
fn is_own_place(state: &ApiState, origin: &str, host: &str) -> bool {
    let port = |text: &str| place(text).map(|place| place.port);
    let same_port = port(origin).is_some() && port(origin) == port(host);
    match state.access.is_open() {
        true => is_trusted(state, origin) && same_port,
        false => origin.eq_ignore_ascii_case(host) || (is_listed(state, origin) && same_port),
    }
}

pub(super) fn changes_state(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Whatever its method, it starts something.
fn is_webhook(uri: &Uri) -> bool {
    uri.path().starts_with(webhooks::PREFIX)
}

/// A person has followed a link, such as one in a message that asks for an approval: `?1` says that they clicked, and that
/// no page went there by itself.
fn is_followed_link(headers: &HeaderMap) -> bool {
    let is = |name: &str, text: &[u8]| {
        headers
            .get(name)
            .is_some_and(|value| value.as_bytes() == text)
    };
    is("sec-fetch-mode", b"navigate")
        && is("sec-fetch-dest", b"document")
        && is("sec-fetch-user", b"?1")
}

fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    site.is_some_and(|site| site != b"same-origin" && site != b"none")
}

fn forbidden(message: String) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
}

pub(super) fn shorten(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(100)
        .collect()
}

/// The outer guard: a panic is an answer, and every answer says how browsers must treat it.
pub(super) async fn seal(request: Request, next: Next) -> Response {
    let unpacks = *request.method() != Method::HEAD && gzip::is_accepted(request.headers());
    let response = sealed(next.run(request)).await;
    match unpacks && packing::is_worth_it(&response) {
        true => Box::pin(packing::packed(response)).await,
        false => response,
    }
}

pub(super) async fn sealed(handling: impl Future<Output = Response>) -> Response {
    let handled = AssertUnwindSafe(handling).catch_unwind().await;
    let mut response =
        handled.unwrap_or_else(|_| ApiError::internal("a handler panicked").into_response());
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // The answer of a webhook may know better.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(nothing);
    response
}

/// Without a key no caller learns even what there is not.
/// The pages of the UI need no key: they are under every path that no route has.
pub(super) async fn no_such_route(State(state): State<ApiState>, request: Request) -> Response {
    if let Some(page) = shell::answer(&state, &request) {
        return page;
    }
    let refused = match access::identify(&state, request.headers()).await {
        Ok(_) => {
            ApiError::not_found("there is nothing under this path; /api/docs lists what there is")
        }
        Err(refused) => refused,
    };
    refused.into_response()
}

pub(super) async fn no_such_method(
    State(state): State<ApiState>,
    method: Method,
    headers: HeaderMap,
) -> ApiError {
    let message = format!("this path does not take {}", shorten(method.as_str()));
    let status = StatusCode::METHOD_NOT_ALLOWED;
    match access::identify(&state, &headers).await {
        Ok(_) => ApiError::new(status, "METHOD_NOT_ALLOWED", message),
        Err(refused) => refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        let broken = || async {
            if true {
                panic!("as planned");
            }
        };
        let app = axum::Router::new()
            .route("/", axum::routing::get(broken))
            .layer(axum::middleware::from_fn(seal));
        let service = hyper_util::service::TowerToHyperService::new(app);
        let request = Request::new(axum::body::Body::empty());
        let response = hyper::service::Service::call(&service, request)
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(
            response.headers()[header::X_CONTENT_TYPE_OPTIONS],
            "nosniff"
        );
    }

    #[test]
    fn loopback_in_every_spelling_and_nothing_else() {
        for name in [
            "localhost",
            "LOCALHOST",
            "app.localhost",
            "127.0.0.1",
            "127.8.8.8",
            "::1",
        ] {
            assert!(is_loopback(name), "{name}");
        }
        for name in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "0.0.0.0",
            "10.0.0.1",
            "::2",
            "[::1",
        ] {
            assert!(!is_loopback(name), "{name}");
        }
    }

    #[test]
    fn ports_come_off_whatever_stands_before_them() {
        for (host, name, port) in [
            ("a:80", "a", Some(80)),
            ("[::1]:80", "::1", Some(80)),
            ("[::1]", "::1", None),
            ("a_b-c.d", "a_b-c.d", None),
        ] {
            assert_eq!(place(host), Some(HostPlace { name, port }), "{host}");
        }
    }

    #[test]
    fn hosts_that_are_none() {
        for host in [
            "",
            ":80",
            "127.0.0.1:",
            "127.0.0.1:evil",
            "127.0.0.1:80@evil.example",
            "127.0.0.1:65536",
            "127.0.0.1:-1",
            "127.0.0.1:+80",
            "127.0.0.1:80:80",
            "user@127.0.0.1",
            "[127.0.0.1",
            "[127.0.0.1]",
            "[::1",
            "[::1]80",
            "[::1]x:80",
            "::1",
            "a/b",
            "a b",
        ] {
            assert_eq!(place(host), None, "{host}");
        }
    }
}
