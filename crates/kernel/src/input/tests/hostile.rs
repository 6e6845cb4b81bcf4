//! Whatever the schema and whatever the value: an answer within the budget, on the stack of a worker's thread.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::super::{InputCheck, examine};
use crate::expr::Meter;
use crate::schema::findings::Findings;

/// The processor time of one check; an expression may take as long.
const TIME_MAX: Duration = Duration::from_secs(3);
const STACK: usize = 1024 * 1024;

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    thread.unwrap().join().unwrap();
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn compiled(schema: &Value) -> Option<InputCheck> {
    let began = processor_time();
    let check = examine(schema, "", &mut Findings::default());
    let used = processor_time() - began;
    assert!(used < TIME_MAX, "examined in {used:?}");
    check
}

/// Whether it fits; `None`: the schema was refused.
fn answered(schema: Value, input: Value) -> Option<bool> {
    let check = compiled(&schema)?;
    let began = processor_time();
    let answer = check.check(&input, &mut Meter::default());
    let used = processor_time() - began;
    assert!(used < TIME_MAX, "checked in {used:?}");
    Some(answer.is_ok())
}

#[track_caller]
fn check(schema: Value, input: Value, expected: Option<bool>) {
    let place = std::panic::Location::caller();
    on_a_small_stack(move || assert_eq!(answered(schema, input), expected, "{place}"));
}

/// `links` definitions, each made from the number of the next one.
fn chain(links: usize, link: impl Fn(String) -> Value, end: Value) -> Value {
    let mut defs = Map::new();
    for number in 0..links {
        let next = format!("#/$defs/a{}", number + 1);
        defs.insert(format!("a{number}"), link(next));
    }
    defs.insert(format!("a{links}"), end);
    json!({"$ref": "#/$defs/a0", "$defs": defs})
}

fn nested(levels: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(json!(1), |inner, _| wrap(inner))
}

#[test]
fn a_few_lines_that_unfold_to_millions_are_refused() {
    let twice = |next: String| json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    check(
        chain(11, twice, json!({"type": "string"})),
        json!(1),
        Some(false),
    );
    check(chain(30, twice, json!({"type": "string"})), json!(1), None);
    let many = |next: String| json!({"anyOf": vec![json!({"$ref": next}); 100]});
    check(chain(3, many, json!({"type": "string"})), json!(1), None);
    check(
        chain(3_000, |next| json!({"$ref": next}), json!({})),
        json!(1),
        None,
    );
}

#[test]
fn long_ways_through_the_value_keep_the_stack() {
    // Each level of the value goes through all of the chain.
    for links in [4, 8, 10, 11] {
        let link = |next: String| json!({"allOf": [{"$ref": next}]});
        let schema = chain(
            links,
            link,
            json!({"properties": {"x": {"$ref": "#/$defs/a0"}}, "required": ["y"]}),
        );
        let input = nested(64, |inner| json!({"x": inner, "y": 1}));
        check(schema.clone(), input, Some(true));
        let input = nested(64, |inner| json!({"x": inner}));
        check(schema, input, Some(false));
    }
    let below = |next: String| json!({"properties": {"x": {"$ref": next}}});
    check(
        chain(2_000, below, json!({"type": "string"})),
        json!({"x": {}}),
        Some(true),
    );
}

#[test]
fn deep_documents_keep_the_stack() {
    let schema = (0..20).fold(
        json!({}),
        |inner, _| json!({"properties": {"x": {"items": inner}}}),
    );
    check(schema, json!({"x": [1]}), Some(true));
    let schema = (0..60).fold(json!({"type": "null"}), |inner, _| json!({"items": inner}));
    check(schema, nested(60, |inner| json!([inner])), Some(false));
    let schema = (0..60).fold(json!({"type": "null"}), |inner, _| json!({"not": inner}));
    check(schema, json!(1), None);
}

