//! Functions of SQLite that take their time where no handler can interrupt them: inside of one instruction. Theirs
//! compare every place with every pattern, and `LIKE` calls itself for every `%`. These give the same answers, in one
//! pass or with a look at the clock.
//!
//! An index is not used for `LIKE 'abc%'` and `GLOB 'abc*'` any more: that is for their own functions only.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Error, ffi};

use super::stop::Stop;

/// Steps between two looks at the clock.
const LOOK_AFTER: u64 = 1 << 16;

/// Bytes of a pattern: theirs has a limit of this kind too.
const PATTERN_MAX: usize = 1_000;

/// What the connection has to obey at the moment.
#[derive(Clone)]
pub(crate) struct StopFlag(Arc<Mutex<Arc<Stop>>>);

impl StopFlag {
    pub(crate) fn new(stop: Arc<Stop>) -> Self {
        Self(Arc::new(Mutex::new(stop)))
    }

    pub(crate) fn set(&self, stop: Arc<Stop>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stop;
    }

    pub(crate) fn get(&self) -> Arc<Stop> {
        let stop = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stop.clone()
    }
}

/// Looks at the clock now and then.
struct Watch {
    stop: Arc<Stop>,
    steps: u64,
}

impl Watch {
    fn of(obeyed: &StopFlag) -> Self {
        Self {
            stop: obeyed.get(),
            steps: 0,
        }
    }

    fn step(&mut self) -> rusqlite::Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(LOOK_AFTER) && self.stop.reason().is_some() {
            return Err(failure(ffi::SQLITE_INTERRUPT));
        }
        Ok(())
    }
}

enum Answer {
    Null,
    Integer(i64),
    /// The first argument, as it is.
    First,
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl ToSql for Answer {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Integer(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::First => ToSqlOutput::Arg(0),
            Self::Text(bytes) => ToSqlOutput::Borrowed(ValueRef::Text(bytes)),
            Self::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

/// Puts ours in the place of theirs. No value may become longer than `bytes`.
pub(crate) fn replace_slow_ones(
    connection: &Connection,
    obeyed: &StopFlag,
    bytes: usize,
) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("instr", 2, flags, instr)?;
    connection.create_scalar_function("replace", 3, flags, move |call| replace(call, bytes))?;
    for (name, left, right) in [
        ("trim", true, true),
        ("ltrim", true, false),
        ("rtrim", false, true),
    ] {
        let obeyed = obeyed.clone();
        connection.create_scalar_function(name, 2, flags, move |call| {
            trim(call, left, right, &mut Watch::of(&obeyed))
        })?;
    }
    let watched = obeyed.clone();
    connection.create_scalar_function("unhex", 2, flags, move |call| {
        unhex(call, &mut Watch::of(&watched))
    })?;
    for count in [2, 3] {
        let obeyed = obeyed.clone();
        connection.create_scalar_function("like", count, flags, move |call| like(call, &obeyed))?;
    }
    let obeyed = obeyed.clone();
    connection.create_scalar_function("glob", 2, flags, move |call| glob(call, &obeyed))
}

/// The text of a value, `None` for NULL.
fn text(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(real(number).into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

/// As SQLite writes it: `1.0`, `1.5e+20`.
fn real(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Inf" } else { "-Inf" }.into();
    }
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..=16).contains(&exponent) {
        let plain = format!("{number}");
        let point = if plain.contains('.') { "" } else { ".0" };
        return format!("{plain}{point}");
    }
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{point}e{sign}{:02}", exponent.abs())
}

fn instr(call: &Context<'_>) -> rusqlite::Result<Answer> {
    let (whole, part) = (call.get_raw(0), call.get_raw(1));
    let blobs = matches!((whole, part), (ValueRef::Blob(_), ValueRef::Blob(_)));
    let (Some(whole), Some(part)) = (text(whole), text(part)) else {
        return Ok(Answer::Null);
    };
    let Some(at) = memmem::find(&whole, &part) else {
        return Ok(Answer::Integer(0));
    };
    let before = match blobs {
        true => at,
        false => whole[..at].iter().filter(|byte| begins(**byte)).count(),
    };
    Ok(Answer::Integer(i64::try_from(before).unwrap_or(0) + 1))
}

fn replace(call: &Context<'_>, bytes: usize) -> rusqlite::Result<Answer> {
    let [whole, part, instead] = [0, 1, 2].map(|index| text(call.get_raw(index)));
    let (Some(whole), Some(part)) = (whole, part) else {
        return Ok(Answer::Null);
    };
    if until_nul(&part).is_empty() {
        return Ok(Answer::First);
    }
    let Some(instead) = instead else {
        return Ok(Answer::Null);
    };
    let finder = memmem::Finder::new(&part);
    let count = finder.find_iter(&whole).count();
    if count == 0 {
        return Ok(Answer::Text(whole));
    }
    let length =
        (whole.len() - count * part.len()).saturating_add(count.saturating_mul(instead.len()));
    if length > bytes {
        return Err(failure(ffi::SQLITE_TOOBIG));
    }
    let mut result = Vec::with_capacity(length);
    let mut copied = 0;
    for at in finder.find_iter(&whole) {
        result.extend_from_slice(&whole[copied..at]);
        result.extend_from_slice(&instead);
        copied = at + part.len();
    }
    result.extend_from_slice(&whole[copied..]);
    Ok(Answer::Text(result))
}

fn failure(code: i32) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), None)
}

