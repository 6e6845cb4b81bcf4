//! Are the counters what the rows add up to? The look locks nothing: it sees one moment, in which they must be. Only
//! what is wrong is locked, one quota after the other, looked at again and fixed.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use super::{QuotaRows, write_quotas};
use crate::operations::{Access, Operation, Transaction};
use crate::ports::quotas::{Miscounts, Recount};
use crate::ports::store::{StoreError, StoreResult};
use crate::quota::{LaneId, Quota, QuotaName};
use crate::time::Timestamp;

/// How many wait in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneCount {
    pub lane: LaneId,
    /// What the lane says. `None`: executions stand in it, and it is not there.
    pub counted: Option<u64>,
    pub really: u64,
}

impl LaneCount {
    fn is_right(&self) -> bool {
        self.counted == Some(self.really)
    }
}

/// What all quotas count, and what there is, at one moment.
#[derive(Debug, Default)]
pub struct QuotaCounts {
    of: BTreeMap<QuotaName, QuotaCount>,
    of_lanes: BTreeSet<QuotaName>,
}

#[derive(Clone, Copy, Debug, Default)]
struct QuotaCount {
    used: u64,
    really_used: u64,
    waiting: u64,
    really_waiting: u64,
}

impl QuotaCount {
    /// `None`: it is right.
    fn recount(&self, name: &QuotaName) -> Option<Recount> {
        let is_right = (self.used, self.waiting) == (self.really_used, self.really_waiting);
        (!is_right).then(|| Recount {
            name: name.clone(),
            used: self.used,
            really_used: self.really_used,
            waiting: self.waiting,
            really_waiting: self.really_waiting,
        })
    }
}

impl QuotaCounts {
    /// What the row of a quota says.
    pub fn says(&mut self, name: QuotaName, used: u64, waiting: u64) {
        let of = self.of.entry(name).or_default();
        (of.used, of.waiting) = (used, waiting);
    }

    /// So many open executions hold a place in it.
    pub fn is_held(&mut self, name: QuotaName, times: u64) {
        self.of.entry(name).or_default().really_used = times;
    }

    pub fn has_lane(&mut self, lane: &LaneCount) {
        for name in lane.lane.quotas() {
            self.of.entry(name.clone()).or_default().really_waiting += lane.really;
            if !lane.is_right() {
                self.of_lanes.insert(name.clone());
            }
        }
    }

    pub fn wrong(self) -> Miscounts {
        let wrong = self.of.iter().filter_map(|(name, of)| of.recount(name));
        Miscounts {
            quotas: wrong.collect(),
            of_lanes: self.of_lanes,
        }
    }
}

/// Puts the counters of one quota and of its lanes right.
#[derive(Clone, Debug)]
pub struct RecountQuota {
    pub name: QuotaName,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for RecountQuota {
    /// What was wrong by then.
    type Answer = Option<Recount>;

    fn access(&self) -> Access {
        Access::Upkeep
    }

    /// With the quota locked no execution comes, goes or stands in line for it.
    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let Self { name, now } = self;
        let names = BTreeSet::from([name.clone()]);
        let locked = rows.lock_quotas(&names, &names, *now).await?;
        let mut quota = locked
            .into_iter()
            .next()
            .ok_or_else(|| StoreError::Corrupt("a locked row is not there".into()))?;
        let lanes = rows.count_lanes(name).await?;
        let counts = QuotaCount {
            used: quota.used,
            really_used: rows.count_holders(name).await?,
            waiting: quota.waiting,
            really_waiting: lanes.iter().map(|lane| lane.really).sum(),
        };
        let wrong = counts.recount(name);
        if wrong.is_some() {
            rows.remove_stray_holders(name).await?;
        }
        if quota.limit().is_none() && quota.source.is_none() {
            recall(rows, &mut quota).await?;
        }
        quota.used = counts.really_used;
        quota.waiting = counts.really_waiting;
        quota.updated_at = *now;
        let lanes = lanes.into_iter().filter(|lane| !lane.is_right());
        let lanes: Vec<LaneCount> = lanes.collect();
        if !lanes.is_empty() {
            rows.put_lane_counts(&lanes).await?;
        }
        write_quotas(rows, vec![quota], *now).await?;
        Ok(wrong)
    }
}

/// A row that was missing has lost the limit too. The executions that count against it remember what their schema asked
/// for.
async fn recall(rows: &mut dyn QuotaRows, quota: &mut Quota) -> StoreResult<()> {
    for uses in rows.quotas_of_users(&quota.name).await? {
        let own = uses.into_iter().find(|one| one.name == quota.name);
        let Some((limit, version)) = own.and_then(|one| one.settings) else {
            continue;
        };
        if quota.settings_limit.is_none() || version > quota.settings_version {
            quota.settings_limit = Some(limit);
            quota.settings_version = version;
        }
    }
    Ok(())
}
