//! What operators want of a quota.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::write_quotas;
use crate::operations::{Operation, Transaction};
use crate::ports::quotas::SetQuota;
use crate::ports::store::{StoreError, StoreResult};
use crate::quota::{Quota, QuotaName};
use crate::time::Timestamp;

/// From now on it holds for new executions. That those which were there before do not count yet is noted.
#[derive(Clone, Debug)]
pub struct StoreQuota {
    pub set: SetQuota,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for StoreQuota {
    type Answer = Quota;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let Self { set, now } = self;
        let names = BTreeSet::from([set.name.clone()]);
        let locked = rows.lock_quotas(&names, &names, *now).await?;
        let mut quota = locked
            .into_iter()
            .next()
            .ok_or_else(|| StoreError::Corrupt("a locked row is not there".into()))?;
        let was_set = quota.source.is_some();
        quota.set(Some((set.source, set.limit, set.rate)), *now);
        write_quotas(rows, vec![quota.clone()], *now).await?;
        let number = rows.next_settings(*now).await?;
        if !was_set {
            rows.mark_uncounted(&set.name, number).await?;
        }
        Ok(quota)
    }
}

/// Leaves a quota to the schemas again.
#[derive(Clone, Debug)]
pub struct RemoveQuota {
    pub name: QuotaName,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for RemoveQuota {
    /// False: nothing was set.
    type Answer = bool;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let names = BTreeSet::from([self.name.clone()]);
        let locked = rows.lock_quotas(&names, &BTreeSet::new(), self.now).await?;
        let Some(mut quota) = locked.into_iter().next() else {
            return Ok(false);
        };
        let was_set = quota.source.is_some();
        quota.set(None, self.now);
        write_quotas(rows, vec![quota], self.now).await?;
        rows.next_settings(self.now).await?;
        Ok(was_set)
    }
}
