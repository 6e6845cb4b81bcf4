//! Rows to structs and back. Statements list their columns in the order of the functions here.

use pawl_kernel::execution::{
    Control, DebugMode, Execution, Head, Hold, Lease, LogRecord, Position, PriorityClass, Record,
    Signal, State, Status, Step, StepStatus, Subject, Wait, WaitKind,
};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::history::StepOutline;
use pawl_kernel::ports::store::ClaimedExecution;
use pawl_kernel::quota::QuotaUse;
use pawl_kernel::time::Timestamp;
use rusqlite::types::{ToSql, Type};
use rusqlite::{Connection, OptionalExtension, Result, Row, Statement};
use uuid::Uuid;

use crate::sql;

/// Both rows of an execution, whole.
pub(crate) fn load(connection: &Connection, id: ExecutionId) -> Result<Option<ClaimedExecution>> {
    connection
        .prepare_cached(sql::EXECUTION_LOAD)?
        .query_row([id.0.as_bytes()], loaded)
        .optional()
}

/// What decisions look at: this is read with every commit.
pub(crate) fn load_subject(connection: &Connection, id: ExecutionId) -> Result<Option<Subject>> {
    connection
        .prepare_cached(sql::EXECUTION_LOAD_HEAD)?
        .query_row([id.0.as_bytes()], |row| {
            Ok(Subject {
                head: head(row, id)?,
                state: state(row, HEAD_COLUMNS)?,
            })
        })
        .optional()
}

/// What background services get, which one bad row must not stop.
pub(crate) enum Lookup {
    Found(Box<Subject>),
    Gone,
    /// What is stored is none of what this program knows; another version of it may.
    Unreadable,
}

impl Lookup {
    pub(crate) fn found(self) -> Option<Subject> {
        match self {
            Self::Found(subject) => Some(*subject),
            Self::Gone | Self::Unreadable => None,
        }
    }
}

pub(crate) fn look_up(connection: &Connection, id: ExecutionId) -> Result<Lookup> {
    use rusqlite::Error as E;
    match load_subject(connection, id) {
        Ok(Some(subject)) => Ok(Lookup::Found(Box::new(subject))),
        Ok(None) => Ok(Lookup::Gone),
        Err(
            error @ (E::FromSqlConversionFailure(..)
            | E::InvalidColumnType(..)
            | E::IntegralValueOutOfRange(..)),
        ) => {
            tracing::error!(execution_id = %id, %error, "this execution cannot be read and is left alone");
            Ok(Lookup::Unreadable)
        }
        Err(error) => Err(error),
    }
}

const HEAD_COLUMNS: usize = 11;
const EXECUTION_COLUMNS: usize = 27;
const STATE_COLUMNS: usize = 30;

pub(crate) fn loaded(row: &Row<'_>) -> Result<ClaimedExecution> {
    Ok(ClaimedExecution {
        execution: execution(row)?,
        state: state(row, EXECUTION_COLUMNS)?,
    })
}

/// The column after both rows.
pub(crate) const AFTER_LOADED: usize = EXECUTION_COLUMNS + STATE_COLUMNS;

fn head(row: &Row<'_>, id: ExecutionId) -> Result<Head> {
    Ok(Head {
        id,
        schema_id: SchemaId(uuid(row, 0)?),
        schema_version: row.get(1)?,
        status: coded(row, 2, Status::from_code)?,
        priority: coded(row, 3, PriorityClass::from_code)?,
        debug_mode: row.get(4)?,
        base_seq: count(row, 5)?,
        created_at: time(row, 6)?,
        queued_at: optional_time(row, 7)?,
        started_at: optional_time(row, 8)?,
        finished_at: optional_time(row, 9)?,
        quotas: claims(row, 10)?,
    })
}

