//! The protocol of one firing: [`begin`] writes down that an attempt is made and when to look again, then it is made, then
//! [`record`] writes down what came of it.
//!
//! | crash | what is found | what follows |
//! |---|---|---|
//! | before `begin` is written | a due row | nothing happened |
//! | after it, before or while or after acting | `current`, and the time to look again has come | an interrupted attempt; the next one has the same key |
//! | after `record` | the next planned time, a retry or the end | nothing is repeated |
//!
//! A write by a user gives the row another guid. If it began a new generation, an attempt still under way is none of the
//! row's business any more: its end goes to the history and nowhere else. If it kept the status, the attempt is still the
//! row's own and counts; the row then gets a guid of its own again, because its place in the queue is in a shard that the
//! recording worker may not hold.

use uuid::Uuid;

use super::plan::{self, Go, Previous};
use super::status::{ActionAttempt, ActionEnding, AttemptEnd, Failure, PastAttempt, Status};
use super::{ScheduleLimits, ScheduledAction};
use crate::planted::{self, Bug};
use crate::time::Timestamp;

/// What a worker is to do about a due row of a queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Begin {
    /// Write the row, then act, then record.
    Run(Box<Run>),
    /// Write the row; there is nothing to do now. It is put down for a later time, or finished.
    Moved(Box<MovedAction>),
    /// Nothing to write: look again then.
    NotDue { at: Timestamp },
    /// The queue's row is about something that is no more: drop it.
    Stale,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// `due_at` is the time to look again, should no worker record anything.
    pub row: ScheduledAction,
    pub attempt: ActionAttempt,
    pub ticket: Ticket,
    /// The same for every attempt of this firing.
    pub key: String,
    /// Executions that firings before have started are to be stopped first: see [`ScheduledAction::previous_times`].
    pub cancel_previous: bool,
    /// For the history.
    pub interrupted: Option<PastAttempt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MovedAction {
    pub row: ScheduledAction,
    pub interrupted: Option<PastAttempt>,
}

/// Which attempt it is that a worker wants to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub guid: Uuid,
    pub generation: u64,
    pub ordinal: u64,
}

/// `row` is the action as it is now, if there is one; `guid` is that of the queue's row.
pub fn begin(
    row: Option<&ScheduledAction>,
    guid: Uuid,
    previous: Previous,
    limits: &ScheduleLimits,
    now: Timestamp,
) -> Begin {
    let Some((row, due_at)) = row
        .filter(|row| row.guid == guid)
        .and_then(|row| Some((row, row.due_at()?)))
    else {
        return Begin::Stale;
    };
    if now < due_at {
        return Begin::NotDue { at: due_at };
    }
    let mut row = row.clone();
    let interrupted = match planted::has(Bug::ActionInterruptionForgotten) {
        true => None,
        false => row.status.end(AttemptEnd::Interrupted, now),
    };
    row.status.interruptions += u32::from(interrupted.is_some());
    match decide(&mut row, previous, limits, now) {
        Go::Begin { cancel_previous } => run(row, cancel_previous, interrupted, limits, now),
        Go::Later => Begin::Moved(Box::new(MovedAction { row, interrupted })),
    }
}

fn decide(
    row: &mut ScheduledAction,
    previous: Previous,
    limits: &ScheduleLimits,
    now: Timestamp,
) -> Go {
    let (spec, status) = (&row.spec, &mut row.status);
    if spec.deadline.is_some_and(|deadline| deadline <= now) {
        status.finish(ActionEnding::Deadline, now);
        return Go::Later;
    }
    if status.attempts > 0 {
        if !plan::is_given_up(spec, status, now) {
            return Go::Begin {
                cancel_previous: false,
            };
        }
        plan::over(spec, status, false, limits, now);
        if status.scheduled_at.is_none_or(|at| now < at) {
            return Go::Later;
        }
    }
    plan::enter(spec, status, previous, limits, now)
}

