//! What fits, what is said of what does not, and that neither schemas nor values can make a check long.

mod documents;
mod hostile;

use serde_json::json;

use super::*;
use crate::schema::findings::Findings;

#[track_caller]
fn compiled(schema: &Value) -> InputCheck {
    let mut findings = Findings::default();
    let check = examine(schema, "", &mut findings);
    let found = findings.into_diagnostics();
    check.unwrap_or_else(|| panic!("{found:?}"))
}

#[track_caller]
fn problems(schema: &Value, input: &Value) -> Vec<String> {
    let checked = compiled(schema).check(input, &mut Meter::default());
    let Err(problems) = checked else {
        return Vec::new();
    };
    assert!(!problems.list.is_empty());
    let list = problems.list.into_iter();
    list.map(|problem| format!("{} {}", problem.pointer, problem.message))
        .collect()
}

#[track_caller]
fn check_one(schema: Value, input: Value, expected: &str) {
    assert_eq!(problems(&schema, &input), [expected]);
}

#[test]
fn all_problems_are_found_with_their_places() {
    let schema = json!({
        "type": "object",
        "required": ["order_id", "lines"],
        "properties": {
            "order_id": {"type": "integer", "minimum": 1},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        },
        "additionalProperties": false,
        "$defs": {"line": {"properties": {"count": {"type": "integer"}}, "required": ["count"]}},
    });
    let input = json!({"order_id": "x", "lines": [{"count": 1}, {}, {"count": 1.5}], "odd": 1});
    let mut found = problems(&schema, &input);
    found.sort();
    assert_eq!(
        found,
        [
            " unknown field `odd`",
            "/lines/1 `count` is missing",
            "/lines/2/count it must be an integer, not a number",
            "/order_id it must be an integer, not a string",
        ]
    );
    let good = json!({"order_id": 7, "lines": [{"count": 2}]});
    assert_eq!(problems(&schema, &good), [""; 0]);
}

#[test]
fn each_keyword_says_what_it_wants() {
    for (schema, input, expected) in [
        (
            json!({"type": ["string", "null"]}),
            json!(1),
            " it must be null or a string, not a number",
        ),
        (
            json!({"enum": ["a", 2]}),
            json!("b"),
            " it must be one of \"a\", 2",
        ),
        (
            json!({"const": {"a": [1]}}),
            json!({"a": [2]}),
            " it must be {\"a\":[1]}",
        ),
        (json!({"minimum": 1}), json!(0), " it must be at least 1"),
        (
            json!({"exclusiveMaximum": 2}),
            json!(2),
            " it must be less than 2",
        ),
        (
            json!({"multipleOf": 3}),
            json!(4),
            " it must be a multiple of 3",
        ),
        (
            json!({"minLength": 1}),
            json!(""),
            " it must have at least 1 character",
        ),
        (
            json!({"maxItems": 2}),
            json!([1, 2, 3]),
            " it must have at most 2 items",
        ),
        (
            json!({"minProperties": 2}),
            json!({"a": 1}),
            " it must have at least 2 fields",
        ),
        (
            json!({"pattern": "^x"}),
            json!("y"),
            " it must match the pattern `^x`",
        ),
        (
            json!({"uniqueItems": true}),
            json!([1, 1.0]),
            " its items must differ from one another",
        ),
        (
            json!({"contains": {"type": "null"}}),
            json!([1]),
            " the wrong number of its items fit `contains`",
        ),
        (
            json!({"anyOf": [{"type": "null"}, {"minimum": 5}]}),
            json!(1),
            " it fits none of the forms of `anyOf`",
        ),
        (
            json!({"oneOf": [{"minimum": 5}]}),
            json!(1),
            " it fits none of the forms of `oneOf`",
        ),
        (
            json!({"oneOf": [{"minimum": 0}, {"minimum": 1}]}),
            json!(1),
            " it fits several forms of `oneOf`, and must fit just one",
        ),
        (
            json!({"not": {"type": "null"}}),
            json!(null),
            " it fits the schema of `not`, and must not",
        ),
        (
            json!({"properties": {"a": false}}),
            json!({"a": 1}),
            "/a nothing is allowed here",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": 1}),
            " the name of a field does not fit: it must have at most 1 character",
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": 1}),
            " `b` is missing",
        ),
        (
            json!({"prefixItems": [true], "items": false}),
            json!([1, 2]),
            "/1 nothing is allowed here",
        ),
        (
            json!({"if": {"minimum": 1}, "then": {"maximum": 2}}),
            json!(3),
            " it must be at most 2",
        ),
        (
            json!({"properties": {"a": true}, "unevaluatedProperties": false}),
            json!({"b": 1}),
            " unknown field `b`",
        ),
        (
            json!({"patternProperties": {"^n": {"type": "number"}}}),
            json!({"n1": "x"}),
            "/n1 it must be a number, not a string",
        ),
    ] {
        check_one(schema, input, expected);
    }
}

