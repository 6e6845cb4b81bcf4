//! Shard locks, the incoming queue and the processing queue.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle;
use pawl_kernel::ports::store::{
    Dispatch, DueTimer, KeepRequest, Kept, LockRequest, ShardsAround, StoreResult, TimerStore,
};
use pawl_kernel::ports::workers::{TIMERS_ROLE, WorkerRecord};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::WaitTimer;

use super::ModelStore;
use super::tables::Tables;

/// As many as an installation has by default.
pub(super) const SHARDS: u32 = 16;

pub(super) struct Timers {
    locks: BTreeMap<u32, ShardLock>,
    /// In order of arrival.
    incoming: BTreeMap<(Timestamp, u64), DueTimer>,
    arrivals: u64,
    processing: BTreeSet<DueTimer>,
}

#[derive(Clone, Default)]
struct ShardLock {
    /// Who has it; `None` when it was given back.
    guid: Option<Uuid>,
    started_at: Option<Timestamp>,
    heartbeat_at: Option<Timestamp>,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            locks: (0..SHARDS)
                .map(|shard| (shard, ShardLock::default()))
                .collect(),
            incoming: BTreeMap::new(),
            arrivals: 0,
            processing: BTreeSet::new(),
        }
    }
}

impl Timers {
    pub(super) fn add(&mut self, timer: &WaitTimer, now: Timestamp) {
        self.enqueue(timer.execution_id.to_string(), timer.wait_id, timer.at, now);
    }

    pub(super) fn enqueue(&mut self, action_id: String, guid: Uuid, at: Timestamp, now: Timestamp) {
        self.arrivals += 1;
        let row = DueTimer {
            at,
            // Any spread will do; this one needs no chance.
            shard_id: (guid.as_u128() % u128::from(SHARDS)) as u32,
            action_id,
            guid,
        };
        self.incoming.insert((now, self.arrivals), row);
    }

    /// Puts a row of the processing queue to another time, or takes it away. False: it is not there.
    pub(super) fn move_row(&mut self, timer: &DueTimer, to: Option<Timestamp>) -> bool {
        let found = self.processing.remove(timer);
        if let Some(at) = to.filter(|_| found) {
            self.processing.insert(DueTimer {
                at,
                ..timer.clone()
            });
        }
        found
    }

    /// Where the rows of this id and guid are.
    pub(super) fn shards_of(&self, action_id: &str, guid: Uuid) -> Vec<u32> {
        let rows = self.incoming.values().chain(&self.processing);
        let mut shards: Vec<u32> = rows
            .filter(|row| row.guid == guid && row.action_id == action_id)
            .map(|row| row.shard_id)
            .collect();
        shards.sort_unstable();
        shards
    }

    fn add_missing(&mut self, timer: &WaitTimer, now: Timestamp) {
        let action_id = timer.execution_id.to_string();
        if self.shard_of(&action_id, timer.wait_id).is_none() {
            self.add(timer, now);
        }
    }

    pub(super) fn incoming(&self) -> Vec<DueTimer> {
        self.incoming.values().cloned().collect()
    }

    pub(super) fn processing(&self) -> Vec<DueTimer> {
        self.processing.iter().cloned().collect()
    }

    pub(super) fn shard_of(&self, action_id: &str, guid: Uuid) -> Option<u32> {
        self.shards_of(action_id, guid).first().copied()
    }

    fn lock(&mut self, request: &LockRequest) -> Vec<u32> {
        let mut free: Vec<(Option<Timestamp>, u32)> = self
            .locks
            .iter()
            .filter(|(_, lock)| request.is_free(lock.guid.is_some(), lock.heartbeat_at))
            .map(|(shard, lock)| (lock.started_at, *shard))
            .collect();
        free.sort_unstable();
        free.truncate(request.max as usize);
        let taken: Vec<u32> = free.into_iter().map(|(_, shard)| shard).collect();
        for shard in &taken {
            let lock = ShardLock {
                guid: Some(request.guid),
                started_at: Some(request.now),
                heartbeat_at: Some(request.now),
            };
            self.locks.insert(*shard, lock);
        }
        taken
    }

    fn keep(&mut self, guid: Uuid, now: Timestamp) -> Vec<u32> {
        let mine = self
            .locks
            .iter_mut()
            .filter(|(_, lock)| lock.guid == Some(guid));
        mine.map(|(shard, lock)| {
            lock.heartbeat_at = Some(now);
            *shard
        })
        .collect()
    }

    fn around(&self, guid: Uuid, others: usize) -> ShardsAround {
        let mut around = ShardsAround {
            locks: self.locks.len() as u32,
            others: others as u32,
            ..ShardsAround::default()
        };
        let mut of_others: BTreeMap<Uuid, u32> = BTreeMap::new();
        for lock in self.locks.values() {
            let Some(owner) = lock.guid else {
                let at = lock.heartbeat_at.unwrap_or_default();
                around.unlocked_since = earliest(around.unlocked_since, at);
                continue;
            };
            if owner != guid {
                *of_others.entry(owner).or_default() += 1;
                let at = lock.heartbeat_at.unwrap_or_default();
                around.silent_since = earliest(around.silent_since, at);
            }
        }
        around.most_of_another = of_others.into_values().max().unwrap_or_default();
        around
    }

