//! Code that means harm. Every family ends within its limit plus half a second, and the pool works afterwards.

use std::time::{Duration, Instant};

use pawl_script::{Pool, ScriptError};
use serde_json::json;

use super::{bare, options, pool};

/// What the machine may add when every core is busy with other tests.
const SLACK: Duration = Duration::from_millis(500);

async fn fail(pool: &Pool, source: &str, time: Duration) -> ScriptError {
    let start = Instant::now();
    let mut job = bare(source);
    job.time = Some(time);
    let error = match pool.run(job).await {
        Err(error) => error,
        Ok(answer) => panic!("{source} gave {:.200}", answer.value.to_string()),
    };
    let took = start.elapsed();
    assert!(took < time + SLACK, "{source} took {took:?}: {error}");
    error
}

async fn check(time: Duration, sources: &[&str], codes: &[&str]) {
    let mut options = options(1);
    options.limits.memory_bytes = 32 << 20;
    let pool = Pool::new(options).unwrap();
    for source in sources {
        // So that starting a process is not part of what is timed.
        pool.run(bare("")).await.unwrap();
        let error = fail(&pool, source, time).await;
        assert!(codes.contains(&error.code.name()), "{source}: {error}");
        let after = pool.run(bare("return 1 + 1")).await;
        assert_eq!(after.unwrap().value, json!(2), "after {source}");
    }
}

/// Code that would never end: the limit is what ends it.
async fn check_time(sources: &[&str]) {
    check(Duration::from_millis(200), sources, &["CODE_TIMEOUT"]).await;
}

/// Code that another limit ends, long before its time is over.
async fn check_code(sources: &[&str], codes: &[&str]) {
    check(Duration::from_secs(20), sources, codes).await;
}

#[tokio::test]
async fn loops_without_end() {
    check_time(
        &[
            "while (true) {}",
            "for (;;) { try { while (true) {} } catch {} }",
            "function f() { try { while (true) {} } finally { f() } } f()",
            "try { while (true) {} } finally { return 1 }",
            "for (;;) await 0",
            "async function f() { for (;;) await f2() } async function f2() { return 1 } await f()",
            "/^(a+)+$/.test('a'.repeat(40) + '!')",
            "Array.prototype.indexOf.call({length: 4294967295}, 99)",
            "new Array(2e8) + ''",
                "return {get a() { while (true) {} }}",
            "return {toJSON() { while (true) {} }}",
            "return new Proxy({}, {ownKeys() { while (true) {} }})",
            "return new Proxy({a: 1}, {get(t, k) { if (k === 'a') while (true) {} }})",
            "throw {toString() { while (true) {} }, toJSON() { while (true) {} }}",
            "const e = new Error(); Object.defineProperty(e, 'stack', {get() { while (true) {} }}); throw e",
            "console.log({toJSON() { while (true) {} }}); while (true) {}",
            "[3, 1, 2].sort(() => { while (true) {} })",
            "'x'.replace(/x/, () => { while (true) {} })",
            "function* g() { while (true) yield 1 } for (const x of g()) ;",
            "function* g() { while (true) yield 1 } const [...a] = { [Symbol.iterator]() { return { next() { return {done: false} } } } }.constructor.keys({}); for (const x of g()) ;",
            "Date.prototype.toISOString = () => { while (true) {} }; return new Date()",
            "eval('while (true) {}')",
            "Function('while (true) {}')()",
            "JSON.parse('[1]', () => { while (true) {} })",
        ])
    .await;
}

/// Each promise keeps the one before it, so time and memory run out together.
#[tokio::test]
async fn chains_without_end() {
    let chains = [
        "const p = () => Promise.resolve().then(p); return p()",
        "(function spin() { return Promise.resolve().then(spin) })(); await new Promise(() => {})",
    ];
    let short = Duration::from_millis(200);
    check(short, &chains, &["CODE_TIMEOUT", "CODE_MEMORY"]).await;
    check_code(&chains, &["CODE_MEMORY"]).await;
}

