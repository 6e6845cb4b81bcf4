//! `math`: one calculation, exact wherever it can be.

mod number;

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{Choice, Either, Number as AnyNumber, Text};
use pawl_kernel::node::FieldMode::Template;
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{FieldKind, NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::number::Number;
use crate::parse;
use pawl_kernel::node::field::{optional, required};

static SPEC: NodeSpec = NodeSpec {
    node_type: "math",
    title: "Math",
    category: "data",
    doc: "Calculates with one or two numbers. Integers are exact, and overflow is an error (`MATH_ERROR`), as is \
          division by zero. `6 / 2` is 3 and `7 / 2` is 3.5. Text holding a number works too: whole numbers \
          count as integers, others as exact decimals, so `\"0.10\" + \"0.20\"` is `\"0.30\"`. `modulo` has the \
          sign of the first operand; `round` rounds halves away from zero.",
    pure: true,
    handles: &[],
    fields: &[
        required("operation", Choice(OPERATIONS), Template, "What to do."),
        required("operand1", OPERAND, Template, "The first number.").titled("First number"),
        optional(
            "operand2",
            OPERAND,
            Template,
            "The second number; for `round` the digits to keep, 0 if left out.",
        )
        .titled("Second number")
        .only_when("operation", BINARY),
        optional(
            "result_variable",
            Text,
            Template,
            "A variable to put the result in.",
        ),
    ],
    output: "`{\"result\": number}`; decimals are text.",
    example: "operation: multiply\noperand1: \"{{input.price}}\"\noperand2: 3\nresult_variable: total",
};

const OPERAND: FieldKind = Either(&[AnyNumber, Text]);
/// With two numbers, or with digits to keep.
const BINARY: &[&str] = &[
    "add", "subtract", "multiply", "divide", "modulo", "power", "min", "max", "round",
];
const OPERATIONS: &[&str] = &[
    "add", "subtract", "multiply", "divide", "modulo", "power", "min", "max", "round", "abs",
];
const DIGITS_MAX: u32 = 28;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    operation: Operation,
    operand1: Value,
    operand2: Option<Value>,
    result_variable: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Min,
    Max,
    Round,
    Abs,
}

pub(crate) struct Math;

#[async_trait]
impl NodeHandler for Math {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        output_object(&[("result", json!({"type": ["number", "string"]}))])
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        let second = config.get("operand2").is_some_and(|value| !value.is_null());
        let operand = match parse::literal(config.get("operation")) {
            Some("abs") if second => Some("`abs` takes one number; leave out `operand2`"),
            Some("abs" | "round") | None => None,
            Some(_) if second => None,
            Some(_) => Some("this operation needs `operand2`"),
        };
        let operand =
            operand.map(|message| Diagnostic::error("INVALID_FIELD", "/operand2", message));
        operand
            .into_iter()
            .chain(parse::variable_diagnostic(config, "result_variable"))
            .collect()
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        let result = calculate(&config)?.to_value();
        let mut changes = Map::new();
        if let Some(variable) = config.result_variable {
            parse::check_variable(&variable).map_err(parse::type_error)?;
            changes.insert(variable, result.clone());
        }
        let output = json!({"result": result});
        Ok(Outcome::Done {
            handle: "success".into(),
            output,
            changes,
            logs: Vec::new(),
        })
    }
}

fn calculate(config: &Config) -> Result<Number, NodeError> {
    let first = operand("operand1", &config.operand1)?;
    let second = config
        .operand2
        .as_ref()
        .map(|value| operand("operand2", value))
        .transpose()?;
    let result = match (config.operation, second) {
        (Operation::Abs, None) => first.abs(),
        (Operation::Abs, Some(_)) => return Err(parse::type_error("`abs` takes one number")),
        (Operation::Round, digits) => first.round(digits.map(check_digits).transpose()?),
        (_, None) => return Err(parse::type_error("this operation needs `operand2`")),
        (operation, Some(second)) => operation.apply(first, second),
    };
    result.map_err(|fault| NodeError::new("MATH_ERROR", fault))
}

impl Operation {
    fn apply(self, first: Number, second: Number) -> Result<Number, number::Fault> {
        match self {
            Self::Add => first.add(second),
            Self::Subtract => first.subtract(second),
            Self::Multiply => first.multiply(second),
            Self::Divide => first.divide(second),
            Self::Modulo => first.modulo(second),
            Self::Power => first.power(second),
            Self::Min => Ok(if first.compare(second).is_le() {
                first
            } else {
                second
            }),
            Self::Max => Ok(if first.compare(second).is_ge() {
                first
            } else {
                second
            }),
            Self::Round | Self::Abs => Ok(first),
        }
    }
}

fn operand(name: &str, value: &Value) -> Result<Number, NodeError> {
    number::read(value).map_err(|problem| parse::type_error(format!("`{name}`: {problem}")))
}

