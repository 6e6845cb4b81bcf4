//! An execution on its way into the store: every start goes through here, whatever the store and wherever it will run.
//!
//! The pass that will run the execution holds its pending create. Most passes write it first. One that may run ahead
//! ([`PendingCreate::may_run_ahead`]) begins with its pure nodes at once and sends the create with its first transition
//! right behind it ([`PendingCreate::write_with`]), which a store may put into one transaction; before it waits, has an
//! effect or takes longer, it writes the create by itself. Until then nothing that the pass did can be seen from outside.
//! Either way the outcome is settled in one place: looked up if it is unknown, counted, logged, and sent to the caller,
//! who waits for it with a [`CreateReply`].

use futures_util::future::join;
use pawl_kernel::context::Context;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::CommitRefusal;
use pawl_kernel::ports::store::{
    ClaimedExecution, CommitError, CreateOutcome, Dispatch, NewExecution, Probe, StoreError,
    StoreResult,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{CommitReport, Transition};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::pass::probe;
use crate::runtime::Runtime;

pub(crate) struct PendingCreate {
    new: Box<NewExecution>,
    /// What expressions see at its start, if that is known without reading it.
    context: Option<Context>,
    reply: oneshot::Sender<StoreResult<CreateOutcome>>,
}

/// Where the caller hears what became of it.
pub(crate) struct CreateReply(oneshot::Receiver<StoreResult<CreateOutcome>>);

/// There is nothing to run: the execution was not created, or it is not its creator that runs it. The caller was told.
pub(crate) struct NotStarted;

impl PendingCreate {
    pub(crate) fn new(new: NewExecution, context: Option<Context>) -> (Self, CreateReply) {
        let (reply, answer) = oneshot::channel();
        let pending = Self {
            new: Box::new(new),
            context,
            reply,
        };
        (pending, CreateReply(answer))
    }

    /// Both rows, for the pass of a worker whose lease they have.
    pub(crate) fn claimed(&self) -> Box<ClaimedExecution> {
        Box::new(ClaimedExecution {
            execution: self.new.execution.clone(),
            state: self.new.state.clone(),
        })
    }

    /// The message for the worker that will run it.
    pub(crate) fn dispatch(&self) -> Dispatch {
        Dispatch::of(&self.new.execution.head, &self.new.state)
    }

    pub(crate) fn take_context(&mut self) -> Option<Context> {
        self.context.take()
    }

    /// On a store of our own a pass need not wait for the disk: no effect starts before a commit, and the first one is
    /// sent behind the create. With an idempotency key it waits, because the execution may turn out to exist already;
    /// with quotas too, because it may have to stand in line, and with a snapshot, because the pass will read it.
    pub(crate) fn may_run_ahead(&self, runtime: &Runtime) -> bool {
        runtime.options.exclusive
            && self.new.execution.record.idempotency_key.is_none()
            && self.new.execution.head.quotas.is_empty()
            && self.new.snapshot.is_none()
    }

    /// The lease begins when it is written: what the pass did until then took its time.
    pub(crate) fn renew_lease(&mut self, until: Timestamp) {
        if let Some(lease) = &mut self.new.state.lease {
            lease.until = until;
        }
    }

    pub(crate) async fn write(self, runtime: &Runtime) -> Result<(), NotStarted> {
        let (new, caller) = self.into_caller(runtime, None);
        let created = runtime.store.create(*new).await;
        caller.settle(runtime, created).await
    }

    /// The same with the first transition right behind it; returns what became of that.
    pub(crate) async fn write_with(
        self,
        runtime: &Runtime,
        first: Transition,
    ) -> Result<Result<CommitReport, CommitError>, NotStarted> {
        let (new, caller) = self.into_caller(runtime, Some(first.commit_id));
        // `join` begins with its first future: the store promises to keep that order.
        let store = &runtime.store;
        let (created, committed) = join(store.create(*new), store.commit(first)).await;
        let unknown = matches!(created, Err(StoreError::Unknown(_)));
        let created = match &committed {
            // What it was applied to is there.
            Ok(_) => created.or(Ok(CreateOutcome::New)),
            Err(_) => created,
        };
        caller.settle(runtime, created).await?;
        Ok(match committed {
            // Either the create came late and the transition too early, or nothing is known of both: look at the rows.
            Err(CommitError::Refused(CommitRefusal::Fenced)) => Err(unseen().into()),
            Err(_) if unknown => Err(unseen().into()),
            told => told,
        })
    }

    fn into_caller(
        self,
        runtime: &Runtime,
        commit_id: Option<Uuid>,
    ) -> (Box<NewExecution>, Caller) {
        let may_run_ahead = self.may_run_ahead(runtime);
        let lease = self.new.state.lease.as_ref();
        let caller = Caller {
            id: self.new.execution.head.id,
            lease_to_find: lease.filter(|_| may_run_ahead).map(|lease| lease.token),
            commit_id,
            reply: self.reply,
        };
        (self.new, caller)
    }
}

fn unseen() -> StoreError {
    StoreError::Unknown("the outcome of the create before it was not known".into())
}

/// The caller of a start, while the store has the create.
struct Caller {
    id: ExecutionId,
    /// Of an execution that may run ahead: it tells whether an unknown create came through. Any other start is reported as
    /// unknown at once: its caller can ask again under the same key, and a worker may have it by now.
    lease_to_find: Option<Uuid>,
    /// Of the transition that was sent behind the create.
    commit_id: Option<Uuid>,
    reply: oneshot::Sender<StoreResult<CreateOutcome>>,
}

impl Caller {
    async fn settle(
        self,
        runtime: &Runtime,
        created: StoreResult<CreateOutcome>,
    ) -> Result<(), NotStarted> {
        let created = match created {
            Err(error @ StoreError::Unknown(_)) if self.lease_to_find.is_some() => {
                Box::pin(self.look_up(runtime, error)).await
            }
            known => known,
        };
        self.count(runtime, &created);
        let is_to_run = matches!(created, Ok(CreateOutcome::New | CreateOutcome::Admitted));
        // The caller may have gone away.
        let _ = self.reply.send(created);
        if is_to_run { Ok(()) } else { Err(NotStarted) }
    }

    fn count(&self, runtime: &Runtime, created: &StoreResult<CreateOutcome>) {
        match created {
            Ok(CreateOutcome::Existing(_) | CreateOutcome::AlreadyRetried(_)) => return,
            Ok(CreateOutcome::New | CreateOutcome::Admitted | CreateOutcome::InLine) => {
                runtime.metrics.executions.started.increment();
                tracing::debug!(execution_id = %self.id, "created");
            }
            Err(error) => {
                tracing::warn!(execution_id = %self.id, %error, "not known to be created");
            }
        }
        if let Ok(CreateOutcome::InLine) = created {
            runtime.metrics.scheduler.lined_up.increment();
            runtime.admission_changed();
        }
    }

    /// What is there tells. What is not there may be there again after a restart: then the outcome stays unknown.
    async fn look_up(&self, runtime: &Runtime, error: StoreError) -> StoreResult<CreateOutcome> {
        // Until the lease may be over.
        let give_up_at = runtime.now().plus(runtime.options.lease / 2);
        match probe(runtime, self.id, give_up_at).await {
            Some(found) if self.is_ours(&found) => Ok(CreateOutcome::New),
            // Without our lease it is for others to run, as one that waits for admission is.
            Some(_) => Ok(CreateOutcome::InLine),
            None => Err(error),
        }
    }

    fn is_ours(&self, found: &Probe) -> bool {
        let is_committed = self.commit_id.is_some() && found.commit_id == self.commit_id;
        is_committed || found.lease_token == self.lease_to_find
    }
}

impl CreateReply {
    /// A worker that goes away with the execution in its hands has written it or not.
    pub(crate) async fn received(self) -> StoreResult<CreateOutcome> {
        let gone = || StoreError::Unknown("the worker went away while this was under way".into());
        self.0.await.unwrap_or_else(|_| Err(gone()))
    }
}
