//! Lists and details.

use std::collections::HashMap;
use std::ops::Bound;

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::execution::{Execution, LogRecord, Record, Signal, Step};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{
    ExecutionFilter, ExecutionView, MinimumDuration, Pulse, QueryStore, StoreResult,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::ModelStore;
use super::tables::{Row, Tables};

#[async_trait]
impl QueryStore for ModelStore {
    async fn execution(&self, id: ExecutionId) -> StoreResult<Option<ExecutionView>> {
        let tables = self.lock();
        Ok(tables.row(id).map(|row| tables.view(row)))
    }

    async fn executions(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        let tables = self.lock();
        let end = before.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = tables.rows.range((Bound::Unbounded, end)).rev();
        Ok(rows
            .filter(|(_, row)| matches(&filter, row))
            .map(|(_, row)| tables.view(row))
            .take(limit as usize)
            .collect())
    }

    async fn count_executions(&self, filter: ExecutionFilter) -> StoreResult<u64> {
        let tables = self.lock();
        let rows = tables.rows.values();
        Ok(rows.filter(|row| matches(&filter, row)).count() as u64)
    }

    async fn steps(
        &self,
        id: ExecutionId,
        after_seq: u64,
        limit: u32,
    ) -> StoreResult<Vec<(Step, u64)>> {
        let tables = self.lock();
        let steps = tables.row(id).map_or(&[][..], |row| &row.steps);
        let later = steps.iter().filter(|(step, _)| step.seq > after_seq);
        Ok(later.take(limit as usize).cloned().collect())
    }

    async fn logs(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, LogRecord)>> {
        let tables = self.lock();
        let logs = tables.row(id).map_or(&[][..], |row| &row.logs);
        let numbered = (1..).zip(logs.iter().cloned());
        Ok(numbered.skip(after as usize).take(limit as usize).collect())
    }

    async fn signals(&self, id: ExecutionId) -> StoreResult<Vec<Signal>> {
        let tables = self.lock();
        Ok(tables
            .row(id)
            .map_or_else(Vec::new, |row| row.signals.clone()))
    }

    async fn open_executions(
        &self,
        after: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        let tables = self.lock();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let open = tables.open.range((from, Bound::Unbounded));
        Ok(open
            .take(limit as usize)
            .map(|id| tables.view(&tables.rows[id]))
            .collect())
    }

    async fn timer_shards(&self, waits: Vec<(ExecutionId, Uuid)>) -> StoreResult<Vec<Option<u32>>> {
        let tables = self.lock();
        Ok(waits
            .iter()
            .map(|(id, wait_id)| tables.timers.shard_of(&id.to_string(), *wait_id))
            .collect())
    }

    async fn execution_by_key(&self, key: &str) -> StoreResult<Option<ExecutionId>> {
        Ok(self.lock().keys.get(key).copied())
    }

    async fn about(&self) -> StoreResult<Vec<(String, String)>> {
        let executions = self.lock().rows.len().to_string();
        Ok(vec![
            ("store".into(), "model".into()),
            ("executions".into(), executions),
        ])
    }

    async fn pulse(&self) -> StoreResult<Pulse> {
        let tables = self.lock();
        Ok(Pulse {
            letters: tables.letters.pulse(),
            schemas: tables.catalog.pulse(),
        })
    }
}

impl Tables {
    fn view(&self, row: &Row) -> ExecutionView {
        ExecutionView {
            execution: row.execution.clone(),
            state: row.state.clone(),
            schema_name: self.catalog.name(row.execution.head.schema_id),
        }
    }
}

pub(super) fn matches(filter: &ExecutionFilter, row: &Row) -> bool {
    let (head, record) = (&row.execution.head, &row.execution.record);
    let same = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|w| w == found);
    (filter.statuses.is_empty() || filter.statuses.contains(&head.status))
        && filter.schema_id.is_none_or(|id| id == head.schema_id)
        && filter
            .version
            .is_none_or(|version| version == head.schema_version)
        && (filter.tenant.is_none() || filter.tenant == record.tenant)
        && same(&filter.created_by, &record.created_by)
        && same(&filter.node, &row.state.position.node_id)
        && filter
            .created_after
            .is_none_or(|time| head.created_at > time)
        && filter
            .created_before
            .is_none_or(|time| head.created_at < time)
        && (filter.retry_of.is_none() || filter.retry_of == record.retry_of)
        && (filter.forked_from.is_none() || filter.forked_from == record.forked_from)
        && filter.ids.as_ref().is_none_or(|ids| ids.contains(&head.id))
        && (!filter.not_retried || record.retried_as.is_none())
        && filter.trial.is_none_or(|trial| trial == record.trial)
        && took(filter, row)
        && (filter.label.as_ref()).is_none_or(|(name, value)| is_labelled(record, name, value))
        && (filter.error_code.is_none() || filter.error_code == error_code(row))
        && (filter.text.as_deref()).is_none_or(|text| mentions(&row.execution, text))
}

fn took(filter: &ExecutionFilter, row: &Row) -> bool {
    let head = &row.execution.head;
    let ended = |since| head.finished_at.is_some_and(|at| at >= since);
    let long = |longer: MinimumDuration| {
        let begun = head.started_at.unwrap_or(head.created_at);
        head.finished_at.unwrap_or(longer.now).since(begun) > longer.than
    };
    filter.finished_since.is_none_or(ended) && filter.longer_than.is_none_or(long)
}

/// Numbers are compared as they were written.
fn is_labelled(record: &Record, name: &str, value: &str) -> bool {
    let text = record.labels.as_deref();
    let labels: Option<HashMap<String, Box<RawValue>>> =
        text.and_then(|text| serde_json::from_str(text).ok());
    let Some(label) = labels.as_ref().and_then(|labels| labels.get(name)) else {
        return false;
    };
    match serde_json::from_str::<String>(label.get()) {
        Ok(text) => text == value,
        Err(_) => label.get() == value,
    }
}

pub(super) fn error_code(row: &Row) -> Option<String> {
    let error = parsed(row.execution.record.error.as_deref())?;
    error["code"].as_str().map(str::to_owned)
}

fn parsed(text: Option<&str>) -> Option<Value> {
    serde_json::from_str(text?).ok()
}

fn mentions(execution: &Execution, text: &str) -> bool {
    let optional = [
        &execution.record.idempotency_key,
        &execution.record.labels,
        &execution.record.error,
    ];
    found(&execution.head.id.to_string(), text)
        || found(&execution.record.correlation_id, text)
        || found(&execution.record.created_by, text)
        || optional
            .iter()
            .any(|field| field.as_deref().is_some_and(|field| found(field, text)))
}

/// As SQL's LIKE finds it: ASCII letters in either case.
pub(super) fn found(field: &str, text: &str) -> bool {
    field
        .to_ascii_lowercase()
        .contains(&text.to_ascii_lowercase())
}