fn execution(row: &Row<'_>) -> Result<Execution> {
    let head = Head {
        id: ExecutionId(uuid(row, 0)?),
        schema_id: SchemaId(uuid(row, 3)?),
        schema_version: row.get(4)?,
        status: coded(row, 5, Status::from_code)?,
        priority: coded(row, 6, PriorityClass::from_code)?,
        debug_mode: row.get(7)?,
        base_seq: count(row, 16)?,
        created_at: time(row, 17)?,
        queued_at: optional_time(row, 18)?,
        started_at: optional_time(row, 19)?,
        finished_at: optional_time(row, 20)?,
        quotas: claims(row, 24)?,
    };
    let record = Record {
        tenant: row.get(1)?,
        labels: row.get(2)?,
        created_by: row.get(8)?,
        correlation_id: row.get(9)?,
        idempotency_key: row.get(10)?,
        parent_id: optional_uuid(row, 11)?.map(ExecutionId),
        parent_seq: optional_count(row, 12)?,
        child_index: row.get(13)?,
        retry_of: optional_uuid(row, 14)?.map(ExecutionId),
        retried_as: optional_uuid(row, 25)?.map(ExecutionId),
        forked_from: optional_uuid(row, 15)?.map(ExecutionId),
        trial: row.get(26)?,
        initial: row.get(21)?,
        output: row.get(22)?,
        error: row.get(23)?,
    };
    Ok(Execution { head, record })
}

pub(crate) fn bind_execution(
    statement: &mut Statement<'_>,
    execution: &Execution,
    claims: &[QuotaUse],
) -> Result<()> {
    let Execution { head, record } = execution;
    let mut binder = Binder::new(statement);
    binder.put(head.id.0.as_bytes())?;
    binder.put(&record.tenant)?;
    binder.put(&record.labels)?;
    binder.put(head.schema_id.0.as_bytes())?;
    binder.put(head.schema_version)?;
    binder.put(head.status.code())?;
    binder.put(head.priority.code())?;
    binder.put(head.debug_mode)?;
    binder.put(&record.created_by)?;
    binder.put(&record.correlation_id)?;
    binder.put(&record.idempotency_key)?;
    binder.put(record.parent_id.as_ref().map(|id| id.0.as_bytes()))?;
    binder.put(record.parent_seq.map(integer))?;
    binder.put(record.child_index)?;
    binder.put(record.retry_of.as_ref().map(|id| id.0.as_bytes()))?;
    binder.put(record.forked_from.as_ref().map(|id| id.0.as_bytes()))?;
    binder.put(integer(head.base_seq))?;
    binder.put(head.created_at.as_micros())?;
    binder.put(head.queued_at.map(Timestamp::as_micros))?;
    binder.put(head.started_at.map(Timestamp::as_micros))?;
    binder.put(head.finished_at.map(Timestamp::as_micros))?;
    binder.put(&record.initial)?;
    binder.put(&record.output)?;
    binder.put(&record.error)?;
    binder.put(QuotaUse::to_column(claims))?;
    binder.put(record.trial)
}

fn claims(row: &Row<'_>, at: usize) -> Result<Vec<QuotaUse>> {
    let text = row.get_ref(at)?.as_str_or_null()?;
    QuotaUse::from_column(text).map_err(|problem| {
        rusqlite::Error::FromSqlConversionFailure(at, Type::Text, problem.into())
    })
}

fn state(row: &Row<'_>, at: usize) -> Result<State> {
    Ok(State {
        execution_id: ExecutionId(uuid(row, at)?),
        seq: count(row, at + 1)?,
        position: position(row, at + 2, at + 29)?,
        wait: wait(row, at + 9)?,
        hold: optional_coded(row, at + 13, Hold::from_code)?,
        control: optional_coded(row, at + 14, Control::from_code)?,
        inbox: count(row, at + 15)?,
        lease: lease(row, at + 16)?,
        commit_id: optional_uuid(row, at + 19)?,
        recoveries: row.get(at + 20)?,
        interrupted: row.get(at + 21)?,
        debug: DebugMode::from_column(row.get_ref(at + 22)?.as_str_or_null()?),
        deadline_at: time(row, at + 23)?,
        next_sweep_at: optional_time(row, at + 24)?,
        calls_spent: count(row, at + 25)?,
        bytes_spent: count(row, at + 26)?,
        version: count(row, at + 27)?,
        updated_at: time(row, at + 28)?,
    })
}

fn position(row: &Row<'_>, at: usize, last_error: usize) -> Result<Position> {
    Ok(Position {
        node_id: row.get(at)?,
        prev_node_id: row.get(at + 1)?,
        entered_at: time(row, at + 2)?,
        attempt: row.get(at + 3)?,
        attempts: row.get(at + 4)?,
        effect_key: row.get(at + 5)?,
        not_before: optional_time(row, at + 6)?,
        last_error: row.get(last_error)?,
    })
}

