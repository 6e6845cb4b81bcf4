//! A quota that was just set counts those who were there before it. It can be broken off at any point and done again:
//! the quota's row says as long as there is something left.

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::quotas::QuotaStore;
use pawl_kernel::ports::store::{
    CatalogStore, ExecutionFilter, ExecutionView, QueryStore, StoreResult,
};
use pawl_kernel::quota::{QuotaKind, QuotaName};
use pawl_kernel::time::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{SqliteStore, sql};

/// Executions counted in one transaction.
const PAGE: u32 = 500;

impl SqliteStore {
    /// Returns how many count from now on.
    pub(super) async fn count_everybody(
        &self,
        name: QuotaName,
        now: Timestamp,
    ) -> StoreResult<u64> {
        let Some(number) = self.uncounted(name.clone()).await? else {
            return Ok(0);
        };
        let mut counted = 0;
        if let Some(filter) = self.concerned(&name).await? {
            counted = self.count_all(&name, filter, now).await?;
        }
        self.all_counted(name, number).await?;
        Ok(counted)
    }

    /// A number of its setting, if those before it do not all count yet.
    async fn uncounted(&self, name: QuotaName) -> StoreResult<Option<i64>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::QUOTA_UNCOUNTED)?;
                let found = statement.query_row([name.as_str()], |row| row.get(0));
                Ok(found.optional()?)
            })
            .await
    }

    /// `None`: there is nobody whom it could concern.
    async fn concerned(&self, name: &QuotaName) -> StoreResult<Option<ExecutionFilter>> {
        let open = Status::ALL.iter().filter(|status| !status.is_terminal());
        let filter = ExecutionFilter {
            statuses: open.copied().collect(),
            ..ExecutionFilter::default()
        };
        Ok(match name.kind() {
            // Whoever has a key has counted against it from the start.
            QuotaKind::Key => None,
            QuotaKind::Tenant => Some(ExecutionFilter {
                tenant: Some(name.name().to_owned()),
                ..filter
            }),
            QuotaKind::Schema => {
                let schema = self.schema(name.name()).await?;
                schema.map(|schema| ExecutionFilter {
                    schema_id: Some(schema.id),
                    ..filter
                })
            }
        })
    }

    async fn count_all(
        &self,
        name: &QuotaName,
        filter: ExecutionFilter,
        now: Timestamp,
    ) -> StoreResult<u64> {
        let counts = |view: &ExecutionView| view.execution.quotas.iter().any(|c| c.name == *name);
        let (mut counted, mut before) = (0, None);
        loop {
            let page = self.executions(filter.clone(), before, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(counted);
            };
            before = Some(last.execution.id);
            let left = page.iter().filter(|view| !counts(view));
            let ids: Vec<ExecutionId> = left.map(|view| view.execution.id).collect();
            if !ids.is_empty() {
                counted += self.count_in(name.clone(), ids, now).await?;
            }
        }
    }

    async fn all_counted(&self, name: QuotaName, number: i64) -> StoreResult<()> {
        self.writer
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::QUOTA_COUNTED)?;
                statement.execute(params![name.as_str(), number])?;
                Ok(())
            })
            .await
    }
}
