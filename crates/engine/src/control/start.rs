//! Creating executions.

use std::sync::Arc;

use pawl_kernel::context::{Context, Facts};
use pawl_kernel::effect;
use pawl_kernel::execution::{
    DebugMode, Edit, Execution, Head, Position, PriorityClass, Record, State, Status, Wait,
    WaitKind,
};
use pawl_kernel::id::{self, ExecutionId, SchemaId};
use pawl_kernel::ports::store::{CreateOutcome, NewExecution, SchemaRecord, lease};
use pawl_kernel::schema::graph::{Graph, Node};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Snapshot;
use pawl_kernel::trial::{self, Trial};
use serde_json::{Map, Value};

use super::branch::check_retry_of;
use super::{Control, ControlError};
use crate::hints::Watcher;
use crate::pending_create::{CreateReply, PendingCreate};
use crate::runtime::Runtime;
use crate::slot_pool::{Slot, SlotPool};

/// How a caller names the schema to start. A name may consist of digits, so a number is never taken for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaKey {
    /// Id or name.
    Text(String),
    /// Its `external_id`.
    Number(i64),
}

impl Default for SchemaKey {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<String> for SchemaKey {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for SchemaKey {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

#[derive(Clone, Debug, Default)]
pub struct StartRequest {
    pub schema: SchemaKey,
    pub version: Option<u32>,
    pub input: Option<Value>,
    /// What `webhook` holds in expressions.
    pub webhook: Option<Value>,
    /// What tells the request that this start came with from another one under the same key.
    pub request: Option<Value>,
    /// The node to start at, instead of `start`.
    pub at_node: Option<String>,
    pub variables: Map<String, Value>,
    /// The caller. `None`: there is none, and `user` is the user who saved the version.
    pub user: Option<Value>,
    pub debug_mode: bool,
    pub priority: Option<PriorityClass>,
    pub tenant: Option<String>,
    pub labels: Map<String, Value>,
    pub idempotency_key: Option<String>,
    pub correlation_id: Option<String>,
    pub start_at: Option<Timestamp>,
    /// How an editor tries it; lists and statistics leave it out.
    pub trial: Option<Trial>,
    pub created_by: String,
    /// Return a watcher with the answer.
    pub watch: bool,
}

pub struct StartOutcome {
    pub id: ExecutionId,
    /// `false`: the idempotency key was seen before, and this is the execution it made.
    pub created: bool,
    /// Watches it from before it was created, if that was asked for and it is new: no change can be missed.
    pub watcher: Option<Watcher>,
    /// What the caller may not have meant.
    pub warnings: Vec<String>,
}

impl StartOutcome {
    /// One that is there already.
    pub(super) fn before(id: ExecutionId) -> Self {
        Self {
            id,
            created: false,
            watcher: None,
            warnings: Vec::new(),
        }
    }
}

/// A start that has only to be written and run.
struct PreparedStart {
    id: ExecutionId,
    schema_id: SchemaId,
    retry_of: Option<ExecutionId>,
    watcher: Option<Watcher>,
    pending: PendingCreate,
    reply: CreateReply,
    /// Where it will run, if this worker has its lease.
    slot: Option<Slot>,
    delayed: Option<Timestamp>,
}

/// Everything about a new execution but where it stands.
pub(super) struct Draft {
    pub(super) schema_id: SchemaId,
    pub(super) version: u32,
    pub(super) initial: Arc<str>,
    /// The same, if it is at hand.
    pub(super) record: Option<Map<String, Value>>,
    pub(super) request: StartRequest,
    pub(super) retry_of: Option<ExecutionId>,
    pub(super) forked_from: Option<ExecutionId>,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) max_duration: Option<std::time::Duration>,
    /// What changes in the snapshot before it goes on.
    pub(super) edit: Edit,
    /// A retry although there was one.
    pub(super) again: bool,
}

/// How the first position is entered: for most, as if nothing had been before.
#[derive(Clone, Debug, Default)]
pub(super) struct VisitEntry {
    pub(super) prev_node_id: Option<Arc<str>>,
    pub(super) repeats: Option<Repeat>,
}

/// An effect that an earlier execution may have begun: the same request has to go out.
#[derive(Clone, Debug)]
pub(super) struct Repeat {
    pub(super) effect_key: String,
    pub(super) entered_at: Timestamp,
}

impl Control {
    pub async fn start(&self, request: StartRequest) -> Result<StartOutcome, ControlError> {
        let schema = self.startable(&request.schema).await?;
        let version = request.version.unwrap_or(schema.published_version);
        self.start_version(schema.id, version, request).await
    }

