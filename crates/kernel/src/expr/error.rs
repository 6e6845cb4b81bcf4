//! What can go wrong with an expression, and where in its text.
//!
//! Messages name paths, types and limits. They never print the value of an operand, because an
//! operand may be a secret.

use std::fmt;

/// Byte offsets in the text of the field, also for an expression inside `{{ }}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    pub(super) fn to(self, other: Span) -> Self {
        Self::new(self.start, other.end)
    }
}

/// The stable codes an expression can fail with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    UndefinedPath,
    ExpressionError,
    TypeError,
    MathError,
    LimitExceeded,
}

impl ErrorCode {
    pub const ALL: [Self; 5] = [
        Self::UndefinedPath,
        Self::ExpressionError,
        Self::TypeError,
        Self::MathError,
        Self::LimitExceeded,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::UndefinedPath => "UNDEFINED_PATH",
            Self::ExpressionError => "EXPRESSION_ERROR",
            Self::TypeError => "TYPE_ERROR",
            Self::MathError => "MATH_ERROR",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    pub code: ErrorCode,
    pub message: String,
    pub span: Span,
    pub hint: Option<String>,
}

impl ExprError {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>, span: Span) -> Self {
        let message = message.into();
        Self {
            code,
            message,
            span,
            hint: None,
        }
    }

    /// The text is not an expression, or a function was given a value it cannot use.
    pub(super) fn invalid(message: impl Into<String>, span: Span) -> Self {
        Self::new(ErrorCode::ExpressionError, message, span)
    }

    pub(super) fn types(message: impl Into<String>, span: Span) -> Self {
        Self::new(ErrorCode::TypeError, message, span)
    }

    pub(super) fn math(message: impl Into<String>, span: Span) -> Self {
        Self::new(ErrorCode::MathError, message, span)
    }

    pub(super) fn limit(message: impl Into<String>, span: Span) -> Self {
        Self::new(ErrorCode::LimitExceeded, message, span)
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ExprError {}
