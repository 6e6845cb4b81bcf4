//! Which requests go where, in memory. The store is asked for its revision at most once a second, only when calls come,
//! and by one of them; what was saved through this process is seen at once. A path that is not known is looked for
//! again before its caller gets a 404, together with all others of the same tenth of a second.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::request::Parts as Head;
use axum::http::{HeaderValue, Method as HttpMethod, StatusCode, header};
use pawl_kernel::id::SchemaId;
use pawl_kernel::webhook::path::requested;
use pawl_kernel::webhook::router::{RouteMatch, Router, params};
use pawl_kernel::webhook::{Auth, Method, Webhook};
use serde_json::Value;

use super::{Call, PREFIX};
use crate::api::ApiState;
use crate::api::error::{ApiError, ApiResult};

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Strangers who try paths that do not exist wait for one another, and share one question to the store.
const UNKNOWN_EVERY: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct WebhookTables {
    known: Mutex<TableState>,
    /// One asks, the others wait for it or go on with what is known.
    asking: tokio::sync::Mutex<()>,
    stale: AtomicBool,
    #[cfg(test)]
    questions: std::sync::atomic::AtomicUsize,
}

#[derive(Clone, Default)]
struct TableState {
    table: Arc<WebhookTable>,
    /// When the store was last asked; `None`: never.
    asked: Option<Instant>,
}

#[derive(Default)]
struct WebhookTable {
    revision: u64,
    webhooks: Vec<Arc<Webhook>>,
    router: Router,
    /// The webhook of each schema whose rules hold for the schema's entries too.
    of_schema: HashMap<SchemaId, usize>,
}

impl WebhookTables {
    pub(super) fn changed(&self) {
        self.stale.store(true, Ordering::Release);
    }

