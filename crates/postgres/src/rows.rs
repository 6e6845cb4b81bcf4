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
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::value::{Columns, Plain, Time};

/// Both rows of an execution, whole.
/// Reads the columns of a row from left to right.
pub(crate) struct Reader<'a> {
    row: &'a Row,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(row: &'a Row) -> Self {
        Self { row, at: 0 }
    }

    pub(crate) fn get<T: FromSql<'a>>(&mut self) -> Outcome<T> {
        let value = self.row.try_get(self.at)?;
        self.at += 1;
        Ok(value)
    }

    pub(crate) fn text(&mut self) -> Outcome<String> {
        Ok(self.get::<Plain>()?.0)
    }

    pub(crate) fn optional_text(&mut self) -> Outcome<Option<String>> {
        Ok(self.get::<Option<Plain>>()?.map(|text| text.0))
    }

    pub(crate) fn time(&mut self) -> Outcome<Timestamp> {
        Ok(self.get::<Time>()?.0)
    }

    pub(crate) fn optional_time(&mut self) -> Outcome<Option<Timestamp>> {
        Ok(self.get::<Option<Time>>()?.map(|time| time.0))
    }

    /// Counters are never negative; a row that says otherwise is damaged.
    pub(crate) fn count(&mut self) -> Outcome<u64> {
        let value: i64 = self.get()?;
        u64::try_from(value).map_err(|_| damaged(format!("{value} is no count")))
    }

    pub(crate) fn optional_count(&mut self) -> Outcome<Option<u64>> {
        match self.get::<Option<i64>>()? {
            None => Ok(None),
            Some(value) => u64::try_from(value)
                .map(Some)
                .map_err(|_| damaged(format!("{value} is no count"))),
        }
    }

    pub(crate) fn number(&mut self) -> Outcome<u32> {
        let value: i32 = self.get()?;
        u32::try_from(value).map_err(|_| damaged(format!("{value} is no count")))
    }

    /// The quotas that an execution counts against.
    fn claims(&mut self) -> Outcome<Vec<QuotaUse>> {
        let text = self.optional_text()?;
        QuotaUse::from_column(text.as_deref()).map_err(damaged)
    }

    fn optional_code<T>(&mut self, decode: fn(i64) -> Option<T>) -> Outcome<Option<T>> {
        match self.get::<Option<i16>>()? {
            None => Ok(None),
            Some(code) => decode(code.into())
                .map(Some)
                .ok_or_else(|| damaged(format!("{code} is no code that this program knows"))),
        }
    }

    pub(crate) fn code<T>(&mut self, decode: fn(i64) -> Option<T>) -> Outcome<T> {
        self.optional_code(decode)?
            .ok_or_else(|| damaged("a code is missing".into()))
    }
}

fn damaged(problem: String) -> Fault {
    Fault::Corrupt(problem)
}

pub(crate) fn loaded(row: &Row) -> Outcome<ClaimedExecution> {
    let mut reader = Reader::new(row);
    Ok(ClaimedExecution {
        execution: execution(&mut reader)?,
        state: state(&mut reader)?,
    })
}

/// Both rows and the schema's name.
pub(crate) fn viewed(row: &Row) -> Outcome<(ClaimedExecution, String)> {
    let mut reader = Reader::new(row);
    let loaded = ClaimedExecution {
        execution: execution(&mut reader)?,
        state: state(&mut reader)?,
    };
    Ok((loaded, reader.text()?))
}

/// What decisions look at: this is read with every commit.
pub(crate) fn subject(row: &Row) -> Outcome<Subject> {
    let mut reader = Reader::new(row);
    let mut head = Head {
        id: ExecutionId(Uuid::nil()),
        schema_id: SchemaId(reader.get()?),
        schema_version: reader.number()?,
        status: reader.code(Status::from_code)?,
        priority: reader.code(PriorityClass::from_code)?,
        debug_mode: reader.get()?,
        base_seq: reader.count()?,
        created_at: reader.time()?,
        queued_at: reader.optional_time()?,
        started_at: reader.optional_time()?,
        finished_at: reader.optional_time()?,
        quotas: reader.claims()?,
    };
    let state = state(&mut reader)?;
    head.id = state.execution_id;
    Ok(Subject { head, state })
}

