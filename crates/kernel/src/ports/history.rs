//! What one execution did, as people look through it: long histories without payloads, pages of logs and signals, and
//! lists of executions without what makes their rows large. Reads only.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;

use super::store::{ExecutionFilter, ExecutionView, StoreResult};
use crate::execution::{LogRecord, Signal, Step, StepStatus};
use crate::id::ExecutionId;
use crate::node::LogLevel;
use crate::time::Timestamp;

/// How much of an error's text a brief row has, in characters.
pub const BRIEF_ERROR_MAX: usize = 64 << 10;

/// A step without its payloads.
#[derive(Clone, Debug, PartialEq)]
pub struct StepOutline {
    pub seq: u64,
    pub node_id: Arc<str>,
    pub node_type: Arc<str>,
    pub next_node_id: Option<Arc<str>>,
    pub handle: Option<Cow<'static, str>>,
    pub status: StepStatus,
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
    /// How often its node was tried, at least once.
    pub tries: u32,
}

impl From<&Step> for StepOutline {
    fn from(step: &Step) -> Self {
        let tries = step.attempts.as_deref();
        let tries =
            tries.and_then(|text| serde_json::from_str::<Vec<serde_json::Value>>(text).ok());
        Self {
            seq: step.seq,
            node_id: step.node_id.clone(),
            node_type: step.node_type.clone(),
            next_node_id: step.next_node_id.clone(),
            handle: step.handle.clone(),
            status: step.status,
            started_at: step.started_at,
            finished_at: step.finished_at,
            tries: tries.map_or(1, |tries| tries.len().max(1) as u32),
        }
    }
}

/// Which log lines of an execution.
#[derive(Clone, Debug)]
pub struct LogQuery {
    pub id: ExecutionId,
    /// The line that the page before ended with.
    pub beyond: Option<u64>,
    pub least: LogLevel,
    pub node_id: Option<String>,
    pub newest_first: bool,
    pub limit: u32,
}

impl LogQuery {
    /// The number of the line before the first one, in the order asked for.
    pub fn start(&self) -> u64 {
        let first = if self.newest_first {
            i64::MAX as u64
        } else {
            0
        };
        self.beyond.unwrap_or(first)
    }
}

#[async_trait]
pub trait HistoryReads: Send + Sync {
    /// In order of seq, after `after` up to `up_to`.
    async fn outline(
        &self,
        id: ExecutionId,
        after: u64,
        up_to: u64,
        limit: u32,
    ) -> StoreResult<Vec<StepOutline>>;

    /// Log lines with their numbers.
    async fn log_page(&self, query: LogQuery) -> StoreResult<Vec<(u64, LogRecord)>>;

    /// In order of arrival, each with its place in it; `after` is the place that the last page ended with.
    async fn signal_page(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, Signal)>>;

    /// The same executions as [`super::store::QueryStore::executions`], without what makes rows large: their start
    /// record is empty, there is no output and no list of tries, and only [`BRIEF_ERROR_MAX`] of an error's text, which
    /// then is no whole JSON.
    async fn execution_briefs(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>>;
}
