//! The rows of quotas in a job of the writer. Nothing else runs meanwhile, so nothing is locked.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use pawl_kernel::execution::Head;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{HolderKey, LaneCount, LaneEntry, LaneHeads, LanePlace, QuotaRows};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::quota::{Group, Lane, LaneId, Quota, QuotaName, QuotaUse};
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};

use super::{line, recount, rows};
use crate::fault::JobResult;
use crate::transaction::ConnectionTransaction;
use crate::{hot, sql};

#[async_trait]
impl QuotaRows for ConnectionTransaction<'_> {
    async fn lock_quotas(
        &mut self,
        names: &BTreeSet<QuotaName>,
        needed: &BTreeSet<QuotaName>,
        now: Timestamp,
    ) -> StoreResult<Vec<Quota>> {
        let mut found = self.load_quotas(names).await?;
        for name in needed {
            let unset = || Quota::unset(name.clone(), now);
            found.entry(name.clone()).or_insert_with(unset);
        }
        Ok(found.into_values().collect())
    }

    async fn load_quotas(
        &mut self,
        names: &BTreeSet<QuotaName>,
    ) -> StoreResult<BTreeMap<QuotaName, Quota>> {
        let load = |name: &QuotaName| rows::load(self.connection, name).transpose();
        let found = names.iter().filter_map(load);
        let found = found.map(|quota| quota.map(|quota| (quota.name.clone(), quota)));
        let found = found.collect::<JobResult<_>>();
        self.keep(found)
    }

    async fn put_quotas(&mut self, quotas: &[Quota]) -> StoreResult<()> {
        let put = |quota| rows::put(self.connection, quota);
        let done = quotas.iter().try_for_each(put);
        self.keep(done)
    }

    async fn delete_quotas(&mut self, names: &BTreeSet<QuotaName>) -> StoreResult<()> {
        let done = delete_quotas(self.connection, names);
        self.keep(done)
    }

    async fn set_lane_openings(
        &mut self,
        keys: &BTreeMap<QuotaName, Option<Timestamp>>,
    ) -> StoreResult<()> {
        let done = set_lane_openings(self.connection, keys);
        self.keep(done)
    }

    async fn next_settings(&mut self, now: Timestamp) -> StoreResult<i64> {
        rows::forget_set_names();
        Ok(now.as_micros())
    }

    async fn mark_uncounted(&mut self, name: &QuotaName, number: i64) -> StoreResult<()> {
        let done = mark(self.connection, sql::QUOTA_UNCOUNT, name, number);
        self.keep(done)
    }

    async fn mark_counted(&mut self, name: &QuotaName, number: i64) -> StoreResult<()> {
        let done = mark(self.connection, sql::QUOTA_COUNTED, name, number);
        self.keep(done)
    }

    async fn add_holders(&mut self, holders: &[HolderKey], since: Timestamp) -> StoreResult<()> {
        let done = add_holders(self.connection, holders, since);
        self.keep(done)
    }

    async fn remove_holders(&mut self, holders: &[HolderKey]) -> StoreResult<Vec<HolderKey>> {
        let removed = remove_holders(self.connection, holders);
        self.keep(removed)
    }

    async fn known_holders(&mut self, holders: &[HolderKey]) -> StoreResult<BTreeSet<HolderKey>> {
        let known = known_holders(self.connection, holders);
        self.keep(known)
    }

    async fn set_quotas_of(&mut self, heads: &[Head]) -> StoreResult<()> {
        let set = |head| set_quotas_of(self.connection, head);
        let done = heads.iter().try_for_each(set);
        self.keep(done)
    }

    async fn enter_lanes(&mut self, entries: &[LaneEntry]) -> StoreResult<()> {
        let enter = |entry| line::enter(self.connection, entry);
        let done = entries.iter().try_for_each(enter);
        self.keep(done)
    }

    async fn leave_lanes(
        &mut self,
        places: &[LanePlace],
        turns: &BTreeMap<LaneId, u64>,
    ) -> StoreResult<()> {
        let leave = |place| line::leave(self.connection, place);
        let left = places.iter().try_for_each(leave);
        self.keep(left)?;
        let set_turn = |(lane, turn): (_, &u64)| line::set_turn(self.connection, lane, *turn);
        let done = turns.iter().try_for_each(set_turn);
        self.keep(done)
    }

    async fn known_in_lanes(&mut self, places: &[LanePlace]) -> StoreResult<BTreeSet<ExecutionId>> {
        let known = line::known(self.connection, places);
        self.keep(known)
    }

    async fn lock_admission(&mut self) -> StoreResult<bool> {
        Ok(true)
    }

    async fn waiting_groups(&mut self) -> StoreResult<BTreeSet<Group>> {
        let groups = line::groups(self.connection);
        let groups = self.keep(groups)?;
        Ok(groups.into_iter().map(|(_, group)| group).collect())
    }

    async fn open_lanes(
        &mut self,
        most: &BTreeMap<Group, u32>,
        now: Timestamp,
    ) -> StoreResult<Vec<Lane>> {
        let lanes = line::open_lanes(self.connection, most, now);
        self.keep(lanes)
    }

    async fn next_opening(&mut self, now: Timestamp) -> StoreResult<Option<Timestamp>> {
        let at = line::next_opening(self.connection, now);
        self.keep(at)
    }

    async fn first_in_lanes(&mut self, many: &BTreeMap<LaneId, u64>) -> StoreResult<LaneHeads> {
        let heads = line::first(self.connection, many);
        self.keep(heads)
    }

    async fn admission_turn(&mut self) -> StoreResult<u64> {
        let turn = line::turn(self.connection);
        self.keep(turn)
    }

    async fn set_admission_turn(&mut self, turn: u64) -> StoreResult<()> {
        let done = line::write_turn(self.connection, turn);
        self.keep(done)
    }

    async fn count_holders(&mut self, name: &QuotaName) -> StoreResult<u64> {
        let times = recount::times_held(self.connection, name);
        self.keep(times)
    }

    async fn remove_stray_holders(&mut self, name: &QuotaName) -> StoreResult<()> {
        let done = recount::remove_strays(self.connection, name);
        self.keep(done)
    }

    async fn count_lanes(&mut self, name: &QuotaName) -> StoreResult<Vec<LaneCount>> {
        let lanes = recount::lanes(self.connection);
        let mut lanes = self.keep(lanes)?;
        lanes.retain(|lane| lane.lane.quotas().any(|quota| quota == name));
        Ok(lanes)
    }

    async fn put_lane_counts(&mut self, lanes: &[LaneCount]) -> StoreResult<()> {
        let put = |lane| recount::put_lane(self.connection, lane);
        let done = lanes.iter().try_for_each(put);
        self.keep(done)
    }

    async fn quotas_of_users(&mut self, name: &QuotaName) -> StoreResult<Vec<Vec<QuotaUse>>> {
        let quotas = recount::quotas_of_users(self.connection, name);
        self.keep(quotas)
    }
}