fn execution(reader: &mut Reader<'_>) -> Outcome<Execution> {
    // In the order of the columns.
    let id = ExecutionId(reader.get()?);
    let tenant = reader.optional_text()?;
    let labels = reader.optional_text()?;
    let schema_id = SchemaId(reader.get()?);
    let schema_version = reader.number()?;
    let status = reader.code(Status::from_code)?;
    let priority = reader.code(PriorityClass::from_code)?;
    let debug_mode = reader.get()?;
    let created_by = reader.text()?;
    let correlation_id = reader.text()?;
    let idempotency_key = reader.optional_text()?;
    let parent_id = reader.get::<Option<Uuid>>()?.map(ExecutionId);
    let parent_seq = reader.optional_count()?;
    let child_index = reader
        .optional_count()?
        .map(|index| u32::try_from(index).unwrap_or(u32::MAX));
    let retry_of = reader.get::<Option<Uuid>>()?.map(ExecutionId);
    let forked_from = reader.get::<Option<Uuid>>()?.map(ExecutionId);
    let base_seq = reader.count()?;
    let created_at = reader.time()?;
    let queued_at = reader.optional_time()?;
    let started_at = reader.optional_time()?;
    let finished_at = reader.optional_time()?;
    let initial = reader.text()?.into();
    let output = reader.optional_text()?;
    let error = reader.optional_text()?;
    let quotas = reader.claims()?;
    let retried_as = reader.get::<Option<Uuid>>()?.map(ExecutionId);
    let trial = reader.get()?;
    let head = Head {
        id,
        schema_id,
        schema_version,
        status,
        priority,
        debug_mode,
        base_seq,
        created_at,
        queued_at,
        started_at,
        finished_at,
        quotas,
    };
    let record = Record {
        tenant,
        labels,
        created_by,
        correlation_id,
        idempotency_key,
        parent_id,
        parent_seq,
        child_index,
        retry_of,
        retried_as,
        forked_from,
        trial,
        initial,
        output,
        error,
    };
    Ok(Execution { head, record })
}

pub(crate) fn put_execution<'a>(columns: &mut Columns<'a>, execution: &'a Execution) {
    let Execution { head, record } = execution;
    columns.uuid(head.id.0);
    columns.text(record.tenant.as_deref());
    columns.text(record.labels.as_deref());
    columns.uuid(head.schema_id.0);
    columns.int(head.schema_version);
    columns.code(head.status.code());
    columns.code(head.priority.code());
    columns.bool(head.debug_mode);
    columns.text(record.created_by.as_str());
    columns.text(record.correlation_id.as_str());
    columns.text(record.idempotency_key.as_deref());
    columns.uuid(record.parent_id.map(|id| id.0));
    columns.count(record.parent_seq);
    columns.count(record.child_index.map(u64::from));
    columns.uuid(record.retry_of.map(|id| id.0));
    columns.uuid(record.forked_from.map(|id| id.0));
    columns.count(head.base_seq);
    columns.time(head.created_at);
    columns.time(head.queued_at);
    columns.time(head.started_at);
    columns.time(head.finished_at);
    columns.text(&*record.initial);
    columns.text(record.output.as_deref());
    columns.text(record.error.as_deref());
    columns.bool(record.trial);
}

fn state(reader: &mut Reader<'_>) -> Outcome<State> {
    let mut state = State {
        execution_id: ExecutionId(reader.get()?),
        seq: reader.count()?,
        position: position(reader)?,
        wait: wait(reader)?,
        hold: reader.optional_code(Hold::from_code)?,
        control: reader.optional_code(Control::from_code)?,
        inbox: reader.count()?,
        lease: lease(reader)?,
        commit_id: reader.get()?,
        recoveries: reader.number()?,
        interrupted: reader.get()?,
        debug: DebugMode::from_column(reader.optional_text()?.as_deref()),
        deadline_at: reader.time()?,
        next_sweep_at: reader.optional_time()?,
        calls_spent: reader.count()?,
        bytes_spent: reader.count()?,
        version: reader.count()?,
        updated_at: reader.time()?,
    };
    state.position.last_error = reader.optional_text()?;
    Ok(state)
}

fn position(reader: &mut Reader<'_>) -> Outcome<Position> {
    Ok(Position {
        node_id: reader.text()?.into(),
        prev_node_id: reader.optional_text()?.map(Into::into),
        entered_at: reader.time()?,
        attempt: reader.number()?,
        attempts: reader.optional_text()?,
        effect_key: reader.optional_text()?,
        not_before: reader.optional_time()?,
        last_error: None,
    })
}

fn wait(reader: &mut Reader<'_>) -> Outcome<Option<Wait>> {
    let kind = reader.optional_code(WaitKind::from_code)?;
    let id: Option<Uuid> = reader.get()?;
    let wake_at = reader.optional_time()?;
    let name = reader.optional_text()?;
    let Some(kind) = kind else { return Ok(None) };
    let id = id.ok_or_else(|| damaged("a wait has no id".into()))?;
    Ok(Some(Wait {
        kind,
        id,
        wake_at,
        name,
    }))
}

fn lease(reader: &mut Reader<'_>) -> Outcome<Option<Lease>> {
    let owner = reader.optional_text()?;
    let token: Option<Uuid> = reader.get()?;
    let until = reader.optional_time()?;
    match (owner, token, until) {
        (Some(owner), Some(token), Some(until)) => Ok(Some(Lease {
            owner,
            token,
            until,
        })),
        (None, None, None) => Ok(None),
        _ => Err(damaged("a lease is incomplete".into())),
    }
}