fn wait(row: &Row<'_>, at: usize) -> Result<Option<Wait>> {
    let Some(kind) = optional_coded(row, at, WaitKind::from_code)? else {
        return Ok(None);
    };
    Ok(Some(Wait {
        kind,
        id: uuid(row, at + 1)?,
        wake_at: optional_time(row, at + 2)?,
        name: row.get(at + 3)?,
    }))
}

fn lease(row: &Row<'_>, at: usize) -> Result<Option<Lease>> {
    let Some(owner) = row.get(at)? else {
        return Ok(None);
    };
    Ok(Some(Lease {
        owner,
        token: uuid(row, at + 1)?,
        until: time(row, at + 2)?,
    }))
}

/// Binds the columns that inserting and updating a state have in common; returns the place of the next one.
pub(crate) fn bind_state(statement: &mut Statement<'_>, state: &State) -> Result<usize> {
    let mut binder = Binder::new(statement);
    binder.put(state.execution_id.0.as_bytes())?;
    binder.put(integer(state.seq))?;
    bind_position(&mut binder, &state.position)?;
    bind_wait(&mut binder, state.wait.as_ref())?;
    binder.put(state.hold.map(Hold::code))?;
    binder.put(state.control.map(Control::code))?;
    binder.put(integer(state.inbox))?;
    let lease = state.lease.as_ref();
    binder.put(lease.map(|lease| &lease.owner))?;
    binder.put(lease.map(|lease| lease.token.as_bytes()))?;
    binder.put(lease.map(|lease| lease.until.as_micros()))?;
    binder.put(state.commit_id.as_ref().map(Uuid::as_bytes))?;
    binder.put(state.recoveries)?;
    binder.put(state.interrupted)?;
    binder.put(state.debug.to_column())?;
    binder.put(state.deadline_at.as_micros())?;
    binder.put(state.next_sweep_at.map(Timestamp::as_micros))?;
    binder.put(integer(state.calls_spent))?;
    binder.put(integer(state.bytes_spent))?;
    binder.put(integer(state.version))?;
    binder.put(state.updated_at.as_micros())?;
    binder.put(&state.position.last_error)?;
    Ok(binder.bound + 1)
}

fn bind_position(binder: &mut Binder<'_, '_>, position: &Position) -> Result<()> {
    binder.put(&position.node_id)?;
    binder.put(&position.prev_node_id)?;
    binder.put(position.entered_at.as_micros())?;
    binder.put(position.attempt)?;
    binder.put(&position.attempts)?;
    binder.put(&position.effect_key)?;
    binder.put(position.not_before.map(Timestamp::as_micros))
}

fn bind_wait(binder: &mut Binder<'_, '_>, wait: Option<&Wait>) -> Result<()> {
    binder.put(wait.map(|wait| wait.kind.code()))?;
    binder.put(wait.map(|wait| wait.id.as_bytes()))?;
    binder.put(wait.and_then(|wait| wait.wake_at).map(Timestamp::as_micros))?;
    binder.put(wait.and_then(|wait| wait.name.as_ref()))
}

/// A step and the version of the commit that wrote it.
pub(crate) fn step(row: &Row<'_>) -> Result<(Step, u64)> {
    let step = Step {
        seq: count(row, 0)?,
        node_id: row.get(1)?,
        node_type: row.get(2)?,
        prev_node_id: row.get(3)?,
        next_node_id: row.get(4)?,
        input: row.get(5)?,
        output: row.get(6)?,
        changes: row.get(7)?,
        status: coded(row, 8, StepStatus::from_code)?,
        error: row.get(9)?,
        attempts: row.get(10)?,
        started_at: time(row, 11)?,
        finished_at: time(row, 12)?,
        handle: row.get::<_, Option<String>>(14)?.map(Into::into),
    };
    Ok((step, count(row, 13)?))
}

