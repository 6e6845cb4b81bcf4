//! `condition`: two ways to go on.

use async_trait::async_trait;
use pawl_kernel::node::FieldKind::Text;
use pawl_kernel::node::FieldMode::Expression;
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::parse;
use pawl_kernel::node::field::required;

static SPEC: NodeSpec = NodeSpec {
    node_type: "condition",
    title: "Condition",
    category: "flow",
    doc: "Goes on by `true` or by `false`. The expression must give a boolean: there is no guessing what an \
          empty text or a zero means, so compare (`{{x}} != \"\"`, `len({{list}}) > 0`). An edge without a \
          `sourceHandle` leaves by `true`.",
    pure: true,
    handles: &["true", "false"],
    fields: &[required(
        "expression",
        Text,
        Expression,
        "What decides. The whole text is an expression; `{{…}}` around a path may be left out.",
    )],
    output: "`{\"result\": true}` or `{\"result\": false}`.",
    example: "expression: \"{{steps.http_1.output.status_code}} == 200\"",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(deserialize_with = "parse::present")]
    expression: Option<Value>,
}

pub(crate) struct Condition;

#[async_trait]
impl NodeHandler for Condition {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        output_object(&[("result", json!({"type": "boolean"}))])
    }

    /// As editors without handles draw it: the edge is for when the condition holds.
    fn unnamed_exit(&self) -> Option<&'static str> {
        Some("true")
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        match config.expression.unwrap_or_default() {
            Value::Bool(result) => {
                let handle = if result { "true" } else { "false" };
                Ok(Outcome::exit(handle, json!({"result": result})))
            }
            other => Err(parse::type_error(format!(
                "the expression must give true or false, but it gave {}; compare it with something",
                parse::kind_of(&other)
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Condition;
    use crate::testing::{error, output};

    #[tokio::test]
    async fn leaves_by_the_result() {
        let yes = output(&Condition, json!({"expression": true}), "true").await;
        assert_eq!(yes, json!({"result": true}));
        let no = output(&Condition, json!({"expression": false}), "false").await;
        assert_eq!(no, json!({"result": false}));
    }

    #[tokio::test]
    async fn nothing_but_a_boolean_will_do() {
        for value in [json!(null), json!(1), json!("true"), json!([]), json!({})] {
            error(&Condition, json!({"expression": value}), "TYPE_ERROR").await;
        }
    }

    #[tokio::test]
    async fn the_expression_is_needed() {
        error(&Condition, json!({}), "TYPE_ERROR").await;
    }
}
