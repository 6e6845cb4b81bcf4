//! Learns of what comes next: takes in what is new, and reads what is due soon where that is not known.

use std::time::Duration;

use pawl_kernel::ports::store::{DueTimer, StoreResult};
use pawl_kernel::time::Timestamp;

use super::Timers;
use super::window::TimerPage;

const COLLECT_BATCH: u32 = 1_000;
/// New timers are looked for this often if no hints can come.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_EVERY_EXCLUSIVE: Duration = Duration::from_secs(60);
/// How far ahead a look goes at most and at least, and how many rows it reads.
pub(super) const HORIZON: Duration = Duration::from_secs(60);
const HORIZON_MIN: Duration = Duration::from_millis(250);
const PAGE: u32 = 2_048;
const COUNT_EVERY: Duration = Duration::from_secs(1);

impl Timers {
    fn look_interval(&self) -> Duration {
        if self.runtime.options.exclusive {
            LOOK_EVERY_EXCLUSIVE
        } else if self.runtime.hints.hears_others() {
            // A net below the net: for writers that died before they gave a hint, and for hints that got lost.
            self.runtime.options.shard_lock
        } else {
            LOOK_EVERY.min(self.runtime.options.shard_lock)
        }
    }

    /// Takes in a batch of what is new, if it is time to look.
    pub(super) async fn collect(&mut self) -> StoreResult<()> {
        let now = self.runtime.now();
        if now < self.next_look {
            return Ok(());
        }
        // Set first: a hint that comes while we look brings it forward again.
        self.next_look = now.plus(self.look_interval());
        let moved = self
            .runtime
            .store
            .collect(self.pass(), &self.staying(), now, COLLECT_BATCH)
            .await?;
        if moved.len() >= COLLECT_BATCH as usize {
            self.next_look = now;
        }
        moved.into_iter().for_each(|row| self.note(row));
        Ok(())
    }

    /// Reads what comes next, if that is not known. Rows that turn up again although they were dealt with mean that a
    /// shard is not ours any more, or that another transaction has them; then all locks are asked for before anything else.
    pub(super) async fn look_ahead(&mut self) -> StoreResult<()> {
        let now = self.runtime.now();
        let slots = self.runner.room();
        let mut again = false;
        if let Some(from) = self.window.next_fresh_page(now, slots) {
            let page = self.read_fresh_page(from, now).await?;
            again |= self.window.add_fresh_page(page, now);
        }
        if let Some(from) = self.window.next_backlog_page(slots) {
            let page = self.read_backlog_page(from).await?;
            let is_last = page.rows.is_empty() && !page.is_full;
            again |= self.window.add_backlog_page(page, now);
            // Only when everything is collected: more of it may be among what is new.
            if is_last && from == Timestamp::default() && now < self.next_look {
                self.window.backlog_is_over();
            }
        }
        if again {
            self.next_heartbeat = Timestamp::default();
        }
        self.count_due(now);
        Ok(())
    }

    async fn read_fresh_page(&mut self, from: Timestamp, now: Timestamp) -> StoreResult<TimerPage> {
        let store = &self.runtime.store;
        let end = now.plus(self.horizon);
        let shards = self.staying();
        let rows = store.upcoming(&shards, from..end, PAGE).await?;
        let mut page = page_of(rows, from, end);
        // Each shard is read so far, and only a page of it all is kept: where much is due, far ahead is in vain.
        let horizon = if page.is_full {
            page.until.since(now) * 2
        } else {
            self.horizon * 2
        };
        self.horizon = horizon.clamp(HORIZON_MIN, HORIZON);
        if page.rows.is_empty() {
            // With nothing near, there is no need to ask again before there is something.
            let next = store.next_due(&shards).await?;
            let never = Timestamp::from_micros(i64::MAX);
            page.until = next.map_or(never, |at| at.minus(HORIZON / 2).max(end));
        }
        Ok(page)
    }

    async fn read_backlog_page(&self, from: Timestamp) -> StoreResult<TimerPage> {
        let end = self.window.backlog_before();
        let rows = self
            .runtime
            .store
            .upcoming(&self.staying(), from..end, PAGE)
            .await?;
        Ok(page_of(rows, from, end))
    }

    fn count_due(&mut self, now: Timestamp) {
        if now >= self.next_count {
            self.next_count = now.plus(COUNT_EVERY);
            let due = self.window.due_by_shard(now, &self.shards());
            self.runtime.metrics.timers_due(&due);
        }
    }
}

fn page_of(rows: Vec<DueTimer>, from: Timestamp, end: Timestamp) -> TimerPage {
    let is_full = rows.len() >= PAGE as usize;
    let last = rows.last().map(|row| row.at);
    TimerPage {
        until: last.filter(|_| is_full).unwrap_or(end),
        from,
        is_full,
        rows,
    }
}
