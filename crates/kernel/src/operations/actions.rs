//! Users write scheduled actions. Each write appends a row to the incoming queue and touches nothing else of the queues.

use async_trait::async_trait;
use uuid::Uuid;

use super::{Operation, Transaction};
use crate::ports::schedule::{
    ActionCommand, ActionError, ActionWrite, PutEffect, decide_command, decide_put,
};
use crate::ports::store::{DueTimer, StoreError, StoreResult};
use crate::schedule::{Exists, Put, ScheduledAction};
use crate::time::Timestamp;

/// A writer that makes an action of the same id at the same moment is found at the second look; more often than this it
/// is no chance.
const LOOKS: usize = 5;

/// Makes an action, or replaces one.
#[derive(Clone, Debug)]
pub struct PutAction {
    pub put: Put,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for PutAction {
    type Answer = Result<(ScheduledAction, PutEffect), Exists>;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let decide =
            |before: Option<&ScheduledAction>| decide_put(before, self.put.clone(), self.now);
        write(rows, &self.put.id, decide, self.now).await
    }
}

/// Pauses, resumes or fires an action.
#[derive(Clone, Debug)]
pub struct CommandAction {
    pub id: String,
    pub command: ActionCommand,
    pub guid: Uuid,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for CommandAction {
    type Answer = Result<ScheduledAction, ActionError>;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let decide = |before: Option<&ScheduledAction>| {
            let decided = decide_command(before, self.command, self.guid, self.now);
            decided.map(|written| (written, ()))
        };
        let written = write(rows, &self.id, decide, self.now).await?;
        Ok(written.map(|(row, ())| row))
    }
}

/// Deletes an action with its history. Its rows in the queues are stale from then on.
#[derive(Clone, Debug)]
pub struct DeleteAction {
    pub id: String,
}

#[async_trait]
impl Operation for DeleteAction {
    /// False: there is none.
    type Answer = bool;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        rows.delete_action(&self.id).await
    }
}

/// What `decide` says besides the row goes to the caller.
async fn write<T: Send, E: Send>(
    rows: &mut dyn Transaction,
    id: &str,
    decide: impl Fn(Option<&ScheduledAction>) -> Result<(ActionWrite, T), E> + Send + Sync,
    now: Timestamp,
) -> StoreResult<Result<(ScheduledAction, T), E>> {
    for _ in 0..LOOKS {
        let before = rows.action(id).await?;
        let (row, told) = match decide(before.as_ref()) {
            Ok((ActionWrite::New(row), told)) => (row, told),
            Ok((ActionWrite::Same(row), told)) => return Ok(Ok((row, told))),
            Err(refusal) => return Ok(Err(refusal)),
        };
        if rows.put_action(&row, before.map(|row| row.guid)).await? {
            let timer = DueTimer::of_action(&row, rows.shard_count());
            rows.enqueue_timers(timer.into_iter().collect(), now)
                .await?;
            return Ok(Ok((row, told)));
        }
    }
    Err(StoreError::Unavailable(format!(
        "others write the action `{id}` all the time"
    )))
}