/// No byte in the middle of a character.
fn begins(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// The first character and what follows it.
fn split_first(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = bytes.get(1..)?;
    // No character has more bytes than four, whatever a blob holds.
    let more = rest
        .iter()
        .take(3)
        .take_while(|byte| !begins(**byte))
        .count();
    Some(bytes.split_at(1 + more))
}

fn split_last(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let last = bytes.len().checked_sub(1)?;
    let more = bytes
        .iter()
        .rev()
        .take(3)
        .take_while(|byte| !begins(**byte))
        .count();
    Some(bytes.split_at(last - more.min(last)))
}

fn characters(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (first, after) = split_first(rest)?;
        rest = after;
        Some(first)
    })
}

fn set<'a>(bytes: &'a [u8], watch: &mut Watch) -> rusqlite::Result<HashSet<&'a [u8]>> {
    characters(bytes)
        .map(|character| watch.step().map(|()| character))
        .collect()
}

fn trim(
    call: &Context<'_>,
    left: bool,
    right: bool,
    watch: &mut Watch,
) -> rusqlite::Result<Answer> {
    let (Some(whole), Some(letters)) = (text(call.get_raw(0)), text(call.get_raw(1))) else {
        return Ok(Answer::Null);
    };
    let letters = set(&letters, watch)?;
    let mut rest = whole.as_slice();
    while let Some((first, after)) = split_first(rest).filter(|_| left) {
        watch.step()?;
        if !letters.contains(first) {
            break;
        }
        rest = after;
    }
    while let Some((before, last)) = split_last(rest).filter(|_| right) {
        watch.step()?;
        if !letters.contains(last) {
            break;
        }
        rest = before;
    }
    Ok(Answer::Text(rest.to_vec()))
}

fn unhex(call: &Context<'_>, watch: &mut Watch) -> rusqlite::Result<Answer> {
    let (Some(digits), Some(ignored)) = (text(call.get_raw(0)), text(call.get_raw(1))) else {
        return Ok(Answer::Null);
    };
    let ignored = set(&ignored, watch)?;
    let digit = |byte: &[u8]| match byte {
        [byte] => char::from(*byte).to_digit(16),
        _ => None,
    };
    let mut result = Vec::with_capacity(digits.len() / 2);
    let mut each = characters(until_nul(&digits));
    while let Some(first) = each.next() {
        watch.step()?;
        match digit(first) {
            Some(high) => match each.next().and_then(digit) {
                Some(low) => result.push((high << 4 | low) as u8),
                None => return Ok(Answer::Null),
            },
            None if ignored.contains(first) => {}
            None => return Ok(Answer::Null),
        }
    }
    Ok(Answer::Blob(result))
}

/// Their texts end there.
fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A pattern that is short enough: one step of a comparison looks at all of a range.
fn simple(pattern: &[u8]) -> rusqlite::Result<&[u8]> {
    if pattern.len() <= PATTERN_MAX {
        return Ok(until_nul(pattern));
    }
    let message = "LIKE or GLOB pattern too complex".to_owned();
    let code = ffi::Error::new(ffi::SQLITE_ERROR);
    Err(Error::SqliteFailure(code, Some(message)))
}

/// A part of a pattern.
enum Part {
    /// Any number of any characters.
    Many,
    /// Any character.
    One,
    Character(Vec<u8>),
    /// A character inside of these ranges, or outside.
    Range(Vec<(char, char)>, bool),
    /// Nothing at all.
    Never,
}

