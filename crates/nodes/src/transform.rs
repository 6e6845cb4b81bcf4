//! `transform`: builds values out of others.

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{Any, Map as MapOf};
use pawl_kernel::node::FieldMode::Template;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::parse;
use pawl_kernel::node::field::optional;

static SPEC: NodeSpec = NodeSpec {
    node_type: "transform",
    title: "Transform",
    category: "data",
    doc: "Sets variables and builds an output. All values of `set` are worked out before any of them is set, \
          so `set: { a: \"{{variables.b}}\", b: \"{{variables.a}}\" }` swaps the two.",
    pure: true,
    handles: &[],
    fields: &[
        optional("set", MapOf(&Any), Template, "Variables to set, by name."),
        optional("output", Any, Template, "The output of the step."),
    ],
    output: "The value of `output` if given, else the object of `set`.",
    example: "set:\n  total: \"{{variables.price * variables.count}}\"\noutput:\n  \
              names: \"{{map(steps.http_1.output.body.users, u => u.name)}}\"",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    set: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "parse::present")]
    output: Option<Value>,
}

pub(crate) struct Transform;

#[async_trait]
impl NodeHandler for Transform {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        if config.get("set").is_none() && config.get("output").is_none() {
            return vec![Diagnostic::error(
                "MISSING_FIELD",
                "",
                "a transform needs `set` or `output`, or both",
            )];
        }
        let set = config
            .get("set")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        set.filter_map(|(name, _)| {
            let message = parse::check_variable(name).err()?;
            let pointer = format!("/set/{}", name.replace('~', "~0").replace('/', "~1"));
            Some(Diagnostic::error("INVALID_VARIABLE_NAME", pointer, message))
        })
        .collect()
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        let changes = config.set.unwrap_or_default();
        for name in changes.keys() {
            parse::check_variable(name).map_err(parse::type_error)?;
        }
        Ok(Outcome::Done {
            handle: "success".into(),
            output: config
                .output
                .unwrap_or_else(|| Value::Object(changes.clone())),
            changes,
            logs: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::node::{NodeHandler, Outcome};
    use serde_json::{Value, json};

    use super::Transform;
    use crate::testing::{error, run};

    async fn check(config: Value, output: Value, changes: Value) {
        let result = run(&Transform, config).await;
        let Ok(Outcome::Done {
            output: got,
            changes: set,
            ..
        }) = result
        else {
            panic!("{result:?}")
        };
        assert_eq!((got, Value::Object(set)), (output, changes));
    }

    #[tokio::test]
    async fn output_is_the_output_or_what_was_set() {
        check(json!({"set": {"a": 1}}), json!({"a": 1}), json!({"a": 1})).await;
        check(
            json!({"set": {"a": 1}, "output": [2]}),
            json!([2]),
            json!({"a": 1}),
        )
        .await;
        check(
            json!({"set": {"a": 1}, "output": null}),
            Value::Null,
            json!({"a": 1}),
        )
        .await;
        check(json!({"output": "x"}), json!("x"), json!({})).await;
    }

    #[tokio::test]
    async fn bad_names_are_refused() {
        error(&Transform, json!({"set": {"a b": 1}}), "TYPE_ERROR").await;
    }

    #[tokio::test]
    async fn set_must_be_an_object() {
        error(&Transform, json!({"set": [1]}), "TYPE_ERROR").await;
    }

    #[test]
    fn checked_when_saved() {
        assert_eq!(Transform.check(&json!({}))[0].code, "MISSING_FIELD");
        assert_eq!(
            Transform.check(&json!({"set": {"a/b": 1, "c": 2}}))[0].pointer,
            "/set/a~1b"
        );
        assert!(Transform.check(&json!({"output": 1})).is_empty());
    }
}
