//! The words of the house: a type's name stands for one thing in a crate, says what the thing is, and the words that only
//! this project uses are explained in the glossary of ARCHITECTURE.md.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{is_test_code, rust_files, without_tests};

/// Each node type has its own `Config` in its own file: the file is the name.
const MAY_REPEAT: &[&str] = &["Config"];

/// Endings of participles, and words that end like one.
const PARTICIPLE_ENDINGS: &[&str] = &["ed", "ing"];
const NOUNS: &[&str] = &[
    "Encoding", "Ending", "Feed", "Finding", "Firing", "Meaning", "Meeting", "Need", "Reading",
    "Ring", "Seed", "Setting", "String", "Timing",
];
/// Participles and adjectives without such an ending: they say that something happened, not what it is.
const NO_NOUNS: &[&str] = &[
    "Begun", "Born", "Broken", "Busy", "Done", "Drawn", "Found", "Free", "Fresh", "Given", "Gone",
    "Got", "Held", "Hot", "Kept", "Known", "Late", "Lost", "Made", "Near", "Rest", "Seen", "Sent",
    "Shown", "Taken", "Told", "Unborn", "Warm", "Written",
];

/// Words that mean something here that no dictionary says. Each has an entry in the glossary.
const HOUSE_WORDS: &[&str] = &[
    "admission",
    "attempt",
    "change",
    "claim",
    "context",
    "decision",
    "dispatch",
    "effect key",
    "execution",
    "head",
    "hint",
    "inbox",
    "lane",
    "lease",
    "message",
    "operation",
    "pass",
    "presence",
    "quota",
    "reaper",
    "record",
    "row cache",
    "running ahead",
    "schema",
    "seq",
    "service",
    "shard",
    "signal",
    "slot",
    "snapshot",
    "step",
    "subject",
    "suspect",
    "sweeper",
    "sync guid",
    "timer",
    "timer window",
    "transaction",
    "transition",
    "wait",
];

pub(super) fn check(root: &Path, problems: &mut Vec<String>) {
    let mut folders: Vec<_> = fs::read_dir(root.join("crates"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    folders.push(root.join("xtask"));
    folders.sort();
    for folder in folders {
        check_types(root, &folder.join("src"), problems);
    }
    check_glossary(root, problems);
}

fn check_types(root: &Path, source: &Path, problems: &mut Vec<String>) {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in rust_files(source) {
        let shown = path.strip_prefix(root).unwrap_or(&path);
        let shown = shown.display().to_string();
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        if is_test_code(&shown) && !shown.contains("testkit/") {
            continue;
        }
        for (number, name) in type_names(without_tests(&text)) {
            let place = format!("{shown}:{number}");
            if is_no_noun(&name) {
                problems.push(format!(
                    "{place}: the type `{name}` is named after what happened; name it after what it is"
                ));
            }
            places.entry(name).or_default().push(place);
        }
    }
    let repeated = places
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && !MAY_REPEAT.contains(&name.as_str()));
    problems.extend(repeated.map(|(name, places)| {
        format!(
            "{}: the crate has several types called `{name}`",
            places.join(", ")
        )
    }));
}

/// The structs, enums and traits of a source, each with its line.
pub(crate) fn type_names(body: &str) -> impl Iterator<Item = (usize, String)> {
    body.lines().enumerate().filter_map(|(number, line)| {
        let mut rest = line.trim_start();
        if let Some(behind) = rest.strip_prefix("pub(in ") {
            rest = behind.split_once(") ")?.1;
        }
        for visible in ["pub(crate) ", "pub(super) ", "pub "] {
            rest = rest.strip_prefix(visible).unwrap_or(rest);
        }
        let kinds = ["struct ", "enum ", "trait "];
        let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
        let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let name = &name[..end.unwrap_or(name.len())];
        (!name.is_empty()).then(|| (number + 1, name.to_owned()))
    })
}

fn is_no_noun(name: &str) -> bool {
    let is_one_word = !name.chars().skip(1).any(char::is_uppercase);
    let is_participle = PARTICIPLE_ENDINGS.iter().any(|end| name.ends_with(end));
    is_one_word && !NOUNS.contains(&name) && (is_participle || NO_NOUNS.contains(&name))
}

fn check_glossary(root: &Path, problems: &mut Vec<String>) {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let glossary = text.split("\n## Glossary").nth(1).unwrap_or_default();
    let missing = HOUSE_WORDS
        .iter()
        .filter(|word| !glossary.contains(&format!("**{word}**")));
    problems.extend(
        missing.map(|word| format!("ARCHITECTURE.md: the glossary does not explain **{word}**")),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_no_name_for_a_thing() {
        for name in ["Claimed", "Begun", "Waiting", "Hot"] {
            assert!(is_no_noun(name), "{name}");
        }
        for name in ["ClaimedExecution", "Ending", "Lease", "RowCache"] {
            assert!(!is_no_noun(name), "{name}");
        }
    }

    #[test]
    fn types_are_found_at_every_visibility() {
        let source = "pub struct One;\npub(in crate::a) enum Two {\n    trait Three<T> {}\ntype Four = u8;\n// struct No\n";
        let names: Vec<String> = type_names(source).map(|(_, name)| name).collect();
        assert_eq!(names, ["One", "Two", "Three"]);
    }
}
