//! What `input` itself must be.

use serde_json::{Value, json};

use super::super::examine;
use crate::schema::findings::Findings;

fn found(schema: &Value) -> Vec<String> {
    let mut findings = Findings::default();
    let check = examine(schema, "/input", &mut findings);
    let errors = findings.errors();
    assert_eq!(check.is_some(), errors == 0);
    let list = findings.into_diagnostics().into_iter();
    list.map(|found| {
        let mark = if found.is_error() { "" } else { "w:" };
        assert!(found.hint.is_some() || !mark.is_empty(), "{found:?}");
        format!("{mark}{} {}", found.pointer, found.message)
    })
    .collect()
}

#[track_caller]
fn check_refused(schema: Value, expected: &[(&str, &str)]) {
    let found = found(&schema);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((pointer, part), found) in expected.iter().zip(&found) {
        let place = found.split(' ').next().unwrap();
        assert!(place == *pointer && found.contains(part), "{found}");
    }
}

#[test]
fn everyday_schemas_are_taken() {
    for schema in [
        json!({}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/order", "type": "object",
            "$ref": "#/$defs/order", "$defs": {"order": {"title": "Order", "default": {}, "examples": [1], "x-ui": {"a": 1}}}}),
        json!({"$ref": "#order", "definitions": {"a/b": {"$anchor": "order", "items": {"$ref": "#/definitions/a~1b"}}}}),
        // A tree: it refers to itself for the values inside.
        json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "required": ["name"]}),
        // Names of fields are no keywords.
        json!({"properties": {"$ref": {"type": "string"}, "pattern": {}, "$id": {}, "requird": {}}}),
        json!({"properties": {"mail": {"pattern": "^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$"}, "id": {"pattern": "^[0-9a-f]{8}-[0-9a-f]{4}$"}}}),
        json!({"enum": [{"$ref": "http://example.com"}]}),
    ] {
        assert_eq!(found(&schema), [""; 0], "{schema}");
    }
}

#[test]
fn every_problem_is_found_with_its_place() {
    check_refused(
        json!({"type": "strin", "minimum": "a", "properties": {"a": {"pattern": "(a"}, "b": 3, "c": {"$ref": "#/$defs/no"}}}),
        &[
            ("/input/properties/a/pattern", "no regular expression"),
            ("/input/properties/c/$ref", "leads nowhere"),
            ("/input/properties/b", "it must be"),
            ("/input/type", "`type` is one of"),
            ("/input/minimum", "it must be a number, not a string"),
        ],
    );
}

#[test]
fn nothing_leads_out_of_the_document() {
    for reference in [
        "http://127.0.0.1:9/x",
        "file:///etc/passwd",
        "other.json",
        "/x",
        "urn:x",
        "https://json-schema.org/draft/2020-12/schema",
        "",
    ] {
        check_refused(
            json!({"items": {"$ref": reference}}),
            &[("/input/items/$ref", "leads out of")],
        );
    }
    for word in ["$dynamicRef", "$dynamicAnchor", "$recursiveRef"] {
        let found = found(&json!({"not": {word: "#a"}}));
        assert!(
            found.iter().any(|found| found.contains("is not supported")),
            "{found:?}"
        );
    }
    check_refused(
        json!({"$defs": {"a": {"$id": "http://example.com/a"}}}),
        &[("/input/$defs/a/$id", "no `$id` of its own")],
    );
    check_refused(
        json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
        &[("/input/$schema", "2020-12")],
    );
}

#[test]
fn what_is_no_document_is_refused() {
    for schema in [json!(true), json!("text"), json!([1])] {
        check_refused(schema, &[("/input", "written as an object")]);
    }
}

#[test]
fn misspelt_words_are_pointed_out() {
    check_refused(
        json!({"requird": ["a"]}),
        &[("w:/input/requird", "has no effect")],
    );
}

#[test]
fn patterns_that_cannot_be_used_are_refused() {
    for pattern in [
        "(?=a)b",
        "(a)\\1",
        "a{1000}{1000}",
        "^\\p{L}{1,1000}$",
        &"(".repeat(1000),
        &"a".repeat(5_000),
    ] {
        for (schema, keyword) in [
            (json!({"pattern": pattern}), "pattern"),
            (
                json!({"patternProperties": {pattern: true}}),
                "patternProperties",
            ),
        ] {
            let found = found(&schema);
            assert!(
                !found.is_empty() && found[0].starts_with(&format!("/input/{keyword}")),
                "{pattern}: {found:?}"
            );
        }
    }
}

#[test]
fn a_reference_to_itself_for_the_same_value_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"not": {"$ref": "#"}}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"if": {"$ref": "#/$defs/a"}}}}),
    ] {
        let found = found(&schema);
        assert!(
            found.iter().any(|found| found.contains("leads back")),
            "{found:?}"
        );
    }
}
