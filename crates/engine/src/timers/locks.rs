//! Which shards are ours.

use std::time::Duration;

use pawl_kernel::ports::store::{LockRequest, StoreResult};
use pawl_kernel::time::Timestamp;

use super::Timers;

/// A lock is renewed this often before it would count as free.
const BEATS: u32 = 4;
/// Free locks are looked for this often in that time.
const TRIES: u32 = 8;

impl Timers {
    pub(super) fn lock_heartbeat(&self) -> Duration {
        self.parts.options.shard_lock / BEATS
    }

    fn missing(&self) -> u32 {
        let held = self.shards.len() as u32;
        self.parts.options.timer_shards.saturating_sub(held)
    }

    /// When locks are to be kept, or free ones taken.
    pub(super) fn next_hold(&self) -> Timestamp {
        match (self.shards.is_empty(), self.missing()) {
            (true, _) => self.next_try,
            // Nobody else can have them, and all there are is ours.
            (false, _) if self.parts.options.exclusive => Timestamp::from_micros(i64::MAX),
            (false, 0) => self.next_heartbeat,
            (false, _) => self.next_heartbeat.min(self.next_try),
        }
    }

    /// Keeps the locks we have, and takes free ones. New shards are looked at right away.
    pub(super) async fn hold_shards(&mut self) -> StoreResult<()> {
        let now = self.parts.now();
        if now < self.next_hold() {
            return Ok(());
        }
        if !self.shards.is_empty() {
            self.shards = self.parts.store.keep_shards(self.guid, now).await?;
            self.near.keep_shards(&self.shards);
            self.held_from(now);
        }
        let missing = self.missing();
        if missing == 0 || now < self.next_try || self.stop.is_cancelled() {
            return Ok(());
        }
        // Often enough that what somebody left behind is not late by much more than the time his locks last.
        self.next_try = now.plus(self.parts.options.shard_lock / TRIES);
        let taken = self.take_shards(missing, now).await?;
        if !taken.is_empty() {
            self.shards.extend(taken);
            self.shards.sort_unstable();
            self.shards.dedup();
            self.next_look = now;
            self.since = now;
            self.near.forget();
            self.held_from(now);
        }
        Ok(())
    }

    /// The locks were ours at `now`.
    fn held_from(&mut self, now: Timestamp) {
        let options = &self.parts.options;
        self.parts
            .metrics
            .timer_shards(&self.shards, options.timer_shards);
        self.next_heartbeat = now.plus(self.lock_heartbeat());
        self.held_until = match self.parts.options.exclusive {
            true => Timestamp::from_micros(i64::MAX),
            false => now.plus(self.parts.options.shard_lock),
        };
    }

    async fn take_shards(&self, max: u32, now: Timestamp) -> StoreResult<Vec<u32>> {
        // Alone on the store, whoever holds a lock is a process that is gone.
        let free_after = self.parts.options.shard_lock;
        let stale_before = if self.parts.options.exclusive {
            now.plus(free_after)
        } else {
            now.minus(free_after)
        };
        let request = LockRequest {
            guid: self.guid,
            owner: self.parts.options.worker_id.clone(),
            now,
            stale_before,
            max,
        };
        self.parts.store.lock_shards(request).await
    }
}
