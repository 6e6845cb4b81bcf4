//! New executions from old ones: a retry repeats the failed step, a fork goes on from any step with other
//! variables. The old execution never changes.

use std::time::Duration;

use pawl_kernel::context::{Context, Facts};
use pawl_kernel::execution::{EDIT_NODE, Status, StepStatus};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{ExecutionView, StoreError};
use pawl_kernel::transition::Snapshot;
use serde_json::{Map, Value, json};

use super::start::Draft;
use super::{Control, ControlError, StartRequest, Started};

#[derive(Clone, Debug, Default)]
pub struct RetryRequest {
    /// Raised limits for the new execution.
    pub max_steps: Option<u64>,
    pub max_calls: Option<u64>,
    pub max_duration: Option<Duration>,
    /// Draw a new effect key: the failed effect is to happen again even where the other side remembers it.
    pub new_effect_key: bool,
    pub variables: Map<String, Value>,
    pub debug_mode: bool,
    /// The same key gives the same new execution.
    pub idempotency_key: Option<String>,
    pub created_by: String,
}

#[derive(Clone, Debug, Default)]
pub struct ForkRequest {
    /// The last step the new execution takes over.
    pub from_seq: u64,
    pub variables: Map<String, Value>,
    pub debug_mode: bool,
    pub created_by: String,
}

/// Where a new execution goes on from an old one.
struct Branch {
    seq: u64,
    node_id: String,
    effect_key: Option<String>,
}

impl Control {
    pub async fn retry(
        &self,
        id: ExecutionId,
        request: RetryRequest,
    ) -> Result<Started, ControlError> {
        let view = self.view(id).await?;
        if !matches!(
            view.execution.status,
            Status::Failed | Status::FailedStuck | Status::Stopped
        ) {
            let status = view.execution.status.name();
            return Err(ControlError::Conflict(format!(
                "only a failed or stopped execution is retried; this one is {status}"
            )));
        }
        let mut branch = self.failed_step(&view).await?;
        if request.new_effect_key {
            branch.effect_key = None;
        }
        let initial = with_limits(&view, &request);
        let start = StartRequest {
            debug_mode: request.debug_mode,
            idempotency_key: request.idempotency_key,
            created_by: request.created_by,
            ..inherited(&view)
        };
        let mut draft = self
            .draft(&view, &branch, &request.variables, start)
            .await?;
        draft.initial = initial.into();
        draft.retry_of = Some(id);
        draft.max_duration = request.max_duration;
        self.launch(draft, &branch).await
    }

    pub async fn fork(
        &self,
        id: ExecutionId,
        request: ForkRequest,
    ) -> Result<Started, ControlError> {
        let view = self.view(id).await?;
        let branch = self.after_step(&view, request.from_seq).await?;
        let start = StartRequest {
            debug_mode: request.debug_mode,
            created_by: request.created_by,
            ..inherited(&view)
        };
        let mut draft = self
            .draft(&view, &branch, &request.variables, start)
            .await?;
        draft.forked_from = Some(id);
        self.launch(draft, &branch).await
    }

    async fn launch(&self, draft: Draft, branch: &Branch) -> Result<Started, ControlError> {
        let graph = self
            .parts
            .graphs
            .get(draft.schema_id, draft.version)
            .await?;
        let node = graph.node(&branch.node_id).ok_or_else(|| {
            ControlError::Conflict(format!(
                "the schema has no node `{}` to go on from",
                branch.node_id
            ))
        })?;
        self.create(draft, &graph, node, branch.effect_key.clone())
            .await
    }

    /// The last step if it failed, else the position itself (a limit, a stop, a worker that vanished).
    async fn failed_step(&self, view: &ExecutionView) -> Result<Branch, ControlError> {
        let seq = view.state.seq;
        let last = match seq.checked_sub(1) {
            Some(before) if seq > view.execution.base_seq => self
                .parts
                .store
                .steps(view.execution.id, before, 1)
                .await?
                .pop()
                .map(|(step, _)| step),
            _ => None,
        };
        if last.is_none() && seq > view.execution.base_seq {
            return Err(self.vanished(view.execution.id).await);
        }
        let failed =
            last.filter(|step| step.status == StepStatus::Failed && step.next_node_id.is_none());
        let effect_key = view.state.position.effect_key.clone();
        Ok(match failed {
            Some(step) => Branch {
                seq: seq - 1,
                node_id: step.node_id.to_string(),
                effect_key,
            },
            None => Branch {
                seq,
                node_id: view.state.position.node_id.to_string(),
                effect_key,
            },
        })
    }

