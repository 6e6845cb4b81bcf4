//! The rows of quotas in a transaction on a session: each call is one statement, or a few.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use pawl_kernel::execution::Head;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{HolderKey, LaneCount, LaneEntry, LaneHeads, LanePlace, QuotaRows};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::quota::{Group, Lane, LaneId, Quota, QuotaName, QuotaUse};
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::line::{self, GroupIds};
use super::{recount, rows};
use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql::{self, Sql};
use crate::transaction::SessionTransaction;
use crate::value::{Columns, Text};

impl SessionTransaction<'_> {
    /// Groups without a row are left out. What is remembered of groups is right as long as their quotas are locked; before
    /// that it is a guess like all that is read without locks.
    async fn group_ids(&mut self, groups: BTreeSet<Group>) -> StoreResult<GroupIds> {
        let is_unknown = |group: &&Group| !self.groups.contains_key(group);
        let unknown: BTreeSet<Group> = groups.iter().filter(is_unknown).cloned().collect();
        if !unknown.is_empty() {
            let session = self.session;
            let found = self.ask(line::find_groups(session, &unknown)).await?;
            self.groups.extend(found);
        }
        let id = |group: Group| self.groups.get(&group).map(|id| (group, *id));
        Ok(groups.into_iter().filter_map(id).collect())
    }

    async fn groups_of(&mut self, places: &[LanePlace]) -> StoreResult<GroupIds> {
        let groups = places.iter().map(|place| place.lane.group.clone());
        self.group_ids(groups.collect()).await
    }
}

#[async_trait]
impl QuotaRows for SessionTransaction<'_> {
    async fn lock_quotas(
        &mut self,
        names: &BTreeSet<QuotaName>,
        needed: &BTreeSet<QuotaName>,
        now: Timestamp,
    ) -> StoreResult<Vec<Quota>> {
        let session = self.session;
        self.ask(rows::lock_with(session, names, needed, now)).await
    }

    async fn load_quotas(
        &mut self,
        names: &BTreeSet<QuotaName>,
    ) -> StoreResult<BTreeMap<QuotaName, Quota>> {
        let session = self.session;
        self.ask(rows::load(session, names)).await
    }

    async fn put_quotas(&mut self, quotas: &[Quota]) -> StoreResult<()> {
        let session = self.session;
        self.ask(rows::put(session, quotas)).await
    }

    async fn delete_quotas(&mut self, names: &BTreeSet<QuotaName>) -> StoreResult<()> {
        let session = self.session;
        self.ask(rows::delete(session, names)).await
    }

    async fn set_lane_openings(
        &mut self,
        keys: &BTreeMap<QuotaName, Option<Timestamp>>,
    ) -> StoreResult<()> {
        let session = self.session;
        self.ask(set_lane_openings(session, keys)).await
    }

    async fn next_settings(&mut self, _: Timestamp) -> StoreResult<i64> {
        let session = self.session;
        self.has_new_settings = true;
        self.ask(next_epoch(session)).await
    }

    async fn mark_uncounted(&mut self, name: &QuotaName, number: i64) -> StoreResult<()> {
        let session = self.session;
        self.ask(mark(session, &sql::QUOTA_UNCOUNT, name, number))
            .await
    }

    async fn mark_counted(&mut self, name: &QuotaName, number: i64) -> StoreResult<()> {
        let session = self.session;
        self.ask(mark(session, &sql::QUOTA_COUNTED, name, number))
            .await
    }

    async fn add_holders(&mut self, holders: &[HolderKey], since: Timestamp) -> StoreResult<()> {
        let session = self.session;
        self.ask(add_holders(session, holders, since)).await
    }

    async fn remove_holders(&mut self, holders: &[HolderKey]) -> StoreResult<Vec<HolderKey>> {
        let session = self.session;
        let removed = holders_by(session, &sql::QUOTA_HOLDERS_DELETE, holders);
        self.ask(removed).await
    }

    async fn known_holders(&mut self, holders: &[HolderKey]) -> StoreResult<BTreeSet<HolderKey>> {
        let session = self.session;
        let known = holders_by(session, &sql::QUOTA_HOLDERS_KNOWN, holders);
        Ok(self.ask(known).await?.into_iter().collect())
    }

    async fn set_quotas_of(&mut self, heads: &[Head]) -> StoreResult<()> {
        let session = self.session;
        self.ask(set_quotas_of(session, heads)).await
    }

    async fn enter_lanes(&mut self, entries: &[LaneEntry]) -> StoreResult<()> {
        let session = self.session;
        let groups = entries.iter().map(|entry| entry.place.lane.group.clone());
        let groups: BTreeSet<Group> = groups.collect();
        self.ask(line::add_groups(session, &groups)).await?;
        self.groups.retain(|group, _| !groups.contains(group));
        let ids = self.group_ids(groups).await?;
        self.ask(line::enter(session, &ids, entries)).await
    }

    async fn leave_lanes(
        &mut self,
        places: &[LanePlace],
        turns: &BTreeMap<LaneId, u64>,
    ) -> StoreResult<()> {
        let session = self.session;
        let ids = self.groups_of(places).await?;
        self.ask(line::leave(session, &ids, places, turns)).await?;
        self.groups.clear();
        Ok(())
    }

    async fn known_in_lanes(&mut self, places: &[LanePlace]) -> StoreResult<BTreeSet<ExecutionId>> {
        let session = self.session;
        let ids = self.groups_of(places).await?;
        self.ask(line::known(session, &ids, places)).await
    }

    async fn lock_admission(&mut self) -> StoreResult<bool> {
        let session = self.session;
        self.ask(line::lock_admission(session)).await
    }

    async fn waiting_groups(&mut self) -> StoreResult<BTreeSet<Group>> {
        let session = self.session;
        self.groups = self.ask(line::waiting_groups(session)).await?;
        Ok(self.groups.keys().cloned().collect())
    }

    async fn open_lanes(
        &mut self,
        most: &BTreeMap<Group, u32>,
        now: Timestamp,
    ) -> StoreResult<Vec<Lane>> {
        let session = self.session;
        let ids = self.group_ids(most.keys().cloned().collect()).await?;
        self.ask(line::open_lanes(session, &ids, most, now)).await
    }

    async fn next_opening(&mut self, now: Timestamp) -> StoreResult<Option<Timestamp>> {
        let session = self.session;
        self.ask(line::next_opening(session, now)).await
    }

    async fn first_in_lanes(&mut self, many: &BTreeMap<LaneId, u64>) -> StoreResult<LaneHeads> {
        let session = self.session;
        let groups = many.keys().map(|lane| lane.group.clone());
        let ids = self.group_ids(groups.collect()).await?;
        self.ask(line::first(session, &ids, many)).await
    }

    async fn admission_turn(&mut self) -> StoreResult<u64> {
        let session = self.session;
        self.ask(line::turn(session)).await
    }

    async fn set_admission_turn(&mut self, turn: u64) -> StoreResult<()> {
        let session = self.session;
        self.ask(line::write_turn(session, turn)).await
    }

    async fn count_holders(&mut self, name: &QuotaName) -> StoreResult<u64> {
        let session = self.session;
        self.ask(recount::times_held(session, name)).await
    }

    async fn remove_stray_holders(&mut self, name: &QuotaName) -> StoreResult<()> {
        let session = self.session;
        self.ask(recount::remove_strays(session, name)).await
    }

    async fn count_lanes(&mut self, name: &QuotaName) -> StoreResult<Vec<LaneCount>> {
        let session = self.session;
        self.ask(recount::lanes(session, name)).await
    }

    async fn put_lane_counts(&mut self, lanes: &[LaneCount]) -> StoreResult<()> {
        let session = self.session;
        let groups = lanes.iter().map(|lane| lane.lane.group.clone());
        let ids = self.group_ids(groups.collect()).await?;
        self.ask(recount::put_lanes(session, &ids, lanes)).await
    }

    async fn quotas_of_users(&mut self, name: &QuotaName) -> StoreResult<Vec<Vec<QuotaUse>>> {
        let session = self.session;
        self.ask(recount::quotas_of_users(session, name)).await
    }
}

