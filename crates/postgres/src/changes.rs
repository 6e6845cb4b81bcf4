//! Writing what the lifecycle decided: the only place that touches the rows of an existing execution.

use std::collections::{BTreeSet, HashSet};

use futures_util::future::try_join_all;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::follow_decisions;
use pawl_kernel::ports::store::DueTimer;
use pawl_kernel::quota::QuotaChange;
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{self, Change, Decision};

use crate::error::{Fault, Outcome};
use crate::rows::{Reader, put_state, put_step};
use crate::session::Session;
use crate::sql::{self, Sql};
use crate::transaction::SessionTransaction;
use crate::value::Columns;

/// It needs no statement but the one for transitions.
pub(crate) fn is_plain(decision: &Decision) -> bool {
    let change = &decision.change;
    change.consumed.is_empty()
        && change.snapshot.is_none()
        && change.signal.is_none()
        && change.dead_letter.is_none()
        && change.queued_at.is_none()
        && decision.quota_change() == QuotaChange::None
}

/// The statements of [`write_all`], to be prepared before anything is sent.
pub(crate) static STATEMENTS: &[&Sql] = &[
    &sql::TRANSITIONS_WRITE,
    &sql::SIGNAL_CONSUME,
    &sql::SIGNAL_INSERT,
    &sql::SNAPSHOT_INSERT,
    &sql::DEAD_LETTER_INSERT,
];

/// One statement: returns the executions whose rows were still as they had been.
pub(crate) async fn write(
    session: &Session,
    decided: &[&Decision],
    shards: u32,
    alone: bool,
) -> Outcome<HashSet<ExecutionId>> {
    for one in decided {
        let change = &one.change;
        transition::check_steps(&change.state, &change.steps).map_err(Fault::Rejected)?;
    }
    let columns = transition_columns(decided, shards);
    let params: Vec<_> = columns.iter().flat_map(Columns::params).collect();
    let rows = match alone {
        true => session.alone(&sql::TRANSITIONS_WRITE, &params).await?,
        false => session.rows(&sql::TRANSITIONS_WRITE, &params).await?,
    };
    rows.iter()
        .map(|row| Ok(ExecutionId(row.try_get(0)?)))
        .collect()
}

/// Writes changes of rows that this transaction has locked, and commits: all in one trip to the server.
pub(crate) async fn write_all(session: &Session, decided: &[Decision], shards: u32) -> Outcome<()> {
    if decided.is_empty() {
        return session.commit().await;
    }
    session.ready(STATEMENTS).await?;
    let refs: Vec<&Decision> = decided.iter().collect();
    // In this order: a signal is taken by a row that has just been written.
    let main = write_locked(session, &refs, shards);
    let extra = rare(session, decided);
    if decided.iter().all(is_plain) {
        let (written, committed) = futures_util::future::join(main, session.commit()).await;
        written?;
        return committed;
    }
    main.await?;
    extra.await?;
    write_queued(session, decided).await?;
    let mut rows = SessionTransaction::begun(session, shards);
    let followed = follow_decisions(&mut rows, decided).await;
    rows.finish(followed)?;
    session.commit().await
}

/// Writes changes of rows that this transaction has locked.
async fn write_locked(session: &Session, decided: &[&Decision], shards: u32) -> Outcome<()> {
    session.ready(&[&sql::TRANSITIONS_WRITE]).await?;
    let done = write(session, decided, shards, false).await?;
    match done.len() == decided.len() {
        true => Ok(()),
        false => Err(Fault::Corrupt(
            "a locked row changed under our hands".into(),
        )),
    }
}

/// When executions left the line.
async fn write_queued(session: &Session, decided: &[Decision]) -> Outcome<()> {
    let mut columns = Columns::new(sql::EXECUTIONS_QUEUED.kinds());
    for one in decided {
        if let Some(at) = one.change.queued_at {
            columns.uuid(one.id().0);
            columns.time(at);
        }
    }
    if let Some(columns) = columns.non_empty() {
        session.ready(&[&sql::EXECUTIONS_QUEUED]).await?;
        let params = columns.params();
        session.rows(&sql::EXECUTIONS_QUEUED, &params).await?;
    }
    Ok(())
}

fn transition_columns<'a>(decided: &[&'a Decision], shards: u32) -> [Columns<'a>; 5] {
    let kinds = sql::TRANSITIONS_WRITE.kinds();
    let (states, rest) = kinds.split_at(34);
    let (executions, rest) = rest.split_at(6);
    let (steps, rest) = rest.split_at(16);
    let (logs, timers) = rest.split_at(7);
    let mut states = Columns::new(states);
    let mut executions = Columns::new(executions);
    let mut steps = Columns::new(steps);
    let mut logs = Columns::new(logs);
    let mut timers = Columns::new(timers);
    for one in decided {
        let (before, change) = (&one.before.state, &one.change);
        put_state(&mut states, &change.state);
        states.count(before.version);
        states.uuid(before.lease.as_ref().map(|lease| lease.token));
        states.count(change.logs.len() as u64);
        states.uuid(before.commit_id);
        put_outcome(&mut executions, change);
        for step in change.steps.iter() {
            put_step(&mut steps, before.execution_id, step, change.state.version);
        }
        put_logs(&mut logs, change);
        if let Some(timer) = &change.timer {
            let row = DueTimer::of_wait(timer, shards);
            put_timer(&mut timers, row, change.state.updated_at);
            timers.uuid(before.execution_id.0);
        }
    }
    [states, executions, steps, logs, timers]
}

