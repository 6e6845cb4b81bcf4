//! Idempotency keys: the names under which executions start once.
//!
//! There is one namespace for all starts. What Pawl starts by itself, or for callers that name their starts in another
//! form, begins with a prefix of Pawl's own; callers of the API cannot use these, so none of them can take the key of a
//! webhook delivery, a message or a firing before it comes.

/// A call of a webhook.
pub const WEBHOOK: &str = "wh:";
/// A message of another program.
pub const MESSAGE: &str = "amqp:";
/// A firing of a cron trigger.
pub const CRON: &str = "cron:";
/// A firing of a scheduled action that a person wrote.
pub const SCHEDULE: &str = "schedule:";
/// The retry that a dead letter led to.
pub const REQUEUE: &str = "requeue:";

pub const RESERVED: [&str; 5] = [WEBHOOK, MESSAGE, CRON, SCHEDULE, REQUEUE];

/// Why a caller may not use this key; `None`: it may.
pub fn reserved(key: &str) -> Option<String> {
    let prefix = RESERVED.iter().find(|prefix| key.starts_with(**prefix))?;
    let all = RESERVED.map(|prefix| format!("`{prefix}`")).join(", ");
    Some(format!(
        "an idempotency key must not begin with `{prefix}`: keys that begin with {all} belong to Pawl itself; choose another"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_our_own_are_told_from_those_of_callers() {
        for prefix in RESERVED {
            let why = reserved(&format!("{prefix}x")).unwrap();
            assert!(why.contains(&format!("begin with `{prefix}`:")), "{why}");
            assert_eq!(reserved(&format!("x-{prefix}")), None);
        }
        for free in ["order-7", "whatever", "amqp", "cron", ""] {
            assert_eq!(reserved(free), None);
        }
    }
}
