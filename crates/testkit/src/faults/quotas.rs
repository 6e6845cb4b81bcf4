//! One worker's view of quotas.

use async_trait::async_trait;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::quotas::{AdmissionPosition, Holder, Miscounts, QuotaReads};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::quota::{Quota, QuotaName};

use super::store::{FaultyStore, READ};

#[async_trait]
impl QuotaReads for FaultyStore {
    async fn quotas(
        &self,
        set_only: bool,
        after: Option<QuotaName>,
        limit: u32,
    ) -> StoreResult<Vec<Quota>> {
        self.pass(READ, self.inner.quotas(set_only, after, limit))
            .await
    }

    async fn quota(&self, name: QuotaName) -> StoreResult<Option<Quota>> {
        self.pass(READ, self.inner.quota(name)).await
    }

    async fn holders(&self, name: QuotaName, limit: u32) -> StoreResult<Vec<Holder>> {
        self.pass(READ, self.inner.holders(name, limit)).await
    }

    async fn admission_position(&self, id: ExecutionId) -> StoreResult<Option<AdmissionPosition>> {
        self.pass(READ, self.inner.admission_position(id)).await
    }

    async fn has_line(&self) -> StoreResult<bool> {
        self.pass(READ, self.inner.has_line()).await
    }

    async fn uncounted(&self, name: QuotaName) -> StoreResult<Option<i64>> {
        self.pass(READ, self.inner.uncounted(name)).await
    }

    async fn settings_known(&self) -> StoreResult<()> {
        self.pass(READ, self.inner.settings_known()).await
    }

    async fn miscounts(&self) -> StoreResult<Miscounts> {
        self.pass(READ, self.inner.miscounts()).await
    }
}
