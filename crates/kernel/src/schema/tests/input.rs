//! `input` of a schema, as its author sees it.

use serde_json::json;

use super::*;
use crate::expr::Meter;

fn text(input: &str, triggers: &str) -> String {
    format!(
        "name: a\ninput: {input}\ntriggers: {triggers}\nnodes:\n  - {{ id: s, type: start }}\n  - {{ id: e, type: end }}\nedges:\n  - {{ source: s, target: e }}\n"
    )
}

#[test]
fn it_is_stored_as_written_and_checked_by_the_graph() {
    let written = text("{ required: [n] }", "[]");
    let definition = loads(&written);
    assert_eq!(definition.input, Some(json!({"required": ["n"]})));
    assert!(to_stored_json(&definition).contains(r#""input":{"required":["n"]}"#));
    let without = loads(&text("null", "[]"));
    assert!(!to_stored_json(&without).contains("input"));
    assert_ne!(content_hash(&definition), content_hash(&without));
    let graph = Graph::compile(definition, &registry()).unwrap();
    let check = graph.input().unwrap().unwrap();
    assert!(check.check(&json!({"n": 1}), &mut Meter::default()).is_ok());
    assert!(check.check(&json!({}), &mut Meter::default()).is_err());
    assert!(
        Graph::compile(without, &registry())
            .unwrap()
            .input()
            .unwrap()
            .is_none()
    );
}

/// What runs already must run on, and other programs may know more.
#[test]
fn a_stored_version_with_an_input_that_cannot_be_checked_still_compiles() {
    let mut definition = loads(&text("{}", "[]"));
    definition.input = Some(json!({"type": "newer"}));
    let graph = Graph::compile(definition, &registry()).unwrap();
    assert!(graph.input().is_err());
}

#[test]
fn problems_have_their_place_in_the_text() {
    check_places(&text("{ type: objct }", "[]"), &["2:16 BAD_INPUT_SCHEMA"]);
    check_places(
        &text("{ properties: { a: { pattern: '(' } } }", "[]"),
        &["2:38 BAD_INPUT_SCHEMA"],
    );
    check_places(
        &text("{ requird: [a] }", "[]"),
        &["w:2:10 BAD_INPUT_SCHEMA"],
    );
    check_places(&text("[]", "[]"), &["2:8 BAD_INPUT_SCHEMA"]);
}

#[test]
fn the_input_of_a_cron_trigger_has_to_fit() {
    let schema = "{ required: [n], properties: { n: { type: integer } } }";
    for (trigger, expected) in [
        ("{ type: cron, cron: '@daily', input: { n: 1 } }", &[][..]),
        (
            "{ type: cron, cron: '@daily', input: { n: x } }",
            &["3:54 INVALID_INPUT"],
        ),
        ("{ type: cron, cron: '@daily' }", &["3:12 INVALID_INPUT"]),
        ("{ type: cron, cron: '@daily', disabled: true }", &[]),
        // Such texts are no templates there.
        (
            "{ type: cron, cron: '@daily', input: { n: '{{1}}' } }",
            &["3:54 INVALID_INPUT"][..],
        ),
        ("{ type: webhook, path: a, input: payload }", &[]),
        (
            "{ type: webhook, path: a, input: body }",
            &["3:45 UNKNOWN_CHOICE"],
        ),
    ] {
        check_places(&text(schema, &format!("[{trigger}]")), expected);
    }
}
