//! How a script fails, sorted by what its author can do about it.

use serde::{Deserialize, Serialize};

use crate::LogLine;

/// One failed run. Lines and columns count from 1 and belong to the source as its author wrote it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {message}", code.name())]
pub struct ScriptError {
    pub code: Code,
    pub message: String,
    /// The class of a thrown error, such as `TypeError`.
    pub name: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// Calls inside the author's source, innermost first.
    pub stack: Vec<String>,
    /// What was written to the console before it failed.
    pub logs: Vec<LogLine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Code {
    /// The code threw.
    Error,
    Syntax,
    Timeout,
    Memory,
    Stack,
    /// The result is no JSON, or more of it than allowed.
    Output,
    /// The child process died or broke the protocol, or none could be started.
    Crashed,
    /// Too many runs are waiting already.
    Busy,
}

impl Code {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "CODE_ERROR",
            Self::Syntax => "CODE_SYNTAX",
            Self::Timeout => "CODE_TIMEOUT",
            Self::Memory => "CODE_MEMORY",
            Self::Stack => "CODE_STACK",
            Self::Output => "CODE_OUTPUT",
            Self::Crashed => "CODE_CRASHED",
            Self::Busy => "CODE_BUSY",
        }
    }

    /// Whether the same code may do better later, without a change.
    pub fn retryable(self) -> bool {
        matches!(self, Self::Crashed | Self::Busy)
    }
}

impl ScriptError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            name: None,
            line: None,
            column: None,
            stack: Vec::new(),
            logs: Vec::new(),
        }
    }

    pub(crate) fn timeout(time: std::time::Duration) -> Self {
        Self::new(
            Code::Timeout,
            format!(
                "the code ran longer than {} ms; look for a loop that does not end, or raise code.time",
                time.as_millis()
            ),
        )
    }

    pub(crate) fn memory(memory_bytes: usize) -> Self {
        Self::new(
            Code::Memory,
            format!(
                "the code needed more than {memory_bytes} bytes of memory; work on less at a time, or raise code.memory"
            ),
        )
    }

    pub(crate) fn at(mut self, line: u32, column: u32) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self
    }
}
