//! Regular expressions. The `regex` crate answers in linear time; its sizes are bounded here.

use regex::{Regex, RegexBuilder};

use super::*;

const PATTERN_BYTES_MAX: usize = 1024;
const COMPILED_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Compiling is by far the most expensive single operation of the language.
const COMPILE_STEPS: usize = 5_000;
const KEPT_MAX: usize = 8;
/// A pattern reads a text this many times slower than a plain search, at worst.
const SLOWNESS: usize = 16;

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

fn matches<'a>(call: &mut Call<'_, 'a>) -> Outcome<'a> {
    let (text, regex) = prepared(call)?;
    Ok(Val::Bool(regex.is_match(&text)))
}

fn first_match<'a>(call: &mut Call<'_, 'a>) -> Outcome<'a> {
    let (text, regex) = prepared(call)?;
    let Some(captures) = regex.captures(&text) else {
        return Ok(Val::Null);
    };
    let mut groups = Vec::new();
    for group in captures.iter() {
        call.allocate(group.map_or(0, |group| group.len()))?;
        groups.push(group.map_or(Val::Null, |group| new_text(group.as_str())));
    }
    call.build_list(groups)
}

fn replace<'a>(call: &mut Call<'_, 'a>) -> Outcome<'a> {
    let (text, regex) = prepared(call)?;
    let to = call.text(2)?;
    let references = to.matches('$').count();
    let mut replaced = String::new();
    let mut position = 0;
    for captures in regex.captures_iter(&text) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        // No group is longer than the whole match, so this is the most that can be added.
        let added = to.len() + references.saturating_mul(whole.len());
        call.step(1)?;
        call.allocate(added.saturating_add(whole.start() - position))?;
        replaced.push_str(&text[position..whole.start()]);
        captures.expand(&to, &mut replaced);
        position = whole.end();
    }
    call.allocate(text.len() - position)?;
    replaced.push_str(&text[position..]);
    Ok(new_text(replaced))
}

fn prepared<'a>(call: &mut Call<'_, 'a>) -> Result<(Text<'a>, Regex), ExprError> {
    let (text, pattern) = (call.text(0)?, call.text(1)?);
    call.scan(text.len().saturating_mul(SLOWNESS))?;
    let known = call
        .evaluator
        .regexes
        .iter()
        .find(|(kept, _)| *kept == pattern);
    if let Some((_, regex)) = known {
        return Ok((text, regex.clone()));
    }
    let regex = compile(call, &pattern)?;
    if call.evaluator.regexes.len() == KEPT_MAX {
        call.evaluator.regexes.remove(0);
    }
    call.evaluator.regexes.push((pattern, regex.clone()));
    Ok((text, regex))
}

fn compile(call: &mut Call<'_, '_>, pattern: &str) -> Result<Regex, ExprError> {
    call.step(COMPILE_STEPS)?;
    if pattern.len() > PATTERN_BYTES_MAX {
        let message = format!("the pattern is longer than {PATTERN_BYTES_MAX} bytes");
        return Err(ExprError::limit(message, call.span_of(1)));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .nest_limit(32)
        .build();
    // The parser's own message quotes the pattern, which may come from data.
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            let message = format!("the pattern needs more than {COMPILED_BYTES_MAX} bytes");
            ExprError::limit(message, call.span_of(1))
                .with_hint("repeat less, and write [a-z0-9] for \\w, which is all of Unicode")
        }
        _ => call.invalid("the pattern is not a regular expression"),
    })
}
