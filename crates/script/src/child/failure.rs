//! From whatever was thrown to an error that says what, where and how to fix it.

use rquickjs::{Coerced, Ctx, FromJs, Object, Type, Value};

use super::console;
use crate::error::Code;
use crate::wire::{FailureFrame, MESSAGE_BYTES_MAX};

/// The name under which the engine knows the user's source.
pub(super) const FILE: &str = "code";
/// Lines of ours before the first of the user's.
const LINES_BEFORE: u32 = 1;
const STACK_LINES_MAX: usize = 16;

pub(super) fn plain(code: Code, message: impl Into<String>) -> FailureFrame {
    FailureFrame {
        code,
        message: message.into(),
        name: None,
        line: None,
        column: None,
        stack: Vec::new(),
        maybe_memory: false,
    }
}

pub(super) fn timeout(time_ms: u64) -> FailureFrame {
    let error = crate::ScriptError::timeout(std::time::Duration::from_millis(time_ms));
    plain(error.code, error.message)
}

pub(super) fn memory(memory_bytes: usize) -> FailureFrame {
    let error = crate::ScriptError::memory(memory_bytes);
    plain(error.code, error.message)
}

pub(super) fn syntax(message: String, line: u32, column: u32) -> FailureFrame {
    FailureFrame {
        name: Some("SyntaxError".to_owned()),
        line: Some(line),
        column: Some(column),
        ..plain(Code::Syntax, message)
    }
}

/// The source ended the function around it and went on.
pub(super) fn unbalanced() -> FailureFrame {
    syntax("a `}` closes more than was opened".to_owned(), 1, 1)
}

/// Nothing is left to do, and the result is not there. A job that had no memory left ends like that too.
pub(super) fn unsettled() -> FailureFrame {
    let message = "the code waits for a promise that nothing will settle; there are no timers and no network here";
    FailureFrame {
        maybe_memory: true,
        ..plain(Code::Error, message)
    }
}

/// Describes a thrown value. Reading it may run user code again, within the same limits.
pub(super) fn thrown<'js>(
    ctx: &Ctx<'js>,
    value: Value<'js>,
    source: &str,
    memory_bytes: usize,
) -> FailureFrame {
    let Some(error) = value.as_object().filter(|_| value.is_error()) else {
        return not_an_error(ctx, &value, source, memory_bytes);
    };
    let name = text(ctx, error, "name").unwrap_or_else(|| "Error".to_owned());
    let message = text(ctx, error, "message").unwrap_or_default();
    let stack = text(ctx, error, "stack").unwrap_or_default();
    match (name.as_str(), message.as_str()) {
        ("InternalError", "out of memory") => return memory(memory_bytes),
        ("RangeError", "Maximum call stack size exceeded") => {
            return FailureFrame {
                name: Some(name),
                ..located(
                    plain(
                        Code::Stack,
                        "the calls are nested too deep; look for a recursion that does not end, or use a loop",
                    ),
                    &stack,
                    source,
                )
            };
        }
        _ => {}
    }
    let shown = if message.is_empty() {
        name.clone()
    } else {
        message
    };
    FailureFrame {
        name: Some(name),
        ..located(plain(Code::Error, shown), &stack, source)
    }
}

fn not_an_error<'js>(
    ctx: &Ctx<'js>,
    value: &Value<'js>,
    source: &str,
    memory_bytes: usize,
) -> FailureFrame {
    // Without memory for an error object the engine throws null; code needs a word for that.
    let can_throw = ["throw", "reject"].iter().any(|word| source.contains(word));
    let is_null = value.is_null();
    if value.type_of() == Type::Uninitialized || (is_null && !can_throw) {
        return memory(memory_bytes);
    }
    let shown = console::show(ctx, value, MESSAGE_BYTES_MAX);
    let message = format!("{shown} was thrown; throw an Error to see where it comes from");
    FailureFrame {
        maybe_memory: is_null,
        ..plain(Code::Error, message)
    }
}

/// The error of a source that does not parse, at its place in what the user wrote.
pub(super) fn unparsable<'js>(ctx: &Ctx<'js>, value: &Value<'js>, source: &str) -> FailureFrame {
    let (message, stack) = match value.as_object() {
        Some(error) => (
            text(ctx, error, "message").unwrap_or_default(),
            text(ctx, error, "stack").unwrap_or_default(),
        ),
        None => (String::new(), String::new()),
    };
    let lines = u32::try_from(source.split('\n').count()).unwrap_or(u32::MAX);
    match places(&stack).next() {
        Some((line, column)) if line > LINES_BEFORE && line - LINES_BEFORE <= lines => {
            let line = line - LINES_BEFORE;
            syntax(message, line, characters(source, line, column))
        }
        _ => {
            let last = source.split('\n').next_back().unwrap_or_default();
            let column = u32::try_from(last.chars().count() + 1).unwrap_or(u32::MAX);
            let message = format!(
                "the code ends too early; a bracket, string or comment is open ({message})"
            );
            syntax(message, lines, column)
        }
    }
}

fn located(mut failed: FailureFrame, stack: &str, source: &str) -> FailureFrame {
    let lines = u32::try_from(source.split('\n').count()).unwrap_or(u32::MAX);
    let own = |line: u32| line > LINES_BEFORE && line - LINES_BEFORE <= lines;
    if let Some((line, column)) = places(stack).find(|(line, _)| own(*line)) {
        let line = line - LINES_BEFORE;
        failed.line = Some(line);
        failed.column = Some(characters(source, line, column));
    }
    failed.stack = stack
        .lines()
        .filter_map(|frame| {
            let (line, column) = place(frame).filter(|(line, _)| own(*line))?;
            let function = frame.trim_start().strip_prefix("at ")?.split(" (").next()?;
            let line = line - LINES_BEFORE;
            let column = characters(source, line, column);
            Some(format!("{function} ({line}:{column})"))
        })
        .take(STACK_LINES_MAX)
        .collect();
    failed
}

fn places(stack: &str) -> impl Iterator<Item = (u32, u32)> + '_ {
    stack.lines().filter_map(place)
}

/// Line and column of a frame such as `at name (code:3:15)`; frames of ours have another file.
fn place(frame: &str) -> Option<(u32, u32)> {
    let from = frame.rfind(&format!("{FILE}:"))?;
    let before = frame[..from].chars().next_back();
    if !matches!(before, Some('(' | ' ')) {
        return None;
    }
    let mut numbers = frame[from + FILE.len() + 1..]
        .trim_end_matches(')')
        .split(':');
    let line = numbers.next()?.parse().ok()?;
    let column = numbers.next()?.parse().ok().filter(|column| *column > 0)?;
    Some((line, column))
}

/// The engine counts bytes, people count characters.
fn characters(source: &str, line: u32, byte_column: u32) -> u32 {
    let text = source
        .split('\n')
        .nth(line as usize - 1)
        .unwrap_or_default();
    let before = text.floor_char_boundary(byte_column as usize - 1);
    let count = text[..before].chars().count() + 1;
    u32::try_from(count).unwrap_or(byte_column)
}

/// A property as text, cut; nothing if reading it throws.
fn text<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str) -> Option<String> {
    let read = object
        .get::<_, Value<'js>>(name)
        .and_then(|value| match value.is_undefined() {
            true => Ok(None),
            false => Coerced::<String>::from_js(ctx, value).map(Some),
        });
    match read {
        Ok(found) => found.map(|Coerced(text)| cut(text, MESSAGE_BYTES_MAX)),
        Err(_) => {
            ctx.catch();
            None
        }
    }
}

/// At most `bytes_max` bytes, and a sign that there was more.
pub(super) fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
    }
    text
}
