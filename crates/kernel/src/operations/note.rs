//! Notes that people write on an execution: what an operator found out about a run, for the next operator.

use async_trait::async_trait;
use uuid::Uuid;

use super::{Access, Operation, Transaction};
use crate::id::ExecutionId;
use crate::ports::store::StoreResult;
use crate::time::Timestamp;

/// The longest text of a note, in bytes.
pub const NOTE_BYTES_MAX: usize = 4 << 10;
/// The most notes of one execution: all of them are shown with it.
pub const NOTES_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// In the order of time.
    pub id: Uuid,
    pub text: String,
    pub created_by: String,
    pub created_at: Timestamp,
}

/// Why a note cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteRefusal {
    NoExecution,
    TooMany,
}

/// Writes a note on an execution, whether it has ended or not.
#[derive(Clone, Debug)]
pub struct AddNote {
    pub execution_id: ExecutionId,
    pub note: Note,
}

#[async_trait]
impl Operation for AddNote {
    type Answer = Result<(), NoteRefusal>;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        // Retention waits for the lock on the execution, and so does another note that might be the hundredth.
        let found = rows.subjects(&[self.execution_id]).await?;
        if found.is_empty() {
            return Ok(Err(NoteRefusal::NoExecution));
        }
        if rows.notes(self.execution_id).await?.len() >= NOTES_MAX {
            return Ok(Err(NoteRefusal::TooMany));
        }
        rows.add_note(self.execution_id, &self.note).await?;
        Ok(Ok(()))
    }
}

/// The notes on an execution, oldest first.
#[derive(Clone, Debug)]
pub struct ReadNotes {
    pub execution_id: ExecutionId,
}

#[async_trait]
impl Operation for ReadNotes {
    type Answer = Vec<Note>;

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        rows.notes(self.execution_id).await
    }
}
