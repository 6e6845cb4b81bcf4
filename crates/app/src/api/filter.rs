//! Filters of executions, as a query or a body says them.

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{ExecutionFilter, MinimumDuration};
use pawl_kernel::time::{Timestamp, parse_duration};

use super::error::ApiResult;
use super::query::{self, moment};
use crate::wire::problem_of;

const IDS_MAX: usize = 500;

/// What lists, counts and bulk actions call by the same names, as text.
#[derive(Default)]
pub(super) struct FilterFields<'a> {
    pub(super) label: Option<&'a str>,
    pub(super) created_by: Option<&'a str>,
    pub(super) version: Option<&'a str>,
    pub(super) node: Option<&'a str>,
    pub(super) error_code: Option<&'a str>,
    pub(super) retry_of: Option<&'a str>,
    pub(super) forked_from: Option<&'a str>,
    pub(super) finished_since: Option<&'a str>,
    pub(super) longer_than: Option<&'a str>,
    pub(super) ids: Option<Vec<&'a str>>,
    pub(super) trial: bool,
}

impl FilterFields<'_> {
    /// The filter with what is asked besides.
    pub(super) fn narrow(
        &self,
        filter: ExecutionFilter,
        now: Timestamp,
    ) -> Result<ExecutionFilter, String> {
        let id = |name, text: Option<&str>| text.map(|text| one_id(name, text)).transpose();
        let since = self.finished_since;
        let narrowed = ExecutionFilter {
            label: self.label.map(label).transpose()?,
            created_by: self.created_by.map(str::to_owned),
            version: self.version.map(version).transpose()?,
            node: self.node.map(str::to_owned),
            error_code: self.error_code.map(str::to_owned),
            retry_of: id("retry_of", self.retry_of)?,
            forked_from: id("forked_from", self.forked_from)?,
            finished_since: since
                .map(|text| moment("finished_since", text))
                .transpose()?,
            longer_than: self.longer_than.map(|text| longer(text, now)).transpose()?,
            ids: self.ids.as_deref().map(id_list).transpose()?,
            trial: self.trials(),
            ..filter
        };
        Ok(only_with_errors(narrowed))
    }

    /// Trial runs are for those who ask for them: by their kind, or by their ids.
    fn trials(&self) -> Option<bool> {
        match (self.trial, &self.ids) {
            (true, _) => Some(true),
            (false, None) => Some(false),
            (false, Some(_)) => None,
        }
    }
}

/// Only what ended badly has an error, and few executions do.
fn only_with_errors(mut filter: ExecutionFilter) -> ExecutionFilter {
    if filter.error_code.is_some() && filter.statuses.is_empty() {
        filter.statuses = Status::UNRESOLVED.to_vec();
    }
    filter
}

fn label(text: &str) -> Result<(String, String), String> {
    let wrong = || "`label` must be `NAME:VALUE`, like `team:payments`".to_owned();
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    match name.is_empty() || problem_of(name).is_some() {
        true => Err(wrong()),
        false => Ok((name.to_owned(), value.to_owned())),
    }
}

fn version(text: &str) -> Result<u32, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && *number > 0);
    number.ok_or_else(|| "`version` must be a version number, from 1".to_owned())
}

fn one_id(name: &str, text: &str) -> Result<ExecutionId, String> {
    let shown: String = text.chars().take(60).collect();
    let wrong = |_| format!("`{name}`: `{shown}` is no id of an execution");
    text.parse().map_err(wrong)
}

fn id_list(texts: &[&str]) -> Result<Vec<ExecutionId>, String> {
    if texts.len() > IDS_MAX {
        return Err(format!(
            "`ids` names {} executions; it may name {IDS_MAX}",
            texts.len()
        ));
    }
    texts
        .iter()
        .map(|text| one_id("ids", text.trim()))
        .collect()
}

fn longer(text: &str, now: Timestamp) -> Result<MinimumDuration, String> {
    let than = parse_duration(text).map_err(|reason| format!("`longer_than`: {reason}"))?;
    Ok(MinimumDuration { than, now })
}

/// What is unresolved among these statuses; none given means all of them.
pub(super) fn unresolved(given: &[Status]) -> Result<Vec<Status>, String> {
    let wanted = |status: &Status| given.is_empty() || given.contains(status);
    let found: Vec<Status> = Status::UNRESOLVED.into_iter().filter(wanted).collect();
    match found.is_empty() {
        true => Err(
            "`unresolved` means failed, failed_stuck or stopped and not retried; `status` names none of them".into(),
        ),
        false => Ok(found),
    }
}

impl query::Query {
    /// The names that lists and counts of executions take.
    pub(super) fn asked(&self) -> ApiResult<FilterFields<'_>> {
        Ok(FilterFields {
            label: self.get("label"),
            created_by: self.get("created_by"),
            version: self.get("version"),
            node: self.get("node"),
            error_code: self.get("error_code"),
            retry_of: self.get("retry_of"),
            forked_from: self.get("forked_from"),
            finished_since: self.get("finished_since"),
            longer_than: self.get("longer_than"),
            ids: self.get("ids").map(|ids| ids.split(',').collect()),
            trial: self.flag("trial")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(asked: &FilterFields<'_>) -> Result<ExecutionFilter, String> {
        asked.narrow(ExecutionFilter::default(), Timestamp::from_micros(5))
    }

    #[test]
    fn what_is_asked_is_read_or_named() {
        let id = "01a1e0f5-1856-7d0e-88d2-6567e1663034";
        let asked = FilterFields {
            label: Some("team:a:b"),
            version: Some("3"),
            error_code: Some("HTTP_STATUS"),
            retry_of: Some(id),
            longer_than: Some("30s"),
            ids: Some(vec![id, " 01a1e0f5-1856-7d0e-88d2-6567e1663035"]),
            ..FilterFields::default()
        };
        let filter = read(&asked).unwrap();
        assert_eq!(filter.label, Some(("team".into(), "a:b".into())));
        assert_eq!(filter.version, Some(3));
        assert_eq!(filter.statuses, Status::UNRESOLVED);
        assert_eq!(
            filter.retry_of.map(|id| id.to_string()).as_deref(),
            Some(id)
        );
        assert_eq!(filter.ids.map(|ids| ids.len()), Some(2));
        for (asked, part) in [
            (
                FilterFields {
                    label: Some("team"),
                    ..FilterFields::default()
                },
                "`NAME:VALUE`",
            ),
            (
                FilterFields {
                    label: Some(":x"),
                    ..FilterFields::default()
                },
                "`NAME:VALUE`",
            ),
            (
                FilterFields {
                    version: Some("0"),
                    ..FilterFields::default()
                },
                "from 1",
            ),
            (
                FilterFields {
                    version: Some("+1"),
                    ..FilterFields::default()
                },
                "from 1",
            ),
            (
                FilterFields {
                    forked_from: Some("x"),
                    ..FilterFields::default()
                },
                "`x` is no id",
            ),
            (
                FilterFields {
                    longer_than: Some("soon"),
                    ..FilterFields::default()
                },
                "`longer_than`",
            ),
            (
                FilterFields {
                    finished_since: Some("1"),
                    ..FilterFields::default()
                },
                "`finished_since`",
            ),
            (
                FilterFields {
                    ids: Some(vec![id; 501]),
                    ..FilterFields::default()
                },
                "it may name 500",
            ),
        ] {
            let fault = read(&asked).err().unwrap();
            assert!(fault.contains(part), "{fault}");
        }
    }
}
