//! `switch`: many ways to go on; the first case that matches wins.

use std::collections::BTreeSet;

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{Any, List, Object, Text};
use pawl_kernel::node::FieldMode::{Expression, Raw, Template};
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{
    FieldKind, FieldSpec, NodeCall, NodeError, NodeHandler, NodeSpec, Outcome,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::parse;
use pawl_kernel::node::field::{optional, required};

static SPEC: NodeSpec = NodeSpec {
    node_type: "switch",
    title: "Switch",
    category: "flow",
    doc: "Goes on by the first case that matches, else by `default`. A case matches when its `when` is true. \
          With a `value`, a `when` that gives anything but a boolean is compared with it: `value: \
          \"{{input.kind}}\"` and `when: \"'refund'\"`. Each case is an exit with the name of the case; every \
          edge has to name one.",
    pure: true,
    handles: &["default"],
    fields: &[
        optional("value", Any, Template, "What the cases are compared with."),
        required("cases", List(&CASE), Template, "The cases, tried in order."),
    ],
    output: "`{\"case\": \"name\"}`: the case that matched, or `default`.",
    example: "value: \"{{input.kind}}\"\ncases:\n  - { name: refund, when: \"'refund'\" }\n  \
              - { name: large, when: \"{{input.amount}} > 1000\" }",
};

const CASE: FieldKind = Object(CASE_FIELDS);

const CASE_FIELDS: &[FieldSpec] = &[
    required(
        "name",
        Text,
        Raw,
        "The exit to leave by; unique in the node.",
    ),
    required(
        "when",
        Any,
        Expression,
        "A condition, or with `value` an expression to compare it with.",
    ),
];

const DEFAULT: &str = "default";
/// These mean something to edges already.
const RESERVED: [&str; 4] = ["success", "output", "error", DEFAULT];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default, deserialize_with = "parse::present")]
    value: Option<Value>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(deserialize_with = "parse::present")]
    when: Option<Value>,
}

pub(crate) struct Switch;

#[async_trait]
impl NodeHandler for Switch {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn exits_from(&self) -> Option<&'static str> {
        Some("/cases/*/name")
    }

    fn output_schema(&self) -> Value {
        output_object(&[("case", json!({"type": "string"}))])
    }

    fn handles(&self, config: &Value) -> Vec<String> {
        let names = case_names(config).into_iter().flatten().map(str::to_owned);
        names.chain([DEFAULT.to_owned()]).collect()
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        let names = case_names(config);
        if names.is_empty() && config.get("cases").is_some_and(Value::is_array) {
            let message = "a switch needs at least one case";
            return vec![Diagnostic::error("INVALID_CASE", "/cases", message)];
        }
        let mut seen = BTreeSet::new();
        let mut problems = Vec::new();
        for (at, name) in names.into_iter().enumerate() {
            let problem = name.and_then(|name| name_problem(name, seen.insert(name)));
            let pointer = format!("/cases/{at}/name");
            problems.extend(problem.map(|text| Diagnostic::error("INVALID_CASE", pointer, text)));
        }
        problems
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let Config { value, cases } = parse::config(&mut call)?;
        for case in cases {
            if matches(&case, value.as_ref())? {
                let output = json!({"case": case.name});
                return Ok(Outcome::exit(case.name, output));
            }
        }
        Ok(Outcome::exit(DEFAULT, json!({"case": DEFAULT})))
    }
}

fn case_names(config: &Value) -> Vec<Option<&str>> {
    let cases = config
        .get("cases")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    cases
        .map(|case| case.get("name").and_then(Value::as_str))
        .collect()
}

fn name_problem(name: &str, is_new: bool) -> Option<String> {
    if name.trim().is_empty() {
        return Some("a case needs a name: it is the exit that edges start from".into());
    }
    if RESERVED.contains(&name) {
        return Some(format!(
            "`{name}` is the name of another exit; call the case something else"
        ));
    }
    (!is_new).then(|| format!("there are two cases called `{name}`"))
}

fn matches(case: &Case, value: Option<&Value>) -> Result<bool, NodeError> {
    match (case.when.as_ref().unwrap_or(&Value::Null), value) {
        (Value::Bool(holds), _) => Ok(*holds),
        (when, Some(value)) => Ok(same(when, value)),
        (when, None) => Err(parse::type_error(format!(
            "`when` of the case `{}` must give true or false, but it gave {}; to compare it, set `value`",
            case.name,
            parse::kind_of(when)
        ))),
    }
}

/// As `==` in expressions: 1 equals 1.0, and nothing equals a value of another kind.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::node::NodeHandler;
    use serde_json::{Value, json};

    use super::Switch;
    use crate::testing::{error, output};

    async fn check(value: Value, whens: &[Value], case: &str) {
        let cases: Vec<_> = whens
            .iter()
            .enumerate()
            .map(|(i, when)| json!({"name": format!("c{i}"), "when": when}))
            .collect();
        let config = json!({"value": value, "cases": cases});
        assert_eq!(output(&Switch, config, case).await, json!({"case": case}));
    }

    #[tokio::test]
    async fn the_first_match_wins() {
        check(json!(0), &[json!(false), json!(true), json!(true)], "c1").await;
        check(json!("b"), &[json!("a"), json!("b"), json!(true)], "c1").await;
        check(json!(1), &[json!("1"), json!(1.0)], "c1").await;
        check(json!({"a": [1, 2]}), &[json!({"a": [1.0, 2]})], "c0").await;
        check(json!("z"), &[json!("a"), json!(false)], "default").await;
    }

    #[tokio::test]
    async fn a_null_value_is_a_value() {
        check(Value::Null, &[json!("a"), json!(null)], "c1").await;
    }

    #[tokio::test]
    async fn conditions_work_without_a_value() {
        let config =
            json!({"cases": [{"name": "small", "when": false}, {"name": "big", "when": true}]});
        assert_eq!(output(&Switch, config, "big").await, json!({"case": "big"}));
    }

    #[tokio::test]
    async fn without_a_value_only_conditions_work() {
        let config = json!({"cases": [{"name": "a", "when": "x"}]});
        assert!(
            error(&Switch, config, "TYPE_ERROR")
                .await
                .message
                .contains("set `value`")
        );
    }

    #[tokio::test]
    async fn a_case_needs_when() {
        error(&Switch, json!({"cases": [{"name": "a"}]}), "TYPE_ERROR").await;
    }

    #[test]
    fn every_case_is_an_exit() {
        let config = json!({"cases": [{"name": "a"}, {"name": "b"}]});
        assert_eq!(Switch.handles(&config), ["a", "b", "default"]);
        assert_eq!(Switch.handles(&Value::Null), ["default"]);
    }

    #[test]
    fn names_are_checked_when_saved() {
        let named = |names: &[&str]| {
            let cases: Vec<_> = names
                .iter()
                .map(|name| json!({"name": name, "when": "true"}))
                .collect();
            Switch.check(&json!({"cases": cases}))
        };
        assert!(named(&["a", "b"]).is_empty());
        let twice = named(&["a", "b", "a"]);
        assert_eq!(
            (twice.len(), twice[0].pointer.as_str()),
            (1, "/cases/2/name")
        );
        for bad in ["", " ", "default", "error", "success", "output"] {
            assert_eq!(named(&[bad]).len(), 1, "{bad:?}");
        }
        assert_eq!(named(&[]).len(), 1);
    }
}
