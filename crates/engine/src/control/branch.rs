//! New executions from old ones: a retry repeats the failed step, a fork goes on from any step with other
//! variables or another input. The old execution never changes, but for the name of its retry.

mod checks;
mod place;

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::context::Context;
use pawl_kernel::execution::{Edit, Execution};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::ExecutionView;
use pawl_kernel::schema::graph::Graph;
use pawl_kernel::transition::Snapshot;
use pawl_kernel::trial::Trial;
use serde_json::{Map, Value, json};

use self::place::BranchPlace;
use super::start::{Draft, Repeat, VisitEntry};
use super::{Control, ControlError, StartOutcome, StartRequest};

#[derive(Clone, Debug, Default)]
pub struct RetryRequest {
    /// Raised limits for the new execution.
    pub max_steps: Option<u64>,
    pub max_calls: Option<u64>,
    pub max_duration: Option<Duration>,
    /// Draw a new effect key: the failed effect is to happen again even where the other side remembers it, or as
    /// another request.
    pub new_effect_key: bool,
    /// Also if it was retried before.
    pub again: bool,
    pub version: WantedVersion,
    pub variables: Map<String, Value>,
    pub debug_mode: bool,
    /// The same key gives the same new execution.
    pub idempotency_key: Option<String>,
    pub created_by: String,
    /// Who asks, as `user` of the context; `None`: the user of the old one.
    pub user: Option<Value>,
}

#[derive(Clone, Debug, Default)]
pub struct ForkRequest {
    /// The last step the new execution takes over.
    pub from_seq: u64,
    pub version: WantedVersion,
    pub variables: Map<String, Value>,
    /// Takes the place of the whole input.
    pub input: Option<Value>,
    pub debug_mode: bool,
    pub created_by: String,
    /// As for a retry.
    pub user: Option<Value>,
}

/// The version that the new execution runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WantedVersion {
    #[default]
    Same,
    Latest,
    Number(u32),
}

/// A new execution from an old one, all but written.
struct Branch {
    version: u32,
    graph: Arc<Graph>,
    place: BranchPlace,
    /// As the old execution saw it.
    context: Context,
    edit: Edit,
    warnings: Vec<String>,
}

impl Control {
    pub async fn retry(
        &self,
        id: ExecutionId,
        request: RetryRequest,
    ) -> Result<StartOutcome, ControlError> {
        self.refuse_secret("the idempotency key", request.idempotency_key.as_deref())?;
        if let Some(started) = self
            .made_before(id, request.idempotency_key.as_deref())
            .await?
        {
            return Ok(started);
        }
        let view = self.view(id).await?;
        // A retry of the same key may be on its way; only the store knows.
        let may_be_another = request.again || request.idempotency_key.is_some();
        checks::retryable(&view, may_be_another)?;
        let place = self.failed_step(&view).await?;
        let edit = Edit {
            variables: request.variables,
            input: None,
        };
        let branch = self.branch(&view, place, request.version, edit).await?;
        let repeats = match request.new_effect_key {
            true => None,
            false => self.repeat(&view, &branch).await?,
        };
        let mut record = record_of(&view, request.user);
        raise_limits(&mut record, request.max_steps, request.max_calls);
        if repeats.is_some() {
            record.insert("repeats".into(), as_the_other_side_knows_it(&view, &branch));
        }
        let start = StartRequest {
            debug_mode: request.debug_mode,
            idempotency_key: request.idempotency_key,
            created_by: request.created_by,
            ..inherited(&view)
        };
        let draft = Draft {
            retry_of: Some(id),
            again: request.again,
            max_duration: request.max_duration,
            ..draft(&view, &branch, record, start)
        };
        self.launch(draft, branch, repeats).await
    }

