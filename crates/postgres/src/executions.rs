//! The step protocol on PostgreSQL: lock, load, ask the lifecycle, write.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use futures_util::future::{join, join3};
use pawl_kernel::execution::{Signal, Subject};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{self, ClaimDecision, ClaimRequest, Command, Refusal, Release, Skip};
use pawl_kernel::ports::store::{
    Beat, Claim, Claimed, CommandApplied, CommandError, CommitError, Created, Dispatch,
    ExecutionStore, History, NewExecution, Probe, StoreResult,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{Applied, Change, Decision, Snapshot, Transition};
use uuid::Uuid;

use crate::changes;
use crate::error::{Fault, Outcome};
use crate::heads::{lock_free_heads, lock_heads};
use crate::hot::{CacheRow, Hot};
use crate::rows::{self, Loaded, Reader};
use crate::session::Session;
use crate::value::{Text, Time};
use crate::{PostgresStore, sql};

#[async_trait]
impl ExecutionStore for PostgresStore {
    async fn create(&self, new: NewExecution) -> StoreResult<Created> {
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

    async fn commit(&self, transition: Transition) -> Result<Applied, CommitError> {
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

    async fn release(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        how: Release,
        now: Timestamp,
    ) -> StoreResult<Vec<Dispatch>> {
        let ids = leases.iter().map(|(id, _)| id.0).collect();
        // Of one execution there may be a lease that is lost and one that is held.
        let decide = move |row: &Subject| {
            let mine = leases.iter().filter(|(id, _)| *id == row.head.id);
            mine.map(|(_, token)| *token)
                .find_map(|token| lifecycle::release(&row.head, &row.state, token, how, now))
        };
        let decided = self.decide(ids, decide).await?;
        Ok(decided.iter().filter_map(Decision::dispatch).collect())
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

    async fn command(
        &self,
        id: ExecutionId,
        command: Command,
        now: Timestamp,
    ) -> Result<CommandApplied, CommandError> {
        let shards = self.shards;
        let done = self
            .writers
            .run(move |session| async move { obey(&session, id, &command, now, shards).await });
        Ok(done.await.map_err(|fault| fault.of_write())??)
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

impl PostgresStore {
    /// Lets the lifecycle decide about executions and writes what it says, in one transaction.
    pub(crate) async fn decide<D>(&self, ids: Vec<Uuid>, decide: D) -> StoreResult<Vec<Decision>>
    where
        D: Fn(&Subject) -> Option<Change> + Send + Sync + 'static,
    {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let shards = self.shards;
        let done = self.vital.run(move |session| async move {
            let rows = lock_heads(&session, ids).await?;
            let decided = decide_all(rows, decide);
            changes::write_all(&session, &decided, shards).await?;
            Ok(decided)
        });
        done.await.map_err(|fault| fault.of_write())
    }

    /// The same for those that nobody has locked.
    pub(crate) async fn decide_free<D>(
        &self,
        ids: Vec<Uuid>,
        decide: D,
    ) -> StoreResult<Vec<Decision>>
    where
        D: Fn(&Subject) -> Option<Change> + Send + Sync + 'static,
    {
        let shards = self.shards;
        let done = self.vital.run(move |session| async move {
            session.begin().await?;
            let free = lock_free_heads(&session, ids).await?;
            let decided = decide_all(free.rows, decide);
            changes::write_all(&session, &decided, shards).await?;
            Ok(decided)
        });
        done.await.map_err(|fault| fault.of_write())
    }
}

/// In id order, which is the order of writing.
pub(crate) fn decide_all(
    rows: HashMap<ExecutionId, Subject>,
    decide: impl Fn(&Subject) -> Option<Change>,
) -> Vec<Decision> {
    let mut decided: Vec<Decision> = rows
        .into_values()
        .filter_map(|before| {
            let change = decide(&before)?;
            Some(Decision { before, change })
        })
        .collect();
    decided.sort_unstable_by_key(Decision::id);
    decided
}

/// What this worker has just handed on is taken with one statement. Returns what was taken, by the token of its lease;
/// whatever was not as guessed is left to [`claim`].
async fn claim_by_guess(
    session: &Session,
    requests: &[ClaimRequest],
    hot: &Hot,
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
        let claimed = Claimed::of(decision, record);
        hot.remember(CacheRow::of_claim(&claimed));
        (token, Claim::Taken(Box::new(claimed)))
    });
    Ok(claims.collect())
}

/// A row that somebody has locked for long keeps nobody else waiting.
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
    let (claims, mut decided) = decide_claims(rows, requests, now);
    decided.sort_unstable_by_key(Decision::id);
    changes::write_all(session, &decided, shards).await?;
    let taken = claims.iter().filter_map(|claim| match claim {
        Claim::Taken(claimed) => Some(CacheRow::of_claim(claimed)),
        Claim::Ended(_) | Claim::Skipped(_) => None,
    });
    let taken = taken.collect();
    Ok((claims, taken))
}

fn decide_claims(
    mut rows: HashMap<ExecutionId, Loaded>,
    requests: &[&ClaimRequest],
    now: Timestamp,
) -> (Vec<Claim>, Vec<Decision>) {
    let mut claims = Vec::with_capacity(requests.len());
    let mut decided: Vec<Decision> = Vec::new();
    for request in requests {
        let Some(row) = rows.get_mut(&request.execution_id) else {
            claims.push(Claim::Skipped(Skip::Unknown));
            continue;
        };
        let (change, taken) = match lifecycle::claim(&row.execution.head, &row.state, request, now)
        {
            ClaimDecision::Skip(skip) => {
                claims.push(Claim::Skipped(skip));
                continue;
            }
            ClaimDecision::End(change) => (*change, false),
            ClaimDecision::Take(change) => (*change, true),
        };
        let (head, state) = (row.execution.head.clone(), row.state.clone());
        let before = Subject { head, state };
        // Another message about the same execution is judged by what this one has made of it.
        row.execution.head = change.head_after(before.head.clone());
        row.state = change.state.clone();
        claims.push(match taken {
            true => Claim::Taken(Box::new(Claimed {
                execution: row.execution.clone(),
                state: row.state.clone(),
            })),
            false => Claim::Ended(change.outcome()),
        });
        decided.push(Decision { before, change });
    }
    (claims, decided)
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

async fn obey(
    session: &Session,
    id: ExecutionId,
    command: &Command,
    now: Timestamp,
    shards: u32,
) -> Outcome<Result<CommandApplied, Refusal>> {
    let mut rows = lock_heads(session, vec![id.0]).await?;
    let Some(before) = rows.remove(&id) else {
        session.roll_back().await?;
        return Ok(Err(Refusal::NotFound));
    };
    let known = signal_known(session, id, command).await?;
    let change = match lifecycle::command(&before.head, &before.state, command, known, now) {
        Err(refusal) => {
            session.roll_back().await?;
            return Ok(Err(refusal));
        }
        Ok(None) => {
            session.roll_back().await?;
            return Ok(Ok(CommandApplied::unchanged(&before, now)));
        }
        Ok(Some(change)) => change,
    };
    let decision = [Decision { before, change }];
    changes::write_all(session, &decision, shards).await?;
    let [decision] = decision;
    Ok(Ok(CommandApplied::of(&decision, now)))
}

async fn signal_known(session: &Session, id: ExecutionId, command: &Command) -> Outcome<bool> {
    let Command::Signal(signal) = command else {
        return Ok(false);
    };
    session.ready(&[&sql::SIGNAL_KNOWN]).await?;
    let rows = session
        .rows(&sql::SIGNAL_KNOWN, &[&id.0, &Text::new(&signal.id)])
        .await?;
    match rows.first() {
        Some(row) => Ok(row.try_get(0)?),
        None => Err(Fault::Corrupt("EXISTS gave no answer".into())),
    }
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
