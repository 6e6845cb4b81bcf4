//! An action in a few words.

use serde_json::Value;

use super::super::schemas::field;
use super::super::text;

/// `every 1h`, `0 3 * * * in Europe/Berlin`.
pub(super) fn schedule(spec: &Value) -> String {
    let policy = &spec["policy"];
    if let Some(periodic) = policy.get("periodic") {
        return format!("every {}", field(periodic, "period"));
    }
    match policy.get("cron") {
        Some(cron) => format!("{} in {}", field(cron, "expr"), field(cron, "timezone")),
        None => "once".to_owned(),
    }
}

/// `start nightly-report`, `POST https://…`.
pub(super) fn what(action: &Value) -> String {
    let kind = &action["spec"]["action"];
    if let Some(call) = kind.get("http_callback") {
        return format!("{} {}", field(call, "method"), field(call, "url"));
    }
    if let Some(start) = kind.get("start_execution") {
        // A trigger knows its schema by id; people know it by its name.
        let is_trigger = field(action, "id").starts_with("cron:");
        let name = field(&action["meta"], "schema");
        return match is_trigger && !name.is_empty() {
            true => format!("start {name}"),
            false => format!("start {}", field(start, "schema")),
        };
    }
    match kind.get("rabbitmq_publish") {
        Some(publish) => {
            let (exchange, key) = (field(publish, "exchange"), field(publish, "routing_key"));
            format!("publish {exchange} {key}").replace("  ", " ")
        }
        None => kind
            .as_object()
            .and_then(|kind| kind.keys().next().cloned())
            .unwrap_or_default(),
    }
}

pub(super) fn state(action: &Value) -> String {
    let status = &action["status"];
    match field(status, "finished").as_str() {
        "" => {}
        ending => return ending.replace('_', " "),
    }
    if !status["current"].is_null() {
        return "running".into();
    }
    if !status["paused_at"].is_null() {
        return "paused".into();
    }
    match status["begun_at"].is_null() {
        true => "waiting".into(),
        // Under way without an attempt: between two of them, or behind the firing before.
        false if status["attempts"] == 0 => "in line".into(),
        false => "retrying".into(),
    }
}

/// When it is looked at next. During an attempt that is when the attempt would count as interrupted: not worth a word.
pub(super) fn next_time(action: &Value) -> String {
    match action["status"]["current"].is_null() {
        true => text::api_time(&action["scheduled_at"]),
        false => "now".into(),
    }
}

/// `next at …`, or why it does not fire.
pub(super) fn next(action: &Value) -> String {
    let at = next_time(action);
    if at == "now" {
        return "an attempt is under way".into();
    }
    match (at.is_empty(), action["status"]["paused_at"].is_null()) {
        (false, _) => format!("next at {at}"),
        (true, false) => "nothing fires until it is resumed".into(),
        (true, true) => "nothing fires any more".into(),
    }
}

/// `success in 12 ms`, `failed: CODE: message`.
pub(super) fn outcome(attempt: &Value) -> String {
    let took = text::api_duration(&attempt["started_at"], &attempt["finished_at"]);
    match attempt["outcome"].as_str().unwrap_or_default() {
        "failed" => format!("failed: {}", text::error(&attempt["error"], usize::MAX)),
        "" => String::new(),
        outcome => format!("{outcome} in {took}"),
    }
}