    pub async fn fork(
        &self,
        id: ExecutionId,
        mut request: ForkRequest,
    ) -> Result<StartOutcome, ControlError> {
        let view = self.view(id).await?;
        // A step that was taken over is kept with the execution that made it.
        let place = match request.from_seq < view.execution.head.base_seq {
            true => {
                let maker = self.maker(&view, request.from_seq + 1).await?;
                self.after_step(&maker, request.from_seq).await?
            }
            false => self.after_step(&view, request.from_seq).await?,
        };
        let edit = Edit {
            variables: std::mem::take(&mut request.variables),
            input: request.input.take(),
        };
        let branch = self.branch(&view, place, request.version, edit).await?;
        let mut start = StartRequest {
            debug_mode: request.debug_mode,
            created_by: request.created_by,
            ..inherited(&view)
        };
        if branch.edit.input.is_some() && branch.graph.definition().settings.tenant.is_some() {
            // Another input may be another tenant's.
            start.tenant = None;
        }
        let draft = Draft {
            forked_from: Some(view.execution.head.id),
            ..draft(&view, &branch, record_of(&view, request.user), start)
        };
        self.launch(draft, branch, None).await
    }

    /// What a user who sets these variables of a running execution may not have meant.
    pub async fn doubts_about(
        &self,
        id: ExecutionId,
        variables: &Map<String, Value>,
    ) -> Result<Vec<String>, ControlError> {
        if variables.is_empty() {
            return Ok(Vec::new());
        }
        let view = self.view(id).await?;
        let head = &view.execution.head;
        let graph = self.runtime.graphs.get(head.schema_id, head.schema_version);
        let graph = graph.await?;
        let context = self.context_at(&view, view.state.seq).await?;
        let variables = self.without_secrets(variables.clone());
        Ok(checks::unknown_variables(&graph, &context, &variables))
    }

    /// The retry that was made under the key.
    async fn made_before(
        &self,
        id: ExecutionId,
        key: Option<&str>,
    ) -> Result<Option<StartOutcome>, ControlError> {
        let Some(key) = key else { return Ok(None) };
        let Some(known) = self.runtime.store.execution_by_key(key).await? else {
            return Ok(None);
        };
        check_retry_of(&self.view(known).await?.execution, id)?;
        Ok(Some(StartOutcome::before(known)))
    }

    async fn branch(
        &self,
        view: &ExecutionView,
        place: BranchPlace,
        wanted: WantedVersion,
        mut edit: Edit,
    ) -> Result<Branch, ControlError> {
        let version = self.version_of(view, wanted).await?;
        let schema_id = view.execution.head.schema_id;
        let graph = self.runtime.graphs.get(schema_id, version).await?;
        checks::node_exists(&graph, version, &place.node_id)?;
        let context = self.context_at(view, place.seq).await?;
        self.runtime.redactor.object(&mut edit.variables);
        if let Some(input) = &mut edit.input {
            self.runtime.redactor.value(input);
        }
        let mut warnings = checks::unknown_variables(&graph, &context, &edit.variables);
        warnings.extend(checks::missing_nodes(&graph, version, &context));
        Ok(Branch {
            version,
            graph,
            place,
            context,
            edit,
            warnings,
        })
    }

    async fn version_of(
        &self,
        view: &ExecutionView,
        wanted: WantedVersion,
    ) -> Result<u32, ControlError> {
        match wanted {
            WantedVersion::Same => Ok(view.execution.head.schema_version),
            WantedVersion::Number(version) => Ok(version),
            WantedVersion::Latest => {
                let id = view.execution.head.schema_id.to_string();
                let schema = self.runtime.store.schema(&id).await?;
                let gone = || {
                    ControlError::Conflict(format!(
                        "the schema `{}` was deleted and has no published version; name one by its number",
                        view.schema_name
                    ))
                };
                Ok(schema.ok_or_else(gone)?.published_version)
            }
        }
    }

