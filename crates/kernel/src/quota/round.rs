//! Who goes next. A round holds all executions that could be admitted now, as one transaction loaded them.
//!
//! Lanes with the same priority and the same schema and tenant quotas form a [`Group`]; there are few of those,
//! however many keys and executions wait. So a store reads all groups, but of each only as many lanes as there is
//! room for: the cost of an admission does not grow with the line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::name::{QuotaKind, QuotaName};
use super::row::Quota;
use super::usage::QuotaUse;
use crate::execution::PriorityClass;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    pub priority: PriorityClass,
    /// The schema and tenant quotas of every execution in it, in the order of their names.
    pub wide: Arc<[QuotaName]>,
}

impl Group {
    /// The column `admission_groups.quotas`: a JSON list.
    pub fn column(&self) -> String {
        let names: Vec<&str> = self.wide.iter().map(QuotaName::as_str).collect();
        serde_json::json!(names).to_string()
    }

    pub fn names_of_column(text: &str) -> Result<Arc<[QuotaName]>, String> {
        let names: Vec<String> = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let names = names.iter().map(|name| name.parse());
        names.collect::<Result<_, _>>().map_err(|e| format!("{e}"))
    }

    /// How many of its lanes to look at, so that none that could go is missed: one more than there is room for, which
    /// tells that not all can go.
    pub fn lanes_to_look_at(
        &self,
        quotas: &BTreeMap<QuotaName, Quota>,
        now: Timestamp,
        max: u32,
    ) -> u32 {
        let room = self
            .wide
            .iter()
            .filter_map(|name| quotas.get(name))
            .map(|quota| quota.room(now))
            .min()
            .unwrap_or(u64::MAX);
        match u32::try_from(room) {
            Ok(0) => 0,
            Ok(room) => room.min(max) + 1,
            Err(_) => max + 1,
        }
    }
}

/// Which lane: of one group and one concurrency key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaneId {
    pub group: Group,
    pub key: Option<QuotaName>,
}

impl LaneId {
    /// Where an execution with these claims stands. A second key, should there ever be one, counts as a wide quota.
    pub fn of(priority: PriorityClass, claims: &[QuotaUse]) -> Self {
        let names = || claims.iter().map(|claim| &claim.name);
        let key = names().find(|name| name.kind() == QuotaKind::Key).cloned();
        let mut wide: Vec<QuotaName> = names()
            .filter(|name| Some(*name) != key.as_ref())
            .cloned()
            .collect();
        wide.sort();
        let wide = wide.into();
        let group = Group { priority, wide };
        Self { group, key }
    }

    /// All that executions in it count against.
    pub fn quotas(&self) -> impl Iterator<Item = &QuotaName> {
        self.group.wide.iter().chain(&self.key)
    }
}

/// Executions that differ in age only. They are admitted oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    pub group: Group,
    /// The quota of their concurrency key.
    pub key: Option<QuotaName>,
    /// Grows with every admission: the lane with the smallest was served longest ago, or came first.
    pub turn: u64,
    pub waiting: u64,
}

impl Lane {
    pub fn id(&self) -> LaneId {
        LaneId {
            group: self.group.clone(),
            key: self.key.clone(),
        }
    }

    fn quotas(&self) -> impl Iterator<Item = &QuotaName> {
        self.group.wide.iter().chain(&self.key)
    }

    fn counts_against(&self, name: &QuotaName) -> bool {
        self.quotas().any(|quota| quota == name)
    }
}

#[derive(Debug)]
pub struct AdmissionRound {
    quotas: BTreeMap<QuotaName, Quota>,
    lanes: Vec<Lane>,
    turn: u64,
    now: Timestamp,
    changed_quotas: BTreeSet<QuotaName>,
    changed_lanes: BTreeSet<usize>,
}

/// What is to be written once all executions were admitted that could be.
#[derive(Debug)]
pub struct RoundOutcome {
    pub quotas: Vec<Quota>,
    /// Those with no execution left in them are to be deleted.
    pub lanes: Vec<Lane>,
    pub turn: u64,
}

impl AdmissionRound {
    /// `quotas`: all that the lanes count against. `turn`: of the last admission.
    pub fn new(
        quotas: BTreeMap<QuotaName, Quota>,
        mut lanes: Vec<Lane>,
        turn: u64,
        now: Timestamp,
    ) -> Self {
        // Ties in the same order on every store.
        lanes.sort_by(|one, other| {
            let key = |lane: &Lane| (lane.turn, lane.group.priority);
            (key(one), &one.group.wide, &one.key).cmp(&(key(other), &other.group.wide, &other.key))
        });
        Self {
            quotas,
            lanes,
            turn,
            now,
            changed_quotas: BTreeSet::new(),
            changed_lanes: BTreeSet::new(),
        }
    }

