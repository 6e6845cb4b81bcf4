//! One sentence and the facts: why an execution is where it is, who or what holds it, until when.

use std::time::Duration;

use pawl_kernel::execution::{Hold, WaitKind};
use pawl_kernel::ports::store::ExecutionView;
use pawl_kernel::time::{Timestamp, format_duration};
use serde::Serialize;
use serde_json::{Map, Value, json};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Stable, for programs: `sleeping`, `waiting_for_event`, …
    pub reason: &'static str,
    /// For people.
    pub sentence: String,
    /// What the sentence names, as data.
    pub params: Map<String, Value>,
    pub facts: Map<String, Value>,
}

/// What the row does not tell.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub now: Timestamp,
    /// The shard whose timer row will wake it.
    pub timer_shard: Option<u32>,
    /// The type of the current node, if no worker here knows it.
    pub unknown_type: Option<String>,
    pub sweep_after: Duration,
    /// Its place in line, if it stands in one.
    pub line: Option<InLine>,
    /// No worker that runs executions has reported itself lately.
    pub nobody_runs: bool,
    /// Messages cannot be published just now.
    pub queue_down: bool,
}

pub use super::line::{InLine, line_of};
use super::params::params;

pub fn explain(view: &ExecutionView, around: &Surroundings) -> Explanation {
    let (reason, sentence) = why(view, around);
    Explanation {
        reason,
        sentence,
        params: params(reason, view, around),
        facts: facts(view, around),
    }
}

fn why(view: &ExecutionView, around: &Surroundings) -> (&'static str, String) {
    let (state, status) = (&view.state, view.execution.head.status);
    let node = &state.position.node_id;
    let now = around.now;
    if status.is_terminal() {
        return ("ended", ended(view));
    }
    if let Some(lease) = state.lease.as_ref().filter(|lease| lease.until > now) {
        let left = format_duration(round(lease.until.since(now)));
        let stop = match (state.control.is_some(), state.hold) {
            (true, _) => " It was told to stop and will at its next commit.",
            (false, Some(Hold::Pause)) => " It was told to pause and will when this node ends.",
            (false, _) => "",
        };
        let failed = failures(view).map_or_else(String::new, |failed| format!(" It {failed}."));
        let text = format!(
            "The worker {} is running node `{node}`; its lease lasts another {left}.{failed}{stop}",
            lease.owner
        );
        return ("running", text);
    }
    if state.hold != Some(Hold::Pause)
        && let Some(text) = waiting(view, around)
    {
        return text;
    }
    let (reason, mut sentence) = standing(view, around);
    if let Some(failed) = failures(view) {
        sentence.push_str(&format!(" The node {failed}."));
    }
    (reason, sentence)
}

/// It neither runs nor waits for a time or an event.
fn standing(view: &ExecutionView, around: &Surroundings) -> (&'static str, String) {
    let state = &view.state;
    let node = &state.position.node_id;
    if state.hold == Some(Hold::Pause) {
        return (
            "paused",
            format!("It was paused before node `{node}` and goes on when it is resumed."),
        );
    }
    if state.hold == Some(Hold::Debug) {
        let text = format!(
            "It is being debugged and stopped before node `{node}`; continue it with step, run or to a node."
        );
        return ("waiting_for_debugger", text);
    }
    if let Some(node_type) = &around.unknown_type {
        let text = format!("Node `{node}` is of type `{node_type}`, which no worker here knows.");
        return ("no_worker_for_type", text);
    }
    idle(view, around)
}

fn ended(view: &ExecutionView) -> String {
    let at = view
        .execution
        .head
        .finished_at
        .map(|at| format!(" at {at}"))
        .unwrap_or_default();
    let error = view
        .execution
        .record
        .error
        .as_deref()
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let why = error
        .map(|error| {
            format!(
                ": {} ({})",
                error["message"].as_str().unwrap_or("?"),
                error["code"].as_str().unwrap_or("?")
            )
        })
        .unwrap_or_default();
    let next = match view.execution.record.retried_as {
        Some(retry) => format!("It was retried as {retry}."),
        None if view.execution.head.can_be_retried() => {
            "An ended execution never changes; a retry makes a new one.".into()
        }
        None => "An ended execution never changes; a fork makes a new one.".into(),
    };
    let status = view.execution.head.status.name();
    format!("It ended as {status}{at}{why}. {next}")
}

