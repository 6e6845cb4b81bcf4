//! Which shards are ours. Each taking has a guid of its own, and every write is made under those of the shards it is about:
//! what was sent before a shard was lost does nothing, even if the shard is ours again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pawl_kernel::id;
use pawl_kernel::ports::store::{DueTimer, KeepRequest, LockRequest, ShardPass, StoreResult};
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

use super::Timers;
use super::balancer::ShardTake;
use crate::presence;
use crate::sync::lock;

/// Takings that may have given us shards, with the time they were asked for: also those whose answer was lost.
#[derive(Clone, Default)]
pub(crate) struct Takings(Arc<Mutex<BTreeMap<Uuid, Timestamp>>>);

impl Takings {
    pub(crate) fn guids(&self) -> Vec<Uuid> {
        lock(&self.0).keys().copied().collect()
    }

    fn add(&self, guid: Uuid, now: Timestamp) {
        lock(&self.0).insert(guid, now);
    }

    /// Without those that hold nothing, save the latest: theirs may still be on the way.
    fn keep(&self, held: &BTreeMap<u32, Uuid>, latest: Timestamp) {
        let held: BTreeSet<&Uuid> = held.values().collect();
        lock(&self.0).retain(|guid, asked_at| held.contains(guid) || *asked_at >= latest);
    }
}

impl Timers {
    pub(super) fn shards(&self) -> Vec<u32> {
        self.locks.keys().copied().collect()
    }

    /// What is written now is written under this.
    pub(super) fn pass(&self) -> ShardPass {
        let locks: BTreeSet<Uuid> = self.locks.values().copied().collect();
        ShardPass {
            locks: locks.into_iter().collect(),
            sync: self.sync,
        }
    }

    pub(super) fn lock_heartbeat(&self) -> Duration {
        self.balancer.heartbeat()
    }

    /// When locks are to be kept, or free ones taken.
    pub(super) fn next_hold(&self) -> Timestamp {
        match self.runtime.options.exclusive && !self.locks.is_empty() {
            // No other worker can have them, and all there are is ours.
            true => Timestamp::from_micros(i64::MAX),
            false => self.next_heartbeat,
        }
    }

    /// Keeps the locks we have, takes free ones and gives back those beyond our share.
    pub(super) async fn hold_shards(&mut self) -> StoreResult<()> {
        let now = self.runtime.now();
        if now >= self.next_hold() {
            match self.runtime.options.exclusive {
                true => self.take_everything(now).await?,
                false => self.beat(now).await?,
            }
        }
        if self.stop.is_cancelled() {
            // Another worker fires what is due here from now on.
            self.leave(self.locks.keys().copied().collect());
        }
        self.give_back().await
    }

    /// Rows of these shards are left alone from now on.
    fn leave(&mut self, leaving: BTreeSet<u32>) {
        let mut stay_after_all = self.leaving.difference(&leaving);
        if stay_after_all.any(|shard| self.locks.contains_key(shard)) {
            self.window.invalidate();
        }
        self.leaving = leaving;
        self.window.keep_shards(&self.staying());
    }

    /// Our shards but those that are about to go to another worker.
    pub(super) fn staying(&self) -> Vec<u32> {
        let stays = |shard: &&u32| !self.leaving.contains(*shard);
        self.locks.keys().filter(stays).copied().collect()
    }

    /// A row that is known to be there now.
    pub(super) fn note(&mut self, row: DueTimer) {
        if !self.leaving.contains(&row.shard_id) {
            self.window.add(row);
        }
    }

    /// Alone on the store, a holder of a lock is a process that is gone.
    async fn take_everything(&mut self, now: Timestamp) -> StoreResult<()> {
        self.next_heartbeat = now.plus(self.lock_heartbeat());
        if self.stop.is_cancelled() {
            return Ok(());
        }
        let all = ShardTake {
            max: u32::MAX,
            unlocked_by: None,
        };
        let stale_before = now.plus(self.runtime.options.shard_lock);
        self.take_shards(all, stale_before, now).await?;
        self.cluster.locks = self.locks.len() as u32;
        self.held_from(now);
        Ok(())
    }

