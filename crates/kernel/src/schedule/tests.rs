mod cron;
mod firing;
mod model;
mod reading;

use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn guid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// A Monday.
fn noon() -> Timestamp {
    at("2026-06-01T12:00:00Z")
}

fn spec(policy: Value) -> Spec {
    let value =
        json!({"start_at": "2026-06-01T12:00:00Z", "policy": policy, "action": {"mock": {}}});
    read_spec(&value, "", Author::Engine, noon()).unwrap()
}

fn row(spec: Spec) -> ScheduledAction {
    let request = Put {
        id: "a".into(),
        guid: guid(1),
        spec,
        notes: Map::new(),
        mode: Override::None,
        written_by: "tests".into(),
    };
    put(None, request, noon()).unwrap()
}
