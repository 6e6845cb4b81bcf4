//! From one firing to the next.

use super::ScheduleLimits;
use super::calendar::{next_after, pick};
use super::spec::{CatchUp, Overlap, Spec};
use super::status::{ActionEnding, SkipReason, SkippedFiring, Status};
use crate::time::Timestamp;

/// What is known about the execution that the firing before has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previous {
    /// It has ended, or there is none.
    Over,
    Running,
}

/// What a firing does whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Go {
    Begin {
        cancel_previous: bool,
    },
    /// Nothing begins now; the status says when to look again, or that it is over.
    Later,
}

/// Puts the action down for a planned time, or finishes it if there is none any more.
pub(super) fn put_down(spec: &Spec, status: &mut Status, at: Option<Timestamp>, now: Timestamp) {
    let Some(at) = at else {
        let ending = spec
            .deadline
            .map_or(ActionEnding::Done, |_| ActionEnding::Deadline);
        return status.finish(ending, now);
    };
    status.planned_at = Some(at);
    status.scheduled_at = Some(at);
    status.begun_at = None;
    status.attempts = 0;
    status.interruptions = 0;
}

/// A firing is over: it succeeded, or no worker will try it again.
pub(super) fn over(
    spec: &Spec,
    status: &mut Status,
    success: bool,
    limits: &ScheduleLimits,
    now: Timestamp,
) {
    let Some(repeat) = spec.policy.repeat() else {
        let ending = if success {
            ActionEnding::Done
        } else {
            ActionEnding::OutOfRetries
        };
        return status.finish(ending, now);
    };
    let begun_at = status.begun_at.unwrap_or(now);
    let missed_until = status.behind_until.unwrap_or(begun_at);
    let next = next_after(spec, passed(status, None));
    put_down(spec, status, next, now);
    // Due before the backlog was met, or before this one began: missed, not met. That is decided when it begins.
    let Some(next) = next.filter(|at| missed_until < *at) else {
        return;
    };
    status.behind_until = None;
    let Some(met) = Some(next).filter(|at| *at <= now) else {
        return;
    };
    if repeat.overlap == Overlap::Skip {
        return leave_out(spec, status, met, SkipReason::Overlap, now);
    }
    // Firings that may wait in line were there in time: at least one of them stays.
    let mode = match repeat.catch_up {
        CatchUp::None => CatchUp::Last,
        mode => mode,
    };
    put_down(spec, status, pick(spec, met, mode, limits, now), now);
    status.begun_at = Some(now);
}

/// Whatever is planned for now or before does not happen.
pub(super) fn leave_out(
    spec: &Spec,
    status: &mut Status,
    from: Timestamp,
    reason: SkipReason,
    now: Timestamp,
) {
    status.last_skip = Some(SkippedFiring {
        from,
        until: now.max(from),
        reason,
    });
    let next = next_after(spec, passed(status, Some(now)));
    status.behind_until = None;
    put_down(spec, status, next, now);
}

/// No planned time up to here may begin any more, whatever the clock says.
fn passed(status: &Status, now: Option<Timestamp>) -> Timestamp {
    let known = [now, status.planned_at, status.last_planned_at];
    known.into_iter().flatten().max().unwrap_or_default()
}

/// A retry is due. Is the firing still worth one?
pub(super) fn is_given_up(spec: &Spec, status: &Status, at: Timestamp) -> bool {
    let replaced = || {
        let cancels = spec
            .policy
            .repeat()
            .is_some_and(|repeat| repeat.overlap == Overlap::CancelPrevious);
        let next = status
            .planned_at
            .filter(|_| cancels)
            .and_then(|planned| next_after(spec, planned));
        next.is_some_and(|next| next <= at)
    };
    let retry = spec.policy.retry();
    !retry.allows(status.attempts, status.interruptions) || replaced()
}

/// A new firing is due. Which, and may it begin?
pub(super) fn enter(
    spec: &Spec,
    status: &mut Status,
    previous: Previous,
    limits: &ScheduleLimits,
    now: Timestamp,
) -> Go {
    // One in line was chosen when it got there.
    if !status.is_under_way() && !choose(spec, status, limits, now) {
        return Go::Later;
    }
    let overlap = spec
        .policy
        .repeat()
        .map_or(Overlap::Allow, |repeat| repeat.overlap);
    match meet(overlap, previous) {
        Meeting::Begin { cancel_previous } => return Go::Begin { cancel_previous },
        Meeting::Skip => {
            let planned = status.planned_at.unwrap_or(now);
            leave_out(spec, status, planned, SkipReason::Overlap, now);
        }
        Meeting::Wait => {
            status.begun_at = status.begun_at.or(Some(now));
            status.scheduled_at = Some(now.plus(limits.look_again));
        }
    }
    Go::Later
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    Begin { cancel_previous: bool },
    Skip,
    Wait,
}

/// What a firing does about the one before.
pub(super) fn meet(overlap: Overlap, previous: Previous) -> Meeting {
    let begin = Meeting::Begin {
        cancel_previous: false,
    };
    match (previous, overlap) {
        (Previous::Over, _) | (Previous::Running, Overlap::Allow) => begin,
        (Previous::Running, Overlap::Skip) => Meeting::Skip,
        (Previous::Running, Overlap::Queue) => Meeting::Wait,
        (Previous::Running, Overlap::CancelPrevious) => Meeting::Begin {
            cancel_previous: true,
        },
    }
}

/// Settles on one of the firings that are due. False: none of them, and the status says when to look again.
fn choose(spec: &Spec, status: &mut Status, limits: &ScheduleLimits, now: Timestamp) -> bool {
    let Some(planned) = status.planned_at else {
        put_down(spec, status, None, now);
        return false;
    };
    // Cannot be, and must not be even if it is.
    if status.last_planned_at.is_some_and(|last| planned <= last) {
        let next = next_after(spec, passed(status, None));
        put_down(spec, status, next, now);
        return false;
    }
    let Some(repeat) = spec.policy.repeat() else {
        return true;
    };
    let Some(picked) = pick(spec, planned, repeat.catch_up, limits, now) else {
        leave_out(spec, status, planned, SkipReason::CatchUp, now);
        return false;
    };
    if picked > planned {
        status.last_skip = Some(SkippedFiring {
            from: planned,
            until: before(picked),
            reason: SkipReason::CatchUp,
        });
    }
    let is_behind = next_after(spec, picked).is_some_and(|next| next <= now);
    if is_behind && status.behind_until.is_none() {
        status.behind_until = Some(now);
    }
    put_down(spec, status, Some(picked), now);
    true
}

fn before(at: Timestamp) -> Timestamp {
    at.minus(std::time::Duration::from_micros(1))
}