async fn set_lane_openings(
    session: &Session,
    keys: &BTreeMap<QuotaName, Option<Timestamp>>,
) -> Outcome<()> {
    let mut columns = Columns::new(sql::ADMISSION_LANES_OF_KEY.kinds());
    for (key, open_at) in keys {
        columns.text(key.as_str());
        columns.time(*open_at);
    }
    session.ready(&[&sql::ADMISSION_LANES_OF_KEY]).await?;
    let params = columns.params();
    session.rows(&sql::ADMISSION_LANES_OF_KEY, &params).await?;
    Ok(())
}

/// The number of this change of what operators have set.
async fn next_epoch(session: &Session) -> Outcome<i64> {
    session.ready(&[&sql::QUOTA_EPOCH_NEXT]).await?;
    let rows = session.rows(&sql::QUOTA_EPOCH_NEXT, &[]).await?;
    match rows.first() {
        Some(row) => Reader::new(row).get(),
        None => Err(Fault::Corrupt("the table quota_epoch is empty".into())),
    }
}

/// Notes whether those that were there before a quota count against it.
async fn mark(session: &Session, sql: &'static Sql, name: &QuotaName, number: i64) -> Outcome<()> {
    session.ready(&[sql]).await?;
    let name = Text::new(name.as_str());
    session.rows(sql, &[&name, &number]).await?;
    Ok(())
}

async fn add_holders(session: &Session, holders: &[HolderKey], since: Timestamp) -> Outcome<()> {
    let mut columns = Columns::new(sql::QUOTA_HOLDERS_INSERT.kinds());
    for (name, id) in holders {
        columns.text(name.as_str());
        columns.uuid(id.0);
        columns.time(since);
    }
    session.ready(&[&sql::QUOTA_HOLDERS_INSERT]).await?;
    let params = columns.params();
    session.rows(&sql::QUOTA_HOLDERS_INSERT, &params).await?;
    Ok(())
}

/// The holders that a statement found or deleted.
async fn holders_by(
    session: &Session,
    sql: &'static Sql,
    holders: &[HolderKey],
) -> Outcome<Vec<HolderKey>> {
    let mut columns = Columns::new(sql.kinds());
    for (name, id) in holders {
        columns.text(name.as_str());
        columns.uuid(id.0);
    }
    session.ready(&[sql]).await?;
    let rows = session.rows(sql, &columns.params()).await?;
    let holder = |row: &Row| {
        let mut reader = Reader::new(row);
        let name = rows::name(&mut reader)?;
        Ok((name, ExecutionId(reader.get()?)))
    };
    rows.iter().map(holder).collect()
}

async fn set_quotas_of(session: &Session, heads: &[Head]) -> Outcome<()> {
    session
        .ready(&[&sql::EXECUTIONS_SET_QUOTAS, &sql::STATES_TOUCH])
        .await?;
    let mut columns = Columns::new(sql::EXECUTIONS_SET_QUOTAS.kinds());
    let mut ids: Vec<Uuid> = Vec::new();
    for head in heads {
        columns.uuid(head.id.0);
        columns.owned_text(QuotaUse::to_column(&head.quotas));
        ids.push(head.id.0);
    }
    let params = columns.params();
    session.rows(&sql::EXECUTIONS_SET_QUOTAS, &params).await?;
    session.rows(&sql::STATES_TOUCH, &[&ids]).await?;
    Ok(())
}
