//! The timers' queues. Every write of a shard's owner is guarded by the lock's guid.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use async_trait::async_trait;
use pawl_kernel::ports::store::{
    ClusterView, DueTimer, HeldShards, KeepRequest, LockRequest, ShardPass, StoreResult, TimerKind,
    TimerStore,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::WaitTimer;
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::fault::JobResult;
use crate::{SqliteStore, changes, queries, rows, sql};

#[async_trait]
impl TimerStore for SqliteStore {
    async fn lock_shards(&self, request: LockRequest) -> StoreResult<Vec<u32>> {
        self.writer
            .run(move |connection| lock_shards(connection, &request))
            .await
    }

    async fn keep_shards(&self, request: KeepRequest) -> StoreResult<HeldShards> {
        self.writer
            .run(move |connection| keep_shards(connection, &request))
            .await
    }

    async fn unlock_shards(
        &self,
        locks: Vec<Uuid>,
        only: Option<Vec<u32>>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.writer
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::SHARDS_UNLOCK)?;
                let only = only
                    .as_ref()
                    .map(|shards| serde_json::json!(shards).to_string());
                statement.execute(params![guids(&locks), now.as_micros(), only])?;
                Ok(())
            })
            .await
    }

    async fn collect(
        &self,
        pass: ShardPass,
        shards: &[u32],
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>> {
        let shards = shards.to_vec();
        self.writer
            .run(move |connection| collect(connection, &pass, &shards, now, limit))
            .await
    }

    async fn upcoming(
        &self,
        shards: &[u32],
        due: Range<Timestamp>,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>> {
        let shards = shards.to_vec();
        self.readers
            .run_at_once(move |connection| upcoming(connection, &shards, &due, limit))
            .await
    }

    async fn next_due(&self, shards: &[u32]) -> StoreResult<Option<Timestamp>> {
        let shards = shards.to_vec();
        self.readers
            .run_at_once(move |connection| next_due(connection, &shards))
            .await
    }

    async fn register_timers(&self, timers: Vec<WaitTimer>, now: Timestamp) -> StoreResult<()> {
        let shards = self.shards;
        self.writer
            .run(move |connection| {
                for timer in &timers {
                    register(connection, timer, now, shards)?;
                }
                Ok(())
            })
            .await
    }
}

fn lock_shards(connection: &Connection, request: &LockRequest) -> JobResult<Vec<u32>> {
    let mut statement = connection.prepare_cached(sql::SHARDS_LOCK)?;
    let values = params![
        request.guid.as_bytes(),
        request.owner,
        request.now.as_micros(),
        request.stale_before.as_micros(),
        request.max,
        request.unlocked_by.map(Timestamp::as_micros)
    ];
    let shards: BTreeSet<u32> = statement
        .query_map(values, |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(shards.into_iter().collect())
}

fn keep_shards(connection: &Connection, request: &KeepRequest) -> JobResult<HeldShards> {
    let mut keep = connection.prepare_cached(sql::SHARDS_KEEP)?;
    let ours = guids(&request.locks);
    let kept = keep.query_map(params![ours, request.now.as_micros()], shard_lock)?;
    let locks = kept.collect::<Result<_, _>>()?;
    let mut look = connection.prepare_cached(sql::SHARDS_AROUND)?;
    let values = params![ours, request.owner, request.alive_since.as_micros()];
    let cluster = look.query_row(values, |row| {
        Ok(ClusterView {
            locks: row.get(0)?,
            unlocked_since: rows::optional_time(row, 1)?,
            silent_since: rows::optional_time(row, 2)?,
            most_of_another: row.get::<_, Option<u32>>(3)?.unwrap_or_default(),
            others: row.get(4)?,
        })
    })?;
    Ok(HeldShards { locks, cluster })
}

/// As a list that a statement can look into.
fn guids(locks: &[Uuid]) -> String {
    let texts = locks.iter().map(|lock| lock.simple().to_string());
    serde_json::json!(texts.collect::<Vec<_>>()).to_string()
}

fn shard_lock(row: &Row<'_>) -> rusqlite::Result<(u32, Uuid)> {
    Ok((row.get(0)?, rows::uuid(row, 1)?))
}

/// The shards that are locked under one of these guids, each with its own.
pub(crate) fn owned(connection: &Connection, locks: &[Uuid]) -> JobResult<BTreeMap<u32, Uuid>> {
    let mut statement = connection.prepare_cached(sql::SHARDS_OWNED)?;
    let shards = statement.query_map([guids(locks)], shard_lock)?;
    Ok(shards.collect::<Result<_, _>>()?)
}

fn collect(
    connection: &Connection,
    pass: &ShardPass,
    shards: &[u32],
    now: Timestamp,
    limit: u32,
) -> JobResult<Vec<DueTimer>> {
    let owned = owned(connection, &pass.locks)?;
    let mut moved = Vec::new();
    for shard in shards.iter().filter(|shard| owned.contains_key(shard)) {
        let room = limit.saturating_sub(moved.len() as u32);
        if room == 0 {
            break;
        }
        moved.extend(collect_shard(connection, pass.sync, *shard, now, room)?);
    }
    Ok(moved)
}

struct IncomingRow {
    created_at: i64,
    action_id: String,
    guid: Uuid,
    scheduled_at: i64,
    kind: TimerKind,
}

fn collect_shard(
    connection: &Connection,
    sync: Uuid,
    shard: u32,
    now: Timestamp,
    limit: u32,
) -> JobResult<Vec<DueTimer>> {
    let mut insert = connection.prepare_cached(sql::PROCESSING_INSERT)?;
    let mut delete = connection.prepare_cached(sql::INCOMING_DELETE)?;
    let mut moved = Vec::new();
    for row in incoming(connection, shard, limit)? {
        insert.execute(params![
            shard,
            row.scheduled_at,
            row.action_id,
            row.guid.as_bytes(),
            row.created_at,
            sync.as_bytes(),
            now.as_micros(),
            row.kind.code()
        ])?;
        delete.execute(params![shard, row.action_id, row.guid.as_bytes()])?;
        moved.push(DueTimer {
            at: Timestamp::from_micros(row.scheduled_at),
            shard_id: shard,
            action_id: row.action_id,
            guid: row.guid,
            kind: row.kind,
        });
    }
    Ok(moved)
}

fn incoming(connection: &Connection, shard: u32, limit: u32) -> JobResult<Vec<IncomingRow>> {
    let mut statement = connection.prepare_cached(sql::INCOMING_OF_SHARD)?;
    let found = statement.query_map(params![shard, limit], |row| {
        Ok(IncomingRow {
            created_at: row.get(0)?,
            action_id: row.get(1)?,
            guid: rows::uuid(row, 2)?,
            scheduled_at: row.get(3)?,
            kind: rows::coded(row, 4, TimerKind::from_code)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn upcoming(
    connection: &Connection,
    shards: &[u32],
    due: &Range<Timestamp>,
    limit: u32,
) -> JobResult<Vec<DueTimer>> {
    let mut statement = connection.prepare_cached(sql::PROCESSING_UPCOMING)?;
    let mut timers = Vec::new();
    for shard in shards {
        let range = params![shard, due.start.as_micros(), due.end.as_micros(), limit];
        for timer in statement.query_map(range, due_timer)? {
            timers.push(timer?);
        }
    }
    timers.sort_unstable();
    timers.truncate(limit as usize);
    Ok(timers)
}

fn due_timer(row: &Row<'_>) -> rusqlite::Result<DueTimer> {
    Ok(DueTimer {
        at: rows::time(row, 0)?,
        shard_id: row.get(1)?,
        action_id: row.get(2)?,
        guid: rows::uuid(row, 3)?,
        kind: rows::coded(row, 4, TimerKind::from_code)?,
    })
}

fn next_due(connection: &Connection, shards: &[u32]) -> JobResult<Option<Timestamp>> {
    let mut statement = connection.prepare_cached(sql::PROCESSING_NEXT)?;
    let mut next: Option<Timestamp> = None;
    for shard in shards {
        if let Some(at) = statement.query_row([shard], |row| rows::optional_time(row, 0))? {
            next = Some(next.map_or(at, |next| next.min(at)));
        }
    }
    Ok(next)
}

fn register(
    connection: &Connection,
    timer: &WaitTimer,
    now: Timestamp,
    shards: u32,
) -> JobResult<()> {
    match queries::timer_shard(connection, timer.execution_id, timer.wait_id)? {
        Some(_) => Ok(()),
        None => changes::insert_timer(connection, timer, now, shards),
    }
}
