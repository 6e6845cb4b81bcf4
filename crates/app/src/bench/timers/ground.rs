//! What the measurements need of a store, so that they are the same on both.

use std::sync::Arc;

use async_trait::async_trait;
use pawl_engine::Options;
use pawl_engine::control::Control;
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::{Clock, Timestamp};

use crate::bench::BenchError;
use crate::wiring::{Cluster, EmbeddedEngine};

/// Where the rows of actions stand that are filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// As users leave them.
    Incoming,
    /// As workers leave them.
    Processing,
}

/// Most rows of one transaction of a fill.
const FILL_BATCH: usize = 20_000;

/// What a process costs that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    pub(super) resident_bytes: f64,
    /// The name of what is counted by the second.
    pub(super) what: &'static str,
    pub(super) per_second: f64,
}

#[async_trait]
pub(super) trait Ground: Send + Sync {
    fn clock(&self) -> Arc<dyn Clock>;

    /// A worker that fires timers and does nothing else. One at a time.
    async fn start(&self, options: Options) -> Result<Engine, BenchError>;

    /// A control in another process than the worker's, which may write actions.
    fn writer(&self) -> Option<&Control>;

    /// Starts a process that has nothing to do, and watches it for a while. Only while there is no worker.
    async fn idle(&self) -> Result<Idle, BenchError>;

    /// Only while there is no worker.
    async fn fill(&self, actions: &[ScheduledAction], queue: Queue) -> Result<(), BenchError>;

    /// After a fill.
    async fn settle(&self) -> Result<(), BenchError>;

    /// How many actions there are whose ids begin so. Only while there is no worker.
    async fn actions(&self, prefix: &str) -> Result<u64, BenchError>;

    /// How many actions whose ids begin so have fired, once and with success. Only while there is no worker.
    async fn fired_once(&self, prefix: &str) -> Result<u64, BenchError>;

    /// Transactions of the whole server until now, where it counts them.
    async fn transactions(&self) -> Result<Option<f64>, BenchError>;

    /// Of the plain design: an empty table.
    async fn plain_clear(&self) -> Result<(), BenchError>;

    async fn plain_fill(&self, actions: &[ScheduledAction]) -> Result<(), BenchError>;

    /// Makes one batch of what is due. Returns how many.
    async fn plain_batch(
        &self,
        now: Timestamp,
        act: &mut (dyn FnMut(String, Timestamp) + Send),
    ) -> Result<usize, BenchError>;

    async fn plain_done(&self) -> Result<u64, BenchError>;
}

impl dyn Ground + '_ {
    pub(super) async fn fill_all(
        &self,
        actions: impl Iterator<Item = ScheduledAction>,
        queue: Queue,
    ) -> Result<(), BenchError> {
        let mut actions = actions.peekable();
        while actions.peek().is_some() {
            let batch: Vec<_> = actions.by_ref().take(FILL_BATCH).collect();
            self.fill(&batch, queue).await?;
        }
        self.settle().await
    }

    pub(super) async fn plain_fill_all(
        &self,
        actions: impl Iterator<Item = ScheduledAction>,
    ) -> Result<(), BenchError> {
        self.plain_clear().await?;
        let mut actions = actions.peekable();
        while actions.peek().is_some() {
            let batch: Vec<_> = actions.by_ref().take(FILL_BATCH).collect();
            self.plain_fill(&batch).await?;
        }
        // Neither side starts with statistics that the other lacks.
        self.settle().await
    }

    /// The figures claim that there are so many: the database must know.
    pub(super) async fn expect_actions(&self, prefix: &str, count: u64) -> Result<(), BenchError> {
        let found = self.actions(prefix).await?;
        match found == count {
            true => Ok(()),
            false => Err(BenchError::Failed(format!(
                "{count} actions were written, {found} are in the database"
            ))),
        }
    }

    /// The figures claim that so many have fired: the database must know.
    pub(super) async fn verify(&self, prefix: &str, count: u64) -> Result<(), BenchError> {
        let found = self.fired_once(prefix).await?;
        match found == count {
            true => Ok(()),
            false => Err(BenchError::Failed(format!(
                "{count} actions were made, {found} are in the database as having succeeded once"
            ))),
        }
    }
}

/// A running worker.
pub(super) enum Engine {
    Embedded(Box<EmbeddedEngine>),
    Cluster(Box<Cluster>),
}

impl Engine {
    pub(super) fn control(&self) -> &Control {
        match self {
            Self::Embedded(embedded) => &embedded.control,
            Self::Cluster(cluster) => &cluster.control,
        }
    }

    /// What is under way is recorded.
    pub(super) async fn stop(self) {
        match self {
            Self::Embedded(embedded) => embedded.shutdown().await,
            Self::Cluster(cluster) => cluster.shutdown().await,
        }
    }
}
