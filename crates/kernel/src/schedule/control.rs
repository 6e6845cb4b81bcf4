//! What people may do to an action besides writing it. Each answer has a new guid: the store writes the row and, if it is
//! due some time, a new row in the incoming queue.

use std::time::Duration;

use uuid::Uuid;

use super::ScheduledAction;
use super::plan;
use super::status::{ActionEnding, SkipReason};
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionRefusal {
    #[error("the action is finished ({}); write it anew with override `all`", .0.name())]
    Finished(ActionEnding),
    #[error("the action is not paused")]
    NotPaused,
    #[error("the action is paused; resume it first")]
    Paused,
    #[error("an attempt is under way since {0}; wait for its end")]
    UnderWay(Timestamp),
}

/// Nothing begins any more until it is resumed; an attempt under way goes on and counts. `Ok(None)`: it is so already.
pub fn pause(
    row: &ScheduledAction,
    guid: Uuid,
    now: Timestamp,
) -> Result<Option<ScheduledAction>, ActionRefusal> {
    let mut next = changed(row, guid)?;
    if row.status.paused_at.is_some() && !row.status.paused_with_schema {
        return Ok(None);
    }
    next.status.paused_at = row.status.paused_at.or(Some(now));
    next.status.paused_with_schema = false;
    Ok(Some(next))
}

/// As [`pause`], because the schema it belongs to is inactive. One that a person has paused stays theirs.
pub fn pause_with_schema(
    row: &ScheduledAction,
    guid: Uuid,
    now: Timestamp,
) -> Result<Option<ScheduledAction>, ActionRefusal> {
    let mut next = changed(row, guid)?;
    if row.status.paused_at.is_some() {
        return Ok(None);
    }
    next.status.paused_at = Some(now);
    next.status.paused_with_schema = true;
    Ok(Some(next))
}

/// Firings whose time came during the pause are left out; an action that fires once is merely late.
pub fn resume(
    row: &ScheduledAction,
    guid: Uuid,
    now: Timestamp,
) -> Result<ScheduledAction, ActionRefusal> {
    let mut next = changed(row, guid)?;
    if next.status.paused_at.take().is_none() {
        return Err(ActionRefusal::NotPaused);
    }
    next.status.paused_with_schema = false;
    let status = &mut next.status;
    let missed = status
        .planned_at
        .filter(|at| *at <= now && !status.is_under_way() && next.spec.policy.repeat().is_some());
    if let Some(planned) = missed {
        plan::leave_out(&next.spec, status, planned, SkipReason::Paused, now);
    }
    Ok(next)
}

/// Fires now instead of waiting: the firing that is overdue or waits for its retry, else one that is planned for now. That
/// is the only one of an action that fires once; a schedule goes on as planned.
pub fn run_now(
    row: &ScheduledAction,
    guid: Uuid,
    now: Timestamp,
) -> Result<ScheduledAction, ActionRefusal> {
    let mut next = changed(row, guid)?;
    let status = &mut next.status;
    if status.paused_at.is_some() {
        return Err(ActionRefusal::Paused);
    }
    if let Some(attempt) = &status.current {
        return Err(ActionRefusal::UnderWay(attempt.started_at));
    }
    status.scheduled_at = Some(now);
    if !status.is_under_way() && status.planned_at.is_some_and(|planned| now < planned) {
        // Planned times only grow, also where the clock was set back.
        let least = status
            .last_planned_at
            .map(|last| last.plus(Duration::from_micros(1)));
        status.planned_at = least.max(Some(now));
        status.begun_at = Some(now);
    }
    Ok(next)
}

fn changed(row: &ScheduledAction, guid: Uuid) -> Result<ScheduledAction, ActionRefusal> {
    if let Some(ending) = row.status.finished {
        return Err(ActionRefusal::Finished(ending));
    }
    let mut next = row.clone();
    next.guid = guid;
    Ok(next)
}
