//! Quotas within a transaction: what a store knows of their rows, and what is done with them.
//!
//! Locks are taken in one order: executions by id, then quotas by name, then lanes. A limit is therefore checked
//! under the lock of its row, and two transactions never wait for each other. An embedded store runs one transaction
//! at a time and locks nothing.
//!
//! Other than [the changes of executions](super::Transaction::write), what is written here is written at once: the same
//! transaction reads it again.

mod admit;
mod count;
mod enter;
mod follow;
mod recount;
mod settings;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use async_trait::async_trait;

use crate::execution::Head;
use crate::id::ExecutionId;
use crate::ports::store::StoreResult;
use crate::quota::{Group, Lane, LaneId, Quota, QuotaKind, QuotaLedger, QuotaName, QuotaUse};
use crate::time::Timestamp;

pub use admit::{AdmissionLook, AdmitExecutions};
pub use count::{CheckCounts, CountExecutions, MarkCounted};
pub use enter::Entrance;
pub use follow::follow_decisions;
pub use recount::{LaneCount, QuotaCounts, RecountQuota};
pub use settings::{RemoveQuota, StoreQuota};

/// Quota rows, their holders and the lanes of those who wait. Each call is about many rows at once.
#[async_trait]
pub trait QuotaRows: Send {
    /// Locks these quotas in the order of their names, and reads them. Those without a row are left out, but for the
    /// `needed` ones: a server adds their rows, because only a row can be locked.
    async fn lock_quotas(
        &mut self,
        names: &BTreeSet<QuotaName>,
        needed: &BTreeSet<QuotaName>,
        now: Timestamp,
    ) -> StoreResult<Vec<Quota>>;

    /// Reads these quotas without locking them. Those without a row are left out.
    async fn load_quotas(
        &mut self,
        names: &BTreeSet<QuotaName>,
    ) -> StoreResult<BTreeMap<QuotaName, Quota>>;

    /// Adds or replaces rows.
    async fn put_quotas(&mut self, quotas: &[Quota]) -> StoreResult<()>;

    async fn delete_quotas(&mut self, names: &BTreeSet<QuotaName>) -> StoreResult<()>;

    /// When the lanes of these keys open; `None`: not before an execution of the key ends.
    async fn set_lane_openings(
        &mut self,
        keys: &BTreeMap<QuotaName, Option<Timestamp>>,
    ) -> StoreResult<()>;

    /// What operators have set changes with this transaction, so what is remembered of it elsewhere is old. Returns a number
    /// that no earlier change of the same quota has.
    async fn next_settings(&mut self, now: Timestamp) -> StoreResult<i64>;

    /// Since the change of this number the executions that were there before the quota do not count against it.
    async fn mark_uncounted(&mut self, name: &QuotaName, number: i64) -> StoreResult<()>;

    /// Now they do, unless the quota was set anew since the change of this number.
    async fn mark_counted(&mut self, name: &QuotaName, number: i64) -> StoreResult<()>;

    /// Those that hold already stay as they are.
    async fn add_holders(&mut self, holders: &[HolderKey], since: Timestamp) -> StoreResult<()>;

    /// Returns those that were there.
    async fn remove_holders(&mut self, holders: &[HolderKey]) -> StoreResult<Vec<HolderKey>>;

    /// Those of these that are there.
    async fn known_holders(&mut self, holders: &[HolderKey]) -> StoreResult<BTreeSet<HolderKey>>;

    /// Replaces the quotas that executions count against. Their versions grow: what remembers the old row must read it
    /// again.
    async fn set_quotas_of(&mut self, heads: &[Head]) -> StoreResult<()>;

    /// Executions take their places; lanes and groups are made where they are missing.
    async fn enter_lanes(&mut self, entries: &[LaneEntry]) -> StoreResult<()>;

    /// Executions leave their places, and lanes that were served get their `turns`. Lanes and groups without any
    /// execution go.
    async fn leave_lanes(
        &mut self,
        places: &[LanePlace],
        turns: &BTreeMap<LaneId, u64>,
    ) -> StoreResult<()>;

    /// The executions that stand in these places.
    async fn known_in_lanes(&mut self, places: &[LanePlace]) -> StoreResult<BTreeSet<ExecutionId>>;

    /// One transaction at a time plans admissions. False: another one does.
    async fn lock_admission(&mut self) -> StoreResult<bool>;

    /// The groups that have lanes.
    async fn waiting_groups(&mut self) -> StoreResult<BTreeSet<Group>>;

    /// Of each group so many of the lanes that are open now, by turn and key.
    async fn open_lanes(
        &mut self,
        most: &BTreeMap<Group, u32>,
        now: Timestamp,
    ) -> StoreResult<Vec<Lane>>;

    /// When the next lane opens, after `now`.
    async fn next_opening(&mut self, now: Timestamp) -> StoreResult<Option<Timestamp>>;

    /// Of each lane the so many oldest, oldest first.
    async fn first_in_lanes(&mut self, many: &BTreeMap<LaneId, u64>) -> StoreResult<LaneHeads>;

    /// The number of the last admission.
    async fn admission_turn(&mut self) -> StoreResult<u64>;

