//! `[limits]`: what one execution or request may cost.

use std::time::Duration;

use serde::Deserialize;

use super::DurationText;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsSection {
    /// Bytes of one step's output.
    pub step_output: Option<usize>,
    /// Bytes of a context.
    pub context: Option<usize>,
    /// Bytes of a request body.
    pub request_body: Option<usize>,
    /// How long the expressions of one config may take.
    pub expression_time: Option<DurationText>,
}

/// Less would end expressions that take no time to speak of, more would let one hold a core for long.
const EXPRESSION_TIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(60);

impl LimitsSection {
    pub(super) fn rules(&self) -> [(&'static str, bool); 1] {
        let time = self.expression_time.map(|text| text.0);
        [(
            "limits.expression_time must be between 10ms and 1m",
            time.is_none_or(|time| EXPRESSION_TIMES.contains(&time)),
        )]
    }
}
