//! One `check` per question, and the answers as data.

mod diagnostics;
mod editor;
mod exits;
mod fake;
mod graph;
mod hostile;
mod input;
mod reading;
mod rendering;
mod source;

use super::*;
use crate::diagnostic::Severity;
use fake::registry;

/// Every diagnostic as `line:column CODE`, `w:` before warnings, `n:` before notes.
fn places(loaded: &LoadedSchema) -> Vec<String> {
    let place = |found: &Diagnostic| {
        found.place.map_or("-".into(), |place| {
            format!("{}:{}", place.line, place.column)
        })
    };
    let severity = |found: &Diagnostic| match found.severity {
        Severity::Error => "",
        Severity::Warning => "w:",
        Severity::Note => "n:",
    };
    let all = loaded.diagnostics.iter();
    all.map(|found| format!("{}{} {}", severity(found), place(found), found.code))
        .collect()
}

fn load_text(text: &str) -> LoadedSchema {
    load(Some("test.yaml"), text, &registry())
}

#[track_caller]
fn check_places(text: &str, expected: &[&str]) {
    let loaded = load_text(text);
    assert_eq!(
        places(&loaded),
        expected,
        "{}",
        render_diagnostics(text, &loaded.diagnostics, false)
    );
}

#[track_caller]
fn loads(text: &str) -> Definition {
    let loaded = load_text(text);
    let drawn = render_diagnostics(text, &loaded.diagnostics, false);
    loaded.definition.unwrap_or_else(|| panic!("{drawn}"))
}