#[tokio::test]
async fn hunger_for_memory() {
    check_code(
        &[
            "let s = 'x'; for (let i = 0; i < 29; i++) s += s; return s",
            "let s = 'x'; for (let i = 0; i < 29; i++) s += s; return {[s]: 1}",
            "let s = 'x'; for (let i = 0; i < 29; i++) s += s; throw new Error(s)",
            "[].fill.call({length: 2 ** 53 - 1}, 0)",
            "let s = 'x'; const all = []; for (;;) { s = s + 'y'.repeat(1e6); all.push(s.split('')) }",
            "const a = []; for (;;) a.push(new Uint8Array(1e6))",
            "new Uint8Array(2e9)",
            "const a = []; for (;;) a.push(a.slice())",
            "let a = [1]; for (;;) a = a.concat(a)",
            "const o = {}; for (let i = 0; ; i++) o['key' + i] = i",
            "const m = new Map(); for (let i = 0; ; i++) m.set(i, {})",
            "const a = []; for (;;) a.push(Symbol('x'.repeat(1e5)))",
            "'x'.repeat(2 ** 29)",
            "'x'.padStart(2 ** 29)",
            "const a = []; for (;;) { const s = 'x'.repeat(1e6) + a.length; a.push(s + 1) }",
            // The engine has no memory for an error either; the word does not mean that the code threw.
            "const m = new Map(); for (let i = 0; ; i++) { m.set(i, {}); if (i < 0) throw new Error('never') }",
            "function f() { const a = []; for (;;) a.push({a}) } try { f() } finally { Promise.reject }",
            "let l = null; for (;;) { l = {l}; if (l === null) throw null }",
        ],
        &["CODE_MEMORY"],
    )
    .await;
    check_code(
        &[
            "const a = []; for (;;) a.push(new Uint8Array(1e6))",
            "let a = [1]; for (;;) a = a.concat(a)",
            "const keep = []; try { for (;;) keep.push('x'.repeat(1e5) + keep.length) } finally { keep.push({}) }",
        ],
        &["CODE_MEMORY"],
    )
    .await;
}

#[tokio::test]
async fn what_the_language_itself_refuses() {
    check_code(
        &[
            "let s = 'x'; for (;;) s += s",
            "'x'.repeat(2 ** 30)",
            "new Array(-1)",
            "new ArrayBuffer(2 ** 33)",
        ],
        &["CODE_ERROR"],
    )
    .await;
}

#[tokio::test]
async fn numbers_without_end() {
    check_code(
        &[
            "return String(2n ** (2n ** 24n))",
            "let x = 3n; for (;;) x = x * x",
            "return String(2n ** (2n ** 30n))",
            "return 2n ** (2n ** 30n)",
        ],
        &["CODE_TIMEOUT", "CODE_MEMORY", "CODE_ERROR", "CODE_OUTPUT"],
    )
    .await;
}

#[tokio::test]
async fn recursion_without_end() {
    check_code(
        &[
            "function f() { return f() + 1 } f()",
            "const o = {get a() { return this.a }}; o.a",
            "const p = new Proxy({}, {get(t, k, r) { return r[k] }}); p.x",
            "const o = {toString() { return '' + this }}; '' + o",
            "JSON.stringify({toJSON() { return JSON.stringify(this) }})",
            "[2, 1].sort(function f(a, b) { return [2, 1].sort(f)[0] })",
        ],
        &["CODE_STACK"],
    )
    .await;
    check_code(
        &[
            "let s = '['.repeat(1e5); JSON.parse(s)",
            "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))",
            "eval('('.repeat(1e5))",
            "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a).length",
            "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a.flat(Infinity).toString() + String(a)",
        ],
        &["CODE_STACK", "CODE_ERROR"],
    )
    .await;
}

