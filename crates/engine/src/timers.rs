//! Wakes executions whose wait is over. Works on the queue tables under shard locks; holds nothing in memory but
//! the time of the next firing.

use std::time::Duration;

use pawl_kernel::id;
use pawl_kernel::ports::store::{DueTimer, LockRequest, StoreResult};
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

use crate::hints::News;
use crate::parts::Parts;

/// Most timers fired in one transaction.
const BATCH: u32 = 256;
const COLLECT_BATCH: u32 = 1_000;
/// A lock whose owner has not been heard of for this long is free.
const LOCK_FREE_AFTER: Duration = Duration::from_secs(10);
const LOCK_HEARTBEAT: Duration = Duration::from_secs(2);
/// Without hints, new timers are looked for this often; with them only as a net below the net.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_EVERY_EXCLUSIVE: Duration = Duration::from_secs(60);

pub struct Timers {
    parts: Parts,
    guid: Uuid,
    shards: Vec<u32>,
    next_heartbeat: Timestamp,
}

impl Timers {
    pub fn new(parts: Parts) -> Self {
        let guid = id::random(&*parts.entropy);
        Self {
            parts,
            guid,
            shards: Vec::new(),
            next_heartbeat: Timestamp::default(),
        }
    }

    pub(crate) async fn run(mut self) {
        loop {
            let now = self.parts.now();
            let wake_at = match self.tick().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(%error, "timers");
                    now.plus(Duration::from_secs(1))
                }
            };
            self.wait(wake_at).await;
        }
    }

    /// Fires what is due; returns when to look again.
    pub async fn tick(&mut self) -> StoreResult<Timestamp> {
        self.parts.hints.take_next_timer();
        self.hold_shards().await?;
        self.collect().await?;
        self.fire_due().await?;
        let now = self.parts.now();
        let look = if self.parts.options.exclusive {
            LOOK_EVERY_EXCLUSIVE
        } else {
            LOOK_EVERY
        };
        if self.shards.is_empty() {
            return Ok(now.plus(LOCK_HEARTBEAT));
        }
        let due = self.parts.store.next_due(&self.shards).await?;
        let next = due.unwrap_or(now.plus(look)).min(now.plus(look));
        Ok(if self.parts.options.exclusive {
            next
        } else {
            next.min(self.next_heartbeat)
        })
    }

    /// Sleeps until `wake_at`, or until a timer due sooner is committed.
    async fn wait(&self, wake_at: Timestamp) {
        let mut wake_at = wake_at;
        loop {
            tokio::select! {
                biased;
                () = self.parts.clock.sleep_until(wake_at) => return,
                () = self.parts.hints.timer_added() => {
                    if let Some(at) = self.parts.hints.take_next_timer() {
                        wake_at = wake_at.min(at);
                    }
                }
            }
        }
    }

    async fn hold_shards(&mut self) -> StoreResult<()> {
        let now = self.parts.now();
        if !self.shards.is_empty() && (self.parts.options.exclusive || now < self.next_heartbeat) {
            return Ok(());
        }
        self.shards = self.parts.store.keep_shards(self.guid, now).await?;
        let missing = self
            .parts
            .options
            .timer_shards
            .saturating_sub(self.shards.len() as u32);
        // Alone on the store, whoever holds a lock is a process that is gone.
        let stale_before = if self.parts.options.exclusive {
            now.plus(LOCK_FREE_AFTER)
        } else {
            now.minus(LOCK_FREE_AFTER)
        };
        let request = LockRequest {
            guid: self.guid,
            owner: self.parts.options.worker_id.clone(),
            now,
            stale_before,
            max: missing,
        };
        self.shards
            .extend(self.parts.store.lock_shards(request).await?);
        self.shards.sort_unstable();
        self.shards.dedup();
        self.next_heartbeat = now.plus(LOCK_HEARTBEAT);
        Ok(())
    }

    async fn collect(&self) -> StoreResult<()> {
        while self
            .parts
            .store
            .collect(self.guid, &self.shards, self.parts.now(), COLLECT_BATCH)
            .await?
            == COLLECT_BATCH
        {}
        Ok(())
    }

    /// Fires in batches until nothing is due. Rows that stay although they were fired mean that a shard is not
    /// ours any more; then all locks are asked for anew before anything else.
    async fn fire_due(&mut self) -> StoreResult<()> {
        let mut fired: Vec<DueTimer> = Vec::new();
        loop {
            let now = self.parts.now();
            let due = self
                .parts
                .store
                .upcoming(&self.shards, now.plus(Duration::from_micros(1)), BATCH)
                .await?;
            if due.is_empty() {
                return Ok(());
            }
            if due == fired {
                self.shards.clear();
                return Ok(());
            }
            let woken = self.parts.store.fire(self.guid, due.clone(), now).await?;
            fired = due;
            for dispatch in woken {
                self.parts
                    .hints
                    .changed(dispatch.execution_id, News::default());
                self.parts.publish(dispatch).await;
            }
        }
    }
}
