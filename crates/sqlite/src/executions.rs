//! The step protocol on SQLite: load, ask the lifecycle, write, in one job of the writer.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use pawl_kernel::execution::{Head, Signal, Subject};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{self, ClaimRequest, CommitRefusal};
use pawl_kernel::operations::decide_claims;
use pawl_kernel::ports::store::{
    Beat, Claim, CommitError, CreateOutcome, ExecutionStore, History, NewExecution, Probe,
    StoreResult,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{CommitReport, Decision, Snapshot, Transition};
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use crate::fault::{Fault, JobResult};
use crate::hot;
use crate::rows::{self, integer};
use crate::{SqliteStore, changes, deferred, quotas, sql};

#[async_trait]
impl ExecutionStore for SqliteStore {
    async fn create(&self, new: NewExecution) -> StoreResult<CreateOutcome> {
        let (new, shards) = (Arc::new(new), self.shards);
        self.writer
            .run(move |connection| create(connection, &new, shards))
            .await
    }

    async fn claim(&self, requests: Vec<ClaimRequest>, now: Timestamp) -> StoreResult<Vec<Claim>> {
        let shards = self.shards;
        self.writer
            .run(move |connection| claim(connection, &requests, now, shards))
            .await
    }

    async fn commit(&self, transition: Transition) -> Result<CommitReport, CommitError> {
        let (id, shards) = (transition.execution_id, self.shards);
        self.writer
            .run_behind(id, move |connection| {
                commit(connection, &transition, shards)
            })
            .await?
            .map_err(CommitError::Refused)
    }

    async fn probe(&self, id: ExecutionId) -> StoreResult<Option<Probe>> {
        self.readers
            .run(move |connection| {
                let subject = rows::load_subject(connection, id)?;
                Ok(subject.map(|row| Probe::of(&row.head, &row.state)))
            })
            .await
    }

    async fn heartbeat(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        until: Timestamp,
    ) -> StoreResult<Vec<Beat>> {
        self.writer
            .run(move |connection| {
                let beat = |lease: &(_, _)| beat(connection, lease, until).transpose();
                leases.iter().filter_map(beat).collect()
            })
            .await
    }

    async fn open_signals(&self, id: ExecutionId) -> StoreResult<(u64, Vec<Signal>)> {
        self.readers
            .run_at_once(move |connection| open_signals(connection, id))
            .await
    }

    async fn history(&self, id: ExecutionId, seq: u64) -> StoreResult<History> {
        self.readers
            .run_at_once(move |connection| history(connection, id, seq))
            .await
    }
}

fn create(
    connection: &mut Connection,
    new: &Arc<NewExecution>,
    shards: u32,
) -> JobResult<CreateOutcome> {
    if deferred::is_plain(new) {
        deferred::hold(new.clone());
        return Ok(CreateOutcome::New);
    }
    if let Some(refusal) = already_retried(connection, new)? {
        return Ok(refusal);
    }
    let entry = quotas::enter(connection, new, shards)?;
    let (written, claims) = match &entry {
        Some(entry) => (&*entry.new, entry.new.execution.head.quotas.as_slice()),
        None => (&**new, &[][..]),
    };
    if changes::create(connection, written, claims, shards)? {
        hot::remember(Subject {
            head: Head {
                quotas: claims.to_vec(),
                ..written.execution.head.clone()
            },
            state: written.state.clone(),
        });
        return match entry {
            Some(entry) => entry.write(connection, shards),
            None => Ok(CreateOutcome::New),
        };
    }
    by_key(connection, new)?
        .ok_or_else(|| Fault::Corrupt("a key is taken, and no execution has it".into()))
}

fn by_key(connection: &Connection, new: &NewExecution) -> JobResult<Option<CreateOutcome>> {
    let id = connection
        .prepare_cached(sql::EXECUTION_BY_KEY)?
        .query_row([&new.execution.record.idempotency_key], |row| {
            rows::uuid(row, 0)
        })
        .optional()?;
    Ok(id.map(|id| CreateOutcome::Existing(ExecutionId(id))))
}

/// A second retry of one execution, unless it is asked for as such. The key counts first: its answer never changes.
fn already_retried(
    connection: &Connection,
    new: &NewExecution,
) -> JobResult<Option<CreateOutcome>> {
    let Some(origin) = new.execution.record.retry_of.filter(|_| !new.again) else {
        return Ok(None);
    };
    let before = connection
        .prepare_cached(sql::EXECUTION_RETRIED_AS)?
        .query_row([origin.0.as_bytes()], |row| rows::optional_uuid(row, 0))
        .optional()?
        .flatten();
    let Some(before) = before else {
        return Ok(None);
    };
    let known = by_key(connection, new)?;
    Ok(known.or(Some(CreateOutcome::AlreadyRetried(ExecutionId(before)))))
}

fn claim(
    connection: &mut Connection,
    requests: &[ClaimRequest],
    now: Timestamp,
    shards: u32,
) -> JobResult<Vec<Claim>> {
    let mut found = HashMap::new();
    for id in requests.iter().map(|request| request.execution_id) {
        let row = rows::load(connection, id)?;
        found.extend(row.map(|row| (id, row)));
    }
    let (claims, decisions) = decide_claims(found, requests, now);
    for decision in &decisions {
        changes::write(connection, decision, shards)?;
    }
    Ok(claims)
}

fn commit(
    connection: &mut Connection,
    transition: &Transition,
    shards: u32,
) -> JobResult<Result<CommitReport, CommitRefusal>> {
    let id = transition.execution_id;
    if let Some(new) = deferred::take(id) {
        return create_committed(connection, &new, transition, shards);
    }
    let known = match hot::take(id) {
        Some(known) => Some(known),
        None => rows::load_subject(connection, id)?,
    };
    let Some(before) = known else {
        return Ok(Err(CommitRefusal::Fenced));
    };
    // A copy, because the job may have to run again.
    let transition = transition.clone();
    match lifecycle::commit(&before.head, &before.state, transition) {
        Err(refusal) => Ok(Err(refusal)),
        Ok(change) => {
            let decision = Decision { before, change };
            changes::write(connection, &decision, shards)?;
            let outcome = decision.change.outcome();
            hot::remember(decision.after());
            Ok(Ok(outcome))
        }
    }
}

/// A create that the writer held back, and the commit behind it: decided on the row as it would have been inserted, and
/// inserted as the decision leaves it.
fn create_committed(
    connection: &Connection,
    new: &NewExecution,
    first: &Transition,
    shards: u32,
) -> JobResult<Result<CommitReport, CommitRefusal>> {
    match lifecycle::commit(&new.execution.head, &new.state, first.clone()) {
        Err(refusal) => {
            deferred::insert(connection, new)?;
            Ok(Err(refusal))
        }
        Ok(change) => {
            let execution = change.execution_after(new.execution.clone());
            changes::create_changed(connection, &execution, &change, shards)?;
            let outcome = change.outcome();
            hot::remember(Subject {
                head: execution.head,
                state: change.state,
            });
            Ok(Ok(outcome))
        }
    }
}

fn beat(
    connection: &Connection,
    (id, token): &(ExecutionId, Uuid),
    until: Timestamp,
) -> JobResult<Option<Beat>> {
    hot::forget(*id);
    let beat = connection
        .prepare_cached(sql::STATE_HEARTBEAT)?
        .query_row(
            params![id.0.as_bytes(), token.as_bytes(), until.as_micros()],
            |row| {
                Ok(Beat {
                    execution_id: *id,
                    token: *token,
                    stop_requested: row.get(0)?,
                    until: Timestamp::from_micros(row.get(1)?),
                })
            },
        )
        .optional()?;
    Ok(beat)
}

fn open_signals(connection: &Connection, id: ExecutionId) -> JobResult<(u64, Vec<Signal>)> {
    let inbox = connection
        .prepare_cached(sql::STATE_INBOX)?
        .query_row([id.0.as_bytes()], |row| rows::count(row, 0))
        .optional()?;
    let mut statement = connection.prepare_cached(sql::SIGNALS_OPEN)?;
    let signals = statement.query_map([id.0.as_bytes()], rows::signal)?;
    Ok((inbox.unwrap_or(0), signals.collect::<Result<_, _>>()?))
}

fn history(connection: &Connection, id: ExecutionId, seq: u64) -> JobResult<History> {
    let snapshot = connection
        .prepare_cached(sql::SNAPSHOT_NEWEST)?
        .query_row(params![id.0.as_bytes(), integer(seq)], |row| {
            Ok(Snapshot {
                seq: rows::count(row, 0)?,
                context: row.get(1)?,
            })
        })
        .optional()?;
    let after = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
    let mut statement = connection.prepare_cached(sql::STEPS_BETWEEN)?;
    let range = params![id.0.as_bytes(), integer(after), integer(seq), -1];
    let steps = statement.query_map(range, |row| rows::step(row).map(|(step, _)| step))?;
    let steps = steps.collect::<Result<_, _>>().map_err(Fault::from)?;
    Ok(History { snapshot, steps })
}
