//! An action in a few words.

use super::super::text;
use crate::wire::{ActionKind, ActionSpec, Attempt, Policy, ScheduledAction};

/// `every 1h`, `0 3 * * * in Europe/Berlin`.
pub(super) fn schedule(spec: &ActionSpec) -> String {
    match &spec.policy {
        Policy::Once { .. } => "once".to_owned(),
        Policy::Periodic { period, .. } => format!("every {}", text::line(period)),
        Policy::Cron { expr, timezone, .. } => {
            let (expr, zone) = (text::line(expr), text::optional(timezone.as_ref()));
            format!("{expr} in {zone}")
        }
    }
}

/// `start nightly-report`, `POST https://…`.
pub(super) fn what(action: &ScheduledAction<'_>) -> String {
    match &action.spec.action {
        ActionKind::HttpCallback { method, url, .. } => {
            format!("{} {}", text::optional(method.as_ref()), text::line(url))
        }
        ActionKind::StartExecution { schema, .. } => {
            // A trigger knows its schema by id; people know it by its name.
            let name = action.meta.notes.get("schema");
            let name = name.filter(|_| action.id.starts_with("cron:"));
            let name = name.and_then(|name| name.as_str());
            let name = name.filter(|name| !name.is_empty());
            format!("start {}", text::line(name.unwrap_or(schema)))
        }
        ActionKind::RabbitmqPublish {
            exchange,
            routing_key,
            ..
        } => {
            let exchange = text::optional(exchange.as_ref());
            let key = text::optional(routing_key.as_ref());
            format!("publish {exchange} {key}").replace("  ", " ")
        }
        ActionKind::Mock {} => "mock".to_owned(),
    }
}

pub(super) fn state(action: &ScheduledAction<'_>) -> String {
    let status = &action.status;
    if let Some(ending) = &status.finished {
        return ending.as_str().replace('_', " ");
    }
    if status.current.is_some() {
        return "running".into();
    }
    if status.paused_at.is_some() {
        return "paused".into();
    }
    match status.begun_at {
        None => "waiting".into(),
        // Under way without an attempt: between two of them, or behind the firing before.
        Some(_) if status.attempts == 0 => "in line".into(),
        Some(_) => "retrying".into(),
    }
}

/// When it is looked at next. During an attempt that is when the attempt would count as interrupted: not worth a word.
pub(super) fn next_time(action: &ScheduledAction<'_>) -> String {
    match action.status.current {
        None => text::time(action.scheduled_at),
        Some(_) => "now".into(),
    }
}

/// `next at …`, or why it does not fire.
pub(super) fn next(action: &ScheduledAction<'_>) -> String {
    let at = next_time(action);
    if at == "now" {
        return "an attempt is under way".into();
    }
    match (at.is_empty(), action.status.paused_at) {
        (false, _) => format!("next at {at}"),
        (true, Some(_)) => "nothing fires until it is resumed".into(),
        (true, None) => "no next firing: it has finished".into(),
    }
}

/// `success in 12 ms`, `failed: CODE: message`.
pub(super) fn outcome(attempt: &Attempt) -> String {
    let took = text::between(attempt.started_at, attempt.finished_at);
    match attempt.outcome.as_str() {
        "failed" => format!("failed: {}", error(attempt, usize::MAX)),
        outcome => format!("{outcome} in {took}"),
    }
}

/// `CODE: message` of a failed one.
pub(super) fn error(attempt: &Attempt, chars: usize) -> String {
    match attempt.error.as_ref().and_then(Option::as_ref) {
        Some(error) => text::cut(&format!("{}: {}", error.code, error.message), chars),
        None => String::new(),
    }
}
