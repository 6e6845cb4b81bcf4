//! Who is there: the workers of an installation, as they report themselves.

use async_trait::async_trait;

use super::store::StoreResult;
use crate::time::Timestamp;

/// The role of a worker that fires timers.
pub const TIMERS_ROLE: &str = "timers";

/// One worker's report about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRecord {
    /// A name a person can find: host and process.
    pub id: String,
    /// `engine`, `timers`, `scheduler`, `reaper`.
    pub roles: Vec<String>,
    /// The node types it can run.
    pub node_types: Vec<String>,
    pub slots: u32,
    /// Executions in its hands.
    pub busy: u32,
    /// Some of them: execution ids.
    pub doing: Vec<String>,
    /// The program's version.
    pub version: String,
    pub started_at: Timestamp,
    pub heartbeat_at: Timestamp,
}

#[async_trait]
pub trait WorkerStore: Send + Sync {
    /// Writes the report in place of the last one of the same worker, and forgets workers not heard of since
    /// `forget_before`.
    async fn report_worker(
        &self,
        report: WorkerRecord,
        forget_before: Timestamp,
    ) -> StoreResult<()>;

    /// Takes a worker that ends in good order off the list.
    async fn remove_worker(&self, id: &str) -> StoreResult<()>;

    /// Those heard of at or after `since`, by id.
    async fn workers(&self, since: Timestamp) -> StoreResult<Vec<WorkerRecord>>;
}
