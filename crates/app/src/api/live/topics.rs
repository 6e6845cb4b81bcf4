//! What a page wants to hear of: `executions,letters,workers,schemas,run:ID,run:ID@VERSION`.

use pawl_kernel::id::ExecutionId;

use super::pulse::PulseTopics;
use crate::api::error::{ApiError, ApiResult};
use crate::api::guard::shorten;
use crate::api::query::Query;

/// Executions that one stream tells of in detail.
pub(in crate::api) const RUNS_MAX: usize = 16;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Topics {
    pub(super) executions: bool,
    letters: bool,
    workers: bool,
    schemas: bool,
    /// Each with the version up to which the client knows it.
    pub(super) runs: Vec<(ExecutionId, u64)>,
    /// Without payloads.
    pub(super) brief: bool,
    /// With log lines.
    pub(super) logs: bool,
}

impl Topics {
    pub(super) fn read(query: &Query) -> ApiResult<Self> {
        let missing = || {
            ApiError::invalid_query(
                "`topics` is missing: any of executions, letters, workers, schemas and run:ID, with commas between them",
            )
        };
        let text = query.get("topics").ok_or_else(missing)?;
        let brief = query.flag("brief")?;
        let topics = Self::parse(text, brief).map_err(ApiError::invalid_query)?;
        Ok(Self {
            logs: query.flag("logs")?,
            ..topics
        })
    }

    fn parse(text: &str, brief: bool) -> Result<Self, String> {
        let mut topics = Self {
            brief,
            ..Self::default()
        };
        for word in text.split(',') {
            match word.strip_prefix("run:") {
                Some(run) => topics.runs.push(read_run(run)?),
                None => *topics.named(word)? = true,
            }
        }
        match topics.runs.len() <= RUNS_MAX {
            true => Ok(topics),
            false => Err(format!("`topics` names more than {RUNS_MAX} executions")),
        }
    }

    fn named(&mut self, word: &str) -> Result<&mut bool, String> {
        Ok(match word {
            "executions" => &mut self.executions,
            "letters" => &mut self.letters,
            "workers" => &mut self.workers,
            "schemas" => &mut self.schemas,
            other => {
                return Err(format!(
                    "`topics`: `{}` is none of executions, letters, workers, schemas, run:ID",
                    shorten(other)
                ));
            }
        })
    }

    pub(super) fn pulse(&self) -> Option<PulseTopics> {
        let wanted = PulseTopics {
            letters: self.letters,
            workers: self.workers,
            schemas: self.schemas,
        };
        (self.letters || self.workers || self.schemas).then_some(wanted)
    }
}

/// `ID` or `ID@VERSION`.
fn read_run(text: &str) -> Result<(ExecutionId, u64), String> {
    let (id, seen) = text.split_once('@').unwrap_or((text, "0"));
    let read = id.parse().ok().zip(seen.parse().ok());
    read.ok_or_else(|| {
        format!(
            "`topics`: `run:{}` is not run:ID or run:ID@VERSION",
            shorten(text)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a1e0f5-1856-7d0e-88d2-6567e1663034";

    #[test]
    fn topics_in_every_spelling() {
        let read = Topics::parse(&format!("executions,run:{ID}@17,workers,run:{ID}"), true);
        let id: ExecutionId = ID.parse().unwrap();
        let expected = Topics {
            executions: true,
            workers: true,
            runs: vec![(id, 17), (id, 0)],
            brief: true,
            ..Topics::default()
        };
        assert_eq!(read, Ok(expected));
        let many = vec![format!("run:{ID}"); RUNS_MAX + 1].join(",");
        for wrong in [
            "",
            "all",
            "executions,",
            "run:",
            "run:x",
            &format!("run:{ID}@"),
            &format!("run:{ID}@-1"),
            &many,
        ] {
            let reason = Topics::parse(wrong, false).unwrap_err();
            assert!(reason.contains("`topics`"), "{wrong}: {reason}");
        }
    }
}
