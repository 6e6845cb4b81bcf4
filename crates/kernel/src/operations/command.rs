//! A person's command to one execution.

use async_trait::async_trait;

use super::{Operation, Transaction};
use crate::id::ExecutionId;
use crate::lifecycle::{self, Command, Refusal};
use crate::ports::store::{CommandApplied, StoreResult};
use crate::time::Timestamp;
use crate::transition::Decision;

/// Pause, resume, stop, signal, debug, continue.
#[derive(Clone, Debug)]
pub struct ApplyCommand {
    pub id: ExecutionId,
    pub command: Command,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for ApplyCommand {
    type Answer = Result<CommandApplied, Refusal>;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let mut subjects = rows.subjects(&[self.id]).await?;
        let Some(before) = subjects.remove(&self.id) else {
            return Ok(Err(Refusal::NotFound));
        };
        let known = match &self.command {
            Command::Signal(signal) => rows.has_signal(self.id, &signal.id).await?,
            _ => false,
        };
        let decided =
            lifecycle::command(&before.head, &before.state, &self.command, known, self.now);
        let change = match decided {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(None) => return Ok(Ok(CommandApplied::unchanged(&before, self.now))),
            Ok(Some(change)) => change,
        };
        let decision = Decision { before, change };
        let applied = CommandApplied::of(&decision, self.now);
        rows.write(vec![decision]).await?;
        Ok(Ok(applied))
    }
}
