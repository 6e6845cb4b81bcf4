//! Lets in whoever stands in line for a quota. Any number of schedulers may look at the same time: the store admits,
//! and a limit holds in every one of its transactions.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pawl_kernel::ports::store::{Store, StoreResult};
use pawl_kernel::quota::{QuotaClaim, QuotaName};
use pawl_kernel::time::Timestamp;

use crate::hints::News;
use crate::parts::Parts;
use crate::sync::lock;

/// Most executions admitted in one transaction.
const BATCH: u32 = 64;
/// The line is looked at this often if nobody can tell us of it.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// With hints, looking is only a net below the net.
const LOOK_EVERY_WITH_HINTS: Duration = Duration::from_secs(30);
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
const PAGE: u32 = 1_000;

/// What this process knows of quotas. It saves work; the store decides.
pub struct Lines {
    /// Somebody may stand in line.
    waiting: AtomicBool,
    /// The quotas that operators have set; `None`: nobody has looked yet.
    limited: Mutex<Option<Arc<BTreeSet<QuotaName>>>>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            waiting: AtomicBool::new(true),
            limited: Mutex::default(),
        }
    }
}

impl Lines {
    pub(crate) fn somebody_waits(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }

    fn note_waiting(&self, waiting: bool) {
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// Could one of these quotas keep an execution from starting at once? Only alone on a store is "no" certain.
    pub(crate) fn may_limit(&self, claims: &[QuotaClaim]) -> bool {
        let limited = lock(&self.limited).clone();
        let may = |claim: &QuotaClaim| {
            let set = limited.as_ref();
            claim.settings.is_some() || set.is_none_or(|set| set.contains(&claim.name))
        };
        claims.iter().any(may)
    }

    pub(crate) async fn read_limits(&self, store: &dyn Store) -> StoreResult<()> {
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

impl Parts {
    /// Somebody new stands in line, or a limit has changed.
    pub(crate) fn line_changed(&self) {
        self.lines.note_waiting(true);
        self.hints.admission();
    }

    /// Somebody who may have held places in quotas has ended.
    pub(crate) fn places_freed(&self) {
        if self.lines.somebody_waits() {
            self.hints.admission();
        }
    }
}

pub struct Scheduler {
    parts: Parts,
}

impl Scheduler {
    pub fn new(parts: Parts) -> Self {
        Self { parts }
    }

    pub(crate) async fn run(mut self) {
        loop {
            let next = match self.tick().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(%error, "scheduler");
                    Some(self.parts.now().plus(PAUSE_AFTER_ERROR))
                }
            };
            self.wait(next).await;
        }
    }

    /// Lets in whoever may come in; returns when to look again. `None`: not before somebody tells.
    pub async fn tick(&mut self) -> StoreResult<Option<Timestamp>> {
        if self.parts.options.exclusive && !self.parts.lines.knows_limits() {
            self.parts.lines.read_limits(&*self.parts.store).await?;
        }
        loop {
            let admitted = self.parts.store.admit(self.parts.now(), BATCH).await?;
            let (count, waiting) = (admitted.dispatches.len(), admitted.waiting);
            self.parts.metrics.scheduler.looked(count, waiting);
            let full = count == BATCH as usize;
            for dispatch in &admitted.dispatches {
                self.parts
                    .hints
                    .changed(dispatch.execution_id, News::default());
            }
            self.parts.publish_all(admitted.dispatches).await;
            if !full {
                self.parts.lines.note_waiting(admitted.waiting);
                return Ok(self.next_look(admitted.waiting, admitted.look_again_at));
            }
        }
    }

    fn next_look(&self, waiting: bool, by_rate: Option<Timestamp>) -> Option<Timestamp> {
        let now = self.parts.now();
        let regular = match (self.parts.options.exclusive, waiting) {
            // Alone on the store, and nobody waits: whoever comes will tell us.
            (true, false) => None,
            (true, true) => Some(now.plus(LOOK_EVERY_WITH_HINTS)),
            (false, _) if self.parts.hints.hears_others() => Some(now.plus(LOOK_EVERY_WITH_HINTS)),
            (false, _) => Some(now.plus(LOOK_EVERY)),
        };
        by_rate.into_iter().chain(regular).min()
    }

    async fn wait(&self, next: Option<Timestamp>) {
        let sleep = async {
            match next {
                Some(at) => self.parts.clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.parts.hints.admission_wanted() => {}
            () = sleep => {}
        }
    }
}
