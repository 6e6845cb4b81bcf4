//! Quotas as the store keeps them. Every verb is one transaction; what happens in it is decided by
//! [`crate::quota`]. Creating, ending, pausing and resuming an execution move its quotas by themselves, in the
//! transaction that does it.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::store::{
    CatalogStore, Dispatch, ExecutionFilter, ExecutionView, QueryStore, StoreResult,
};
use crate::execution::{PriorityClass, Status};
use crate::id::ExecutionId;
use crate::operations::{
    AdmitExecutions, CheckCounts, CountExecutions, MarkCounted, OperationStore, RecountQuota,
    RemoveQuota, StoreQuota, perform,
};
use crate::quota::{Quota, QuotaKind, QuotaName, QuotaSource, Rate};
use crate::time::Timestamp;

/// What an operator wants of a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetQuota {
    pub name: QuotaName,
    pub limit: u32,
    pub rate: Option<Rate>,
    pub source: QuotaSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub execution_id: ExecutionId,
    /// When it was admitted.
    pub since: Timestamp,
}

/// What one look of the scheduler came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionReport {
    /// In the order of admission.
    pub dispatches: Vec<Dispatch>,
    /// An execution still stands in line.
    pub waiting: bool,
    /// When a rate will let the next one in, if no execution ends before.
    pub look_again_at: Option<Timestamp>,
}

/// Where an execution stands in line.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionPosition {
    pub priority: PriorityClass,
    /// All its quotas, in the order of their names.
    pub quotas: Vec<Quota>,
    /// How many older ones stand in the same lane, counted up to [`BEFORE_MAX`].
    pub before: u64,
}

/// Counting goes no further.
pub const BEFORE_MAX: u64 = 10_000;

/// What is wrong with how an open execution is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miscount {
    /// It waits for a quota and stands in no line: no scheduler will ever admit it.
    NotInLine,
    /// It was admitted, and a quota does not know it.
    NotHolding,
}

/// A quota whose counters are not what its rows add up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recount {
    pub name: QuotaName,
    pub used: u64,
    pub really_used: u64,
    pub waiting: u64,
    pub really_waiting: u64,
}

/// The quotas that are counted wrongly.
#[derive(Clone, Debug, Default)]
pub struct Miscounts {
    pub quotas: Vec<Recount>,
    /// Quotas that have a lane with a wrong counter. Their own may be right.
    pub of_lanes: BTreeSet<QuotaName>,
}

/// What is done to quotas. Every store that runs operations has it.
#[async_trait]
pub trait QuotaStore: Send + Sync {
    async fn set_quota(&self, set: SetQuota, now: Timestamp) -> StoreResult<Quota>;

    /// Takes back what an operator set; what the settings of a schema ask for stays. `false`: nothing was set.
    async fn remove_quota(&self, name: QuotaName, now: Timestamp) -> StoreResult<bool>;

    /// Lets in the executions that may come in, at most `max`.
    async fn admit(&self, now: Timestamp, max: u32) -> StoreResult<AdmissionReport>;

    /// Makes all executions count against a quota that it concerns and that were there before it was set. Returns how
    /// many did not count yet. Costs one look once all of them do. It can be broken off at any point and done again: the
    /// quota's row says as long as there is something left.
    async fn count_rest(&self, name: QuotaName, now: Timestamp) -> StoreResult<u64>;

    /// The same for these executions.
    async fn count_in(
        &self,
        name: QuotaName,
        ids: Vec<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<u64>;

    /// Those of these executions that are counted wrongly; with `fix` they are counted right afterwards.
    async fn check_counted(
        &self,
        ids: Vec<ExecutionId>,
        fix: bool,
        now: Timestamp,
    ) -> StoreResult<Vec<(ExecutionId, Miscount)>>;

    /// Quotas whose counters are wrong; with `fix` they are right afterwards.
    async fn recount(&self, fix: bool, now: Timestamp) -> StoreResult<Vec<Recount>>;
}

/// Looking at quotas, outside the transactions that change them.
#[async_trait]
pub trait QuotaReads: Send + Sync {
    /// Those that limit executions, in the order of their names, after `after`; only what operators have set, if
    /// `set_only`.
    async fn quotas(
        &self,
        set_only: bool,
        after: Option<QuotaName>,
        limit: u32,
    ) -> StoreResult<Vec<Quota>>;

    /// One that limits executions.
    async fn quota(&self, name: QuotaName) -> StoreResult<Option<Quota>>;

    /// Who holds a place in it, longest first.
    async fn holders(&self, name: QuotaName, limit: u32) -> StoreResult<Vec<Holder>>;

    /// `None`: it does not stand in line.
    async fn admission_position(&self, id: ExecutionId) -> StoreResult<Option<AdmissionPosition>>;

    /// Does any execution stand in line?
    async fn has_line(&self) -> StoreResult<bool>;

    /// The number of the change that set it, if those that were there before do not all count yet.
    async fn uncounted(&self, name: QuotaName) -> StoreResult<Option<i64>>;

