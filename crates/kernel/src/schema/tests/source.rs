//! Text to value: what is read, what is refused, and where.

use serde_json::json;

use crate::schema::source::Source;

#[track_caller]
fn reads(text: &str, expected: serde_json::Value) {
    match Source::parse(None, text) {
        Ok(source) => assert_eq!(source.value(), &expected, "{text:?}"),
        Err(found) => panic!("{text:?}: {found:?}"),
    }
}

#[track_caller]
fn refuses(file: &str, text: &str, expected: &[&str]) {
    let found = match Source::parse(Some(file), text) {
        Ok(source) => panic!("{text:?} was read as {}", source.value()),
        Err(found) => found,
    };
    let found: Vec<String> = found
        .iter()
        .map(|found| {
            let place = found.place.unwrap();
            format!(
                "{}:{}+{} {}",
                place.line, place.column, place.length, found.code
            )
        })
        .collect();
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn json_and_yaml() {
    reads(r#"{"a": "\u0000\ud83d\ude00\/"}"#, json!({"a": "\0😀/"}));
    reads(
        "{\t\"a\":1,\r\n\"b\":[true,null,-0.5,1e3]}",
        json!({"a": 1, "b": [true, null, -0.5, 1e3]}),
    );
    reads("\u{feff}{\"a\": 1}", json!({"a": 1}));
    reads("\u{feff}a: 1", json!({"a": 1}));
    reads(
        "a: no\nb: yes\nc: on\nd: ~\ne: 0x1F\nf: 1_000",
        json!({"a": "no", "b": "yes", "c": "on", "d": null, "e": 31, "f": "1_000"}),
    );
    reads(
        "a: 18446744073709551615\nb: -9223372036854775808",
        json!({"a": u64::MAX, "b": i64::MIN}),
    );
    reads("{\"a\": 18446744073709551615}", json!({"a": u64::MAX}));
    reads("{a: b, c: [d]}", json!({"a": "b", "c": ["d"]}));
    reads("{\"a\": 1, # comment\n}", json!({"a": 1}));
    reads("a: &x [1, 2]\nb: *x", json!({"a": [1, 2], "b": [1, 2]}));
    reads(
        "__proto__: 1\nconstructor: 2",
        json!({"__proto__": 1, "constructor": 2}),
    );
    reads("a: 2026-01-01", json!({"a": "2026-01-01"}));
    reads("a: 9007199254740993", json!({"a": 9007199254740993_i64}));
    reads("---\na: 1\n...\n", json!({"a": 1}));
    reads("a: !!str 5", json!({"a": "5"}));
    let long = "k".repeat(2_000);
    reads(&format!("{{\"{long}\": 1}}"), json!({ long: 1 }));
}

#[test]
fn policy_of_schema_files() {
    let cases = include_str!("../../../../../tests/json_policy.json");
    for case in serde_json::from_str::<Vec<serde_json::Value>>(cases).unwrap() {
        let read = Source::parse(Some("x.json"), case["text"].as_str().unwrap());
        let read = read.ok().map(|source| source.value().clone());
        assert_eq!(read.as_ref(), case.get("kept"), "{case}");
    }
}

#[test]
fn refused_json() {
    let cases: &[(&str, &[&str])] = &[
        ("", &["1:1+1 INVALID_JSON"]),
        ("{\"a\": 1,}", &["1:9+1 INVALID_JSON"]),
        ("{\"a\" 1}", &["1:6+1 INVALID_JSON"]),
        ("{\"a\": 1} x", &["1:10+1 INVALID_JSON"]),
        ("{\"a\": NaN}", &["1:7+1 INVALID_JSON"]),
        ("{\"a\": Infinity}", &["1:7+1 INVALID_JSON"]),
        ("{\"a\": \"\\ud800\"}", &["1:14+1 INVALID_JSON"]),
        ("{\"a\": \"x\n\"}", &["1:7+1 INVALID_JSON"]),
        ("{\"a\": \"x", &["1:7+1 INVALID_JSON"]),
        ("{\"a\": 01}", &["1:7+1 INVALID_JSON"]),
        (
            "{\"a\": 1, \"a\": 2, \"b\": 3, \"b\": 4}",
            &["1:10+3 DUPLICATE_KEY", "1:26+3 DUPLICATE_KEY"],
        ),
        (
            "{\"a\": 1e400, \"b\": 18446744073709551616}",
            &["1:7+5 NUMBER_OUT_OF_RANGE", "1:19+20 NUMBER_OUT_OF_RANGE"],
        ),
        (
            "{\"a\": -9223372036854775809}",
            &["1:7+20 NUMBER_OUT_OF_RANGE"],
        ),
    ];
    for (text, expected) in cases {
        refuses("x.json", text, expected);
    }
}

#[test]
fn refused_yaml() {
    let cases: &[(&str, &[&str])] = &[
        ("", &["1:1+1 INVALID_YAML"]),
        ("# only a comment", &["1:1+1 INVALID_YAML"]),
        ("a: 1\nb\n\n", &["2:1+1 INVALID_YAML"]),
        ("a: [1,\n", &["1:6+1 INVALID_YAML"]),
        ("a:\n\t- b", &["2:2+1 INVALID_YAML"]),
        ("a: 'b", &["1:4+1 INVALID_YAML"]),
        ("a: 1\n---\nb: 2", &["3:1+1 SEVERAL_DOCUMENTS"]),
        (
            "a: 1\nb: 2\na: 3\nc: {d: 1, d: 2}",
            &["3:1+1 DUPLICATE_KEY", "4:11+1 DUPLICATE_KEY"],
        ),
        ("'a': 1\n\"a\": 2", &["2:1+3 DUPLICATE_KEY"]),
        ("é: 1\nü: ü\né: 2", &["3:1+1 DUPLICATE_KEY"]),
        (
            "a: .nan\nb: .inf\nc: 1e400\nd: -1e400",
            &[
                "1:4+4 NUMBER_OUT_OF_RANGE",
                "2:4+4 NUMBER_OUT_OF_RANGE",
                "3:4+5 NUMBER_OUT_OF_RANGE",
                "4:4+6 NUMBER_OUT_OF_RANGE",
            ],
        ),
        ("a: 18446744073709551616", &["1:4+20 NUMBER_OUT_OF_RANGE"]),
        ("a: 0xFFFFFFFFFFFFFFFFF", &["1:4+19 NUMBER_OUT_OF_RANGE"]),
        ("a: -9223372036854775809", &["1:4+20 NUMBER_OUT_OF_RANGE"]),
        (
            "1: a\ntrue: b\n? [c]\n: d",
            &[
                "1:1+1 NOT_A_STRING_KEY",
                "2:1+4 NOT_A_STRING_KEY",
                "3:3+3 NOT_A_STRING_KEY",
            ],
        ),
        ("a: &x {b: 1}\nc: {<<: *x}", &["2:5+2 NOT_A_STRING_KEY"]),
        ("a: {{x}}", &["1:4+5 UNQUOTED_EXPRESSION"]),
        (
            "a: [{{x}}, {{ y }}]",
            &["1:5+5 UNQUOTED_EXPRESSION", "1:12+7 UNQUOTED_EXPRESSION"],
        ),
        ("u: {{x}}/b", &["1:4+5 UNQUOTED_EXPRESSION"]),
        (
            "a: !foo 5\nb: !!int x",
            &["1:4+6 INVALID_YAML", "2:4+7 INVALID_YAML"],
        ),
    ];
    for (text, expected) in cases {
        refuses("x.yaml", text, expected);
    }
}

#[test]
fn both_places_of_a_repeated_key() {
    for text in [
        "a: 1\nb:\n  c: 1\n  c: 2",
        "{\"b\":\n {\"x\": 1,\n  \"c\": 1, \"c\": 2}}",
    ] {
        let found = Source::parse(None, text).err().unwrap();
        assert_eq!(
            found[0].hint.as_deref(),
            Some("the first is in line 3, column 3")
        );
        assert_eq!(found[0].pointer, "/b/c");
    }
}

#[test]
fn places_of_values_and_keys() {
    let text = "ключ: значение\nlist:\n  - {a/b: 1}\n";
    let source = Source::parse(None, text).unwrap();
    let place = |found: Option<crate::diagnostic::Place>| {
        let found = found.unwrap();
        (found.line, found.column, found.length)
    };
    assert_eq!(place(source.value_place("/ключ")), (1, 7, 8));
    assert_eq!(place(source.key_place("/ключ")), (1, 1, 4));
    assert_eq!(place(source.key_place("/list/0/a~1b")), (3, 6, 3));
    assert_eq!(place(source.value_place("/list/0/a~1b")), (3, 11, 1));
    assert_eq!(place(source.place_in_string("/ключ", 4..8)), (1, 9, 2));
    assert_eq!(place(source.value_place("/list/7/x")), (3, 3, 10));
}