/// How often the node has failed so far, and why.
fn failures(view: &ExecutionView) -> Option<String> {
    let position = &view.state.position;
    let times = match position.attempt {
        0 => return None,
        1 => "once".to_owned(),
        tries => format!("{tries} times"),
    };
    let error = position.last_error.as_deref();
    let error = error.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let last = error.map_or_else(String::new, |error| {
        let text = |name: &str| error[name].as_str().unwrap_or("?").to_owned();
        format!(" (last: {} {})", text("code"), text("message"))
    });
    Some(format!("failed {times}{last}"))
}

fn waiting(view: &ExecutionView, around: &Surroundings) -> Option<(&'static str, String)> {
    let wait = view.state.wait.as_ref()?;
    let node = &view.state.position.node_id;
    let wakes = wait.wake_at.map_or_else(String::new, |at| {
        format!("{at}, in {}", format_duration(round(at.since(around.now))))
    });
    let shard = around
        .timer_shard
        .map(|shard| format!(" (timer shard {shard})"))
        .unwrap_or_default();
    let late = if is_overdue(wait.wake_at, around.now) {
        " It is overdue: is a worker with the role `timers` running?"
    } else {
        ""
    };
    Some(match wait.kind {
        WaitKind::Sleep => (
            "sleeping",
            format!("It sleeps at node `{node}` until {wakes}{shard}.{late}"),
        ),
        WaitKind::Retry => {
            let failed = failures(view).unwrap_or_else(|| "failed".into());
            (
                "waiting_to_retry",
                format!("Node `{node}` {failed}; next try at {wakes}{shard}.{late}"),
            )
        }
        WaitKind::Event => {
            let name = wait.name.as_deref().unwrap_or("?");
            (
                "waiting_for_event",
                format!(
                    "It waits at node `{node}` for the event `{name}`, at most until {wakes}{shard}.{late}"
                ),
            )
        }
        WaitKind::Children => (
            "waiting_for_children",
            format!("It waits at node `{node}` for its children."),
        ),
        WaitKind::Start => (
            "scheduled",
            format!("It was created to start at {wakes}{shard}.{late}"),
        ),
        WaitKind::Admission => in_line(around),
    })
}

/// Later than timers are late by themselves.
pub(super) fn is_overdue(wake_at: Option<Timestamp>, now: Timestamp) -> bool {
    wake_at.is_some_and(|at| at.plus(Duration::from_secs(5)) < now)
}

fn in_line(around: &Surroundings) -> (&'static str, String) {
    let sentence = match &around.line {
        Some(line) => line.sentence(around.now),
        None => {
            "It should stand in line for a quota and does not; `pawl doctor --fix` puts it there."
                .to_owned()
        }
    };
    ("waiting_for_quota", sentence)
}

fn idle(view: &ExecutionView, around: &Surroundings) -> (&'static str, String) {
    let state = &view.state;
    let node = &state.position.node_id;
    if let Some(lease) = &state.lease {
        let text = format!(
            "The lease of worker {} ran out at {}; the reaper will hand node `{node}` to another worker within seconds.",
            lease.owner, lease.until
        );
        return ("lease_expired", text);
    }
    if around.queue_down {
        let text = format!(
            "It could run node `{node}`, but the broker cannot be reached or takes no messages; it goes on by itself when that is over."
        );
        return ("no_queue", text);
    }
    if around.nobody_runs {
        let text = format!(
            "It could run node `{node}`, but no worker with the role `engine` is alive; start one with `pawl worker`."
        );
        return ("no_worker", text);
    }
    let idle = around.now.since(state.updated_at);
    if idle < around.sweep_after * 2 {
        return (
            "queued",
            format!("It is ready to run node `{node}` and has a message in the queue."),
        );
    }
    let text = format!(
        "It could run node `{node}` and has waited for {}; the queue is long. The sweeper sends its message again.",
        format_duration(round(idle))
    );
    ("waiting_for_worker", text)
}