fn delete_quotas(connection: &Connection, names: &BTreeSet<QuotaName>) -> JobResult<()> {
    let mut statement = connection.prepare_cached(sql::QUOTA_DELETE)?;
    for name in names {
        statement.execute([name.as_str()])?;
    }
    Ok(())
}

fn set_lane_openings(
    connection: &Connection,
    keys: &BTreeMap<QuotaName, Option<Timestamp>>,
) -> JobResult<()> {
    let mut statement = connection.prepare_cached(sql::ADMISSION_LANES_OF_KEY)?;
    for (key, open_at) in keys {
        statement.execute(params![key.as_str(), open_at.map(Timestamp::as_micros)])?;
    }
    Ok(())
}

/// Notes whether those that were there before a quota count against it.
fn mark(connection: &Connection, sql: &str, name: &QuotaName, number: i64) -> JobResult<()> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(params![name.as_str(), number])?;
    Ok(())
}

fn add_holders(connection: &Connection, holders: &[HolderKey], since: Timestamp) -> JobResult<()> {
    let mut statement = connection.prepare_cached(sql::QUOTA_HOLDER_INSERT)?;
    for (name, id) in holders {
        statement.execute(params![name.as_str(), id.0.as_bytes(), since.as_micros()])?;
    }
    Ok(())
}

fn remove_holders(connection: &Connection, holders: &[HolderKey]) -> JobResult<Vec<HolderKey>> {
    let mut statement = connection.prepare_cached(sql::QUOTA_HOLDER_DELETE)?;
    let mut removed = Vec::new();
    for (name, id) in holders {
        if statement.execute(params![name.as_str(), id.0.as_bytes()])? > 0 {
            removed.push((name.clone(), *id));
        }
    }
    Ok(removed)
}

fn known_holders(connection: &Connection, holders: &[HolderKey]) -> JobResult<BTreeSet<HolderKey>> {
    let mut statement = connection.prepare_cached(sql::QUOTA_HOLDER_KNOWN)?;
    let mut known = BTreeSet::new();
    for (name, id) in holders {
        if statement.exists(params![name.as_str(), id.0.as_bytes()])? {
            known.insert((name.clone(), *id));
        }
    }
    Ok(known)
}

fn set_quotas_of(connection: &Connection, head: &Head) -> JobResult<()> {
    hot::forget(head.id);
    let id = head.id.0.as_bytes();
    connection.prepare_cached(sql::STATE_TOUCH)?.execute([id])?;
    connection
        .prepare_cached(sql::EXECUTION_SET_QUOTAS)?
        .execute(params![id, QuotaUse::to_column(&head.quotas)])?;
    Ok(())
}
