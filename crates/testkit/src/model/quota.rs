//! Quotas, who holds them and who stands in line.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use pawl_kernel::execution::Execution;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::lifecycle;
use pawl_kernel::ports::quotas::{
    Admitted, BEFORE_MAX, Holder, Miscount, PlaceInLine, QuotaStore, Recount, SetQuota,
};
use pawl_kernel::ports::store::{CatalogStore, Dispatch, NewExecution, StoreResult};
use pawl_kernel::quota::{
    self, Board, Book, Group, Lane, Movement, Place, Quota, QuotaClaim, QuotaKind, QuotaName,
    Standing,
};
use pawl_kernel::time::Timestamp;

use super::ModelStore;
use super::tables::Tables;

type LaneKey = (Group, Option<QuotaName>);

#[derive(Default)]
pub(super) struct Quotas {
    rows: BTreeMap<QuotaName, Quota>,
    holders: BTreeMap<(QuotaName, ExecutionId), Timestamp>,
    lanes: BTreeMap<LaneKey, Line>,
    /// Those that do not count yet who was there before them.
    uncounted: BTreeSet<QuotaName>,
    /// Of the last admission.
    turn: u64,
}

#[derive(Default)]
struct Line {
    turn: u64,
    /// Ids are in the order of age.
    ids: BTreeSet<ExecutionId>,
}

impl Quotas {
    pub(super) fn holders(&self) -> Vec<(String, ExecutionId)> {
        let holders = self.holders.keys();
        holders.map(|(name, id)| (name.to_string(), *id)).collect()
    }

    /// Does to the rows whatever `work` says.
    fn with_book<T>(&mut self, now: Timestamp, work: impl FnOnce(&mut Book) -> T) -> T {
        let mut book = Book::open(self.rows.values().cloned().collect(), now);
        let answer = work(&mut book);
        self.write(book.close());
        answer
    }

    fn write(&mut self, changed: Vec<Quota>) {
        for quota in changed {
            if quota.is_needed() {
                self.rows.insert(quota.name.clone(), quota);
            } else {
                self.rows.remove(&quota.name);
            }
        }
    }

    fn hold(&mut self, id: ExecutionId, claims: &[QuotaClaim], now: Timestamp) {
        for claim in claims {
            self.holders.insert((claim.name.clone(), id), now);
        }
    }

    fn put_in_line(&mut self, execution: &Execution) {
        let lane = Lane::of(execution.head.priority, &execution.head.quotas);
        let turn = self.turn;
        let line = self.lanes.entry(lane).or_insert_with(|| Line {
            turn,
            ids: BTreeSet::new(),
        });
        line.ids.insert(execution.head.id);
    }

    fn take_out_of_line(&mut self, execution: &Execution) {
        let lane = Lane::of(execution.head.priority, &execution.head.quotas);
        if let Some(line) = self.lanes.get_mut(&lane) {
            line.ids.remove(&execution.head.id);
        }
        self.lanes.retain(|_, line| !line.ids.is_empty());
    }

    fn is_in_line(&self, execution: &Execution) -> bool {
        let lane = Lane::of(execution.head.priority, &execution.head.quotas);
        let line = self.lanes.get(&lane);
        line.is_some_and(|line| line.ids.contains(&execution.head.id))
    }

    /// Gives back what it held; the counter follows the rows.
    fn release(&mut self, execution: &Execution, now: Timestamp) {
        for claim in &execution.head.quotas {
            let key = (claim.name.clone(), execution.head.id);
            if self.holders.remove(&key).is_some() {
                self.with_book(now, |book| book.release(&claim.name));
            }
        }
    }

    fn board(&self, now: Timestamp, max: u32) -> Board {
        let mut lanes = Vec::new();
        for group in self.groups() {
            let most = group.lanes_to_look_at(&self.rows, now, max) as usize;
            let mut of_group: Vec<Lane> = self.open_lanes(&group, now).collect();
            of_group.sort_by(|one, other| (one.turn, &one.key).cmp(&(other.turn, &other.key)));
            lanes.extend(of_group.into_iter().take(most));
        }
        Board::new(self.rows.clone(), lanes, self.turn, now)
    }

