//! Diagnostics as the terminal shows them.

use super::*;
use crate::diagnostic::Place;

fn at(line: usize, column: usize, length: usize) -> Diagnostic {
    let place = Place {
        line,
        column,
        length,
    };
    Diagnostic {
        place: Some(place),
        ..Diagnostic::error("CODE", "/x", "message")
    }
}

#[test]
fn like_rustc() {
    let text = "name: t\nnodes:\n- {id: s, type: start}\n- {id: a, type: lgo}\nedges:\n- {source: s, target: a}\n";
    let loaded = load_text(text);
    let expected = "\
error[UNKNOWN_NODE_TYPE]: there is no node type `lgo`
 --> test.yaml:4:17 (node a)
  |
4 | - {id: a, type: lgo}
  |                 ^^^
  = help: did you mean `log`?

";
    assert_eq!(
        render_diagnostics(text, &loaded.diagnostics, false),
        expected
    );
    let coloured = render_diagnostics(text, &loaded.diagnostics, true);
    assert!(coloured.starts_with("\u{1b}[1;31merror[UNKNOWN_NODE_TYPE]\u{1b}[0m"));
}

#[track_caller]
fn draws(line: &str, diagnostic: Diagnostic, shown: &str, carets: &str) {
    let drawn = render_diagnostics(line, &[diagnostic], false);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(lines[3], format!("1 | {shown}").trim_end());
    assert_eq!(lines[4], format!("  | {carets}"));
}

#[test]
fn tabs_wide_letters_and_control_characters() {
    draws("\ta: b", at(1, 2, 1), "    a: b", "    ^");
    draws("日本: x", at(1, 5, 1), "日本: x", "      ^");
    draws("日本: x", at(1, 1, 2), "日本: x", "^^^^");
    draws("e\u{301}: x", at(1, 5, 1), "e\u{301}: x", "   ^");
    draws(
        "\u{1b}[31m: x",
        at(1, 8, 1),
        "\\u{1b}[31m: x",
        "            ^",
    );
    draws("a\u{202e}b", at(1, 3, 1), "a\\u{202e}b", "         ^");
    draws("abc\r", at(1, 9, 3), "abc", "   ^");
    draws("", at(1, 1, 1), "", "^");
}

#[test]
fn nothing_hostile_is_printed() {
    let evil = "\u{1b}]0;owned\u{7}\nfake";
    let diagnostic = Diagnostic {
        file: Some(evil.into()),
        node_id: Some(evil.into()),
        message: evil.into(),
        hint: Some(evil.into()),
        ..at(1, 1, 1)
    };
    let drawn = render_diagnostics(evil, &[diagnostic], false);
    assert!(
        drawn.chars().all(|c| c == '\n' || !c.is_control()),
        "{drawn:?}"
    );
    assert!(!drawn.contains("\nfake"));
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let line = format!("{}HERE{}", "x".repeat(5_000), "y".repeat(5_000));
    let drawn = render_diagnostics(&line, &[at(1, 5_001, 4)], false);
    let shown = drawn.lines().nth(3).unwrap();
    assert!(
        shown.contains("xHEREy") && shown.chars().count() < 140,
        "{shown}"
    );
    let carets = drawn.lines().nth(4).unwrap();
    let caret = carets.find('^').unwrap();
    let letters: Vec<char> = shown.chars().collect();
    assert_eq!(letters[caret], 'H');
}

#[test]
fn places_outside_the_text_are_survived() {
    render_diagnostics(
        "",
        &[at(9, 9, 9), Diagnostic::error("CODE", "/x", "m")],
        true,
    );
}
