//! The step protocol on PostgreSQL: lock, load, ask the lifecycle, write.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use futures_util::future::{join, join3};
use pawl_kernel::execution::Signal;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{self, ClaimDecision, ClaimRequest, Skip};
use pawl_kernel::operations::decide_claims;
use pawl_kernel::ports::store::{
    Beat, Claim, ClaimedExecution, CommitError, CreateOutcome, ExecutionStore, History,
    NewExecution, Probe, StoreResult,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{CommitReport, Decision, Snapshot, Transition};
use uuid::Uuid;

use crate::changes;
use crate::error::Outcome;
use crate::hot::{CacheRow, RowCache};
use crate::rows::{self, Reader};
use crate::session::Session;
use crate::value::Time;
use crate::{PostgresStore, sql};

#[async_trait]
impl ExecutionStore for PostgresStore {
    async fn create(&self, new: NewExecution) -> StoreResult<CreateOutcome> {
        self.committers.create(new).await
    }

    async fn claim(&self, requests: Vec<ClaimRequest>, now: Timestamp) -> StoreResult<Vec<Claim>> {
        let (hot, shards) = (self.hot.clone(), self.shards);
        let done = self.writers.run(move |session| async move {
            let mut taken = claim_by_guess(&session, &requests, &hot, now, shards).await?;
            let rest = requests
                .iter()
                .filter(|request| !taken.contains_key(&request.lease.token));
            let rest: Vec<&ClaimRequest> = rest.collect();
            let mut slow = Vec::new().into_iter();
            if !rest.is_empty() {
                let (claims, taken) = claim_or_go_around(&session, &rest, now, shards).await?;
                taken.into_iter().for_each(|row| hot.remember(row));
                slow = claims.into_iter();
            }
            let claims = requests.iter().filter_map(|request| {
                let guessed = taken.remove(&request.lease.token);
                guessed.or_else(|| slow.next())
            });
            Ok(claims.collect())
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn commit(&self, transition: Transition) -> Result<CommitReport, CommitError> {
        self.committers.commit(transition).await
    }

    async fn probe(&self, id: ExecutionId) -> StoreResult<Option<Probe>> {
        let done = self.vital.run(move |session| async move {
            let rows = session.alone(&sql::EXECUTION_LOAD_HEAD, &[&id.0]).await?;
            rows.first()
                .map(|row| rows::subject(row).map(|row| Probe::of(&row.head, &row.state)))
                .transpose()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn heartbeat(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        until: Timestamp,
    ) -> StoreResult<Vec<Beat>> {
        let done = self
            .vital
            .run(move |session| async move { beat(&session, &leases, until).await });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn open_signals(&self, id: ExecutionId) -> StoreResult<(u64, Vec<Signal>)> {
        let done = self
            .readers
            .run(move |session| async move { open_signals(&session, id).await });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn history(&self, id: ExecutionId, seq: u64) -> StoreResult<History> {
        let done = self
            .readers
            .run(move |session| async move { history(&session, id, seq).await });
        done.await.map_err(|fault| fault.of_read())
    }
}

/// What this worker has just handed on is taken with one statement. Returns what was taken, by the token of its lease;
/// whatever was not as guessed is left to [`claim`].
async fn claim_by_guess(
    session: &Session,
    requests: &[ClaimRequest],
    hot: &RowCache,
    now: Timestamp,
    shards: u32,
) -> Outcome<HashMap<Uuid, Claim>> {
    let decide = |request: &ClaimRequest| {
        let (before, record) = hot.take_for(request)?;
        let ClaimDecision::Take(change) =
            lifecycle::claim(&before.head, &before.state, request, now)
        else {
            return None;
        };
        let change = *change;
        let decision = Decision { before, change };
        let plain = changes::is_plain(&decision);
        plain.then(|| (decision.id(), (request.lease.token, decision, record)))
    };
    let guessed: BTreeMap<_, _> = requests.iter().filter_map(decide).collect();
    if guessed.is_empty() {
        return Ok(HashMap::new());
    }
    let decided: Vec<&Decision> = guessed.values().map(|(_, decision, _)| decision).collect();
    let done = match changes::write(session, &decided, shards, true).await {
        Ok(done) => done,
        // One of them is locked: which, is found out by the other way.
        Err(fault) if fault.is_lock_timeout() => return Ok(HashMap::new()),
        Err(fault) => return Err(fault),
    };
    let written = guessed.into_iter().filter(|(id, _)| done.contains(id));
    let claims = written.map(|(_, (token, decision, record))| {
        let claimed = ClaimedExecution::of(decision, record);
        hot.remember(CacheRow::of_claim(&claimed));
        (token, Claim::Taken(Box::new(claimed)))
    });
    Ok(claims.collect())
}

/// A row that another transaction has locked for long keeps no other claim waiting.
async fn claim_or_go_around(
    session: &Session,
    requests: &[&ClaimRequest],
    now: Timestamp,
    shards: u32,
) -> Outcome<(Vec<Claim>, Vec<CacheRow>)> {
    match claim(session, requests, now, shards).await {
        Err(fault) if fault.is_lock_timeout() => session.roll_back().await?,
        done => return done,
    }
    let ids: Vec<Uuid> = requests.iter().map(|one| one.execution_id.0).collect();
    let free = session.alone(&sql::STATES_FREE, &[&ids]).await?;
    let free = free
        .iter()
        .map(|row| Ok(ExecutionId(row.try_get(0)?)))
        .collect::<Outcome<HashSet<ExecutionId>>>()?;
    let is_free = |request: &&&ClaimRequest| free.contains(&request.execution_id);
    let left: Vec<&ClaimRequest> = requests.iter().filter(is_free).copied().collect();
    let (claims, rows) = match left.is_empty() {
        true => (Vec::new(), Vec::new()),
        false => claim(session, &left, now, shards).await?,
    };
    let mut claims = claims.into_iter();
    let busy = || Claim::Skipped(Skip::Busy);
    let answer = |request: &&ClaimRequest| match is_free(&request) {
        true => claims.next().unwrap_or_else(busy),
        false => busy(),
    };
    Ok((requests.iter().map(answer).collect(), rows))
}

/// One message may be there twice; only the first can take the lease.
async fn claim(
    session: &Session,
    requests: &[&ClaimRequest],
    now: Timestamp,
    shards: u32,
) -> Outcome<(Vec<Claim>, Vec<CacheRow>)> {
    let mut ids: Vec<Uuid> = requests
        .iter()
        .map(|request| request.execution_id.0)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    session
        .ready(&[&sql::STATES_LOCK, &sql::EXECUTIONS_LOAD])
        .await?;
    let (begun, locked, rows) = join3(
        session.begin(),
        session.rows(&sql::STATES_LOCK, &[&ids]),
        session.rows(&sql::EXECUTIONS_LOAD, &[&ids]),
    )
    .await;
    begun?;
    locked?;
    let rows = rows?
        .iter()
        .map(|row| rows::loaded(row).map(|loaded| (loaded.state.execution_id, loaded)))
        .collect::<Outcome<_>>()?;
    let (claims, mut decided) = decide_claims(rows, requests.iter().copied(), now);
    decided.sort_unstable_by_key(Decision::id);
    changes::write_all(session, &decided, shards).await?;
    let taken = claims.iter().filter_map(|claim| match claim {
        Claim::Taken(claimed) => Some(CacheRow::of_claim(claimed)),
        Claim::Ended(_) | Claim::Skipped(_) => None,
    });
    let taken = taken.collect();
    Ok((claims, taken))
}

/// Rows that are locked just now are being committed, which renews them; they only must not be taken for lost.
async fn beat(
    session: &Session,
    leases: &[(ExecutionId, Uuid)],
    until: Timestamp,
) -> Outcome<Vec<Beat>> {
    let mut sorted = leases.to_vec();
    sorted.sort_unstable();
    let ids: Vec<Uuid> = sorted.iter().map(|(id, _)| id.0).collect();
    let tokens: Vec<Uuid> = sorted.iter().map(|(_, token)| *token).collect();
    let until = Time(until);
    let rows = session
        .alone(&sql::STATE_HEARTBEAT, &[&ids, &tokens, &until])
        .await?;
    let mut beats = rows.iter().map(read_beat).collect::<Outcome<Vec<Beat>>>()?;
    if beats.len() < sorted.len() {
        let held = session.alone(&sql::STATE_HELD, &[&ids, &tokens]).await?;
        for row in &held {
            let beat = read_beat(row)?;
            if !beats.iter().any(|known| known.token == beat.token) {
                beats.push(beat);
            }
        }
    }
    // In the order asked.
    let place: HashMap<Uuid, usize> = leases.iter().map(|(_, token)| *token).zip(0..).collect();
    beats.sort_unstable_by_key(|beat| place.get(&beat.token).copied());
    Ok(beats)
}

fn read_beat(row: &tokio_postgres::Row) -> Outcome<Beat> {
    let mut reader = Reader::new(row);
    Ok(Beat {
        execution_id: ExecutionId(reader.get()?),
        token: reader.get()?,
        stop_requested: reader.get()?,
        until: reader.time()?,
    })
}

/// The count is read first: a signal that comes in between is one too many, and the commit will say so.
async fn open_signals(session: &Session, id: ExecutionId) -> Outcome<(u64, Vec<Signal>)> {
    let rows = session.alone(&sql::STATE_INBOX, &[&id.0]).await?;
    let inbox = match rows.first() {
        Some(row) => Reader::new(row).count()?,
        None => 0,
    };
    let rows = session.alone(&sql::SIGNALS_OPEN, &[&id.0]).await?;
    let signals = rows.iter().map(rows::signal).collect::<Outcome<_>>()?;
    Ok((inbox, signals))
}

async fn history(session: &Session, id: ExecutionId, seq: u64) -> Outcome<History> {
    let up_to = i64::try_from(seq).unwrap_or(i64::MAX);
    let kinds = [&sql::SNAPSHOT_NEWEST, &sql::STEPS_SINCE_SNAPSHOT];
    session.ready(&kinds).await?;
    // A snapshot is written with the last step it contains: none comes later for steps that are there already, so both
    // statements see the same newest one.
    let (snapshot, steps) = join(
        session.alone(&sql::SNAPSHOT_NEWEST, &[&id.0, &up_to]),
        session.alone(&sql::STEPS_SINCE_SNAPSHOT, &[&id.0, &up_to]),
    )
    .await;
    let (rows, steps) = (snapshot?, steps?);
    let snapshot = match rows.first() {
        None => None,
        Some(row) => {
            let mut reader = Reader::new(row);
            Some(Snapshot {
                seq: reader.count()?,
                context: reader.text()?,
            })
        }
    };
    let steps = steps
        .iter()
        .map(|row| rows::step(row).map(|(step, _)| step))
        .collect::<Outcome<_>>()?;
    Ok(History { snapshot, steps })
}
