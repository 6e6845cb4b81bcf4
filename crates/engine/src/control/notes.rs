//! Notes that people write on executions.

use pawl_kernel::id::{self, ExecutionId};
use pawl_kernel::operations::{
    AddNote, NOTE_BYTES_MAX, NOTES_MAX, Note, NoteRefusal, ReadNotes, perform,
};

use super::{Control, ControlError, no_such_execution};

impl Control {
    /// Writes a note on an execution, whether it has ended or not.
    pub async fn add_note(
        &self,
        execution_id: ExecutionId,
        text: String,
        created_by: String,
    ) -> Result<Note, ControlError> {
        let note = self.note(text, created_by)?;
        let add = AddNote {
            execution_id,
            note: note.clone(),
        };
        match perform(&*self.runtime.store, add).await? {
            Ok(()) => Ok(note),
            Err(NoteRefusal::NoExecution) => Err(no_such_execution(execution_id)),
            Err(NoteRefusal::TooMany) => Err(ControlError::Conflict(format!(
                "the execution {execution_id} has {NOTES_MAX} notes already, which is the most it can have"
            ))),
        }
    }

    /// The notes on an execution, oldest first.
    pub async fn notes(&self, execution_id: ExecutionId) -> Result<Vec<Note>, ControlError> {
        let notes = perform(&*self.runtime.store, ReadNotes { execution_id }).await?;
        Ok(notes)
    }

    fn note(&self, mut text: String, created_by: String) -> Result<Note, ControlError> {
        if text.trim().is_empty() {
            return Err(invalid("`text` of a note is empty".into()));
        }
        if text.len() > NOTE_BYTES_MAX {
            return Err(invalid(format!(
                "`text` of a note has {} bytes, and may have {NOTE_BYTES_MAX}",
                text.len()
            )));
        }
        self.runtime.redactor.text(&mut text);
        let now = self.runtime.now();
        Ok(Note {
            id: id::time_ordered(now, &*self.runtime.entropy),
            text,
            created_by,
            created_at: now,
        })
    }
}

fn invalid(message: String) -> ControlError {
    ControlError::Invalid {
        code: "INVALID_REQUEST",
        message,
    }
}