fn like(call: &Context<'_>, obeyed: &StopFlag) -> rusqlite::Result<Answer> {
    let escape = match call.len() {
        3 => match text(call.get_raw(2)) {
            None => return Ok(Answer::Null),
            Some(escape) if characters(until_nul(&escape)).count() == 1 => Some(escape),
            Some(_) => {
                let message = "ESCAPE expression must be a single character".to_owned();
                let code = ffi::Error::new(ffi::SQLITE_ERROR);
                return Err(Error::SqliteFailure(code, Some(message)));
            }
        },
        _ => None,
    };
    let (Some(pattern), Some(whole)) = (text(call.get_raw(0)), text(call.get_raw(1))) else {
        return Ok(Answer::Null);
    };
    let parts = like_parts(simple(&pattern)?, escape.as_deref());
    let found = Match {
        parts: &parts,
        folds: true,
    };
    found.of(until_nul(&whole), &mut Watch::of(obeyed))
}

fn like_parts(pattern: &[u8], escape: Option<&[u8]>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut each = characters(pattern);
    while let Some(character) = each.next() {
        parts.push(match character {
            mark if Some(mark) == escape => match each.next() {
                Some(next) => Part::Character(next.to_vec()),
                None => Part::Never,
            },
            b"%" => Part::Many,
            b"_" => Part::One,
            other => Part::Character(other.to_vec()),
        });
    }
    parts
}

fn glob(call: &Context<'_>, obeyed: &StopFlag) -> rusqlite::Result<Answer> {
    let (Some(pattern), Some(whole)) = (text(call.get_raw(0)), text(call.get_raw(1))) else {
        return Ok(Answer::Null);
    };
    let parts = glob_parts(simple(&pattern)?);
    let found = Match {
        parts: &parts,
        folds: false,
    };
    found.of(until_nul(&whole), &mut Watch::of(obeyed))
}

fn glob_parts(pattern: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some((character, after)) = split_first(rest) {
        rest = after;
        parts.push(match character {
            b"*" => Part::Many,
            b"?" => Part::One,
            b"[" => {
                let (part, after) = range(rest);
                rest = after;
                part
            }
            other => Part::Character(other.to_vec()),
        });
    }
    parts
}

/// `[a-z]`, `[^x]`; a `]` right at the beginning is one of the characters, and so is a `-` at the end.
fn range(pattern: &[u8]) -> (Part, &[u8]) {
    let outside = pattern.first() == Some(&b'^');
    let mut rest = if outside { &pattern[1..] } else { pattern };
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut before: Option<char> = None;
    let mut is_first = true;
    while let Some((character, after)) = split_first(rest) {
        rest = after;
        match (character, split_first(after)) {
            (b"]", _) if !is_first => return (Part::Range(ranges, outside), rest),
            (b"-", Some((to, after))) if before.is_some() && to != b"]" => {
                ranges.push((before.unwrap_or_default(), decoded(to)));
                rest = after;
                before = None;
            }
            _ => {
                ranges.push((decoded(character), decoded(character)));
                before = Some(decoded(character));
            }
        }
        is_first = false;
    }
    (Part::Never, rest)
}

fn decoded(character: &[u8]) -> char {
    let text = std::str::from_utf8(character).ok();
    text.and_then(|text| text.chars().next())
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

struct Match<'a> {
    parts: &'a [Part],
    /// Small letters of ASCII are the same as large ones.
    folds: bool,
}

