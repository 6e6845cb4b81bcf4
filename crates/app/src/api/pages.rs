//! Pages for people: self-contained, without a single address outside this server.
//!
//! Scripts and styles are inside the page and named by a nonce, so the policy needs no `unsafe-inline`.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::ApiState;
use super::error::{ApiError, ApiResult};

const DOCS: &str = include_str!("pages/docs.html");
const STYLE: &str = include_str!("pages/style.css");

pub(super) async fn docs(State(state): State<ApiState>) -> ApiResult {
    page(&state, DOCS)
}

fn page(state: &ApiState, template: &str) -> ApiResult {
    let nonce = format!("{:032x}", state.runtime().entropy.bits());
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let html = template
        .replace("{{style}}", STYLE)
        .replace("{{nonce}}", &nonce);
    let mut response = Response::new(Body::from(html));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    let policy = HeaderValue::from_str(&policy).map_err(ApiError::internal)?;
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_name_nothing_outside_this_server_and_never_write_markup() {
        for page in [DOCS, STYLE] {
            for forbidden in [
                "http://",
                "https://",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                " style=",
                "onclick=",
                "src=\"/",
            ] {
                assert!(!page.contains(forbidden), "{forbidden}");
            }
        }
    }
}
