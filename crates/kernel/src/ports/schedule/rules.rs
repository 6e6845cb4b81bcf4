//! What every store does alike around [`crate::schedule`]: which of its verbs to ask, and how rows are kept as texts.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{ActionCommand, ActionError, ActionFilter, DuePlace, RecordRequest};
use crate::ports::store::{DueTimer, TimerKind};
use crate::schedule::{
    AttemptEnd, AttemptOutcome, Exists, Failure, Meta, Override, PastAttempt, Put, ScheduledAction,
    Spec, Status, pause, pause_with_schema, put, resume, run_now,
};
use crate::time::Timestamp;

/// How many attempts of each action the history keeps.
pub const ATTEMPTS_KEPT: u32 = 100;

/// How many attempts may come between two looks at what is to be forgotten.
const FORGET_EVERY: u64 = 16;

/// Whether older attempts are to be forgotten after this one. Not after each: finding them means reading all that are
/// kept. After the first of a generation always, as there may never be a second.
pub fn is_time_to_forget(ordinal: u64) -> bool {
    ordinal % FORGET_EVERY == 1
}

/// What a write by a user comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionWrite {
    /// Write the row and, if it is due some time, a row in the incoming queue.
    New(ScheduledAction),
    /// There is nothing to write: it was asked for before, or it is so already.
    Same(ScheduledAction),
}

/// Whether there was an action of this id before a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutEffect {
    Created,
    Replaced,
}

pub fn decide_put(
    existing: Option<&ScheduledAction>,
    request: Put,
    now: Timestamp,
) -> Result<(ActionWrite, PutEffect), Exists> {
    let effect = match (existing, request.mode) {
        // The same write again, if it was one that only creates. What stood there before another one is not known any
        // more: it counts as a replacement.
        (None, _) | (Some(_), Override::None) => PutEffect::Created,
        (Some(_), Override::MetaAndSpecOnly | Override::All) => PutEffect::Replaced,
    };
    let written = match existing.filter(|row| row.guid == request.guid) {
        Some(row) => ActionWrite::Same(row.clone()),
        None => ActionWrite::New(put(existing, request, now)?),
    };
    Ok((written, effect))
}

pub fn decide_command(
    row: Option<&ScheduledAction>,
    command: ActionCommand,
    guid: Uuid,
    now: Timestamp,
) -> Result<ActionWrite, ActionError> {
    let row = row.ok_or(ActionError::NotFound)?;
    if row.guid == guid {
        return Ok(ActionWrite::Same(row.clone()));
    }
    let next = match command {
        ActionCommand::Pause => pause(row, guid, now)?,
        ActionCommand::PauseWithSchema => pause_with_schema(row, guid, now)?,
        ActionCommand::Resume => Some(resume(row, guid, now)?),
        ActionCommand::RunNow => Some(run_now(row, guid, now)?),
    };
    Ok(next.map_or_else(|| ActionWrite::Same(row.clone()), ActionWrite::New))
}

impl DueTimer {
    /// Those actions of a list that are due, in shards that pass, each id and guid once: the rest is seen at the next look.
    pub fn actions_once(
        timers: Vec<Self>,
        owned: impl Fn(u32) -> bool,
        now: Timestamp,
    ) -> Vec<Self> {
        let mut seen = HashSet::new();
        let mut due = timers;
        due.retain(|timer| {
            timer.is_ready(TimerKind::Action, &owned, now)
                && seen.insert((timer.action_id.clone(), timer.guid))
        });
        due
    }
}

impl RecordRequest {
    /// For the history, where the action has gone on without this attempt.
    pub fn past(&self, now: Timestamp) -> Option<PastAttempt> {
        let ended = match &self.outcome {
            AttemptOutcome::Success => AttemptEnd::Success,
            AttemptOutcome::Failed(failure) => AttemptEnd::Failed(failure.clone()),
            AttemptOutcome::NotMade => return None,
        };
        Some(PastAttempt {
            attempt: self.attempt.clone(),
            finished_at: now,
            ended,
        })
    }
}

impl ActionFilter {
    /// Ids are listed from the first of these, included, to the second, excluded. One bound on each side: of two a
    /// database may choose the one that excludes nothing.
    pub fn range(&self, after: Option<&str>) -> (String, String) {
        let prefix = self.prefix.clone().unwrap_or_default();
        // No id begins with the last character there is.
        let end = successor(&prefix).unwrap_or_else(|| char::MAX.to_string());
        // And none holds the first.
        let next = after.map(|after| format!("{after}\u{1}"));
        (next.unwrap_or_default().max(prefix), end)
    }

    pub fn matches(&self, row: &ScheduledAction) -> bool {
        let prefix = self.prefix.as_deref().unwrap_or_default();
        row.id.starts_with(prefix) && self.finished.is_none_or(|f| f == row.status.is_finished())
    }
}

