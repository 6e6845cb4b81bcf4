//! Quotas, their holders and the lanes of those that wait.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use async_trait::async_trait;

use pawl_kernel::execution::Head;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{
    Entrance, HolderKey, LaneCount, LaneEntry, LaneHeads, LanePlace, QuotaCounts, QuotaRows,
    finish_now,
};
use pawl_kernel::ports::quotas::{AdmissionPosition, BEFORE_MAX, Holder, Miscounts, QuotaReads};
use pawl_kernel::ports::store::{CreateOutcome, NewExecution, StoreResult};
use pawl_kernel::quota::{Group, Lane, LaneId, Quota, QuotaName, QuotaUse};
use pawl_kernel::time::Timestamp;

use super::ModelStore;
use super::tables::Tables;

#[derive(Default)]
pub(super) struct Quotas {
    rows: BTreeMap<QuotaName, Quota>,
    holders: BTreeMap<HolderKey, Timestamp>,
    lanes: BTreeMap<LaneId, LaneLine>,
    /// Those that do not count yet the executions that were there before them, with the number of the change that set
    /// them.
    uncounted: BTreeMap<QuotaName, i64>,
    /// The number of the last change of what operators have set.
    settings: i64,
    /// Of the last admission.
    turn: u64,
}

#[derive(Default)]
struct LaneLine {
    turn: u64,
    /// Ids are in the order of age.
    ids: BTreeSet<ExecutionId>,
}

impl Quotas {
    pub(super) fn holders(&self) -> Vec<(String, ExecutionId)> {
        let holders = self.holders.keys();
        holders.map(|(name, id)| (name.to_string(), *id)).collect()
    }

    fn open_lanes(&self, group: &Group, now: Timestamp) -> Vec<Lane> {
        let of_group = self.lanes.iter().filter(|(lane, _)| lane.group == *group);
        let open = of_group.filter(|(lane, _)| {
            let quota = lane.key.as_ref().and_then(|key| self.rows.get(key));
            quota.is_none_or(|quota| quota.has_room(now))
        });
        let lanes = open.map(|(lane, line)| Lane {
            group: lane.group.clone(),
            key: lane.key.clone(),
            turn: line.turn,
            waiting: line.ids.len() as u64,
        });
        let mut lanes: Vec<Lane> = lanes.collect();
        lanes.sort_by(|one, other| (one.turn, &one.key).cmp(&(other.turn, &other.key)));
        lanes
    }

    /// A lane has no counter of its own here.
    fn counts(&self) -> impl Iterator<Item = LaneCount> {
        self.lanes.iter().map(|(lane, line)| LaneCount {
            lane: lane.clone(),
            counted: Some(line.ids.len() as u64),
            really: line.ids.len() as u64,
        })
    }

    fn times_held(&self, name: &QuotaName, open: &BTreeSet<ExecutionId>) -> u64 {
        let held = self.holders.keys();
        let held = held.filter(|(held, id)| held == name && open.contains(id));
        held.count() as u64
    }
}

#[async_trait]
impl QuotaRows for Tables {
    async fn lock_quotas(
        &mut self,
        names: &BTreeSet<QuotaName>,
        needed: &BTreeSet<QuotaName>,
        now: Timestamp,
    ) -> StoreResult<Vec<Quota>> {
        let rows = &self.quotas.rows;
        let unset = |name| {
            needed
                .contains(name)
                .then(|| Quota::unset(name.clone(), now))
        };
        let quota = |name| rows.get(name).cloned().or_else(|| unset(name));
        Ok(names.iter().filter_map(quota).collect())
    }

    async fn load_quotas(
        &mut self,
        names: &BTreeSet<QuotaName>,
    ) -> StoreResult<BTreeMap<QuotaName, Quota>> {
        let rows = &self.quotas.rows;
        let quota = |name: &QuotaName| Some((name.clone(), rows.get(name)?.clone()));
        Ok(names.iter().filter_map(quota).collect())
    }

    async fn put_quotas(&mut self, quotas: &[Quota]) -> StoreResult<()> {
        let rows = quotas
            .iter()
            .map(|quota| (quota.name.clone(), quota.clone()));
        self.quotas.rows.extend(rows);
        Ok(())
    }

    async fn delete_quotas(&mut self, names: &BTreeSet<QuotaName>) -> StoreResult<()> {
        self.quotas.rows.retain(|name, _| !names.contains(name));
        Ok(())
    }

    /// Whether a lane is open is looked up when it is asked.
    async fn set_lane_openings(
        &mut self,
        _: &BTreeMap<QuotaName, Option<Timestamp>>,
    ) -> StoreResult<()> {
        Ok(())
    }

    async fn next_settings(&mut self, _: Timestamp) -> StoreResult<i64> {
        self.quotas.settings += 1;
        Ok(self.quotas.settings)
    }

