//! A quota that was just set counts those who were there before it. It can be broken off at any point and done again:
//! the quota's row says as long as there is something left.

use std::collections::BTreeSet;
use std::time::Duration;

use pawl_kernel::ports::quotas::count_by_page;
use pawl_kernel::ports::store::{StoreError, StoreResult};
use pawl_kernel::quota::{QuotaKind, QuotaName};
use pawl_kernel::time::Timestamp;

use crate::error::Outcome;
use crate::rows::Reader;
use crate::value::Text;
use crate::{PostgresStore, sql};

const PAUSE: Duration = Duration::from_millis(25);
/// A transaction lasts as long as its process lets it; one whose process died lasts until the server ends it, which is
/// about as long again.
const LONGEST: u32 = 3;

impl PostgresStore {
    /// Returns how many count from now on.
    pub(super) async fn count_everybody(
        &self,
        name: QuotaName,
        now: Timestamp,
    ) -> StoreResult<u64> {
        let Some(change) = self.uncounted(name.clone()).await? else {
            return Ok(0);
        };
        // Whoever has a key has counted against it from the start.
        if name.kind() != QuotaKind::Key {
            self.settle().await?;
        }
        let counted = count_by_page(self, &name, now).await?;
        self.all_counted(name, change).await?;
        Ok(counted)
    }

    /// The change that set it, if those before it do not all count yet.
    async fn uncounted(&self, name: QuotaName) -> StoreResult<Option<i64>> {
        let done = self.readers.run(move |session| async move {
            let name = Text::new(name.as_str());
            let rows = session.alone(&sql::QUOTA_UNCOUNTED, &[&name]).await?;
            rows.first().map(|row| Reader::new(row).get()).transpose()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    /// Waits until everybody who may be creating executions without knowing of the quota is done.
    async fn settle(&self) -> StoreResult<()> {
        let patience = self.writers.time_limit * LONGEST;
        let mut left = self.writing().await?;
        for _ in 0..patience.as_millis() / PAUSE.as_millis() {
            if left.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
            let writing = self.writing().await?;
            left.retain(|transaction| writing.contains(transaction));
        }
        Err(StoreError::Unavailable(format!(
            "a transaction has been writing executions for more than {patience:?}; the quota holds for new executions, but \
             does not count all that were there before: set it again when that transaction has ended"
        )))
    }

    async fn writing(&self) -> StoreResult<BTreeSet<String>> {
        let done = self.readers.run(|session| async move {
            let rows = session.alone(&sql::EXECUTIONS_WRITERS, &[]).await?;
            let transaction = |row| Reader::new(row).text();
            rows.iter().map(transaction).collect::<Outcome<_>>()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn all_counted(&self, name: QuotaName, change: i64) -> StoreResult<()> {
        let done = self.writers.run(move |session| async move {
            let name = Text::new(name.as_str());
            session.alone(&sql::QUOTA_COUNTED, &[&name, &change]).await
        });
        done.await.map(drop).map_err(|fault| fault.of_write())
    }
}
