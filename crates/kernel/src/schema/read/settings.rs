//! `settings`: everything optional, everything with a range.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use super::fields::{self, Fields};
use super::nodes::TIMEOUTS;
use crate::schema::codes;
use crate::schema::definition::{FOREVER, OnStuck, Priority, Settings};
use crate::schema::findings::Findings;
use crate::time::format_duration;

const DURATIONS: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(100 * 365 * 86_400);

const FIELDS: &[&str] = &[
    "max_steps",
    "max_duration",
    "node_timeout",
    "max_nodes_per_message",
    "on_stuck",
    "max_calls",
    "concurrency",
    "priority",
    "tenant",
    "retention",
];

pub(super) fn read(document: &Fields<'_>, findings: &mut Findings) -> Settings {
    let default = Settings::default();
    let Some(map) = document.object("settings", findings) else {
        return default;
    };
    let pointer = document.at("settings");
    let settings = Fields::new(map, &pointer, None);
    settings.check_known(FIELDS, &[], findings);
    Settings {
        max_steps: settings
            .integer("max_steps", 1..=10_000_000, findings)
            .unwrap_or(default.max_steps),
        max_duration: settings
            .duration("max_duration", DURATIONS, findings)
            .unwrap_or(default.max_duration),
        node_timeout: settings
            .duration("node_timeout", TIMEOUTS, findings)
            .unwrap_or(default.node_timeout),
        max_nodes_per_message: settings
            .integer("max_nodes_per_message", 1..=10_000, findings)
            .map_or(default.max_nodes_per_message, |number| number as u32),
        on_stuck: settings
            .choice(
                "on_stuck",
                &[("requeue", OnStuck::Requeue), ("fail", OnStuck::Fail)],
                findings,
            )
            .unwrap_or(default.on_stuck),
        max_calls: settings.integer("max_calls", 1..=10_000_000, findings),
        concurrency: concurrency(&settings, findings),
        priority: settings
            .choice(
                "priority",
                &[
                    ("high", Priority::High),
                    ("normal", Priority::Normal),
                    ("low", Priority::Low),
                ],
                findings,
            )
            .unwrap_or_default(),
        tenant: settings.text("tenant", findings),
        retention: retention(&settings, findings),
    }
}

/// Kept as written: the scheduler reads it.
fn concurrency(settings: &Fields<'_>, findings: &mut Findings) -> Option<Value> {
    let map = settings.object("concurrency", findings)?;
    let pointer = settings.at("concurrency");
    let concurrency = Fields::new(map, &pointer, None);
    concurrency.check_known(&["limit", "key"], &[], findings);
    if !concurrency.has("limit") {
        concurrency.missing("limit", findings);
    }
    concurrency.integer("limit", 1..=1_000_000, findings);
    concurrency.text("key", findings);
    Some(Value::Object(map.clone()))
}

fn retention(settings: &Fields<'_>, findings: &mut Findings) -> Option<String> {
    let value = settings.get("retention")?;
    if value.as_str() == Some(FOREVER) {
        return Some(FOREVER.to_owned());
    }
    match fields::duration(value) {
        Ok(duration) => Some(format_duration(duration)),
        Err(message) => {
            findings.add(settings.error(codes::BAD_DURATION, "retention", message));
            None
        }
    }
}