    async fn set_admission_turn(&mut self, turn: u64) -> StoreResult<()>;

    /// How many executions that have not ended hold a place in this quota.
    async fn count_holders(&mut self, name: &QuotaName) -> StoreResult<u64>;

    /// Holders of this quota that have ended, or are gone.
    async fn remove_stray_holders(&mut self, name: &QuotaName) -> StoreResult<()>;

    /// The lanes of executions that count against this quota.
    async fn count_lanes(&mut self, name: &QuotaName) -> StoreResult<Vec<LaneCount>>;

    /// Makes lanes say what there really is. Those that are missing are made, open; those without any execution go.
    async fn put_lane_counts(&mut self, lanes: &[LaneCount]) -> StoreResult<()>;

    /// What the youngest of those that hold a place in this quota or wait for one count against.
    async fn quotas_of_users(&mut self, name: &QuotaName) -> StoreResult<Vec<Vec<QuotaUse>>>;
}

/// The place that an execution holds in a quota.
pub type HolderKey = (QuotaName, ExecutionId);

/// Executions by lane, oldest first.
pub type LaneHeads = BTreeMap<LaneId, VecDeque<ExecutionId>>;

/// Where an execution waits for admission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LanePlace {
    pub lane: LaneId,
    pub execution_id: ExecutionId,
}

impl LanePlace {
    pub fn of(head: &Head) -> Self {
        Self {
            lane: LaneId::of(head.priority, &head.quotas),
            execution_id: head.id,
        }
    }
}

/// A place to take, and when its lane opens should it be a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneEntry {
    pub place: LanePlace,
    pub open_at: Option<Timestamp>,
}

/// The names of all quotas that these executions count against.
fn names_of<'a>(heads: impl IntoIterator<Item = &'a Head>) -> BTreeSet<QuotaName> {
    let uses = heads.into_iter().flat_map(|head| &head.quotas);
    uses.map(|one| one.name.clone()).collect()
}

/// The places that these executions hold, or should.
fn holders_of<'a>(heads: impl IntoIterator<Item = &'a Head>) -> Vec<HolderKey> {
    let of_one = |head: &'a Head| {
        head.quotas
            .iter()
            .map(move |one| (one.name.clone(), head.id))
    };
    heads.into_iter().flat_map(of_one).collect()
}

async fn lock_ledger(
    rows: &mut dyn QuotaRows,
    names: &BTreeSet<QuotaName>,
    needed: &BTreeSet<QuotaName>,
    now: Timestamp,
) -> StoreResult<QuotaLedger> {
    Ok(QuotaLedger::open(
        rows.lock_quotas(names, needed, now).await?,
        now,
    ))
}

/// Writes rows and deletes those that are not needed any more. The lanes of a key are open as long as it has room.
async fn write_quotas(
    rows: &mut dyn QuotaRows,
    quotas: Vec<Quota>,
    now: Timestamp,
) -> StoreResult<()> {
    let (needed, gone): (Vec<Quota>, Vec<Quota>) = quotas.into_iter().partition(Quota::is_needed);
    let is_waited_for = |quota: &&Quota| quota.name.kind() == QuotaKind::Key && quota.waiting > 0;
    let keys = needed.iter().filter(is_waited_for);
    let keys: BTreeMap<_, _> = keys
        .map(|quota| (quota.name.clone(), quota.opens_at(now)))
        .collect();
    if !needed.is_empty() {
        rows.put_quotas(&needed).await?;
    }
    if !keys.is_empty() {
        rows.set_lane_openings(&keys).await?;
    }
    if !gone.is_empty() {
        let gone = gone.into_iter().map(|quota| quota.name).collect();
        rows.delete_quotas(&gone).await?;
    }
    Ok(())
}

/// Executions that count against the quotas of the ledger as waiting take their places.
async fn enter_lanes(
    rows: &mut dyn QuotaRows,
    heads: &[&Head],
    ledger: &QuotaLedger,
    now: Timestamp,
) -> StoreResult<()> {
    if heads.is_empty() {
        return Ok(());
    }
    let entry = |head: &&Head| {
        let place = LanePlace::of(head);
        let quota = place.lane.key.as_ref().and_then(|key| ledger.row(key));
        let open_at = match quota {
            Some(quota) => quota.opens_at(now),
            None => Some(Timestamp::default()),
        };
        LaneEntry { place, open_at }
    };
    let entries: Vec<LaneEntry> = heads.iter().map(entry).collect();
    rows.enter_lanes(&entries).await
}

/// Executions leave the line without having been admitted.
async fn leave_lanes(rows: &mut dyn QuotaRows, heads: &[&Head]) -> StoreResult<()> {
    if heads.is_empty() {
        return Ok(());
    }
    let places: Vec<LanePlace> = heads.iter().map(|head| LanePlace::of(head)).collect();
    rows.leave_lanes(&places, &BTreeMap::new()).await
}

async fn add_holders(
    rows: &mut dyn QuotaRows,
    holders: &[HolderKey],
    now: Timestamp,
) -> StoreResult<()> {
    if holders.is_empty() {
        return Ok(());
    }
    rows.add_holders(holders, now).await
}
