//! What a caller must prove. The rules are the kernel's; here is what they are told.

use axum::http::{HeaderMap, StatusCode, header};
use pawl_kernel::webhook::auth::{self, Headers, Proof, Refusal};
use pawl_kernel::webhook::{Auth, Webhook};

use crate::api::ApiState;
use crate::api::error::{ApiError, ApiResult};

struct Sent<'a>(&'a HeaderMap);

impl Headers for Sent<'_> {
    fn one(&self, name: &str) -> Option<&str> {
        let mut all = self.0.get_all(name).iter();
        match (all.next(), all.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Before the body is read.
pub(super) fn check_head(
    state: &ApiState,
    webhook: &Webhook,
    headers: &HeaderMap,
) -> ApiResult<()> {
    let auth = &webhook.trigger.auth;
    let checked = auth::check_head(auth, secret(state, auth), &Sent(headers), state.now());
    checked.map_err(|refusal| refused(webhook, refusal))
}

pub(super) fn check(
    state: &ApiState,
    webhook: &Webhook,
    headers: &HeaderMap,
    body: &[u8],
) -> ApiResult<Proof> {
    let auth = &webhook.trigger.auth;
    let checked = auth::check(auth, secret(state, auth), &Sent(headers), body, state.now());
    checked.map_err(|refusal| refused(webhook, refusal))
}

/// `SHOP_TOKEN` and `shop_token` are both the one that comes from `PAWL_SECRET_SHOP_TOKEN`.
fn secret<'a>(state: &'a ApiState, auth: &Auth) -> Option<&'a str> {
    let (secrets, name) = (&state.parts().options.secrets, auth.secret()?);
    let found = secrets.get(name);
    let found = found.or_else(|| secrets.get(&name.to_ascii_lowercase()));
    found.map(String::as_str)
}

/// Says what is missing, never what would have been right.
fn refused(webhook: &Webhook, refusal: Refusal) -> ApiError {
    let auth = &webhook.trigger.auth;
    let message = match (refusal, auth) {
        (Refusal::NoSecret, _) => {
            let secret = auth.secret().unwrap_or_default();
            let (schema, name) = (&webhook.schema, &webhook.name);
            tracing::warn!(%schema, name, secret, "a webhook was called whose secret the configuration does not have");
            let message =
                "this webhook is not ready: its secret is missing in the server's configuration";
            return ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "NOT_CONFIGURED", message);
        }
        (
            Refusal::Missing,
            Auth::Header {
                header: Some(name), ..
            },
        ) => {
            format!("this webhook needs one header `{name}` with its token")
        }
        (
            Refusal::Missing,
            Auth::Hmac {
                header: Some(name), ..
            },
        ) => format!(
            "this webhook needs a signature: one header `{name}` and one `{}`",
            auth::TIMESTAMP
        ),
        (Refusal::Missing, Auth::Hmac { .. }) => format!(
            "this webhook needs a signature: one header `{}` and one `{}`, or those of Standard Webhooks",
            auth::SIGNATURE,
            auth::TIMESTAMP
        ),
        (Refusal::Missing, _) => {
            "this webhook needs one header `Authorization: Bearer TOKEN`".into()
        }
        (Refusal::Expired, _) => "the timestamp of the signature is too far from now".into(),
        (Refusal::Wrong, Auth::Hmac { .. }) => "the signature does not fit the body".into(),
        (Refusal::Wrong, _) => "the token is not the one of this webhook".into(),
    };
    ApiError::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
        .header(header::WWW_AUTHENTICATE, "Bearer")
}
