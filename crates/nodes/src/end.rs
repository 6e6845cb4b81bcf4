//! `end`: ends the execution, well or badly.

use async_trait::async_trait;
use pawl_kernel::node::FieldKind::{Any, Boolean, Text};
use pawl_kernel::node::FieldMode::Template;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde::Deserialize;
use serde_json::Value;

use crate::parse;
use pawl_kernel::node::field::{defaulted, optional};

static SPEC: NodeSpec = NodeSpec {
    node_type: "end",
    title: "End",
    category: "flow",
    doc: "Ends the execution. With `success: false` it ends as failed, which is how a workflow says that it \
          ran as planned but did not reach its goal. To end with an error code of your own, use `fail`.",
    pure: true,
    handles: &[],
    fields: &[
        defaulted(
            "success",
            Boolean,
            Template,
            "true",
            "Whether the execution counts as completed or as failed.",
        ),
        optional(
            "message",
            Text,
            Template,
            "Why it ended; shown in the list of executions when it failed.",
        ),
        optional(
            "output",
            Any,
            Template,
            "The output of the whole execution.",
        ),
    ],
    output: "The value of `output`, or null. It is the output of the execution too.",
    example: "success: true\noutput:\n  total: \"{{variables.total}}\"",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    success: Option<bool>,
    message: Option<String>,
    #[serde(default)]
    output: Value,
}

pub(crate) struct End;

#[async_trait]
impl NodeHandler for End {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        Ok(Outcome::End {
            success: config.success.unwrap_or(true),
            output: config.output,
            message: config.message,
        })
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::node::Outcome;
    use serde_json::{Value, json};

    use super::End;
    use crate::testing::{error, run};

    #[tokio::test]
    async fn ends_well_unless_told_otherwise() {
        let plain = Outcome::End {
            success: true,
            output: Value::Null,
            message: None,
        };
        assert_eq!(run(&End, Value::Null).await, Ok(plain));
    }

    #[tokio::test]
    async fn carries_output_and_message() {
        let config = json!({"success": false, "message": "no stock", "output": {"left": 0}});
        let told = Outcome::End {
            success: false,
            output: json!({"left": 0}),
            message: Some("no stock".into()),
        };
        assert_eq!(run(&End, config).await, Ok(told));
    }

    #[tokio::test]
    async fn success_must_be_a_boolean() {
        error(&End, json!({"success": "yes"}), "TYPE_ERROR").await;
    }

    #[tokio::test]
    async fn unknown_fields_are_refused() {
        error(&End, json!({"sucess": true}), "TYPE_ERROR").await;
    }
}
