//! Scheduled actions. The kernel reads their specs and says what is wrong with them; here is what they look like.

use std::borrow::Cow;

use pawl_kernel::ports::schedule::{QueueRow, SyncMark};
use pawl_kernel::schedule::{
    self, ActionEnding, AttemptEnd, CatchUp, Overlap, Override, SkipReason, Status,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::name::AttemptOutcome;
use super::{Name, Time};

/// When, and what.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionSpec {
    /// Now if left out; not older than 10 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start_at: Option<Time>,
    /// Nothing begins after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<Time>,
    /// Exactly one of them.
    pub(crate) policy: Policy,
    /// Exactly one of them.
    pub(crate) action: ActionKind,
}

/// When it fires.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Policy {
    Once {
        #[serde(skip_serializing_if = "Option::is_none")]
        retry: Option<ActionRetry>,
    },
    Periodic {
        /// 1s or more.
        period: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        retry: Option<ActionRetry>,
        #[serde(flatten)]
        repeat: ActionRepeat,
    },
    Cron {
        /// Five fields, six with seconds first, or `@daily`.
        expr: String,
        /// UTC if left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        timezone: Option<String>,
        #[serde(flatten)]
        repeat: ActionRepeat,
        #[serde(skip_serializing_if = "Option::is_none")]
        retry: Option<ActionRetry>,
    },
}

/// What becomes of firings that meet another one, or were missed.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ActionRepeat {
    /// What a firing does whose time comes while the one before is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overlap: Option<Name<Overlap>>,
    /// What becomes of firings that were missed while no worker ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) catch_up: Option<Name<CatchUp>>,
}

/// Delay = min(`max`, `min` + `scale` × `backoff`^failures).
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionRetry {
    /// 0 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_retries: Option<u64>,
    /// A duration like `90s` or `1h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min: Option<String>,
    /// A duration like `90s` or `1h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max: Option<String>,
    /// A duration like `90s` or `1h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backoff: Option<f64>,
}

/// What it does.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ActionKind {
    HttpCallback {
        /// POST if left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        method: Option<String>,
        url: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        headers: Option<Map<String, Value>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<Value>,
        /// A duration like `90s` or `1h`.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<String>,
    },
    StartExecution {
        /// Name or id.
        schema: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
    },
    RabbitmqPublish {
        /// A connection of the configuration; the cluster's own broker if left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        connection: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        exchange: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        routing_key: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<Value>,
    },
    /// Only pretends, for tests.
    Mock {},
}

/// An action to be written, as JSON or YAML.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutAction {
    pub(crate) spec: ActionSpec,
    /// What to do if there is one of this id: refuse, keep its status and next time, or begin anew.
    #[serde(rename = "override", skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<Name<Override>>,
    /// Notes of your own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<Map<String, Value>>,
}

/// An action whose firings are asked for, as JSON or YAML.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct PreviewAction {
    pub(crate) spec: ActionSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) count: Option<u64>,
}

/// A time at which an action will fire.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Firing", inline)]
pub(crate) struct PlannedTime(pub(crate) Time);

/// A scheduled action. The server writes its spec as the kernel does.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ScheduledAction")]
pub(crate) struct ScheduledAction<'a, S = ActionSpec> {
    pub(crate) id: Cow<'a, str>,
    /// New with every write.
    pub(crate) guid: Uuid,
    pub(crate) generation: u64,
    /// Your notes, and what Pawl knows besides.
    pub(crate) meta: ActionMeta,
    pub(crate) spec: S,
    pub(crate) status: ActionStatus,
    /// When workers look at it next; null: never, as it is.
    pub(crate) scheduled_at: Option<Time>,
    pub(crate) finished_at: Option<Time>,
    #[serde(flatten)]
    pub(crate) place: Option<TimerPlace>,
}

/// Notes of the writer, and what Pawl adds to them.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ActionMeta {
    #[serde(flatten)]
    pub(crate) notes: Map<String, Value>,
    pub(crate) created_at: Time,
    pub(crate) updated_at: Time,
    pub(crate) written_by: String,
}

/// Where an action waits: the shard of the queues, its holder, and what the holders' passes have done with the row.
/// Only when one action is asked for; all null while it is in no queue.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TimerPlace {
    /// Whose queue holds it; null while it is in no queue.
    pub(crate) shard: Option<u32>,
    /// Who holds the shard: host/process and version; null: the shard is free.
    pub(crate) owner: Option<String>,
    /// New each time the shard is taken.
    pub(crate) lock_guid: Option<Uuid>,
    pub(crate) queued_at: Option<Time>,
    /// When a worker took it in.
    pub(crate) moved_at: Option<Time>,
    /// The pass of that worker.
    pub(crate) moved_by_sync: Option<Uuid>,
    /// When a worker last put it to another time.
    pub(crate) rescheduled_at: Option<Time>,
    /// The pass of that worker.
    pub(crate) rescheduled_by_sync: Option<Uuid>,
}

impl From<&QueueRow> for TimerPlace {
    fn from(row: &QueueRow) -> Self {
        let holder = row.holder.as_ref();
        let (at, sync) = (|mark: SyncMark| Time(mark.at), |mark: SyncMark| mark.sync);
        Self {
            shard: Some(row.shard_id),
            owner: holder.map(|holder| holder.owner.clone()),
            lock_guid: holder.map(|holder| holder.lock),
            queued_at: Some(Time(row.added_at)),
            moved_at: row.moved.map(at),
            moved_by_sync: row.moved.map(sync),
            rescheduled_at: row.rescheduled.map(at),
            rescheduled_by_sync: row.rescheduled.map(sync),
        }
    }
}

