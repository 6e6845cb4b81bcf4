//! When a transaction on a file has to end: at its deadline, when no caller waits for it any more, or when it takes too
//! much memory. Once it commits, it is too late for all of that.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::memory;

/// A statement holds a row of values, and what it makes them from, before we can count them. That much more may the
/// process have than when it began, and a few times what it may give back.
const MEMORY: usize = 256 << 20;
const MEMORY_LOOK_AFTER: Duration = Duration::from_millis(5);

pub(crate) struct Stop {
    deadline: Instant,
    memory_max: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    cancelled: bool,
    /// From here on it cannot be given up.
    committing: bool,
    /// Of the statement that runs now.
    statement_until: Option<Instant>,
    memory_looked_at: Instant,
    hungry: bool,
}

/// Why a statement was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Cancelled,
    Late,
    StatementTimeout,
    Memory,
}

impl Stop {
    pub(crate) fn new(deadline: Instant, max_bytes: usize) -> Arc<Self> {
        let growth = max_bytes.saturating_mul(4).saturating_add(MEMORY);
        let memory_max = memory::recently().map_or(usize::MAX, |now| now.saturating_add(growth));
        Arc::new(Self {
            deadline,
            memory_max,
            state: Mutex::new(State {
                cancelled: false,
                committing: false,
                statement_until: None,
                memory_looked_at: Instant::now(),
                hungry: false,
            }),
            changed: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reason_in(&self, state: &State, now: Instant) -> Option<Reason> {
        if state.committing {
            return None;
        }
        if state.cancelled {
            return Some(Reason::Cancelled);
        }
        if state.hungry {
            return Some(Reason::Memory);
        }
        if now >= self.deadline {
            return Some(Reason::Late);
        }
        let over = state.statement_until.is_some_and(|until| now >= until);
        over.then_some(Reason::StatementTimeout)
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        self.reason_in(&self.state(), Instant::now())
    }

    /// The same, with a look at the memory now and then.
    pub(crate) fn look(&self) -> Option<Reason> {
        let now = Instant::now();
        let mut state = self.state();
        if now.duration_since(state.memory_looked_at) >= MEMORY_LOOK_AFTER {
            state.memory_looked_at = now;
            state.hungry |= memory::resident().is_some_and(|bytes| bytes > self.memory_max);
        }
        self.reason_in(&state, now)
    }

    pub(crate) fn begin_statement(&self, limit: Duration) {
        self.state().statement_until = Some(Instant::now() + limit);
    }

    pub(crate) fn end_statement(&self) {
        self.state().statement_until = None;
    }

    /// From here on the caller cannot cancel it; an error if it has to end already.
    pub(crate) fn begin_commit(&self) -> Result<(), Reason> {
        let mut state = self.state();
        match self.reason_in(&state, Instant::now()) {
            Some(reason) => Err(reason),
            None => {
                state.committing = true;
                Ok(())
            }
        }
    }

    /// It was not possible after all.
    pub(crate) fn end_commit(&self) {
        self.state().committing = false;
    }

    /// False: it is too late for that, the answer is on its way.
    pub(crate) fn cancel(&self) -> bool {
        let mut state = self.state();
        state.cancelled |= !state.committing;
        self.changed.notify_all();
        state.cancelled
    }

    /// Waits a little, or less if it is cancelled.
    pub(crate) fn pause(&self, time: Duration) {
        let state = self.state();
        if !state.cancelled {
            drop(self.changed.wait_timeout(state, time));
        }
    }
}

/// Cancels when the caller goes away.
pub(crate) struct CancelOnDrop(pub(crate) Arc<Stop>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_up_is_not_committed_and_what_commits_is_not_given_up() {
        let later = Instant::now() + Duration::from_secs(60);
        let stop = Stop::new(later, 0);
        assert!(stop.cancel());
        assert_eq!(stop.begin_commit(), Err(Reason::Cancelled));
        let stop = Stop::new(later, 0);
        assert_eq!(stop.begin_commit(), Ok(()));
        assert!(!stop.cancel());
        assert_eq!(stop.reason(), None);
        assert_eq!(
            Stop::new(Instant::now(), 0).begin_commit(),
            Err(Reason::Late)
        );
    }
}
