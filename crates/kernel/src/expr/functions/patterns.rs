//! Regular expressions. What a search costs, and what a pattern may be, is in [`pattern`](super::super::pattern).

use super::super::pattern::{BadPattern, COMPILED_BYTES_MAX, Pattern};
use super::*;

const PATTERN_BYTES_MAX: usize = 1024;
/// Compiling is the most expensive single operation of the language.
const COMPILE_STEPS: usize = 4_000;
const COMPILED_BYTES_PER_STEP: usize = 64;
const KEPT_MAX: usize = 8;
/// Besides what is read.
const STEPS_PER_MATCH: usize = 2;

pub(super) const TABLE: &[Row] = &[
    (
        "matches(text, pattern)",
        "Whether the regular expression fits anywhere; `^` and `$` tie it to the ends.",
        r"matches('order-12', '^order-\\d+$')",
        "true",
        Body::Eager(matches),
    ),
    (
        "match(text, pattern)",
        "The first match and its groups as a list, or null.",
        r"match('a=1', '(\\w)=(\\d)')",
        r#"["a=1","a","1"]"#,
        Body::Eager(first_match),
    ),
    (
        "regex_replace(text, pattern, to)",
        "With every match replaced; `$1` in `to` stands for the first group.",
        r"regex_replace('2024-05', '(\\d+)-(\\d+)', '$2/$1')",
        r#""05/2024""#,
        Body::Eager(replace),
    ),
];

fn matches<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (text, mut pattern) = prepared(call)?;
    let found = pattern.is_in(&text, &mut |steps| call.pay(steps))?;
    keep(call, pattern);
    Ok(Val::Bool(found))
}

fn first_match<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (text, mut pattern) = prepared(call)?;
    let Some(whole) = pattern.find(&text, 0, &mut |steps| call.pay(steps))? else {
        keep(call, pattern);
        return Ok(Val::Null);
    };
    let mut groups = Vec::new();
    for group in pattern.groups(&text, &whole, &mut |steps| call.pay(steps))? {
        call.allocate(group.as_ref().map_or(0, |group| group.len()))?;
        groups.push(group.map_or(Val::Null, |group| new_text(&text[group])));
    }
    keep(call, pattern);
    call.build_list(groups)
}

fn replace<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (text, mut pattern) = prepared(call)?;
    let to = call.text(2)?;
    call.scan(to.len())?;
    let references = to.matches('$').count();
    let mut replaced = String::new();
    let (mut copied, mut from, mut last) = (0, 0, None);
    while let Some(whole) = pattern.find(&text, from, &mut |steps| call.pay(steps))? {
        // Right behind a match there is no empty one.
        if whole.is_empty() && last == Some(whole.end) {
            match text[whole.end..].chars().next() {
                Some(skipped) => from = whole.end + skipped.len_utf8(),
                None => break,
            }
            continue;
        }
        // No group is longer than the whole match, so this is the most that can be added.
        let added = to.len() + references.saturating_mul(whole.len());
        call.step(STEPS_PER_MATCH)?;
        call.allocate(added.saturating_add(whole.start - copied))?;
        replaced.push_str(&text[copied..whole.start]);
        match references {
            0 => replaced.push_str(&to),
            _ => {
                let groups = pattern.groups(&text, &whole, &mut |steps| call.pay(steps))?;
                pattern.expand(&text, &groups, &to, &mut replaced);
            }
        }
        (copied, from, last) = (whole.end, whole.end, Some(whole.end));
    }
    keep(call, pattern);
    call.allocate(text.len() - copied)?;
    replaced.push_str(&text[copied..]);
    Ok(new_text(replaced))
}

/// The pattern leaves the shelf while it is used: searching changes it.
fn prepared<'a>(call: &mut Call<'_, 'a>) -> Result<(Text<'a>, Pattern), ExprError> {
    let (text, pattern) = (call.text(0)?, call.text(1)?);
    let shelf = &mut call.evaluator.patterns;
    match shelf.iter().position(|kept| kept.text() == &*pattern) {
        Some(place) => Ok((text, shelf.remove(place))),
        None => Ok((text, compile(call, &pattern)?)),
    }
}

fn keep(call: &mut Call<'_, '_>, pattern: Pattern) {
    let shelf = &mut call.evaluator.patterns;
    if shelf.len() == KEPT_MAX {
        shelf.remove(0);
    }
    shelf.push(pattern);
}

fn compile(call: &mut Call<'_, '_>, text: &str) -> Result<Pattern, ExprError> {
    call.step(COMPILE_STEPS)?;
    if text.len() > PATTERN_BYTES_MAX {
        let message = format!("the pattern is longer than {PATTERN_BYTES_MAX} bytes");
        return Err(ExprError::limit(message, call.span_of(1)));
    }
    let pattern = Pattern::compile(text).map_err(|problem| match problem {
        BadPattern::TooLarge => {
            let message = format!("the pattern needs more than {COMPILED_BYTES_MAX} bytes");
            ExprError::limit(message, call.span_of(1))
                .with_hint("repeat less, and write [a-z0-9] for \\w, which is all of Unicode")
        }
        BadPattern::NoPattern(reason) => call.invalid(&format!(
            "the pattern is not a regular expression: {reason}"
        )),
    })?;
    call.step(pattern.bytes() / COMPILED_BYTES_PER_STEP)?;
    Ok(pattern)
}