impl Match<'_> {
    fn of(&self, whole: &[u8], watch: &mut Watch) -> rusqlite::Result<Answer> {
        let mut parts = self.parts;
        let mut rest = whole;
        // After the last `%`: what follows it, and how much it has not swallowed yet.
        let mut again: Option<(&[Part], &[u8])> = None;
        loop {
            watch.step()?;
            let next = split_first(rest);
            match (parts.split_first(), next) {
                (Some((Part::Many, after)), _) => {
                    parts = after;
                    again = Some((parts, rest));
                    continue;
                }
                (Some((part, after)), Some((character, rest_after)))
                    if self.fits(part, character) =>
                {
                    (parts, rest) = (after, rest_after);
                    continue;
                }
                (None, None) => return Ok(Answer::Integer(1)),
                _ => {}
            }
            match again.and_then(|(parts, rest)| Some((parts, split_first(rest)?.1))) {
                // Nothing follows the `%`, or there is more for it to swallow.
                Some((after, left)) if !after.is_empty() => {
                    again = Some((after, left));
                    (parts, rest) = (after, left);
                }
                Some(_) => return Ok(Answer::Integer(1)),
                None => return Ok(Answer::Integer(0)),
            }
        }
    }

    fn fits(&self, part: &Part, character: &[u8]) -> bool {
        match part {
            Part::One => true,
            Part::Character(wanted) if self.folds => wanted.eq_ignore_ascii_case(character),
            Part::Character(wanted) => wanted == character,
            Part::Range(ranges, outside) => {
                let character = decoded(character);
                let inside = ranges
                    .iter()
                    .any(|(from, to)| (*from..=*to).contains(&character));
                inside != *outside
            }
            Part::Many | Part::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn ours() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let stop = Stop::new(Instant::now() + Duration::from_secs(60), usize::MAX);
        replace_slow_ones(&connection, &StopFlag::new(stop), 1_000).unwrap();
        connection
    }

    fn answer(connection: &Connection, sql: &str) -> Option<Value> {
        connection.query_row(sql, [], |row| row.get(0)).ok()
    }

    /// Small alphabets, so that things are found often.
    fn texts(count: usize, letters: &[&str]) -> Vec<String> {
        let mut state = 7_u64;
        let mut random = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % below
        };
        (0..count)
            .map(|_| {
                (0..random(7))
                    .map(|_| letters[random(letters.len())])
                    .collect()
            })
            .collect()
    }

    #[test]
    fn they_answer_as_those_of_sqlite_do() {
        let (ours, theirs) = (ours(), Connection::open_in_memory().unwrap());
        let check = |sql: &str| {
            assert_eq!(answer(&ours, sql), answer(&theirs, sql), "{sql}");
        };
        let wholes = texts(60, &["a", "b", "A", "ä", "-", "1", "😀"]);
        let patterns = texts(
            60,
            &[
                "a", "%", "_", "ä", "*", "?", "[", "]", "^", "-", "b", "!", "1",
            ],
        );
        for whole in &wholes {
            for pattern in &patterns {
                check(&format!("SELECT '{whole}' LIKE '{pattern}'"));
                check(&format!("SELECT '{whole}' LIKE '{pattern}' ESCAPE '!'"));
                check(&format!("SELECT '{whole}' LIKE '{pattern}' ESCAPE '%'"));
                check(&format!("SELECT '{whole}' GLOB '{pattern}'"));
                check(&format!("SELECT unhex('{whole}', '{pattern}')"));
            }
            for part in wholes.iter().take(30) {
                check(&format!("SELECT instr('{whole}', '{part}')"));
                check(&format!("SELECT replace('{whole}', '{part}', 'ö')"));
                for name in ["trim", "ltrim", "rtrim"] {
                    check(&format!("SELECT {name}('{whole}', '{part}')"));
                }
            }
        }
        for sql in [
            "SELECT 'abc' GLOB 'a[b-]c'",
            "SELECT 'a-c' GLOB 'a[b-]c'",
            "SELECT 'adc' GLOB '*[a-e]c'",
            "SELECT 'a]c' GLOB 'a[]]c'",
            "SELECT 'ac' GLOB 'a[^]'",
            "SELECT NULL LIKE 'a'",
            "SELECT 'a' LIKE 'a' ESCAPE 'xx'",
            "SELECT 15 LIKE '1%'",
            "SELECT instr(x'616263', x'63')",
            "SELECT instr('äb', x'62')",
            "SELECT replace(15, '5', 6)",
            "SELECT replace('a', '', 'b')",
            "SELECT replace(NULL, 'a', 'b')",
            "SELECT typeof(replace(1, 2, 3))",
            "SELECT replace('aaa' || char(0) || 'a', 'a', 'b')",
        ] {
            check(sql);
        }
        for number in [
            "1.0",
            "0.1",
            "-2.5",
            "1e20",
            "1.5e-7",
            "123456789012345678.0",
            "9e999",
            "1e16",
        ] {
            check(&format!("SELECT replace({number}, 'x', 'y')"));
        }
    }

    #[test]
    fn what_would_grow_too_long_is_refused() {
        let sql = "SELECT replace('aaaaaaaaaa', 'a', '0123456789012345678901234567890123456789012345678901234567890123456789\
                   01234567890123456789012345678901234567890123456789')";
        let error = ours().query_row(sql, [], |_| Ok(())).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::TooBig));
    }
}
