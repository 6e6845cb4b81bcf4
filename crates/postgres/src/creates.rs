//! Writing the rows of new executions.

use std::collections::HashSet;

use futures_util::future::{join, join_all};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{CreateOutcome, DueTimer, NewExecution, StoreError, StoreResult};
use pawl_kernel::transition::WaitTimer;

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::changes;
use crate::error::Outcome;
use crate::rows::{put_execution, put_state, put_step};
use crate::session::Session;
use crate::sql::{self, Sql};
use crate::value::Columns;

/// Columns of `executions` that are written with a new one, before those of `execution_state`.
const EXECUTION_COLUMNS: usize = 25;

/// Needs no statement but the one for creations.
pub(crate) fn is_simple(new: &NewExecution) -> bool {
    new.snapshot.is_none()
        && new.edit.is_none()
        && new.execution.record.retry_of.is_none()
        && new.state.wait.is_none()
}

/// The executions that are new. `None`: quotas have changed since `epoch`, and nothing was created.
pub(crate) async fn create(
    session: &Session,
    news: &[&NewExecution],
    epoch: i64,
    alone: bool,
) -> Outcome<Option<HashSet<ExecutionId>>> {
    if news.is_empty() {
        return Ok(Some(HashSet::new()));
    }
    let kinds = sql::EXECUTIONS_CREATE.kinds();
    let (of_execution, of_state) = kinds[..kinds.len() - 1].split_at(EXECUTION_COLUMNS);
    let mut executions = Columns::new(of_execution);
    let mut states = Columns::new(of_state);
    for new in news {
        put_execution(&mut executions, &new.execution);
        put_state(&mut states, &new.state);
    }
    let mut params = [executions.params(), states.params()].concat();
    params.push(&epoch);
    let rows = match alone {
        true => session.alone(&sql::EXECUTIONS_CREATE, &params).await?,
        false => session.rows(&sql::EXECUTIONS_CREATE, &params).await?,
    };
    let mut created = HashSet::new();
    for row in &rows {
        if row.try_get::<_, i64>(1)? != epoch {
            return Ok(None);
        }
        created.extend(row.try_get::<_, Option<Uuid>>(0)?.map(ExecutionId));
    }
    Ok(Some(created))
}

/// What became of one that comes with more than its two rows.
pub(crate) enum CreateResult {
    New,
    KeyTaken,
    AlreadyRetried(ExecutionId),
}

/// One that comes with a snapshot (a fork, a retry) or a timer (a delayed start). `None`: as [`create`].
pub(crate) async fn create_with_more(
    session: &Session,
    new: &NewExecution,
    epoch: i64,
    shards: u32,
) -> Outcome<Option<CreateResult>> {
    session.ready(BESIDE).await?;
    session.ready(&[&sql::EXECUTION_BY_KEY]).await?;
    session.begin().await?;
    if let Some(before) = already_retried(session, new).await? {
        let key = new.execution.record.idempotency_key.as_deref();
        let key = crate::value::Text::new(key.unwrap_or_default());
        let rows = session.rows(&sql::EXECUTION_BY_KEY, &[&key]).await?;
        session.roll_back().await?;
        return Ok(Some(match rows.is_empty() {
            true => CreateResult::AlreadyRetried(before),
            false => CreateResult::KeyTaken,
        }));
    }
    let created = create(session, &[new], epoch, false).await?;
    if created.as_ref().is_none_or(HashSet::is_empty) {
        session.roll_back().await?;
        return Ok(created.map(|_| CreateResult::KeyTaken));
    }
    // Sent together: what fails takes the commit with it.
    let (beside, committed) = join(put_beside(session, &[new], shards), session.commit()).await;
    beside?;
    committed?;
    Ok(Some(CreateResult::New))
}

/// The statements of [`already_retried`] and [`put_beside`].
pub(crate) static BESIDE: &[&Sql] = &[
    &sql::EXECUTION_RETRIED_AS,
    &sql::EXECUTION_SET_RETRIED,
    &sql::SNAPSHOT_INSERT,
    &sql::STEPS_INSERT,
    &sql::TIMER_INSERT,
];

/// The retry that there is already of what this one is to retry, unless another one is asked for. Locks the origin until
/// the end of the transaction.
pub(crate) async fn already_retried(
    session: &Session,
    new: &NewExecution,
) -> Outcome<Option<ExecutionId>> {
    let Some(origin) = new.execution.record.retry_of else {
        return Ok(None);
    };
    let rows = session
        .rows(&sql::EXECUTION_RETRIED_AS, &[&origin.0])
        .await?;
    let before = match rows.first() {
        Some(row) => row.try_get::<_, Option<Uuid>>(0)?,
        None => None,
    };
    Ok(before.filter(|_| !new.again).map(ExecutionId))
}

/// What executions bring along besides their own two rows. All of it is sent before anything is waited for.
pub(crate) async fn put_beside(
    session: &Session,
    news: &[&NewExecution],
    shards: u32,
) -> Outcome<()> {
    let mut snapshots = Columns::new(sql::SNAPSHOT_INSERT.kinds());
    let mut steps = Columns::new(sql::STEPS_INSERT.kinds());
    let mut timers = Columns::new(sql::TIMER_INSERT.kinds());
    for new in news {
        let id = new.execution.head.id;
        if let Some(snapshot) = &new.snapshot {
            snapshots.uuid(id.0);
            snapshots.count(snapshot.seq);
            snapshots.text(snapshot.context.as_str());
        }
        if let Some(step) = &new.edit {
            put_step(&mut steps, id, step, new.state.version);
        }
        if let Some(timer) = WaitTimer::of_start(&new.state) {
            let row = DueTimer::of_wait(&timer, shards);
            changes::put_timer(&mut timers, row, new.state.updated_at);
        }
    }
    let columns = [
        (&sql::SNAPSHOT_INSERT, snapshots.non_empty()),
        (&sql::STEPS_INSERT, steps.non_empty()),
        (&sql::TIMER_INSERT, timers.non_empty()),
    ];
    let mut writes: Vec<(&'static Sql, Vec<&(dyn ToSql + Sync)>)> = Vec::new();
    for (sql, columns) in &columns {
        writes.extend(columns.as_ref().map(|columns| (*sql, columns.params())));
    }
    for new in news {
        if let Some(origin) = &new.execution.record.retry_of {
            writes.push((
                &sql::EXECUTION_SET_RETRIED,
                vec![&origin.0, &new.execution.head.id.0],
            ));
        }
    }
    let sent = writes.iter().map(|(sql, params)| session.rows(sql, params));
    for written in join_all(sent).await {
        written?;
    }
    Ok(())
}

pub(crate) async fn existing(
    session: &Session,
    new: &NewExecution,
) -> Outcome<StoreResult<CreateOutcome>> {
    let key = new
        .execution
        .record
        .idempotency_key
        .as_deref()
        .unwrap_or_default();
    let key = crate::value::Text::new(key);
    let rows = session.alone(&sql::EXECUTION_BY_KEY, &[&key]).await?;
    Ok(match rows.first() {
        Some(row) => Ok(CreateOutcome::Existing(ExecutionId(row.try_get(0)?))),
        // The execution that had the key has been removed since.
        None => Err(StoreError::Unavailable(
            "the idempotency key was just freed; try again".into(),
        )),
    })
}
