//! Planned times: which come next, and which of those that were missed are made up for.

use std::time::Duration;

use super::spec::{CatchUp, Policy, Spec};
use super::status::Status;
use crate::time::Timestamp;

const TICK: Duration = Duration::from_micros(1);
/// Cron lines mean whole seconds.
const SECOND: i64 = 1_000_000;

/// The first planned time. `None`: the deadline comes before it.
pub fn first(spec: &Spec) -> Option<Timestamp> {
    match &spec.policy {
        Policy::Once { .. } => Some(spec.start_at),
        Policy::Periodic { .. } | Policy::Cron { .. } => {
            next_after(spec, spec.start_at.minus(TICK))
        }
    }
}

/// The first planned time strictly after a moment, wherever the moment came from. `None`: there is none before the
/// deadline.
pub fn next_after(spec: &Spec, after: Timestamp) -> Option<Timestamp> {
    // A line that would fire before the start does so at it at the earliest.
    let after = after.max(spec.start_at.minus(TICK));
    let next = match &spec.policy {
        Policy::Once { .. } => Some(spec.start_at).filter(|start| *start > after),
        Policy::Periodic { period, .. } => next_in_phase(spec.start_at, *period, after),
        Policy::Cron { cron, .. } => cron.next_after(after),
    };
    next.filter(|at| spec.deadline.is_none_or(|deadline| *at < deadline))
}

/// `start + n × period`: a firing that was late does not push the others.
fn next_in_phase(start: Timestamp, period: Duration, after: Timestamp) -> Option<Timestamp> {
    if after < start {
        return Some(start);
    }
    let period = i64::try_from(period.as_micros()).ok()?.max(1);
    let passed = after.as_micros().checked_sub(start.as_micros())?;
    let ahead = period - passed % period;
    after
        .as_micros()
        .checked_add(ahead)
        .map(Timestamp::from_micros)
}

/// The next planned times of an action, the soonest first: what is due or to come, without retries.
pub fn preview(spec: &Spec, status: &Status, count: usize) -> Vec<Timestamp> {
    // One that waits in line is yet to come; one that was run out of turn replaces the only one of its kind.
    let next = match (status.planned_at, spec.policy.repeat()) {
        (Some(_), None) if status.attempts > 0 => None,
        (Some(planned), Some(_)) if status.attempts > 0 => next_after(spec, planned),
        (planned, None) => return planned.into_iter().take(count).collect(),
        (planned, Some(_)) => planned,
    };
    firings(spec, next).take(count).collect()
}

/// Planned times from one of them on.
pub fn firings(spec: &Spec, from: Option<Timestamp>) -> impl Iterator<Item = Timestamp> {
    std::iter::successors(from, |at| next_after(spec, *at))
}

/// Which of the firings due by now is the one to begin, if the oldest of them is `oldest`. `None`: none of them.
pub fn pick(
    spec: &Spec,
    oldest: Timestamp,
    mode: CatchUp,
    limits: &super::ScheduleLimits,
    now: Timestamp,
) -> Option<Timestamp> {
    let several = next_after(spec, oldest).is_some_and(|next| next <= now);
    match mode {
        CatchUp::All if several => Some(among_latest(spec, oldest, limits.catch_up_max, now)),
        CatchUp::All => Some(oldest),
        CatchUp::Last => Some(latest(spec, oldest, now)),
        CatchUp::None => {
            let latest = latest(spec, oldest, now);
            (now.since(latest) <= limits.grace).then_some(latest)
        }
    }
}

/// The latest firing due by now.
fn latest(spec: &Spec, oldest: Timestamp, now: Timestamp) -> Timestamp {
    among_latest(spec, oldest, 1, now)
}

/// The oldest firing of the latest `count`. After a year's outage of something that fires every second it would take
/// too long to walk through all of them: half of the time that is left is thrown away at each look.
fn among_latest(spec: &Spec, oldest: Timestamp, count: u32, now: Timestamp) -> Timestamp {
    let count = count.max(1) as usize;
    let enough_after = |after: Timestamp| {
        let due = firings(spec, next_after(spec, after)).take_while(|at| *at <= now);
        due.take(count).count() == count
    };
    if !enough_after(oldest) {
        return oldest;
    }
    // After `low` there are enough, after `high` there are not.
    let (mut low, mut high) = (oldest.as_micros(), now.as_micros());
    while high - low > resolution(spec) {
        let middle = low + (high - low) / 2;
        if enough_after(Timestamp::from_micros(middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let low = Timestamp::from_micros(low);
    let after = firings(spec, next_after(spec, low)).take_while(|at| enough_after(*at));
    next_after(spec, after.last().unwrap_or(low)).unwrap_or(oldest)
}

/// No two firings are nearer to each other.
fn resolution(spec: &Spec) -> i64 {
    match &spec.policy {
        Policy::Periodic { period, .. } => {
            i64::try_from(period.as_micros()).unwrap_or(SECOND).max(1)
        }
        Policy::Once { .. } | Policy::Cron { .. } => SECOND,
    }
}
