//! Sources of `code` nodes.

use serde_json::json;

use crate::tally::Tally;
use crate::world::{Place, World};

const DOOR: &str = "code";

const INPUTS: &[(&str, &str)] = &[
    ("return {", "failed CODE_SYNTAX"),
    ("\u{0}", "failed CODE_SYNTAX"),
    ("return 1 +", "failed CODE_SYNTAX"),
    ("while (true) {}", "failed CODE_TIMEOUT"),
    ("for (;;) await 0", "failed CODE_TIMEOUT"),
    ("await new Promise(() => {})", "failed CODE_ERROR"),
    (
        "/^(a+)+$/.test('a'.repeat(40) + '!')",
        "failed CODE_TIMEOUT",
    ),
    ("(function f() { f() })()", "failed CODE_STACK"),
    (
        "const a = []; for (;;) a.push(new Array(1e5).fill(1))",
        "failed CODE_MEMORY",
    ),
    ("return 'x'.repeat(2 ** 29)", "failed CODE_MEMORY"),
    ("return new ArrayBuffer(2 ** 40)", "failed CODE_ERROR"),
    ("return require('fs')", "failed CODE_ERROR"),
    ("return import('os')", "failed CODE_ERROR"),
    ("return process.exit(1)", "failed CODE_ERROR"),
    ("return fetch('http://127.0.0.1')", "failed CODE_ERROR"),
    ("return Deno.env", "failed CODE_ERROR"),
    (
        "return (() => {}).constructor('return process')()",
        "failed CODE_ERROR",
    ),
    ("throw null", "failed CODE_ERROR"),
    ("throw { toString() { throw 1 } }", "failed CODE_ERROR"),
    (
        "return Promise.reject(new Error('no'))",
        "failed CODE_ERROR",
    ),
    (
        "return new Proxy({}, { ownKeys() { throw 1 } })",
        "failed CODE_ERROR",
    ),
    (
        "return { get json() { while (true) {} } }",
        "failed CODE_TIMEOUT",
    ),
    ("const a = {}; a.a = a; return a", "failed CODE_OUTPUT"),
    (
        "let a = 1; for (let i = 0; i < 1e5; i++) a = [a]; return a",
        "failed CODE_OUTPUT",
    ),
    ("return 'x'.repeat(2 ** 21)", "failed CODE_OUTPUT"),
    (
        "Object.prototype.toJSON = () => { throw 1 }; return { a: 1 }",
        "failed CODE_ERROR",
    ),
    ("secrets.sender", "failed CODE_ERROR"),
    ("input.n = 2; return input.n", "completed"),
    (
        "for (;;) console.log('x'.repeat(1e5))",
        "failed CODE_TIMEOUT",
    ),
];

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    for (source, expected) in INPUTS {
        tally.count(DOOR);
        let act = async |place: &Place| {
            let write = |schema: &mut serde_json::Value| {
                schema["nodes"][1]["type"] = json!("code");
                schema["nodes"][1]["config"] = json!({"source": source});
            };
            place.run(write, json!({"n": 1})).await
        };
        world.everywhere(tally, source, expected, act).await;
    }
}
