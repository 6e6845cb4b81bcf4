//! What people and programs ask of executions: start, pause, resume, stop, signal, continue, retry, fork.
//!
//! Every answer is given after the commit. A message or hint that follows may be lost; nothing depends on it.

mod branch;
mod input;
mod lineage;
mod notes;
mod quotas;
mod requeue;
mod schedule;
mod secrets;
mod start;
mod trial;
mod triggers;
mod written;

use std::sync::Arc;

use pawl_kernel::execution::{Signal, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::input::InputProblems;
use pawl_kernel::lifecycle::{Command, ContinueMode, Refusal};
use pawl_kernel::ports::hints::Hint;
use pawl_kernel::ports::store::{CommandError, ExecutionView, StoreError};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::graphs::GraphError;
use crate::runtime::Runtime;
use crate::worker::Handle;

pub use branch::{ForkRequest, RetryRequest, WantedVersion};
pub use lineage::{Lineage, RemovedSteps, Stretch};
pub use requeue::RequeueOutcome;
pub(crate) use schedule::OWN_PREFIX;
pub use schedule::ScheduleError;
pub use start::{SchemaKey, StartOutcome, StartRequest};
pub use trial::{NodeTrial, NodeTrialReport};
pub use triggers::{
    TriggerKeeper, drop_triggers, keep_all_triggers_in_step, keep_triggers_in_step,
};
pub use written::WrittenPlace;

#[derive(Clone)]
pub struct Control {
    runtime: Runtime,
    /// The worker of this process, if it has one.
    worker: Option<Handle>,
    /// Places for nodes that are tried by themselves.
    trials: Arc<Semaphore>,
}

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("{0}")]
    NotFound(String),
    /// The request cannot be done in the state things are in.
    #[error("{0}")]
    Conflict(String),
    /// A command that the execution cannot take as it stands now.
    #[error("{0}")]
    Refused(Refusal),
    #[error(
        "the execution {id} was retried before, as {retried_as}; look at that one, or ask for another retry with `again` (--again)"
    )]
    AlreadyRetried {
        id: ExecutionId,
        retried_as: ExecutionId,
    },
    /// The request itself is wrong.
    #[error("{message}")]
    Invalid { code: &'static str, message: String },
    /// The input is not what the schema wants.
    #[error("{0}")]
    InvalidInput(InputProblems),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Control {
    pub fn new(runtime: Runtime, worker: Option<Handle>) -> Self {
        Self {
            runtime,
            worker,
            trials: Arc::new(Semaphore::new(trial::NODES_AT_ONCE)),
        }
    }

    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub async fn view(&self, id: ExecutionId) -> Result<ExecutionView, ControlError> {
        self.runtime
            .store
            .execution(id)
            .await?
            .ok_or_else(|| no_such_execution(id))
    }

    pub async fn pause(&self, id: ExecutionId) -> Result<Status, ControlError> {
        self.command(id, Command::Pause).await
    }

    pub async fn resume(&self, id: ExecutionId) -> Result<Status, ControlError> {
        self.command(id, Command::Resume).await
    }

    pub async fn stop(&self, id: ExecutionId) -> Result<Status, ControlError> {
        self.command(id, Command::Stop).await
    }

    /// Has it stop after every step from now on.
    pub async fn debug(&self, id: ExecutionId) -> Result<Status, ControlError> {
        self.command(id, Command::Debug).await
    }

    /// `signal_id` makes it count once, however often it is sent; `false`: it had been sent before.
    pub async fn signal(
        &self,
        id: ExecutionId,
        name: String,
        payload: &Value,
        signal_id: Option<String>,
    ) -> Result<bool, ControlError> {
        self.refuse_secret("the id of the signal", signal_id.as_deref())?;
        self.refuse_secret("the name of the signal", Some(&name))?;
        let mut payload = payload.clone();
        self.runtime.redactor.value(&mut payload);
        let drawn = || {
            pawl_kernel::id::time_ordered(self.runtime.now(), &*self.runtime.entropy).to_string()
        };
        let signal = Signal {
            id: signal_id.unwrap_or_else(drawn),
            name,
            payload: payload.to_string(),
            consumed_seq: None,
            created_at: self.runtime.now(),
        };
        Ok(self.obey(id, Command::Signal(signal)).await?.1)
    }

    pub async fn continue_debug(
        &self,
        id: ExecutionId,
        mode: ContinueMode,
        variables: Map<String, Value>,
        expect_seq: Option<u64>,
    ) -> Result<Status, ControlError> {
        if let ContinueMode::Until(nodes) = &mode {
            self.check_nodes(id, nodes).await?;
        }
        self.command(
            id,
            Command::Continue {
                mode,
                variables: self.without_secrets(variables),
                expect_seq,
            },
        )
        .await
    }

    async fn check_nodes(&self, id: ExecutionId, nodes: &[String]) -> Result<(), ControlError> {
        let view = self.view(id).await?;
        let graph = self
            .runtime
            .graphs
            .get(
                view.execution.head.schema_id,
                view.execution.head.schema_version,
            )
            .await?;
        match nodes.iter().find(|node| graph.node(node).is_none()) {
            None => Ok(()),
            Some(node) => Err(ControlError::Invalid {
                code: "UNKNOWN_NODE",
                message: format!("the schema has no node `{node}`"),
            }),
        }
    }

    async fn command(&self, id: ExecutionId, command: Command) -> Result<Status, ControlError> {
        Ok(self.obey(id, command).await?.0)
    }

    /// The status that followed, and whether anything changed.
    async fn obey(
        &self,
        id: ExecutionId,
        command: Command,
    ) -> Result<(Status, bool), ControlError> {
        let stopping = matches!(command, Command::Stop);
        let done = self
            .runtime
            .store
            .command(id, command, self.runtime.now())
            .await
            .map_err(|error| refused(id, error))?;
        if let Some(applied) = &done.applied {
            self.runtime.announce(id, applied);
        }
        if stopping && done.leased {
            if let Some(worker) = &self.worker {
                worker.stop_requested(id);
            }
            self.runtime.hints.send(Hint::Stop { execution_id: id });
        }
        if let Some(dispatch) = done.dispatch {
            self.runtime.publish(dispatch).await;
        } else if done.applied.is_some() && done.status == Status::Pending {
            // Back from a pause, it stands in line again.
            self.runtime.admission_changed();
        }
        Ok((done.status, done.applied.is_some()))
    }
}

fn no_such_execution(id: ExecutionId) -> ControlError {
    ControlError::NotFound(format!("there is no execution {id}"))
}

fn refused(id: ExecutionId, error: CommandError) -> ControlError {
    match error {
        CommandError::Refused(Refusal::NotFound) => no_such_execution(id),
        CommandError::Refused(refusal) => ControlError::Refused(refusal),
        CommandError::Store(error) => ControlError::Store(error),
    }
}

impl From<GraphError> for ControlError {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Store(error) => Self::Store(error),
            GraphError::Missing { .. } => Self::NotFound(error.to_string()),
            GraphError::Broken { .. } => Self::Conflict(error.to_string()),
        }
    }
}
