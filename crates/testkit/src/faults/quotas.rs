//! One worker's view of quotas.

use async_trait::async_trait;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::quotas::{
    Admitted, Holder, Miscount, PlaceInLine, QuotaStore, Recount, SetQuota,
};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::quota::{Quota, QuotaName};
use pawl_kernel::time::Timestamp;

use super::store::{FaultyStore, READ, WRITE};

#[async_trait]
impl QuotaStore for FaultyStore {
    async fn set_quota(&self, set: SetQuota, now: Timestamp) -> StoreResult<Quota> {
        self.pass(WRITE, self.inner.set_quota(set, now)).await
    }

    async fn remove_quota(&self, name: QuotaName, now: Timestamp) -> StoreResult<bool> {
        self.pass(WRITE, self.inner.remove_quota(name, now)).await
    }

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

    async fn admit(&self, now: Timestamp, max: u32) -> StoreResult<Admitted> {
        self.pass(WRITE, self.inner.admit(now, max)).await
    }

    async fn place_in_line(&self, id: ExecutionId) -> StoreResult<Option<PlaceInLine>> {
        self.pass(READ, self.inner.place_in_line(id)).await
    }

    async fn count_rest(&self, name: QuotaName, now: Timestamp) -> StoreResult<u64> {
        self.pass(WRITE, self.inner.count_rest(name, now)).await
    }

    async fn count_in(
        &self,
        name: QuotaName,
        ids: Vec<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<u64> {
        self.pass(WRITE, self.inner.count_in(name, ids, now)).await
    }

    async fn check_counted(
        &self,
        ids: Vec<ExecutionId>,
        fix: bool,
        now: Timestamp,
    ) -> StoreResult<Vec<(ExecutionId, Miscount)>> {
        self.pass(WRITE, self.inner.check_counted(ids, fix, now))
            .await
    }

    async fn recount(&self, fix: bool, now: Timestamp) -> StoreResult<Vec<Recount>> {
        self.pass(WRITE, self.inner.recount(fix, now)).await
    }
}
