//! What has become of an action so far. Plain data; every decision about it is in [`super::firing`].

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The column `status`, as JSON the same as in the API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Which life of the action this is: a new one begins when it is written anew as a whole, or again after it was
    /// deleted. Grows with time, so that no two lives of one id are the same.
    pub generation: u64,
    /// When to look at it next: a planned time, a retry, or the time at which an attempt must have ended.
    #[serde(with = "optional_moment")]
    pub scheduled_at: Option<Timestamp>,
    /// The time that the coming firing, or the one under way, was planned for. No retry moves it.
    #[serde(with = "optional_moment")]
    pub planned_at: Option<Timestamp>,
    /// Since when this firing is under way: begun, or waiting for the one before. `None`: it is yet to come.
    #[serde(with = "optional_moment")]
    pub begun_at: Option<Timestamp>,
    /// Attempts begun at this firing.
    pub attempts: u32,
    /// Those of them that were interrupted. They use up no retries: no record says whether anything was tried at all.
    #[serde(default)]
    pub interruptions: u32,
    /// Firings planned up to this moment were missed; later ones met others under way, and are subject to `overlap`.
    #[serde(default, with = "optional_moment")]
    pub behind_until: Option<Timestamp>,
    /// Attempts begun in this generation. Those that are neither counted below nor `current` were given back.
    pub begun: u64,
    pub successful: u64,
    pub failed: u64,
    /// Attempts that ended without a worker recording how.
    pub interrupted: u64,
    /// Attempts failed or interrupted since the last success.
    pub consecutive_failures: u64,
    pub current: Option<ActionAttempt>,
    pub last: Option<PastAttempt>,
    /// The latest planned time that was ever begun; nothing at it or before begins again.
    #[serde(with = "optional_moment")]
    pub last_planned_at: Option<Timestamp>,
    /// The one that began before the firing under way.
    #[serde(default, with = "optional_moment")]
    pub previous_planned_at: Option<Timestamp>,
    /// The latest planned time that succeeded.
    #[serde(with = "optional_moment")]
    pub last_success_planned_at: Option<Timestamp>,
    /// The last time that firings were left out.
    pub last_skip: Option<SkippedFiring>,
    #[serde(with = "optional_moment")]
    pub paused_at: Option<Timestamp>,
    /// It was paused with the schema it belongs to, and goes on with it; a person's pause stays.
    #[serde(default)]
    pub paused_with_schema: bool,
    #[serde(with = "optional_moment")]
    pub finished_at: Option<Timestamp>,
    pub finished: Option<ActionEnding>,
}

impl Status {
    pub(super) fn new(generation: u64) -> Self {
        Self {
            generation,
            scheduled_at: None,
            planned_at: None,
            begun_at: None,
            attempts: 0,
            interruptions: 0,
            behind_until: None,
            begun: 0,
            successful: 0,
            failed: 0,
            interrupted: 0,
            consecutive_failures: 0,
            current: None,
            last: None,
            last_planned_at: None,
            previous_planned_at: None,
            last_success_planned_at: None,
            last_skip: None,
            paused_at: None,
            paused_with_schema: false,
            finished_at: None,
            finished: None,
        }
    }

    pub fn is_finished(&self) -> bool {
        self.finished_at.is_some()
    }

    /// Is there a firing that has begun and is not over? Also one that waits for its retry.
    pub fn is_under_way(&self) -> bool {
        self.begun_at.is_some()
    }

    pub(super) fn finish(&mut self, ending: ActionEnding, now: Timestamp) {
        self.scheduled_at = None;
        self.planned_at = None;
        self.begun_at = None;
        self.behind_until = None;
        self.attempts = 0;
        self.interruptions = 0;
        self.finished_at = Some(now);
        self.finished = Some(ending);
    }

    /// The attempt under way ended like this.
    pub(super) fn end(&mut self, ended: AttemptEnd, now: Timestamp) -> Option<PastAttempt> {
        let attempt = self.current.take()?;
        let past = PastAttempt {
            attempt,
            finished_at: now,
            ended,
        };
        match &past.ended {
            AttemptEnd::Success => {
                self.successful += 1;
                self.last_success_planned_at = Some(past.attempt.planned_at);
            }
            AttemptEnd::Failed(_) => self.failed += 1,
            AttemptEnd::Interrupted => self.interrupted += 1,
        }
        self.consecutive_failures = match &past.ended {
            AttemptEnd::Success => 0,
            _ => self.consecutive_failures + 1,
        };
        self.last = Some(past.clone());
        Some(past)
    }

    /// The column `status`.
    pub fn to_stored(&self) -> String {
        // Texts and numbers only: this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn from_stored(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }
}

/// One try to do what a firing is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionAttempt {
    /// Its place among all attempts of the generation, from 1; no two have the same.
    pub ordinal: u64,
    /// Its place among those of its firing, from 1.
    pub number: u32,
    #[serde(with = "moment")]
    pub planned_at: Timestamp,
    #[serde(with = "moment")]
    pub started_at: Timestamp,
}

/// An attempt that is over, as the history keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastAttempt {
    #[serde(flatten)]
    pub attempt: ActionAttempt,
    /// For an interrupted one: when that was found.
    #[serde(with = "moment")]
    pub finished_at: Timestamp,
    #[serde(flatten)]
    pub ended: AttemptEnd,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "error", rename_all = "lowercase")]
pub enum AttemptEnd {
    Success,
    Failed(Failure),
    Interrupted,
}

impl AttemptEnd {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

/// The row is read at every firing: an answer of a megabyte must not be in it.
const MESSAGE_CHARS_MAX: usize = 1_000;

impl Failure {
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if let Some((end, _)) = message.char_indices().nth(MESSAGE_CHARS_MAX) {
            message.truncate(end);
            message.push('…');
        }
        Self {
            code: code.into(),
            message,
        }
    }
}

/// Firings from one planned time to another, both included, that will not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFiring {
    #[serde(with = "moment")]
    pub from: Timestamp,
    /// The firing itself if it was one; else no firing after this moment was left out.
    #[serde(with = "moment")]
    pub until: Timestamp,
    pub reason: SkipReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// They were missed and are not caught up with.
    CatchUp,
    /// The one before was under way.
    Overlap,
    /// The action was paused.
    Paused,
}

impl SkipReason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::CatchUp => "catch_up",
            Self::Overlap => "overlap",
            Self::Paused => "paused",
        }
    }
}

/// Why an action is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionEnding {
    Done,
    OutOfRetries,
    Deadline,
}

impl ActionEnding {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::OutOfRetries => "out_of_retries",
            Self::Deadline => "deadline",
        }
    }
}

mod moment {
    use super::*;
    use serde::{Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(from)?;
        let bad = || D::Error::custom(format!("`{text}` is no time"));
        Timestamp::parse(&text).ok_or_else(bad)
    }
}

mod optional_moment {
    use super::*;
    use serde::{Deserializer, Serializer};

    #[derive(Serialize, Deserialize)]
    struct WrappedTime(#[serde(with = "moment")] Timestamp);

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(WrappedTime).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let wrapped = Option::<WrappedTime>::deserialize(from)?;
        Ok(wrapped.map(|WrappedTime(at)| at))
    }
}
