//! Writing the rows of new executions.

use std::collections::HashSet;

use futures_util::future::join3;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{Created, NewExecution, StoreError, StoreResult};

use uuid::Uuid;

use crate::changes;
use crate::error::Outcome;
use crate::rows::{put_execution, put_state};
use crate::session::Session;
use crate::sql;
use crate::value::Columns;

/// Needs no statement but the one for creations.
pub(crate) fn is_simple(new: &NewExecution) -> bool {
    new.snapshot.is_none() && new.state.wait.is_none()
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
    let (of_execution, of_state) = kinds[..kinds.len() - 1].split_at(24);
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

/// One that comes with a snapshot (a fork) or a timer (a delayed start).
pub(crate) async fn create_with_more(
    session: &Session,
    new: &NewExecution,
    epoch: i64,
    shards: u32,
) -> Outcome<Option<HashSet<ExecutionId>>> {
    session
        .ready(&[&sql::SNAPSHOT_INSERT, &sql::TIMER_INSERT])
        .await?;
    session.begin().await?;
    let created = create(session, &[new], epoch, false).await?;
    if created.as_ref().is_none_or(HashSet::is_empty) {
        session.roll_back().await?;
        return Ok(created);
    }
    let mut snapshots = Columns::new(sql::SNAPSHOT_INSERT.kinds());
    let mut timers = Columns::new(sql::TIMER_INSERT.kinds());
    if let Some(snapshot) = &new.snapshot {
        snapshots.uuid(new.execution.id.0);
        snapshots.count(snapshot.seq);
        snapshots.text(snapshot.context.as_str());
    }
    if let Some(timer) = changes::start_timer(&new.state) {
        changes::put_timer(&mut timers, &timer, new.state.updated_at, shards);
    }
    let (snapshots, timers) = (snapshots.params(), timers.params());
    let (one, other, committed) = join3(
        session.rows(&sql::SNAPSHOT_INSERT, &snapshots),
        session.rows(&sql::TIMER_INSERT, &timers),
        session.commit(),
    )
    .await;
    one?;
    other?;
    committed?;
    Ok(created)
}

pub(crate) async fn existing(
    session: &Session,
    new: &NewExecution,
) -> Outcome<StoreResult<Created>> {
    let key = new.execution.idempotency_key.as_deref().unwrap_or_default();
    let key = crate::value::Text::new(key);
    let rows = session.alone(&sql::EXECUTION_BY_KEY, &[&key]).await?;
    Ok(match rows.first() {
        Some(row) => Ok(Created::Existing(ExecutionId(row.try_get(0)?))),
        // Whoever had the key has been removed since.
        None => Err(StoreError::Unavailable(
            "the idempotency key was just freed; try again".into(),
        )),
    })
}
