//! Making executions count that do not: those that were there before a quota, and those that are counted wrongly.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;

use super::{
    HolderKey, LanePlace, QuotaRows, add_holders, enter_lanes, holders_of, leave_lanes,
    lock_ledger, names_of, write_quotas,
};
use crate::execution::{Head, Subject};
use crate::id::ExecutionId;
use crate::operations::{Operation, Subjects, Transaction};
use crate::ports::quotas::Miscount;
use crate::ports::store::StoreResult;
use crate::quota::{self, AdmissionState, QuotaName, QuotaUse};
use crate::time::Timestamp;

/// Makes these executions count against a quota.
#[derive(Clone, Debug)]
pub struct CountExecutions {
    pub name: QuotaName,
    pub ids: Vec<ExecutionId>,
    pub now: Timestamp,
}

impl CountExecutions {
    fn is_concerned(&self, head: &Head) -> bool {
        !head.status.is_terminal() && !head.quotas.iter().any(|one| one.name == self.name)
    }

    /// The execution as it will be, and where it stands then.
    fn count(&self, row: &Subject) -> (Head, AdmissionState) {
        let mut head = row.head.clone();
        head.quotas.push(QuotaUse::if_set(self.name.clone()));
        head.quotas.sort_by(|one, other| one.name.cmp(&other.name));
        let state = quota::admission_state(&head, &row.state);
        (head, state)
    }
}

#[async_trait]
impl Operation for CountExecutions {
    /// How many did not count before.
    type Answer = u64;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let found = rows.subjects(&self.ids).await?;
        let concerned = found.values().filter(|row| self.is_concerned(&row.head));
        let before: Vec<&Head> = concerned.clone().map(|row| &row.head).collect();
        let (after, states): (Vec<Head>, Vec<AdmissionState>) =
            concerned.map(|row| self.count(row)).unzip();
        if after.is_empty() {
            return Ok(0);
        }
        let needed = BTreeSet::from([self.name.clone()]);
        let mut ledger = lock_ledger(rows, &names_of(&after), &needed, self.now).await?;
        rows.set_quotas_of(&after).await?;
        let in_state = |wanted: AdmissionState| {
            let all = (0..after.len()).zip(&states);
            all.filter(move |(_, state)| **state == wanted)
                .map(|(index, _)| index)
        };
        let mut holding: Vec<HolderKey> = Vec::new();
        for index in in_state(AdmissionState::Holding) {
            ledger.count(&self.name);
            holding.push((self.name.clone(), after[index].id));
        }
        add_holders(rows, &holding, self.now).await?;
        let leaving: Vec<&Head> = in_state(AdmissionState::InLine)
            .map(|at| before[at])
            .collect();
        let coming: Vec<&Head> = in_state(AdmissionState::InLine)
            .map(|at| &after[at])
            .collect();
        leave_lanes(rows, &leaving).await?;
        for (before, after) in leaving.iter().zip(&coming) {
            ledger.leave(&before.quotas);
            ledger.line_up(&after.quotas);
        }
        enter_lanes(rows, &coming, &ledger, self.now).await?;
        write_quotas(rows, ledger.close(), self.now).await?;
        Ok(after.len() as u64)
    }
}

/// All that were there before a quota count against it.
#[derive(Clone, Debug)]
pub struct MarkCounted {
    pub name: QuotaName,
    /// Of the change that set the quota.
    pub number: i64,
}

#[async_trait]
impl Operation for MarkCounted {
    type Answer = ();

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        rows.mark_counted(&self.name, self.number).await
    }
}

/// Finds those of these executions that are counted wrongly, and fixes that if it is wanted.
#[derive(Clone, Debug)]
pub struct CheckCounts {
    pub ids: Vec<ExecutionId>,
    pub fix: bool,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for CheckCounts {
    type Answer = Vec<(ExecutionId, Miscount)>;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let found = rows.subjects(&self.ids).await?;
        let lost = lost_places(rows, &heads_in(&found, AdmissionState::InLine)).await?;
        let unknown = unknown_holders(rows, &heads_in(&found, AdmissionState::Holding)).await?;
        if self.fix && !(lost.is_empty() && unknown.is_empty()) {
            mend(rows, &lost, &unknown, self.now).await?;
        }
        let mut wrong: HashMap<ExecutionId, Miscount> = HashMap::new();
        wrong.extend(lost.iter().map(|head| (head.id, Miscount::NotInLine)));
        wrong.extend(unknown.iter().map(|(_, id)| (*id, Miscount::NotHolding)));
        let wrong = |id: &ExecutionId| Some((*id, *wrong.get(id)?));
        Ok(self.ids.iter().filter_map(wrong).collect())
    }
}

fn heads_in(found: &Subjects, wanted: AdmissionState) -> Vec<&Head> {
    let rows = found.values();
    let rows = rows.filter(|row| quota::admission_state(&row.head, &row.state) == wanted);
    rows.map(|row| &row.head).collect()
}

/// Those that wait, and stand in no lane.
async fn lost_places<'a>(
    rows: &mut dyn QuotaRows,
    waiting: &[&'a Head],
) -> StoreResult<Vec<&'a Head>> {
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<LanePlace> = waiting.iter().map(|head| LanePlace::of(head)).collect();
    let known = rows.known_in_lanes(&places).await?;
    let lost = waiting.iter().filter(|head| !known.contains(&head.id));
    Ok(lost.copied().collect())
}

/// The places that executions should hold, and do not.
async fn unknown_holders(
    rows: &mut dyn QuotaRows,
    holding: &[&Head],
) -> StoreResult<Vec<HolderKey>> {
    let mut holders = holders_of(holding.iter().copied());
    if holders.is_empty() {
        return Ok(holders);
    }
    let known = rows.known_holders(&holders).await?;
    holders.retain(|holder| !known.contains(holder));
    Ok(holders)
}

async fn mend(
    rows: &mut dyn QuotaRows,
    lost: &[&Head],
    unknown: &[HolderKey],
    now: Timestamp,
) -> StoreResult<()> {
    let mut names = names_of(lost.iter().copied());
    names.extend(unknown.iter().map(|(name, _)| name.clone()));
    let mut ledger = lock_ledger(rows, &names, &names, now).await?;
    for (name, _) in unknown {
        ledger.count(name);
    }
    add_holders(rows, unknown, now).await?;
    for head in lost {
        ledger.line_up(&head.quotas);
    }
    enter_lanes(rows, lost, &ledger, now).await?;
    write_quotas(rows, ledger.close(), now).await
}
