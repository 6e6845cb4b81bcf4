//! Scheduled actions: something that is to be done later, once or again and again, for sure. Pure, like
//! [`crate::lifecycle`]: a store loads the row, asks here and writes the answer in the same transaction.
//!
//! A *firing* is one planned time of an action; an *attempt* is one try to do it. Planned times only ever grow, and an
//! attempt is written down before it is made, so that neither a crash nor a clock that is set back does anything twice
//! without the other side being able to tell: every attempt of one firing has the same key.
//!
//! | module | what it decides |
//! |---|---|
//! | [`read`] | whether a spec on the wire is one, with every problem at once |
//! | [`spec`] | what is wanted: when, how often, what |
//! | [`headers`] | how a callback's headers name secrets |
//! | [`cron`] | which moments a cron line means in a time zone |
//! | [`calendar`] | the next planned time, what to do about missed ones, the preview |
//! | [`status`] | what has become of it so far |
//! | [`firing`] | the protocol of one firing: begin, act, record |
//! | [`mod@put`] | what a write by a user makes of an action that exists |
//! | [`control`] | pause, resume, run now |

pub mod calendar;
pub mod codes;
pub mod control;
pub mod cron;
pub mod firing;
pub mod headers;
mod plan;
pub mod put;
pub mod read;
pub mod retry;
pub mod spec;
pub mod status;

pub use control::{ActionRefusal, pause, pause_with_schema, resume, run_now};
pub use cron::Cron;
pub use firing::{
    AttemptOutcome, Begin, LateRecord, MovedAction, RecordResult, RecordedAction, Run, Ticket,
    begin, record,
};
pub use plan::Previous;
pub use put::{Exists, Override, Put, put};
pub use read::{Author, Request, check_id, read_request, read_spec};
pub use retry::Retry;
pub use spec::{Action, CatchUp, Overlap, Policy, Repeat, Spec};
pub use status::{
    ActionAttempt, ActionEnding, AttemptEnd, Failure, PastAttempt, SkipReason, SkippedFiring,
    Status,
};

use std::time::Duration;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::start_key;
use crate::time::Timestamp;

/// A row of `scheduled_actions`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduledAction {
    pub id: String,
    /// New with every write that is not a worker's: whatever the queues hold under an older one is stale.
    pub guid: Uuid,
    pub meta: Meta,
    pub spec: Spec,
    pub status: Status,
}

impl ScheduledAction {
    /// When workers are to look at it, which is what its row in a queue says. `None`: it needs none, and one that is
    /// there is stale.
    pub fn due_at(&self) -> Option<Timestamp> {
        let waits = self.status.finished_at.is_none() && self.status.paused_at.is_none();
        self.status.scheduled_at.filter(|_| waits)
    }

    /// The name that a firing has on the other side, the same for all of its attempts.
    pub fn key(&self, planned_at: Timestamp) -> String {
        format!("{}:{}:{planned_at}", self.id, self.status.generation)
    }

    /// The idempotency key of the execution that a firing starts. Ids of cron triggers begin with their prefix already.
    pub fn start_key(&self, planned_at: Timestamp) -> String {
        let key = self.key(planned_at);
        match key.starts_with(start_key::CRON) {
            true => key,
            false => format!("{}{key}", start_key::SCHEDULE),
        }
    }

    /// The keys of firings whose executions, if they still run, have a say in whether the next begins: what to look for
    /// before [`begin`].
    pub fn previous_keys(&self) -> Vec<String> {
        let Some(repeat) = self.spec.policy.repeat() else {
            return Vec::new();
        };
        let starts = matches!(self.spec.action, Action::StartExecution { .. });
        if !starts || repeat.overlap == Overlap::Allow || self.status.attempts > 0 {
            return Vec::new();
        }
        let previous = self.previous_times().into_iter();
        previous
            .map(|planned_at| self.start_key(planned_at))
            .collect()
    }

    /// The planned times of the firings before whose executions may still run: the last that succeeded, and the last that
    /// began, of which there may be no record that it did.
    pub fn previous_times(&self) -> Vec<Timestamp> {
        let status = &self.status;
        let begun = match status.attempts {
            0 => status.last_planned_at,
            _ => status.previous_planned_at,
        };
        let mut times: Vec<Timestamp> = [status.last_success_planned_at, begun]
            .into_iter()
            .flatten()
            .filter(|at| Some(*at) != status.planned_at)
            .collect();
        times.dedup();
        times
    }
}

/// What is known about an action besides what it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Who wrote it last.
    pub written_by: String,
    /// `user` of the executions it starts: who wrote it last, as they were then. `None`: that of the version it starts.
    pub user: Option<Value>,
    /// Whatever the user wants to find here again.
    pub notes: Map<String, Value>,
}

/// The settings that decisions depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleLimits {
    /// No worker looks at an action for so long after an attempt has begun, however soon the retry would be: the time
    /// after which a worker that vanished is known to have.
    pub patience: Duration,
    /// How late a firing may be that is not to be caught up with.
    pub grace: Duration,
    /// How many missed firings `catch_up: all` makes up for: the latest so many.
    pub catch_up_max: u32,
    /// How often to look whether the firing before is over, if no worker says so.
    pub look_again: Duration,
}

impl ScheduleLimits {
    /// An attempt has four fifths of the patience; the rest is for writing down its end.
    pub fn time_for(&self, action: &Action) -> Duration {
        action.timeout().unwrap_or(self.patience / 5 * 4)
    }

    pub fn patience_for(&self, action: &Action) -> Duration {
        self.patience.max(self.time_for(action) / 4 * 5)
    }
}

impl Default for ScheduleLimits {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(10),
            grace: Duration::from_secs(60),
            catch_up_max: 100,
            look_again: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
mod tests;
