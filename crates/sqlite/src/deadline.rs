//! How long a reader works for one statement. What a request asks for can mean reading the whole history, and there are few
//! readers: such a statement ends after a time. So does every read whose caller has gone away.
//!
//! The state is the thread's own: each reader has one connection, and the library asks in the same thread whether to go on.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::sync::Weak;
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// Instructions of the library's machine between two looks at the clock: less than a millisecond.
const LOOK_EVERY: c_int = 5_000;

thread_local! {
    static LIMIT: Cell<Duration> = const { Cell::new(Duration::MAX) };
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
    static CALLER: RefCell<Option<Weak<()>>> = const { RefCell::new(None) };
}

/// From now on this thread reads from this connection, and as long as this for a statement that has a deadline.
pub(crate) fn install(connection: &mut Connection, limit: Duration) -> rusqlite::Result<()> {
    LIMIT.set(limit);
    connection.progress_handler(LOOK_EVERY, Some(is_over))
}

/// The read that begins is for this caller: it ends when the caller is gone.
pub(crate) fn read_for(caller: Weak<()>) {
    UNTIL.set(None);
    CALLER.replace(Some(caller));
}

fn is_over() -> bool {
    let is_late = UNTIL.get().is_some_and(|until| Instant::now() >= until);
    is_late || CALLER.with_borrow(|caller| caller.as_ref().is_some_and(is_gone))
}

pub(crate) fn is_gone(caller: &Weak<()>) -> bool {
    caller.strong_count() == 0
}

/// While it lives, the statement of this thread that is under way has a deadline.
pub(crate) struct StatementDeadline(());

impl StatementDeadline {
    pub(crate) fn begin() -> Self {
        UNTIL.set(Instant::now().checked_add(LIMIT.get()));
        Self(())
    }
}

impl Drop for StatementDeadline {
    fn drop(&mut self) {
        UNTIL.set(None);
    }
}