/// The schema is harmless for most values; this one doubles the work on each level.
#[test]
fn a_value_that_unfolds_is_given_up() {
    let leaf = json!({"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]});
    let schema = json!({"anyOf": [{"type": "string"}, {"allOf": [leaf, {"required": ["x"]}]}, {"allOf": [leaf, {"required": ["y"]}]}, {"allOf": [leaf]}]});
    let input = nested(60, |inner| json!({"n": inner}));
    check(schema, input, Some(false));
    let many = |next: String| json!({"allOf": [{"$ref": next}], "unevaluatedProperties": {"type": "integer"}});
    let schema = chain(
        8,
        many,
        json!({"properties": {"x": {"$ref": "#/$defs/a0"}}}),
    );
    // This one fits, and is cheap enough to be checked to the end.
    let input = nested(60, |inner| json!({"x": inner, "z": 1}));
    check(schema, input, Some(true));
}

#[test]
fn long_lists_are_checked_or_given_up() {
    let numbers: Vec<u32> = (0..200_000).collect();
    check(
        json!({"items": {"type": "integer", "minimum": 0}}),
        json!(numbers),
        Some(true),
    );
    check(json!({"uniqueItems": true}), json!(numbers), Some(true));
    let options: Vec<u32> = (200_000..230_000).collect();
    check(
        json!({"items": {"enum": options}}),
        json!(numbers),
        Some(false),
    );
    let names: Vec<String> = (0..5_000).map(|n| format!("n{n}")).collect();
    check(
        json!({"items": {"required": names}}),
        json!(vec![json!({}); 100_000]),
        Some(false),
    );
    let parts = vec![json!(true); 4_000];
    check(
        json!({"items": {"allOf": parts}}),
        json!(numbers),
        Some(false),
    );
    let fields: Map<String, Value> = (0..4_000)
        .map(|n| (format!("n{n}"), json!({"type": "null"})))
        .collect();
    check(
        json!({"items": {"properties": fields}}),
        json!(vec![json!({"n1": null}); 50_000]),
        Some(true),
    );
}

/// Their hashes are the same in the crate: all of them were compared with all.
#[test]
fn items_made_to_collide_are_told_apart() {
    let mut items = Vec::new();
    for number in 0..30_000_u32 {
        // The same atoms, in brackets that differ.
        let tree = (0..15).fold(json!([]), |tree, bit| match number >> bit & 1 {
            0 => json!([tree, [1]]),
            _ => json!([[tree], 1]),
        });
        items.push(tree);
    }
    check(json!({"uniqueItems": true}), json!(items), Some(true));
}

#[test]
fn patterns_are_paid_for_by_what_they_read() {
    let random = |length: usize| {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            if state >> 63 == 0 { 'a' } else { 'b' }
        };
        (0..length).map(|_| next()).collect::<String>()
    };
    let slow = "[ab]*a[ab]{400}[cd]";
    check(
        json!({"pattern": slow}),
        json!(random(1 << 20)),
        Some(false),
    );
    check(
        json!({"propertyNames": {"pattern": slow}}),
        json!({random(1 << 20): 1}),
        Some(false),
    );
    check(
        json!({"patternProperties": {"[ab]*a[ab]{100}[cd]": true}}),
        json!({random(1 << 20): 1}),
        Some(false),
    );
    let names: Map<String, Value> = (0..2_000)
        .map(|n| (format!("{}{n}", random(500)), json!(1)))
        .collect();
    check(
        json!({"patternProperties": {"[ab]*a[ab]{100}[cd]": true}}),
        Value::Object(names),
        Some(false),
    );
    // An everyday pattern on a long text is no trouble.
    check(
        json!({"pattern": "^[A-Za-z0-9+/]*=*$"}),
        json!("QUJD".repeat(100_000)),
        Some(true),
    );
    let fields: Map<String, Value> = (0..2_000)
        .map(|n| {
            (
                format!("n{n}"),
                json!({"pattern": format!("^a{n}[ab]{{300}}$")}),
            )
        })
        .collect();
    check(json!({"properties": fields}), json!({}), None);
}

#[test]
fn documents_without_end_are_refused() {
    let fields: Map<String, Value> = (0..30_000).map(|n| (format!("n{n}"), json!({}))).collect();
    check(json!({"properties": fields}), json!({}), None);
    check(
        json!({"description": "x".repeat(300 * 1024)}),
        json!({}),
        None,
    );
    let wrong: Map<String, Value> = (0..4_000)
        .map(|n| {
            (
                format!("n{n}"),
                json!({"type": 3, "minLength": -1, "pattern": "("}),
            )
        })
        .collect();
    check(json!({"properties": wrong}), json!({}), None);
    let anchors: Map<String, Value> = (0..2_000).map(|n| (format!("n{n}"), json!({"$anchor": format!("a{n}"), "items": {"$ref": format!("#a{}", (n * 7) % 2_000)}}))).collect();
    check(
        json!({"$defs": anchors, "$ref": "#a0"}),
        nested(30, |inner| json!([inner])),
        Some(true),
    );
}