    /// Starts a known version: no look at the catalog.
    pub async fn start_version(
        &self,
        schema_id: SchemaId,
        version: u32,
        mut request: StartRequest,
    ) -> Result<StartOutcome, ControlError> {
        let graph = self.graph(schema_id, version).await?;
        if let Some(trial) = &mut request.trial {
            self.complete_trial(schema_id, &graph, trial).await?;
        }
        let started = self.start_graph((schema_id, version), &graph, request);
        started.await
    }

    /// What a version runs.
    pub async fn graph(
        &self,
        schema_id: SchemaId,
        version: u32,
    ) -> Result<Arc<Graph>, ControlError> {
        Ok(self.runtime.graphs.get(schema_id, version).await?)
    }

    /// The same with the graph of the version at hand. It begins with the call; the future carries little along.
    pub fn start_graph(
        &self,
        (schema_id, version): (SchemaId, u32),
        graph: &Graph,
        mut request: StartRequest,
    ) -> impl Future<Output = Result<StartOutcome, ControlError>> + Send + use<'_> {
        let hidden = self.hide_in_start(&mut request);
        let node = match &request.at_node {
            None => Ok(graph.start()),
            Some(id) => graph
                .node(id)
                .ok_or_else(|| ControlError::NotFound(format!("the schema has no node `{id}`"))),
        };
        if request.user.is_none() {
            request.user = graph.owner().cloned();
        }
        let record = start_record(&mut request);
        let key = request.idempotency_key.clone();
        let draft = Draft {
            schema_id,
            version,
            initial: to_text(&record),
            record: Some(record),
            request,
            retry_of: None,
            forked_from: None,
            snapshot: None,
            max_duration: None,
            edit: Edit::default(),
            again: false,
        };
        let node = hidden.and(node);
        let prepared =
            node.and_then(|node| self.prepare(draft, graph, node, VisitEntry::default()));
        async move {
            match prepared {
                Err(ControlError::InvalidInput(problems)) => {
                    self.begun_before(key, schema_id, problems).await
                }
                prepared => self.finish(prepared?).await,
            }
        }
    }

    async fn startable(&self, key: &SchemaKey) -> Result<SchemaRecord, ControlError> {
        let store = &self.runtime.store;
        let found = match key {
            SchemaKey::Text(text) => store.schema(text).await?,
            SchemaKey::Number(number) => store.schema_by_external_id(*number).await?,
        };
        let schema = found.ok_or_else(|| ControlError::NotFound(no_schema(key)))?;
        if schema.active {
            return Ok(schema);
        }
        Err(ControlError::Conflict(format!(
            "the schema `{}` is deactivated; activate it to start it",
            schema.name
        )))
    }

    /// Writes the rows and sees to it that they are run.
    pub(super) async fn create(
        &self,
        draft: Draft,
        graph: &Graph,
        node: &Node,
        entry: VisitEntry,
    ) -> Result<StartOutcome, ControlError> {
        let prepared = self.prepare(draft, graph, node, entry)?;
        self.finish(prepared).await
    }

    /// All about an execution that need not be waited for.
    fn prepare(
        &self,
        mut draft: Draft,
        graph: &Graph,
        node: &Node,
        entry: VisitEntry,
    ) -> Result<Box<PreparedStart>, ControlError> {
        self.check_input(&draft, graph)?;
        let now = self.runtime.now();
        let id = ExecutionId(id::time_ordered(now, &*self.runtime.entropy));
        let delayed = draft.request.start_at.filter(|at| *at > now);
        let watcher = draft.request.watch.then(|| self.runtime.hints.watch(id));
        let record = draft.record.take();
        let mut new = assemble(draft, graph, node, entry, id, now);
        self.resolve_quotas(&mut new, graph)?;
        let slot = match delayed {
            None => self.slot(),
            Some(_) => None,
        };
        if let Some(at) = delayed {
            self.put_off(&mut new, at);
        } else if slot.is_some() {
            self.lease_to_this_worker(&mut new, now);
        }
        let (schema_id, retry_of) = (new.execution.head.schema_id, new.execution.record.retry_of);
        let context = record.filter(|_| slot.is_some());
        let context = context.map(|record| self.first_context(record, &new.execution, graph));
        let (pending, reply) = PendingCreate::new(new, context);
        Ok(Box::new(PreparedStart {
            id,
            schema_id,
            retry_of,
            watcher,
            pending,
            reply,
            slot,
            delayed,
        }))
    }

