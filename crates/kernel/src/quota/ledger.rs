//! The quota rows that one transaction works on, and what is done to them.

use std::collections::{BTreeMap, BTreeSet};

use super::name::QuotaName;
use super::row::Quota;
use super::usage::QuotaUse;
use crate::execution::PriorityClass;
use crate::lifecycle;
use crate::ports::store::NewExecution;
use crate::time::Timestamp;

/// Where a new execution goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionPlace {
    /// No quota concerns it.
    Free,
    /// It will stand in line when its start comes.
    Later,
    /// It was admitted at once.
    Holds,
    InLine,
}

/// Rows loaded (and, where stores need it, locked) in the order of their names.
#[derive(Debug, Default)]
pub struct QuotaLedger {
    rows: BTreeMap<QuotaName, Quota>,
    changed: BTreeSet<QuotaName>,
    now: Timestamp,
}

impl QuotaLedger {
    /// `rows`: what is stored of the quotas in question; a missing one is one that no operator has set.
    pub fn open(rows: Vec<Quota>, now: Timestamp) -> Self {
        let rows = rows.into_iter().map(|row| (row.name.clone(), row));
        Self {
            rows: rows.collect(),
            changed: BTreeSet::new(),
            now,
        }
    }

    /// Decides about an execution to be created, and makes it what it will be: its list of quotas without those that
    /// neither an operator nor a schema set, and `pending` if it has to stand in line.
    pub fn enter(&mut self, new: &mut NewExecution) -> AdmissionPlace {
        let mut claims = std::mem::take(&mut new.execution.head.quotas);
        claims.retain(|claim| claim.settings.is_some() || self.limits(&claim.name));
        claims.sort_by(|one, other| one.name.cmp(&other.name));
        claims.dedup_by(|one, other| one.name == other.name);
        let place = self.place(new, &claims);
        new.execution.head.quotas = claims;
        if place == AdmissionPlace::InLine {
            lifecycle::enqueue_for_admission(new);
        }
        place
    }

    fn place(&mut self, new: &NewExecution, claims: &[QuotaUse]) -> AdmissionPlace {
        if claims.is_empty() {
            return AdmissionPlace::Free;
        }
        if new.state.wait.is_some() {
            return AdmissionPlace::Later;
        }
        for claim in claims {
            self.learn(claim);
        }
        // Executions that wait go first, even if it is for another quota that they wait.
        let now = self.now;
        let at_once = claims.iter().all(|claim| {
            self.row(&claim.name)
                .is_some_and(|row| row.waiting == 0 && row.has_room(now))
        });
        if at_once {
            self.admit(claims, new.execution.head.priority);
            return AdmissionPlace::Holds;
        }
        self.line_up(claims);
        AdmissionPlace::InLine
    }

    /// It stands in line: its quotas have one more waiting.
    pub fn line_up(&mut self, claims: &[QuotaUse]) {
        for claim in claims {
            self.learn(claim);
            self.change(&claim.name, |row| row.waiting += 1);
        }
    }

    /// It left the line without having been admitted.
    pub fn leave(&mut self, claims: &[QuotaUse]) {
        for claim in claims {
            self.change(&claim.name, |row| {
                row.waiting = row.waiting.saturating_sub(1)
            });
        }
    }

    /// It holds a place in each of its quotas from now on.
    pub fn admit(&mut self, claims: &[QuotaUse], class: PriorityClass) {
        let now = self.now;
        for claim in claims {
            self.learn(claim);
            self.change(&claim.name, |row| row.admit(class, now));
        }
    }

    /// It counts from now on, although it was never admitted: it was there before the quota, or was miscounted.
    pub fn count(&mut self, name: &QuotaName) {
        self.change(name, |row| row.used += 1);
    }

    /// A place that it held is free again.
    pub fn release(&mut self, name: &QuotaName) {
        self.change(name, |row| row.used = row.used.saturating_sub(1));
    }

    pub fn row(&self, name: &QuotaName) -> Option<&Quota> {
        self.rows.get(name)
    }

    /// The rows to write. Those that are not [needed](Quota::is_needed) any more are to be deleted.
    pub fn close(mut self) -> Vec<Quota> {
        let changed = std::mem::take(&mut self.changed);
        let rows = changed
            .into_iter()
            .filter_map(|name| self.rows.remove(&name));
        rows.collect()
    }

    fn limits(&self, name: &QuotaName) -> bool {
        self.row(name).is_some_and(|row| row.source.is_some())
    }

    fn learn(&mut self, claim: &QuotaUse) {
        let (limit, version) = match claim.settings {
            Some((limit, version)) => (Some(limit), version),
            None => (None, 0),
        };
        self.change(&claim.name, |row| row.learn(limit, version));
    }

    fn change(&mut self, name: &QuotaName, change: impl FnOnce(&mut Quota)) {
        let now = self.now;
        let row = self
            .rows
            .entry(name.clone())
            .or_insert_with(|| Quota::unset(name.clone(), now));
        change(row);
        row.updated_at = now;
        self.changed.insert(name.clone());
    }
}
