//! The timers' queues. Every write of a shard's owner is guarded by the lock's guid.

use std::collections::BTreeSet;
use std::ops::Range;

use async_trait::async_trait;
use pawl_kernel::ports::store::{
    ClusterView, DueTimer, HeldShards, KeepRequest, LockRequest, ShardPass, StoreResult, TimerKind,
    TimerStore,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::WaitTimer;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::changes;
use crate::error::Outcome;
use crate::rows::Reader;
use crate::value::{Columns, Text, Time};
use crate::{PostgresStore, queries, sql};

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
