//! Tells the services and watchers of this process, and through hints those of others, what a write has changed.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::time::{Clock, Timestamp};
use pawl_kernel::transition::CommitReport;
use pawl_kernel::webhook::answer::Answer;

use crate::admission::AdmissionQueue;
use crate::hints::{Hints, News};
use crate::metrics::ExecutionMetrics;

/// Timers due later than this are found by looking, which happens more often.
const NEAR_FUTURE: Duration = Duration::from_secs(90);

#[derive(Clone)]
pub(crate) struct Announcer {
    hints: Arc<Hints>,
    admission: Arc<AdmissionQueue>,
    metrics: Arc<ExecutionMetrics>,
    clock: Arc<dyn Clock>,
}

impl Announcer {
    pub(crate) fn new(
        hints: Arc<Hints>,
        admission: Arc<AdmissionQueue>,
        metrics: Arc<ExecutionMetrics>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            hints,
            admission,
            metrics,
            clock,
        }
    }

    /// A timer was committed. Services that look regularly find the far ones in time without a hint.
    pub(crate) fn timer_set(&self, at: Timestamp) {
        if at <= self.clock.now().plus(NEAR_FUTURE) {
            self.hints.timer(at);
        }
    }

    /// An execution has joined the admission queue, or a limit has changed.
    pub(crate) fn admission_changed(&self) {
        self.admission.note_waiting(true);
        self.hints.admission();
    }

    /// An execution that may have held places in quotas has ended.
    fn capacity_freed(&self) {
        if self.admission.may_have_waiting() {
            self.hints.admission();
        }
    }

    /// What a service or command, not its worker, did to an execution. It may have held places in quotas.
    pub(crate) fn announce(&self, id: ExecutionId, applied: &CommitReport) {
        if applied.ended.is_some() {
            self.capacity_freed();
        }
        self.announce_commit(id, applied, None);
    }

    /// What a commit did, and the answer that it holds.
    pub(crate) fn announce_commit(
        &self,
        id: ExecutionId,
        applied: &CommitReport,
        answer: Option<Answer>,
    ) {
        if applied.frees_places {
            self.capacity_freed();
        }
        // Before any watcher hears of it: a caller that waited for the end finds it counted.
        if let Some(status) = applied.ended {
            self.metrics.ended(id, status, self.clock.now());
            tracing::debug!(execution_id = %id, status = status.name(), "ended");
        }
        let news = News {
            version: applied.version,
            ended: applied.ended,
            responded: answer.is_some(),
        };
        if let Some(answer) = answer {
            self.hints.answered(id, answer);
        }
        self.hints.changed(id, news);
        if let Some(at) = applied.wake_at {
            self.timer_set(at);
        }
    }
}
