//! Locking executions and reading what decisions look at.

use std::collections::{HashMap, HashSet};

use futures_util::future::join;
use pawl_kernel::execution::Subject;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::FreeSubjects;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::rows;
use crate::session::Session;
use crate::sql;

/// Begins a transaction that has these states locked; returns what decisions look at.
pub(crate) async fn lock_heads(
    session: &Session,
    ids: Vec<Uuid>,
) -> Outcome<HashMap<ExecutionId, Subject>> {
    session
        .ready(&[&sql::STATES_LOCK, &sql::EXECUTION_HEADS_LOAD])
        .await?;
    let (begun, heads) = join(session.begin(), lock_more_heads(session, ids)).await;
    begun?;
    heads
}

/// The same in a transaction that has begun.
pub(crate) async fn lock_more_heads(
    session: &Session,
    mut ids: Vec<Uuid>,
) -> Outcome<HashMap<ExecutionId, Subject>> {
    ids.sort_unstable();
    ids.dedup();
    session
        .ready(&[&sql::STATES_LOCK, &sql::EXECUTION_HEADS_LOAD])
        .await?;
    let (locked, heads) = join(
        session.rows(&sql::STATES_LOCK, &[&ids]),
        session.rows(&sql::EXECUTION_HEADS_LOAD, &[&ids]),
    )
    .await;
    locked?;
    by_id(heads?.iter().map(rows::subject))
}

pub(crate) fn by_id(
    rows: impl Iterator<Item = Outcome<Subject>>,
) -> Outcome<HashMap<ExecutionId, Subject>> {
    rows.map(|row| row.map(|subject| (subject.head.id, subject)))
        .collect()
}

/// In a transaction that has begun: for admissions, timers and recovery, which serve all executions and which one bad
/// row must not stop.
pub(crate) async fn lock_free_heads(
    session: &Session,
    mut ids: Vec<Uuid>,
) -> Outcome<FreeSubjects> {
    ids.sort_unstable();
    ids.dedup();
    session
        .ready(&[&sql::STATES_FREE, &sql::EXECUTION_HEADS_LOAD])
        .await?;
    let (locked, heads) = join(
        session.rows(&sql::STATES_FREE, &[&ids]),
        session.rows(&sql::EXECUTION_HEADS_LOAD, &[&ids]),
    )
    .await;
    let locked = locked?
        .iter()
        .map(|row| Ok(ExecutionId(row.try_get(0)?)))
        .collect::<Outcome<HashSet<ExecutionId>>>()?;
    let mut free = FreeSubjects::default();
    for row in &heads? {
        let id = ExecutionId(row.try_get("execution_id")?);
        if !locked.contains(&id) {
            free.busy.insert(id);
            continue;
        }
        match rows::subject(row) {
            Ok(subject) => drop(free.rows.insert(id, subject)),
            Err(Fault::Corrupt(problem)) => {
                tracing::error!(execution_id = %id, problem, "this execution cannot be read and is left alone");
                free.unreadable.insert(id);
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(free)
}