fn put_outcome<'a>(columns: &mut Columns<'a>, change: &'a Change) {
    let ending = change.ending.as_ref();
    if ending.is_none() && change.status.is_none() && change.started_at.is_none() {
        return;
    }
    let status = ending.map(|(ending, _)| ending.status).or(change.status);
    columns.uuid(change.state.execution_id.0);
    columns.code(status.map(|status| status.code()));
    columns.text(ending.and_then(|(ending, _)| ending.output.as_deref()));
    columns.text(ending.and_then(|(ending, _)| ending.error.as_deref()));
    columns.time(ending.map(|(_, at)| *at));
    columns.time(change.started_at);
}

fn put_logs<'a>(columns: &mut Columns<'a>, change: &'a Change) {
    for (log, line) in change.logs.iter().zip(1..) {
        columns.uuid(change.state.execution_id.0);
        columns.count(line);
        columns.count(log.seq);
        columns.text(&*log.node_id);
        columns.text(log.level);
        columns.text(log.message.as_str());
        columns.time(log.at);
    }
}

/// A row of the incoming queue.
pub(crate) fn put_timer(columns: &mut Columns<'_>, row: DueTimer, now: Timestamp) {
    columns.int(row.shard_id);
    columns.time(now);
    columns.owned_text(Some(row.action_id));
    columns.uuid(row.guid);
    columns.time(row.at);
    columns.code(row.kind.code());
}

/// What few changes have: signals taken or given, snapshots, dead letters.
async fn rare(session: &Session, decided: &[Decision]) -> Outcome<()> {
    consume_signals(session, decided).await?;
    try_join_all([
        insert(session, &sql::SIGNAL_INSERT, signal_columns(decided)),
        insert(session, &sql::SNAPSHOT_INSERT, snapshot_columns(decided)),
        insert(session, &sql::DEAD_LETTER_INSERT, letter_columns(decided)),
    ])
    .await?;
    Ok(())
}

async fn insert(session: &Session, sql: &'static Sql, columns: Option<Columns<'_>>) -> Outcome<()> {
    if let Some(columns) = columns {
        session.rows(sql, &columns.params()).await?;
    }
    Ok(())
}

async fn consume_signals(session: &Session, decided: &[Decision]) -> Outcome<()> {
    let taken = |one: &Decision| one.change.consumed.clone();
    if decided.iter().all(|one| taken(one).is_empty()) {
        return Ok(());
    }
    let mut columns = Columns::new(sql::SIGNAL_CONSUME.kinds());
    let mut wanted = BTreeSet::new();
    for one in decided {
        for (signal_id, seq) in &one.change.consumed {
            columns.uuid(one.id().0);
            columns.text(signal_id.as_str());
            columns.count(*seq);
            wanted.insert((one.id(), signal_id.clone()));
        }
    }
    let rows = session
        .rows(&sql::SIGNAL_CONSUME, &columns.params())
        .await?;
    for row in &rows {
        let mut reader = Reader::new(row);
        wanted.remove(&(ExecutionId(reader.get()?), reader.text()?));
    }
    match wanted.first() {
        None => Ok(()),
        Some((id, signal_id)) => Err(Fault::Rejected(format!(
            "signal `{signal_id}` of {id} is not there to be taken"
        ))),
    }
}

fn signal_columns(decided: &[Decision]) -> Option<Columns<'_>> {
    let mut columns = Columns::new(sql::SIGNAL_INSERT.kinds());
    for one in decided {
        let Some(signal) = &one.change.signal else {
            continue;
        };
        columns.uuid(one.id().0);
        columns.text(signal.id.as_str());
        columns.text(signal.name.as_str());
        columns.text(signal.payload.as_str());
        columns.count(signal.consumed_seq);
        columns.time(signal.created_at);
        columns.count(one.change.state.inbox);
    }
    columns.non_empty()
}

fn snapshot_columns(decided: &[Decision]) -> Option<Columns<'_>> {
    let mut columns = Columns::new(sql::SNAPSHOT_INSERT.kinds());
    for one in decided {
        if let Some(snapshot) = &one.change.snapshot {
            columns.uuid(one.id().0);
            columns.count(snapshot.seq);
            columns.text(snapshot.context.as_str());
        }
    }
    columns.non_empty()
}

fn letter_columns(decided: &[Decision]) -> Option<Columns<'_>> {
    let mut columns = Columns::new(sql::DEAD_LETTER_INSERT.kinds());
    for one in decided {
        if let Some(reason) = &one.change.dead_letter {
            columns.uuid(one.id().0);
            columns.text(reason.as_str());
            columns.text(None);
            columns.time(one.change.state.updated_at);
        }
    }
    columns.non_empty()
}