#[tokio::test]
async fn results_made_to_hurt() {
    check_code(
        &[
            "return 'x'.repeat(5e6)",
            "return Array(4e5).fill(0).map((_, i) => i)",
            "return Object.fromEntries(Array.from({length: 1e5}, (_, i) => ['key' + i, i]))",
            "let a = 'x'.repeat(999); for (let i = 0; i < 60; i++) a = {a, b: a}; return a",
            "const a = {}; a.a = a; return a",
            "const a = []; a[0] = a; return a",
            "return new Proxy({}, {ownKeys() { return ['a'] }, getOwnPropertyDescriptor() { return {enumerable: true, configurable: true} }, get(t, k, r) { return k === 'toJSON' ? undefined : r }})",
            "return {toJSON() { return {a: this} }}",
        ],
        &["CODE_OUTPUT"],
    )
    .await;
}

#[tokio::test]
async fn a_million_keys() {
    check_code(
        &[
            "const o = {}; for (let i = 0; i < 1e6; i++) o['k' + i] = i; return o",
            "return Object.fromEntries(Array.from({length: 1e6}, (_, i) => ['k' + i, i]))",
            "return JSON.parse('{' + Array.from({length: 1e6}, (_, i) => `\"k${i}\":1`).join() + '}')",
        ],
        &["CODE_MEMORY", "CODE_OUTPUT"],
    )
    .await;
}

#[tokio::test]
async fn sources_that_are_no_code() {
    let long = format!("return 1; // {}", "x".repeat(10_000_000));
    check_code(
        &["#!/usr/bin/env node\nreturn 1", "#!", "@", long.as_str()],
        &["CODE_SYNTAX"],
    )
    .await;
}

/// A loop over nothing, which some engines never leave.
#[tokio::test]
async fn patterns_of_nothing_end() {
    let pool = pool();
    for source in [
        "return /()*?a/.exec(',')",
        "return /(?:)*?b/.exec('a')",
        "return /(a*)*?$b/.exec('aaa')",
    ] {
        let mut job = bare(source);
        job.time = Some(Duration::from_millis(500));
        let start = Instant::now();
        match pool.run(job).await {
            Ok(answer) => assert_eq!(answer.value, json!(null), "{source}"),
            Err(error) => assert_eq!(error.code.name(), "CODE_TIMEOUT", "{source}: {error}"),
        }
        assert!(
            start.elapsed() < Duration::from_millis(500) + SLACK,
            "{source}"
        );
    }
    assert_eq!(pool.run(bare("return 1")).await.unwrap().value, json!(1));
}

/// Not only with the short times and small heaps of the other tests.
#[tokio::test]
async fn at_the_default_limits() {
    let time = pawl_script::Limits::default().time;
    let pool = Pool::new(options(1)).unwrap();
    for (source, code) in [
        ("while (true) {}", "CODE_TIMEOUT"),
        // A built-in that does not ask whether to go on.
        (
            "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 99)",
            "CODE_TIMEOUT",
        ),
        ("const a = []; for (;;) a.push({})", "CODE_MEMORY"),
        (
            "const a = []; for (;;) a.push(new Uint8Array(1e6))",
            "CODE_MEMORY",
        ),
        ("function f() { return f() + 1 } f()", "CODE_STACK"),
        ("return 'x'.repeat(5e6)", "CODE_OUTPUT"),
    ] {
        pool.run(bare("")).await.unwrap();
        let error = fail(&pool, source, time).await;
        assert_eq!(error.code.name(), code, "{source}: {error}");
    }
}

#[tokio::test]
async fn a_flood_of_console_output_is_cut_with_a_note() {
    let pool = pool();
    for source in [
        "for (let i = 0; i < 1e5; i++) console.log('line ' + i); return 1",
        "console.log('x'.repeat(1e7)); console.error('gone'); return 1",
        "const a = {}; a.a = a; for (let i = 0; i < 1e4; i++) console.log(a); return 1",
        "for (let i = 0; i < 1e5; i++) console.log(); return 1",
    ] {
        let answer = pool.run(bare(source)).await.unwrap();
        assert_eq!(answer.value, json!(1));
        let last = answer.logs.last().unwrap();
        assert!(
            last.message.contains("left out"),
            "{source}: {}",
            last.message
        );
        let bytes: usize = answer.logs.iter().map(|line| line.message.len()).sum();
        assert!(
            bytes < (64 << 10) + 300 && answer.logs.len() <= 1001,
            "{source}"
        );
    }
}

