//! `wait_event`: waits for a signal from outside.

use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::node::FieldKind::{self, Text};
use pawl_kernel::node::FieldMode::Template;
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use pawl_kernel::schema::definition::{HANDLE_SUCCESS, HANDLE_TIMEOUT};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::parse;
use pawl_kernel::node::field::{optional, required};

static SPEC: NodeSpec = NodeSpec {
    node_type: "wait_event",
    title: "Wait for event",
    category: "time",
    doc: "Waits until a signal with this name is sent to the execution. Signals come by `POST \
          /api/executions/{id}/signals/{name}`. Waiting costs nothing and survives restarts. With a `timeout` \
          it goes on by `timeout` when none came in time, or fails with `EVENT_TIMEOUT` if no edge leads on from \
          there; without one it waits as long as the execution may run.",
    pure: true,
    handles: &[HANDLE_SUCCESS, HANDLE_TIMEOUT],
    fields: &[
        required(
            "name",
            Text,
            Template,
            "The name of the signal, up to 200 characters.",
        ),
        optional(
            "timeout",
            FieldKind::Duration,
            Template,
            "How long to wait at most, counted from the arrival here.",
        ),
    ],
    output: "`{name, id, payload, received_at}` of the signal taken; `{name, timed_out: true}` after a timeout.",
    example: "name: approved\ntimeout: 2d",
};

const NAME_CHARS_MAX: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    name: String,
    #[serde(default, deserialize_with = "parse::duration")]
    timeout: Option<Duration>,
}

pub(crate) struct WaitEvent;

#[async_trait]
impl NodeHandler for WaitEvent {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        output_object(&[
            ("name", json!({"type": "string"})),
            ("id?", json!({"type": "string"})),
            ("payload?", json!({})),
            (
                "received_at?",
                json!({"type": "string", "format": "date-time"}),
            ),
            ("timed_out?", json!({"const": true})),
        ])
    }

    /// Without a limit nothing is ever too late.
    fn handles(&self, config: &Value) -> Vec<String> {
        let has_limit = config.get("timeout").is_some_and(|limit| !limit.is_null());
        let exits = SPEC.handles.iter().copied();
        exits
            .filter(|exit| has_limit || *exit != HANDLE_TIMEOUT)
            .map(str::to_owned)
            .collect()
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        check_name(&config.name)?;
        Ok(Outcome::Wait {
            event: config.name,
            timeout: config.timeout,
        })
    }
}

/// The name is a segment of a URL and a key in the store.
fn check_name(name: &str) -> Result<(), NodeError> {
    let count = name.chars().count();
    if count == 0 || count > NAME_CHARS_MAX || name.contains(char::is_control) {
        return Err(parse::type_error(format!(
            "the name of an event has 1 to {NAME_CHARS_MAX} characters and no line breaks"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pawl_kernel::node::{NodeHandler, Outcome};
    use serde_json::{Value, json};

    use super::WaitEvent;
    use crate::testing::{error, run};

    async fn check(timeout: Value, seconds: Option<f64>) {
        let wait = Outcome::Wait {
            event: "approved".into(),
            timeout: seconds.map(Duration::from_secs_f64),
        };
        assert_eq!(
            run(&WaitEvent, json!({"name": "approved", "timeout": timeout})).await,
            Ok(wait)
        );
    }

    #[tokio::test]
    async fn waits_with_or_without_end() {
        check(Value::Null, None).await;
        check(json!("2d"), Some(172_800.0)).await;
        check(json!(1.5), Some(1.5)).await;
        check(json!("PT1M"), Some(60.0)).await;
    }

    #[test]
    fn only_a_limit_can_be_passed() {
        let exits = |timeout: Value| WaitEvent.handles(&json!({"name": "a", "timeout": timeout}));
        assert_eq!(exits(json!("{{input.patience}}")), ["success", "timeout"]);
        assert_eq!(exits(Value::Null), ["success"]);
        assert_eq!(WaitEvent.handles(&Value::Null), ["success"]);
    }

    #[tokio::test]
    async fn bad_timeouts_are_refused() {
        for timeout in [
            json!("soon"),
            json!(-1),
            json!(1e300),
            json!(true),
            json!([]),
        ] {
            error(
                &WaitEvent,
                json!({"name": "a", "timeout": timeout}),
                "TYPE_ERROR",
            )
            .await;
        }
    }

    #[tokio::test]
    async fn bad_names_are_refused() {
        for name in [
            json!(""),
            json!("a\nb"),
            json!("x".repeat(201)),
            json!(1),
            Value::Null,
        ] {
            error(&WaitEvent, json!({"name": name}), "TYPE_ERROR").await;
        }
    }
}