#[test]
fn patterns_are_those_of_javascript() {
    let schema = json!({"pattern": "^\\d+$"});
    assert_eq!(problems(&schema, &json!("12")), [""; 0]);
    assert_eq!(
        problems(&schema, &json!("١٢")).len(),
        1,
        "only ASCII digits"
    );
    assert_eq!(
        problems(&json!({"pattern": "b"}), &json!("abc")),
        [""; 0],
        "anywhere in it"
    );
    assert_eq!(problems(&schema, &json!(12)), [""; 0], "only of texts");
    let names = json!({"propertyNames": {"pattern": "^[a-z]+$"}});
    assert_eq!(problems(&names, &json!({"ok": 1})), [""; 0]);
    assert_eq!(problems(&names, &json!({"no!": 1})).len(), 1);
}

#[test]
fn formats_are_notes() {
    let schema = json!({"format": "email", "contentEncoding": "base64"});
    assert_eq!(problems(&schema, &json!("no mail")), [""; 0]);
}

#[test]
fn numbers_are_equal_as_numbers() {
    for (wanted, given) in [
        (json!(1), json!(1.0)),
        (json!([2]), json!([2.0])),
        (json!({"a": -3, "b": 1}), json!({"b": 1, "a": -3.0})),
    ] {
        assert_eq!(problems(&json!({"const": wanted}), &given), [""; 0]);
        assert_eq!(problems(&json!({"enum": [0, wanted]}), &given), [""; 0]);
        assert_eq!(
            problems(&json!({"uniqueItems": true}), &json!([wanted, given])).len(),
            1
        );
    }
    let different = json!([1, "1", [1], {"1": 1}, null, true, [[1], []], [[], [1]], 9007199254740993_u64, 9007199254740992_u64]);
    assert_eq!(problems(&json!({"uniqueItems": true}), &different), [""; 0]);
}

/// Values may be private, and the message goes to logs and to callers.
#[test]
fn no_message_repeats_a_value_of_the_input() {
    let private = "kM3-private-9";
    let schema = json!({
        "properties": {
            "a": {"type": "integer"}, "b": {"enum": [1]}, "c": {"const": 2}, "d": {"pattern": "^x$"}, "e": {"maxLength": 2},
            "f": {"uniqueItems": true}, "g": {"unevaluatedItems": false}, "h": {"not": {}}, "i": {"anyOf": [{"type": "null"}]},
            "j": {"contains": {"type": "null"}}, "k": {"items": {"type": "null"}}, "l": {"minProperties": 9}, "m": false,
        },
        "required": ["z"],
    });
    let mut input = serde_json::Map::new();
    for name in ["a", "b", "c", "d", "e", "h", "i", "m"] {
        input.insert(name.into(), json!(private));
    }
    for name in ["f", "g", "j", "k"] {
        input.insert(name.into(), json!([private, private]));
    }
    input.insert("l".into(), json!({"x": private}));
    let found = problems(&schema, &Value::Object(input));
    assert!(found.len() >= 14, "{found:#?}");
    assert!(!found.join("\n").contains(private), "{found:#?}");
}

#[test]
fn one_line_names_the_first_problems() {
    let schema = json!({"items": {"type": "null"}});
    let line = |count: usize| {
        let input = Value::from(vec![1; count]);
        let checked = compiled(&schema).check(&input, &mut Meter::default());
        checked.unwrap_err().to_string()
    };
    assert_eq!(
        line(1),
        "the input does not fit the schema's `input`: /0: it must be null, not a number"
    );
    assert!(
        line(7).ends_with("; /4: it must be null, not a number; and 2 more"),
        "{}",
        line(7)
    );
    assert!(line(500).ends_with("; and over 95 more"), "{}", line(500));
}

#[test]
fn problems_are_listed_up_to_a_number() {
    let check = compiled(&json!({"items": {"type": "null"}}));
    for (count, listed, more) in [(100, 100, false), (101, 100, true), (100_000, 100, true)] {
        let input = Value::from(vec![1; count]);
        let problems = check.check(&input, &mut Meter::default()).unwrap_err();
        assert_eq!(
            (problems.list.len(), problems.more),
            (listed, more),
            "{count}"
        );
    }
}

#[test]
fn the_same_problem_is_told_once() {
    let schema = json!({"allOf": [{"type": "null"}, {"type": "null"}]});
    check_one(schema, json!(1), " it must be null, not a number");
}
