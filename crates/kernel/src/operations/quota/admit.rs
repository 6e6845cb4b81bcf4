//! One look of the scheduler.
//!
//! First a plan, read without locks; then the executions of the plan are locked, then their quotas, and with what is
//! true now it is decided which of them really come in. So an execution that ends meanwhile waits for nothing in a
//! circle, and a limit is checked under the lock of its row.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use super::{HolderKey, LaneHeads, LanePlace, add_holders, holders_of, write_quotas};
use crate::execution::Subject;
use crate::id::ExecutionId;
use crate::lifecycle;
use crate::operations::{Access, FreeSubjects, Operation, Transaction};
use crate::ports::quotas::AdmissionReport;
use crate::ports::store::StoreResult;
use crate::quota::round::next_by_rate;
use crate::quota::{AdmissionRound, Group, Lane, LaneId, Quota, QuotaName};
use crate::time::Timestamp;
use crate::transition::Decision;

/// Lets in the executions that may come in, at most `max`.
#[derive(Clone, Debug)]
pub struct AdmitExecutions {
    pub now: Timestamp,
    pub max: u32,
}

/// What came of one look.
#[derive(Clone, Debug, Default)]
pub struct AdmissionLook {
    pub admitted: AdmissionReport,
    /// Places of executions that do not wait were found and dropped: the next in line may be due already.
    pub has_strays: bool,
}

#[async_trait]
impl Operation for AdmitExecutions {
    type Answer = AdmissionLook;

    fn access(&self) -> Access {
        Access::Vital
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        if !rows.lock_admission().await? {
            let admitted = AdmissionReport {
                waiting: true,
                ..AdmissionReport::default()
            };
            return Ok(AdmissionLook {
                admitted,
                has_strays: false,
            });
        }
        let line = AdmissionLine::read(rows, self.now, self.max).await?;
        let plan = line.plan(self.now, self.max);
        let mut round = AdmissionLook::default();
        if !plan.is_empty() {
            let choice = self.choose(rows, line, &plan).await?;
            round.has_strays = choice.gone.len() > choice.decisions.len();
            let dispatches = choice.decisions.iter().filter_map(Decision::dispatch);
            round.admitted.dispatches = dispatches.collect();
            self.write(rows, choice).await?;
        }
        self.look_ahead(rows, &mut round.admitted).await?;
        Ok(round)
    }
}

/// How many of each lane are to come in.
type AdmissionPlan = BTreeMap<LaneId, u64>;

/// What a plan is made from.
struct AdmissionLine {
    quotas: BTreeMap<QuotaName, Quota>,
    lanes: Vec<Lane>,
    turn: u64,
}

impl AdmissionLine {
    /// All groups and their quotas, but of each group only as many lanes as there is room for.
    async fn read(rows: &mut dyn Transaction, now: Timestamp, max: u32) -> StoreResult<Self> {
        let groups = rows.waiting_groups().await?;
        let mut quotas = rows.load_quotas(&wide_names(&groups)).await?;
        let most = groups.into_iter().map(|group| {
            let most = group.lanes_to_look_at(&quotas, now, max);
            (group, most)
        });
        let most: BTreeMap<Group, u32> = most.filter(|(_, most)| *most > 0).collect();
        let lanes = rows.open_lanes(&most, now).await?;
        let keys = lanes.iter().filter_map(|lane| lane.key.clone()).collect();
        quotas.extend(rows.load_quotas(&keys).await?);
        let turn = rows.admission_turn().await?;
        Ok(Self {
            quotas,
            lanes,
            turn,
        })
    }

    fn plan(&self, now: Timestamp, max: u32) -> AdmissionPlan {
        let mut round =
            AdmissionRound::new(self.quotas.clone(), self.lanes.clone(), self.turn, now);
        let mut plan = AdmissionPlan::new();
        for _ in 0..max {
            let Some(lane) = round.next() else { break };
            *plan.entry(round.lane(lane).id()).or_default() += 1;
            round.admit(lane);
        }
        plan
    }
}

fn wide_names(groups: &BTreeSet<Group>) -> BTreeSet<QuotaName> {
    let wide = groups.iter().flat_map(|group| group.wide.iter());
    wide.cloned().collect()
}

/// Who comes in, and what is to be written about it.
struct AdmissionChoice {
    round: AdmissionRound,
    decisions: Vec<Decision>,
    /// Those that leave their places, admitted or not.
    gone: Vec<LanePlace>,
}

/// The executions that a plan names.
struct Candidates {
    lines: LaneHeads,
    rows: FreeSubjects,
    /// Those that were neither stopped nor paused since the plan.
    in_line: BTreeSet<ExecutionId>,
}

