//! What code can reach: the language and the data of its run, nothing else.

use serde_json::json;

use super::{bare, pool};

#[tokio::test]
async fn there_is_no_host() {
    let source = "return ['process', 'require', 'module', 'Deno', 'Bun', 'std', 'os', 'bjson', 'fetch', 'XMLHttpRequest', 'WebSocket',
        'setTimeout', 'setInterval', 'setImmediate', 'print', 'scriptArgs', 'loadScript', 'Worker', 'SharedArrayBuffer', 'Atomics',
        'WebAssembly', 'performance', 'navigator', 'gc', 'WeakRef', 'FinalizationRegistry', 'Buffer', 'global']
        .filter(name => typeof globalThis[name] !== 'undefined')";
    assert_eq!(pool().run(bare(source)).await.unwrap().value, json!([]));
}

#[tokio::test]
async fn every_global_is_known() {
    let source = "return Object.getOwnPropertyNames(globalThis).sort()";
    let names = pool().run(bare(source)).await.unwrap().value;
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    let expected = include_str!("globals.txt");
    assert_eq!(names.join("\n"), expected.trim_end());
}

#[tokio::test]
async fn making_functions_out_of_text_leads_nowhere() {
    let pool = pool();
    for source in [
        "return typeof (() => {}).constructor('return process')",
        "return typeof [].constructor.constructor('return this')().process",
        "return typeof (async () => {}).constructor('return this')",
        "return typeof Function('return this')().require",
        "return typeof (0, eval)('this').fetch",
        "return typeof (function* () {}).constructor('yield 1')",
        "return typeof $.constructor('return this')().std",
        "return typeof console.log.constructor('return this')().os",
    ] {
        let shown = pool.run(bare(source)).await.unwrap().value;
        assert!(
            shown == "undefined" || shown == "function",
            "{source}: {shown}"
        );
    }
    for source in [
        "return (() => {}).constructor('return process')()",
        "return import('os')",
        "return await (0, eval)('import(\"std\")')",
        "return require('fs')",
    ] {
        let error = pool.run(bare(source)).await.unwrap_err();
        assert_eq!(error.code.name(), "CODE_ERROR", "{source}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_child_gave_its_rights_away() {
    let pool = pool();
    pool.run(bare("")).await.unwrap();
    let child = pool.idle_children()[0];
    let status = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(field("NoNewPrivs:"), "1");
    assert_eq!(field("Seccomp:"), "2");
    assert_eq!(field("Threads:"), "1");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(field(set), "0".repeat(16), "{set}");
    }
    let limits = std::fs::read_to_string(format!("/proc/{child}/limits")).unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        let values: Vec<&str> = line[name.len()..].split_whitespace().take(2).collect();
        values.join(" ")
    };
    assert_eq!(limit("Max open files"), "0 0");
    assert_eq!(limit("Max processes"), "0 0");
    assert_eq!(limit("Max core file size"), "0 0");
    for space in ["Max address space", "Max data size"] {
        let bytes: u64 = limit(space).split(' ').next().unwrap().parse().unwrap();
        assert!(bytes < 512 << 20, "{space}: {bytes}");
    }
    assert_ne!(limit("Max cpu time").split(' ').next(), Some("unlimited"));
    assert_eq!(
        std::fs::read_link(format!("/proc/{child}/cwd"))
            .unwrap()
            .to_str(),
        Some("/")
    );
    let environment = std::fs::read_to_string(format!("/proc/{child}/environ")).unwrap();
    let mut names: Vec<&str> = environment.split_terminator('\0').collect();
    names.sort_unstable();
    assert_eq!(names, ["MIMALLOC_ARENA_RESERVE=16MiB", "TZ=UTC0"]);
}
