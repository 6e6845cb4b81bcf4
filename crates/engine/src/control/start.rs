//! Creating executions.

use std::sync::Arc;

use pawl_kernel::context::{Context, Facts};
use pawl_kernel::effect;
use pawl_kernel::execution::{
    DebugMode, Edit, Execution, Head, Position, PriorityClass, Record, State, Status, Wait,
    WaitKind,
};
use pawl_kernel::id::{self, ExecutionId, SchemaId};
use pawl_kernel::ports::store::{
    Claimed, Created, Dispatch, NewExecution, SchemaRecord, StoreError, lease,
};
use pawl_kernel::schema::graph::{Graph, Node};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Snapshot;
use serde_json::{Map, Value};

use super::branch::check_retry_of;
use super::{Control, ControlError};
use crate::adopter::{Adopter, Begun, Slot};
use crate::birth::{Birth, BirthNews};
use crate::hints::Watcher;

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
    pub created_by: String,
    /// Return a watcher with the answer.
    pub watch: bool,
}

pub struct Started {
    pub id: ExecutionId,
    /// `false`: the idempotency key was seen before, and this is the execution it made.
    pub created: bool,
    /// Watches it from before it was created, if that was asked for and it is new: no change can be missed.
    pub watcher: Option<Watcher>,
    /// What the caller may not have meant.
    pub warnings: Vec<String>,
}

impl Started {
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

/// An execution on its way into the store.
struct Drawn {
    id: ExecutionId,
    watcher: Option<Watcher>,
    way: Way,
}

enum Way {
    /// It runs already, and is written with its first commit.
    Ahead(Begun, BirthNews),
    Written(Box<Written>),
}

/// One that is written before it runs.
struct Written {
    new: NewExecution,
    /// Born with its lease: the slot it will run in.
    work: Option<(Slot, Box<Claimed>)>,
    dispatch: Dispatch,
    delayed: Option<Timestamp>,
}

impl Written {
    fn of(new: NewExecution, slot: Option<Slot>, delayed: Option<Timestamp>) -> Self {
        Self {
            work: slot.map(|slot| (slot, claimed(&new))),
            dispatch: Dispatch::of(&new.execution.head, &new.state),
            new,
            delayed,
        }
    }
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
pub(super) struct Entry {
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
    pub async fn start(&self, request: StartRequest) -> Result<Started, ControlError> {
        let schema = self.startable(&request.schema).await?;
        let version = request.version.unwrap_or(schema.latest_version);
        self.start_version(schema.id, version, request).await
    }

    /// Starts a known version: no look at the catalog.
    pub async fn start_version(
        &self,
        schema_id: SchemaId,
        version: u32,
        request: StartRequest,
    ) -> Result<Started, ControlError> {
        let graph = self.graph(schema_id, version).await?;
        let started = self.start_graph((schema_id, version), &graph, request);
        started.await
    }

    /// What a version runs.
    pub async fn graph(
        &self,
        schema_id: SchemaId,
        version: u32,
    ) -> Result<Arc<Graph>, ControlError> {
        Ok(self.parts.graphs.get(schema_id, version).await?)
    }

    /// The same with the graph of the version at hand. It begins with the call; whoever waits for it carries little along.
    pub fn start_graph(
        &self,
        (schema_id, version): (SchemaId, u32),
        graph: &Graph,
        mut request: StartRequest,
    ) -> impl Future<Output = Result<Started, ControlError>> + Send + use<'_> {
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
        let drawn = hidden.and(node);
        let drawn = drawn.and_then(|node| self.draw_up(draft, graph, node, Entry::default()));
        async move { self.finish(drawn?).await }
    }