    async fn after_step(&self, view: &ExecutionView, seq: u64) -> Result<Branch, ControlError> {
        let (base, last) = (view.execution.base_seq, view.state.seq);
        if seq < base || seq > last {
            let message = format!(
                "step {seq} does not exist; the steps of this execution run from {base} to {last}"
            );
            return Err(ControlError::NotFound(message));
        }
        let following = self
            .parts
            .store
            .steps(view.execution.id, seq, 1)
            .await?
            .pop()
            .map(|(step, _)| step);
        if following.is_none() && seq < last {
            return Err(self.vanished(view.execution.id).await);
        }
        let node_id = match following {
            Some(step) if &*step.node_id == EDIT_NODE => {
                step.next_node_id.map(|node| node.to_string())
            }
            Some(step) => Some(step.node_id.to_string()),
            None if view.execution.status.is_terminal() => None,
            None => Some(view.state.position.node_id.to_string()),
        };
        match node_id {
            Some(node_id) => Ok(Branch {
                seq,
                node_id,
                effect_key: None,
            }),
            None => Err(ControlError::Conflict(format!(
                "the execution ended with step {seq}; fork from an earlier one"
            ))),
        }
    }

    async fn draft(
        &self,
        view: &ExecutionView,
        branch: &Branch,
        variables: &Map<String, Value>,
        request: StartRequest,
    ) -> Result<Draft, ControlError> {
        let mut context = self.context_at(view, branch.seq).await?;
        context.apply(
            EDIT_NODE,
            StepStatus::Success,
            Value::Null,
            Value::Null,
            variables.clone(),
        );
        let snapshot = Snapshot {
            seq: branch.seq,
            context: context.snapshot(),
        };
        Ok(Draft {
            schema_id: view.execution.schema_id,
            version: view.execution.schema_version,
            initial: view.execution.initial.clone(),
            record: None,
            request,
            retry_of: None,
            forked_from: None,
            snapshot: Some(snapshot),
            max_duration: None,
        })
    }

    /// Steps that must be there are not: the execution was removed while we looked, or the store is damaged.
    async fn vanished(&self, id: ExecutionId) -> ControlError {
        match self.view(id).await {
            Err(error) => error,
            Ok(_) => ControlError::Store(StoreError::Corrupt(format!(
                "steps of the execution {id} are missing"
            ))),
        }
    }

    /// The context as it was after step `seq`.
    pub async fn context_at(
        &self,
        view: &ExecutionView,
        seq: u64,
    ) -> Result<Context, ControlError> {
        let facts = Facts {
            schema_name: view.schema_name.clone(),
        };
        let history = self.parts.store.history(view.execution.id, seq).await?;
        let last_step = history.steps.last().map(|step| step.seq);
        let snapshot = history.snapshot.as_ref().map(|snapshot| snapshot.seq);
        if last_step.or(snapshot).unwrap_or(0) != seq {
            return Err(self.vanished(view.execution.id).await);
        }
        let corrupt = |error: pawl_kernel::context::CorruptContext| {
            ControlError::Store(StoreError::Corrupt(error.to_string()))
        };
        let mut context =
            Context::start(&view.execution, &facts, &self.parts.options.env).map_err(corrupt)?;
        if let Some(snapshot) = &history.snapshot {
            context.restore(&snapshot.context).map_err(corrupt)?;
        }
        for step in &history.steps {
            context.apply_step(step).map_err(corrupt)?;
        }
        Ok(context)
    }
}

fn inherited(view: &ExecutionView) -> StartRequest {
    let labels = view
        .execution
        .labels
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    StartRequest {
        priority: Some(view.execution.priority),
        tenant: view.execution.tenant.clone(),
        correlation_id: Some(view.execution.correlation_id.clone()),
        labels,
        ..StartRequest::default()
    }
}

/// Raised limits travel in the start record.
fn with_limits(view: &ExecutionView, request: &RetryRequest) -> String {
    let mut record: Value =
        serde_json::from_str(&view.execution.initial).unwrap_or_else(|_| json!({}));
    for (name, value) in [
        ("max_steps", request.max_steps),
        ("max_calls", request.max_calls),
    ] {
        if let Some(value) = value {
            record["limits"][name] = value.into();
        }
    }
    record.to_string()
}