pub(crate) fn put_state<'a>(columns: &mut Columns<'a>, state: &'a State) {
    columns.uuid(state.execution_id.0);
    columns.count(state.seq);
    put_position(columns, &state.position);
    put_wait(columns, state.wait.as_ref());
    columns.code(state.hold.map(Hold::code));
    columns.code(state.control.map(Control::code));
    columns.count(state.inbox);
    let lease = state.lease.as_ref();
    columns.text(lease.map(|lease| lease.owner.as_str()));
    columns.uuid(lease.map(|lease| lease.token));
    columns.time(lease.map(|lease| lease.until));
    columns.uuid(state.commit_id);
    columns.int(state.recoveries);
    columns.bool(state.interrupted);
    columns.owned_text(state.debug.to_column());
    columns.time(state.deadline_at);
    columns.time(state.next_sweep_at);
    columns.count(state.calls_spent);
    columns.count(state.bytes_spent);
    columns.count(state.version);
    columns.time(state.updated_at);
    columns.text(state.position.last_error.as_deref());
}

fn put_position<'a>(columns: &mut Columns<'a>, position: &'a Position) {
    columns.text(&*position.node_id);
    columns.text(position.prev_node_id.as_deref());
    columns.time(position.entered_at);
    columns.int(position.attempt);
    columns.text(position.attempts.as_deref());
    columns.text(position.effect_key.as_deref());
    columns.time(position.not_before);
}

fn put_wait<'a>(columns: &mut Columns<'a>, wait: Option<&'a Wait>) {
    columns.code(wait.map(|wait| wait.kind.code()));
    columns.uuid(wait.map(|wait| wait.id));
    columns.time(wait.and_then(|wait| wait.wake_at));
    columns.text(wait.and_then(|wait| wait.name.as_deref()));
}

/// A step and the version of the commit that wrote it.
pub(crate) fn step(row: &Row) -> Outcome<(Step, u64)> {
    let mut reader = Reader::new(row);
    let step = Step {
        seq: reader.count()?,
        node_id: reader.text()?.into(),
        node_type: reader.text()?.into(),
        prev_node_id: reader.optional_text()?.map(Into::into),
        next_node_id: reader.optional_text()?.map(Into::into),
        input: reader.optional_text()?,
        output: reader.optional_text()?,
        changes: reader.optional_text()?,
        status: reader.code(StepStatus::from_code)?,
        error: reader.optional_text()?,
        attempts: reader.optional_text()?,
        started_at: reader.time()?,
        finished_at: reader.time()?,
        handle: None,
    };
    let version = reader.count()?;
    let handle = reader.optional_text()?.map(Into::into);
    Ok((Step { handle, ..step }, version))
}

pub(crate) fn put_step<'a>(
    columns: &mut Columns<'a>,
    id: ExecutionId,
    step: &'a Step,
    version: u64,
) {
    columns.uuid(id.0);
    columns.count(step.seq);
    columns.text(&*step.node_id);
    columns.text(&*step.node_type);
    columns.text(step.prev_node_id.as_deref());
    columns.text(step.next_node_id.as_deref());
    columns.text(step.input.as_deref());
    columns.text(step.output.as_deref());
    columns.text(step.changes.as_deref());
    columns.code(step.status.code());
    columns.text(step.error.as_deref());
    columns.text(step.attempts.as_deref());
    columns.time(step.started_at);
    columns.time(step.finished_at);
    columns.count(version);
    columns.text(step.handle.as_deref());
}

/// A step without its payloads.
pub(crate) fn outline(row: &Row) -> Outcome<StepOutline> {
    let mut reader = Reader::new(row);
    Ok(StepOutline {
        seq: reader.count()?,
        node_id: reader.text()?.into(),
        node_type: reader.text()?.into(),
        next_node_id: reader.optional_text()?.map(Into::into),
        handle: reader.optional_text()?.map(Into::into),
        status: reader.code(StepStatus::from_code)?,
        started_at: reader.time()?,
        finished_at: reader.time()?,
        tries: reader.number()?.max(1),
    })
}

pub(crate) fn log(row: &Row) -> Outcome<(u64, LogRecord)> {
    let mut reader = Reader::new(row);
    let number = reader.count()?;
    let record = LogRecord {
        seq: reader.count()?,
        node_id: reader.text()?.into(),
        level: level(&reader.text()?),
        message: reader.text()?,
        at: reader.time()?,
    };
    Ok((number, record))
}

fn level(name: &str) -> &'static str {
    ["debug", "info", "warn", "error"]
        .into_iter()
        .find(|known| *known == name)
        .unwrap_or("info")
}

/// A signal and its place among the others.
pub(crate) fn arrived_signal(row: &Row) -> Outcome<(u64, Signal)> {
    let mut reader = Reader::new(row);
    let signal = read_signal(&mut reader)?;
    Ok((reader.count()?, signal))
}

pub(crate) fn signal(row: &Row) -> Outcome<Signal> {
    read_signal(&mut Reader::new(row))
}

fn read_signal(reader: &mut Reader<'_>) -> Outcome<Signal> {
    Ok(Signal {
        id: reader.text()?,
        name: reader.text()?,
        payload: reader.text()?,
        consumed_seq: reader.optional_count()?,
        created_at: reader.time()?,
    })
}
