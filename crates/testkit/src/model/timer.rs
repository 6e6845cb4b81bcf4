//! Shard locks, the incoming queue and the processing queue.

use std::collections::BTreeMap;
use std::ops::Range;

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::ports::schedule::{QueueRow, ShardHolder, SyncMark};
use pawl_kernel::ports::store::{
    ClusterView, DueTimer, HeldShards, KeepRequest, LockRequest, ShardPass, StoreResult, TimerKind,
    TimerStore,
};
use pawl_kernel::ports::workers::{TIMERS_ROLE, WorkerRecord};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::WaitTimer;

use super::ModelStore;

/// As many as an installation has by default.
pub(super) const SHARDS: u32 = 16;

pub(super) struct Timers {
    locks: BTreeMap<u32, ShardLock>,
    /// In order of arrival.
    incoming: BTreeMap<(Timestamp, u64), DueTimer>,
    arrivals: u64,
    processing: BTreeMap<DueTimer, Marks>,
}

/// How a row came where it is.
#[derive(Clone, Copy)]
struct Marks {
    added_at: Timestamp,
    moved: SyncMark,
    rescheduled: Option<SyncMark>,
}

#[derive(Clone, Default)]
struct ShardLock {
    /// Who has it; `None` when it was given back.
    holder: Option<ShardHolder>,
    started_at: Option<Timestamp>,
    heartbeat_at: Option<Timestamp>,
}

impl ShardLock {
    fn guid(&self) -> Option<Uuid> {
        self.holder.as_ref().map(|holder| holder.lock)
    }

    fn is_under(&self, locks: &[Uuid]) -> bool {
        self.guid().is_some_and(|guid| locks.contains(&guid))
    }
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            locks: (0..SHARDS)
                .map(|shard| (shard, ShardLock::default()))
                .collect(),
            incoming: BTreeMap::new(),
            arrivals: 0,
            processing: BTreeMap::new(),
        }
    }
}

impl Timers {
    pub(super) fn add(&mut self, timer: &WaitTimer, now: Timestamp) {
        self.enqueue(DueTimer::of_wait(timer, SHARDS), now);
    }

    pub(super) fn enqueue(&mut self, row: DueTimer, now: Timestamp) {
        self.arrivals += 1;
        self.incoming.insert((now, self.arrivals), row);
    }

    /// Puts a row of the processing queue to another time, or takes it away. False: it is not there.
    pub(super) fn move_row(
        &mut self,
        timer: &DueTimer,
        to: Option<Timestamp>,
        mark: SyncMark,
    ) -> bool {
        let Some(marks) = self.processing.remove(timer) else {
            return false;
        };
        if let Some(at) = to {
            let moved = DueTimer {
                at,
                ..timer.clone()
            };
            let rescheduled = Some(mark);
            self.processing.insert(
                moved,
                Marks {
                    rescheduled,
                    ..marks
                },
            );
        }
        true
    }

    /// The rows of this id and guid.
    pub(super) fn queued(&self, action_id: &str, guid: Uuid) -> Vec<QueueRow> {
        let new = self.incoming.iter().map(|((at, _), row)| (row, *at, None));
        let known = self.processing.iter();
        let known = known.map(|(row, marks)| (row, marks.added_at, Some(*marks)));
        let own = new.chain(known);
        let own = own.filter(|(row, _, _)| row.guid == guid && row.action_id == action_id);
        let mut rows: Vec<QueueRow> = own
            .map(|(row, added_at, marks)| QueueRow {
                shard_id: row.shard_id,
                holder: self
                    .locks
                    .get(&row.shard_id)
                    .and_then(|lock| lock.holder.clone()),
                added_at,
                moved: marks.map(|marks| marks.moved),
                rescheduled: marks.and_then(|marks| marks.rescheduled),
            })
            .collect();
        rows.sort_by_key(|row| row.shard_id);
        rows
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
        self.processing.keys().cloned().collect()
    }

    pub(super) fn shard_of(&self, action_id: &str, guid: Uuid) -> Option<u32> {
        let rows = self.queued(action_id, guid);
        rows.first().map(|row| row.shard_id)
    }

    fn lock(&mut self, request: &LockRequest) -> Vec<u32> {
        let mut free: Vec<(Option<Timestamp>, u32)> = self
            .locks
            .iter()
            .filter(|(_, lock)| request.is_free(lock.holder.is_some(), lock.heartbeat_at))
            .map(|(shard, lock)| (lock.started_at, *shard))
            .collect();
        free.sort_unstable();
        free.truncate(request.max as usize);
        let taken: Vec<u32> = free.into_iter().map(|(_, shard)| shard).collect();
        for shard in &taken {
            let lock = ShardLock {
                holder: Some(ShardHolder {
                    owner: request.owner.clone(),
                    lock: request.guid,
                }),
                started_at: Some(request.now),
                heartbeat_at: Some(request.now),
            };
            self.locks.insert(*shard, lock);
        }
        taken
    }

