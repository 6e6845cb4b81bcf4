//! What a sentence of an explanation says, as data: for programs that say it in another language.

use std::time::Duration;

use pawl_kernel::execution::Hold;
use pawl_kernel::ports::store::ExecutionView;
use pawl_kernel::quota::Quota;
use pawl_kernel::time::Timestamp;
use serde_json::{Map, Value, json};

use super::explain::Surroundings;
use super::line::InLine;

/// All that the sentence of this reason names, and nothing else.
pub(super) fn params(
    reason: &str,
    view: &ExecutionView,
    around: &Surroundings,
) -> Map<String, Value> {
    let state = &view.state;
    let said = match reason {
        "ended" => ended(view),
        "running" => {
            let lease = state.lease.as_ref();
            json!({
                "worker": lease.map(|lease| lease.owner.clone()),
                "left_ms": lease.map(|lease| millis(lease.until.since(around.now))),
                "stop_requested": state.control.is_some(),
                "pause_requested": state.hold == Some(Hold::Pause),
            })
        }
        "no_worker_for_type" => json!({"node_type": around.unknown_type}),
        "lease_expired" => {
            let lease = state.lease.as_ref();
            json!({
                "worker": lease.map(|lease| lease.owner.clone()),
                "at": lease.map(|lease| lease.until.to_string()),
            })
        }
        "waiting_for_worker" => {
            json!({"idle_ms": millis(around.now.since(state.updated_at))})
        }
        "sleeping" | "waiting_to_retry" | "waiting_for_event" | "scheduled" => {
            waiting(view, around)
        }
        "waiting_for_quota" => in_line(around.line.as_ref(), around.now),
        _ => Value::Null,
    };
    let mut all = as_map(said);
    if reason != "ended" {
        all.insert("node".into(), json!(&*state.position.node_id));
        all.extend(failures(view));
    }
    all.retain(|_, value| !value.is_null());
    all
}

fn as_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn ended(view: &ExecutionView) -> Value {
    let (head, record) = (&view.execution.head, &view.execution.record);
    let error = parsed(record.error.as_deref());
    json!({
        "status": head.status.name(),
        "at": head.finished_at.map(|at| at.to_string()),
        "error_code": error["code"],
        "error_message": error["message"],
        "retried_as": record.retried_as.map(|id| id.to_string()),
        "can_retry": head.can_be_retried(),
    })
}

fn parsed(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// How often the node has failed so far, and why.
fn failures(view: &ExecutionView) -> Map<String, Value> {
    let position = &view.state.position;
    if position.attempt == 0 {
        return Map::new();
    }
    let error = parsed(position.last_error.as_deref());
    as_map(json!({
        "tries": position.attempt,
        "error_code": error["code"],
        "error_message": error["message"],
    }))
}

fn waiting(view: &ExecutionView, around: &Surroundings) -> Value {
    let wait = view.state.wait.as_ref();
    let wake_at = wait.and_then(|wait| wait.wake_at);
    json!({
        "event": wait.and_then(|wait| wait.name.clone()),
        "wake_at": wake_at.map(|at| at.to_string()),
        "in_ms": wake_at.map(|at| millis(at.since(around.now))),
        "overdue": super::explain::is_overdue(wake_at, around.now),
        "timer_shard": around.timer_shard,
    })
}

fn in_line(line: Option<&InLine>, now: Timestamp) -> Value {
    let Some(line) = line else {
        return json!({"in_line": false});
    };
    let full = line.full.as_ref();
    let holder = line.holders.first();
    json!({
        "in_line": true,
        "quota": full.map(|quota| quota.name.to_string()),
        "limit": full.and_then(Quota::limit),
        "rate": full.and_then(|quota| quota.rate).map(|rate| rate.to_string()),
        "opens_at": full.and_then(|quota| quota.opens_at(now)).map(|at| at.to_string()),
        "holder": holder.map(|holder| holder.execution_id.to_string()),
        "since": holder.map(|holder| holder.since.to_string()),
        "holders": full.map(|quota| quota.used),
        "before": line.place.before,
    })
}
