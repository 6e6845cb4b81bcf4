//! The parts of a path. A part that cannot name anything names nothing: 404, not 400.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use pawl_kernel::id::ExecutionId;

use super::error::{ApiError, ApiResult};
use super::guard::shorten;

/// Longer than any id or name.
pub(super) const PART_BYTES_MAX: usize = 1_024;

#[derive(Debug)]
pub(super) struct PathParts(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for PathParts {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let raw = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| nothing())?;
        let pairs = raw
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect::<Vec<_>>();
        match pairs.iter().any(|(_, value)| value.len() > PART_BYTES_MAX) {
            true => Err(nothing()),
            false => Ok(Self(pairs)),
        }
    }
}

impl PathParts {
    pub(super) fn get(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }

    pub(super) fn execution(&self) -> ApiResult<ExecutionId> {
        let text = self.get("id");
        execution_id(text).ok_or_else(|| no_execution(text))
    }

    /// The number of a step, from 1.
    pub(super) fn seq(&self) -> ApiResult<u64> {
        self.number_from(1)
    }

    /// The number of a step, or 0 for the beginning.
    pub(super) fn seq_or_start(&self) -> ApiResult<u64> {
        self.number_from(0)
    }

    fn number_from(&self, least: u64) -> ApiResult<u64> {
        let text = self.get("seq");
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let seq = text
            .parse()
            .ok()
            .filter(|seq| digits && (least..=i64::MAX as u64).contains(seq));
        seq.ok_or_else(|| {
            let text = shorten(text);
            ApiError::not_found(format!("there is no step `{text}`")).param("step", text)
        })
    }
}

pub(super) fn execution_id(text: &str) -> Option<ExecutionId> {
    text.parse().ok()
}

pub(super) fn no_execution(text: &str) -> ApiError {
    let text = shorten(text);
    ApiError::not_found(format!("there is no execution `{text}`")).param("execution", text)
}

fn nothing() -> ApiError {
    ApiError::not_found("there is nothing under this path")
}
