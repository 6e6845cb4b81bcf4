//! The timers' queues. Every write of a shard's owner is guarded by the lock's guid.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::execution::Subject;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle;
use pawl_kernel::operations::{FreeSubjects, decide_each};
use pawl_kernel::ports::store::{
    ClusterView, Dispatch, DueTimer, HeldShards, KeepRequest, LockRequest, ShardPass, StoreResult,
    TimerKind, TimerStore,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{Decision, WaitTimer};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::changes;
use crate::error::Outcome;
use crate::heads::lock_free_heads;
use crate::rows::Reader;
use crate::session::Session;
use crate::value::{Columns, Text, Time};
use crate::{PostgresStore, queries, sql};

/// How long a timer is put off whose execution somebody has locked, and one whose execution cannot be read.
const WHILE_BUSY: Duration = Duration::from_millis(500);
const WHILE_UNREADABLE: Duration = Duration::from_secs(60);

#[async_trait]
impl TimerStore for PostgresStore {
    async fn lock_shards(&self, request: LockRequest) -> StoreResult<Vec<u32>> {
        let done = self.vital.run(move |session| async move {
            let (now, stale) = (Time(request.now), Time(request.stale_before));
            let max = i64::from(request.max);
            let owner = Text::new(&request.owner);
            let by = request.unlocked_by.map(Time);
            let rows = session
                .alone(
                    &sql::SHARDS_LOCK,
                    &[&request.guid, &owner, &now, &stale, &max, &by],
                )
                .await?;
            shards_of(&rows)
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn keep_shards(&self, request: KeepRequest) -> StoreResult<HeldShards> {
        let done = self.vital.run(move |session| async move {
            let owner = Text::new(&request.owner);
            let (now, alive_since) = (Time(request.now), Time(request.alive_since));
            let rows = session
                .alone(
                    &sql::SHARDS_KEEP,
                    &[&request.locks, &now, &owner, &alive_since],
                )
                .await?;
            rows.first().map_or_else(|| Ok(HeldShards::default()), kept)
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn unlock_shards(
        &self,
        locks: Vec<Uuid>,
        only: Option<Vec<u32>>,
        now: Timestamp,
    ) -> StoreResult<()> {
        let only = only.as_deref().map(numbers);
        let done = self.vital.run(move |session| async move {
            session
                .alone(&sql::SHARDS_UNLOCK, &[&locks, &Time(now), &only])
                .await?;
            Ok(())
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn collect(
        &self,
        pass: ShardPass,
        shards: &[u32],
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>> {
        let shards = numbers(shards);
        let done = self.vital.run(move |session| async move {
            let rows = session
                .alone(
                    &sql::INCOMING_COLLECT,
                    &[
                        &pass.locks,
                        &shards,
                        &Time(now),
                        &i64::from(limit),
                        &pass.sync,
                    ],
                )
                .await?;
            rows.iter().map(due_timer).collect()
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn upcoming(
        &self,
        shards: &[u32],
        due: Range<Timestamp>,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>> {
        let shards = numbers(shards);
        let done = self.vital.run(move |session| async move {
            let (from, to) = (Time(due.start), Time(due.end));
            let rows = session
                .alone(
                    &sql::PROCESSING_UPCOMING,
                    &[&shards, &from, &to, &i64::from(limit)],
                )
                .await?;
            rows.iter().map(due_timer).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn next_due(&self, shards: &[u32]) -> StoreResult<Option<Timestamp>> {
        let shards = numbers(shards);
        let done = self.vital.run(move |session| async move {
            let rows = session.alone(&sql::PROCESSING_NEXT, &[&shards]).await?;
            match rows.first() {
                Some(row) => Reader::new(row).optional_time(),
                None => Ok(None),
            }
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn register_timers(&self, timers: Vec<WaitTimer>, now: Timestamp) -> StoreResult<()> {
        let shards = self.shards;
        let done = self.vital.run(move |session| async move {
            let mut columns = Columns::new(sql::TIMER_INSERT.kinds());
            for timer in &timers {
                let known =
                    queries::timer_shard(&session, timer.execution_id, timer.wait_id).await?;
                if known.is_none() {
                    changes::put_timer(&mut columns, DueTimer::of_wait(timer, shards), now);
                }
            }
            if let Some(columns) = columns.non_empty() {
                session.alone(&sql::TIMER_INSERT, &columns.params()).await?;
            }
            Ok(())
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn fire(
        &self,
        pass: ShardPass,
        timers: Vec<DueTimer>,
        now: Timestamp,
    ) -> StoreResult<Vec<Dispatch>> {
        let shards = self.shards;
        let done = self
            .vital
            .run(move |session| async move { fire(&session, &pass, timers, now, shards).await });
        done.await.map_err(|fault| fault.of_write())
    }
}

fn numbers(shards: &[u32]) -> Vec<i32> {
    shards
        .iter()
        .map(|shard| i32::try_from(*shard).unwrap_or(i32::MAX))
        .collect()
}

fn shards_of(rows: &[Row]) -> Outcome<Vec<u32>> {
    let set: BTreeSet<u32> = rows
        .iter()
        .map(|row| Reader::new(row).number())
        .collect::<Outcome<_>>()?;
    Ok(set.into_iter().collect())
}

/// The shards that are locked under one of these guids, each with its own. Begins the transaction that keeps them so.
pub(crate) async fn owned(session: &Session, locks: &[Uuid]) -> Outcome<BTreeMap<u32, Uuid>> {
    let rows = session.begin_with(&sql::SHARDS_OWNED, &[&locks]).await?;
    let lock = |row: &Row| -> Outcome<(u32, Uuid)> {
        let mut reader = Reader::new(row);
        Ok((reader.number()?, reader.get()?))
    };
    rows.iter().map(lock).collect()
}

fn kept(row: &Row) -> Outcome<HeldShards> {
    let mut reader = Reader::new(row);
    let (ours, guids): (Vec<i32>, Vec<Uuid>) = (reader.get()?, reader.get()?);
    let ours = ours.into_iter().zip(guids);
    let locks = ours.filter_map(|(shard, lock)| Some((u32::try_from(shard).ok()?, lock)));
    let count = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(HeldShards {
        locks: locks.collect(),
        cluster: ClusterView {
            locks: count(reader.get()?),
            unlocked_since: reader.optional_time()?,
            silent_since: reader.optional_time()?,
            most_of_another: count(reader.get::<Option<i64>>()?.unwrap_or_default()),
            others: count(reader.get()?),
        },
    })
}

fn due_timer(row: &Row) -> Outcome<DueTimer> {
    let mut reader = Reader::new(row);
    Ok(DueTimer {
        at: reader.time()?,
        shard_id: reader.number()?,
        action_id: reader.text()?,
        guid: reader.get()?,
        kind: reader.code(TimerKind::from_code)?,
    })
}

async fn fire(
    session: &Session,
    pass: &ShardPass,
    timers: Vec<DueTimer>,
    now: Timestamp,
    shards: u32,
) -> Outcome<Vec<Dispatch>> {
    let owned = owned(session, &pass.locks).await?;
    let is_owned = |shard| owned.contains_key(&shard);
    let mut due = timers;
    due.retain(|timer| timer.is_ready(TimerKind::Wait, is_owned, now));
    let ids = due.iter().filter_map(execution_of).map(|id| id.0).collect();
    let FreeSubjects {
        rows,
        busy,
        unreadable,
    } = lock_free_heads(session, ids).await?;
    let is_in = |set: &HashSet<ExecutionId>, timer: &DueTimer| {
        execution_of(timer).is_some_and(|id| set.contains(&id))
    };
    let late = due.iter().filter_map(|timer| {
        let busy = is_in(&busy, timer).then_some(WHILE_BUSY);
        let time = busy.or_else(|| is_in(&unreadable, timer).then_some(WHILE_UNREADABLE));
        time.map(|time| (timer, now.plus(time)))
    });
    put_off(session, late, pass.sync, now).await?;
    let firing = due
        .into_iter()
        .filter(|timer| !is_in(&busy, timer) && !is_in(&unreadable, timer));
    let fired = delete(session, &firing.collect::<Vec<_>>()).await?;
    let fire = |row: &Subject| {
        let guids = fired.iter().filter(|(id, _)| *id == row.head.id);
        guids
            .map(|(_, guid)| *guid)
            .find_map(|guid| lifecycle::fire(&row.head, &row.state, guid, now))
    };
    let decided = decide_each(rows, fire);
    changes::write_all(session, &decided, shards).await?;
    let mut dispatches: Vec<Dispatch> = decided.iter().filter_map(Decision::dispatch).collect();
    // In the order they were due.
    let place = |id: ExecutionId| fired.iter().position(|(fired, _)| *fired == id);
    dispatches.sort_by_key(|dispatch| place(dispatch.execution_id));
    Ok(dispatches)
}

fn execution_of(timer: &DueTimer) -> Option<ExecutionId> {
    timer.action_id.parse().ok()
}

/// Timers whose execution cannot be had now: nobody else's waits for them.
async fn put_off(
    session: &Session,
    late: impl Iterator<Item = (&DueTimer, Timestamp)>,
    sync: Uuid,
    now: Timestamp,
) -> Outcome<()> {
    let mut columns = Columns::new(&sql::PROCESSING_PUT_OFF.kinds()[..5]);
    for (timer, until) in late {
        columns.int(timer.shard_id);
        columns.time(timer.at);
        columns.text(timer.action_id.as_str());
        columns.uuid(timer.guid);
        columns.time(until);
    }
    if let Some(columns) = columns.non_empty() {
        session.ready(&[&sql::PROCESSING_PUT_OFF]).await?;
        let now = Time(now);
        let mut params = columns.params();
        params.push(&sync);
        params.push(&now);
        session.rows(&sql::PROCESSING_PUT_OFF, &params).await?;
    }
    Ok(())
}

/// The rows that were really there, in the order asked.
async fn delete(session: &Session, due: &[DueTimer]) -> Outcome<Vec<(ExecutionId, Uuid)>> {
    let mut columns = Columns::new(sql::PROCESSING_DELETE.kinds());
    for timer in due {
        columns.int(timer.shard_id);
        columns.time(timer.at);
        columns.text(timer.action_id.as_str());
        columns.uuid(timer.guid);
    }
    session.ready(&[&sql::PROCESSING_DELETE]).await?;
    let rows = session
        .rows(&sql::PROCESSING_DELETE, &columns.params())
        .await?;
    let mut deleted = BTreeSet::new();
    for row in &rows {
        let mut reader = Reader::new(row);
        deleted.insert((reader.text()?, reader.get::<Uuid>()?));
    }
    let mut fired = Vec::new();
    for timer in due {
        if !deleted.remove(&(timer.action_id.clone(), timer.guid)) {
            continue;
        }
        match timer.action_id.parse::<ExecutionId>() {
            Ok(id) => fired.push((id, timer.guid)),
            Err(_) => tracing::warn!(
                action_id = timer.action_id,
                "dropped a wait that is of no execution"
            ),
        }
    }
    Ok(fired)
}
