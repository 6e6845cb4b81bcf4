//! Writing what the lifecycle decided: the only place that touches the rows of an existing execution.

use pawl_kernel::execution::{Execution, LogRecord, State, Step};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::NewLetter;
use pawl_kernel::ports::store::{DueTimer, NewExecution};
use pawl_kernel::quota::QuotaUse;
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{self, Change, Decision, Snapshot, WaitTimer};
use rusqlite::{Connection, params};

use crate::fault::{Fault, JobResult};
use crate::hot;
use crate::letters;
use crate::quotas;
use crate::rows::{self, integer};
use crate::sql;

/// Returns false if the idempotency key is taken; then nothing was written. `claims`: the quotas that concern it, of
/// those that could.
pub(crate) fn create(
    connection: &Connection,
    new: &NewExecution,
    claims: &[QuotaUse],
    shards: u32,
) -> JobResult<bool> {
    if !insert_rows(connection, &new.execution, claims, &new.state)? {
        return Ok(false);
    }
    if let Some(snapshot) = &new.snapshot {
        insert_snapshot(connection, new.execution.head.id, snapshot)?;
    }
    insert_steps(
        connection,
        new.execution.head.id,
        &new.state,
        new.edit.as_slice(),
    )?;
    if let Some(origin) = new.execution.record.retry_of {
        let mut statement = connection.prepare_cached(sql::EXECUTION_SET_RETRIED)?;
        statement.execute([origin.0.as_bytes(), new.execution.head.id.0.as_bytes()])?;
    }
    if let Some(timer) = WaitTimer::of_start(&new.state) {
        insert_timer(connection, &timer, new.state.updated_at, shards)?;
    }
    Ok(true)
}

/// Both rows of an execution; false if its idempotency key is taken.
pub(crate) fn insert_rows(
    connection: &Connection,
    execution: &Execution,
    claims: &[QuotaUse],
    state: &State,
) -> JobResult<bool> {
    let mut statement = connection.prepare_cached(sql::EXECUTION_INSERT)?;
    rows::bind_execution(&mut statement, execution, claims)?;
    if statement.raw_execute()? == 0 {
        return Ok(false);
    }
    let mut statement = connection.prepare_cached(sql::STATE_INSERT)?;
    rows::bind_state(&mut statement, state)?;
    statement.raw_execute()?;
    Ok(true)
}

/// Writes a change to the rows it was decided on.
pub(crate) fn write(
    connection: &mut Connection,
    decision: &Decision,
    shards: u32,
) -> JobResult<()> {
    let (id, change) = (decision.id(), &decision.change);
    hot::forget(id);
    update_state(connection, decision.before.state.version, &change.state)?;
    update_execution(connection, id, change)?;
    write_beside(connection, change, shards)?;
    quotas::follow(connection, decision, shards)
}

/// Inserts an execution as its first change leaves it.
pub(crate) fn create_changed(
    connection: &Connection,
    execution: &Execution,
    change: &Change,
    shards: u32,
) -> JobResult<()> {
    insert_rows(connection, execution, &[], &change.state)?;
    write_beside(connection, change, shards)
}

/// What a change brings besides the two rows of its execution.
fn write_beside(connection: &Connection, change: &Change, shards: u32) -> JobResult<()> {
    let id = change.state.execution_id;
    let now = change.state.updated_at;
    insert_steps(connection, id, &change.state, &change.steps)?;
    insert_logs(connection, id, &change.logs)?;
    for (signal_id, seq) in &change.consumed {
        consume_signal(connection, id, signal_id, *seq)?;
    }
    if let Some(snapshot) = &change.snapshot {
        insert_snapshot(connection, id, snapshot)?;
    }
    if change.signal.is_some() {
        insert_signal(connection, change)?;
    }
    if let Some(timer) = &change.timer {
        insert_timer(connection, timer, now, shards)?;
    }
    if let Some(reason) = &change.dead_letter {
        let letter = NewLetter {
            execution_id: Some(id),
            reason: reason.clone(),
            message: None,
            now,
        };
        letters::insert(connection, &letter)?;
    }
    Ok(())
}

