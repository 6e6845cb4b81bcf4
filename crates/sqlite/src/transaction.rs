//! Operations on SQLite: each is one job of the writer, or of a reader if it only reads.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{
    Access, AnyAnswer, AnyOperation, FreeSubjects, Note, OperationStore, Subjects, SweepDelay,
    Transaction, finish_now,
};
use pawl_kernel::ports::store::{StoreError, StoreResult};
use pawl_kernel::transition::Decision;
use rusqlite::{Connection, params};

use crate::fault::{Fault, JobResult};
use crate::rows::{self, Lookup, integer};
use crate::{SqliteStore, changes, sql};

#[async_trait]
impl OperationStore for SqliteStore {
    async fn transact(&self, operation: Arc<dyn AnyOperation>) -> StoreResult<AnyAnswer> {
        let shards = self.shards;
        match operation.access() {
            Access::Read => {
                let read = move |connection: &mut Connection| {
                    connection.execute_batch("BEGIN")?;
                    // The reader ends the transaction, whatever becomes of the operation.
                    run(connection, &*operation, shards)
                };
                self.readers.run(read).await
            }
            Access::Request | Access::Vital | Access::Upkeep => {
                let write = move |connection: &mut Connection| run(connection, &*operation, shards);
                self.writer.run(write).await
            }
        }
    }
}

fn run(
    connection: &mut Connection,
    operation: &dyn AnyOperation,
    shards: u32,
) -> JobResult<AnyAnswer> {
    let mut rows = ConnectionTransaction::new(connection, shards);
    let done = finish_now(operation.run(&mut rows));
    rows.finish(done)
}

/// An error that the operation itself made: no row of the file was at fault.
fn refusal(error: StoreError) -> Fault {
    match error {
        StoreError::Corrupt(text) => Fault::Corrupt(text),
        error => Fault::Rejected(error.to_string()),
    }
}

/// The rows of one job. The writer is alone with the database; a reader sees it at one moment.
pub(crate) struct ConnectionTransaction<'a> {
    /// Not shared: an operation is a future that could move between threads.
    pub(crate) connection: &'a mut Connection,
    pub(crate) shards: u32,
    /// Why a call failed. The operation passes on an error that says less, and the writer needs to know all.
    fault: Option<Fault>,
}

impl<'a> ConnectionTransaction<'a> {
    pub(crate) fn new(connection: &'a mut Connection, shards: u32) -> Self {
        Self {
            connection,
            shards,
            fault: None,
        }
    }

    /// What came of work on these rows.
    pub(crate) fn finish<T>(self, done: StoreResult<T>) -> JobResult<T> {
        done.map_err(|error| self.fault.unwrap_or_else(|| refusal(error)))
    }

    /// Passes the answer of a call on.
    pub(crate) fn keep<T>(&mut self, done: JobResult<T>) -> StoreResult<T> {
        done.map_err(|fault| {
            let error = fault.before_commit();
            self.fault = Some(fault);
            error
        })
    }
}

#[async_trait]
impl Transaction for ConnectionTransaction<'_> {
    async fn subjects(&mut self, ids: &[ExecutionId]) -> StoreResult<Subjects> {
        let found = subjects(self.connection, ids);
        self.keep(found)
    }

    async fn free_subjects(&mut self, ids: &[ExecutionId]) -> StoreResult<FreeSubjects> {
        let found = free_subjects(self.connection, ids);
        self.keep(found)
    }

    async fn has_signal(&mut self, id: ExecutionId, signal: &str) -> StoreResult<bool> {
        let found = has_signal(self.connection, id, signal);
        self.keep(found)
    }

    async fn sweep_counts(
        &mut self,
        ids: &[ExecutionId],
    ) -> StoreResult<HashMap<ExecutionId, u32>> {
        let found = sweep_counts(self.connection, ids);
        self.keep(found)
    }

    async fn put_off_sweeps(&mut self, sweeps: &[SweepDelay]) -> StoreResult<()> {
        let done = put_off_sweeps(self.connection, sweeps);
        self.keep(done)
    }

    async fn notes(&mut self, id: ExecutionId) -> StoreResult<Vec<Note>> {
        let found = notes(self.connection, id);
        self.keep(found)
    }

    async fn add_note(&mut self, id: ExecutionId, note: &Note) -> StoreResult<()> {
        let done = add_note(self.connection, id, note);
        self.keep(done)
    }

    async fn write(&mut self, decisions: Vec<Decision>) -> StoreResult<()> {
        let write = |decision: &Decision| changes::write(self.connection, decision, self.shards);
        let done = decisions.iter().try_for_each(write);
        self.keep(done)
    }
}

fn subjects(connection: &Connection, ids: &[ExecutionId]) -> JobResult<Subjects> {
    let mut found = Subjects::new();
    for id in ids {
        let subject = rows::load_subject(connection, *id)?;
        found.extend(subject.map(|subject| (*id, subject)));
    }
    Ok(found)
}

fn free_subjects(connection: &Connection, ids: &[ExecutionId]) -> JobResult<FreeSubjects> {
    let mut free = FreeSubjects::default();
    for id in ids {
        match rows::look_up(connection, *id)? {
            Lookup::Found(subject) => drop(free.rows.insert(*id, *subject)),
            Lookup::Unreadable => drop(free.unreadable.insert(*id)),
            Lookup::Gone => {}
        }
    }
    Ok(free)
}

fn has_signal(connection: &Connection, id: ExecutionId, signal: &str) -> JobResult<bool> {
    let mut statement = connection.prepare_cached(sql::SIGNAL_KNOWN)?;
    Ok(statement.exists(params![id.0.as_bytes(), signal])?)
}

fn sweep_counts(
    connection: &Connection,
    ids: &[ExecutionId],
) -> JobResult<HashMap<ExecutionId, u32>> {
    let mut statement = connection.prepare_cached(sql::STATE_SWEEPS)?;
    let mut count = |id: &ExecutionId| {
        let swept = statement.query_row([id.0.as_bytes()], |row| row.get(0))?;
        Ok((*id, swept))
    };
    ids.iter().map(&mut count).collect()
}

fn put_off_sweeps(connection: &Connection, sweeps: &[SweepDelay]) -> JobResult<()> {
    let mut statement = connection.prepare_cached(sql::STATE_PUT_OFF)?;
    for sweep in sweeps {
        statement.execute(params![
            sweep.execution_id.0.as_bytes(),
            integer(sweep.version),
            sweep.until.as_micros()
        ])?;
    }
    Ok(())
}

fn notes(connection: &Connection, id: ExecutionId) -> JobResult<Vec<Note>> {
    let mut statement = connection.prepare_cached(sql::NOTES_OF)?;
    let found = statement.query_map([id.0.as_bytes()], |row| {
        Ok(Note {
            id: rows::uuid(row, 0)?,
            text: row.get(1)?,
            created_by: row.get(2)?,
            created_at: rows::time(row, 3)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn add_note(connection: &Connection, id: ExecutionId, note: &Note) -> JobResult<()> {
    connection
        .prepare_cached(sql::NOTE_INSERT)?
        .execute(params![
            id.0.as_bytes(),
            note.id.as_bytes(),
            note.text,
            note.created_by,
            note.created_at.as_micros()
        ])?;
    Ok(())
}
