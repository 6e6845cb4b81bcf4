//! The key under which an effect is known to the other side.

use crate::id::ExecutionId;

/// Committed with the position before the effect; the same for every try, retry and recovery of it.
pub fn key(execution_id: ExecutionId, seq: u64) -> String {
    format!("{execution_id}:{seq}")
}

/// The key of a node that is tried by itself, by the id that stands for its execution.
pub fn of_trial(id: &str) -> String {
    format!("{id}:1")
}

/// Was the key drawn for a node that was tried by itself? Then no execution will ever ask for its effect again.
pub fn is_of_trial(key: &str) -> bool {
    key.starts_with("trial-")
}

/// The execution and the seq that a key was drawn for: what `uuid()` derives from, so that a worker that repeats the effect,
/// a retry in another execution too, sends the same request. `None`: not a key of [`key`].
pub fn parts(key: &str) -> Option<(&str, u64)> {
    let (execution_id, seq) = key.rsplit_once(':')?;
    Some((execution_id, seq.parse().ok()?))
}

/// Was the key drawn by this execution? If not, the effect is one that an earlier execution began.
pub fn belongs_to(key: &str, id: ExecutionId) -> bool {
    parts(key).is_some_and(|(drawn_by, _)| drawn_by.parse() == Ok(id.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_key_says_whose_it_is() {
        let (one, other) = (ExecutionId(Uuid::max()), ExecutionId(Uuid::nil()));
        let drawn = key(one, 7);
        assert_eq!(parts(&drawn), Some((one.to_string().as_str(), 7)));
        assert!(belongs_to(&drawn, one) && !belongs_to(&drawn, other));
        assert_eq!(parts("of another kind"), None);
    }
}