    fn groups(&self) -> BTreeSet<Group> {
        self.lanes.keys().map(|(group, _)| group.clone()).collect()
    }

    fn open_lanes(&self, group: &Group, now: Timestamp) -> impl Iterator<Item = Lane> {
        let of_group = self.lanes.iter().filter(move |((of, _), _)| of == group);
        let open = of_group.filter(move |((_, key), _)| {
            let quota = key.as_ref().and_then(|key| self.rows.get(key));
            quota.is_none_or(|quota| quota.has_room(now))
        });
        open.map(|((group, key), line)| Lane {
            group: group.clone(),
            key: key.clone(),
            turn: line.turn,
            waiting: line.ids.len() as u64,
        })
    }

    /// When a rate opens the next lane, or lets somebody of a group in.
    fn look_again_at(&self, now: Timestamp) -> Option<Timestamp> {
        let groups: Vec<Group> = self.groups().into_iter().collect();
        let by_group = quota::board::next_by_rate(&groups, &self.rows, now);
        let keys = self.lanes.keys().filter_map(|(_, key)| key.as_ref());
        let by_key = keys
            .filter_map(|key| self.rows.get(key)?.opens_at(now))
            .filter(|at| *at > now)
            .min();
        by_group.into_iter().chain(by_key).min()
    }

    /// How many rows say that this quota is used, and that it is waited for.
    fn count(&self, name: &QuotaName, open: &BTreeSet<ExecutionId>) -> (u64, u64) {
        let of_quota = self.holders.keys().filter(|(held, _)| held == name);
        let held = of_quota.filter(|(_, id)| open.contains(id)).count();
        let lanes = self
            .lanes
            .iter()
            .filter(|((group, key), _)| group.wide.contains(name) || key.as_ref() == Some(name));
        let waiting: usize = lanes.map(|(_, line)| line.ids.len()).sum();
        (held as u64, waiting as u64)
    }
}

impl Tables {
    /// Decides where a new execution goes.
    pub(super) fn enter(&mut self, new: &mut NewExecution) -> Place {
        let now = new.state.updated_at;
        let place = self.quotas.with_book(now, |book| book.enter(new));
        match place {
            Place::Holds => {
                self.quotas
                    .hold(new.execution.head.id, &new.execution.head.quotas, now)
            }
            Place::InLine => self.quotas.put_in_line(&new.execution),
            Place::Free | Place::Later => {}
        }
        place
    }

    pub(super) fn move_quotas(&mut self, id: ExecutionId, movement: Movement, now: Timestamp) {
        let execution = &self.rows[&id].execution;
        let (quotas, claims) = (&mut self.quotas, &execution.head.quotas);
        match movement {
            Movement::None => {}
            Movement::LineUp => {
                quotas.with_book(now, |book| book.line_up(claims));
                quotas.put_in_line(execution);
            }
            Movement::Leave => {
                quotas.with_book(now, |book| book.leave(claims));
                quotas.take_out_of_line(execution);
            }
            Movement::Release => quotas.release(execution, now),
        }
    }

    fn admit(&mut self, now: Timestamp, max: u32) -> Admitted {
        let mut board = self.quotas.board(now, max);
        let mut dispatches = Vec::new();
        while dispatches.len() < max as usize
            && let Some(lane) = board.next()
        {
            match self.admit_first(board.lane(lane), now) {
                Some(dispatch) => {
                    board.admit(lane);
                    dispatches.push(dispatch);
                }
                None => board.forget(lane),
            }
        }
        let outcome = board.close();
        let quotas = &mut self.quotas;
        quotas.write(outcome.quotas);
        for lane in outcome.lanes {
            if let Some(line) = quotas.lanes.get_mut(&(lane.group, lane.key)) {
                line.turn = lane.turn;
            }
        }
        quotas.lanes.retain(|_, line| !line.ids.is_empty());
        quotas.turn = outcome.turn;
        Admitted {
            dispatches,
            waiting: !quotas.lanes.is_empty(),
            look_again_at: quotas.look_again_at(now),
        }
    }