    /// Tells that we live, and does what the share asks for.
    async fn beat(&mut self, now: Timestamp) -> StoreResult<()> {
        let request = KeepRequest {
            locks: self.takings.guids(),
            owner: self.runtime.options.worker_id.clone(),
            now,
            alive_since: presence::alive_since(&self.runtime.options, now),
        };
        let kept = self.runtime.store.keep_shards(request).await?;
        // Taken at a time when the answer was lost: their rows were not read yet.
        let is_new = |(shard, lock): (&u32, &Uuid)| self.locks.get(shard) != Some(lock);
        if kept.locks.iter().any(is_new) {
            self.next_look = now;
            self.reset_backlog(now);
        }
        self.locks = kept.locks;
        self.cluster = kept.cluster;
        let shard_lock = self.runtime.options.shard_lock;
        self.takings.keep(&self.locks, now.minus(shard_lock));
        self.held_from(now);
        let held = self.locks.len() as u32;
        let plan = self.balancer.plan(held, &self.cluster, now);
        self.next_heartbeat = plan.next;
        self.leave(self.least_busy(plan.give_back as usize));
        let stale_before = now.minus(shard_lock);
        match plan.take {
            Some(take) if !self.stop.is_cancelled() => {
                self.take_shards(take, stale_before, now).await
            }
            _ => Ok(()),
        }
    }

    /// New shards are looked at right away.
    async fn take_shards(
        &mut self,
        take: ShardTake,
        stale_before: Timestamp,
        now: Timestamp,
    ) -> StoreResult<()> {
        let guid = id::random(&*self.runtime.entropy);
        // First: should the answer be lost, the next heartbeat asks for what it gave us.
        self.takings.add(guid, now);
        let request = LockRequest {
            guid,
            owner: presence::full_name(&self.runtime.options),
            now,
            stale_before,
            unlocked_by: take.unlocked_by,
            max: take.max,
        };
        let taken = self.runtime.store.lock_shards(request).await?;
        if taken.is_empty() {
            return Ok(());
        }
        self.balancer.start_cooldown(&self.cluster, now);
        let locks = taken.into_iter().map(|shard| (shard, guid));
        self.locks.extend(locks);
        self.next_look = now;
        self.reset_backlog(now);
        self.held_from(now);
        Ok(())
    }

    /// The locks were ours at `now`.
    fn held_from(&mut self, now: Timestamp) {
        let metrics = &self.runtime.metrics;
        metrics.timer_shards(&self.shards(), self.cluster.locks);
        self.locks_valid_until = match self.runtime.options.exclusive {
            true => Timestamp::from_micros(i64::MAX),
            false => now.plus(self.runtime.options.shard_lock),
        };
    }

    /// So many of our shards: those that are leaving already, then those with the fewest attempts.
    fn least_busy(&self, count: usize) -> BTreeSet<u32> {
        let mut shards = self.shards();
        shards.sort_by_key(|shard| (!self.leaving.contains(shard), self.runner.open_in(*shard)));
        shards.into_iter().take(count).collect()
    }

    /// A shard goes when no attempt of ours is open in it: its next owner would take that for interrupted.
    async fn give_back(&mut self) -> StoreResult<()> {
        let is_free = |shard: &u32| self.runner.open_in(*shard) == 0;
        let free: Vec<u32> = self.leaving.iter().copied().filter(is_free).collect();
        if free.is_empty() {
            return Ok(());
        }
        let now = self.runtime.now();
        let store = self.runtime.store.clone();
        store
            .unlock_shards(self.pass().locks, Some(free.clone()), now)
            .await?;
        self.leaving.retain(|shard| !free.contains(shard));
        self.locks.retain(|shard, _| !free.contains(shard));
        if self.leaving.is_empty() {
            self.balancer.start_cooldown(&self.cluster, now);
        }
        let metrics = &self.runtime.metrics;
        metrics.timer_shards(&self.shards(), self.cluster.locks);
        Ok(())
    }
}