fn run(
    mut row: ScheduledAction,
    cancel_previous: bool,
    interrupted: Option<PastAttempt>,
    limits: &ScheduleLimits,
    now: Timestamp,
) -> Begin {
    let Some(planned_at) = row.status.planned_at else {
        return Begin::Moved(Box::new(MovedAction { row, interrupted }));
    };
    let delay = row.spec.policy.retry().delay(row.status.attempts);
    let patience = limits.patience_for(&row.spec.action);
    let status = &mut row.status;
    if status.attempts == 0 {
        status.previous_planned_at = status.last_planned_at;
    }
    status.attempts += 1;
    status.begun += 1;
    status.begun_at = status.begun_at.or(Some(now));
    status.last_planned_at = status.last_planned_at.max(Some(planned_at));
    status.scheduled_at = Some(now.plus(delay.max(patience)));
    let attempt = ActionAttempt {
        ordinal: status.begun,
        number: status.attempts,
        planned_at,
        started_at: now,
    };
    status.current = Some(attempt.clone());
    Begin::Run(Box::new(Run {
        ticket: Ticket {
            guid: row.guid,
            generation: row.status.generation,
            ordinal: attempt.ordinal,
        },
        key: row.key(planned_at),
        row,
        attempt,
        cancel_previous,
        interrupted,
    }))
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    Success,
    Failed(Failure),
    /// It was not made after all, for sure (the lock was lost, the worker stops): it counts for nothing.
    NotMade,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RecordResult {
    Written(Box<RecordedAction>),
    Late(LateRecord),
    /// Another transaction has the row locked: to be said again. Only stores answer this.
    Busy,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAction {
    pub row: ScheduledAction,
    /// For the history; `None` if the attempt was not made.
    pub past: Option<PastAttempt>,
    /// The row has a new guid: the queue needs a new row, as after a write by a user.
    pub requeue: bool,
}

/// Nothing to write but the history: the attempt was counted as interrupted, or belongs to a generation that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct LateRecord {
    pub ticket: Ticket,
    pub outcome: AttemptOutcome,
}

/// `fresh` is a new guid, used only if the row must be queued anew.
pub fn record(
    row: Option<&ScheduledAction>,
    ticket: &Ticket,
    outcome: AttemptOutcome,
    fresh: Uuid,
    limits: &ScheduleLimits,
    now: Timestamp,
) -> RecordResult {
    let Some(row) = row.filter(|row| is_current(&row.status, ticket)) else {
        return RecordResult::Late(LateRecord {
            ticket: ticket.clone(),
            outcome,
        });
    };
    let mut row = row.clone();
    let past = settle(&mut row, outcome, limits, now);
    let requeue = row.guid != ticket.guid;
    if requeue {
        row.guid = fresh;
    }
    RecordResult::Written(Box::new(RecordedAction { row, past, requeue }))
}

fn is_current(status: &Status, ticket: &Ticket) -> bool {
    let current = status.current.as_ref().map(|attempt| attempt.ordinal);
    let is_it = status.generation == ticket.generation && current == Some(ticket.ordinal);
    is_it || planted::has(Bug::ActionTicketIgnored)
}

fn settle(
    row: &mut ScheduledAction,
    outcome: AttemptOutcome,
    limits: &ScheduleLimits,
    now: Timestamp,
) -> Option<PastAttempt> {
    let (spec, status) = (&row.spec, &mut row.status);
    match outcome {
        AttemptOutcome::Success => {
            let past = status.end(AttemptEnd::Success, now);
            plan::over(spec, status, true, limits, now);
            past
        }
        AttemptOutcome::Failed(failure) => {
            let past = status.end(AttemptEnd::Failed(failure), now);
            retry(row, limits, now);
            past
        }
        AttemptOutcome::NotMade => {
            status.current = None;
            status.attempts = status.attempts.saturating_sub(1);
            status.scheduled_at = Some(not_early(status, now));
            None
        }
    }
}

fn retry(row: &mut ScheduledAction, limits: &ScheduleLimits, now: Timestamp) {
    let (spec, status) = (&row.spec, &mut row.status);
    let failures_before = status.attempts.saturating_sub(1);
    let at = not_early(status, now.plus(spec.policy.retry().delay(failures_before)));
    if plan::is_given_up(spec, status, at) {
        return plan::over(spec, status, false, limits, now);
    }
    if spec.deadline.is_some_and(|deadline| deadline <= at) {
        return status.finish(ActionEnding::Deadline, now);
    }
    status.scheduled_at = Some(at);
}

/// Where the clock was set back since the firing began, its planned time is to come again.
fn not_early(status: &Status, at: Timestamp) -> Timestamp {
    status.planned_at.map_or(at, |planned| at.max(planned))
}
