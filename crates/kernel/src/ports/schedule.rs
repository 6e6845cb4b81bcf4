//! Scheduled actions as the store keeps them. Every verb is one transaction; what happens in it is decided by
//! [`crate::schedule`].
//!
//! Invariant: for each action that is due some time exactly one row with its current `(id, guid)` is in
//! `incoming_queue` or `processing_queue`. A writer of an action appends to a random shard of `incoming_queue` and
//! touches nothing else of the queues; rows with other guids are stale, and the owner of their shard drops them.

use async_trait::async_trait;
use uuid::Uuid;

use super::store::{DueTimer, ShardPass, StoreError, StoreResult};
use crate::operations::{
    BeginActions, CommandAction, DeleteAction, OperationStore, PutAction, RecordActions, perform,
};
use crate::schedule::{
    ActionAttempt, ActionRefusal, AttemptOutcome, Exists, PastAttempt, Put, RecordResult, Run,
    ScheduleLimits, ScheduledAction, Ticket,
};
use crate::time::Timestamp;

mod rules;

pub use rules::{
    ATTEMPTS_KEPT, ActionWrite, PutEffect, decide_command, decide_put, is_time_to_forget,
};

#[derive(Debug, thiserror::Error)]
pub enum PutError {
    #[error(transparent)]
    Exists(#[from] Exists),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    #[error("there is no such action")]
    NotFound,
    #[error(transparent)]
    Refused(#[from] ActionRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a person may do to an action besides writing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionCommand {
    Pause,
    /// Because the schema it belongs to is inactive.
    PauseWithSchema,
    Resume,
    RunNow,
}

/// Which actions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionFilter {
    /// Ids that begin like this.
    pub prefix: Option<String>,
    pub finished: Option<bool>,
}

/// The place of an action in the order of what is due next. Paused ones are not due: `None`, after all that are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuePlace {
    pub due: Option<Timestamp>,
    pub id: String,
}

/// An attempt that is over.
#[derive(Clone, Debug)]
pub struct RecordRequest {
    /// The lock of the shard under which it began.
    pub lock: Uuid,
    /// As [`ScheduleStore::begin_actions`] gave it. Only its shard counts: its row in the queue is by now at the time of the run's row.
    pub timer: DueTimer,
    pub ticket: Ticket,
    /// As [`Run`] gave it, for the history of a generation that is over.
    pub attempt: ActionAttempt,
    pub outcome: AttemptOutcome,
    /// Used only if the row must be queued anew.
    pub fresh: Uuid,
}

/// Where an action stands in the queues, and how it came there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRow {
    pub shard_id: u32,
    /// Who holds the shard, and under which lock. `None`: it is free.
    pub holder: Option<ShardHolder>,
    pub added_at: Timestamp,
    /// `None`: it is in the incoming queue still.
    pub moved: Option<SyncMark>,
    pub rescheduled: Option<SyncMark>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardHolder {
    pub owner: String,
    pub lock: Uuid,
}

/// When a holder of the shard changed a row, and in which [pass](super::store::ShardPass::sync).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncMark {
    pub at: Timestamp,
    pub sync: Uuid,
}

/// A store reads; what is written is an operation, and every store that runs operations has it.
#[async_trait]
pub trait ScheduleStore: OperationStore {
    /// The same guid again is the same write again: it changes nothing.
    async fn put_action(
        &self,
        put: Put,
        now: Timestamp,
    ) -> Result<(ScheduledAction, PutEffect), PutError> {
        Ok(perform(self, PutAction { put, now }).await??)
    }

    async fn action(&self, id: &str) -> StoreResult<Option<ScheduledAction>>;

    /// By id, after `after`.
    async fn actions(
        &self,
        filter: ActionFilter,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>>;

    /// Those that are not over: what is due next comes first, and by id what is not due comes last; after `after`. With
    /// `before`, only what is due before that.
    async fn actions_by_due(
        &self,
        before: Option<Timestamp>,
        after: Option<DuePlace>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>>;

    /// Its history goes too. What the queues hold of it is stale from then on.
    async fn delete_action(&self, id: &str) -> StoreResult<bool> {
        perform(self, DeleteAction { id: id.to_owned() }).await
    }

    /// The same guid again is the same command again.
    async fn command_action(
        &self,
        id: &str,
        command: ActionCommand,
        guid: Uuid,
        now: Timestamp,
    ) -> Result<ScheduledAction, ActionError> {
        let id = id.to_owned();
        let operation = CommandAction {
            id,
            command,
            guid,
            now,
        };
        perform(self, operation).await?
    }

    /// Attempts that are over with their generation, the youngest first; of those before `before` (generation, ordinal).
    /// The latest [`ATTEMPTS_KEPT`] are there, and perhaps a few more.
    async fn attempts(
        &self,
        id: &str,
        before: Option<(u64, u64)>,
        limit: u32,
    ) -> StoreResult<Vec<(u64, PastAttempt)>>;

    /// The queues' rows with the action's current guid: one if it is due some time, else none. For people who look into
    /// trouble.
    async fn queued(&self, id: &str) -> StoreResult<Vec<QueueRow>>;

    /// Begins the actions whose rows of the processing queue are due: the next attempt is written down and the row put to
    /// the time of looking again, or dropped if it is stale or the action is over. Answers the attempts that the caller is
    /// to make and then record. Only in shards locked under `pass`, and only rows of this kind; for overlaps the store
    /// looks whether the executions under [`ScheduledAction::previous_keys`] are over. In the order given; rows of actions
    /// that are locked or that cannot be read are put off.
    async fn begin_actions(
        &self,
        pass: ShardPass,
        due: Vec<DueTimer>,
        limits: ScheduleLimits,
        now: Timestamp,
    ) -> StoreResult<Vec<(DueTimer, Run)>> {
        let operation = BeginActions {
            pass,
            due,
            limits,
            now,
        };
        perform(self, operation).await
    }

    /// Writes down what became of attempts, in the order given. Where a shard is not locked any more as it was when the
    /// attempt began nothing is written and the answer is `None`: its holder finds an interrupted attempt.
    async fn record_actions(
        &self,
        sync: Uuid,
        requests: Vec<RecordRequest>,
        limits: ScheduleLimits,
        now: Timestamp,
    ) -> StoreResult<Vec<Option<RecordResult>>> {
        let operation = RecordActions {
            sync,
            requests,
            limits,
            now,
        };
        perform(self, operation).await
    }
}
