//! Which shards are ours.

use std::collections::BTreeSet;
use std::time::Duration;

use pawl_kernel::ports::store::{DueTimer, KeepRequest, LockRequest, StoreResult};
use pawl_kernel::time::Timestamp;

use super::Timers;
use super::share::Take;
use crate::presence;

impl Timers {
    pub(super) fn lock_heartbeat(&self) -> Duration {
        self.share.heartbeat()
    }

    /// When locks are to be kept, or free ones taken.
    pub(super) fn next_hold(&self) -> Timestamp {
        match self.parts.options.exclusive && !self.shards.is_empty() {
            // Nobody else can have them, and all there are is ours.
            true => Timestamp::from_micros(i64::MAX),
            false => self.next_heartbeat,
        }
    }

    /// Keeps the locks we have, takes free ones and gives back those beyond our share.
    pub(super) async fn hold_shards(&mut self) -> StoreResult<()> {
        let now = self.parts.now();
        if now >= self.next_hold() {
            match self.parts.options.exclusive {
                true => self.take_everything(now).await?,
                false => self.beat(now).await?,
            }
        }
        if self.stop.is_cancelled() {
            // Somebody else fires what is due here from now on.
            self.leave(self.shards.iter().copied().collect());
        }
        self.give_back().await
    }

    /// Rows of these shards are left alone from now on.
    fn leave(&mut self, leaving: BTreeSet<u32>) {
        let mut stay_after_all = self.leaving.difference(&leaving);
        if stay_after_all.any(|shard| self.shards.contains(shard)) {
            self.near.outdated();
        }
        self.leaving = leaving;
        self.near.keep_shards(&self.staying());
    }

    /// Our shards but those that are about to be somebody else's.
    pub(super) fn staying(&self) -> Vec<u32> {
        let stays = |shard: &&u32| !self.leaving.contains(*shard);
        self.shards.iter().filter(stays).copied().collect()
    }

    /// A row that is known to be there now.
    pub(super) fn note(&mut self, row: DueTimer) {
        if !self.leaving.contains(&row.shard_id) {
            self.near.add(row);
        }
    }

    /// Alone on the store, whoever holds a lock is a process that is gone.
    async fn take_everything(&mut self, now: Timestamp) -> StoreResult<()> {
        self.next_heartbeat = now.plus(self.lock_heartbeat());
        if self.stop.is_cancelled() {
            return Ok(());
        }
        let all = Take {
            max: u32::MAX,
            unlocked_by: None,
        };
        let stale_before = now.plus(self.parts.options.shard_lock);
        self.take_shards(all, stale_before, now).await?;
        self.around.locks = self.shards.len() as u32;
        self.held_from(now);
        Ok(())
    }

    /// Tells that we live, and does what the share asks for.
    async fn beat(&mut self, now: Timestamp) -> StoreResult<()> {
        let request = KeepRequest {
            guid: self.guid,
            owner: self.parts.options.worker_id.clone(),
            now,
            alive_since: presence::alive_since(&self.parts, now),
        };
        let kept = self.parts.store.keep_shards(request).await?;
        // Taken at a time when the answer was lost: nobody has looked at them yet.
        let is_new = |shard: &u32| !self.shards.contains(shard);
        if kept.shards.iter().any(is_new) {
            self.next_look = now;
            self.came(now);
        }
        self.shards = kept.shards;
        self.around = kept.around;
        self.held_from(now);
        let held = self.shards.len() as u32;
        let plan = self.share.plan(held, &self.around, now);
        self.next_heartbeat = plan.next;
        self.leave(self.least_busy(plan.give_back as usize));
        let stale_before = now.minus(self.parts.options.shard_lock);
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
        take: Take,
        stale_before: Timestamp,
        now: Timestamp,
    ) -> StoreResult<()> {
        let request = LockRequest {
            guid: self.guid,
            owner: self.parts.options.worker_id.clone(),
            now,
            stale_before,
            unlocked_by: take.unlocked_by,
            max: take.max,
        };
        let taken = self.parts.store.lock_shards(request).await?;
        if taken.is_empty() {
            return Ok(());
        }
        self.share.settle(&self.around, now);
        self.shards.extend(taken);
        self.shards.sort_unstable();
        self.shards.dedup();
        self.next_look = now;
        self.came(now);
        self.held_from(now);
        Ok(())
    }

    /// The locks were ours at `now`.
    fn held_from(&mut self, now: Timestamp) {
        let metrics = &self.parts.metrics;
        metrics.timer_shards(&self.shards, self.around.locks);
        self.held_until = match self.parts.options.exclusive {
            true => Timestamp::from_micros(i64::MAX),
            false => now.plus(self.parts.options.shard_lock),
        };
    }

    /// So many of our shards: those that are leaving already, then those with the fewest attempts.
    fn least_busy(&self, count: usize) -> BTreeSet<u32> {
        let mut shards = self.shards.clone();
        shards.sort_by_key(|shard| (!self.leaving.contains(shard), self.runner.open_in(*shard)));
        shards.into_iter().take(count).collect()
    }

    /// A shard goes when no attempt of ours is open in it: whoever has it next would take that for interrupted.
    async fn give_back(&mut self) -> StoreResult<()> {
        let is_free = |shard: &u32| self.runner.open_in(*shard) == 0;
        let free: Vec<u32> = self.leaving.iter().copied().filter(is_free).collect();
        if free.is_empty() {
            return Ok(());
        }
        let now = self.parts.now();
        let store = self.parts.store.clone();
        store
            .unlock_shards(self.guid, Some(free.clone()), now)
            .await?;
        self.leaving.retain(|shard| !free.contains(shard));
        self.shards.retain(|shard| !free.contains(shard));
        if self.leaving.is_empty() {
            self.share.settle(&self.around, now);
        }
        let metrics = &self.parts.metrics;
        metrics.timer_shards(&self.shards, self.around.locks);
        Ok(())
    }
}
