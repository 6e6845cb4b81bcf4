//! Trying a whole transaction again: after a serialization failure or a deadlock, and after a lost connection.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::fault::{Fault, FaultKind};

/// Tries of one transaction in the way of others.
const CONTENDED_MAX: u32 = 12;
/// Connections that may be lost before it is the engine's turn to wait.
const LOST_MAX: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(4);
const PAUSE_MAX: Duration = Duration::from_millis(400);

#[derive(Debug, Default)]
pub(crate) struct Tries {
    contended: u32,
    lost: u32,
}

impl Tries {
    /// How long to wait before the next try; or the fault, if there is none.
    pub(crate) fn after(
        &mut self,
        mut fault: Fault,
        key: &str,
        deadline: Instant,
    ) -> Result<Duration, Fault> {
        let (count, limit) = match fault.kind {
            FaultKind::Final => return Err(fault),
            FaultKind::Contended => (&mut self.contended, CONTENDED_MAX),
            FaultKind::Lost => (&mut self.lost, LOST_MAX),
        };
        *count += 1;
        let pause = pause(key, *count);
        if *count < limit && Instant::now() + pause < deadline {
            return Ok(pause);
        }
        if fault.error.details.is_object() {
            fault.error.details["tries"] = json!(*count);
        }
        Err(fault)
    }
}

/// Grows with every try. The key spreads those that were in each other's way, the same for the same key: nothing here
/// is random.
fn pause(key: &str, tries: u32) -> Duration {
    let longest = FIRST_PAUSE
        .saturating_mul(1 << tries.min(10))
        .min(PAUSE_MAX);
    let mut hasher = DefaultHasher::new();
    (key, tries).hash(&mut hasher);
    let share = (hasher.finish() % 1_000) as u32;
    longest / 4 + longest * 3 / 4 * share / 1_000
}

#[cfg(test)]
mod tests {
    use pawl_kernel::node::NodeError;

    use super::*;

    fn contended() -> Fault {
        Fault::contended(NodeError::new("DEADLOCK", "x").details(json!({})))
    }

    #[test]
    fn pauses_grow_within_bounds_and_differ_by_key() {
        for tries in 1..20 {
            let pause = pause("a", tries);
            assert!(
                pause >= Duration::from_millis(1) && pause <= PAUSE_MAX,
                "{pause:?}"
            );
        }
        assert_ne!(pause("a", 3), pause("b", 3));
    }

    #[test]
    fn tries_end_with_the_fault_and_their_number() {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut tries = Tries::default();
        let mut made = 0;
        let fault = loop {
            match tries.after(contended(), "k", deadline) {
                Ok(_) => made += 1,
                Err(fault) => break fault,
            }
        };
        assert_eq!(made, CONTENDED_MAX - 1);
        assert!(fault.error.retryable);
        assert_eq!(fault.error.details["tries"], CONTENDED_MAX);
        assert!(
            Tries::default()
                .after(contended(), "k", Instant::now())
                .is_err()
        );
        let last = Fault::from(NodeError::new("X", "x"));
        assert!(Tries::default().after(last, "k", deadline).is_err());
    }
}
