//! What the engine counts, and the page that shows it.
//!
//! [`Metrics`] holds every series ready to be counted on: a few relaxed additions, no lock, no allocation. The wiring
//! adds what only it knows ([`Metrics::series`], [`Metrics::store_batches`], [`Metrics::refresh_with`]). All names stand
//! in [`catalogue`].

pub mod catalogue;
pub mod describe;
mod groups;
mod nodes;
mod registry;
mod series;
#[cfg(test)]
mod tests;
mod text;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use pawl_kernel::execution::Step;
use pawl_kernel::ports::batches::BatchSizes;

use crate::sync::lock;
use catalogue as all;
pub use describe::{Buckets, Description, Kind};
pub use groups::{
    CommitMetrics, ExecutionMetrics, QueueMetrics, SchedulerMetrics, TimerMetrics, WorkerMetrics,
};
pub use nodes::NodeMetrics;
pub use registry::SeriesRegistry;
pub use series::{Counter, Counts, Gauge, GaugeGuard, Histogram};
pub use text::CONTENT_TYPE;

/// A scrape does not wait longer than this for those who must ask elsewhere.
const REFRESH_TIME: Duration = Duration::from_secs(1);

type Refresher = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

pub struct Metrics {
    series: SeriesRegistry,
    refreshers: Mutex<Vec<Refresher>>,
    pub nodes: NodeMetrics,
    pub executions: Arc<ExecutionMetrics>,
    pub commits: CommitMetrics,
    pub queue: Arc<QueueMetrics>,
    pub workers: Arc<WorkerMetrics>,
    pub timers: TimerMetrics,
    pub scheduler: Arc<SchedulerMetrics>,
}

impl Metrics {
    /// `node_types`: all that can run here.
    pub fn new(node_types: impl Iterator<Item = &'static str>) -> Self {
        let series = SeriesRegistry::default();
        Self {
            nodes: NodeMetrics::new(&series, node_types),
            executions: Arc::new(ExecutionMetrics::new(&series)),
            commits: CommitMetrics::new(&series),
            queue: Arc::new(QueueMetrics::new(&series)),
            workers: Arc::new(WorkerMetrics::new(&series)),
            timers: TimerMetrics::new(&series),
            scheduler: Arc::new(SchedulerMetrics::new(&series)),
            refreshers: Mutex::default(),
            series,
        }
    }

    /// Where others register what they count themselves.
    pub fn series(&self) -> &SeriesRegistry {
        &self.series
    }

    /// The store tells how many writes share a transaction.
    pub fn store_batches(&self, sizes: Arc<BatchSizes>) {
        let counts = move || Counts {
            buckets: sizes.counts().to_vec(),
            sum: sizes.totals().1,
        };
        self.series
            .observe_counts(&all::STORE_BATCH_JOBS, &[], counts);
    }

    /// Done before every scrape, for numbers that must be asked for, like the depth of a broker's queue.
    pub fn refresh_with(
        &self,
        refresh: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) {
        lock(&self.refreshers).push(Box::new(refresh));
    }

    /// Asks for those numbers now. Who does not answer in time is shown as last known.
    pub async fn refresh(&self) {
        let asked: Vec<_> = lock(&self.refreshers).iter().map(|ask| ask()).collect();
        let _ = tokio::time::timeout(REFRESH_TIME, join_all(asked)).await;
    }

    /// Everything, as text for a scrape.
    pub async fn page(&self) -> String {
        self.refresh().await;
        self.series.text()
    }

    /// A try of a node failed. `may_show` is asked about codes not seen before.
    pub fn node_failed(&self, node_type: &str, code: &str, may_show: impl FnOnce(&str) -> bool) {
        self.nodes.failed(&self.series, node_type, code, may_show);
    }

    /// A transition is on disk.
    pub(crate) fn committed(&self, steps: &[Step], took: Duration) {
        self.commits.done(steps.len(), took);
        self.executions.steps(steps);
    }
}
