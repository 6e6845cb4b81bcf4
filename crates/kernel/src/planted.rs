//! Deliberate protocol bugs, so that the simulation can prove that it would find them.
//!
//! Without the feature `planted-bugs` every question here is the constant `false`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// M2: a commit is not guarded by the lease token.
    NoTokenGuard,
    /// M4: the message is acknowledged before the commit.
    AckBeforeCommit,
    /// M7: nothing rebuilds lost messages.
    NoSweeper,
    /// M12: a message at the state's own seq counts as a duplicate.
    SeqCompareInclusive,
    /// M15: a try is counted after the effect instead of before.
    AttemptCountedLate,
    /// M19: a commit with an unknown result counts as failed, and its work is done again.
    UnknownCommitIsFailure,
    /// A quota lets one more in than it should.
    QuotaOffByOne,
    /// An execution that ends in another way than by its own commit keeps its places in quotas.
    QuotaKeptByTheStopped,
    /// A scheduled action begins before its time.
    ActionEarly,
    /// An attempt of an action is recorded before it is made.
    ActionRecordedFirst,
    /// A worker that says that an attempt has ended is believed, whichever attempt it was.
    ActionTicketIgnored,
    /// An attempt that no worker has recorded is made again, and not counted.
    ActionInterruptionForgotten,
}

#[cfg(feature = "planted-bugs")]
mod switch {
    use std::cell::Cell;

    thread_local! {
        static ACTIVE: Cell<Option<super::Bug>> = const { Cell::new(None) };
    }

    /// Switches one bug on for this thread.
    pub fn plant(bug: Option<super::Bug>) {
        ACTIVE.with(|active| active.set(bug));
    }

    pub fn has(bug: super::Bug) -> bool {
        ACTIVE.with(|active| active.get() == Some(bug))
    }
}

#[cfg(feature = "planted-bugs")]
pub use switch::{has, plant};

#[cfg(not(feature = "planted-bugs"))]
pub const fn has(_bug: Bug) -> bool {
    false
}
