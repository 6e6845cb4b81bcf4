//! Admits executions that wait for a quota. Any number of processes may do so at the same time: the store admits, and a
//! limit holds in every one of its transactions.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pawl_kernel::ports::quotas::{QuotaReads, QuotaStore};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::quota::{QuotaName, QuotaUse};
use pawl_kernel::time::{Clock, Timestamp};

use crate::hints::{Hints, News};
use crate::metrics::SchedulerMetrics;
use crate::publisher::Publisher;
use crate::runtime::Runtime;
use crate::service::{NextTick, Service};
use crate::sync::lock;

/// Most executions admitted in one transaction.
const BATCH: u32 = 64;
/// The queue is looked at this often if no process can tell us of it.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// With hints, looking is only a net below the net.
const LOOK_EVERY_WITH_HINTS: Duration = Duration::from_secs(30);
const PAGE: u32 = 1_000;

/// What this process knows of the queue before the quotas. It saves work; the store decides.
pub struct AdmissionQueue {
    /// Executions may wait in it.
    waiting: AtomicBool,
    /// The quotas that operators have set; `None`: they have not been read yet.
    limited: Mutex<Option<Arc<BTreeSet<QuotaName>>>>,
}

impl Default for AdmissionQueue {
    fn default() -> Self {
        Self {
            waiting: AtomicBool::new(true),
            limited: Mutex::default(),
        }
    }
}

impl AdmissionQueue {
    pub(crate) fn may_have_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn note_waiting(&self, waiting: bool) {
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// Could one of these quotas keep an execution from starting at once? Only alone on a store is "no" certain.
    pub(crate) fn may_limit(&self, claims: &[QuotaUse]) -> bool {
        let limited = lock(&self.limited).clone();
        let may = |claim: &QuotaUse| {
            let set = limited.as_ref();
            claim.settings.is_some() || set.is_none_or(|set| set.contains(&claim.name))
        };
        claims.iter().any(may)
    }

    pub(crate) async fn read_limits(&self, store: &dyn QuotaReads) -> StoreResult<()> {
        let mut names: BTreeSet<QuotaName> = BTreeSet::new();
        loop {
            let after = names.last().cloned();
            let page = store.quotas(true, after, PAGE).await?;
            let full = page.len() == PAGE as usize;
            names.extend(page.into_iter().map(|quota| quota.name));
            if !full {
                break;
            }
        }
        *lock(&self.limited) = Some(Arc::new(names));
        Ok(())
    }

    fn knows_limits(&self) -> bool {
        lock(&self.limited).is_some()
    }
}

pub struct Admission {
    store: Arc<dyn QuotaStore>,
    reads: Arc<dyn QuotaReads>,
    queue: Arc<AdmissionQueue>,
    publisher: Publisher,
    hints: Arc<Hints>,
    metrics: Arc<SchedulerMetrics>,
    clock: Arc<dyn Clock>,
    /// No other process can be on this store.
    exclusive: bool,
}

impl Admission {
    pub fn new(runtime: &Runtime) -> Self {
        Self {
            store: runtime.store.clone(),
            reads: runtime.store.clone(),
            queue: runtime.admission.clone(),
            publisher: runtime.publisher.clone(),
            hints: runtime.hints.clone(),
            metrics: runtime.metrics.scheduler.clone(),
            clock: runtime.clock.clone(),
            exclusive: runtime.options.exclusive,
        }
    }

    /// Admits all that may start now; returns when to look again.
    pub async fn admit(&self) -> StoreResult<NextTick> {
        if self.exclusive && !self.queue.knows_limits() {
            self.queue.read_limits(&*self.reads).await?;
        }
        loop {
            let admitted = self.store.admit(self.clock.now(), BATCH).await?;
            let (count, waiting) = (admitted.dispatches.len(), admitted.waiting);
            self.metrics.looked(count, waiting);
            for dispatch in &admitted.dispatches {
                self.hints.changed(dispatch.execution_id, News::default());
            }
            self.publisher.publish_all(admitted.dispatches).await;
            if count < BATCH as usize {
                self.queue.note_waiting(waiting);
                return Ok(self.next_look(waiting, admitted.look_again_at));
            }
        }
    }

    fn next_look(&self, waiting: bool, by_rate: Option<Timestamp>) -> NextTick {
        let now = self.clock.now();
        let regular = match (self.exclusive, waiting) {
            // Alone on the store, and no execution waits: whatever joins the queue gives a hint.
            (true, false) => None,
            (true, true) => Some(now.plus(LOOK_EVERY_WITH_HINTS)),
            (false, _) if self.hints.hears_others() => Some(now.plus(LOOK_EVERY_WITH_HINTS)),
            (false, _) => Some(now.plus(LOOK_EVERY)),
        };
        let next = by_rate.into_iter().chain(regular).min();
        next.map_or(NextTick::OnSignal, NextTick::At)
    }
}

impl Service for Admission {
    fn name(&self) -> &'static str {
        "admission"
    }

    async fn tick(&mut self, _now: Timestamp) -> StoreResult<NextTick> {
        self.admit().await
    }

    async fn signal(&mut self) -> NextTick {
        self.hints.admission_wanted().await;
        NextTick::Now
    }
}
