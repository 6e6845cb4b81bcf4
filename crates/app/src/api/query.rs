//! Query strings: known names only, each at most once, parsed into what the handler needs.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use pawl_kernel::execution::Status;
use pawl_kernel::ports::store::ExecutionFilter;
use pawl_kernel::time::{Timestamp, parse_duration};

use super::ApiState;
use super::error::{ApiError, ApiResult};
use super::fields::unknown_name;
use super::filter;
use super::schemas;

pub(super) const LIMIT_DEFAULT: u32 = 50;
pub(super) const LIMIT_MAX: u32 = 500;

/// A query whose names are those that the route's line in the table lists. The guard of the route reads it.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.remove().unwrap_or_default())
    }
}

impl Query {
    pub(super) fn read(text: &str, known: &[&str]) -> ApiResult<Self> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
            let fault = match () {
                () if !known.contains(&&*name) => unknown_name("parameter", &name, known),
                () if pairs.iter().any(|(seen, _)| *seen == name) => {
                    format!("the parameter `{name}` comes twice")
                }
                // How a loop over pages asks for its first one.
                () if value.is_empty() && name == "cursor" => continue,
                // A program whose variable is not set must not see or change everything.
                () if value.is_empty() => {
                    format!("the parameter `{name}` is empty; give it a value or leave it out")
                }
                () => {
                    pairs.push((name.into_owned(), value.into_owned()));
                    continue;
                }
            };
            return Err(ApiError::invalid_query(fault));
        }
        Ok(Self(pairs))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn whole(&self, name: &str) -> ApiResult<Option<u64>> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text
            .parse()
            .ok()
            .filter(|number| digits && *number <= i64::MAX as u64);
        number
            .map(Some)
            .ok_or_else(|| ApiError::invalid_query(format!("`{name}` must be a whole number")))
    }

    pub(super) fn flag(&self, name: &str) -> ApiResult<bool> {
        self.flag_or(name, false)
    }

    pub(super) fn flag_or(&self, name: &str, usual: bool) -> ApiResult<bool> {
        match self.get(name) {
            None => Ok(usual),
            Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(ApiError::invalid_query(format!(
                "`{name}` must be true or false"
            ))),
        }
    }

    /// One of a few words.
    pub(super) fn choice(
        &self,
        name: &str,
        known: &[&'static str],
    ) -> ApiResult<Option<&'static str>> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let found = known.iter().find(|word| **word == text).copied();
        let wrong = || ApiError::invalid_query(unknown_name(name, text, known));
        found.map(Some).ok_or_else(wrong)
    }

    pub(super) fn limit(&self) -> ApiResult<u32> {
        match self.whole("limit")? {
            None => Ok(LIMIT_DEFAULT),
            Some(limit) if (1..=u64::from(LIMIT_MAX)).contains(&limit) => Ok(limit as u32),
            Some(_) => Err(ApiError::invalid_query(format!(
                "`limit` must be between 1 and {LIMIT_MAX}"
            ))),
        }
    }

    /// How long to wait for the end, never longer than the server allows.
    pub(super) fn wait(&self, state: &ApiState) -> ApiResult<Option<Duration>> {
        let Some(text) = self.get("wait") else {
            return Ok(None);
        };
        let wait = parse_duration(text)
            .map_err(|reason| ApiError::invalid_query(format!("`wait`: {reason}")))?;
        Ok(Some(wait.min(state.limits.wait)))
    }

    pub(super) fn time(&self, name: &str) -> ApiResult<Option<Timestamp>> {
        self.get(name)
            .map(|text| moment(name, text).map_err(ApiError::invalid_query))
            .transpose()
    }

    pub(super) async fn filter(&self, state: &ApiState) -> ApiResult<ExecutionFilter> {
        let schema_id = match self.get("schema").or_else(|| self.get("schema_id")) {
            Some(key) => Some(schemas::id_of(state, key).await?),
            None => None,
        };
        let statuses = self.get("status").map(statuses).transpose();
        let mut statuses = statuses
            .map_err(ApiError::invalid_query)?
            .unwrap_or_default();
        let not_retried = self.flag("unresolved")?;
        if not_retried {
            statuses = filter::unresolved(&statuses).map_err(ApiError::invalid_query)?;
        }
        let filter = ExecutionFilter {
            statuses,
            not_retried,
            schema_id,
            tenant: self.get("tenant").map(str::to_owned),
            created_after: self.time("since")?,
            created_before: self.time("until")?,
            text: self.get("text").map(str::to_owned),
            ..ExecutionFilter::default()
        };
        let narrowed = self.asked()?.narrow(filter, state.now());
        narrowed.map_err(ApiError::invalid_query)
    }
}

/// A comma list of status names.
pub(super) fn statuses(text: &str) -> Result<Vec<Status>, String> {
    text.split(',').map(|name| status(name.trim())).collect()
}

pub(super) fn status(name: &str) -> Result<Status, String> {
    let names: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
    Status::from_name(name).ok_or_else(|| unknown_name("status", name, &names))
}

/// RFC 3339 with an offset. Plain numbers are refused: seconds and milliseconds look alike.
pub(super) fn moment(name: &str, text: &str) -> Result<Timestamp, String> {
    let wrong = || format!("`{name}` must be a time like 2026-12-01T09:00:00Z");
    if text.parse::<f64>().is_ok() {
        return Err(wrong());
    }
    // In a query a plus sign means a space; an offset written plainly arrives as one.
    Timestamp::parse(&text.replace(' ', "+")).ok_or_else(wrong)
}