/// The guard on the version can only fail if another process writes to the file.
fn update_state(connection: &Connection, version: u64, state: &State) -> JobResult<()> {
    let mut statement = connection.prepare_cached(sql::STATE_UPDATE)?;
    let next = rows::bind_state(&mut statement, state)?;
    statement.raw_bind_parameter(next, integer(version))?;
    match statement.raw_execute()? {
        1 => Ok(()),
        _ => Err(Fault::Corrupt(format!(
            "execution {} is not at version {version} any more: another program writes to this database",
            state.execution_id
        ))),
    }
}

fn update_execution(connection: &Connection, id: ExecutionId, change: &Change) -> JobResult<()> {
    let started_at = change.started_at.map(Timestamp::as_micros);
    if let Some((ending, at)) = &change.ending {
        connection
            .prepare_cached(sql::EXECUTION_END)?
            .execute(params![
                id.0.as_bytes(),
                ending.status.code(),
                ending.output,
                ending.error,
                at.as_micros(),
                started_at
            ])?;
    } else if change.status.is_some() || started_at.is_some() || change.queued_at.is_some() {
        let queued_at = change.queued_at.map(Timestamp::as_micros);
        let status = change.status.map(|status| status.code());
        connection
            .prepare_cached(sql::EXECUTION_SET_STATUS)?
            .execute(params![id.0.as_bytes(), status, started_at, queued_at])?;
    }
    Ok(())
}

fn insert_steps(
    connection: &Connection,
    id: ExecutionId,
    state: &State,
    steps: &[Step],
) -> JobResult<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(sql::STEP_INSERT)?;
    transition::check_steps(state, steps).map_err(Fault::Rejected)?;
    for step in steps {
        rows::bind_step(&mut statement, id, step, state.version)?;
        statement.raw_execute()?;
    }
    Ok(())
}

fn insert_logs(connection: &Connection, id: ExecutionId, logs: &[LogRecord]) -> JobResult<()> {
    if logs.is_empty() {
        return Ok(());
    }
    let last: i64 = connection
        .prepare_cached(sql::LOG_LAST_NUMBER)?
        .query_row([id.0.as_bytes()], |row| row.get(0))?;
    let mut statement = connection.prepare_cached(sql::LOG_INSERT)?;
    for (log, number) in logs.iter().zip(last + 1..) {
        statement.execute(params![
            id.0.as_bytes(),
            number,
            integer(log.seq),
            log.node_id,
            log.level,
            log.message,
            log.at.as_micros()
        ])?;
    }
    Ok(())
}

fn consume_signal(
    connection: &Connection,
    id: ExecutionId,
    signal_id: &str,
    seq: u64,
) -> JobResult<()> {
    let changed = connection
        .prepare_cached(sql::SIGNAL_CONSUME)?
        .execute(params![id.0.as_bytes(), signal_id, integer(seq)])?;
    if changed == 1 {
        return Ok(());
    }
    Err(Fault::Rejected(format!(
        "signal `{signal_id}` of {id} is not there to be taken"
    )))
}

fn insert_snapshot(connection: &Connection, id: ExecutionId, snapshot: &Snapshot) -> JobResult<()> {
    connection
        .prepare_cached(sql::SNAPSHOT_INSERT)?
        .execute(params![
            id.0.as_bytes(),
            integer(snapshot.seq),
            snapshot.context
        ])?;
    Ok(())
}

fn insert_signal(connection: &Connection, change: &Change) -> JobResult<()> {
    let Some(signal) = &change.signal else {
        return Ok(());
    };
    connection
        .prepare_cached(sql::SIGNAL_INSERT)?
        .execute(params![
            change.state.execution_id.0.as_bytes(),
            signal.id,
            signal.name,
            signal.payload,
            signal.consumed_seq.map(integer),
            signal.created_at.as_micros(),
            integer(change.state.inbox)
        ])?;
    Ok(())
}

pub(crate) fn insert_timer(
    connection: &Connection,
    timer: &WaitTimer,
    now: Timestamp,
    shards: u32,
) -> JobResult<()> {
    enqueue(connection, &DueTimer::of_wait(timer, shards), now)
}

/// A row in the incoming queue.
pub(crate) fn enqueue(connection: &Connection, row: &DueTimer, now: Timestamp) -> JobResult<()> {
    connection
        .prepare_cached(sql::TIMER_INSERT)?
        .execute(params![
            row.shard_id,
            now.as_micros(),
            row.action_id,
            row.guid.as_bytes(),
            row.at.as_micros(),
            row.kind.code()
        ])?;
    Ok(())
}
