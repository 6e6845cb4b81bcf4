//! Operations on PostgreSQL: each is one transaction on a connection of the pool it may use.
//!
//! The transaction begins together with the first question, and its changes of executions are kept back until the
//! operation has decided everything: they are sent together with the commit. So an operation that reads once and
//! writes once takes two trips to the server.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{
    Access, AnyAnswer, AnyOperation, FreeSubjects, Note, OperationStore, Subjects, SweepDelay,
    Transaction,
};
use pawl_kernel::ports::store::{StoreError, StoreResult};
use pawl_kernel::transition::Decision;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::heads::{lock_free_heads, lock_more_heads};
use crate::quotas::GroupIds;
use crate::rows::Reader;
use crate::schedule::ScheduleWrites;
use crate::session::Session;
use crate::value::{Columns, Text, Time};
use crate::{PostgresStore, changes, sql};

#[async_trait]
impl OperationStore for PostgresStore {
    async fn transact(&self, operation: Arc<dyn AnyOperation>) -> StoreResult<AnyAnswer> {
        let access = operation.access();
        let pool = match access {
            Access::Read => &self.readers,
            Access::Request => &self.writers,
            Access::Vital => &self.vital,
            Access::Upkeep => &self.upkeep,
        };
        let (shards, known_names) = (self.shards, self.known_names.clone());
        let done = pool.run(move |session| async move {
            let mut rows = SessionTransaction::new(&session, shards);
            let done = operation.run(&mut rows).await;
            let answer = rows.finish(done)?;
            let has_new_settings = rows.has_new_settings;
            rows.commit().await?;
            if has_new_settings {
                known_names.forget();
            }
            Ok(answer)
        });
        done.await.map_err(|fault| match access {
            Access::Read => fault.of_read(),
            Access::Request | Access::Vital | Access::Upkeep => fault.of_write(),
        })
    }
}

/// An error that the operation itself made: the server was not at fault.
fn refusal(error: StoreError) -> Fault {
    match error {
        StoreError::Corrupt(text) => Fault::Corrupt(text),
        StoreError::Unavailable(text) | StoreError::TooLong(text) => Fault::Busy(text),
        error => Fault::Rejected(error.to_string()),
    }
}

/// The rows of one transaction on a session.
pub(crate) struct SessionTransaction<'a> {
    pub(crate) session: &'a Session,
    pub(crate) shards: u32,
    is_begun: bool,
    /// In the order of ids once they are written.
    decisions: Vec<Decision>,
    pub(crate) schedule: ScheduleWrites,
    /// What is known of the groups of the admission queue.
    pub(crate) groups: GroupIds,
    /// What this process remembers of the quotas that are set is old once this transaction is committed.
    pub(crate) has_new_settings: bool,
    /// Why a call failed. The operation passes on an error that says less, and the pool needs to know all.
    fault: Option<Fault>,
}

impl<'a> SessionTransaction<'a> {
    fn new(session: &'a Session, shards: u32) -> Self {
        Self {
            session,
            shards,
            is_begun: false,
            decisions: Vec::new(),
            schedule: ScheduleWrites::default(),
            groups: GroupIds::new(),
            has_new_settings: false,
            fault: None,
        }
    }

    /// For work within a transaction that was begun otherwise, and is committed otherwise.
    pub(crate) fn begun(session: &'a Session, shards: u32) -> Self {
        Self {
            is_begun: true,
            ..Self::new(session, shards)
        }
    }

    /// What came of work on these rows.
    pub(crate) fn finish<T>(&mut self, done: StoreResult<T>) -> Outcome<T> {
        done.map_err(|error| self.fault.take().unwrap_or_else(|| refusal(error)))
    }

    /// Asks a question, and begins the transaction in the same trip if it is the first one.
    pub(crate) async fn ask<T>(
        &mut self,
        question: impl Future<Output = Outcome<T>>,
    ) -> StoreResult<T> {
        let answer = if self.is_begun {
            question.await
        } else {
            self.is_begun = true;
            let (begun, answer) = join(self.session.begin(), question).await;
            begun.and(answer)
        };
        answer.map_err(|fault| {
            let error = fault.of_write();
            self.fault = Some(fault);
            error
        })
    }

    async fn commit(mut self) -> Outcome<()> {
        if !self.is_begun {
            return Ok(());
        }
        self.decisions.sort_unstable_by_key(Decision::id);
        let rest = changes::write_all(self.session, &self.decisions, self.shards);
        if self.schedule.is_empty() {
            return rest.await;
        }
        self.schedule.send_with(self.session, rest).await
    }
}