fn facts(view: &ExecutionView, around: &Surroundings) -> Map<String, Value> {
    let (execution, state) = (&view.execution, &view.state);
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let last_error = state.position.last_error.as_deref();
    let last_error = last_error.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let all = json!({
        "status": execution.head.status.name(),
        "schema": view.schema_name,
        "version": execution.head.schema_version,
        "current_node_id": &*state.position.node_id,
        "entered_at": state.position.entered_at.to_string(),
        "seq": state.seq,
        "attempt": state.position.attempt + 1,
        "last_error": last_error,
        "retry_of": execution.record.retry_of.map(|id| id.to_string()),
        "retried_as": execution.record.retried_as.map(|id| id.to_string()),
        "effect_key": state.position.effect_key,
        "interrupted": state.interrupted,
        "wait_kind": state.wait.as_ref().map(|wait| wait.kind.name()),
        "wait_name": state.wait.as_ref().and_then(|wait| wait.name.clone()),
        "wake_at": time(state.wait.as_ref().and_then(|wait| wait.wake_at)),
        "timer_shard": around.timer_shard,
        "hold": state.hold.map(Hold::name),
        "stop_requested": state.control.is_some(),
        "lease_owner": state.lease.as_ref().map(|lease| lease.owner.clone()),
        "lease_until": time(state.lease.as_ref().map(|lease| lease.until)),
        "recoveries": state.recoveries,
        "deadline_at": state.deadline_at.to_string(),
        "next_sweep_at": time(state.next_sweep_at),
        "updated_at": state.updated_at.to_string(),
    });
    let mut known = match all {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    if let Some(line) = &around.line {
        known.extend(line.facts(around.now));
    }
    known.retain(|_, value| !value.is_null());
    known
}

/// Tenths of a second are enough for people.
fn round(duration: Duration) -> Duration {
    Duration::from_millis(duration.as_millis() as u64 / 100 * 100)
}

#[cfg(test)]
mod tests {
    use pawl_kernel::execution::Lease;
    use pawl_testkit::fixture::new_execution;
    use uuid::Uuid;

    use super::*;

    fn queued() -> ExecutionView {
        let new = new_execution(1);
        ExecutionView {
            execution: new.execution,
            state: new.state,
            schema_name: "flow".into(),
        }
    }

    #[test]
    fn what_is_missing_is_named_at_once() {
        let view = queued();
        let around = |nobody_runs, queue_down| Surroundings {
            now: view.state.updated_at,
            sweep_after: Duration::from_secs(10),
            nobody_runs,
            queue_down,
            ..Surroundings::default()
        };
        for (nobody_runs, queue_down, reason) in [
            (false, false, "queued"),
            (true, false, "no_worker"),
            (false, true, "no_queue"),
            (true, true, "no_queue"),
        ] {
            let told = explain(&view, &around(nobody_runs, queue_down));
            assert_eq!(told.reason, reason, "{}", told.sentence);
        }
    }

    /// Wherever it stands between two tries, it says why the last one failed.
    #[test]
    fn the_last_error_is_told_wherever_it_stands() {
        let mut view = queued();
        let now = view.state.updated_at;
        view.state.position.attempt = 2;
        view.state.position.last_error =
            Some(json!({"code": "HTTP_STATUS", "message": "503"}).to_string());
        let told = |change: &dyn Fn(&mut ExecutionView, &mut Surroundings)| {
            let mut view = view.clone();
            let mut around = Surroundings {
                now,
                sweep_after: Duration::from_secs(10),
                ..Surroundings::default()
            };
            change(&mut view, &mut around);
            explain(&view, &around)
        };
        let lease = |until| Lease {
            owner: "w1".into(),
            token: Uuid::nil(),
            until,
        };
        let later = now.plus(Duration::from_secs(60));
        let all = [
            told(&|view, _| view.state.lease = Some(lease(later))),
            told(&|view, _| view.state.hold = Some(Hold::Pause)),
            told(&|view, _| view.state.hold = Some(Hold::Debug)),
            told(&|_, around| around.unknown_type = Some("new".into())),
            told(&|view, _| view.state.lease = Some(lease(now))),
            told(&|_, around| around.queue_down = true),
            told(&|_, around| around.nobody_runs = true),
            told(&|_, _| {}),
            told(&|_, around| around.now = later),
        ];
        for told in &all {
            let failed = "failed 2 times (last: HTTP_STATUS 503).";
            assert!(told.sentence.contains(failed), "{told:?}");
            assert_eq!(told.params["tries"], 2, "{told:?}");
            assert_eq!(told.params["error_code"], "HTTP_STATUS", "{told:?}");
            assert_eq!(told.params["node"], &*view.state.position.node_id);
        }
        assert_eq!(all[0].params["worker"], "w1");
        assert_eq!(all[0].params["left_ms"], 60_000);
        assert_eq!(all[3].params["node_type"], "new");
        assert_eq!(all[8].params["idle_ms"], 60_000);
        assert_eq!(
            all.map(|told| told.reason),
            [
                "running",
                "paused",
                "waiting_for_debugger",
                "no_worker_for_type",
                "lease_expired",
                "no_queue",
                "no_worker",
                "queued",
                "waiting_for_worker"
            ]
        );
    }
}
