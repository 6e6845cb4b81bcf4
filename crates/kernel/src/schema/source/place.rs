//! From byte ranges to lines and columns, and from places inside a string to places in the text.

use std::ops::Range;

use crate::diagnostic::Place;

pub(super) fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect()
}

/// A range over several lines is marked on its first line only.
pub(super) fn place(text: &str, line_starts: &[usize], range: &Range<usize>) -> Place {
    let start = floor_boundary(text, range.start.min(text.len()));
    let line = line_starts.partition_point(|&at| at <= start).max(1);
    let line_start = line_starts.get(line - 1).copied().unwrap_or(0);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let end = floor_boundary(text, range.end.clamp(start, line_end));
    let marked = text[start..end].trim_end();
    Place {
        line,
        column: text[line_start..start].chars().count() + 1,
        length: marked.chars().count().max(1),
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Where `bytes` of `string` stand in the text that spells it at `spelled`.
pub(super) fn inside_string(
    text: &str,
    spelled: &Range<usize>,
    string: &str,
    bytes: &Range<usize>,
) -> Option<Range<usize>> {
    let spelling = text.get(spelled.clone())?;
    let offset = if spelling.starts_with(['"', '\'']) {
        return in_quotes(spelling, string, bytes)
            .map(|inner| spelled.start + inner.start..spelled.start + inner.end);
    } else if spelling.trim_end() == string.trim_end() {
        spelled.start
    } else {
        return in_block(text, spelled.start, string, bytes);
    };
    Some(offset + bytes.start..offset + bytes.end)
}

/// Walks a quoted spelling and its string side by side. Gives up on strings folded over lines.
fn in_quotes(spelling: &str, string: &str, bytes: &Range<usize>) -> Option<Range<usize>> {
    let quote = spelling.chars().next()?;
    let (mut at, mut made) = (1, 0);
    let mut start = None;
    while made < bytes.end {
        if made >= bytes.start && start.is_none() {
            start = Some(at);
        }
        let letter = string.get(made..)?.chars().next()?;
        at += spelled_length(spelling.get(at..)?, quote, letter)?;
        made += letter.len_utf8();
    }
    Some(start.unwrap_or(at)..at)
}

/// How many bytes of the spelling stand for this one letter.
fn spelled_length(rest: &str, quote: char, letter: char) -> Option<usize> {
    let mut letters = rest.chars();
    match letters.next()? {
        '\\' if quote == '"' => match letters.next()? {
            'x' => Some(4),
            'u' if letter.len_utf8() == 4 => Some(12),
            'u' => Some(6),
            'U' => Some(10),
            '\n' | '\r' => None,
            _ => Some(2),
        },
        '\'' if quote == '\'' => Some(2),
        same if same == letter && same != '\n' => Some(same.len_utf8()),
        _ => None,
    }
}

/// A literal block keeps its lines; only the indentation is added.
fn in_block(text: &str, start: usize, string: &str, bytes: &Range<usize>) -> Option<Range<usize>> {
    let before = string.get(..bytes.start)?;
    let line_in_string = before.matches('\n').count();
    let offset = bytes.start - before.rfind('\n').map_or(0, |at| at + 1);
    let indent = start - text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let line_start = start - indent
        + text
            .get(start - indent..)?
            .split_inclusive('\n')
            .take(line_in_string)
            .map(str::len)
            .sum::<usize>();
    let wanted = string.split('\n').nth(line_in_string)?;
    let content = text.get(line_start + indent..)?;
    let same = content.lines().next()?.trim_end_matches('\r') == wanted;
    let at = line_start + indent + offset;
    same.then_some(at..at + bytes.len())
}