fn check_digits(digits: Number) -> Result<u32, NodeError> {
    match digits {
        Number::Int(digits @ 0..=28) => Ok(digits as u32),
        _ => Err(parse::type_error(format!(
            "`operand2` of `round` is a whole number from 0 to {DIGITS_MAX}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::node::{NodeHandler, Outcome};
    use serde_json::{Value, json};

    use super::Math;
    use crate::testing::{error, output, run};

    fn config(operation: &str, first: impl Into<Value>, second: impl Into<Value>) -> Value {
        json!({"operation": operation, "operand1": first.into(), "operand2": second.into()})
    }

    async fn check(
        operation: &str,
        first: impl Into<Value>,
        second: impl Into<Value>,
        result: impl Into<Value>,
    ) {
        let config = config(operation, first, second);
        let text = config.to_string();
        assert_eq!(
            output(&Math, config, "success").await,
            json!({"result": result.into()}),
            "{text}"
        );
    }

    async fn fails(operation: &str, first: impl Into<Value>, second: impl Into<Value>, code: &str) {
        error(&Math, config(operation, first, second), code).await;
    }

    #[tokio::test]
    async fn integers_are_exact() {
        check(
            "add",
            9_007_199_254_740_993_i64,
            1,
            9_007_199_254_740_994_i64,
        )
        .await;
        check("subtract", 1, 3, -2).await;
        check(
            "multiply",
            3_037_000_499_i64,
            3_037_000_499_i64,
            9_223_372_030_926_249_001_i64,
        )
        .await;
        check("divide", 6, 2, 3).await;
        check("divide", 7, 2, 3.5).await;
        check("modulo", -7, 3, -1).await;
        check("modulo", i64::MIN, -1, 0).await;
        check("power", 2, 62, 1_i64 << 62).await;
        check("power", -1, i64::MAX, -1).await;
        check("power", 1, i64::MAX, 1).await;
        check("power", 0, 0, 1).await;
        check("power", 2, -1, 0.5).await;
        check("min", 3, -2, -2).await;
        check("max", i64::MAX, i64::MAX - 1, i64::MAX).await;
        check("abs", -5, Value::Null, 5).await;
        check("round", 5, Value::Null, 5).await;
    }

    #[tokio::test]
    async fn numeric_text_is_exact() {
        check("add", "0.10", "0.20", "0.30").await;
        check("add", "5", 3, 8).await;
        check("add", "0.1", 0.2, "0.3").await;
        check("multiply", "19.99", 3, "59.97").await;
        check("divide", "1.00", "4", "0.25").await;
        check("power", "1.5", 2, "2.25").await;
        check("power", "0.5", -2, "4").await;
        check("round", "2.345", 2, "2.35").await;
        check("max", "2.50", 2.5, "2.50").await;
        check("abs", "-0.5", Value::Null, "0.5").await;
        check("add", "1e3", "0.5", "1000.5").await;
    }

    #[tokio::test]
    async fn floats_round_as_they_read() {
        check("round", 1.005, 2, 1.01).await;
        check("round", 2.5, Value::Null, 3).await;
        check("round", -2.5, Value::Null, -3).await;
        check("round", 1e300, 2, 1e300).await;
        check("add", 0.5, 1, 1.5).await;
        check("modulo", 7.5, 2, 1.5).await;
        check("multiply", -0.0, 5, 0.0).await;
        check("min", 1.5, 1, 1).await;
    }

    #[tokio::test]
    async fn what_has_no_result_is_a_math_error() {
        fails("add", i64::MAX, 1, "MATH_ERROR").await;
        fails("subtract", i64::MIN, 1, "MATH_ERROR").await;
        fails("multiply", i64::MAX, 2, "MATH_ERROR").await;
        fails("divide", i64::MIN, -1, "MATH_ERROR").await;
        for zero in [json!(0), json!(0.0), json!("0.00")] {
            fails("divide", 1, zero.clone(), "MATH_ERROR").await;
            fails("modulo", "1.5", zero, "MATH_ERROR").await;
        }
        fails("power", 2, 63, "MATH_ERROR").await;
        fails("power", 2, i64::MAX, "MATH_ERROR").await;
        fails("power", 0, -1, "MATH_ERROR").await;
        fails("power", -8, 0.5, "MATH_ERROR").await;
        fails("power", 1e200, 2.5, "MATH_ERROR").await;
        fails("power", "10.5", 1_000, "MATH_ERROR").await;
        fails("abs", i64::MIN, Value::Null, "MATH_ERROR").await;
        fails("round", 1e300, Value::Null, "MATH_ERROR").await;
        fails("add", "79228162514264337593543950335.0", 1, "TYPE_ERROR").await;
    }

    #[tokio::test]
    async fn what_is_no_number_is_a_type_error() {
        for value in [
            json!("x"),
            json!(""),
            json!("NaN"),
            json!("inf"),
            json!(true),
            json!([]),
            json!({}),
            json!(null),
        ] {
            fails("add", value, 1, "TYPE_ERROR").await;
        }
        fails("add", u64::MAX, 1, "TYPE_ERROR").await;
        fails("add", 1, Value::Null, "TYPE_ERROR").await;
        fails("abs", 1, 2, "TYPE_ERROR").await;
        fails("round", 1, 29, "TYPE_ERROR").await;
        fails("round", 1, -1, "TYPE_ERROR").await;
        fails("sqrt", 1, 2, "TYPE_ERROR").await;
    }

    #[tokio::test]
    async fn the_result_can_go_to_a_variable() {
        let mut config = config("add", 1, 2);
        config["result_variable"] = json!("sum");
        let Ok(Outcome::Done { changes, .. }) = run(&Math, config.clone()).await else {
            panic!()
        };
        assert_eq!(Value::Object(changes), json!({"sum": 3}));
        config["result_variable"] = json!("a b");
        error(&Math, config, "TYPE_ERROR").await;
    }

    #[test]
    fn checked_when_saved() {
        assert_eq!(
            Math.check(&json!({"operation": "add", "operand1": 1}))
                .len(),
            1
        );
        assert_eq!(Math.check(&config("abs", 1, 2)).len(), 1);
        assert!(
            Math.check(&json!({"operation": "round", "operand1": 1}))
                .is_empty()
        );
        assert!(
            Math.check(&json!({"operation": "{{x}}", "operand1": 1}))
                .is_empty()
        );
        let named = json!({"operation": "abs", "operand1": 1, "result_variable": "1x"});
        assert_eq!(Math.check(&named)[0].pointer, "/result_variable");
    }
}