    fn admit_first(&mut self, lane: &Lane, now: Timestamp) -> Option<Dispatch> {
        let key = (lane.group.clone(), lane.key.clone());
        let id = self.quotas.lanes.get_mut(&key)?.ids.pop_first()?;
        let row = &self.rows[&id];
        let change = lifecycle::admit(&row.execution.head, &row.state, now)?;
        let claims = row.execution.head.quotas.clone();
        self.apply(change);
        self.quotas.hold(id, &claims, now);
        Some(self.rows[&id].dispatch())
    }

    fn count_in(&mut self, name: &QuotaName, id: ExecutionId, now: Timestamp) -> bool {
        let Some(row) = self.rows.get_mut(&id) else {
            return false;
        };
        let known = row
            .execution
            .head
            .quotas
            .iter()
            .any(|claim| claim.name == *name);
        if known || row.execution.head.status.is_terminal() {
            return false;
        }
        let before = row.execution.clone();
        // Whoever has the old row in mind must read it again.
        row.state.version += 1;
        row.execution
            .head
            .quotas
            .push(QuotaClaim::if_set(name.clone()));
        row.execution
            .head
            .quotas
            .sort_by(|one, other| one.name.cmp(&other.name));
        let (after, quotas) = (&row.execution, &mut self.quotas);
        match quota::standing(&after.head, &row.state) {
            Standing::Holding => {
                quotas.with_book(now, |book| book.count(name));
                quotas.holders.insert((name.clone(), id), now);
            }
            Standing::InLine => {
                quotas.take_out_of_line(&before);
                quotas.with_book(now, |book| {
                    book.leave(&before.head.quotas);
                    book.line_up(&after.head.quotas);
                });
                quotas.put_in_line(after);
            }
            Standing::Aside | Standing::Free => {}
        }
        true
    }

    /// The open executions that a quota concerns, if not all of them count yet. (Whoever has a key counts against it from
    /// the start.)
    fn take_uncounted(&mut self, name: &QuotaName, schema: Option<SchemaId>) -> Vec<ExecutionId> {
        let is_set = |row: &Quota| row.source.is_some();
        if !self.quotas.rows.get(name).is_some_and(is_set) || !self.quotas.uncounted.remove(name) {
            return Vec::new();
        }
        let concerns = |id: &&ExecutionId| {
            let execution = &self.rows[*id].execution;
            match name.kind() {
                QuotaKind::Key => false,
                QuotaKind::Tenant => execution.record.tenant.as_deref() == Some(name.name()),
                QuotaKind::Schema => Some(execution.head.schema_id) == schema,
            }
        };
        self.open.iter().filter(concerns).copied().collect()
    }

    fn check_counted(&mut self, id: ExecutionId, fix: bool, now: Timestamp) -> Option<Miscount> {
        let row = self.rows.get(&id)?;
        let (execution, quotas) = (&row.execution, &mut self.quotas);
        match quota::standing(&execution.head, &row.state) {
            Standing::InLine if !quotas.is_in_line(execution) => {
                if fix {
                    quotas.with_book(now, |book| book.line_up(&execution.head.quotas));
                    quotas.put_in_line(execution);
                }
                Some(Miscount::NotInLine)
            }
            Standing::Holding => {
                let names = execution.head.quotas.iter().map(|claim| claim.name.clone());
                let missing: Vec<QuotaName> = names
                    .filter(|name| !quotas.holders.contains_key(&(name.clone(), id)))
                    .collect();
                for name in missing.iter().filter(|_| fix) {
                    quotas.with_book(now, |book| book.count(name));
                    quotas.holders.insert((name.clone(), id), now);
                }
                (!missing.is_empty()).then_some(Miscount::NotHolding)
            }
            _ => None,
        }
    }