    /// The effect to repeat, if the node's may have begun. Whatever would change the request is refused.
    async fn repeat(
        &self,
        view: &ExecutionView,
        branch: &Branch,
    ) -> Result<Option<Repeat>, ControlError> {
        let Some(effect_key) = branch.place.effect_key.clone() else {
            return Ok(None);
        };
        let before = self
            .runtime
            .graphs
            .get(
                view.execution.head.schema_id,
                view.execution.head.schema_version,
            )
            .await?;
        // A config that could not be rendered was sent nowhere, unless an earlier run has begun this effect.
        if branch.place.without_input
            && !view.state.repeats_an_effect()
            && checks::has_config(&before, &branch.place.node_id)
        {
            return Ok(None);
        }
        checks::same_request(&before, &effect_key, branch)?;
        Ok(Some(Repeat {
            effect_key,
            entered_at: view.state.position.entered_at,
        }))
    }

    async fn launch(
        &self,
        draft: Draft,
        branch: Branch,
        repeats: Option<Repeat>,
    ) -> Result<StartOutcome, ControlError> {
        let node = checks::node_exists(&branch.graph, branch.version, &branch.place.node_id)?;
        let entry = VisitEntry {
            prev_node_id: branch.place.prev_node_id.clone(),
            repeats,
        };
        let mut started = self.create(draft, &branch.graph, node, entry).await?;
        started.warnings = branch.warnings;
        Ok(started)
    }
}

/// Is what has the idempotency key already a retry of the same execution?
pub(super) fn check_retry_of(known: &Execution, origin: ExecutionId) -> Result<(), ControlError> {
    if known.record.retry_of == Some(origin) {
        return Ok(());
    }
    let id = known.head.id;
    Err(ControlError::Conflict(format!(
        "the idempotency key belongs to execution {id}, which is not a retry of {origin}; use another key"
    )))
}

fn draft(
    view: &ExecutionView,
    branch: &Branch,
    record: Map<String, Value>,
    request: StartRequest,
) -> Draft {
    let snapshot = Snapshot {
        seq: branch.place.seq,
        context: branch.context.snapshot(),
    };
    Draft {
        schema_id: view.execution.head.schema_id,
        version: branch.version,
        initial: Value::Object(record).to_string().into(),
        record: None,
        request,
        retry_of: None,
        forked_from: None,
        snapshot: Some(snapshot),
        max_duration: None,
        edit: branch.edit.clone(),
        again: false,
    }
}

fn inherited(view: &ExecutionView) -> StartRequest {
    let labels = view
        .execution
        .record
        .labels
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    StartRequest {
        priority: Some(view.execution.head.priority),
        tenant: view.execution.record.tenant.clone(),
        correlation_id: Some(view.execution.record.correlation_id.clone()),
        labels,
        trial: trial_of(view),
        ..StartRequest::default()
    }
}

/// What is made from a trial is one, with the same pins: its start record is taken over.
fn trial_of(view: &ExecutionView) -> Option<Trial> {
    view.execution.record.trial.then(Trial::default)
}

/// The start record of the old execution, as the one who asks now would have started it.
fn record_of(view: &ExecutionView, user: Option<Value>) -> Map<String, Value> {
    let mut record: Map<String, Value> =
        serde_json::from_str(&view.execution.record.initial).unwrap_or_default();
    record.shift_remove("repeats");
    if let Some(user) = user {
        record.insert("user".into(), user);
    }
    record
}

/// Raised limits travel in the start record.
fn raise_limits(record: &mut Map<String, Value>, steps: Option<u64>, calls: Option<u64>) {
    let given = [("max_steps", steps), ("max_calls", calls)];
    let given = given
        .into_iter()
        .filter_map(|(name, limit)| Some((name, limit?)));
    for (name, limit) in given {
        let limits = record.entry("limits").or_insert_with(|| json!({}));
        limits[name] = limit.into();
    }
}

/// What the request says of the run and of who asked for it: the node that is repeated says the same again.
fn as_the_other_side_knows_it(view: &ExecutionView, branch: &Branch) -> Value {
    if view.state.repeats_an_effect() {
        let record: Value =
            serde_json::from_str(&view.execution.record.initial).unwrap_or_default();
        return record["repeats"].clone();
    }
    let roots = branch.context.roots();
    json!({"execution": roots["execution"], "user": roots["user"]})
}
