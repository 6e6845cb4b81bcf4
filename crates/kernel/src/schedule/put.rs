//! What a write by a user makes of an action.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::calendar;
use super::plan;
use super::spec::Spec;
use super::status::Status;
use super::{Meta, ScheduledAction};
use crate::time::Timestamp;
use crate::user::Writer;

/// What to do if there is an action of this id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Override {
    /// Refuse.
    #[default]
    None,
    /// Keep its status, and its next time unless the policy plans other times. A firing that is under way goes on with the
    /// new spec, under its old key.
    MetaAndSpecOnly,
    /// As if there were none.
    All,
}

impl Override {
    pub const CHOICES: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("meta_and_spec_only", Self::MetaAndSpecOnly),
        ("all", Self::All),
    ];

    /// What a body asks for, before the rest of it is read. [`super::read_request`] says if there is no such choice.
    pub fn of(body: &Value) -> Self {
        let name = body.get("override").and_then(Value::as_str);
        let mut choices = Self::CHOICES.iter();
        let found = choices.find(|(known, _)| Some(*known) == name);
        found.map_or(Self::None, |(_, mode)| *mode)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Put {
    pub id: String,
    pub guid: Uuid,
    pub spec: Spec,
    pub notes: Map<String, Value>,
    pub mode: Override,
    pub written_by: Writer,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is an action `{0}` already; write with override `meta_and_spec_only` to keep what has become of it, or `all` to begin anew"
)]
pub struct Exists(pub String);

/// The row to write, with a new row in the incoming queue at its `due_at`.
pub fn put(
    existing: Option<&ScheduledAction>,
    request: Put,
    now: Timestamp,
) -> Result<ScheduledAction, Exists> {
    let mut meta = Meta {
        created_at: now,
        updated_at: now,
        written_by: request.written_by.name,
        user: request.written_by.user,
        notes: request.notes,
    };
    let status = match (existing, request.mode) {
        (Some(_), Override::None) => return Err(Exists(request.id)),
        (Some(row), Override::MetaAndSpecOnly) => {
            meta.created_at = row.meta.created_at;
            kept_status(row, &request.spec, now)
        }
        (row, _) => new_status(&request.spec, row, now),
    };
    Ok(ScheduledAction {
        id: request.id,
        guid: request.guid,
        meta,
        spec: request.spec,
        status,
    })
}

/// The next time stays too, unless the new policy has other times. A firing that is under way is not lost.
fn kept_status(row: &ScheduledAction, spec: &Spec, now: Timestamp) -> Status {
    let mut status = row.status.clone();
    let same_times = row.spec.policy.has_times_of(&spec.policy);
    // What is due of a repeating action still fires; one that is to fire once from now on does so at its own time.
    let may_move = |at| at > now || spec.policy.repeat().is_none();
    let moves = !status.is_under_way() && status.planned_at.is_some_and(may_move);
    if moves && !same_times {
        let passed = status.last_planned_at.map_or(now, |last| last.max(now));
        let next = match spec.policy.repeat() {
            Some(_) => calendar::next_after(spec, passed),
            None => calendar::first(spec),
        };
        status.behind_until = None;
        plan::put_down(spec, &mut status, next, now);
    }
    status
}

fn new_status(spec: &Spec, replaced: Option<&ScheduledAction>, now: Timestamp) -> Status {
    let mut status = Status::new(generation(replaced, now));
    plan::put_down(spec, &mut status, calendar::first(spec), now);
    status
}

/// The time in microseconds: an id that was deleted and is used again must not find its old firings done.
fn generation(replaced: Option<&ScheduledAction>, now: Timestamp) -> u64 {
    let micros = u64::try_from(now.as_micros()).unwrap_or(0);
    let next = replaced.map_or(1, |row| row.status.generation.saturating_add(1));
    micros.max(next)
}