    fn recount(&mut self, fix: bool, now: Timestamp) -> Vec<Recount> {
        let quotas = &mut self.quotas;
        let wrong = |row: &Quota| {
            let (really_used, really_waiting) = quotas.count(&row.name, &self.open);
            let recount = Recount {
                name: row.name.clone(),
                used: row.used,
                really_used,
                waiting: row.waiting,
                really_waiting,
            };
            let right = (row.used, row.waiting) == (really_used, really_waiting);
            (!right).then_some(recount)
        };
        let found: Vec<Recount> = quotas.rows.values().filter_map(wrong).collect();
        for recount in found.iter().filter(|_| fix) {
            let is_stray = |name: &QuotaName, id: &ExecutionId| {
                *name == recount.name && !self.open.contains(id)
            };
            quotas.holders.retain(|(name, id), _| !is_stray(name, id));
            let mut row = quotas.rows[&recount.name].clone();
            row.used = recount.really_used;
            row.waiting = recount.really_waiting;
            row.updated_at = now;
            quotas.write(vec![row]);
        }
        found
    }
}

#[async_trait]
impl QuotaStore for ModelStore {
    async fn set_quota(&self, set: SetQuota, now: Timestamp) -> StoreResult<Quota> {
        let quotas = &mut self.lock().quotas;
        let mut row = quotas
            .rows
            .remove(&set.name)
            .unwrap_or_else(|| Quota::unset(set.name, now));
        if row.source.is_none() {
            quotas.uncounted.insert(row.name.clone());
        }
        row.set(Some((set.source, set.limit, set.rate)), now);
        quotas.write(vec![row.clone()]);
        Ok(row)
    }

    async fn remove_quota(&self, name: QuotaName, now: Timestamp) -> StoreResult<bool> {
        let quotas = &mut self.lock().quotas;
        let Some(mut row) = quotas.rows.get(&name).cloned() else {
            return Ok(false);
        };
        let was_set = row.source.is_some();
        row.set(None, now);
        quotas.write(vec![row]);
        Ok(was_set)
    }

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

    async fn admit(&self, now: Timestamp, max: u32) -> StoreResult<Admitted> {
        Ok(self.lock().admit(now, max))
    }

    async fn place_in_line(&self, id: ExecutionId) -> StoreResult<Option<PlaceInLine>> {
        let tables = self.lock();
        let Some(row) = tables.row(id) else {
            return Ok(None);
        };
        let (execution, quotas) = (&row.execution, &tables.quotas);
        let lane = Lane::of(execution.head.priority, &execution.head.quotas);
        let line = quotas.lanes.get(&lane);
        let line = line.filter(|line| line.ids.contains(&id));
        Ok(line.map(|line| PlaceInLine {
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

    async fn count_rest(&self, name: QuotaName, now: Timestamp) -> StoreResult<u64> {
        let schema = self.schema(name.name()).await?;
        let mut tables = self.lock();
        let ids = tables.take_uncounted(&name, schema.map(|schema| schema.id));
        let counted = ids
            .into_iter()
            .filter(|id| tables.count_in(&name, *id, now));
        Ok(counted.count() as u64)
    }

    async fn count_in(
        &self,
        name: QuotaName,
        ids: Vec<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<u64> {
        let mut tables = self.lock();
        let counted = ids
            .into_iter()
            .filter(|id| tables.count_in(&name, *id, now));
        Ok(counted.count() as u64)
    }

    async fn check_counted(
        &self,
        ids: Vec<ExecutionId>,
        fix: bool,
        now: Timestamp,
    ) -> StoreResult<Vec<(ExecutionId, Miscount)>> {
        let mut tables = self.lock();
        let check = |id: ExecutionId| Some((id, tables.check_counted(id, fix, now)?));
        Ok(ids.into_iter().filter_map(check).collect())
    }

    async fn recount(&self, fix: bool, now: Timestamp) -> StoreResult<Vec<Recount>> {
        Ok(self.lock().recount(fix, now))
    }
}
