//! The lazy automaton of a pattern, one byte at a time.

use std::collections::HashMap;
use std::ops::Range;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::NFA;
use regex_automata::{Anchored, Input, MatchKind};

use super::{BadPattern, Pay, SearchStop};

/// What the states of one automaton may take up before it forgets them and begins anew.
const CACHE_BYTES: usize = 1024 * 1024;
/// Bytes read for one step.
const BYTES_PER_STEP: usize = 12;
/// Bytes read before they are paid for.
const BYTES_PER_PAYMENT: usize = 64 * BYTES_PER_STEP;
/// States of the pattern gone through for one step, where a state of the automaton is computed from them.
const STATES_PER_STEP: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// A set of bytes, one bit for each.
type Bytes = [u64; 4];

pub(super) struct Automaton {
    dfa: DFA,
    cache: Cache,
    /// Steps for a transition that is not known yet.
    price: u64,
    /// Bytes that are known to lead on from a tagged state: the automaton does not tell for those.
    known: HashMap<LazyStateID, Bytes>,
    /// The one of `known` used last: a state that is matched in is seldom left for long.
    at_hand: Option<(LazyStateID, Bytes)>,
    clears: usize,
}

impl Automaton {
    pub(super) fn new(nfa: &NFA, direction: Direction) -> Result<Self, BadPattern> {
        let kind = match direction {
            Direction::Forward => MatchKind::LeftmostFirst,
            // From the end, the longest way back is the leftmost start.
            Direction::Backward => MatchKind::All,
        };
        let config = DFA::config()
            .match_kind(kind)
            .unicode_word_boundary(true)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true);
        let dfa = DFA::builder()
            .configure(config)
            .build_from_nfa(nfa.clone())?;
        Ok(Self {
            cache: dfa.create_cache(),
            price: (nfa.states().len() / STATES_PER_STEP + 1) as u64,
            known: HashMap::new(),
            at_hand: None,
            clears: 0,
            dfa,
        })
    }

    /// Where the leftmost match ends that begins at `from` or behind it; `any`: where any match is known to be one.
    pub(super) fn end(
        &mut self,
        text: &str,
        from: usize,
        any: bool,
        pay: Pay<'_>,
    ) -> Result<Option<usize>, SearchStop> {
        let bytes = text.as_bytes();
        let input = Input::new(bytes).span(from..bytes.len());
        let start = self.dfa.start_state_forward(&mut self.cache, &input);
        let mut state = start.map_err(|_| SearchStop::Undecided)?;
        let mut found = None;
        let mut unpaid = 0;
        for at in from..=bytes.len() {
            state = match bytes.get(at) {
                Some(byte) => self.step(state, *byte, pay)?,
                None => self.step_out(state)?,
            };
            unpaid += 1;
            if unpaid == BYTES_PER_PAYMENT {
                pay((unpaid / BYTES_PER_STEP) as u64)?;
                unpaid = 0;
            }
            // A match is reported one byte late: that is its end.
            if state.is_match() {
                found = Some(at);
            }
            if is_over(state)? || (any && found.is_some()) {
                break;
            }
        }
        pay((unpaid / BYTES_PER_STEP) as u64)?;
        Ok(found)
    }

    /// Where the match begins that ends at the end of the range.
    pub(super) fn start(
        &mut self,
        text: &str,
        range: Range<usize>,
        pay: Pay<'_>,
    ) -> Result<Option<usize>, SearchStop> {
        let bytes = text.as_bytes();
        let input = Input::new(bytes)
            .span(range.clone())
            .anchored(Anchored::Yes);
        let start = self.dfa.start_state_reverse(&mut self.cache, &input);
        let mut state = start.map_err(|_| SearchStop::Undecided)?;
        let mut found = None;
        let mut unpaid = 0;
        // One byte further than the range: it may decide about a boundary.
        for at in (range.start..=range.end).rev() {
            state = match at.checked_sub(1).and_then(|before| bytes.get(before)) {
                Some(byte) => self.step(state, *byte, pay)?,
                None => self.step_out(state)?,
            };
            unpaid += 1;
            if unpaid == BYTES_PER_PAYMENT {
                pay((unpaid / BYTES_PER_STEP) as u64)?;
                unpaid = 0;
            }
            if state.is_match() {
                found = Some(at);
            }
            if is_over(state)? {
                break;
            }
        }
        pay((unpaid / BYTES_PER_STEP) as u64)?;
        Ok(found)
    }

    fn step(
        &mut self,
        state: LazyStateID,
        byte: u8,
        pay: Pay<'_>,
    ) -> Result<LazyStateID, SearchStop> {
        if state.is_tagged() {
            if self.is_new(state, byte) {
                pay(self.price)?;
            }
        } else {
            let next = self.dfa.next_state_untagged(&self.cache, state, byte);
            if !next.is_unknown() {
                return Ok(next);
            }
            pay(self.price)?;
        }
        let next = self.dfa.next_state(&mut self.cache, state, byte);
        if self.cache.clear_count() != self.clears {
            self.clears = self.cache.clear_count();
            self.known.clear();
            self.at_hand = None;
        }
        next.map_err(|_| SearchStop::Undecided)
    }

    fn step_out(&mut self, state: LazyStateID) -> Result<LazyStateID, SearchStop> {
        let next = self.dfa.next_eoi_state(&mut self.cache, state);
        next.map_err(|_| SearchStop::Undecided)
    }

    fn is_new(&mut self, state: LazyStateID, byte: u8) -> bool {
        let (word, bit) = (usize::from(byte / 64), 1 << (byte % 64));
        let mut bytes = match self.at_hand {
            Some((known, bytes)) if known == state => bytes,
            _ => self.known.get(&state).copied().unwrap_or_default(),
        };
        let is_new = bytes[word] & bit == 0;
        if is_new {
            bytes[word] |= bit;
            self.known.insert(state, bytes);
        }
        self.at_hand = Some((state, bytes));
        is_new
    }
}

/// Nothing that follows can change what was found.
fn is_over(state: LazyStateID) -> Result<bool, SearchStop> {
    match state.is_quit() {
        true => Err(SearchStop::Undecided),
        false => Ok(state.is_dead()),
    }
}
