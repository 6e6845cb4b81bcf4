//! From a claim to a pass: the graph, the context, and where to go on.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::context::{Context, Facts};
use pawl_kernel::execution::Execution;
use pawl_kernel::lifecycle::Release;
use pawl_kernel::node::NodeError;
use pawl_kernel::ports::store::{ClaimedExecution, StoreError};
use pawl_kernel::schema::graph::Graph;
use pawl_kernel::transition::{Next, Transition};
use pawl_kernel::trial::Trial;
use pawl_kernel::visit;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::ledger::{Ledger, step_bytes};
use super::{Limits, Pass, PassEnd, create_now};
use crate::context_cache::CachedContext;
use crate::graphs::GraphError;
use crate::pending_create::PendingCreate;
use crate::running::Ticket;
use crate::runtime::Runtime;

enum LoadError {
    Store(StoreError),
    Broken(String),
}

pub(super) async fn load(
    runtime: &Runtime,
    claimed: Box<ClaimedExecution>,
    ticket: Ticket,
    mut pending: Option<PendingCreate>,
) -> Result<Pass, PassEnd> {
    let context = pending.as_mut().and_then(PendingCreate::take_context);
    if let Some(first) = pending.take_if(|pending| !pending.may_run_ahead(runtime)) {
        Box::pin(create_now(first, runtime, &ticket)).await?;
        if ticket.is_shutting_down() {
            return Err(Box::pin(release_unbegun(runtime, &claimed)).await);
        }
    }
    let error = match gather(runtime, &claimed, context).await {
        Ok(found) => return Ok(assemble(runtime, claimed, ticket, pending, found)),
        Err(error) => error,
    };
    if let Some(pending) = pending {
        Box::pin(create_now(pending, runtime, &ticket)).await?;
    }
    Err(match error {
        LoadError::Store(error) => Box::pin(put_back(runtime, &claimed, &error)).await,
        LoadError::Broken(reason) => Box::pin(end_broken(runtime, claimed, reason)).await,
    })
}

/// What a pass needs besides the rows.
struct PassMaterial {
    graph: Arc<Graph>,
    context: CachedContext,
    token: Uuid,
}

async fn gather(
    runtime: &Runtime,
    claimed: &ClaimedExecution,
    context: Option<Context>,
) -> Result<PassMaterial, LoadError> {
    let ClaimedExecution { execution, state } = claimed;
    let (schema_id, version) = (execution.head.schema_id, execution.head.schema_version);
    let graph = runtime.graphs.get(schema_id, version).await?;
    let lease = state.lease.as_ref();
    let lease = lease.ok_or_else(|| LoadError::Broken("claimed without a lease".into()))?;
    let known = match context {
        Some(context) => Some(CachedContext::of(context)),
        None => runtime.contexts.take(state),
    };
    let context = match known {
        Some(context) => context,
        None => Box::pin(replay(runtime, &graph, claimed)).await?,
    };
    Ok(PassMaterial {
        graph,
        context,
        token: lease.token,
    })
}

fn assemble(
    runtime: &Runtime,
    claimed: Box<ClaimedExecution>,
    ticket: Ticket,
    pending: Option<PendingCreate>,
    found: PassMaterial,
) -> Pass {
    let ClaimedExecution { execution, state } = *claimed;
    let PassMaterial {
        graph,
        context,
        token,
    } = found;
    let CachedContext {
        context,
        unsnapshotted_bytes,
        snapshot_bytes,
    } = context;
    let ledger = Ledger {
        calls_spent: state.calls_spent,
        bytes_spent: state.bytes_spent,
        unsnapshotted_bytes,
        snapshot_bytes,
        ..Ledger::default()
    };
    let now = runtime.now();
    let record = start_record(&execution);
    let limits = limits_of(&graph.definition().settings, &record);
    let trial = Trial::of_record(&record).map(Box::new);
    let repeats = state
        .repeats_an_effect()
        .then(|| repeated(record))
        .flatten();
    Pass {
        token,
        started: now,
        at: now,
        yielded_at: now,
        position: state.position.clone(),
        position_committed: true,
        nodes_run: 0,
        runtime: runtime.clone(),
        graph,
        id_text: execution.head.id.to_string().into(),
        execution,
        state,
        context,
        pending,
        ledger,
        ticket,
        limits,
        repeats,
        trial,
        input: None,
        answering: false,
        interruption_noted: false,
        saw_unknown_commit: false,
    }
}

