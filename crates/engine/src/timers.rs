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
/// A lock is renewed this often before it would count as free.
const BEATS: u32 = 4;
/// New timers are looked for this often if nobody can tell us of them.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_EVERY_EXCLUSIVE: Duration = Duration::from_secs(60);

pub struct Timers {
    parts: Parts,
    guid: Uuid,
    shards: Vec<u32>,
    next_heartbeat: Timestamp,
    next_try: Timestamp,
    next_look: Timestamp,
    /// The soonest timer that is known to be in our shards.
    next_due: Option<Timestamp>,
}

impl Timers {
    pub fn new(parts: Parts) -> Self {
        let guid = id::random(&*parts.entropy);
        Self {
            parts,
            guid,
            shards: Vec::new(),
            next_heartbeat: Timestamp::default(),
            next_try: Timestamp::default(),
            next_look: Timestamp::default(),
            next_due: Some(Timestamp::default()),
        }
    }

    /// What our locks are marked with.
    pub(crate) fn guid(&self) -> Uuid {
        self.guid
    }

    pub(crate) async fn run(mut self) {
        loop {
            let now = self.parts.now();
            let wake_at = match self.tick().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(%error, "timers");
                    // Whatever was missed is looked at as soon as the store answers again.
                    self.next_look = now;
                    self.next_due = Some(now);
                    now.plus(Duration::from_secs(1))
                }
            };
            self.wait(wake_at).await;
        }
    }

    /// Fires what is due; returns when to look again.
    pub async fn tick(&mut self) -> StoreResult<Timestamp> {
        if let Some(at) = self.parts.hints.take_next_timer() {
            self.next_look = self.next_look.min(at);
        }
        self.hold_shards().await?;
        self.parts.metrics.timers.shards_held(&self.shards);
        let now = self.parts.now();
        if self.shards.is_empty() {
            return Ok(self.next_try);
        }
        if now >= self.next_look {
            // Set first: a hint that comes while we look brings it forward again.
            self.next_look = now.plus(self.look_interval());
            let due = self.next_due.is_some_and(|due| due <= now);
            if self.collect().await? || due {
                self.fire_due().await?;
                self.next_due = self.parts.store.next_due(&self.shards).await?;
            }
            if let Some(due) = self.next_due {
                self.next_look = self.next_look.min(due);
            }
        }
        let wake_at = self.next_look;
        if self.parts.options.exclusive {
            return Ok(wake_at);
        }
        Ok(wake_at.min(self.next_heartbeat))
    }

    fn look_interval(&self) -> Duration {
        if self.parts.options.exclusive {
            LOOK_EVERY_EXCLUSIVE
        } else if self.parts.hints.hears_others() {
            // A net below the net: for those who died before they could tell, and for hints that got lost.
            self.parts.options.shard_lock
        } else {
            LOOK_EVERY.min(self.parts.options.shard_lock)
        }
    }

    /// Sleeps until `wake_at`, or until a timer due sooner is committed.
    async fn wait(&mut self, wake_at: Timestamp) {
        let mut wake_at = wake_at;
        loop {
            tokio::select! {
                biased;
                () = self.parts.clock.sleep_until(wake_at) => return,
                () = self.parts.hints.timer_added() => {
                    if let Some(at) = self.parts.hints.take_next_timer() {
                        self.next_look = self.next_look.min(at);
                        wake_at = wake_at.min(at);
                    }
                }
            }
        }
    }

    fn lock_heartbeat(&self) -> Duration {
        self.parts.options.shard_lock / BEATS
    }

    /// Keeps the locks we have, and takes free ones. New shards are looked at right away.
    async fn hold_shards(&mut self) -> StoreResult<()> {
        let now = self.parts.now();
        if !self.shards.is_empty() {
            if self.parts.options.exclusive || now < self.next_heartbeat {
                return Ok(());
            }
            self.shards = self.parts.store.keep_shards(self.guid, now).await?;
            self.next_heartbeat = now.plus(self.lock_heartbeat());
        }
        let missing = self
            .parts
            .options
            .timer_shards
            .saturating_sub(self.shards.len() as u32);
        if missing == 0 || now < self.next_try {
            return Ok(());
        }
        // Somebody else's locks are tried less often while ours are not all there are.
        self.next_try = now.plus(match self.shards.is_empty() {
            true => self.lock_heartbeat(),
            false => self.parts.options.shard_lock / 2,
        });
        let taken = self.take_shards(missing, now).await?;
        if !taken.is_empty() {
            self.shards.extend(taken);
            self.shards.sort_unstable();
            self.shards.dedup();
            self.next_look = now;
            self.next_due = Some(now);
            self.next_heartbeat = now.plus(self.lock_heartbeat());
        }
        Ok(())
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

    /// Takes in what is new; `false`: nothing is.
    async fn collect(&self) -> StoreResult<bool> {
        let mut any = false;
        loop {
            let (store, now) = (&self.parts.store, self.parts.now());
            let moved = store
                .collect(self.guid, &self.shards, now, COLLECT_BATCH)
                .await?;
            any |= moved > 0;
            if moved < COLLECT_BATCH {
                return Ok(any);
            }
        }
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
                self.next_try = now;
                return Ok(());
            }
            let woken = self.parts.store.fire(self.guid, due.clone(), now).await?;
            self.parts.metrics.timers.fired(&due, now);
            // Whoever was woken without a message stands in line now, or was not there any more.
            if woken.len() < due.len() {
                self.parts.line_changed();
            }
            fired = due;
            for dispatch in &woken {
                self.parts
                    .hints
                    .changed(dispatch.execution_id, News::default());
            }
            self.parts.publish_all(woken).await;
            // A long row of them takes its time; the locks must not run out meanwhile.
            self.hold_shards().await?;
        }
    }
}
