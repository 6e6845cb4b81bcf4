//! Actions to be measured: as users write them, made without a user.

use std::time::Duration;

use pawl_kernel::id;
use pawl_kernel::schedule::{Author, Override, Put, Request, ScheduledAction, put, read_request};
use pawl_kernel::time::Timestamp;
use serde_json::{Map, Value, json};

use crate::bench::BenchError;
use crate::system::SystemEntropy;

/// The body of a `PUT` for an action that only pretends.
pub(super) fn body(start_at: Timestamp) -> Value {
    json!({"spec": {"start_at": start_at.to_string(), "policy": {"once": {}}, "action": {"mock": {}}}})
}

/// Ids that begin like this, in no order: their rows are all over the table.
pub(super) fn fresh_id(name: &str) -> String {
    format!("{name}-{}", id::random(&SystemEntropy))
}

/// `count` of them, planned `apart` from each other, the first at `first`.
pub(super) fn actions(
    name: &str,
    count: u64,
    first: Timestamp,
    apart: Duration,
    now: Timestamp,
) -> Result<impl Iterator<Item = ScheduledAction>, BenchError> {
    let Request { spec, .. } = read_request(&body(first), Author::Engine, now).map_err(refused)?;
    let name = name.to_owned();
    let at = move |number: u64| first.plus(Duration::from_nanos(apart.as_nanos() as u64 * number));
    let action = move |number: u64| {
        let mut spec = spec.clone();
        spec.start_at = at(number);
        let request = Put {
            id: fresh_id(&name),
            guid: id::random(&SystemEntropy),
            spec,
            notes: Map::new(),
            mode: Override::None,
            written_by: "bench".into(),
        };
        // Where there is none before, nothing can be in the way.
        put(None, request, now).ok()
    };
    Ok((0..count).filter_map(action))
}

fn refused(found: Vec<pawl_kernel::diagnostic::Diagnostic>) -> BenchError {
    let messages: Vec<_> = found.into_iter().map(|one| one.message).collect();
    BenchError::Failed(messages.join("; "))
}
