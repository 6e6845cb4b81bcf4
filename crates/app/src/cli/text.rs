//! Values as people like to read them: short, on one line, without anything that could upset a terminal.

use std::time::Duration;

use jiff::tz::TimeZone;
use pawl_kernel::text::is_unprintable;
use pawl_kernel::time::Timestamp;
use serde_json::Value;

use crate::wire::{DiagnosticLine, Payload, Time};

/// Data must not move the cursor, change colours or turn text around: such characters become visible escapes.
pub(super) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => cleaned.push(c),
            c if is_unprintable(c) => cleaned.extend(c.escape_default()),
            c => cleaned.push(c),
        }
    }
    cleaned
}

/// JSON in many lines that is the same to a program, and harmless to a terminal. Such characters stand in texts only,
/// where JSON has an escape for them.
pub(super) fn json(value: &Value) -> String {
    harmless(&format!("{value:#}"))
}

/// The same in one line.
pub(super) fn json_line(value: &Value) -> String {
    harmless(&value.to_string())
}

fn harmless(json: &str) -> String {
    let mut written = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || !is_unprintable(c) {
            written.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            written.push_str(&format!("\\u{unit:04x}"));
        }
    }
    written
}

/// At most `chars` characters of one line.
pub(super) fn cut(text: &str, chars: usize) -> String {
    let line = clean(text).replace(['\n', '\t'], " ");
    if line.chars().count() <= chars {
        return line;
    }
    let kept: String = line.chars().take(chars.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Compact JSON; text without its quotes, null as nothing.
pub(super) fn brief(value: &Value, chars: usize) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => cut(text, chars),
        other => cut(&other.to_string(), chars),
    }
}

/// What a step gave. Of an HTTP answer people want to see status and body, not the headers.
pub(super) fn output(value: &Value, chars: usize) -> String {
    match (value.get("status_code"), value.get("body")) {
        (Some(status), Some(body)) => {
            cut(format!("{status} {}", brief(body, chars)).trim_end(), chars)
        }
        _ if value.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
        _ => brief(value, chars),
    }
}

/// `CODE: message`.
pub(super) fn error(value: &Value, chars: usize) -> String {
    match (value["code"].as_str(), value["message"].as_str()) {
        (Some(code), Some(message)) => cut(&format!("{code}: {message}"), chars),
        _ => brief(value, chars),
    }
}

/// One unit is enough: `0.3 ms`, `12 ms`, `1.5 s`, `3m20s`.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 0.001 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.1} s"),
        _ => pawl_kernel::time::format_duration(Duration::from_secs(duration.as_secs())),
    }
}

/// `2026-01-31 12:30:05` where the reader sits.
pub(super) fn local_time(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).map_or_else(
        |_| at.to_string(),
        |moment| {
            moment
                .to_zoned(TimeZone::system())
                .strftime("%Y-%m-%d %H:%M:%S")
                .to_string()
        },
    )
}

/// `12:30:05`, for moments that are near.
pub(super) fn clock_time(at: Timestamp) -> String {
    local_time(at)
        .split_once(' ')
        .map_or_else(|| at.to_string(), |(_, time)| time.to_owned())
}

/// A time of the API, for people; what is missing is empty.
pub(super) fn time(at: impl Into<Option<Time>>) -> String {
    at.into()
        .map_or_else(String::new, |Time(at)| local_time(at))
}

/// Time from one field of the API to another.
pub(super) fn between(from: Time, to: impl Into<Option<Time>>) -> String {
    let took = to.into().map(|Time(to)| duration(to.since(from.0)));
    took.unwrap_or_default()
}

/// A value of the API on one line.
pub(super) fn line(value: impl ToString) -> String {
    cut(&value.to_string(), usize::MAX)
}

/// The same; what is missing is empty.
pub(super) fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, line)
}

/// An error of an execution, a step or an attempt, on one line.
pub(super) fn payload_error(found: Option<&Payload<'_>>, chars: usize) -> String {
    found.map_or_else(String::new, |found| error(&found.value(), chars))
}

/// `file:3:7: error: message [CODE] (hint)`; where no line is known, the pointer to the value.
pub(super) fn diagnostic_line(found: &DiagnosticLine) -> String {
    let mut line = String::new();
    if let Some(file) = &found.file {
        line.push_str(&format!("{file}:"));
    }
    if let Some(number) = found.line {
        line.push_str(&format!("{number}:{}: ", found.column.unwrap_or_default()));
    } else if !found.pointer.is_empty() {
        line.push_str(&format!("{}: ", found.pointer));
    }
    line.push_str(&format!(
        "{}: {} [{}]",
        found.severity, found.message, found.code
    ));
    if let Some(hint) = &found.hint {
        line.push_str(&format!(" ({hint})"));
    }
    clean(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_upset_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(clean("a\u{7f}\u{9b}2J"), "a\\u{7f}\\u{9b}2J");
        assert_eq!(
            clean("a\u{202e}b\u{200b}c\u{feff}"),
            "a\\u{202e}b\\u{200b}c\\u{feff}"
        );
        assert_eq!(
            clean("one\ttwo\nthree — привет 🦀"),
            "one\ttwo\nthree — привет 🦀"
        );
        assert_eq!(cut("one\ntwo", 20), "one two");
        assert_eq!(cut("привет, мир", 7), "привет…");
    }

    #[test]
    fn json_is_harmless_and_the_same() {
        let value = serde_json::json!({
            "csi \u{9b}": "\u{7f}\u{1b}", "bidi": ["a\u{202e}b", "\u{e0041}"], "plain": "é 🦀\n\t",
        });
        for text in [json(&value), json_line(&value)] {
            let seen: Vec<char> = text
                .chars()
                .filter(|c| is_unprintable(*c) && *c != '\n')
                .collect();
            assert!(seen.is_empty(), "{seen:?}");
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
            assert!(
                text.contains("é 🦀") && text.contains("\\udb40\\udc41"),
                "{text}"
            );
        }
        assert!(!json_line(&value).contains('\n'));
    }

    #[test]
    fn durations_have_one_unit() {
        let shown = |micros| duration(Duration::from_micros(micros));
        assert_eq!(shown(300), "0.3 ms");
        assert_eq!(shown(12_400), "12 ms");
        assert_eq!(shown(1_500_000), "1.5 s");
        assert_eq!(shown(200_000_000), "3m20s");
    }
}