    /// The lane whose oldest goes next.
    ///
    /// Of all who could go, the one that waited longest for its turn names the quota to be decided about: its widest
    /// one that has not room for all of them. The class is chosen by the turns of that quota, so that every quota keeps
    /// the weights for itself; the lane of that class by who was served longest ago.
    pub fn next(&self) -> Option<usize> {
        let able: Vec<usize> = (0..self.lanes.len())
            .filter(|lane| self.can_go(*lane))
            .collect();
        let first = *able.iter().min_by_key(|lane| self.lanes[**lane].turn)?;
        let Some(quota) = self.decided_by(first, &able) else {
            return Some(first);
        };
        let rivals = able
            .iter()
            .copied()
            .filter(|lane| self.lanes[*lane].counts_against(&quota.name));
        rivals.min_by_key(|lane| {
            let Lane { group, turn, .. } = &self.lanes[*lane];
            (quota.shares.due(group.priority), group.priority, *turn)
        })
    }

    fn can_go(&self, lane: usize) -> bool {
        let lane = &self.lanes[lane];
        lane.waiting > 0 && lane.quotas().all(|name| self.room(name) > 0)
    }

    fn room(&self, name: &QuotaName) -> u64 {
        let quota = self.quotas.get(name);
        quota.map_or(u64::MAX, |quota| quota.room(self.now))
    }

    fn decided_by(&self, lane: usize, able: &[usize]) -> Option<&Quota> {
        let lane = &self.lanes[lane];
        let scarce = |name: &&QuotaName| self.demand(name, able) > self.room(name);
        let decisive = lane.group.wide.iter().find(scarce).or(lane.key.as_ref());
        self.quotas.get(decisive?)
    }

    /// How many could go if this quota had room without end.
    fn demand(&self, name: &QuotaName, able: &[usize]) -> u64 {
        let lanes = able.iter().map(|lane| &self.lanes[*lane]);
        let of_lane = |lane: &Lane| {
            let room = lane.key.as_ref().map_or(u64::MAX, |key| self.room(key));
            lane.waiting.min(room)
        };
        let rivals = lanes.filter(|lane| lane.counts_against(name)).map(of_lane);
        rivals.fold(0, u64::saturating_add)
    }

    pub fn lane(&self, lane: usize) -> &Lane {
        &self.lanes[lane]
    }

    /// The oldest of this lane was admitted.
    pub fn admit(&mut self, lane: usize) {
        self.turn += 1;
        let Lane { group, key, .. } = self.lanes[lane].clone();
        for name in group.wide.iter().chain(&key) {
            if let Some(quota) = self.quotas.get_mut(name) {
                quota.admit(group.priority, self.now);
                quota.waiting = quota.waiting.saturating_sub(1);
                quota.updated_at = self.now;
                self.changed_quotas.insert(name.clone());
            }
        }
        let lane_row = &mut self.lanes[lane];
        lane_row.turn = self.turn;
        lane_row.waiting -= 1;
        self.changed_lanes.insert(lane);
    }

    /// The oldest of this lane does not stand there any more: a row that should not be.
    pub fn forget(&mut self, lane: usize) {
        let Lane { group, key, .. } = self.lanes[lane].clone();
        for name in group.wide.iter().chain(&key) {
            if let Some(quota) = self.quotas.get_mut(name) {
                quota.waiting = quota.waiting.saturating_sub(1);
                self.changed_quotas.insert(name.clone());
            }
        }
        self.lanes[lane].waiting -= 1;
        self.changed_lanes.insert(lane);
    }

    /// No other execution of this lane can come in now, whatever was read before.
    pub fn close_lane(&mut self, lane: usize) {
        self.lanes[lane].waiting = 0;
    }

    pub fn close(self) -> RoundOutcome {
        let Self {
            quotas,
            lanes,
            turn,
            changed_quotas,
            changed_lanes,
            ..
        } = self;
        let changed = |(index, lane)| changed_lanes.contains(&index).then_some(lane);
        RoundOutcome {
            lanes: lanes.into_iter().enumerate().filter_map(changed).collect(),
            quotas: quotas
                .into_values()
                .filter(|quota| changed_quotas.contains(&quota.name))
                .collect(),
            turn,
        }
    }
}

/// When a rate will let an execution of these groups in, if nothing else keeps it.
pub fn next_by_rate(
    groups: &[Group],
    quotas: &BTreeMap<QuotaName, Quota>,
    now: Timestamp,
) -> Option<Timestamp> {
    let opens = |group: &Group| {
        let rows = group.wide.iter().filter_map(|name| quotas.get(name));
        // `None` as soon as one of them is full: its next end brings the scheduler back.
        rows.map(|quota| quota.opens_at(now))
            .try_fold(now, |latest, at| Some(latest.max(at?)))
    };
    groups.iter().filter_map(opens).filter(|at| *at > now).min()
}

#[cfg(test)]
impl AdmissionRound {
    /// An execution of this lane ends.
    pub(super) fn give_back(&mut self, lane: usize) {
        let Lane { group, key, .. } = self.lanes[lane].clone();
        for name in group.wide.iter().chain(&key) {
            if let Some(quota) = self.quotas.get_mut(name) {
                quota.used = quota.used.saturating_sub(1);
            }
        }
    }
}