impl AdmitExecutions {
    async fn choose(
        &self,
        rows: &mut dyn Transaction,
        line: AdmissionLine,
        plan: &AdmissionPlan,
    ) -> StoreResult<AdmissionChoice> {
        let lines = rows.first_in_lanes(plan).await?;
        let ids: Vec<ExecutionId> = lines.values().flatten().copied().collect();
        let subjects = rows.free_subjects(&ids).await?;
        let planned = line.lanes.into_iter();
        let planned: Vec<Lane> = planned
            .filter(|lane| plan.contains_key(&lane.id()))
            .collect();
        let names: BTreeSet<QuotaName> = planned
            .iter()
            .flat_map(|lane| lane.group.wide.iter().chain(&lane.key))
            .cloned()
            .collect();
        // All of them are there while an execution waits; were one missing, it would count as one without a limit.
        let locked = rows.lock_quotas(&names, &names, self.now).await?;
        let locked = locked.into_iter().map(|row| (row.name.clone(), row));
        let round = AdmissionRound::new(locked.collect(), planned, line.turn, self.now);
        let in_line = rows.known_in_lanes(&places(&lines)).await?;
        let candidates = Candidates {
            lines,
            rows: subjects,
            in_line,
        };
        Ok(self.decide(round, candidates))
    }

    fn decide(&self, mut round: AdmissionRound, candidates: Candidates) -> AdmissionChoice {
        let Candidates {
            mut lines,
            rows: mut subjects,
            in_line,
        } = candidates;
        let (mut decisions, mut gone) = (Vec::new(), Vec::new());
        while decisions.len() < self.max as usize
            && let Some(next) = round.next()
        {
            let lane = round.lane(next).id();
            // Executions that came to a lane of the plan since then wait for the next look.
            let Some(id) = lines.get_mut(&lane).and_then(|line| line.pop_front()) else {
                round.close_lane(next);
                continue;
            };
            if !in_line.contains(&id) {
                continue;
            }
            if subjects.busy.contains(&id) {
                // It is being stopped or paused, perhaps. Its turn comes with the next look.
                round.close_lane(next);
                continue;
            }
            // One that cannot be decoded goes too: at the head of its lane it would keep all others waiting. Once a version of the
            // program that can decode it looks, `doctor` finds that it waits without a place.
            gone.push(LanePlace {
                lane,
                execution_id: id,
            });
            let before = subjects.rows.remove(&id);
            match before.and_then(|before| self.admit(before)) {
                Some(decision) => {
                    round.admit(next);
                    decisions.push(decision);
                }
                None => round.forget(next),
            }
        }
        AdmissionChoice {
            round,
            decisions,
            gone,
        }
    }

    fn admit(&self, before: Subject) -> Option<Decision> {
        let change = lifecycle::admit(&before.head, &before.state, self.now)?;
        Some(Decision { before, change })
    }

    async fn write(&self, rows: &mut dyn Transaction, choice: AdmissionChoice) -> StoreResult<()> {
        if choice.gone.is_empty() {
            return Ok(());
        }
        let admitted = choice.decisions.iter().map(|one| &one.before.head);
        let holders: Vec<HolderKey> = holders_of(admitted);
        let outcome = choice.round.close();
        let lanes = outcome.lanes.iter();
        let turns = lanes.map(|lane| (lane.id(), lane.turn)).collect();
        rows.write(choice.decisions).await?;
        add_holders(rows, &holders, self.now).await?;
        rows.leave_lanes(&choice.gone, &turns).await?;
        write_quotas(rows, outcome.quotas, self.now).await?;
        rows.set_admission_turn(outcome.turn).await
    }

    /// Does any execution still wait, and when will a rate let the next one in?
    async fn look_ahead(
        &self,
        rows: &mut dyn Transaction,
        admitted: &mut AdmissionReport,
    ) -> StoreResult<()> {
        let groups = rows.waiting_groups().await?;
        let quotas = rows.load_quotas(&wide_names(&groups)).await?;
        admitted.waiting = !groups.is_empty();
        let groups: Vec<Group> = groups.into_iter().collect();
        let by_group = next_by_rate(&groups, &quotas, self.now);
        let by_key = rows.next_opening(self.now).await?;
        admitted.look_again_at = by_group.into_iter().chain(by_key).min();
        Ok(())
    }
}

fn places(lines: &LaneHeads) -> Vec<LanePlace> {
    let mut places = Vec::new();
    for (lane, ids) in lines {
        places.extend(ids.iter().map(|id| LanePlace {
            lane: lane.clone(),
            execution_id: *id,
        }));
    }
    places
}