/// What has become of an action so far.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ActionStatus {
    /// Which life of the action this is.
    pub(crate) generation: u64,
    /// When it is looked at next.
    pub(crate) scheduled_at: Option<Time>,
    /// The time that the coming firing, or the one under way, was planned for.
    pub(crate) planned_at: Option<Time>,
    /// Since when this firing is under way.
    pub(crate) begun_at: Option<Time>,
    /// Attempts at this firing.
    pub(crate) attempts: u32,
    /// Those of them that were interrupted; they use up no retries.
    pub(crate) interruptions: u32,
    /// Firings planned up to this moment were missed.
    pub(crate) behind_until: Option<Time>,
    /// Attempts begun in this generation.
    pub(crate) begun: u64,
    pub(crate) successful: u64,
    pub(crate) failed: u64,
    /// Attempts whose end is not known.
    pub(crate) interrupted: u64,
    /// Attempts failed or interrupted since the last success.
    pub(crate) consecutive_failures: u64,
    pub(crate) current: Option<CurrentAttempt>,
    pub(crate) last: Option<Attempt>,
    /// The latest planned time that was ever begun.
    pub(crate) last_planned_at: Option<Time>,
    /// The one that began before the firing under way.
    pub(crate) previous_planned_at: Option<Time>,
    /// The latest planned time that succeeded.
    pub(crate) last_success_planned_at: Option<Time>,
    /// Firings that were left out last.
    pub(crate) last_skip: Option<SkippedFirings>,
    pub(crate) paused_at: Option<Time>,
    /// It was paused with the schema it belongs to, and goes on with it.
    pub(crate) paused_with_schema: bool,
    pub(crate) finished_at: Option<Time>,
    pub(crate) finished: Option<Name<ActionEnding>>,
}

impl From<&Status> for ActionStatus {
    fn from(status: &Status) -> Self {
        Self {
            generation: status.generation,
            scheduled_at: status.scheduled_at.map(Time),
            planned_at: status.planned_at.map(Time),
            begun_at: status.begun_at.map(Time),
            attempts: status.attempts,
            interruptions: status.interruptions,
            behind_until: status.behind_until.map(Time),
            begun: status.begun,
            successful: status.successful,
            failed: status.failed,
            interrupted: status.interrupted,
            consecutive_failures: status.consecutive_failures,
            current: status.current.as_ref().map(CurrentAttempt::from),
            last: status.last.as_ref().map(Attempt::from),
            last_planned_at: status.last_planned_at.map(Time),
            previous_planned_at: status.previous_planned_at.map(Time),
            last_success_planned_at: status.last_success_planned_at.map(Time),
            last_skip: status.last_skip.as_ref().map(SkippedFirings::from),
            paused_at: status.paused_at.map(Time),
            paused_with_schema: status.paused_with_schema,
            finished_at: status.finished_at.map(Time),
            finished: status.finished.map(|ending| Name::new(ending.name())),
        }
    }
}

/// An attempt that is under way.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct CurrentAttempt {
    /// Its place among all attempts of the generation.
    pub(crate) ordinal: u64,
    /// Its place among those of its firing.
    pub(crate) number: u32,
    pub(crate) planned_at: Time,
    pub(crate) started_at: Time,
}

impl From<&schedule::ActionAttempt> for CurrentAttempt {
    fn from(attempt: &schedule::ActionAttempt) -> Self {
        Self {
            ordinal: attempt.ordinal,
            number: attempt.number,
            planned_at: Time(attempt.planned_at),
            started_at: Time(attempt.started_at),
        }
    }
}

/// Firings that will not happen, from one planned time to another, both included.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct SkippedFirings {
    pub(crate) from: Time,
    pub(crate) until: Time,
    pub(crate) reason: Name<SkipReason>,
}

impl From<&schedule::SkippedFiring> for SkippedFirings {
    fn from(skip: &schedule::SkippedFiring) -> Self {
        Self {
            from: Time(skip.from),
            until: Time(skip.until),
            reason: Name::new(skip.reason.name()),
        }
    }
}

/// An attempt that is over.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Attempt {
    /// Its place among all attempts of the generation.
    pub(crate) ordinal: u64,
    /// Its place among those of its firing.
    pub(crate) number: u32,
    pub(crate) planned_at: Time,
    pub(crate) started_at: Time,
    pub(crate) finished_at: Time,
    pub(crate) outcome: Name<AttemptOutcome>,
    /// Of a failed one. In lists of attempts it is null for others; elsewhere it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Option<AttemptError>>,
    /// Which life of the action it belongs to; in lists of attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<u64>,
}

/// Why an attempt failed.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct AttemptError {
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Attempt {
    /// As lists of attempts show it.
    pub(crate) fn of(generation: u64, past: &schedule::PastAttempt) -> Self {
        let attempt = Self::from(past);
        Self {
            error: Some(attempt.error.flatten()),
            generation: Some(generation),
            ..attempt
        }
    }
}

impl From<&schedule::PastAttempt> for Attempt {
    fn from(past: &schedule::PastAttempt) -> Self {
        let error = match &past.ended {
            AttemptEnd::Failed(failure) => Some(AttemptError {
                code: failure.code.clone(),
                message: failure.message.clone(),
            }),
            AttemptEnd::Success | AttemptEnd::Interrupted => None,
        };
        Self {
            ordinal: past.attempt.ordinal,
            number: past.attempt.number,
            planned_at: Time(past.attempt.planned_at),
            started_at: Time(past.attempt.started_at),
            finished_at: Time(past.finished_at),
            outcome: Name::new(past.ended.name()),
            error: error.map(Some),
            generation: None,
        }
    }
}
