//! Diagnostics for the terminal, the way rustc draws them.
//!
//! The source is untrusted text: control and direction characters in it are escaped, so that a
//! schema cannot write to the terminal or the log.

use std::fmt::Write;

use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::text::is_unprintable;

/// Longer lines are cut around the place.
const LINE_WIDTH: usize = 120;
const LEAD_IN: usize = 40;

pub fn render_diagnostics(source_text: &str, diagnostics: &[Diagnostic], colour: bool) -> String {
    let source_text = source_text.strip_prefix('\u{feff}').unwrap_or(source_text);
    let lines: Vec<&str> = source_text.split('\n').collect();
    let mut out = String::new();
    for diagnostic in diagnostics {
        render(&lines, diagnostic, Paint { colour }, &mut out);
    }
    out
}

fn render(lines: &[&str], diagnostic: &Diagnostic, paint: Paint, out: &mut String) {
    let (word, style) = match diagnostic.severity {
        Severity::Error => ("error", RED),
        Severity::Warning => ("warning", YELLOW),
        Severity::Note => ("note", BLUE),
    };
    let title = paint.with(style, &format!("{word}[{}]", diagnostic.code));
    let message = paint.with(BOLD, &format!(": {}", escaped(&diagnostic.message)));
    push_line(out, &format!("{title}{message}"));
    let gutter = diagnostic
        .place
        .map_or(1, |place| place.line.to_string().len());
    let arrow = paint.with(BLUE, "-->");
    push_line(
        out,
        &format!("{:gutter$}{arrow} {}", "", whereabouts(diagnostic)),
    );
    let bar = format!("{:gutter$} {}", "", paint.with(BLUE, "|"));
    let line = diagnostic
        .place
        .and_then(|place| Some((place, *lines.get(place.line - 1)?)));
    if let Some((place, line)) = line {
        let (shown, carets) = excerpt(line, place);
        let number = paint.with(BLUE, &format!("{} |", place.line));
        push_line(out, &bar);
        push_line(out, &format!("{number} {shown}"));
        push_line(out, &format!("{bar} {}", paint.with(style, &carets)));
    }
    if let Some(hint) = &diagnostic.hint {
        let equals = paint.with(BLUE, "=");
        push_line(
            out,
            &format!("{:gutter$} {equals} help: {}", "", escaped(hint)),
        );
    }
    out.push('\n');
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

fn whereabouts(diagnostic: &Diagnostic) -> String {
    let mut text = match &diagnostic.file {
        Some(file) => escaped(file),
        None => "schema".to_owned(),
    };
    if let Some(place) = diagnostic.place {
        // Writing to a String cannot fail.
        let _ = write!(text, ":{}:{}", place.line, place.column);
    } else if !diagnostic.pointer.is_empty() {
        let _ = write!(text, " {}", escaped(&diagnostic.pointer));
    }
    if let Some(node) = &diagnostic.node_id {
        let _ = write!(text, " (node {})", escaped(node));
    }
    text
}

/// The line as shown, and the carets under the place.
fn excerpt(line: &str, place: Place) -> (String, String) {
    let line = line.trim_end_matches('\r');
    let start = place.column - 1;
    let from = if line.chars().count() > LINE_WIDTH {
        start.saturating_sub(LEAD_IN)
    } else {
        0
    };
    let (mut shown, mut carets) = (String::new(), String::new());
    if from > 0 {
        shown.push('…');
        carets.push(' ');
    }
    let mut width = 0;
    for (index, c) in line.chars().enumerate().skip(from) {
        if width >= LINE_WIDTH {
            shown.push('…');
            break;
        }
        let marked = (start..start + place.length).contains(&index);
        let (text, columns) = displayed(c);
        shown.push_str(&text);
        let sign = if marked { '^' } else { ' ' };
        carets.extend(std::iter::repeat_n(sign, columns));
        width += columns;
    }
    if !carets.contains('^') {
        carets.push('^');
    }
    (shown, carets.trim_end().to_owned())
}

/// A character as it may be printed, and how many columns it takes.
fn displayed(c: char) -> (String, usize) {
    if c == '\t' {
        return ("    ".to_owned(), 4);
    }
    if is_unprintable(c) {
        let text: String = c.escape_unicode().collect();
        let columns = text.len();
        return (text, columns);
    }
    (c.to_string(), columns(c))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unprintable(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Near enough for a caret: terminals disagree about the rest anyway.
fn columns(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

const RED: &str = "\u{1b}[1;31m";
const YELLOW: &str = "\u{1b}[1;33m";
const BLUE: &str = "\u{1b}[1;34m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

#[derive(Clone, Copy)]
struct Paint {
    colour: bool,
}

impl Paint {
    fn with(self, style: &str, text: &str) -> String {
        if self.colour {
            format!("{style}{text}{PLAIN}")
        } else {
            text.to_owned()
        }
    }
}