    fn keep(&mut self, locks: &[Uuid], now: Timestamp) -> BTreeMap<u32, Uuid> {
        let all = self.locks.iter_mut();
        let mine = all.filter(|(_, lock)| lock.is_under(locks));
        mine.filter_map(|(shard, lock)| {
            lock.heartbeat_at = Some(now);
            Some((*shard, lock.guid()?))
        })
        .collect()
    }

    fn cluster(&self, locks: &[Uuid], others: usize) -> ClusterView {
        let mut cluster = ClusterView {
            locks: self.locks.len() as u32,
            others: others as u32,
            ..ClusterView::default()
        };
        let mut of_others: BTreeMap<&str, u32> = BTreeMap::new();
        for lock in self.locks.values() {
            let Some(holder) = &lock.holder else {
                let at = lock.heartbeat_at.unwrap_or_default();
                cluster.unlocked_since = earliest(cluster.unlocked_since, at);
                continue;
            };
            if !lock.is_under(locks) {
                *of_others.entry(&holder.owner).or_default() += 1;
                let at = lock.heartbeat_at.unwrap_or_default();
                cluster.silent_since = earliest(cluster.silent_since, at);
            }
        }
        cluster.most_of_another = of_others.into_values().max().unwrap_or_default();
        cluster
    }

    fn unlock(&mut self, locks: &[Uuid], only: Option<&[u32]>, now: Timestamp) {
        for (shard, lock) in &mut self.locks {
            if lock.is_under(locks) && only.is_none_or(|only| only.contains(shard)) {
                lock.holder = None;
                lock.heartbeat_at = Some(now);
            }
        }
    }

    pub(super) fn owned(&self, locks: &[Uuid]) -> BTreeMap<u32, Uuid> {
        let mine = self.locks.iter().filter(|(_, lock)| lock.is_under(locks));
        mine.filter_map(|(shard, lock)| Some((*shard, lock.guid()?)))
            .collect()
    }

    fn owns(&self, locks: &[Uuid], shard: u32) -> bool {
        let lock = self.locks.get(&shard);
        lock.is_some_and(|lock| lock.is_under(locks))
    }

    fn collect(
        &mut self,
        pass: &ShardPass,
        shards: &[u32],
        now: Timestamp,
        limit: u32,
    ) -> Vec<DueTimer> {
        let keys: Vec<(Timestamp, u64)> = self
            .incoming
            .iter()
            .filter(|(_, row)| {
                shards.contains(&row.shard_id) && self.owns(&pass.locks, row.shard_id)
            })
            .map(|(key, _)| *key)
            .take(limit as usize)
            .collect();
        let mut moved = Vec::new();
        for key in keys {
            let Some(row) = self.incoming.remove(&key) else {
                continue;
            };
            let marks = Marks {
                added_at: key.0,
                moved: SyncMark {
                    at: now,
                    sync: pass.sync,
                },
                rescheduled: None,
            };
            self.processing.insert(row.clone(), marks);
            moved.push(row);
        }
        moved
    }

    fn of<'a>(&'a self, shards: &'a [u32], from: Timestamp) -> impl Iterator<Item = &'a DueTimer> {
        let first = DueTimer {
            at: from,
            shard_id: 0,
            action_id: String::new(),
            guid: Uuid::nil(),
            kind: TimerKind::Wait,
        };
        self.processing
            .range(first..)
            .map(|(row, _)| row)
            .filter(|row| shards.contains(&row.shard_id))
    }

    /// False: it is not there.
    pub(super) fn delete_row(&mut self, timer: &DueTimer) -> bool {
        self.processing.remove(timer).is_some()
    }
}

#[async_trait]
impl TimerStore for ModelStore {
    async fn lock_shards(&self, request: LockRequest) -> StoreResult<Vec<u32>> {
        Ok(self.lock().timers.lock(&request))
    }

    async fn keep_shards(&self, request: KeepRequest) -> StoreResult<HeldShards> {
        let mut tables = self.lock();
        let is_alive = |worker: &&WorkerRecord| {
            worker.heartbeat_at >= request.alive_since
                && worker.id != request.owner
                && worker.roles.iter().any(|role| role == TIMERS_ROLE)
        };
        let others = tables.workers.values().filter(is_alive).count();
        Ok(HeldShards {
            locks: tables.timers.keep(&request.locks, request.now),
            cluster: tables.timers.cluster(&request.locks, others),
        })
    }

    async fn unlock_shards(
        &self,
        locks: Vec<Uuid>,
        only: Option<Vec<u32>>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.lock().timers.unlock(&locks, only.as_deref(), now);
        Ok(())
    }

    async fn collect(
        &self,
        pass: ShardPass,
        shards: &[u32],
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>> {
        Ok(self.lock().timers.collect(&pass, shards, now, limit))
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
}

fn earliest(known: Option<Timestamp>, at: Timestamp) -> Option<Timestamp> {
    Some(known.map_or(at, |known| known.min(at)))
}
