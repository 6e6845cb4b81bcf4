//! Tells the other workers that this one is there, what it can do and what it is doing.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::ports::workers::{WorkerRecord, WorkerStore};
use pawl_kernel::time::Timestamp;

use crate::options::Options;
use crate::running::RunningPasses;
use crate::runtime::Runtime;
use crate::service::{NextTick, Service};
use crate::worker::Roles;

/// Alone on the store no other process looks.
const EXCLUSIVE_INTERVAL: Duration = Duration::from_secs(60);
/// A worker not heard of for so long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Executions named in a report.
const DOING_MAX: usize = 20;
/// A worker that has missed this many reports counts as gone.
const MISSED_MAX: u32 = 3;

pub(crate) struct Presence {
    store: Arc<dyn WorkerStore>,
    running: Arc<RunningPasses>,
    interval: Duration,
    /// What stays the same from report to report.
    about: WorkerRecord,
}

impl Presence {
    pub(crate) fn new(runtime: &Runtime, roles: Roles, running: Arc<RunningPasses>) -> Self {
        let (options, now) = (&runtime.options, runtime.now());
        let about = WorkerRecord {
            id: options.worker_id.clone(),
            roles: roles.names(),
            node_types: runtime.registry.types().map(str::to_owned).collect(),
            slots: u32::try_from(options.slots).unwrap_or(u32::MAX),
            busy: 0,
            doing: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: now,
            heartbeat_at: now,
        };
        Self {
            store: runtime.store.clone(),
            running,
            interval: interval(options),
            about,
        }
    }

    fn report(&self, now: Timestamp) -> WorkerRecord {
        let held = self.running.held();
        let ids = held.iter().take(DOING_MAX).map(|(id, _)| id.to_string());
        WorkerRecord {
            busy: u32::try_from(held.len()).unwrap_or(u32::MAX),
            doing: ids.collect(),
            heartbeat_at: now,
            ..self.about.clone()
        }
    }
}

impl Service for Presence {
    fn name(&self) -> &'static str {
        "presence"
    }

    async fn tick(&mut self, now: Timestamp) -> StoreResult<NextTick> {
        let forget_before = now.minus(FORGET_AFTER);
        self.store
            .report_worker(self.report(now), forget_before)
            .await?;
        Ok(NextTick::After(self.interval))
    }

    fn after_error(&self) -> NextTick {
        NextTick::After(self.interval)
    }
}

/// The worker as people find it, host and process, and the program it runs.
pub(crate) fn full_name(options: &Options) -> String {
    let worker = &options.worker_id;
    format!("{worker} pawl/{}", env!("CARGO_PKG_VERSION"))
}

fn interval(options: &Options) -> Duration {
    if options.exclusive {
        EXCLUSIVE_INTERVAL
    } else {
        options.lease / 3
    }
}

/// Workers that reported at or after this moment are alive.
pub fn alive_since(options: &Options, now: Timestamp) -> Timestamp {
    now.minus(counted(options))
}

/// A worker counts as alive for so long after its last report.
pub(crate) fn counted(options: &Options) -> Duration {
    interval(options) * MISSED_MAX
}
