//! `variable_set`: gives one variable a value.

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{Any, Text};
use pawl_kernel::node::FieldMode::Template;
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::parse;
use pawl_kernel::node::field::required;

static SPEC: NodeSpec = NodeSpec {
    node_type: "variable_set",
    title: "Set variable",
    category: "data",
    doc: "Gives a variable a value. From here on it is `variables.NAME`, until another node sets it again. To \
          set several at once, use `transform`.",
    pure: true,
    handles: &[],
    fields: &[
        required(
            "variable",
            Text,
            Template,
            "The name: letters, digits and `_`, not beginning with a digit.",
        ),
        required(
            "value",
            Any,
            Template,
            "The value; a text that is one `{{…}}` keeps the type of what it gives.",
        ),
    ],
    output: "`{\"variable\", \"value\"}`.",
    example: "variable: user_age\nvalue: \"{{steps.http_1.output.body.age}}\"",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    variable: String,
    #[serde(deserialize_with = "parse::present")]
    value: Option<Value>,
}

pub(crate) struct VariableSet;

#[async_trait]
impl NodeHandler for VariableSet {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        output_object(&[
            ("variable", json!({"type": "string"})),
            ("value", json!({})),
        ])
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        parse::variable_diagnostic(config, "variable")
            .into_iter()
            .collect()
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        parse::check_variable(&config.variable).map_err(parse::type_error)?;
        let value = config.value.unwrap_or_default();
        Ok(Outcome::Done {
            handle: "success".into(),
            output: json!({"variable": config.variable, "value": value}),
            changes: Map::from_iter([(config.variable, value)]),
            logs: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::node::{NodeHandler, Outcome};
    use serde_json::{Map, Value, json};

    use super::VariableSet;
    use crate::testing::{error, run};

    #[tokio::test]
    async fn sets_the_variable() {
        let result = run(
            &VariableSet,
            json!({"variable": "возраст_2", "value": {"a": 1}}),
        )
        .await;
        let Ok(Outcome::Done {
            output, changes, ..
        }) = result
        else {
            panic!("{result:?}")
        };
        assert_eq!(output, json!({"variable": "возраст_2", "value": {"a": 1}}));
        assert_eq!(
            changes,
            Map::from_iter([("возраст_2".to_owned(), json!({"a": 1}))])
        );
    }

    #[tokio::test]
    async fn null_is_a_value() {
        let result = run(&VariableSet, json!({"variable": "a", "value": null})).await;
        let Ok(Outcome::Done { changes, .. }) = result else {
            panic!("{result:?}")
        };
        assert_eq!(changes["a"], Value::Null);
    }

    #[tokio::test]
    async fn bad_names_are_refused() {
        let long = "a".repeat(101);
        for name in ["", "1a", "a b", "a.b", "a-b", "{{x}}", "a\n", long.as_str()] {
            error(
                &VariableSet,
                json!({"variable": name, "value": 1}),
                "TYPE_ERROR",
            )
            .await;
        }
    }

    #[tokio::test]
    async fn the_value_is_needed() {
        error(&VariableSet, json!({"variable": "a"}), "TYPE_ERROR").await;
    }

    #[test]
    fn names_are_checked_when_saved() {
        assert_eq!(
            VariableSet.check(&json!({"variable": "a b"}))[0].pointer,
            "/variable"
        );
        assert!(
            VariableSet
                .check(&json!({"variable": "{{input.name}}"}))
                .is_empty()
        );
        assert!(VariableSet.check(&json!({"variable": "a"})).is_empty());
    }
}