fn uuids(ids: &[ExecutionId]) -> Vec<Uuid> {
    ids.iter().map(|id| id.0).collect()
}

#[async_trait]
impl Transaction for SessionTransaction<'_> {
    async fn subjects(&mut self, ids: &[ExecutionId]) -> StoreResult<Subjects> {
        let session = self.session;
        let found = self.ask(lock_more_heads(session, uuids(ids))).await?;
        Ok(found.into_iter().collect())
    }

    async fn free_subjects(&mut self, ids: &[ExecutionId]) -> StoreResult<FreeSubjects> {
        let session = self.session;
        self.ask(lock_free_heads(session, uuids(ids))).await
    }

    async fn has_signal(&mut self, id: ExecutionId, signal: &str) -> StoreResult<bool> {
        let session = self.session;
        self.ask(has_signal(session, id, signal)).await
    }

    async fn sweep_counts(
        &mut self,
        ids: &[ExecutionId],
    ) -> StoreResult<HashMap<ExecutionId, u32>> {
        let session = self.session;
        self.ask(sweep_counts(session, uuids(ids))).await
    }

    async fn put_off_sweeps(&mut self, sweeps: &[SweepDelay]) -> StoreResult<()> {
        let session = self.session;
        self.ask(put_off_sweeps(session, sweeps)).await
    }

    async fn notes(&mut self, id: ExecutionId) -> StoreResult<Vec<Note>> {
        let session = self.session;
        self.ask(notes(session, id)).await
    }

    async fn add_note(&mut self, id: ExecutionId, note: &Note) -> StoreResult<()> {
        let session = self.session;
        self.ask(add_note(session, id, note)).await
    }

    async fn write(&mut self, decisions: Vec<Decision>) -> StoreResult<()> {
        self.decisions.extend(decisions);
        Ok(())
    }
}

async fn has_signal(session: &Session, id: ExecutionId, signal: &str) -> Outcome<bool> {
    session.ready(&[&sql::SIGNAL_KNOWN]).await?;
    let rows = session
        .rows(&sql::SIGNAL_KNOWN, &[&id.0, &Text::new(signal)])
        .await?;
    match rows.first() {
        Some(row) => Ok(row.try_get(0)?),
        None => Err(Fault::Corrupt("EXISTS gave no answer".into())),
    }
}

async fn sweep_counts(session: &Session, ids: Vec<Uuid>) -> Outcome<HashMap<ExecutionId, u32>> {
    session.ready(&[&sql::SWEEPS_OF]).await?;
    let rows = session.rows(&sql::SWEEPS_OF, &[&ids]).await?;
    let count = |row: &tokio_postgres::Row| {
        let swept: i32 = row.try_get(1)?;
        Ok((ExecutionId(row.try_get(0)?), swept.unsigned_abs()))
    };
    rows.iter().map(count).collect()
}

async fn put_off_sweeps(session: &Session, sweeps: &[SweepDelay]) -> Outcome<()> {
    let mut columns = Columns::new(sql::SWEEPS_PUT_OFF.kinds());
    for sweep in sweeps {
        columns.uuid(sweep.execution_id.0);
        columns.count(sweep.version);
        columns.time(sweep.until);
    }
    session.ready(&[&sql::SWEEPS_PUT_OFF]).await?;
    let params = columns.params();
    session.rows(&sql::SWEEPS_PUT_OFF, &params).await?;
    Ok(())
}

async fn notes(session: &Session, id: ExecutionId) -> Outcome<Vec<Note>> {
    session.ready(&[&sql::NOTES_OF]).await?;
    let rows = session.rows(&sql::NOTES_OF, &[&id.0]).await?;
    let note = |row: &tokio_postgres::Row| {
        let mut reader = Reader::new(row);
        Ok(Note {
            id: reader.get()?,
            text: reader.text()?,
            created_by: reader.text()?,
            created_at: reader.time()?,
        })
    };
    rows.iter().map(note).collect()
}

async fn add_note(session: &Session, id: ExecutionId, note: &Note) -> Outcome<()> {
    session.ready(&[&sql::NOTE_INSERT]).await?;
    let (text, by) = (Text::new(&note.text), Text::new(&note.created_by));
    let at = Time(note.created_at);
    session
        .rows(&sql::NOTE_INSERT, &[&id.0, &note.id, &text, &by, &at])
        .await?;
    Ok(())
}
