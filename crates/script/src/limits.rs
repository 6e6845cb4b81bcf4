//! What one run may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of one run. Every one of them ends the run with an error that names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall time from the moment a child has the job; waiting for a free child does not count.
    pub time: Duration,
    /// Heap of the engine.
    pub memory_bytes: usize,
    pub stack_bytes: usize,
    /// The result as compact JSON.
    pub output_bytes: usize,
    /// Nesting of the result.
    pub depth: usize,
    /// All console output of a run together; the rest is left out, with a note.
    pub console_bytes: usize,
    pub source_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(5),
            memory_bytes: 64 << 20,
            stack_bytes: 512 << 10,
            output_bytes: 1 << 20,
            depth: 64,
            console_bytes: 64 << 10,
            source_bytes: 1 << 20,
        }
    }
}
