//! The budget of an evaluation: steps for work, bytes for memory. Both only ever grow.

use super::error::{ExprError, Span};

/// Reading this many bytes costs one step, so that scanning a large text is not free.
const BYTES_PER_STEP: u64 = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub steps: u64,
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100_000,
            bytes: 4 * 1024 * 1024,
        }
    }
}

/// Counts what evaluations use. One meter may serve several evaluations, which then share the
/// budget and number their `uuid()` calls through.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    limits: Limits,
    steps: u64,
    bytes: u64,
    uuid_calls: u64,
}

impl Meter {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// `uuid()` calls are numbered from here on.
    pub(crate) fn with_uuids_from(self, number: u64) -> Self {
        Self {
            uuid_calls: number,
            ..self
        }
    }

    pub fn steps_used(&self) -> u64 {
        self.steps
    }

    pub fn bytes_used(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(super) fn step(&mut self, count: u64, span: Span) -> Result<(), ExprError> {
        self.steps = self.steps.saturating_add(count);
        if self.steps > self.limits.steps {
            return Err(exceeded(
                "expression_steps",
                self.limits.steps,
                "steps",
                span,
            ));
        }
        Ok(())
    }

    /// Pays for `bytes` about to be allocated. Called before the allocation, never after.
    pub(super) fn allocate(&mut self, bytes: usize, span: Span) -> Result<(), ExprError> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.limits.bytes {
            return Err(exceeded(
                "expression_bytes",
                self.limits.bytes,
                "bytes",
                span,
            ));
        }
        self.scan(bytes, span)
    }

    /// Pays for reading `bytes` that already exist.
    pub(super) fn scan(&mut self, bytes: usize, span: Span) -> Result<(), ExprError> {
        self.step(bytes as u64 / BYTES_PER_STEP, span)
    }

    pub(super) fn next_uuid_call(&mut self) -> u64 {
        self.uuid_calls += 1;
        self.uuid_calls
    }
}

#[cold]
fn exceeded(name: &str, limit: u64, unit: &str, span: Span) -> ExprError {
    let message = format!("the expression needs more than {limit} {unit} (limit `{name}`)");
    ExprError::limit(message, span)
        .with_hint("work on less data at a time, or split the work over several nodes")
}