    /// A free slot of this process's worker.
    fn slot(&self) -> Option<Slot> {
        let pool = self.worker.as_ref()?.slot_pool.as_ref();
        pool.and_then(SlotPool::reserve)
    }

    /// What expressions see at the start, without reading the start record again.
    fn first_context(
        &self,
        record: Map<String, Value>,
        execution: &Execution,
        graph: &Graph,
    ) -> Context {
        let facts = Facts {
            schema_name: graph.definition().name.clone(),
        };
        Context::of_record(record, execution, &facts, &self.runtime.options.env)
    }

    fn put_off(&self, new: &mut NewExecution, at: Timestamp) {
        new.state.wait = Some(Wait {
            kind: WaitKind::Start,
            id: id::random(&*self.runtime.entropy),
            wake_at: Some(at),
            name: None,
        });
        new.execution.head.status = Status::Pending;
        new.execution.head.queued_at = None;
    }

    /// The caller runs what this worker has a slot for until it is created; the rest is left to the worker.
    async fn finish(&self, start: Box<PreparedStart>) -> Result<StartOutcome, ControlError> {
        let PreparedStart {
            id,
            schema_id,
            retry_of,
            watcher,
            pending,
            reply,
            slot,
            delayed,
        } = *start;
        let created = match slot {
            Some(slot) => slot.run_inline(pending).until_created(reply).await?,
            None => {
                // In a task of its own: a caller that goes away must not leave an execution without a message.
                let writing = write_and_dispatch(self.runtime.clone(), pending, delayed);
                // A panic leaves the reply unsent, which says enough.
                let _ = tokio::spawn(writing).await;
                reply.received().await?
            }
        };
        match (created, retry_of) {
            (CreateOutcome::AlreadyRetried(retried_as), Some(id)) => {
                Err(ControlError::AlreadyRetried { id, retried_as })
            }
            (CreateOutcome::Existing(id) | CreateOutcome::AlreadyRetried(id), _) => {
                self.check_same_start(id, schema_id, retry_of).await?;
                Ok(StartOutcome::before(id))
            }
            (CreateOutcome::New | CreateOutcome::Admitted | CreateOutcome::InLine, _) => {
                self.runtime.hints.created(id);
                Ok(StartOutcome {
                    id,
                    created: true,
                    watcher,
                    warnings: Vec::new(),
                })
            }
        }
    }

    /// A key names one start: another schema under it, or a retry of another execution, is a mistake, not a repetition.
    pub(super) async fn check_same_start(
        &self,
        id: ExecutionId,
        schema_id: SchemaId,
        origin: Option<ExecutionId>,
    ) -> Result<(), ControlError> {
        let known = self.view(id).await?;
        if let Some(origin) = origin {
            return check_retry_of(&known.execution, origin);
        }
        if known.execution.head.schema_id == schema_id {
            return Ok(());
        }
        Err(ControlError::Conflict(format!(
            "the idempotency key was used before, to start `{}` as {id}",
            known.schema_name
        )))
    }

