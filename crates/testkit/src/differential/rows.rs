//! Comparing all that is stored.

use std::sync::Arc;

use pawl_kernel::execution::Status;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::store::{ExecutionFilter, ExecutionView, Store};

use super::{Story, told};
use crate::fixture;

impl Story {
    /// Both rows of every execution, after every verb: a difference shows where it is made.
    pub(super) async fn compare_executions(&self) {
        self.same(async |store| told(store.executions(Default::default(), None, 1000).await))
            .await;
    }

    pub(super) async fn compare_all(&mut self) {
        self.note("compare all", &());
        self.compare_lists().await;
        for n in 1..=self.created {
            self.compare_history(fixture::execution_id(n)).await;
        }
        for n in 1..=4 {
            self.compare_schema(fixture::schema_id(n)).await;
        }
    }

    async fn compare_lists(&self) {
        self.same(pages_of_executions).await;
        self.same(async |store| told(store.open_executions(None, 1000).await))
            .await;
        for status in Status::ALL {
            for not_retried in [false, true] {
                let filter = ExecutionFilter {
                    statuses: vec![*status],
                    not_retried,
                    ..Default::default()
                };
                self.same(async |store| told(store.count_executions(filter.clone()).await))
                    .await;
            }
        }
        self.same(dead_letters).await;
        self.same(async |store| told(store.schemas(None, None, 1000).await))
            .await;
        self.same(timers_of_waits).await;
    }

    async fn compare_history(&self, id: ExecutionId) {
        self.same(async |store| told(store.steps(id, 0, 10_000).await))
            .await;
        self.same(async |store| told(store.signals(id).await)).await;
        self.same(async |store| told(store.open_signals(id).await))
            .await;
        self.same(async |store| told(store.probe(id).await)).await;
        self.same(async |store| {
            let logs = store.logs(id, 0, 10_000).await.unwrap();
            logs.into_iter().map(|(_, log)| log).collect::<Vec<_>>()
        })
        .await;
        for seq in 0..20 {
            self.same(async |store| told(store.history(id, seq).await))
                .await;
        }
    }

    async fn compare_schema(&self, id: SchemaId) {
        self.same(async |store| told(store.schema(&id.to_string()).await))
            .await;
        for version in 1..8 {
            self.same(async |store| told(store.version(id, version).await))
                .await;
        }
    }
}

/// Page by page, so that cursors are compared too.
async fn pages_of_executions(store: Arc<dyn Store>) -> Vec<ExecutionView> {
    let mut all: Vec<ExecutionView> = Vec::new();
    loop {
        let before = all.last().map(|view| view.execution.head.id);
        let filter = ExecutionFilter::default();
        let page = store.executions(filter, before, 2).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

async fn dead_letters(store: Arc<dyn Store>) -> Vec<String> {
    let letters = store.dead_letters(false, 0, 1000).await.unwrap();
    letters
        .iter()
        .map(|letter| {
            format!(
                "{:?} {} {}",
                letter.execution_id, letter.reason, letter.created_at
            )
        })
        .collect()
}

/// Which of the waits that are open have a row.
async fn timers_of_waits(store: Arc<dyn Store>) -> Vec<bool> {
    let open = store.open_executions(None, 1000).await.unwrap();
    let waits = open.iter().filter_map(|view| {
        let wait = view.state.wait.as_ref()?;
        Some((view.execution.head.id, wait.id))
    });
    let shards = store.timer_shards(waits.collect()).await.unwrap();
    shards.iter().map(Option::is_some).collect()
}
