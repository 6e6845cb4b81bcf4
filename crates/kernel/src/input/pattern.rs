//! The keyword `pattern`, on the automaton that expressions use: what a match costs is paid byte by byte.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use jsonschema::{Keyword, ValidationError};
use serde_json::Value;

use super::gauge;
use super::toll::Toll;
use crate::expr::pattern::{BadPattern, COMPILED_BYTES_MAX, Pattern};
use crate::text::shortened;

/// The longest that is read.
pub(super) const PATTERN_BYTES_MAX: usize = 4 * 1024;
/// Automatons that are kept for the next checks of the same schema.
const KEPT_MAX: usize = 4;
/// After a search that took more steps the automaton has grown large, and is not kept.
const KEPT_STEPS_MAX: u64 = 2_000;
const SHOWN_CHARS: usize = 100;

type Built = Result<Box<dyn for<'i> Keyword<'i, Toll>>, ValidationError<'static>>;

pub(super) fn keyword(value: &Value) -> Built {
    let text = value.as_str().unwrap_or_default();
    let shelf = PatternShelf::compile(text).map_err(ValidationError::custom)?;
    Ok(Box::new(shelf))
}

/// A pattern, with automatons for as many checks as are made at once.
pub(super) struct PatternShelf {
    text: String,
    for_regex: String,
    bytes: usize,
    kept: Mutex<Vec<Pattern>>,
}

impl PatternShelf {
    pub(super) fn compile(text: &str) -> Result<Self, String> {
        let for_regex = translated(text)?.into_owned();
        let pattern = Pattern::compile(&for_regex).map_err(refusal)?;
        Ok(Self {
            text: text.to_owned(),
            bytes: pattern.bytes(),
            for_regex,
            kept: Mutex::new(vec![pattern]),
        })
    }

    /// What it takes up compiled.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Searching changes an automaton, so each check takes one for itself.
    fn is_in(&self, text: &str) -> bool {
        let kept = self.shelf().pop();
        let Some(mut pattern) = kept.or_else(|| Pattern::compile(&self.for_regex).ok()) else {
            return false;
        };
        let mut steps = 0;
        let found = pattern.is_in(text, &mut |more| {
            steps += more;
            gauge::pay_steps(more)
        });
        if steps <= KEPT_STEPS_MAX {
            self.put_back(pattern);
        }
        found.unwrap_or(false)
    }

    fn put_back(&self, pattern: Pattern) {
        let mut shelf = self.shelf();
        if shelf.len() < KEPT_MAX {
            shelf.push(pattern);
        }
    }

    fn shelf(&self) -> std::sync::MutexGuard<'_, Vec<Pattern>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'i> Keyword<'i, Toll> for PatternShelf {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            return Ok(());
        }
        let shown = shortened(&self.text, SHOWN_CHARS);
        Err(ValidationError::custom(format!(
            "it must match the pattern `{shown}`"
        )))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        match instance {
            Value::String(text) if gauge::pay(1) => self.is_in(text),
            _ => true,
        }
    }
}

/// Patterns of JSON Schema are those of JavaScript: `\d` is 0 to 9, `\w` is ASCII.
fn translated(text: &str) -> Result<Cow<'_, str>, String> {
    if text.len() > PATTERN_BYTES_MAX {
        return Err(format!(
            "the pattern is longer than {PATTERN_BYTES_MAX} bytes"
        ));
    }
    let translated = jsonschema_regex::to_rust_regex(text);
    translated.map_err(|()| "this is no regular expression".to_owned())
}

fn refusal(problem: BadPattern) -> String {
    match problem {
        BadPattern::TooLarge => {
            format!(
                "the pattern needs more than {COMPILED_BYTES_MAX} bytes; repeat less, and use `maxLength` for lengths"
            )
        }
        BadPattern::NoPattern(reason) => {
            format!("this is no regular expression that can be used: {reason}")
        }
    }
}