pub(crate) fn bind_step(
    statement: &mut Statement<'_>,
    id: ExecutionId,
    step: &Step,
    version: u64,
) -> Result<()> {
    let mut binder = Binder::new(statement);
    binder.put(id.0.as_bytes())?;
    binder.put(integer(step.seq))?;
    binder.put(&step.node_id)?;
    binder.put(&step.node_type)?;
    binder.put(&step.prev_node_id)?;
    binder.put(&step.next_node_id)?;
    binder.put(&step.input)?;
    binder.put(&step.output)?;
    binder.put(&step.changes)?;
    binder.put(step.status.code())?;
    binder.put(&step.error)?;
    binder.put(&step.attempts)?;
    binder.put(step.started_at.as_micros())?;
    binder.put(step.finished_at.as_micros())?;
    binder.put(integer(version))?;
    binder.put(&step.handle)
}

/// A step without its payloads.
pub(crate) fn outline(row: &Row<'_>) -> Result<StepOutline> {
    Ok(StepOutline {
        seq: count(row, 0)?,
        node_id: row.get(1)?,
        node_type: row.get(2)?,
        next_node_id: row.get(3)?,
        handle: row.get::<_, Option<String>>(4)?.map(Into::into),
        status: coded(row, 5, StepStatus::from_code)?,
        started_at: time(row, 6)?,
        finished_at: time(row, 7)?,
        tries: row.get::<_, u32>(8)?.max(1),
    })
}

pub(crate) fn log(row: &Row<'_>) -> Result<(u64, LogRecord)> {
    let record = LogRecord {
        seq: count(row, 1)?,
        node_id: row.get(2)?,
        level: level(row.get_ref(3)?.as_str()?),
        message: row.get(4)?,
        at: time(row, 5)?,
    };
    Ok((count(row, 0)?, record))
}

fn level(name: &str) -> &'static str {
    ["debug", "info", "warn", "error"]
        .into_iter()
        .find(|known| *known == name)
        .unwrap_or("info")
}

pub(crate) fn signal(row: &Row<'_>) -> Result<Signal> {
    Ok(Signal {
        id: row.get(0)?,
        name: row.get(1)?,
        payload: row.get(2)?,
        consumed_seq: optional_count(row, 3)?,
        created_at: time(row, 4)?,
    })
}

pub(crate) fn uuid(row: &Row<'_>, at: usize) -> Result<Uuid> {
    row.get(at).map(Uuid::from_bytes)
}

pub(crate) fn optional_uuid(row: &Row<'_>, at: usize) -> Result<Option<Uuid>> {
    Ok(row.get::<_, Option<[u8; 16]>>(at)?.map(Uuid::from_bytes))
}

pub(crate) fn time(row: &Row<'_>, at: usize) -> Result<Timestamp> {
    row.get(at).map(Timestamp::from_micros)
}

pub(crate) fn optional_time(row: &Row<'_>, at: usize) -> Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Timestamp::from_micros))
}

/// Counters are never negative; a row that says otherwise is damaged.
pub(crate) fn count(row: &Row<'_>, at: usize) -> Result<u64> {
    let value: i64 = row.get(at)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, value))
}

pub(crate) fn optional_count(row: &Row<'_>, at: usize) -> Result<Option<u64>> {
    match row.get::<_, Option<i64>>(at)? {
        None => Ok(None),
        Some(_) => count(row, at).map(Some),
    }
}

/// SQLite has signed integers only; no counter of ours comes near the difference.
pub(crate) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn coded<T>(row: &Row<'_>, at: usize, decode: fn(i64) -> Option<T>) -> Result<T> {
    let code: i64 = row.get(at)?;
    decode(code).ok_or_else(|| {
        let problem = format!("{code} is no code that this program knows");
        rusqlite::Error::FromSqlConversionFailure(at, Type::Integer, problem.into())
    })
}

fn optional_coded<T>(row: &Row<'_>, at: usize, decode: fn(i64) -> Option<T>) -> Result<Option<T>> {
    match row.get::<_, Option<i64>>(at)? {
        None => Ok(None),
        Some(_) => coded(row, at, decode).map(Some),
    }
}

struct Binder<'a, 'c> {
    statement: &'a mut Statement<'c>,
    bound: usize,
}

impl<'a, 'c> Binder<'a, 'c> {
    fn new(statement: &'a mut Statement<'c>) -> Self {
        Self {
            statement,
            bound: 0,
        }
    }

    fn put(&mut self, value: impl ToSql) -> Result<()> {
        self.bound += 1;
        self.statement.raw_bind_parameter(self.bound, value)
    }
}
