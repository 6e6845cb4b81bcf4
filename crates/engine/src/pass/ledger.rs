//! What a pass has done in memory and not yet committed.

use pawl_kernel::execution::{LogRecord, Step};
use pawl_kernel::webhook::answer::Answer;

/// A transition is committed early when its payloads grow beyond this.
const LARGE_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(super) struct Ledger {
    pub(super) steps: Vec<Step>,
    pub(super) logs: Vec<LogRecord>,
    pub(super) consumed: Vec<(String, u64)>,
    /// What the caller gets once the steps are committed.
    pub(super) answer: Option<Answer>,
    pub(super) pending_bytes: usize,
    /// Payload bytes of the steps since the last snapshot, committed or not.
    pub(super) unsnapshotted_bytes: usize,
    pub(super) snapshot_bytes: usize,
    pub(super) calls_spent: u64,
    pub(super) bytes_spent: u64,
}

impl Ledger {
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn is_large(&self) -> bool {
        self.pending_bytes > LARGE_BYTES
    }

    pub(super) fn add(&mut self, step: Step) {
        let bytes = step_bytes(&step);
        self.pending_bytes += bytes;
        self.unsnapshotted_bytes += bytes;
        self.bytes_spent += bytes as u64;
        self.steps.push(step);
    }

    /// A snapshot is due when the steps since the last one outweigh it twice: so all snapshots together cost less
    /// than the steps, and loading costs at most three times the context.
    pub(super) fn wants_snapshot(&self) -> bool {
        const SMALLEST: usize = 16 << 10;
        self.unsnapshotted_bytes > SMALLEST.max(2 * self.snapshot_bytes)
    }

    pub(super) fn committed(&mut self) {
        self.steps.clear();
        self.logs.clear();
        self.consumed.clear();
        self.answer = None;
        self.pending_bytes = 0;
    }
}

pub(super) fn step_bytes(step: &Step) -> usize {
    const ROW: usize = 64;
    let text = |field: &Option<String>| field.as_ref().map_or(0, String::len);
    ROW + text(&step.output)
        + text(&step.changes)
        + text(&step.error)
        + text(&step.input)
        + text(&step.attempts)
}