/// The context as the stored history makes it.
async fn replay(
    runtime: &Runtime,
    graph: &Graph,
    claimed: &ClaimedExecution,
) -> Result<CachedContext, LoadError> {
    let ClaimedExecution { execution, state } = claimed;
    let facts = Facts {
        schema_name: graph.definition().name.clone(),
    };
    let mut cached = CachedContext::of(Context::start(execution, &facts, &runtime.options.env)?);
    if state.seq > 0 {
        let history = runtime.store.history(execution.head.id, state.seq).await?;
        if let Some(snapshot) = &history.snapshot {
            cached.context.restore(&snapshot.context)?;
            cached.snapshot_bytes = snapshot.context.len();
        }
        for step in &history.steps {
            cached.context.apply_step(step)?;
            cached.unsnapshotted_bytes += step_bytes(step);
        }
        cached.context.grow(cached.unsnapshotted_bytes);
    }
    Ok(cached)
}

/// What a retry, what was made from one, or a trial may carry along in its start record. Parsing those of all others twice
/// for nothing would be felt in every short run.
fn start_record(execution: &Execution) -> Value {
    match execution.record.trial || execution.origin().is_some() {
        true => serde_json::from_str(&execution.record.initial).unwrap_or_default(),
        false => Value::Null,
    }
}

/// Raised limits.
fn limits_of(settings: &pawl_kernel::schema::definition::Settings, record: &Value) -> Limits {
    let limit = |name: &str| record["limits"][name].as_u64();
    Limits {
        max_steps: limit("max_steps").unwrap_or(settings.max_steps),
        max_calls: limit("max_calls").or(settings.max_calls),
    }
}

fn repeated(mut record: Value) -> Option<Map<String, Value>> {
    match record["repeats"].take() {
        Value::Object(roots) => Some(roots),
        _ => None,
    }
}

/// The store failed us before anything ran: the claim shall not count.
async fn put_back(runtime: &Runtime, claimed: &ClaimedExecution, error: &StoreError) -> PassEnd {
    tracing::warn!(execution_id = %claimed.execution.head.id, %error, "could not be loaded");
    runtime
        .clock
        .sleep_until(runtime.now().plus(Duration::from_millis(200)))
        .await;
    release_unbegun(runtime, claimed).await
}

/// Gives the lease back for another worker.
async fn release_unbegun(runtime: &Runtime, claimed: &ClaimedExecution) -> PassEnd {
    let Some(lease) = &claimed.state.lease else {
        return PassEnd::Abandoned;
    };
    let released = runtime
        .store
        .release(
            vec![(claimed.execution.head.id, lease.token)],
            Release::Unbegun,
            runtime.now(),
        )
        .await;
    match released {
        Ok(mut dispatches) => PassEnd::Committed(dispatches.pop()),
        Err(_) => PassEnd::Abandoned,
    }
}

/// What is stored cannot be run, now or later: say so instead of trying for ever.
async fn end_broken(runtime: &Runtime, claimed: Box<ClaimedExecution>, reason: String) -> PassEnd {
    let Some(lease) = &claimed.state.lease else {
        return PassEnd::Abandoned;
    };
    let id = claimed.execution.head.id;
    tracing::error!(execution_id = %id, reason, "what is stored cannot be run; the execution fails");
    let error = NodeError::new("INVALID_SCHEMA", reason);
    let transition = Transition {
        execution_id: claimed.execution.head.id,
        expected_seq: claimed.state.seq,
        lease_token: lease.token,
        commit_id: pawl_kernel::id::random(&*runtime.entropy),
        inbox_seen: None,
        steps: Arc::default(),
        logs: Arc::default(),
        consumed: Vec::new(),
        snapshot: None,
        next: Next::End {
            ending: visit::failed(&error, &claimed.state.position.node_id),
            position: claimed.state.position,
        },
        calls_spent: claimed.state.calls_spent,
        bytes_spent: claimed.state.bytes_spent,
        now: runtime.now(),
    };
    match runtime.store.commit(transition).await {
        Ok(applied) => {
            runtime.announce(claimed.execution.head.id, &applied);
            PassEnd::Committed(None)
        }
        Err(_) => PassEnd::Abandoned,
    }
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<GraphError> for LoadError {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Store(error) => Self::Store(error),
            other => Self::Broken(other.to_string()),
        }
    }
}

impl From<pawl_kernel::context::CorruptContext> for LoadError {
    fn from(error: pawl_kernel::context::CorruptContext) -> Self {
        Self::Broken(error.to_string())
    }
}