    async fn startable(&self, key: &SchemaKey) -> Result<SchemaRecord, ControlError> {
        let store = &self.parts.store;
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

    /// Writes the rows and sees to it that somebody runs them.
    pub(super) async fn create(
        &self,
        draft: Draft,
        graph: &Graph,
        node: &Node,
        entry: Entry,
    ) -> Result<Started, ControlError> {
        let drawn = self.draw_up(draft, graph, node, entry)?;
        self.finish(drawn).await
    }

    /// All about an execution that need not be waited for.
    fn draw_up(
        &self,
        mut draft: Draft,
        graph: &Graph,
        node: &Node,
        entry: Entry,
    ) -> Result<Drawn, ControlError> {
        let now = self.parts.now();
        let id = ExecutionId(id::time_ordered(now, &*self.parts.entropy));
        let delayed = draft.request.start_at.filter(|at| *at > now);
        let watcher = draft.request.watch.then(|| self.parts.hints.watch(id));
        let record = draft.record.take();
        let mut new = assemble(draft, graph, node, entry, id, now);
        self.make_claims(&mut new, graph)?;
        let slot = match (delayed, &self.worker) {
            (None, Some(worker)) => worker.adopter.as_ref().and_then(Adopter::reserve),
            _ => None,
        };
        if let Some(at) = delayed {
            self.put_off(&mut new, at);
        } else if slot.is_some() {
            self.bear_with_lease(&mut new, now);
        }
        let way = match (slot, record) {
            (Some(slot), Some(record)) if self.may_run_ahead(&new) => {
                let (pass, news) = self.run_ahead(new, slot, record, graph);
                Way::Ahead(pass, news)
            }
            (slot, _) => Way::Written(Box::new(Written::of(new, slot, delayed))),
        };
        Ok(Drawn { id, watcher, way })
    }

    fn put_off(&self, new: &mut NewExecution, at: Timestamp) {
        new.state.wait = Some(Wait {
            kind: WaitKind::Start,
            id: id::random(&*self.parts.entropy),
            wake_at: Some(at),
            name: None,
        });
        new.execution.head.status = Status::Pending;
        new.execution.head.queued_at = None;
    }

    async fn finish(&self, drawn: Drawn) -> Result<Started, ControlError> {
        let Drawn { id, watcher, way } = drawn;
        let created = match way {
            Way::Ahead(pass, news) => {
                let mut heard = std::pin::pin!(news.heard());
                // In this order: a first commit that is also the last ends both.
                tokio::select! {
                    biased;
                    () = pass => heard.await?,
                    told = &mut heard => told?,
                }
                Created::New
            }
            Way::Written(written) => {
                // In a task of its own: a caller that goes away must not leave a lease without a worker.
                let control = self.clone();
                let creating = tokio::spawn(async move { control.bring_about(*written).await });
                let created = creating.await;
                created.map_err(|error| StoreError::Unknown(error.to_string()))??
            }
        };
        Ok(match created {
            // `bring_about` has refused the second.
            Created::Existing(id) | Created::AlreadyRetried(id) => Started::before(id),
            Created::New | Created::Admitted | Created::InLine => Started {
                id,
                created: true,
                watcher,
                warnings: Vec::new(),
            },
        })
    }

    /// Writes the rows, then sees to it that somebody runs them.
    async fn bring_about(&self, written: Written) -> Result<Created, ControlError> {
        let Written {
            new,
            work,
            dispatch,
            delayed,
        } = written;
        let (schema_id, origin) = (new.execution.head.schema_id, new.execution.record.retry_of);
        let created = self.parts.store.create(new).await?;
        if let (Created::AlreadyRetried(retried_as), Some(id)) = (&created, origin) {
            let retried_as = *retried_as;
            return Err(ControlError::AlreadyRetried { id, retried_as });
        }
        if let Created::Existing(id) = created {
            self.check_same_start(id, schema_id, origin).await?;
            return Ok(created);
        }
        self.parts.metrics.executions.started.increment();
        tracing::debug!(execution_id = %dispatch.execution_id, "created");
        if created == Created::InLine {
            self.parts.metrics.scheduler.lined_up.increment();
            // The slot that was reserved for it is free again.
            self.parts.admission_changed();
            return Ok(created);
        }
        match (work, delayed) {
            // If the worker is gone the lease will run out and the execution be found.
            (Some((slot, claimed)), _) => drop(slot.run(claimed)),
            (None, Some(at)) => self.parts.timer_set(at),
            (None, None) => self.parts.publish(dispatch).await,
        }
        Ok(created)
    }

    /// A key names one start: another schema under it, or a retry of another execution, is a mistake, not a repetition.
    async fn check_same_start(
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

    /// On a store of our own the worker need not wait for the disk: no effect starts before a commit, and the first one
    /// writes the execution too. With an idempotency key it waits, because the execution may turn out to exist already;
    /// with quotas too, because it may have to stand in line, and with a snapshot, because the worker will read it.
    fn may_run_ahead(&self, new: &NewExecution) -> bool {
        self.parts.options.exclusive
            && new.execution.record.idempotency_key.is_none()
            && new.execution.head.quotas.is_empty()
            && new.snapshot.is_none()
    }

    /// Begins with it as it is. Whoever waits helps it along until it is on disk; then the worker goes on with it.
    fn run_ahead(
        &self,
        new: NewExecution,
        slot: Slot,
        record: Map<String, Value>,
        graph: &Graph,
    ) -> (Begun, BirthNews) {
        let claimed = claimed(&new);
        let facts = Facts {
            schema_name: graph.definition().name.clone(),
        };
        let env = &self.parts.options.env;
        let context = Context::of_record(record, &new.execution, &facts, env);
        let (birth, news) = Birth::of(new, context);
        (slot.bear(claimed, birth), news)
    }

    /// Born with the lease of this process's worker: creation and claim are one commit.
    fn bear_with_lease(&self, new: &mut NewExecution, now: Timestamp) {
        let options = &self.parts.options;
        let token = id::random(&*self.parts.entropy);
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

/// Both rows of one that is born with its lease.
fn claimed(new: &NewExecution) -> Box<Claimed> {
    Box::new(Claimed {
        execution: new.execution.clone(),
        state: new.state.clone(),
    })
}

fn assemble(
    draft: Draft,
    graph: &Graph,
    node: &Node,
    entry: Entry,
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
    entry: Entry,
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
