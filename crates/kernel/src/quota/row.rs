//! One quota: its limit, who uses it, and whether the next may come in.

use super::name::QuotaName;
use super::rate::Rate;
use crate::execution::PriorityClass;
use crate::planted::{self, Bug};
use crate::time::Timestamp;

/// Who set a quota. A quota that none of them set comes from the settings of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaSource {
    Config,
    Api,
}

impl QuotaSource {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Api => "api",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Config, Self::Api]
            .into_iter()
            .find(|source| source.name() == name)
    }
}

/// A row of `quotas`. It is there as long as an operator has set it, or an execution holds a place or waits for one.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    pub name: QuotaName,
    /// What an operator set; `None` in all three if none did.
    pub source: Option<QuotaSource>,
    pub limit: Option<u32>,
    pub rate: Option<Rate>,
    /// What the settings of a schema ask for, and the version of the schema that asked last.
    pub settings_limit: Option<u32>,
    pub settings_version: u32,
    /// Executions admitted and not ended.
    pub used: u64,
    /// Executions that stand in line and would use it.
    pub waiting: u64,
    /// What the last admission left of the rate.
    pub next_at: Option<Timestamp>,
    pub shares: Shares,
    pub updated_at: Timestamp,
}

impl Quota {
    /// Neither an operator nor a schema has set it yet.
    pub fn unset(name: QuotaName, now: Timestamp) -> Self {
        Self {
            name,
            source: None,
            limit: None,
            rate: None,
            settings_limit: None,
            settings_version: 0,
            used: 0,
            waiting: 0,
            next_at: None,
            shares: Shares::default(),
            updated_at: now,
        }
    }

    /// The limit that counts: the operator's, else the schema's. `None`: it limits no execution (any more).
    pub fn limit(&self) -> Option<u32> {
        match self.source {
            Some(_) => self.limit,
            None => self.settings_limit,
        }
    }

    /// Must the row be kept?
    pub fn is_needed(&self) -> bool {
        self.source.is_some() || self.used > 0 || self.waiting > 0
    }

    /// How many more may be admitted right now.
    pub fn room(&self, now: Timestamp) -> u64 {
        let by_rate = self
            .rate
            .map_or(u64::MAX, |rate| rate.room(self.next_at, now));
        self.free().min(by_rate)
    }

    pub fn has_room(&self, now: Timestamp) -> bool {
        self.room(now) > 0
    }

    /// From when on the next may be admitted; `None`: not before an execution ends.
    pub fn opens_at(&self, now: Timestamp) -> Option<Timestamp> {
        if self.free() == 0 {
            return None;
        }
        Some(
            self.rate
                .map_or(now, |rate| rate.opens_at(self.next_at, now)),
        )
    }

    /// Places within the limit.
    fn free(&self) -> u64 {
        let too_many = u64::from(planted::has(Bug::QuotaOffByOne));
        let free = |limit| (u64::from(limit) + too_many).saturating_sub(self.used);
        self.limit().map_or(u64::MAX, free)
    }

    /// An execution of this class comes in.
    pub(super) fn admit(&mut self, class: PriorityClass, now: Timestamp) {
        self.used += 1;
        self.shares.serve(class);
        if let Some(rate) = self.rate {
            self.next_at = Some(rate.after(self.next_at, now));
        }
    }

    /// What an operator wants; `None` leaves it to the schemas again.
    pub fn set(&mut self, wish: Option<(QuotaSource, u32, Option<Rate>)>, now: Timestamp) {
        self.source = wish.map(|(source, _, _)| source);
        self.limit = wish.map(|(_, limit, _)| limit);
        let rate = wish.and_then(|(_, _, rate)| rate);
        if rate != self.rate {
            self.next_at = None;
        }
        self.rate = rate;
        self.updated_at = now;
    }

    /// What a schema asks for. The newest version that runs has its say, so that a retry of an old execution does not
    /// bring an old limit back.
    pub(super) fn learn(&mut self, limit: Option<u32>, version: u32) {
        if limit.is_some() && version >= self.settings_version {
            self.settings_limit = limit;
            self.settings_version = version;
        }
    }
}

/// How the classes take turns at one quota: 16 of high priority to 4 of normal to 1 of low, if there are as many.
/// Each class has a time at which it is due next; the earliest goes, and its next time is later by its cost. A class
/// that had no execution waiting saves nothing up: it is due now at the earliest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// The time at which the last one was served. It has nothing to do with clocks.
    pub now: i64,
    /// When each class is due next: high, normal, low.
    pub next: [i64; 3],
}

impl Shares {
    pub(super) fn due(&self, class: PriorityClass) -> i64 {
        self.next[place(class)].max(self.now)
    }

    pub(super) fn serve(&mut self, class: PriorityClass) {
        self.now = self.due(class);
        self.next[place(class)] = self.now + cost(class);
    }
}

const fn place(class: PriorityClass) -> usize {
    match class {
        PriorityClass::High => 0,
        PriorityClass::Normal => 1,
        PriorityClass::Low => 2,
    }
}

const fn cost(class: PriorityClass) -> i64 {
    match class {
        PriorityClass::High => 1,
        PriorityClass::Normal => 4,
        PriorityClass::Low => 16,
    }
}