    async fn mark_uncounted(&mut self, name: &QuotaName, number: i64) -> StoreResult<()> {
        self.quotas.uncounted.insert(name.clone(), number);
        Ok(())
    }

    async fn mark_counted(&mut self, name: &QuotaName, number: i64) -> StoreResult<()> {
        let is_counted = |of: &QuotaName, since: i64| of == name && since == number;
        self.quotas
            .uncounted
            .retain(|of, since| !is_counted(of, *since));
        Ok(())
    }

    async fn add_holders(&mut self, holders: &[HolderKey], since: Timestamp) -> StoreResult<()> {
        for holder in holders {
            self.quotas.holders.entry(holder.clone()).or_insert(since);
        }
        Ok(())
    }

    async fn remove_holders(&mut self, holders: &[HolderKey]) -> StoreResult<Vec<HolderKey>> {
        let held = &mut self.quotas.holders;
        let removed = holders
            .iter()
            .filter(|holder| held.remove(holder).is_some());
        Ok(removed.cloned().collect())
    }

    async fn known_holders(&mut self, holders: &[HolderKey]) -> StoreResult<BTreeSet<HolderKey>> {
        let held = &self.quotas.holders;
        let known = holders.iter().filter(|holder| held.contains_key(holder));
        Ok(known.cloned().collect())
    }

    async fn set_quotas_of(&mut self, heads: &[Head]) -> StoreResult<()> {
        for head in heads {
            let row = self.rows.get_mut(&head.id).unwrap();
            row.execution.head.quotas = head.quotas.clone();
            row.state.version += 1;
        }
        Ok(())
    }

    async fn enter_lanes(&mut self, entries: &[LaneEntry]) -> StoreResult<()> {
        let turn = self.quotas.turn;
        for LaneEntry { place, .. } in entries {
            let line = self.quotas.lanes.entry(place.lane.clone());
            let line = line.or_insert_with(|| LaneLine {
                turn,
                ids: BTreeSet::new(),
            });
            line.ids.insert(place.execution_id);
        }
        Ok(())
    }

    async fn leave_lanes(
        &mut self,
        places: &[LanePlace],
        turns: &BTreeMap<LaneId, u64>,
    ) -> StoreResult<()> {
        let lanes = &mut self.quotas.lanes;
        for place in places {
            if let Some(line) = lanes.get_mut(&place.lane) {
                line.ids.remove(&place.execution_id);
                line.turn = turns.get(&place.lane).copied().unwrap_or(line.turn);
            }
        }
        lanes.retain(|_, line| !line.ids.is_empty());
        Ok(())
    }

    async fn known_in_lanes(&mut self, places: &[LanePlace]) -> StoreResult<BTreeSet<ExecutionId>> {
        let lanes = &self.quotas.lanes;
        let is_known = |place: &&LanePlace| {
            let line = lanes.get(&place.lane);
            line.is_some_and(|line| line.ids.contains(&place.execution_id))
        };
        let known = places.iter().filter(is_known);
        Ok(known.map(|place| place.execution_id).collect())
    }

    async fn lock_admission(&mut self) -> StoreResult<bool> {
        Ok(true)
    }

    async fn waiting_groups(&mut self) -> StoreResult<BTreeSet<Group>> {
        let lanes = self.quotas.lanes.keys();
        Ok(lanes.map(|lane| lane.group.clone()).collect())
    }

    async fn open_lanes(
        &mut self,
        most: &BTreeMap<Group, u32>,
        now: Timestamp,
    ) -> StoreResult<Vec<Lane>> {
        let of_group = |(group, most): (&Group, &u32)| {
            let lanes = self.quotas.open_lanes(group, now);
            lanes.into_iter().take(*most as usize)
        };
        Ok(most.iter().flat_map(of_group).collect())
    }

    async fn next_opening(&mut self, now: Timestamp) -> StoreResult<Option<Timestamp>> {
        let Quotas { rows, lanes, .. } = &self.quotas;
        let keys = lanes.keys().filter_map(|lane| lane.key.as_ref());
        let opens_at = keys.filter_map(|key| rows.get(key)?.opens_at(now));
        Ok(opens_at.filter(|at| *at > now).min())
    }

    async fn first_in_lanes(&mut self, many: &BTreeMap<LaneId, u64>) -> StoreResult<LaneHeads> {
        let first = |(lane, many): (&LaneId, &u64)| {
            let ids = self.quotas.lanes.get(lane)?.ids.iter();
            Some((lane.clone(), ids.take(*many as usize).copied().collect()))
        };
        Ok(many.iter().filter_map(first).collect())
    }

    async fn admission_turn(&mut self) -> StoreResult<u64> {
        Ok(self.quotas.turn)
    }

    async fn set_admission_turn(&mut self, turn: u64) -> StoreResult<()> {
        self.quotas.turn = turn;
        Ok(())
    }

