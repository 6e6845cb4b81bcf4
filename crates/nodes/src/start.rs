//! `start`: where every execution begins.

use async_trait::async_trait;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::parse;

static SPEC: NodeSpec = NodeSpec {
    node_type: "start",
    title: "Start",
    category: "flow",
    doc: "Where every execution begins. A schema has exactly one. What the execution was started with is in \
          `input`, `webhook` and `user`; the node itself does nothing.",
    pure: true,
    handles: &[],
    fields: &[],
    output: "`{}`, an empty object.",
    example: "{}",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {}

pub(crate) struct Start;

#[async_trait]
impl NodeHandler for Start {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        json!({"type": "object", "maxProperties": 0})
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let Config {} = parse::config(&mut call)?;
        Ok(Outcome::done(json!({})))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Start;
    use crate::testing::{error, output};

    #[tokio::test]
    async fn starts_with_or_without_a_config() {
        assert_eq!(output(&Start, json!({}), "success").await, json!({}));
        assert_eq!(output(&Start, Value::Null, "success").await, json!({}));
    }

    #[tokio::test]
    async fn has_no_fields() {
        let error = error(&Start, json!({"input": 1}), "TYPE_ERROR").await;
        assert!(error.message.contains("input"), "{}", error.message);
    }

    #[tokio::test]
    async fn takes_no_list() {
        error(&Start, json!("text"), "TYPE_ERROR").await;
    }
}
