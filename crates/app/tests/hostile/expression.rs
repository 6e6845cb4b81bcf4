//! Expressions in the config of a node.

use serde_json::{Value, json};

use crate::tally::Tally;
use crate::world::{Place, World};

const DOOR: &str = "expression";

fn inputs() -> Vec<(String, &'static str)> {
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!(
            "{{{{{}{inner}{}}}}}",
            open.repeat(depth),
            close.repeat(depth)
        )
    };
    let fixed = [
        ("{{", "invalid BAD_EXPRESSION"),
        ("{{}}", "invalid BAD_EXPRESSION"),
        ("{{1 +}}", "invalid BAD_EXPRESSION"),
        ("{{1 2}}", "invalid BAD_EXPRESSION"),
        ("{{'open}}", "invalid BAD_EXPRESSION"),
        ("{{input.}}", "invalid BAD_EXPRESSION"),
        ("{{input[}}", "invalid BAD_EXPRESSION"),
        ("{{no_such_root.x}}", "invalid UNKNOWN_PATH"),
        ("{{no_such_function(1)}}", "invalid BAD_EXPRESSION"),
        ("{{len()}}", "invalid BAD_EXPRESSION"),
        ("{{len(1, 2, 3, 4)}}", "invalid BAD_EXPRESSION"),
        ("{{import('fs')}}", "invalid BAD_EXPRESSION"),
        ("{{input.__proto__.constructor}}", "failed UNDEFINED_PATH"),
        (
            "{{input.constructor('return process')()}}",
            "invalid BAD_EXPRESSION",
        ),
        ("{{process.env.PATH}}", "invalid UNKNOWN_PATH"),
        ("{{env.PATH}}", "failed UNDEFINED_PATH"),
        ("{{env.PAWL_ADMIN_KEY}}", "failed UNDEFINED_PATH"),
        ("{{1 / 0}}", "failed MATH_ERROR"),
        ("{{1 % 0}}", "failed MATH_ERROR"),
        ("{{9223372036854775807 + 1}}", "failed MATH_ERROR"),
        ("{{-9223372036854775808 - 1}}", "failed MATH_ERROR"),
        ("{{int('1e400')}}", "failed EXPRESSION_ERROR"),
        ("{{'a' - 1}}", "failed TYPE_ERROR"),
        ("{{input.missing.deeper}}", "failed UNDEFINED_PATH"),
        ("{{input = 1}}", "invalid BAD_EXPRESSION"),
        ("{{input; input}}", "invalid BAD_EXPRESSION"),
        ("{{`${input}`}}", "invalid BAD_EXPRESSION"),
        ("{{\u{0}}}", "invalid BAD_EXPRESSION"),
        ("{{\u{202e}input}}", "invalid BAD_EXPRESSION"),
    ];
    let mut all: Vec<(String, &'static str)> =
        fixed.map(|(text, code)| (text.to_owned(), code)).into();
    all.push((nested("(", "1", ")", 10_000), "invalid BAD_EXPRESSION"));
    all.push((nested("[", "", "]", 10_000), "invalid BAD_EXPRESSION"));
    all.push((nested("!", "true", "", 100_000), "invalid BAD_EXPRESSION"));
    all.push((
        format!("{{{{{}1}}}}", "1 + ".repeat(100_000)),
        "invalid BAD_EXPRESSION",
    ));
    all.push((
        format!("{{{{{}}}}}", "x".repeat(1_000_000)),
        "invalid BAD_EXPRESSION",
    ));
    all
}

/// Patterns that would search for a minute, with the text that each is worst at.
fn searches() -> Vec<(&'static str, String, &'static str)> {
    let mixed: String = (0..900_000_u64)
        .map(|n| n.wrapping_mul(6_364_136_223_846_793_005) >> 33)
        .map(|n| char::from(b"abc"[n as usize % 3]))
        .collect();
    let (tags, capitals) = ("<&".repeat(200_000), "A".repeat(500_000));
    vec![
        (
            "{{regex_replace(input.t, '<[^>]*>|&', ' ')}}",
            tags,
            "failed LIMIT_EXCEEDED",
        ),
        (
            "{{regex_replace(input.t, '.*[^A-Z]|[A-Z]', '')}}",
            capitals,
            "failed LIMIT_EXCEEDED",
        ),
        (
            "{{matches(input.t, '([ab][a-c]{1000}){6}[^a-c]')}}",
            mixed.clone(),
            "failed LIMIT_EXCEEDED",
        ),
        (
            "{{match(input.t, '([ab])(.{900})([^a-c])')}}",
            mixed.clone(),
            "failed LIMIT_EXCEEDED",
        ),
        (
            "{{matches(input.t, '((((a{60}){60}){60}){60})')}}",
            mixed,
            "failed LIMIT_EXCEEDED",
        ),
    ]
}

async fn try_out(place: &Place, text: &str, input: Value) -> String {
    let put = |schema: &mut Value| schema["nodes"][1]["config"] = json!({"output": text});
    place.run(put, input).await
}

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    for (text, expected) in inputs() {
        tally.count(DOOR);
        let act = async |place: &Place| try_out(place, &text, json!({"n": 1})).await;
        world.everywhere(tally, &text, expected, act).await;
    }
    for (text, read, expected) in searches() {
        tally.count(DOOR);
        let act = async |place: &Place| try_out(place, text, json!({"t": read})).await;
        world.everywhere(tally, text, expected, act).await;
    }
}
