//! The web UI: its page, for every address that is no other's, and its files. Neither needs a login: they hold nothing
//! that is not in the public source, and a person must see a page before they can log in.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::error::{ApiError, ApiResult};
use super::{ApiState, guard};
use crate::gzip;
use crate::ui::{self, Asset};

const ASSETS: &str = "/assets/";
/// Addresses that are not for people.
const OTHERS: [&str; 5] = ["/api", "/webhook", "/health", "/metrics", "/assets"];
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// For what no route takes: `None` if it is not for the UI either.
pub(super) fn answer(state: &ApiState, request: &Request) -> Option<Response> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return None;
    }
    let (path, headers) = (request.uri().path(), request.headers());
    if let Some(name) = path.strip_prefix(ASSETS) {
        return Some(file(name, headers));
    }
    let is_ours = !OTHERS.iter().any(|other| is_under(path, other));
    let page = is_ours && wants_html(headers);
    page.then(|| shell(state, request).unwrap_or_else(ApiError::into_response))
}

fn is_under(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Only browsers that go to an address ask for a page by name.
fn wants_html(headers: &HeaderMap) -> bool {
    let all = headers.get_all(header::ACCEPT).iter();
    let kinds = all.filter_map(|value| value.to_str().ok());
    let mut kinds = kinds.flat_map(|list| list.split(','));
    kinds.any(|kind| {
        let name = kind.split(';').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case("text/html")
    })
}

fn shell(state: &ApiState, request: &Request) -> ApiResult {
    let nonce = format!("{:032x}", state.runtime().entropy.bits());
    let policy = policy(&script_sources(state, request)?, &nonce);
    let html = ui::shell().replace(ui::NONCE, &nonce);
    let mut response = Response::new(Body::from(html));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    let policy = HeaderValue::from_str(&policy).map_err(ApiError::internal)?;
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// Scripts come from one folder of this server, not from all of it: a webhook could answer with a script too.
fn policy(scripts: &str, nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src {scripts}; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; \
         connect-src 'self'; worker-src {scripts}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types pawl-worker"
    )
}

/// The address that pages are meant to come from, and the one that this page came from: a server with a public address is
/// also reached under names of its own machine and network.
fn script_sources(state: &ApiState, request: &Request) -> ApiResult<String> {
    let own = guard::request_origin(request.headers(), request.uri())?;
    let mut sources = vec![source(&own)];
    if let Some(public) = &state.ui.public_url {
        sources.push(source(public.origin()));
    }
    sources.sort_unstable();
    sources.dedup();
    Ok(sources.join(" "))
}

/// Policies know only hosts of letters, digits, dots and hyphens. For an address like `[::1]` all of this server counts.
fn source(origin: &str) -> String {
    let host = origin.split("://").nth(1).unwrap_or_default();
    let known = |letter: char| letter.is_ascii_alphanumeric() || ".-:".contains(letter);
    match host.chars().all(known) {
        true => format!("{origin}{ASSETS}"),
        false => "'self'".to_owned(),
    }
}

/// Kept by the browser, and asked about each time: names stay the same from build to build.
fn file(name: &str, asked: &HeaderMap) -> Response {
    let Some(asset) = ui::asset(name) else {
        let message =
            "there is no such file; the page may be of another version of Pawl: load it again";
        return ApiError::not_found(message).into_response();
    };
    let mut response = match has_it(asked, asset) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => whole(asset, asked),
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&asset.etag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let vary = HeaderValue::from_static("accept-encoding");
    headers.insert(header::VARY, vary);
    response
}

fn has_it(asked: &HeaderMap, asset: &Asset) -> bool {
    let all = asked.get_all(header::IF_NONE_MATCH).iter();
    let tags = all.filter_map(|value| value.to_str().ok());
    let strength = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let own = strength(&asset.etag);
    tags.flat_map(|list| list.split(','))
        .any(|tag| tag.trim() == "*" || strength(tag) == own)
}

fn whole(asset: &'static Asset, asked: &HeaderMap) -> Response {
    let packed = gzip::is_accepted(asked).then(|| asset.packed()).flatten();
    let packed = packed.filter(|packed| packed.len() < asset.bytes.len());
    let mut response = Response::new(Body::from(packed.unwrap_or(asset.bytes)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    if packed.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}
