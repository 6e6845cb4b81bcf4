//! Every metric of the engine. Names are a contract: dashboards and alarms of other people depend on them.

use super::describe::{BATCH, DELAY, Description, LIFE_TIME, STEPS, WORK_TIME};

/// In the order of the documentation.
pub static ALL: &[&Description] = &[
    &EXECUTIONS_STARTED,
    &EXECUTIONS_ENDED,
    &EXECUTION_DURATION,
    &STEPS_COMMITTED,
    &NODE_DURATION,
    &NODE_ERRORS,
    &NODE_RETRIES,
    &EFFECTS_INTERRUPTED,
    &COMMIT_DURATION,
    &COMMIT_STEPS,
    &COMMITS_REFUSED,
    &COMMITS_UNKNOWN,
    &COMMIT_RETRIES,
    &STORE_BATCH_JOBS,
    &MESSAGES_RECEIVED,
    &MESSAGE_AGE,
    &MESSAGES_SKIPPED,
    &MESSAGES_PUBLISHED,
    &PUBLISH_FAILURES,
    &ANSWERS_LOST,
    &QUEUE_DEPTH,
    &BROKER_UP,
    &WORKERS,
    &WORKER_SLOTS,
    &WORKER_SLOTS_BUSY,
    &HEARTBEATS,
    &HEARTBEAT_FAILURES,
    &LEASES_LOST,
    &LEASES_REAPED,
    &RECOVERIES,
    &SUSPECTS,
    &MESSAGES_SWEPT,
    &TIMERS_FIRED,
    &TIMER_LATENESS,
    &TIMER_SHARDS_HELD,
    &TIMER_SHARD_OWNED,
    &TIMERS_DUE,
    &ACTION_ATTEMPTS,
    &SCHEDULER_LINED_UP,
    &SCHEDULER_ADMITTED,
    &SCHEDULER_WAITING,
    &SERVICE_LAST_TICK,
];

pub static EXECUTIONS_STARTED: Description = Description::counter(
    "pawl_executions_started_total",
    "Executions created by this process, retries and forks included.",
);
pub static EXECUTIONS_ENDED: Description = Description::counter(
    "pawl_executions_ended_total",
    "Executions that this process saw to their end, by the status they ended with.",
)
.by(&["status"]);
pub static EXECUTION_DURATION: Description = Description::histogram(
    "pawl_execution_duration_seconds",
    &LIFE_TIME,
    "From the creation of an execution to its end, all waiting included.",
)
.by(&["status"]);
pub static STEPS_COMMITTED: Description = Description::counter(
    "pawl_steps_total",
    "Steps on disk, by how they ended: success, failed, skipped.",
)
.by(&["status"]);

pub static NODE_DURATION: Description = Description::histogram(
    "pawl_node_duration_seconds",
    &WORK_TIME,
    "One try of a node, from rendering its config to its outcome. What sleeps or waits is tried anew when it wakes; the time between is not counted.",
)
.by(&["node_type"]);
pub static NODE_ERRORS: Description = Description::counter(
    "pawl_node_errors_total",
    "Tries that failed, by error code, those that were retried included. At most 200 codes; the rest is `other`.",
)
.by(&["node_type", "code"]);
pub static NODE_RETRIES: Description = Description::counter(
    "pawl_node_retries_total",
    "Failed tries after which another one was planned.",
)
.by(&["node_type"]);
pub static EFFECTS_INTERRUPTED: Description = Description::counter(
    "pawl_effects_interrupted_total",
    "Effects that a crash cut off: they may have happened, and run again under the same key or fail, as the node says.",
);

pub static COMMIT_DURATION: Description = Description::histogram(
    "pawl_commit_duration_seconds",
    &WORK_TIME,
    "From handing a transition to the store until it was on disk, tries in vain included.",
);
pub static COMMIT_STEPS: Description = Description::histogram(
    "pawl_commit_steps",
    &STEPS,
    "Steps in one committed transition.",
);
pub static COMMITS_REFUSED: Description = Description::counter(
    "pawl_commits_refused_total",
    "Transitions that the store did not take: `fenced`, the lease was lost; `inbox`, a signal came in between; `rejected`, it can never be stored.",
)
.by(&["reason"]);
pub static COMMITS_UNKNOWN: Description = Description::counter(
    "pawl_commits_unknown_total",
    "Commits whose answer never came, by what a look found: `committed`, `absent` (sent again), `lost` (nothing more may be said).",
)
.by(&["found"]);
pub static COMMIT_RETRIES: Description = Description::counter(
    "pawl_commit_retries_total",
    "Times that a transition was sent again because the store could not be reached.",
);
pub static STORE_BATCH_JOBS: Description = Description::histogram(
    "pawl_store_batch_jobs",
    &BATCH,
    "Writes that shared one transaction of the store (group commit).",
);

