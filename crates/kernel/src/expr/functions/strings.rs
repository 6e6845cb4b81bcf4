//! Functions over strings. Positions and lengths count characters (Unicode scalar values).

use super::super::encoding::{percent_decode, percent_encode_into};
use super::*;

pub(super) const TABLE: &[Row] = &[
    (
        "upper(text)",
        "In upper case.",
        "upper('abc')",
        r#""ABC""#,
        Body::Eager(|call| mapped(call, |text| text.to_uppercase())),
    ),
    (
        "lower(text)",
        "In lower case.",
        "'ABC' | lower",
        r#""abc""#,
        Body::Eager(|call| mapped(call, |text| text.to_lowercase())),
    ),
    (
        "trim(text)",
        "Without white space at both ends.",
        "trim('  a b ')",
        r#""a b""#,
        Body::Eager(|call| mapped(call, |text| text.trim().to_owned())),
    ),
    (
        "split(text, separator)",
        "The parts between the separators; with an empty separator the characters.",
        "split('a,b', ',')",
        r#"["a","b"]"#,
        Body::Eager(split),
    ),
    (
        "join(list, separator?)",
        "The elements as one string; what is not text is written as JSON.",
        "join(['a', 1], '-')",
        r#""a-1""#,
        Body::Eager(join),
    ),
    (
        "replace(text, from, to)",
        "With every `from` replaced by `to`.",
        "replace('a-b-c', '-', '+')",
        r#""a+b+c""#,
        Body::Eager(replace),
    ),
    (
        "starts_with(text, prefix)",
        "Whether the text begins with the prefix.",
        "starts_with('abc', 'ab')",
        "true",
        Body::Eager(|call| tested(call, |text, prefix| text.starts_with(prefix))),
    ),
    (
        "ends_with(text, suffix)",
        "Whether the text ends with the suffix.",
        "ends_with('abc', 'bc')",
        "true",
        Body::Eager(|call| tested(call, |text, suffix| text.ends_with(suffix))),
    ),
    (
        "substring(text, start, end?)",
        "From `start` up to but without `end`; negative positions count from the end.",
        "substring('abcdef', 1, 3)",
        r#""bc""#,
        Body::Eager(substring),
    ),
    (
        "pad_start(text, length, fill?)",
        "Filled up at the start to the length, with spaces or `fill`.",
        "pad_start('7', 3, '0')",
        r#""007""#,
        Body::Eager(|call| padded(call, true)),
    ),
    (
        "pad_end(text, length, fill?)",
        "Filled up at the end to the length, with spaces or `fill`.",
        "pad_end('7', 3)",
        r#""7  ""#,
        Body::Eager(|call| padded(call, false)),
    ),
    (
        "repeat(text, times)",
        "The text, so many times.",
        "repeat('ab', 3)",
        r#""ababab""#,
        Body::Eager(repeat),
    ),
    (
        "url_encode(text)",
        "Percent-encoded, safe as one part of a URL.",
        "url_encode('a b/c')",
        r#""a%20b%2Fc""#,
        Body::Eager(url_encode),
    ),
    (
        "url_decode(text)",
        "Percent-encoding undone.",
        "url_decode('a%20b')",
        r#""a b""#,
        Body::Eager(url_decode),
    ),
];

fn mapped<'a>(call: &mut Call<'_, 'a>, change: fn(&str) -> String) -> EvalResult<'a> {
    let text = call.text(0)?;
    call.allocate(text.len())?;
    Ok(new_text(change(&text)))
}

fn tested<'a>(call: &mut Call<'_, 'a>, test: fn(&str, &str) -> bool) -> EvalResult<'a> {
    let (text, part) = (call.text(0)?, call.text(1)?);
    call.scan(part.len())?;
    Ok(Val::Bool(test(&text, &part)))
}

fn split<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (text, separator) = (call.text(0)?, call.text(1)?);
    call.allocate(text.len())?;
    // A search begins by looking at all that it searches for.
    call.scan(separator.len())?;
    let mut parts = Vec::new();
    // Splitting at "" would give an empty part at both ends.
    let (pieces, characters) = match separator.is_empty() {
        true => (None, Some(text.split_inclusive(|_| true))),
        false => (Some(text.split(&*separator)), None),
    };
    for part in pieces
        .into_iter()
        .flatten()
        .chain(characters.into_iter().flatten())
    {
        call.step(1)?;
        parts.push(new_text(part));
    }
    call.build_list(parts)
}

fn join<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (list, separator) = (call.list(0)?, call.text_or(1, "")?);
    let span = call.span;
    let mut joined = String::new();
    for (position, item) in list.iter().enumerate() {
        let text = call.evaluator.text_of(&item, span)?;
        call.step(1)?;
        call.allocate(text.len() + separator.len())?;
        if position > 0 {
            joined.push_str(&separator);
        }
        joined.push_str(&text);
    }
    Ok(new_text(joined))
}

fn replace<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (text, from, to) = (call.text(0)?, call.text(1)?, call.text(2)?);
    if from.is_empty() {
        return Err(call.invalid("the text to replace is empty"));
    }
    call.scan(text.len())?;
    call.scan(from.len().saturating_mul(2))?;
    let matches = text.matches(&*from).count();
    call.allocate(text.len().saturating_add(matches.saturating_mul(to.len())))?;
    Ok(new_text(text.replace(&*from, &to)))
}

fn substring<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (text, start) = (call.text(0)?, call.int(1)?);
    let end = call.has(2).then(|| call.int(2)).transpose()?;
    call.scan(text.len())?;
    let range = clamped_range(start, end, text.chars().count());
    call.allocate(range.len())?;
    let part: String = text.chars().skip(range.start).take(range.len()).collect();
    Ok(new_text(part))
}

fn padded<'a>(call: &mut Call<'_, 'a>, at_start: bool) -> EvalResult<'a> {
    let (text, length, fill) = (call.text(0)?, call.size(1)?, call.text_or(2, " ")?);
    if fill.is_empty() {
        return Err(call.invalid("the text to fill with is empty"));
    }
    call.scan(text.len())?;
    let missing = length.saturating_sub(text.chars().count());
    // Four bytes are the most a character takes.
    call.allocate(missing.saturating_mul(4).saturating_add(text.len()))?;
    let padding: String = fill.chars().cycle().take(missing).collect();
    Ok(new_text(match at_start {
        true => padding + &text,
        false => text.to_string() + &padding,
    }))
}

fn repeat<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (text, times) = (call.text(0)?, call.size(1)?);
    call.allocate(text.len().saturating_mul(times))?;
    match text.is_empty() {
        true => Ok(Val::borrowed("")),
        false => Ok(new_text(text.repeat(times))),
    }
}

fn url_encode<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (value, span) = (call.value(0), call.span);
    let text = call.evaluator.text_of(&value, span)?;
    call.allocate(text.len().saturating_mul(3))?;
    let mut encoded = String::new();
    percent_encode_into(&text, &mut encoded);
    Ok(new_text(encoded))
}

fn url_decode<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let text = call.text(0)?;
    call.allocate(text.len())?;
    match percent_decode(&text) {
        Some(decoded) => Ok(new_text(decoded)),
        None => Err(call.invalid("the text is not percent-encoded UTF-8")),
    }
}