impl DuePlace {
    pub fn of(action: &ScheduledAction) -> Self {
        Self {
            due: action.due_at(),
            id: action.id.clone(),
        }
    }

    fn key(&self) -> (bool, Option<Timestamp>, &str) {
        (self.due.is_none(), self.due, &self.id)
    }
}

impl Ord for DuePlace {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for DuePlace {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The first text after all that begin with this one.
fn successor(prefix: &str) -> Option<String> {
    let mut rest = prefix.to_owned();
    while let Some(last) = rest.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            rest.push(next);
            return Some(rest);
        }
    }
    None
}

impl ScheduledAction {
    /// From its columns.
    pub fn from_stored(
        id: String,
        guid: Uuid,
        meta: &str,
        spec: &str,
        status: &str,
    ) -> Result<Self, String> {
        let said = |column: &'static str| {
            let id = id.clone();
            move |problem: String| format!("the {column} of the action `{id}`: {problem}")
        };
        Ok(Self {
            meta: Meta::from_stored(meta).map_err(said("meta"))?,
            spec: Spec::from_stored(spec).map_err(said("spec"))?,
            status: Status::from_stored(status).map_err(said("status"))?,
            guid,
            id,
        })
    }
}

impl Meta {
    /// The column `meta`.
    pub fn to_stored(&self) -> String {
        json!({
            "created_at": self.created_at.to_string(),
            "updated_at": self.updated_at.to_string(),
            "written_by": self.written_by,
            "user": self.user,
            "notes": self.notes,
        })
        .to_string()
    }

    pub fn from_stored(text: &str) -> Result<Self, String> {
        let mut fields: Map<String, Value> =
            serde_json::from_str(text).map_err(|e| e.to_string())?;
        let time = |name: &str| {
            let text = fields.get(name).and_then(Value::as_str);
            let time = text.and_then(Timestamp::parse);
            time.ok_or_else(|| format!("`{name}` is no time"))
        };
        let (created_at, updated_at) = (time("created_at")?, time("updated_at")?);
        let written_by = fields.get("written_by").and_then(Value::as_str);
        let written_by = written_by.unwrap_or_default().to_owned();
        let notes = match fields.remove("notes") {
            Some(Value::Object(notes)) => notes,
            _ => Map::new(),
        };
        Ok(Self {
            created_at,
            updated_at,
            written_by,
            user: fields.remove("user").filter(|user| !user.is_null()),
            notes,
        })
    }
}

impl AttemptEnd {
    /// The column `error`.
    pub fn error_to_stored(&self) -> Option<String> {
        match self {
            // Texts only: this cannot fail.
            Self::Failed(failure) => serde_json::to_string(failure).ok(),
            Self::Success | Self::Interrupted => None,
        }
    }

    /// From the columns `status` and `error`.
    pub fn from_stored(status: &str, error: Option<&str>) -> Result<Self, String> {
        match status {
            "success" => Ok(Self::Success),
            "interrupted" => Ok(Self::Interrupted),
            "failed" => {
                let failure: Result<Failure, _> = serde_json::from_str(error.unwrap_or("null"));
                failure.map(Self::Failed).map_err(|e| e.to_string())
            }
            other => Err(format!("`{other}` is no end of an attempt")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_range() {
        let range = |prefix: &str| {
            let filter = ActionFilter {
                prefix: Some(prefix.into()),
                ..ActionFilter::default()
            };
            filter.range(None)
        };
        assert_eq!(range("ab"), ("ab".into(), "ac".into()));
        assert_eq!(range("\u{d7ff}"), ("\u{d7ff}".into(), "\u{e000}".into()));
        let last = char::MAX;
        assert_eq!(range(&format!("a{last}")).1, "b");
        assert_eq!(range(""), (String::new(), last.to_string()));
        let all = ActionFilter::default();
        let (from, _) = all.range(Some("a"));
        assert!("a" < from.as_str() && from.as_str() < "a-" && from.as_str() < "a.");
    }

    #[test]
    fn meta_comes_back() {
        for user in [None, Some(json!({"id": 7, "name": "\u{0}ü"}))] {
            let meta = Meta {
                created_at: Timestamp::from_micros(1_700_000_000_000_001),
                updated_at: Timestamp::from_micros(1_700_000_000_000_002),
                written_by: "user:1".into(),
                user,
                notes: Map::from_iter([("a".to_owned(), json!({"b": "\u{0}"}))]),
            };
            assert_eq!(Meta::from_stored(&meta.to_stored()), Ok(meta));
        }
    }

    #[test]
    fn ends_come_back() {
        for ended in [
            AttemptEnd::Success,
            AttemptEnd::Interrupted,
            AttemptEnd::Failed(Failure::new("X", "it broke")),
        ] {
            let error = ended.error_to_stored();
            assert_eq!(
                AttemptEnd::from_stored(ended.name(), error.as_deref()),
                Ok(ended)
            );
        }
    }
}