    async fn count_holders(&mut self, name: &QuotaName) -> StoreResult<u64> {
        Ok(self.quotas.times_held(name, &self.open))
    }

    async fn remove_stray_holders(&mut self, name: &QuotaName) -> StoreResult<()> {
        let open = &self.open;
        let is_stray = |(of, id): &HolderKey| of == name && !open.contains(id);
        self.quotas.holders.retain(|holder, _| !is_stray(holder));
        Ok(())
    }

    async fn count_lanes(&mut self, name: &QuotaName) -> StoreResult<Vec<LaneCount>> {
        let lanes = self.quotas.counts();
        let of_quota = lanes.filter(|lane| lane.lane.quotas().any(|quota| quota == name));
        Ok(of_quota.collect())
    }

    async fn put_lane_counts(&mut self, _: &[LaneCount]) -> StoreResult<()> {
        Ok(())
    }

    async fn quotas_of_users(&mut self, name: &QuotaName) -> StoreResult<Vec<Vec<QuotaUse>>> {
        let open = self
            .open
            .iter()
            .rev()
            .map(|id| &self.rows[id].execution.head);
        let users = open.filter(|head| head.quotas.iter().any(|one| one.name == *name));
        Ok(users.map(|head| head.quotas.clone()).collect())
    }
}

impl Tables {
    /// Decides where a new execution goes.
    pub(super) fn enter(&mut self, new: &mut NewExecution) -> StoreResult<CreateOutcome> {
        let now = new.state.updated_at;
        let entrance = finish_now(Entrance::decide(self, slice::from_mut(new), now))?;
        let answer = entrance.answer(new.execution.head.id);
        finish_now(entrance.write(self, &[new]))?;
        Ok(answer.unwrap_or(CreateOutcome::New))
    }
}

#[async_trait]
impl QuotaReads for ModelStore {
    async fn quotas(
        &self,
        set_only: bool,
        after: Option<QuotaName>,
        limit: u32,
    ) -> StoreResult<Vec<Quota>> {
        let tables = self.lock();
        let rows = tables.quotas.rows.values();
        Ok(rows
            .filter(|row| row.limit().is_some() && Some(&row.name) > after.as_ref())
            .filter(|row| row.source.is_some() || !set_only)
            .take(limit as usize)
            .cloned()
            .collect())
    }

    async fn quota(&self, name: QuotaName) -> StoreResult<Option<Quota>> {
        let row = self.lock().quotas.rows.get(&name).cloned();
        Ok(row.filter(|row| row.limit().is_some()))
    }

    async fn holders(&self, name: QuotaName, limit: u32) -> StoreResult<Vec<Holder>> {
        let tables = self.lock();
        let holders = tables.quotas.holders.iter();
        let mut found: Vec<Holder> = holders
            .filter(|((quota, _), _)| *quota == name)
            .map(|((_, id), since)| Holder {
                execution_id: *id,
                since: *since,
            })
            .collect();
        found.sort_by_key(|holder| (holder.since, holder.execution_id));
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn admission_position(&self, id: ExecutionId) -> StoreResult<Option<AdmissionPosition>> {
        let tables = self.lock();
        let Some(row) = tables.row(id) else {
            return Ok(None);
        };
        let (execution, quotas) = (&row.execution, &tables.quotas);
        let lane = LaneId::of(execution.head.priority, &execution.head.quotas);
        let line = quotas.lanes.get(&lane);
        let line = line.filter(|line| line.ids.contains(&id));
        Ok(line.map(|line| AdmissionPosition {
            priority: execution.head.priority,
            quotas: execution
                .head
                .quotas
                .iter()
                .filter_map(|claim| quotas.rows.get(&claim.name).cloned())
                .collect(),
            before: (line.ids.range(..id).count() as u64).min(BEFORE_MAX),
        }))
    }

    async fn has_line(&self) -> StoreResult<bool> {
        Ok(!self.lock().quotas.lanes.is_empty())
    }

    async fn uncounted(&self, name: QuotaName) -> StoreResult<Option<i64>> {
        let quotas = &self.lock().quotas;
        let is_set = |row: &Quota| row.source.is_some();
        let set = quotas.rows.get(&name).is_some_and(is_set);
        Ok(quotas.uncounted.get(&name).copied().filter(|_| set))
    }

    async fn settings_known(&self) -> StoreResult<()> {
        Ok(())
    }

    async fn miscounts(&self) -> StoreResult<Miscounts> {
        let tables = self.lock();
        let quotas = &tables.quotas;
        let mut counts = QuotaCounts::default();
        for quota in quotas.rows.values() {
            counts.says(quota.name.clone(), quota.used, quota.waiting);
        }
        for (name, _) in quotas.holders.keys() {
            counts.is_held(name.clone(), quotas.times_held(name, &tables.open));
        }
        for lane in quotas.counts() {
            counts.has_lane(&lane);
        }
        Ok(counts.wrong())
    }
}
