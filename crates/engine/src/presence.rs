//! Tells the others that this worker is there, what it can do and what it is doing.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::ports::workers::WorkerRecord;
use pawl_kernel::time::Timestamp;

use crate::parts::Parts;
use crate::running::Running;
use crate::worker::Roles;

/// Alone on the store nobody else looks.
const EXCLUSIVE_INTERVAL: Duration = Duration::from_secs(60);
/// A worker not heard of for so long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Executions named in a report.
const DOING_MAX: usize = 20;
/// A worker that has missed this many reports counts as gone.
const MISSED_MAX: u32 = 3;

pub(crate) struct Presence {
    parts: Parts,
    roles: Roles,
    running: Arc<Running>,
    started_at: Timestamp,
}

impl Presence {
    pub(crate) fn new(parts: Parts, roles: Roles, running: Arc<Running>) -> Self {
        Self {
            started_at: parts.now(),
            parts,
            roles,
            running,
        }
    }

    pub(crate) async fn run(self) {
        loop {
            self.report().await;
            let next = self.parts.now().plus(interval(&self.parts));
            self.parts.clock.sleep_until(next).await;
        }
    }

    async fn report(&self) {
        let now = self.parts.now();
        let held = self.running.held();
        let record = WorkerRecord {
            id: self.parts.options.worker_id.clone(),
            roles: self.roles.names(),
            node_types: self.parts.registry.types().map(str::to_owned).collect(),
            slots: u32::try_from(self.parts.options.slots).unwrap_or(u32::MAX),
            busy: u32::try_from(held.len()).unwrap_or(u32::MAX),
            doing: held
                .iter()
                .take(DOING_MAX)
                .map(|(id, _)| id.to_string())
                .collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at,
            heartbeat_at: now,
        };
        let forget_before = now.minus(FORGET_AFTER);
        if let Err(error) = self.parts.store.report_worker(record, forget_before).await {
            tracing::warn!(%error, "this worker could not report itself");
        }
    }
}

/// The worker as people find it, host and process, and the program it runs.
pub(crate) fn full_name(parts: &Parts) -> String {
    let worker = &parts.options.worker_id;
    format!("{worker} pawl/{}", env!("CARGO_PKG_VERSION"))
}

fn interval(parts: &Parts) -> Duration {
    if parts.options.exclusive {
        EXCLUSIVE_INTERVAL
    } else {
        parts.options.lease / 3
    }
}

/// Who reported at or after this moment is alive.
pub fn alive_since(parts: &Parts, now: Timestamp) -> Timestamp {
    now.minus(counted(parts))
}

/// A worker counts as alive for so long after its last report.
pub(crate) fn counted(parts: &Parts) -> Duration {
    interval(parts) * MISSED_MAX
}
