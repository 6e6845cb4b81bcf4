//! A quota that was just set counts those who were there before it. It can be broken off at any point and done again:
//! the quota's row says as long as there is something left.

use pawl_kernel::ports::quotas::count_by_page;
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::quota::QuotaName;
use pawl_kernel::time::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{SqliteStore, sql};

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
        let counted = count_by_page(self, &name, now).await?;
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
