//! When a transaction on a file has to end: at its deadline, or when nobody waits for it any more.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct Stop {
    deadline: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    cancelled: bool,
    /// Of the statement that runs now.
    statement_until: Option<Instant>,
}

/// Why a statement was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Cancelled,
    Late,
    StatementTimeout,
}

impl Stop {
    pub(crate) fn new(deadline: Instant) -> Arc<Self> {
        Arc::new(Self {
            deadline,
            state: Mutex::new(State {
                cancelled: false,
                statement_until: None,
            }),
            changed: Condvar::new(),
        })
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state.cancelled {
            return Some(Reason::Cancelled);
        }
        if now >= self.deadline {
            return Some(Reason::Late);
        }
        let over = state.statement_until.is_some_and(|until| now >= until);
        over.then_some(Reason::StatementTimeout)
    }

    pub(crate) fn begin_statement(&self, limit: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.statement_until = Some(Instant::now() + limit);
    }

    pub(crate) fn end_statement(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.statement_until = None;
    }

    pub(crate) fn cancel(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.cancelled = true;
        self.changed.notify_all();
    }

    /// Waits a little, or less if it is cancelled.
    pub(crate) fn pause(&self, time: Duration) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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
