//! Regular expressions, paid for by what each search reads.
//!
//! A search is linear in the text, but a search for each match is not, and what one byte costs depends on the pattern.
//! So the automaton is driven from here, byte by byte: every byte that is read costs, and every state that has to be
//! computed costs what the pattern is large. The meaning is that of the crate `regex`: the leftmost match, of several
//! the one that the pattern names first.

use std::ops::Range;

use regex_automata::hybrid::BuildError as DfaError;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::primitives::PatternID;
use regex_automata::util::{interpolate, syntax};

use super::error::ExprError;

mod automaton;
#[cfg(test)]
mod tests;
mod walk;

use automaton::{Automaton, Direction};

/// A compiled pattern may have so many bytes: about two dozen of `\w`, which is all of Unicode.
pub(crate) const COMPILED_BYTES_MAX: usize = 512 * 1024;
const NESTING_MAX: u32 = 32;

/// Takes steps off the budget of the evaluation.
pub(crate) type Pay<'p> = &'p mut dyn FnMut(u64) -> Result<(), ExprError>;

/// Why a search ended without an answer.
enum SearchStop {
    /// The automaton cannot decide about a word boundary next to a byte that is not ASCII.
    Undecided,
    Unpaid(ExprError),
}

impl From<ExprError> for SearchStop {
    fn from(error: ExprError) -> Self {
        Self::Unpaid(error)
    }
}

/// Why a text is not a pattern.
#[derive(Debug)]
pub(crate) enum BadPattern {
    TooLarge,
    /// Why, without a word of the pattern itself, which may come from data.
    NoPattern(String),
}

/// What a match consists of: the whole and the groups, where they took part.
pub(super) type Groups = Vec<Option<Range<usize>>>;

pub(crate) struct Pattern {
    text: String,
    nfa: NFA,
    forward: Automaton,
    backward: Backward,
}

/// The automaton that finds a match from its end. Made when it is needed for the first time, which not every use does.
enum Backward {
    NotMade,
    Made(Box<Automaton>),
    /// Larger than the one forward, and too large. It is not tried again: that would cost the same for every match.
    TooLarge,
}

impl Pattern {
    pub(crate) fn compile(text: &str) -> Result<Self, BadPattern> {
        let nfa = compiled(text, Direction::Forward)?;
        Ok(Self {
            text: text.to_owned(),
            forward: Automaton::new(&nfa, Direction::Forward)?,
            nfa,
            backward: Backward::NotMade,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn bytes(&self) -> usize {
        self.nfa.memory_usage()
    }

    /// Does it match anywhere?
    pub(crate) fn is_in(&mut self, text: &str, pay: Pay<'_>) -> Result<bool, ExprError> {
        match self.forward.end(text, 0, true, pay) {
            Ok(end) => Ok(end.is_some()),
            Err(SearchStop::Undecided) => {
                let found = walk::search(&self.nfa, text, 0, pay)?;
                Ok(found.is_some())
            }
            Err(SearchStop::Unpaid(error)) => Err(error),
        }
    }

    /// The leftmost match that begins at `from` or behind it.
    pub(super) fn find(
        &mut self,
        text: &str,
        mut from: usize,
        pay: Pay<'_>,
    ) -> Result<Option<Range<usize>>, ExprError> {
        loop {
            let found = match self.span(text, from, pay) {
                Err(SearchStop::Undecided) => walk::search(&self.nfa, text, from, pay)?
                    .and_then(|groups| groups.into_iter().next().flatten()),
                Err(SearchStop::Unpaid(error)) => return Err(error),
                Ok(found) => found,
            };
            match found {
                // The automaton works on bytes: nothing matches inside of a character.
                Some(found) if !text.is_char_boundary(found.end) => {
                    from = text.ceil_char_boundary(found.end);
                }
                found => return Ok(found),
            }
        }
    }

    fn span(
        &mut self,
        text: &str,
        from: usize,
        pay: Pay<'_>,
    ) -> Result<Option<Range<usize>>, SearchStop> {
        let Some(end) = self.forward.end(text, from, false, pay)? else {
            return Ok(None);
        };
        if end == from {
            return Ok(Some(end..end));
        }
        if let Backward::NotMade = self.backward {
            // It was compiled before, in the other direction: what fails here is only its size.
            self.backward = match backward(&self.text) {
                Ok(made) => Backward::Made(Box::new(made)),
                Err(_) => Backward::TooLarge,
            };
        }
        let Backward::Made(backward) = &mut self.backward else {
            return Err(SearchStop::Undecided);
        };
        let start = backward.start(text, from..end, pay)?;
        Ok(start.map(|start| start..end))
    }

    /// The groups of a match that was found.
    pub(super) fn groups(
        &self,
        text: &str,
        whole: &Range<usize>,
        pay: Pay<'_>,
    ) -> Result<Groups, ExprError> {
        if self.nfa.group_info().all_group_len() == 1 {
            return Ok(vec![Some(whole.clone())]);
        }
        let found = walk::anchored(&self.nfa, text, whole, pay)?;
        Ok(found.unwrap_or_else(|| vec![Some(whole.clone())]))
    }

    /// Writes `to` with `$1`, `$name` and `${name}` replaced by the groups.
    pub(super) fn expand(&self, text: &str, groups: &Groups, to: &str, out: &mut String) {
        let append = |group: usize, out: &mut String| {
            if let Some(Some(range)) = groups.get(group) {
                out.push_str(&text[range.clone()]);
            }
        };
        let info = self.nfa.group_info();
        let index = |name: &str| info.to_index(PatternID::ZERO, name);
        interpolate::string(to, append, index, out);
    }
}

fn backward(text: &str) -> Result<Automaton, BadPattern> {
    let nfa = compiled(text, Direction::Backward)?;
    Automaton::new(&nfa, Direction::Backward)
}

fn compiled(text: &str, direction: Direction) -> Result<NFA, BadPattern> {
    let (reverse, captures) = match direction {
        Direction::Forward => (false, WhichCaptures::All),
        Direction::Backward => (true, WhichCaptures::None),
    };
    let config = thompson::Config::new()
        .nfa_size_limit(Some(COMPILED_BYTES_MAX))
        .which_captures(captures)
        .reverse(reverse);
    thompson::Compiler::new()
        .configure(config)
        .syntax(syntax::Config::new().nest_limit(NESTING_MAX))
        .build(text)
        .map_err(|error| match error.size_limit() {
            Some(_) => BadPattern::TooLarge,
            None => BadPattern::NoPattern(reason(&error)),
        })
}

/// The kind of the parser's error: its message quotes the pattern.
fn reason(error: &thompson::BuildError) -> String {
    let source = std::error::Error::source(error);
    match source.and_then(|source| source.downcast_ref::<regex_syntax::Error>()) {
        Some(regex_syntax::Error::Parse(error)) => error.kind().to_string(),
        Some(regex_syntax::Error::Translate(error)) => error.kind().to_string(),
        _ => "it cannot be read".to_owned(),
    }
}

impl From<DfaError> for BadPattern {
    fn from(_: DfaError) -> Self {
        Self::TooLarge
    }
}