    fn unlock(&mut self, guid: Uuid, only: Option<&[u32]>, now: Timestamp) {
        for (shard, lock) in &mut self.locks {
            if lock.guid == Some(guid) && only.is_none_or(|only| only.contains(shard)) {
                lock.guid = None;
                lock.heartbeat_at = Some(now);
            }
        }
    }

    pub(super) fn owns(&self, guid: Uuid, shard: u32) -> bool {
        self.locks
            .get(&shard)
            .is_some_and(|lock| lock.guid == Some(guid))
    }

    fn collect(&mut self, guid: Uuid, shards: &[u32], limit: u32) -> Vec<DueTimer> {
        let keys: Vec<(Timestamp, u64)> = self
            .incoming
            .iter()
            .filter(|(_, row)| shards.contains(&row.shard_id) && self.owns(guid, row.shard_id))
            .map(|(key, _)| *key)
            .take(limit as usize)
            .collect();
        let moved: Vec<DueTimer> = keys
            .iter()
            .filter_map(|key| self.incoming.remove(key))
            .collect();
        self.processing.extend(moved.iter().cloned());
        moved
    }

    fn of<'a>(&'a self, shards: &'a [u32], from: Timestamp) -> impl Iterator<Item = &'a DueTimer> {
        let first = DueTimer {
            at: from,
            shard_id: 0,
            action_id: String::new(),
            guid: Uuid::nil(),
        };
        self.processing
            .range(first..)
            .filter(|row| shards.contains(&row.shard_id))
    }

    /// Takes the row away if it is there, due, and in a shard of this guid's.
    fn take(&mut self, guid: Uuid, timer: &DueTimer, now: Timestamp) -> bool {
        timer.at <= now && self.owns(guid, timer.shard_id) && self.processing.remove(timer)
    }
}

#[async_trait]
impl TimerStore for ModelStore {
    async fn lock_shards(&self, request: LockRequest) -> StoreResult<Vec<u32>> {
        Ok(self.lock().timers.lock(&request))
    }

    async fn keep_shards(&self, request: KeepRequest) -> StoreResult<Kept> {
        let mut tables = self.lock();
        let is_alive = |worker: &&WorkerRecord| {
            worker.heartbeat_at >= request.alive_since
                && worker.id != request.owner
                && worker.roles.iter().any(|role| role == TIMERS_ROLE)
        };
        let others = tables.workers.values().filter(is_alive).count();
        Ok(Kept {
            shards: tables.timers.keep(request.guid, request.now),
            around: tables.timers.around(request.guid, others),
        })
    }

    async fn unlock_shards(
        &self,
        guid: Uuid,
        only: Option<Vec<u32>>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.lock().timers.unlock(guid, only.as_deref(), now);
        Ok(())
    }

    async fn collect(
        &self,
        guid: Uuid,
        shards: &[u32],
        _now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>> {
        Ok(self.lock().timers.collect(guid, shards, limit))
    }

    async fn upcoming(
        &self,
        shards: &[u32],
        due: Range<Timestamp>,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>> {
        let tables = self.lock();
        let soon = tables.timers.of(shards, due.start);
        let soon = soon.take_while(|row| row.at < due.end);
        Ok(soon.take(limit as usize).cloned().collect())
    }

    async fn next_due(&self, shards: &[u32]) -> StoreResult<Option<Timestamp>> {
        let tables = self.lock();
        let mut rows = tables.timers.of(shards, Timestamp::default());
        Ok(rows.next().map(|row| row.at))
    }

    async fn register_timers(&self, timers: Vec<WaitTimer>, now: Timestamp) -> StoreResult<()> {
        let mut tables = self.lock();
        for timer in timers {
            tables.timers.add_missing(&timer, now);
        }
        Ok(())
    }

    async fn fire(
        &self,
        guid: Uuid,
        timers: Vec<DueTimer>,
        now: Timestamp,
    ) -> StoreResult<Vec<Dispatch>> {
        let mut tables = self.lock();
        Ok(timers
            .iter()
            .filter_map(|timer| tables.fire(guid, timer, now))
            .collect())
    }
}

fn earliest(known: Option<Timestamp>, at: Timestamp) -> Option<Timestamp> {
    Some(known.map_or(at, |known| known.min(at)))
}

impl Tables {
    fn fire(&mut self, guid: Uuid, timer: &DueTimer, now: Timestamp) -> Option<Dispatch> {
        if !self.timers.take(guid, timer, now) {
            return None;
        }
        let id: ExecutionId = timer.action_id.parse().ok()?;
        let row = self.row(id)?;
        let change = lifecycle::fire(&row.execution, &row.state, timer.guid, now)?;
        let applied = self.apply(change);
        self.dispatch_of(id, &applied)
    }
}
