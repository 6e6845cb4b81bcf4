//! Finds what was lost: leases whose holder vanished, and executions that could run but have no message.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::ports::store::{Expired, StoreResult, SweepRequest};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Timestamp;

use crate::parts::Parts;
use crate::running::Running;

const PAGE: u32 = 500;
/// Pages of the sweep per tick, so that a long backlog is walked in turns.
const PAGES: u32 = 20;

pub struct Reaper {
    parts: Parts,
    /// Where the sweep goes on next tick.
    cursor: Option<ExecutionId>,
}

/// What a tick did; for tests and metrics.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub reaped: usize,
    pub swept: usize,
}

impl Reaper {
    pub fn new(parts: Parts) -> Self {
        Self {
            parts,
            cursor: None,
        }
    }

    pub(crate) async fn run(mut self, running: Arc<Running>) {
        loop {
            let next = self.parts.now().plus(self.interval(&running));
            self.parts.clock.sleep_until(next).await;
            match self.tick().await {
                Ok(progress) if progress != Progress::default() => {
                    tracing::info!(?progress, "recovered");
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "reaper"),
            }
        }
    }

    /// Alone on the store and with nothing in hand, there is hardly anything to find: an idle process sleeps longer.
    fn interval(&self, running: &Running) -> Duration {
        let options = &self.parts.options;
        let idle = options.exclusive && running.is_empty();
        if idle {
            options.reaper_interval * 6
        } else {
            options.reaper_interval
        }
    }

    pub async fn tick(&mut self) -> StoreResult<Progress> {
        // Whoever holds a lease is running: where the sweep saw nothing that could run, no lease can have run out.
        let swept = match planted::has(Bug::NoSweeper) {
            true => Ok((0, true)),
            false => self.sweep().await,
        };
        // A sweep that fails says nothing about leases.
        let reaped = match &swept {
            Ok((_, false)) => 0,
            _ => self.reap().await?,
        };
        let (swept, _) = swept?;
        Ok(Progress { reaped, swept })
    }

    async fn reap(&self) -> StoreResult<usize> {
        let mut reaped = 0;
        for expired in self.parts.store.expired(self.parts.now(), PAGE).await? {
            let on_stuck = self.on_stuck(&expired).await;
            let id = expired.execution_id;
            let taken = match self.parts.store.reap(id, on_stuck, self.parts.now()).await {
                Ok(Some(taken)) => taken,
                Ok(None) => continue,
                Err(error) => {
                    // The next one may be readable, or free.
                    tracing::warn!(execution_id = %id, %error, "a lease that has run out could not be taken");
                    continue;
                }
            };
            tracing::warn!(execution_id = %id, ended = ?taken.applied.ended, "lease taken from a worker that vanished");
            self.parts.announce(id, &taken.applied);
            self.parts.metrics.workers.leases_reaped.increment();
            reaped += 1;
            if let Some(dispatch) = taken.dispatch {
                self.parts.publish(dispatch).await;
            }
        }
        Ok(reaped)
    }

    /// What the schema wants; one that cannot be read is tried again rather than failed.
    async fn on_stuck(&self, expired: &Expired) -> OnStuck {
        match self
            .parts
            .graphs
            .get(expired.schema_id, expired.schema_version)
            .await
        {
            Ok(graph) => graph.definition().settings.on_stuck,
            Err(_) => OnStuck::Requeue,
        }
    }

    /// A long queue is no lost message: what waits about as long as messages of its class do now is not swept.
    fn idle_since(&self, now: Timestamp) -> [Timestamp; 3] {
        let least = self.parts.options.sweep_after;
        let ages = self.parts.hints.backlog.ages(now);
        ages.map(|age| now.minus(least.max(age * 2)))
    }

    /// How many got a message, and whether anything was looked at.
    async fn sweep(&mut self) -> StoreResult<(usize, bool)> {
        // Each sweep puts what it found off for longer: none may be wasted on a queue that is not there.
        if !self.parts.queue.takes_messages() {
            return Ok((0, true));
        }
        let mut swept = 0;
        let mut anything = self.cursor.is_some();
        for _ in 0..PAGES {
            let now = self.parts.now();
            let request = SweepRequest {
                now,
                idle_since: self.idle_since(now),
                back_off: self.parts.options.sweep_after.max(Duration::from_secs(1)),
                after: self.cursor,
                limit: PAGE,
            };
            let sweep = self.parts.store.sweep(request).await?;
            swept += sweep.due.len();
            let count = sweep.due.len() as u64;
            self.parts.metrics.workers.messages_swept.add(count);
            anything |= sweep.looked_at > 0;
            self.parts.publish_all(sweep.due).await;
            self.cursor = sweep.next;
            if self.cursor.is_none() {
                break;
            }
        }
        Ok((swept, anything))
    }
}
