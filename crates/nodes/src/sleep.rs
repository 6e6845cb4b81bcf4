//! `sleep`: goes on later. The time is fixed when the node is entered, so a crash does not restart it.

use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{self, Choice, Either, Number, Text};
use pawl_kernel::node::FieldMode::Template;
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use pawl_kernel::time::{Timestamp, duration_from_seconds, parse_duration};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::parse;
use pawl_kernel::node::field::{defaulted, optional};

static SPEC: NodeSpec = NodeSpec {
    node_type: "sleep",
    title: "Sleep",
    category: "time",
    doc: "Waits for a time, seconds or years, and goes on. Sleeping costs nothing: no worker is held, and \
          restarts and deployments do not matter. Give `duration`, or `until` for a point in time; one that \
          is past does not wait at all.",
    pure: true,
    handles: &[],
    fields: &[
        optional(
            "duration",
            FieldKind::Duration,
            Template,
            "How long: a number of `unit`, or text like `1h30m`.",
        ),
        defaulted(
            "unit",
            Choice(&["seconds", "minutes", "hours", "days"]),
            Template,
            "\"seconds\"",
            "What a plain number in `duration` counts.",
        ),
        optional(
            "until",
            Either(&[Text, Number]),
            Template,
            "RFC 3339 with an offset, or seconds since 1970.",
        ),
    ],
    output: "`{slept_until}`.",
    example: "duration: 30\nunit: minutes",
};

const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    duration: Option<Value>,
    unit: Option<Unit>,
    until: Option<Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Seconds,
    Minutes,
    Hours,
    Days,
}

pub(crate) struct Sleep;

#[async_trait]
impl NodeHandler for Sleep {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        output_object(&[(
            "slept_until",
            json!({"type": "string", "format": "date-time"}),
        )])
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        let has = |field: &str| config.get(field).is_some_and(|value| !value.is_null());
        let problem = match (has("duration"), has("until"), has("unit")) {
            (true, true, _) => "give `duration` or `until`, not both",
            (false, false, _) => "give `duration` (how long) or `until` (a point in time)",
            (false, true, true) => "`unit` belongs to `duration`; leave it out with `until`",
            _ => return Vec::new(),
        };
        vec![Diagnostic::error("INVALID_FIELD", "", problem)]
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let (entered_at, config) = (call.entered_at, parse::config::<Config>(&mut call)?);
        let until = match (config.duration, config.until) {
            (Some(duration), None) => {
                length(&duration, config.unit).map(|length| entered_at.plus(length))
            }
            (None, Some(until)) => moment(&until, entered_at),
            _ => Err("give exactly one of `duration` and `until`".into()),
        };
        until
            .map(|until| Outcome::Sleep { until })
            .map_err(parse::type_error)
    }
}

impl Unit {
    fn seconds(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Minutes => 60.0,
            Self::Hours => 3_600.0,
            Self::Days => 86_400.0,
        }
    }
}

fn length(duration: &Value, unit: Option<Unit>) -> Result<Duration, String> {
    let number = match duration {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        other => return Err(format!("{} is not a valid duration", parse::kind_of(other))),
    };
    match (number, unit, duration) {
        (Some(number), unit, _) => {
            duration_from_seconds(number * unit.unwrap_or(Unit::Seconds).seconds())
        }
        (None, None, Value::String(text)) => parse_duration(text),
        (None, ..) => {
            Err("with `unit`, `duration` is a plain number; leave out one of the two".into())
        }
    }
}

fn moment(until: &Value, entered_at: Timestamp) -> Result<Timestamp, String> {
    let text = match until {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        other => return Err(format!("{} is no point in time", parse::kind_of(other))),
    };
    let moment = Timestamp::parse(&text).ok_or_else(|| {
        format!(
            "`{text}` is no point in time; write 2030-01-31T12:00:00+03:00 or seconds since 1970"
        )
    })?;
    if moment.since(entered_at) > LONGEST {
        return Err(format!(
            "`{text}` is more than a hundred years away; numbers count seconds, not milliseconds"
        ));
    }
    Ok(moment)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pawl_kernel::node::{NodeHandler, Outcome};
    use pawl_kernel::time::Timestamp;
    use serde_json::{Value, json};

    use super::Sleep;
    use crate::testing::{ENTERED_AT, error, run};

    async fn check(config: Value, seconds: f64) {
        let until = ENTERED_AT.plus(Duration::from_secs_f64(seconds));
        assert_eq!(
            run(&Sleep, config.clone()).await,
            Ok(Outcome::Sleep { until }),
            "{config}"
        );
    }

    #[tokio::test]
    async fn counts_from_the_arrival_in_any_unit() {
        check(json!({"duration": 1.5}), 1.5).await;
        check(json!({"duration": 0}), 0.0).await;
        check(json!({"duration": 2, "unit": "minutes"}), 120.0).await;
        check(json!({"duration": "2", "unit": "hours"}), 7_200.0).await;
        check(json!({"duration": 365, "unit": "days"}), 31_536_000.0).await;
        check(json!({"duration": "1h30m"}), 5_400.0).await;
        check(json!({"duration": "PT5M"}), 300.0).await;
    }

    #[tokio::test]
    async fn sleeps_until_a_moment() {
        check(json!({"until": "2025-01-01T03:00:30+03:00"}), 30.0).await;
        check(json!({"until": 1_735_689_660}), 60.0).await;
        check(json!({"until": "1735689660.5"}), 60.5).await;
        let past = Outcome::Sleep {
            until: Timestamp::from_micros(0),
        };
        assert_eq!(run(&Sleep, json!({"until": 0})).await, Ok(past));
    }

    #[tokio::test]
    async fn impossible_durations_are_refused() {
        for duration in [
            json!(-1),
            json!("-1"),
            json!("NaN"),
            json!("inf"),
            json!(1e300),
            json!(4e9),
            json!("soon"),
            json!(""),
            json!([]),
            json!(true),
            json!(null),
        ] {
            error(&Sleep, json!({"duration": duration}), "TYPE_ERROR").await;
        }
        error(
            &Sleep,
            json!({"duration": 40_000, "unit": "days"}),
            "TYPE_ERROR",
        )
        .await;
        error(
            &Sleep,
            json!({"duration": "5m", "unit": "days"}),
            "TYPE_ERROR",
        )
        .await;
        error(
            &Sleep,
            json!({"duration": 5, "unit": "years"}),
            "TYPE_ERROR",
        )
        .await;
    }

    #[tokio::test]
    async fn impossible_moments_are_refused() {
        for until in [
            json!("tomorrow"),
            json!("2025-01-01"),
            json!("NaN"),
            json!(1_735_689_600_000_i64),
            json!({}),
        ] {
            error(&Sleep, json!({"until": until}), "TYPE_ERROR").await;
        }
    }

    #[tokio::test]
    async fn exactly_one_is_needed() {
        error(&Sleep, json!({}), "TYPE_ERROR").await;
        error(&Sleep, json!({"duration": 1, "until": 1}), "TYPE_ERROR").await;
    }

    #[test]
    fn checked_when_saved() {
        for bad in [
            json!({}),
            json!({"duration": 1, "until": 1}),
            json!({"until": 1, "unit": "days"}),
        ] {
            assert_eq!(Sleep.check(&bad).len(), 1, "{bad}");
        }
        assert!(
            Sleep
                .check(&json!({"duration": "{{x}}", "unit": "days"}))
                .is_empty()
        );
    }
}