pub static MESSAGES_RECEIVED: Description = Description::counter(
    "pawl_messages_received_total",
    "Messages taken from the queue.",
);
pub static MESSAGE_AGE: Description = Description::histogram(
    "pawl_message_age_seconds",
    &DELAY,
    "How long a message had waited in the queue when it was received: the lag.",
);
pub static MESSAGES_SKIPPED: Description = Description::counter(
    "pawl_messages_skipped_total",
    "Messages that led to nothing: `duplicate`, `leased`, `ended`, `waiting`, `held`, `unknown` (no such execution), `busy` (its row was locked for long). A few are normal.",
)
.by(&["reason"]);
pub static MESSAGES_PUBLISHED: Description = Description::counter(
    "pawl_messages_published_total",
    "Messages that the queue took responsibility for.",
);
pub static PUBLISH_FAILURES: Description = Description::counter(
    "pawl_publish_failures_total",
    "Messages that could not be published and are left to the sweeper: `full`, `unavailable`, `closed`.",
)
.by(&["reason"]);
pub static ANSWERS_LOST: Description = Description::counter(
    "pawl_answers_lost_total",
    "Answers to starts by message that could not be delivered to the queue in `reply_to`. The executions were started or refused all the same.",
);
pub static QUEUE_DEPTH: Description = Description::gauge(
    "pawl_queue_depth",
    "Messages that wait in the queue, by priority class.",
)
.by(&["class"]);
pub static BROKER_UP: Description = Description::gauge(
    "pawl_broker_up",
    "1 if the queue answered when it was last used, else 0.",
);

pub static WORKERS: Description = Description::gauge(
    "pawl_workers",
    "Workers of this process that run executions; the sum over all processes is the cluster.",
);
pub static WORKER_SLOTS: Description = Description::gauge(
    "pawl_worker_slots",
    "Executions that this process can run at once.",
);
pub static WORKER_SLOTS_BUSY: Description = Description::gauge(
    "pawl_worker_slots_busy",
    "Executions that this process runs now.",
);
pub static HEARTBEATS: Description = Description::counter(
    "pawl_heartbeats_total",
    "Heartbeats that renewed the leases of this process.",
);
pub static HEARTBEAT_FAILURES: Description = Description::counter(
    "pawl_heartbeat_failures_total",
    "Heartbeats that the store did not answer.",
);
pub static LEASES_LOST: Description = Description::counter(
    "pawl_leases_lost_total",
    "Passes given up because the lease was lost or the store was silent for too long.",
);
pub static LEASES_REAPED: Description = Description::counter(
    "pawl_leases_reaped_total",
    "Leases taken from workers that vanished.",
);
pub static RECOVERIES: Description = Description::counter(
    "pawl_recoveries_total",
    "Executions taken up here whose last worker died during an effect or before its first commit.",
);
pub static SUSPECTS: Description = Description::counter(
    "pawl_suspects_total",
    "Times that an execution which may have killed workers was put aside, to run one at a time.",
);
pub static MESSAGES_SWEPT: Description = Description::counter(
    "pawl_messages_swept_total",
    "Messages made anew for executions that could run and had none.",
);

pub static TIMERS_FIRED: Description =
    Description::counter("pawl_timers_fired_total", "Timers that were due and fired.");
pub static TIMER_LATENESS: Description = Description::histogram(
    "pawl_timer_lateness_seconds",
    &DELAY,
    "How long a timer was overdue when it fired.",
);
pub static TIMER_SHARDS_HELD: Description = Description::gauge(
    "pawl_timer_shards_held",
    "Shards of the timers that this process fires; over all processes the sum should be the number of shards.",
);
pub static TIMER_SHARD_OWNED: Description = Description::gauge(
    "pawl_timer_shard_owned",
    "1 if this process fires the timers of the shard, else 0.",
)
.by(&["shard"]);
pub static TIMERS_DUE: Description = Description::gauge(
    "pawl_timers_due",
    "Timers of the shard that are known to be due and have not fired, of those whose shard is held here.",
)
.by(&["shard"]);
pub static ACTION_ATTEMPTS: Description = Description::counter(
    "pawl_action_attempts_total",
    "Attempts of scheduled actions by what became of them: `success`, `failed`, `interrupted` (their outcome was never reported), `given_back` (not made), `late` (ended after they had been given up), `lost` (the shard had gone to another worker by then).",
)
.by(&["outcome"]);
pub static SCHEDULER_LINED_UP: Description = Description::counter(
    "pawl_scheduler_lined_up_total",
    "Executions created here that had to stand in line for a quota.",
);
pub static SCHEDULER_ADMITTED: Description = Description::counter(
    "pawl_scheduler_admitted_total",
    "Executions that stood in line for a quota and were let in by this process.",
);
pub static SCHEDULER_WAITING: Description = Description::gauge(
    "pawl_scheduler_waiting",
    "1 if an execution waited for a quota when the scheduler last looked, else 0.",
);
pub static SERVICE_LAST_TICK: Description = Description::gauge(
    "pawl_service_last_tick_seconds",
    "When a background service of this process last finished a tick without an error (before the first: when it started), in seconds since 1970. `stop_check` ticks only when a stop is announced, `heartbeat` only while executions are in flight; on a store of its own `admission` ticks only when executions wait for a quota.",
)
.by(&["service"]);
