//! From what code returns to JSON, and from JSON to what code sees.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Document, assert_value, bare, job, pool, run};

#[tokio::test]
async fn items_are_unwrapped_and_plain_values_kept() {
    for (source, expected) in [
        ("return {json: {a: 1}}", json!({"a": 1})),
        (
            "return [{json: 1}, {json: {b: 2}, pairedItem: 0}]",
            json!([1, {"b": 2}]),
        ),
        ("return [{json: 1}, 2]", json!([{"json": 1}, 2])),
        ("return {json: 1, other: 2}", json!({"json": 1, "other": 2})),
        ("return []", json!([])),
        ("return {a: 1}", json!({"a": 1})),
        ("return 'text'", json!("text")),
        ("return 1.5", json!(1.5)),
        ("return", Value::Null),
        ("", Value::Null),
        ("return () => 1", Value::Null),
        ("return $input.all()", json!([{"total": 5, "list": [1, 2]}])),
        ("return $input.item", json!({"total": 5, "list": [1, 2]})),
        ("return Promise.resolve(3)", json!(3)),
        (
            "return await (async () => { await null; return {json: 4} })()",
            json!(4),
        ),
        ("return 1 // the end", json!(1)),
        ("<!-- as in old pages\nreturn 1", json!(1)),
        ("return 'a\u{2028}b'", json!("a\u{2028}b")),
        (
            "Promise.reject(new Error('nobody listens')); return 2",
            json!(2),
        ),
        (
            "queueMicrotask(() => { throw 1 }); await null; await null; return 3",
            json!(3),
        ),
        (
            "let a = null; for (let i = 0; i < 2e5; i++) a = {a}; return 4",
            json!(4),
        ),
        ("'use strict'; return this === undefined", json!(true)),
    ] {
        let answer = run(source).await;
        assert_eq!(answer.unwrap().value, expected, "{source}");
    }
}

#[tokio::test]
async fn values_become_json_as_stringify_does_it() {
    let source = "return {u: undefined, f() {}, s: Symbol(), n: NaN, i: -Infinity, z: -0, d: new Date(0), v: new Date(NaN), e: 1e21,
        big: 2 ** 53 - 1, m: new Map([[1, 2]]), l: [undefined, () => 1, , 0.1 + 0.2], t: {toJSON: k => 'key ' + k},
        p: new Proxy([1], {}), [Symbol('x')]: 1, nul: 'a\\0b', ['k\\0']: 1, '': 2, __proto__: {inherited: 1}}";
    assert_value(
        run(source).await,
        json!({
            "n": null, "i": null, "z": 0, "d": "1970-01-01T00:00:00.000Z", "v": null, "e": 1e21, "big": 9_007_199_254_740_991_u64,
            "m": {}, "l": [null, null, null, 0.300_000_000_000_000_04], "t": "key t", "p": [1], "nul": "a\0b", "k\0": 1, "": 2,
        }),
    );
}

fn with_input(input: Value) -> Document<'static> {
    let context = [("input".to_owned(), input)].into_iter().collect();
    Document::new(Cow::Owned(context), None, Cow::default())
}

#[tokio::test]
async fn data_go_through_unchanged() {
    let data = json!({
        "__proto__": {"polluted": 1}, "constructor": 1, "toString": 2, "nul\0": "\0", "text": "жук 🪲 \u{2028}",
        "floats": [0.1, -1.5e-7, 1e300], "exact": [9_007_199_254_740_993_u64, u64::MAX, i64::MIN, -5],
        "nested": {"__proto__": [9_007_199_254_740_995_u64]}, "nothing": null, "truth": [true, false],
    });
    let pool = pool();
    let source = "if ({}.polluted) throw 'polluted'; return $json";
    assert_value(pool.run(job(source, with_input(data.clone()))).await, data);
    let small = json!({"__proto__": {"polluted": 1}, "a": 1});
    assert_value(
        pool.run(job(source, with_input(small.clone()))).await,
        small,
    );
}

#[tokio::test]
async fn integers_beyond_two_to_53_are_never_silently_wrong() {
    let data = with_input(json!({"id": 9_007_199_254_740_993_u64}));
    let pool = pool();
    assert_value(
        pool.run(job(
            "return [$json.id, `${$json.id}`, $json.id + 1n, $json.id > 5, JSON.stringify($json)]",
            data.clone(),
        ))
        .await,
        json!([
            9_007_199_254_740_993_u64,
            "9007199254740993",
            9_007_199_254_740_994_u64,
            true,
            r#"{"id":"9007199254740993"}"#,
        ]),
    );
    let error = pool
        .run(job("return $json.id + 1", data))
        .await
        .unwrap_err();
    assert_eq!(error.name.as_deref(), Some("TypeError"));
}

#[tokio::test]
async fn what_is_no_json_is_refused_with_its_place() {
    let pool = pool();
    for (source, place, why) in [
        (
            "const a = {}; a.b = {c: a}; return a",
            "`b.c.b.c",
            "levels deep",
        ),
        (
            "return {list: [1, {x: 'a\\ud800'}]}",
            "`list[1].x`",
            "surrogate",
        ),
        ("return {['\\udc00']: 1}", "", "surrogate"),
        ("return {n: 2n ** 64n}", "`n`", "BigInt"),
        (
            "let a = 1; for (let i = 0; i < 65; i++) a = [a]; return a",
            "[0][0]",
            "64 levels",
        ),
        ("return 'x'.repeat(2 ** 20)", "", "1048576 bytes"),
        (
            "let a = 'x'.repeat(1000); for (let i = 0; i < 40; i++) a = [a, a]; return a",
            "[0]",
            "bytes",
        ),
        ("const a = []; a.length = 4294967295; return a", "", "bytes"),
    ] {
        let error = pool.run(bare(source)).await.unwrap_err();
        assert_eq!(error.code.name(), "CODE_OUTPUT", "{source}: {error}");
        assert!(
            error.message.contains(place) && error.message.contains(why),
            "{source}: {error}"
        );
    }
}

#[tokio::test]
async fn the_largest_result_and_the_deepest_pass() {
    let pool = pool();
    let text = pool
        .run(bare("return 'x'.repeat(2 ** 20 - 2)"))
        .await
        .unwrap()
        .value;
    assert_eq!(text.as_str().unwrap().len(), (1 << 20) - 2);
    let deep = "let a = 1; for (let i = 0; i < 64; i++) a = [a]; return a";
    assert!(pool.run(bare(deep)).await.unwrap().value.is_array());
}
