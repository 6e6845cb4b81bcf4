//! What is done to executions besides commits.

use async_trait::async_trait;
use uuid::Uuid;

use super::store::{Dispatch, StoreError, StoreResult};
use crate::execution::{Status, Subject};
use crate::id::ExecutionId;
use crate::lifecycle::{Command, Refusal, Release};
use crate::operations::{ApplyCommand, OperationStore, ReleaseLeases, perform};
use crate::time::Timestamp;
use crate::transition::{CommitReport, Decision};

#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is done to executions besides commits. Every store that runs operations has it.
#[async_trait]
pub trait ControlStore: Send + Sync {
    /// Gives leases back.
    async fn release(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        how: Release,
        now: Timestamp,
    ) -> StoreResult<Vec<Dispatch>>;

    async fn command(
        &self,
        id: ExecutionId,
        command: Command,
        now: Timestamp,
    ) -> Result<CommandApplied, CommandError>;
}

#[async_trait]
impl<S: OperationStore> ControlStore for S {
    async fn release(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        how: Release,
        now: Timestamp,
    ) -> StoreResult<Vec<Dispatch>> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        perform(self, ReleaseLeases { leases, how, now }).await
    }

    async fn command(
        &self,
        id: ExecutionId,
        command: Command,
        now: Timestamp,
    ) -> Result<CommandApplied, CommandError> {
        Ok(perform(self, ApplyCommand { id, command, now }).await??)
    }
}

#[derive(Clone, Debug)]
pub struct CommandApplied {
    /// `None`: it was so already.
    pub applied: Option<CommitReport>,
    pub dispatch: Option<Dispatch>,
    pub status: Status,
    /// A worker holds the lease and has yet to notice.
    pub leased: bool,
}

impl CommandApplied {
    /// The command changes nothing.
    pub fn unchanged(subject: &Subject, now: Timestamp) -> Self {
        Self {
            applied: None,
            dispatch: None,
            status: subject.head.status,
            leased: subject.state.has_live_lease(now),
        }
    }

    pub fn of(decision: &Decision, now: Timestamp) -> Self {
        let Decision { before, change } = decision;
        Self {
            applied: Some(change.outcome()),
            dispatch: decision.dispatch(),
            status: change.status.unwrap_or(before.head.status),
            leased: change.state.has_live_lease(now),
        }
    }
}
