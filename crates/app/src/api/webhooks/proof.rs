//! What a caller must prove. The rules are the kernel's; here are the answers.

use axum::http::{HeaderMap, StatusCode, header};
use pawl_kernel::webhook::auth::{self, AuthRefusal, Headers, Proof};
use pawl_kernel::webhook::{Auth, Webhook};

use crate::api::ApiState;
use crate::api::error::{ApiError, ApiResult};

struct RequestHeaders<'a>(&'a HeaderMap);

impl Headers for RequestHeaders<'_> {
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
    let secret = secret(state, webhook);
    let checked = auth::check_head(auth, secret, &RequestHeaders(headers), state.now());
    checked.map_err(|refusal| refused(state, webhook, refusal))
}

pub(super) fn check(
    state: &ApiState,
    webhook: &Webhook,
    headers: &HeaderMap,
    body: &[u8],
) -> ApiResult<Proof> {
    let auth = &webhook.trigger.auth;
    let secret = secret(state, webhook);
    let checked = auth::check(auth, secret, &RequestHeaders(headers), body, state.now());
    checked.map_err(|refusal| refused(state, webhook, refusal))
}

/// The one that comes from `PAWL_SECRET_SHOP_TOKEN` is called `shop_token`, however a trigger spells it. One that lists
/// schemas is not there for others.
fn secret<'a>(state: &'a ApiState, webhook: &Webhook) -> Option<&'a str> {
    let (options, name) = (&state.runtime().options, webhook.trigger.auth.secret()?);
    let scope = options.secret_scopes.get(name);
    let admitted = scope.is_none_or(|scope| scope.admits_schema(&webhook.schema));
    let found = options.secrets.get(name).filter(|_| admitted);
    found.map(String::as_str)
}

/// Says what is missing, never what would have been right.
fn refused(state: &ApiState, webhook: &Webhook, refusal: AuthRefusal) -> ApiError {
    let auth = &webhook.trigger.auth;
    let message = match (refusal, auth) {
        (AuthRefusal::NoSecret, _) => {
            warn_of_missing_secret(state, webhook);
            let message =
                "this webhook is not ready: its secret is missing in the server's configuration";
            return ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "NOT_CONFIGURED", message);
        }
        (
            AuthRefusal::Missing,
            Auth::Header {
                header: Some(name), ..
            },
        ) => {
            format!("this webhook needs one header `{name}` with its token")
        }
        (
            AuthRefusal::Missing,
            Auth::Hmac {
                header: Some(name), ..
            },
        ) => format!(
            "this webhook needs a signature: one header `{name}` and one `{}`",
            auth::TIMESTAMP
        ),
        (AuthRefusal::Missing, Auth::Hmac { .. }) => format!(
            "this webhook needs a signature: one header `{}` and one `{}`, or those of Standard Webhooks",
            auth::SIGNATURE,
            auth::TIMESTAMP
        ),
        (AuthRefusal::Missing, _) => {
            "this webhook needs one header `Authorization: Bearer TOKEN`".into()
        }
        (AuthRefusal::DottedId, _) => {
            "`webhook-id` must not contain a full stop: the signature would fit another id and body too".into()
        }
        (AuthRefusal::Expired, _) => "the timestamp of the signature is too far from now".into(),
        (AuthRefusal::Wrong, Auth::Hmac { .. }) => "the signature does not fit the body".into(),
        (AuthRefusal::Wrong, _) => "the token is not the one of this webhook".into(),
    };
    ApiError::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
        .header(header::WWW_AUTHENTICATE, "Bearer")
}

/// Any client can call a webhook, so one that is not ready does not write a line for every call.
fn warn_of_missing_secret(state: &ApiState, webhook: &Webhook) {
    let secret = webhook.trigger.auth.secret().unwrap_or_default().to_owned();
    let (schema, name) = (webhook.schema.clone(), webhook.name.clone());
    let subject = (webhook.schema_id, name.clone());
    state.webhooks.unready.note(subject, move |_, calls| {
        tracing::warn!(
            schema,
            name,
            secret,
            calls,
            "a webhook was called whose secret the configuration does not have, or does not allow for this schema"
        );
    });
}
