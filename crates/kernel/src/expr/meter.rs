//! The budget of an evaluation: steps for work, bytes for memory, and a time. All only ever grow.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::error::{ExprError, Span};
use crate::time::format_duration;

/// Reading this many bytes costs one step, so that scanning a large text is not free.
const BYTES_PER_STEP: u64 = 256;
/// Steps of an evaluation that may be made wherever it is asked for: a few milliseconds at most.
const SHORT_STEPS: u64 = 10_000;
/// Asking the time costs as much as a few steps.
const STEPS_PER_LOOK: u64 = 1_000;

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

/// When an evaluation has to end. The kernel has no clock: the caller says when it is over.
#[derive(Clone)]
pub struct Deadline {
    /// What was allowed, for the error.
    time: Duration,
    is_over: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Deadline {
    pub fn new(time: Duration, is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            time,
            is_over: Arc::new(is_over),
        }
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deadline({:?})", self.time)
    }
}

/// Counts what evaluations use. One meter may serve several evaluations, which then share the
/// budget and number their `uuid()` calls through.
#[derive(Clone, Debug)]
pub struct Meter {
    limits: Limits,
    steps: u64,
    /// Beyond so many steps there is something to look at: a limit, or the time.
    look_at: u64,
    bytes: u64,
    uuid_calls: u64,
    deadline: Option<Deadline>,
}

impl Default for Meter {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Meter {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            steps: 0,
            look_at: limits.steps,
            bytes: 0,
            uuid_calls: 0,
            deadline: None,
        }
    }

    /// For what is evaluated on a thread that serves others too. Where it turns out [too long](Self::is_spent), the
    /// evaluation is begun anew elsewhere, which changes nothing: it has no effects.
    pub fn short() -> Self {
        Self::new(Limits {
            steps: SHORT_STEPS,
            ..Limits::default()
        })
    }

    pub fn with_deadline(self, deadline: Deadline) -> Self {
        Self {
            look_at: self.limits.steps.min(STEPS_PER_LOOK),
            deadline: Some(deadline),
            ..self
        }
    }

    /// `uuid()` calls are numbered from here on.
    pub(crate) fn number_uuids_from(&mut self, number: u64) {
        self.uuid_calls = number;
    }

    pub fn steps_used(&self) -> u64 {
        self.steps
    }

    pub fn bytes_used(&self) -> u64 {
        self.bytes
    }

    /// A [short](Self::short) evaluation, unless others before it have used up what it may use.
    pub(crate) fn short_after(used: u64) -> Option<Self> {
        (used <= SHORT_STEPS).then(Self::short)
    }

    /// It asked for more steps than there were.
    pub fn is_spent(&self) -> bool {
        self.steps > self.limits.steps
    }

    /// For what is checked under a meter and is no expression.
    pub(crate) fn pay(&mut self, steps: u64) -> Result<(), ExprError> {
        self.step(steps, Span::default())
    }

    #[inline]
    pub(super) fn step(&mut self, count: u64, span: Span) -> Result<(), ExprError> {
        self.steps = self.steps.saturating_add(count);
        match self.steps > self.look_at {
            true => self.look(span),
            false => Ok(()),
        }
    }

    #[cold]
    fn look(&mut self, span: Span) -> Result<(), ExprError> {
        if self.is_spent() {
            let steps = self.limits.steps;
            return Err(exceeded("expression_steps", steps, "steps", span));
        }
        if let Some(deadline) = &self.deadline
            && (deadline.is_over)()
        {
            return Err(too_slow(deadline.time, span));
        }
        self.look_at = self.limits.steps.min(self.steps + STEPS_PER_LOOK);
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

#[cold]
fn too_slow(time: Duration, span: Span) -> ExprError {
    let time = format_duration(time);
    let message = format!("the expression takes longer than {time} (limit `expression_time`)");
    ExprError::limit(message, span)
        .with_hint("work on less data at a time, or raise `expression_time` in [limits]")
}