    fn known(&self) -> TableState {
        let known = self.known.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn current(&self, state: &ApiState) -> ApiResult<Arc<WebhookTable>> {
        let known = self.known();
        let Some(asked) = known.asked else {
            return Box::pin(self.ask(state, Instant::now())).await;
        };
        if self.stale.load(Ordering::Acquire) {
            return Box::pin(self.ask(state, Instant::now())).await;
        }
        if asked.elapsed() < LOOK_EVERY {
            return Ok(known.table);
        }
        let Ok(turn) = self.asking.try_lock() else {
            return Ok(known.table);
        };
        drop(turn);
        // A store that is away for a moment has changed nothing.
        let asked = Box::pin(self.ask(state, Instant::now())).await;
        asked.or(Ok(known.table))
    }

    /// For a path that is not known: what the store says after `since`, but not more often than it can bear.
    async fn ask_again(&self, state: &ApiState, since: Instant) -> ApiResult<Arc<WebhookTable>> {
        if let Some(asked) = self.known().asked {
            let wait = UNKNOWN_EVERY.saturating_sub(asked.elapsed());
            tokio::time::sleep(wait).await;
        }
        self.ask(state, since).await
    }

    /// What the store says, asked after `since`.
    async fn ask(&self, state: &ApiState, since: Instant) -> ApiResult<Arc<WebhookTable>> {
        let _turn = self.asking.lock().await;
        let known = self.known();
        if known.asked.is_some_and(|asked| asked > since) {
            return Ok(known.table);
        }
        let asked = Instant::now();
        #[cfg(test)]
        self.questions.fetch_add(1, Ordering::Relaxed);
        self.stale.store(false, Ordering::Release);
        let revision = match state.store().webhook_revision().await {
            Ok(revision) => revision,
            Err(error) => {
                self.changed();
                return Err(error.into());
            }
        };
        let mut table = known.table;
        if known.asked.is_none() || revision != table.revision {
            table = match load(state).await {
                Ok(table) => Arc::new(table),
                Err(error) => {
                    self.changed();
                    return Err(error);
                }
            };
        }
        let known = TableState {
            table: table.clone(),
            asked: Some(asked),
        };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(table)
    }
}

async fn load(state: &ApiState) -> ApiResult<WebhookTable> {
    let (revision, rows) = state.store().webhooks().await?;
    let mut table = WebhookTable {
        revision,
        ..WebhookTable::default()
    };
    for row in rows.into_iter().filter(|row| row.active) {
        let (schema, name) = (row.schema.clone(), row.name.clone());
        match row.read() {
            Some(webhook) => table.add(webhook),
            None => tracing::warn!(schema, name, "a webhook cannot be read and takes no calls"),
        }
    }
    tracing::debug!(revision, webhooks = table.webhooks.len(), "webhooks read");
    Ok(table)
}

impl WebhookTable {
    fn add(&mut self, webhook: Webhook) {
        let (place, trigger) = (self.webhooks.len(), &webhook.trigger);
        self.router.add(trigger.method, &trigger.path, place);
        // One that asks for a proof goes before one that does not: an open webhook opens no entries beside it.
        let first = self.of_schema.entry(webhook.schema_id).or_insert(place);
        let is_open = |webhook: &Webhook| webhook.trigger.auth == Auth::Open;
        if self.webhooks.get(*first).is_some_and(|one| is_open(one)) && !is_open(&webhook) {
            *first = place;
        }
        self.webhooks.push(Arc::new(webhook));
    }
}

/// The trigger of a request.
pub(super) async fn find(state: &ApiState, head: &Head) -> ApiResult<Call> {
    let path = head.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let parts = requested(path).ok_or_else(nothing)?;
    let since = Instant::now();
    let tables = &state.webhooks.tables;
    let table = tables.current(state).await?;
    let found = look(state, &table, head, path, &parts).await;
    if !matches!(&found, Err(error) if error.is_not_found()) {
        return found;
    }
    let table = Box::pin(tables.ask_again(state, since)).await?;
    Box::pin(look(state, &table, head, path, &parts)).await
}

async fn look(
    state: &ApiState,
    table: &WebhookTable,
    head: &Head,
    path: &str,
    parts: &[String],
) -> ApiResult<Call> {
    if head.method == HttpMethod::POST
        && let [schema, node] = parts
        && let Some(call) = Box::pin(entry(state, table, path, schema, node)).await?
    {
        return Ok(call);
    }
    match table
        .router
        .find(Method::of_request(head.method.as_str()), parts)
    {
        RouteMatch::Trigger(place) => {
            let webhook = table.webhooks[place].clone();
            let pairs = params(&webhook.trigger.path, parts);
            let params = pairs.map(|(name, said)| (name.to_owned(), Value::from(said)));
            Ok(Call {
                params: params.collect(),
                webhook: webhook.clone(),
                node: None,
                path: path.to_owned(),
            })
        }
        RouteMatch::OtherMethods(methods) => Err(other_methods(&methods)),
        RouteMatch::Nothing => Err(nothing()),
    }
}

/// `{schema_id}/{node_id}`: a node marked `entry: true` of a schema with a webhook, whose rules hold here too. A schema
/// without one has said nothing of who may call it, so no client may.
async fn entry(
    state: &ApiState,
    table: &WebhookTable,
    path: &str,
    schema: &str,
    node: &str,
) -> ApiResult<Option<Call>> {
    let Ok(schema) = schema.parse::<SchemaId>() else {
        return Ok(None);
    };
    let Some(place) = table.of_schema.get(&schema) else {
        return Ok(None);
    };
    let webhook = table.webhooks[*place].clone();
    let graphs = &state.runtime().graphs;
    let graph = graphs.get(schema, webhook.version).await;
    let graph = graph.map_err(pawl_engine::control::ControlError::from)?;
    let is_entry = graph.node(node).is_some_and(|node| node.definition.entry);
    Ok(is_entry.then(|| Call {
        webhook,
        node: Some(node.to_owned()),
        params: serde_json::Map::new(),
        path: path.to_owned(),
    }))
}

fn nothing() -> ApiError {
    ApiError::not_found("no webhook has this path")
}

fn other_methods(methods: &[Method]) -> ApiError {
    let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let message = format!("the webhook under this path takes {}", names.join(", "));
    let refusal = ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
        message,
    );
    match HeaderValue::from_str(&names.join(", ")) {
        Ok(allowed) => refusal.header_value(header::ALLOW, allowed),
        Err(_) => refusal,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use pawl_engine::control::Control;
    use pawl_engine::{Options, Runtime};
    use pawl_kernel::node::Registry;
    use pawl_testkit::clock::{SeededEntropy, SimClock};
    use pawl_testkit::model::ModelStore;
    use pawl_testkit::model_queue::ModelQueue;

    use super::*;
    use crate::api::Limits;

    fn server() -> ApiState {
        let runtime = Runtime::new(
            Arc::new(ModelStore::new()),
            Arc::new(ModelQueue::new()),
            Arc::new(SimClock::new()),
            Arc::new(SeededEntropy::new(7)),
            Arc::new(Registry::default()),
            Options::default(),
        );
        ApiState::new(Control::new(runtime, None), Limits::default())
    }

    fn head(path: &str) -> Head {
        let request = axum::http::Request::post(path).body(()).unwrap();
        request.into_parts().0
    }

    #[tokio::test]
    async fn paths_that_do_not_exist_share_a_question() {
        let state = server();
        let heads: Vec<Head> = (0..500)
            .map(|number| head(&format!("/webhook/no-{number}")))
            .collect();
        let found = join_all(heads.iter().map(|head| find(&state, head))).await;
        assert!(
            found
                .iter()
                .all(|one| matches!(one, Err(error) if error.is_not_found()))
        );
        let questions = state.webhooks.tables.questions.load(Ordering::Relaxed);
        assert!((1..=2).contains(&questions), "{questions}");
    }
}