#[tokio::test]
async fn lines_within_lines_are_counted_like_others() {
    let pool = pool();
    for source in [
        "const n = {toJSON() { for (let i = 0; i < 2000; i++) console.log('inner ' + i); return 1 }}; console.log(n); return 1",
        "console.log({toJSON() { console.log('x'.repeat(1e6)); return 'outer' }}); console.log('more'); return 1",
        "console.log('a', {toJSON() { console.log('y'.repeat(65530)); return 'z'.repeat(100) }}); console.log(1); return 1",
        "let deep = 0; const n = {toJSON() { if (deep++ < 50) console.log(n, 'x'.repeat(5000)); return deep }}; \
         console.log(n); console.log('more'); return 1",
    ] {
        let answer = pool.run(bare(source)).await.unwrap();
        assert_eq!(answer.value, json!(1), "{source}");
        let last = answer.logs.last().unwrap();
        assert!(
            last.message.contains("left out"),
            "{source}: {:?}",
            last.message.len()
        );
    }
}

#[tokio::test]
async fn nothing_of_a_run_is_seen_by_the_next() {
    let pool = pool();
    let spoil = "
        Object.prototype.polluted = 1; Array.prototype.map = null; globalThis.left = 1; leaked = 2; $ = 3; steps = 4;
        Object.defineProperty(Object.prototype, 'toJSON', {value: () => 'spoilt'});
        JSON.parse = JSON.stringify = null; delete globalThis.Promise; Math.random = () => 0; console = null;
        return 1";
    pool.run(bare(spoil)).await.unwrap();
    let look = "return [typeof polluted, {}.polluted === undefined, [1].map(x => x + 1), typeof left, typeof leaked, typeof $,
        JSON.stringify({}), typeof Promise, Math.random() > 0, typeof console.log]";
    assert_eq!(
        pool.run(bare(look)).await.unwrap().value,
        json!([
            "undefined",
            true,
            [2],
            "undefined",
            "undefined",
            "function",
            "{}",
            "function",
            true,
            "function"
        ])
    );
}

#[tokio::test]
async fn replaced_built_ins_do_not_confuse_the_wrapper() {
    let pool = pool();
    for source in [
        "JSON.stringify = JSON.parse = () => 'spoilt'",
        "Array.isArray = () => true; Array.prototype[Symbol.iterator] = null",
        "Promise.prototype.then = () => { throw 1 }; Promise.resolve = null",
        "globalThis.Promise = globalThis.JSON = globalThis.Object = globalThis.Array = globalThis.Reflect = undefined",
        "Object.keys = Object.defineProperty = Object.freeze = Reflect.ownKeys = () => { throw 1 }",
        "for (const name of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[name] } catch {}",
        "Object.prototype.get = () => 'spoilt'; Object.prototype.value = 'spoilt'; Object.prototype.set = () => {}",
        "Object.defineProperty(Array.prototype, 0, {set() {}, get() { return 'spoilt' }, configurable: true})",
        "Object.setPrototypeOf(globalThis, null); Error.prepareStackTrace = () => 'spoilt'",
        "Function.prototype.call = Function.prototype.apply = null; String.prototype.valueOf = null",
    ] {
        let read = "const keep = [$json, steps, $('first').item.json];";
        let source = format!(
            "{source}; const get = () => ({{a: $json.total, b: [steps.load_1.output.list[1], $('first').last().json.a]}}); return get()"
        );
        for source in [source.clone(), format!("{read} {source}")] {
            let result = pool.run(super::job(&source, super::document())).await;
            // Code that took its own names away fails; what never happens is a wrong result.
            if let Ok(answer) = result {
                assert_eq!(answer.value, json!({"a": 5, "b": [2, 3]}), "{source}");
            } else {
                assert!(source.contains("delete globalThis"), "{source}: {result:?}");
            }
        }
    }
}
