//! Calls of webhooks: find the trigger, let it check the caller, start the execution, and answer as the trigger says.
//!
//! Any client can call; what it must prove is the business of the trigger ([`proof`]). The order is chosen so that
//! a stranger costs little: the address, what the headers prove, the body, what the body proves, the rate, and only then
//! anything that is written.

mod answer;
mod pace;
mod proof;
mod request;
mod table;
mod waiting;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::HeaderName;
use axum::http::request::Parts as Head;
use pawl_engine::control::{StartOutcome, StartRequest};
use pawl_kernel::digest::hex;
use pawl_kernel::id::SchemaId;
use pawl_kernel::start_key::WEBHOOK;
use pawl_kernel::webhook::auth::Proof;
use pawl_kernel::webhook::{Respond, Webhook};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::error::{ApiError, ApiResult};
use super::executions::header_text;
use super::sampled::LogSampler;
use super::{ApiState, Limits, body, direct};
use pace::Pace;
use table::WebhookTables;
use waiting::WaitingCalls;

/// Where webhooks are called.
pub(super) const ROUTE: &str = "/webhook/{*path}";
pub(super) const PREFIX: &str = direct::prefix(ROUTE);

/// What the process knows of webhooks.
pub(super) struct Desk {
    tables: WebhookTables,
    pace: Pace,
    waiting: WaitingCalls,
    /// Webhooks that were called although their secret is missing.
    unready: LogSampler<(SchemaId, String)>,
}

impl Desk {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            tables: WebhookTables::default(),
            pace: Pace::default(),
            waiting: WaitingCalls::new(limits.connections),
            unready: LogSampler::default(),
        }
    }

    /// A schema was saved, switched or deleted here: the next call sees it.
    pub(super) fn changed(&self) {
        self.tables.changed();
    }
}

/// A trigger, and what the path says.
struct Call {
    webhook: Arc<Webhook>,
    /// The node to start at, if it is not `start`.
    node: Option<String>,
    params: Map<String, Value>,
    /// As it came, after [`PREFIX`].
    path: String,
}

/// The handler of the route.
pub(super) async fn call(state: ApiState, request: Request) -> ApiResult {
    let state = &state;
    let (head, body) = request.into_parts();
    let call = table::find(state, &head).await?;
    let trigger = &call.webhook.trigger;
    proof::check_head(state, &call.webhook, &head.headers)?;
    let most = state.limits.body_bytes;
    let limit = trigger.max_body.map_or(most, |bytes| bytes.min(most));
    let bytes = body::read(&head.headers, body, limit, state.limits.body_time).await?;
    let proof = proof::check(state, &call.webhook, &head.headers, &bytes)?;
    state.webhooks.pace.admit(&call.webhook, state.now())?;
    let (schema_id, version) = (call.webhook.schema_id, call.webhook.version);
    let graph = state.control.graph(schema_id, version).await?;
    let (starting, fingerprint) = {
        let start = start_request(&call, &head, &bytes, &proof)?;
        let fingerprint = start.request.clone();
        let key = (schema_id, version);
        (state.control.start_graph(key, &graph, start), fingerprint)
    };
    let started = starting.await?;
    if !started.created {
        let check = answer::check_repetition(state, started.id, fingerprint.as_ref());
        Box::pin(check).await?;
    }
    respond(state, &call.webhook, started).await
}

async fn respond(state: &ApiState, webhook: &Webhook, started: StartOutcome) -> ApiResult {
    let (respond, wait) = (webhook.trigger.respond, webhook.trigger.wait);
    if respond == Respond::Immediately {
        return Ok(answer::accepted(started.id));
    }
    if let Some(response) = answer::at_once(&started, respond) {
        return Ok(response);
    }
    match state.webhooks.waiting.take(webhook) {
        Some(_place) => answer::wait(state, started, respond, wait).await,
        None => Ok(answer::still_running(started.id)),
    }
}

fn start_request(
    call: &Call,
    head: &Head,
    bytes: &Bytes,
    proof: &Proof,
) -> ApiResult<StartRequest> {
    let webhook = &call.webhook;
    let key = idempotency_key(call, head, proof)?;
    let request = key.is_some().then(|| fingerprint(head, bytes, proof));
    let seen = request::context(call, head, bytes)?;
    Ok(StartRequest {
        input: webhook.trigger.takes_input.then(|| seen["payload"].clone()),
        webhook: Some(seen),
        request,
        at_node: call.node.clone(),
        idempotency_key: key,
        correlation_id: header_text(&head.headers, &HeaderName::from_static("x-correlation-id"))?,
        created_by: format!("webhook:{}/{}", webhook.schema, webhook.name),
        watch: webhook.trigger.respond != Respond::Immediately,
        ..StartRequest::default()
    })
}

/// One execution per key. A signed request is its own key: only the sender can have made it, and no caller may send it
/// again; a key beside the signature could be changed by the one that replays it.
fn idempotency_key(call: &Call, head: &Head, proof: &Proof) -> ApiResult<Option<String>> {
    let given = header_text(&head.headers, &HeaderName::from_static("idempotency-key"))?;
    let key = match (proof, given) {
        (Proof::Signed { .. }, Some(_)) => {
            return Err(ApiError::invalid_header(
                "the signature does not cover an Idempotency-Key; send `webhook-id` with a Standard Webhooks signature",
            ));
        }
        // The sender has signed neither path nor node: what was taken anywhere is taken everywhere.
        (Proof::Signed { id: Some(id), .. }, None) => {
            return Ok(Some(format!("{WEBHOOK}signed:id:{id}")));
        }
        (Proof::Signed { signature, .. }, None) => {
            return Ok(Some(format!("{WEBHOOK}signed:{signature}")));
        }
        (Proof::Token, Some(key)) => format!("key:{key}"),
        (Proof::Token, None) => return Ok(None),
    };
    let (schema, name) = (call.webhook.schema_id, &call.webhook.name);
    let node = call.node.as_deref().unwrap_or_default();
    Ok(Some(format!("{WEBHOOK}{schema}:{name}:{node}:{key}")))
}

/// What a repetition must have in common with the first.
fn fingerprint(head: &Head, bytes: &Bytes, proof: &Proof) -> Value {
    let target = head
        .uri
        .path_and_query()
        .map_or("", |target| target.as_str());
    let digest = Sha256::new()
        .chain_update(head.method.as_str())
        .chain_update([0])
        .chain_update(target)
        .chain_update([0])
        .chain_update(bytes)
        .finalize();
    let mut request = json!({"hash": hex(&digest)});
    if let Proof::Signed { signature, .. } = proof {
        request["signature"] = json!(signature);
    }
    request
}