    /// Creation and claim are one commit.
    fn lease_to_this_worker(&self, new: &mut NewExecution, now: Timestamp) {
        let options = &self.runtime.options;
        let token = id::random(&*self.runtime.entropy);
        new.state.lease = Some(lease(&options.worker_id, token, now.plus(options.lease)));
        new.state.recoveries = 1;
        new.execution.head.status = Status::Running;
        new.execution.head.started_at = Some(now);
    }
}

fn no_schema(key: &SchemaKey) -> String {
    match key {
        SchemaKey::Text(text) => format!("there is no schema `{text}`"),
        SchemaKey::Number(number) if *number < 0 => {
            format!("there is no schema with `external_id` {number}: it is zero or more")
        }
        SchemaKey::Number(number) => format!(
            "there is no schema with `external_id` {number}: a number is looked up there; write `external_id: {number}` into \
             the schema, or give its name or id as a text"
        ),
    }
}

/// Writes the rows of an execution that runs later or elsewhere; then the timers or a message know of it.
async fn write_and_dispatch(runtime: Runtime, pending: PendingCreate, delayed: Option<Timestamp>) {
    let dispatch = pending.dispatch();
    if pending.write(&runtime).await.is_err() {
        return;
    }
    match delayed {
        Some(at) => runtime.timer_set(at),
        None => runtime.publish(dispatch).await,
    }
}

fn assemble(
    draft: Draft,
    graph: &Graph,
    node: &Node,
    entry: VisitEntry,
    id: ExecutionId,
    now: Timestamp,
) -> NewExecution {
    let settings = &graph.definition().settings;
    let base_seq = draft.snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
    let seq = base_seq + u64::from(!draft.edit.is_empty());
    let position = first_position(node, entry, || effect::key(id, seq + 1), now);
    let edit = (seq > base_seq).then(|| draft.edit.step(seq, &position, now));
    let from = draft.request.start_at.map_or(now, |at| at.max(now));
    let mut state = first_state(id, seq, position, now);
    state.deadline_at = from.plus(draft.max_duration.unwrap_or(settings.max_duration));
    state.calls_spent = u64::from(!node.pure);
    if draft.request.debug_mode {
        state.debug = DebugMode::Step;
    }
    let (snapshot, again) = (draft.snapshot.clone(), draft.again);
    let execution = first_execution(draft, settings.priority.into(), base_seq, id, now);
    NewExecution {
        execution,
        state,
        snapshot,
        edit,
        again,
    }
}

fn first_position(
    node: &Node,
    entry: VisitEntry,
    new_key: impl FnOnce() -> String,
    now: Timestamp,
) -> Position {
    let mut position = Position::at(node.id.clone(), entry.prev_node_id, now);
    if node.pure {
        return position;
    }
    match entry.repeats {
        Some(repeat) => {
            position.effect_key = Some(repeat.effect_key);
            position.entered_at = repeat.entered_at;
        }
        None => position.effect_key = Some(new_key()),
    }
    position
}

fn first_state(id: ExecutionId, seq: u64, position: Position, now: Timestamp) -> State {
    State {
        execution_id: id,
        seq,
        position,
        wait: None,
        hold: None,
        control: None,
        inbox: 0,
        lease: None,
        commit_id: None,
        recoveries: 0,
        interrupted: false,
        debug: DebugMode::Off,
        deadline_at: now,
        next_sweep_at: None,
        calls_spent: 0,
        bytes_spent: 0,
        version: 1,
        updated_at: now,
    }
}

fn first_execution(
    draft: Draft,
    priority: PriorityClass,
    base_seq: u64,
    id: ExecutionId,
    now: Timestamp,
) -> Execution {
    let request = draft.request;
    let labels = (!request.labels.is_empty()).then(|| Value::Object(request.labels).to_string());
    let head = Head {
        id,
        schema_id: draft.schema_id,
        schema_version: draft.version,
        status: Status::Queued,
        priority: request.priority.unwrap_or(priority),
        debug_mode: request.debug_mode,
        base_seq,
        created_at: now,
        queued_at: Some(now),
        started_at: None,
        finished_at: None,
        quotas: Vec::new(),
    };
    let record = Record {
        tenant: request.tenant,
        labels,
        created_by: request.created_by,
        correlation_id: request.correlation_id.unwrap_or_else(|| id.to_string()),
        idempotency_key: request.idempotency_key,
        parent_id: None,
        parent_seq: None,
        child_index: None,
        retry_of: draft.retry_of,
        retried_as: None,
        forked_from: draft.forked_from,
        trial: request.trial.is_some(),
        initial: draft.initial,
        output: None,
        error: None,
    };
    Execution { head, record }
}

/// `executions.initial`: only what was given; the context fills in the rest.
fn start_record(request: &mut StartRequest) -> Map<String, Value> {
    let variables = std::mem::take(&mut request.variables);
    let variables = (!variables.is_empty()).then_some(Value::Object(variables));
    let given = [
        ("input", request.input.take()),
        ("webhook", request.webhook.take()),
        ("request", request.request.take()),
        ("user", request.user.take()),
        ("variables", variables),
        (trial::FIELD, request.trial.as_ref().map(Trial::to_value)),
    ];
    let given = given.into_iter();
    given
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn to_text(record: &Map<String, Value>) -> Arc<str> {
    // A map of values can always be written.
    serde_json::to_string(record).unwrap_or_default().into()
}
