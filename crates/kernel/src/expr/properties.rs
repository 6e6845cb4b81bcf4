//! What holds for every text and every number, tried with random ones.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

fn run(text: &str, limits: Limits) -> (Result<Value, ExprError>, Meter) {
    let roots = Map::new();
    let scope = Scope::new(&roots, 0, "property", 1);
    let mut meter = Meter::new(limits);
    let outcome = Expression::compile(text).and_then(|e| e.evaluate(&scope, &mut meter));
    (outcome, meter)
}

/// Texts that are nearly expressions get further than random characters.
fn pieces() -> impl Strategy<Value = String> {
    let names = functions().iter().map(|function| function.name.to_owned());
    let symbols = "{{ }} { } ( ) [ ] , . ?. ?? ? : | || && ! == < + - * / % => in not and or null \
        true 0 1 9223372036854775807 1.5 1e308 'a' \"é\" '}}' '( a s n z x \\ =";
    let words = symbols
        .split(' ')
        .map(str::to_owned)
        .chain(names)
        .collect::<Vec<_>>();
    prop::collection::vec(prop::sample::select(words), 0..24).prop_map(|words| words.join(" "))
}

fn calls() -> impl Strategy<Value = String> {
    let names = functions()
        .iter()
        .map(|function| function.name)
        .collect::<Vec<_>>();
    let argument = prop::sample::select(vec![
        "a.b",
        "a",
        "s",
        "n",
        "z",
        "-1",
        "0",
        "3",
        "1.5",
        "-9223372036854775808",
        "''",
        "'é1'",
        "'%Y-%m'",
        "'1h'",
        "[]",
        "[3, 1, 2]",
        "['b', 'a']",
        "[[1, 2], ['k', null]]",
        "{k: 1}",
        "decimal('0.1')",
        "18446744073709551615",
        "x => x",
        "x => x > 1",
        "(r, x) => x",
        "true",
    ]);
    let arguments = prop::collection::vec(argument, 0..4);
    (prop::sample::select(names), arguments)
        .prop_map(|(name, arguments)| format!("{name}({})", arguments.join(", ")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,80}") {
        fuzz_expression(text.as_bytes());
        fuzz_template(text.as_bytes());
        fuzz_template(format!("{{{{{text}}}}}").as_bytes());
    }

    #[test]
    fn arbitrary_bytes_never_panic(data in prop::collection::vec(any::<u8>(), 0..60)) {
        fuzz_expression(&data);
        fuzz_template(&data);
    }

    #[test]
    fn arbitrary_pieces_never_panic(text in pieces()) {
        fuzz_expression(text.as_bytes());
        fuzz_template(format!("https://h/{{{{ {text} }}}}").as_bytes());
    }

    #[test]
    fn spans_lie_on_characters_of_the_text(text in pieces()) {
        if let Err(error) = run(&text, Limits::default()).0 {
            prop_assert!(text.get(error.span.start..error.span.end).is_some(), "{error:?}");
        }
    }

    #[test]
    fn calls_with_any_arguments_never_panic(text in calls()) {
        fuzz_expression(text.as_bytes());
    }

    #[test]
    fn integers_are_exact_or_an_error(left: i64, right: i64, op in 0..4usize) {
        let symbol = ["+", "-", "*", "%"][op];
        let (a, b) = (i128::from(left), i128::from(right));
        let exact = match symbol {
            "+" => Some(a + b),
            "-" => Some(a - b),
            "*" => a.checked_mul(b),
            _ => a.checked_rem(b),
        };
        let expected = exact.and_then(|exact| i64::try_from(exact).ok());
        let outcome = run(&format!("({left}) {symbol} ({right})"), Limits::default()).0;
        match expected {
            Some(expected) => prop_assert_eq!(outcome, Ok(Value::from(expected))),
            None => prop_assert_eq!(outcome.map_err(|error| error.code), Err(ErrorCode::MathError)),
        }
    }

    #[test]
    fn integers_and_floats_compare_exactly(int: i64, float in prop::num::f64::NORMAL) {
        let outcome = run(&format!("{int} < ({float:e})"), Limits::default()).0;
        // As far as i128 reaches, the fraction decides only between equal whole parts.
        let whole = float.trunc() as i128;
        let less = i128::from(int) < whole || (i128::from(int) == whole && float.fract() > 0.0);
        prop_assert_eq!(outcome, Ok(Value::Bool(less)));
    }

    #[test]
    fn text_without_braces_renders_as_itself(text in "[^{]{0,60}") {
        let roots = Map::new();
        let scope = Scope::new(&roots, 0, "property", 1);
        let template = Template::compile(&text, Encoding::Text);
        let rendered = template.and_then(|t| t.render(&scope, &mut Meter::default()));
        prop_assert_eq!(rendered, Ok(Value::String(text)));
    }

    #[test]
    fn any_text_survives_a_literal(text in "\\PC{0,40}") {
        let quoted = Value::String(text.clone()).to_string();
        prop_assert_eq!(run(&quoted, Limits::default()).0, Ok(Value::String(text)));
    }

    #[test]
    fn evaluation_is_repeatable(text in prop_oneof![calls(), pieces()]) {
        let (first, first_meter) = run(&text, Limits::default());
        let (second, second_meter) = run(&text, Limits::default());
        prop_assert_eq!(first, second);
        prop_assert_eq!(first_meter.steps_used(), second_meter.steps_used());
        prop_assert_eq!(first_meter.bytes_used(), second_meter.bytes_used());
    }

    /// What fits into a budget gives the same with a larger one, at the same price.
    #[test]
    fn metering_is_monotone(text in calls(), steps in 0..60u64, bytes in 0..400u64) {
        let (small, small_meter) = run(&text, Limits { steps, bytes });
        let (large, large_meter) = run(&text, Limits { steps: steps + 1, bytes: bytes * 2 });
        let stopped = matches!(&small, Err(error) if error.code == ErrorCode::LimitExceeded);
        if !stopped {
            prop_assert_eq!(small, large);
            prop_assert_eq!(small_meter.steps_used(), large_meter.steps_used());
        }
        prop_assert!(small_meter.steps_used() <= large_meter.steps_used());
        prop_assert!(small_meter.bytes_used() <= large_meter.bytes_used());
    }
}