    /// Waits until no execution is being created by a process that does not know what was set before this call.
    async fn settings_known(&self) -> StoreResult<()>;

    /// What is counted wrongly at one moment.
    async fn miscounts(&self) -> StoreResult<Miscounts>;
}

#[async_trait]
impl<S> QuotaStore for S
where
    S: OperationStore + QuotaReads + QueryStore + CatalogStore,
{
    async fn set_quota(&self, set: SetQuota, now: Timestamp) -> StoreResult<Quota> {
        perform(self, StoreQuota { set, now }).await
    }

    async fn remove_quota(&self, name: QuotaName, now: Timestamp) -> StoreResult<bool> {
        perform(self, RemoveQuota { name, now }).await
    }

    async fn admit(&self, now: Timestamp, max: u32) -> StoreResult<AdmissionReport> {
        // Nearly always there is no line, and nothing to lock.
        if !self.has_line().await? {
            return Ok(AdmissionReport::default());
        }
        let mut admitted = AdmissionReport::default();
        loop {
            let left = max - admitted.dispatches.len() as u32;
            let look = match perform(self, AdmitExecutions { now, max: left }).await {
                Ok(look) => look,
                Err(error) if admitted.dispatches.is_empty() => return Err(error),
                // Those that were admitted before are to be told of.
                Err(_) => return Ok(admitted),
            };
            let mut dispatches = admitted.dispatches;
            dispatches.extend(look.admitted.dispatches);
            admitted = AdmissionReport {
                dispatches,
                ..look.admitted
            };
            if !look.has_strays || admitted.dispatches.len() as u32 >= max {
                return Ok(admitted);
            }
        }
    }

    async fn count_rest(&self, name: QuotaName, now: Timestamp) -> StoreResult<u64> {
        let Some(number) = self.uncounted(name.clone()).await? else {
            return Ok(0);
        };
        // Executions with a key have counted against it from the start.
        if name.kind() != QuotaKind::Key {
            self.settings_known().await?;
        }
        let counted = count_by_page(self, &name, now).await?;
        perform(self, MarkCounted { name, number }).await?;
        Ok(counted)
    }

    async fn count_in(
        &self,
        name: QuotaName,
        ids: Vec<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<u64> {
        perform(self, CountExecutions { name, ids, now }).await
    }

    async fn check_counted(
        &self,
        ids: Vec<ExecutionId>,
        fix: bool,
        now: Timestamp,
    ) -> StoreResult<Vec<(ExecutionId, Miscount)>> {
        perform(self, CheckCounts { ids, fix, now }).await
    }

    async fn recount(&self, fix: bool, now: Timestamp) -> StoreResult<Vec<Recount>> {
        let found = self.miscounts().await?;
        if !fix {
            return Ok(found.quotas);
        }
        let mut names = found.of_lanes;
        names.extend(found.quotas.into_iter().map(|wrong| wrong.name));
        let mut mended = Vec::new();
        for name in names {
            mended.extend(perform(self, RecountQuota { name, now }).await?);
        }
        Ok(mended)
    }
}

/// Counts in all executions that were there before a quota was set, page by page.
async fn count_by_page<S>(store: &S, name: &QuotaName, now: Timestamp) -> StoreResult<u64>
where
    S: OperationStore + QuotaReads + QueryStore + CatalogStore,
{
    /// Executions counted in one transaction.
    const PAGE: u32 = 500;
    let Some(filter) = concerned(store, name).await? else {
        return Ok(0);
    };
    let counts = |view: &ExecutionView| view.execution.head.quotas.iter().any(|c| c.name == *name);
    let (mut counted, mut before) = (0, None);
    loop {
        let page = store.executions(filter.clone(), before, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(counted);
        };
        before = Some(last.execution.head.id);
        // Those that count already need not be locked.
        let left = page.iter().filter(|view| !counts(view));
        let ids: Vec<ExecutionId> = left.map(|view| view.execution.head.id).collect();
        if !ids.is_empty() {
            counted += store.count_in(name.clone(), ids, now).await?;
        }
    }
}

/// Which executions a quota concerns. `None`: none.
async fn concerned<S: CatalogStore>(
    store: &S,
    name: &QuotaName,
) -> StoreResult<Option<ExecutionFilter>> {
    let open = Status::ALL.iter().filter(|status| !status.is_terminal());
    let filter = ExecutionFilter {
        statuses: open.copied().collect(),
        ..ExecutionFilter::default()
    };
    Ok(match name.kind() {
        // An execution with a key has counted against it from the start.
        QuotaKind::Key => None,
        QuotaKind::Tenant => Some(ExecutionFilter {
            tenant: Some(name.name().to_owned()),
            ..filter
        }),
        QuotaKind::Schema => {
            let schema = store.schema(name.name()).await?;
            schema.map(|schema| ExecutionFilter {
                schema_id: Some(schema.id),
                ..filter
            })
        }
    })
}
