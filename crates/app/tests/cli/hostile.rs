//! Whatever is typed or lies on disk: a message and an exit code, never a panic.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use serde_json::Value;

use crate::support::{Dev, folder, pawl, pawl_with};

const FLOW: &str = "name: f\nnodes:\n  - { id: s, type: start }\n  - { id: e, type: end }\nedges:\n  - { source: s, target: e }\n";

/// Files by name. Each is refused by `run` and `validate` alike, with exit 2.
fn bad_files() -> Vec<(&'static str, Vec<u8>)> {
    let deep = |open: &str, close: &str, depth: usize| {
        format!("{}{}", open.repeat(depth), close.repeat(depth)).into_bytes()
    };
    vec![
        ("empty.yaml", Vec::new()),
        ("blank.yaml", b" \n\t\n".to_vec()),
        ("bom-only.yaml", b"\xef\xbb\xbf".to_vec()),
        ("binary.yaml", (0..=255).collect()),
        ("elf.yaml", b"\x7fELF\x02\x01\x01\x00\x00".to_vec()),
        ("latin1.yaml", b"name: caf\xe9\n".to_vec()),
        ("surrogate.json", br#"{"name": "\ud800"}"#.to_vec()),
        ("nul.yaml", b"name: a\0b\nnodes: []\nedges: []\n".to_vec()),
        ("large.yaml", vec![b'#'; 5 << 20]),
        ("deep.json", deep("[", "]", 100_000)),
        ("deep-objects.json", deep("{\"a\":", "}", 10_000)),
        ("deep.yaml", deep("- ", "", 50_000)),
        ("scalar.yaml", b"42".to_vec()),
        ("list.json", b"[]".to_vec()),
        ("null.json", b"null".to_vec()),
        ("half.json", br#"{"name": "f", "nodes": ["#.to_vec()),
        (
            "two-documents.yaml",
            format!("{FLOW}---\n{FLOW}").into_bytes(),
        ),
        ("tabs.yaml", b"name:\tf\nnodes:\n\t- a\n".to_vec()),
        ("laughs.yaml", billion_laughs().into_bytes()),
        ("duplicate.yaml", format!("{FLOW}name: g\n").into_bytes()),
        (
            "wrong-types.yaml",
            b"name: 3\nnodes: {}\nedges: 1\n".to_vec(),
        ),
        (
            "no-start.yaml",
            FLOW.replace("type: start", "type: log").into_bytes(),
        ),
        (
            "bad-name.yaml",
            FLOW.replace("name: f", "name: \"../../etc\"").into_bytes(),
        ),
        (
            "escape.yaml",
            FLOW.replace("type: start", "type: \"\\e[31m\\e]0;x\\a\"")
                .into_bytes(),
        ),
        (
            "expression.yaml",
            FLOW.replace("type: end }", "type: end, config: { output: \"{{1 +\" } }")
                .into_bytes(),
        ),
    ]
}

fn billion_laughs() -> String {
    let mut text = String::from("a0: &a0 [x]\n");
    for level in 1..30 {
        let below = level - 1;
        text.push_str(&format!("a{level}: &a{level} [*a{below}, *a{below}]\n"));
    }
    text
}

fn refused(folder: &Path, arguments: &[OsString]) {
    let ended = pawl(folder, arguments);
    assert_eq!(
        ended.code, 2,
        "{arguments:?}: {}{}",
        ended.stdout, ended.stderr
    );
    assert!(
        !(ended.stderr.is_empty() && ended.stdout.is_empty()),
        "{arguments:?} says nothing"
    );
    assert!(
        !ended.stderr.contains('\u{1b}') && !ended.stdout.contains('\u{1b}'),
        "{arguments:?} reached the terminal"
    );
}

fn words(text: &[&str]) -> Vec<OsString> {
    text.iter().map(OsString::from).collect()
}

#[test]
fn bad_files_are_refused() {
    let folder = folder();
    for (name, bytes) in bad_files() {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        refused(folder.path(), &words(&["run", name]));
        refused(folder.path(), &words(&["validate", name]));
    }
}

#[test]
fn odd_but_good_files_run() {
    let folder = folder();
    for (name, text) in [
        ("bom.yaml", format!("\u{feff}{FLOW}")),
        ("crlf.yaml", FLOW.replace('\n', "\r\n")),
        ("имя с пробелом 🦀.yaml", FLOW.to_owned()),
        ("--flag.yaml", FLOW.to_owned()),
        ("no-extension", FLOW.to_owned()),
        ("shouting.YAML", FLOW.to_owned()),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
        pawl(folder.path(), &["run", "--", name]).expect(0);
    }
    let odd = OsString::from_vec(b"bad-\xff-name.yaml".to_vec());
    std::fs::write(folder.path().join(&odd), FLOW).unwrap();
    pawl(folder.path(), &[OsString::from("run"), odd]).expect(0);
}

#[test]
fn bad_places_are_refused() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    std::os::unix::fs::symlink("loop.yaml", folder.path().join("loop.yaml")).unwrap();
    for arguments in [
        &["run", "missing.yaml"][..],
        &["run", "."],
        &["run", "empty"],
        &["run", "loop.yaml"],
        &["run", "missing/below.yaml"],
        &["run", "/dev/null"],
        &["run", "/dev/zero"],
        &["run", ""],
        &["validate", "empty"],
        &["validate", "missing.yaml"],
        &["validate", ""],
        &["validate"],
    ] {
        refused(folder.path(), &words(arguments));
    }
}

#[test]
fn bad_flags_are_refused() {
    let folder = folder();
    std::fs::write(folder.path().join("flow.yaml"), FLOW).unwrap();
    std::fs::write(folder.path().join("bad.json"), "{").unwrap();
    let nested = "[".repeat(50_000);
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for arguments in [
        &["run", "flow.yaml", "--input", "{"][..],
        &["run", "flow.yaml", "--input", ""],
        &["run", "flow.yaml", "--input", "hello"],
        &["run", "flow.yaml", "--input", "{}{}"],
        &["run", "flow.yaml", "--input", &nested],
        &["run", "flow.yaml", "--input", &deep],
        &["run", "flow.yaml", "--input", "@"],
        &["run", "flow.yaml", "--input", "@missing.json"],
        &["run", "flow.yaml", "--input", "@bad.json"],
        &["run", "flow.yaml", "--input", "@."],
        &["run", "flow.yaml", "--input", "-"],
        &["run", "flow.yaml", "--input", "-", "--debug"],
        &["run", "flow.yaml", "--input", r#""\ud800""#],
        &["run", "flow.yaml", "--input", "1e999"],
        &["run", "flow.yaml", "--input"],
        &["run", "flow.yaml", "--var", "a"],
        &["run", "flow.yaml", "--var", "=1"],
        &["run", "flow.yaml", "--var", "a=b"],
        &["run", "flow.yaml", "--var", "a.b=1"],
        &["run", "flow.yaml", "--unknown"],
        &["run", "flow.yaml", "flow.yaml"],
        &["run"],
        &["dance"],
        &[],
        &["--config", "missing.toml", "run", "flow.yaml"],
        &["executions", "fork", "x"],
        &["executions", "continue", "x", "--run", "--to", "y"],
        &["completions", "tcl"],
        &["schema", "list", "--url", "not an address"],
        &["schema", "list", "--key", "a\nb"],
    ] {
        refused(folder.path(), &words(arguments));
    }
    let broken = OsString::from_vec(b"\xff\xfe".to_vec());
    refused(
        folder.path(),
        &[
            OsString::from("run"),
            "flow.yaml".into(),
            "--input".into(),
            broken,
        ],
    );
}

#[test]
fn a_log_filter_that_is_none_is_refused() {
    let folder = folder();
    let child = crate::support::piped(
        crate::support::command(folder.path())
            .arg("node-types")
            .env("PAWL_LOG", "a=b=c"),
    );
    let ended = crate::support::ended(child).expect(2);
    assert!(ended.stderr.contains("PAWL_LOG"), "{}", ended.stderr);
}

#[test]
fn data_cannot_reach_the_terminal() {
    let folder = folder();
    let flow = FLOW.replace(
        "  - { id: e, type: end }",
        "  - { id: l, type: log, config: { message: \"{{input}}\" } }\n  - { id: e, type: end, config: { output: \"{{input}}\" } }",
    );
    let flow = flow.replace("target: e }", "target: l }\n  - { source: l, target: e }");
    std::fs::write(folder.path().join("flow.yaml"), flow).unwrap();
    let stdin = br#""\u001b[2J\u001b]0;owned\u0007 \u0000 \u009b31m""#;
    let ended = pawl_with(folder.path(), &["run", "flow.yaml", "--input", "-"], stdin).expect(0);
    assert!(ended.stdout.contains("owned"), "{}", ended.stdout);
    assert!(
        !ended.stdout.contains(['\u{1b}', '\u{7}', '\0', '\u{9b}']),
        "{:?}",
        ended.stdout
    );
}

/// The flow with its input as its output.
fn mirror() -> String {
    FLOW.replace(
        "type: end }",
        "type: end, config: { output: \"{{input}}\" } }",
    )
}

/// What turns text around, the C1 controls, DEL and the rest: as data they are kept, on a terminal they are escapes.
const UPSETTING: &str = r#"{"bidi \u202e": "\u202e\u2066", "c1": "\u009b31m \u0085", "del": "\u007f", "c0": "\u001b[2J\u0007\u0000"}"#;

fn harmless(text: &str) {
    let upsets = |c: &char| {
        c.is_control() && *c != '\n'
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let seen: Vec<char> = text.chars().filter(upsets).collect();
    assert!(seen.is_empty(), "{seen:?} in {text:?}");
}

#[test]
fn json_on_a_terminal_is_harmless_and_the_same() {
    let folder = folder();
    std::fs::write(folder.path().join("flow.yaml"), mirror()).unwrap();
    let value: Value = serde_json::from_str(UPSETTING).unwrap();
    let ran = ["run", "flow.yaml", "--input", UPSETTING, "--json"];
    let ran = pawl(folder.path(), &ran).expect(0);
    harmless(&ran.stdout);
    assert_eq!(ran.json()["output"], value);

    let dev = Dev::start(folder.path());
    let ask = |words: &[&str]| {
        let ended = dev.ask(folder.path(), words).expect(0);
        harmless(&ended.stdout);
        ended
    };
    ask(&["schema", "save", "flow.yaml"]);
    let start = ["executions", "start", "f", "--input", UPSETTING, "--wait"];
    let run = ask(&[&start[..], &["--json"]].concat()).json();
    assert_eq!(run["output"], value);
    let id = run["id"].as_str().unwrap();
    let show = ask(&["executions", "show", id, "--json"]).json();
    assert_eq!(show["output"], value);
    // Without --json it is JSON all the same.
    let context = ask(&["executions", "context", id]).json();
    assert_eq!(context["input"], value);
    let context = ask(&["executions", "context", id, "--json"]).json();
    assert_eq!(context["context"]["input"], value);
    let step = ask(&["executions", "context", id, "--seq", "1", "--json"]).json();
    assert_eq!(step["after"]["input"], value);
    let steps = ask(&["executions", "steps", id, "--json"]).json();
    assert_eq!(steps["items"][1]["output"], value, "{steps}");
    let events = ask(&["executions", "events", id, "--json"]).stdout;
    let end: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(end["data"]["output"], value);
    for words in [
        &["show", id][..],
        &["steps", id],
        &["events", id],
        &["context", id, "--seq", "1"],
        &["explain", id],
        &["diff", id, "--with", id],
    ] {
        ask(&[&["executions"][..], words].concat());
    }
}

/// The same table that goes through the other edges.
#[test]
fn policy_of_input_arguments() {
    let folder = folder();
    std::fs::write(folder.path().join("flow.yaml"), mirror()).unwrap();
    let cases = include_str!("../../../../tests/json_policy.json");
    for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
        let text = case["text"].as_str().unwrap();
        let ended = pawl(
            folder.path(),
            &["run", "flow.yaml", "--json", "--input", text],
        );
        match case.get("kept") {
            Some(kept) => assert_eq!(ended.expect(0).json()["output"], *kept, "{case}"),
            None => {
                let said = ended.expect(2).stderr;
                assert!(said.contains("--input"), "{case}: {said}");
            }
        }
    }
}
