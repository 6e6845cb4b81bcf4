//! What one execution did, as people look through it.

use async_trait::async_trait;

use pawl_kernel::execution::{LogRecord, Signal};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::node::LogLevel;
use pawl_kernel::ports::history::{BRIEF_ERROR_MAX, HistoryReads, LogQuery, StepOutline};
use pawl_kernel::ports::store::{ExecutionFilter, ExecutionView, QueryStore, StoreResult};

use super::ModelStore;

#[async_trait]
impl HistoryReads for ModelStore {
    async fn outline(
        &self,
        id: ExecutionId,
        after: u64,
        up_to: u64,
        limit: u32,
    ) -> StoreResult<Vec<StepOutline>> {
        let tables = self.lock();
        let steps = tables.row(id).map_or(&[][..], |row| &row.steps);
        let wanted = steps.iter().map(|(step, _)| step);
        let wanted = wanted.filter(|step| step.seq > after && step.seq <= up_to);
        Ok(wanted.take(limit as usize).map(StepOutline::from).collect())
    }

    async fn log_page(&self, query: LogQuery) -> StoreResult<Vec<(u64, LogRecord)>> {
        let tables = self.lock();
        let logs = tables.row(query.id).map_or(&[][..], |row| &row.logs);
        let mut all: Vec<(u64, LogRecord)> = (1..).zip(logs.iter().cloned()).collect();
        let start = query.start();
        if query.newest_first {
            all.reverse();
            all.retain(|(number, _)| *number < start);
        } else {
            all.retain(|(number, _)| *number > start);
        }
        all.retain(|(_, line)| level(line.level) >= query.least);
        if let Some(node_id) = &query.node_id {
            all.retain(|(_, line)| *line.node_id == **node_id);
        }
        all.truncate(query.limit as usize);
        Ok(all)
    }

    async fn signal_page(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, Signal)>> {
        let tables = self.lock();
        let signals = tables.row(id).map_or(&[][..], |row| &row.signals);
        let placed = (1..).zip(signals.iter().cloned());
        Ok(placed.skip(after as usize).take(limit as usize).collect())
    }

    async fn execution_briefs(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        let mut views = self.executions(filter, before, limit).await?;
        for view in &mut views {
            let record = &mut view.execution.record;
            record.initial = "{}".into();
            record.output = None;
            let error = record.error.take();
            record.error = error.map(|text| text.chars().take(BRIEF_ERROR_MAX).collect());
            view.state.position.attempts = None;
        }
        Ok(views)
    }
}

fn level(name: &str) -> LogLevel {
    match name {
        "debug" => LogLevel::Debug,
        "warn" => LogLevel::Warn,
        "error" => LogLevel::Error,
        _ => LogLevel::Info,
    }
}
