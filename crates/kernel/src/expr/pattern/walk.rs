//! Goes through a pattern by trying its ways in their order, and remembers what did not lead on: no place of the text is
//! visited twice in the same state. Knows the groups, and every kind of boundary.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use super::{Groups, Pay};
use crate::expr::error::ExprError;

/// Visits for one step.
const VISITS_PER_STEP: u32 = 2;

/// The leftmost match that begins at `from` or behind it.
pub(super) fn search(
    nfa: &NFA,
    text: &str,
    from: usize,
    pay: Pay<'_>,
) -> Result<Option<Groups>, ExprError> {
    let mut walk = Walk::new(nfa, text);
    for start in (from..=text.len()).filter(|start| text.is_char_boundary(*start)) {
        if walk.matches_at(start, pay)? {
            return Ok(Some(walk.groups()));
        }
    }
    Ok(None)
}

/// The match that begins where the range does and ends within it.
pub(super) fn anchored(
    nfa: &NFA,
    text: &str,
    range: &Range<usize>,
    pay: Pay<'_>,
) -> Result<Option<Groups>, ExprError> {
    let mut walk = Walk::new(nfa, text);
    walk.end = range.end;
    let found = walk.matches_at(range.start, pay)?;
    Ok(found.then(|| walk.groups()))
}

/// Places and states are small numbers that an attacker does not choose freely, and there are many of them: spreading
/// them out is enough.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(23);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

enum Task {
    Visit(StateID, usize),
    /// The way that set this slot led nowhere.
    Restore(usize, Option<usize>),
}

struct Walk<'w> {
    nfa: &'w NFA,
    text: &'w [u8],
    end: usize,
    seen: HashSet<u64, BuildHasherDefault<Spread>>,
    slots: Vec<Option<usize>>,
    tasks: Vec<Task>,
    visits: u32,
}

impl<'w> Walk<'w> {
    fn new(nfa: &'w NFA, text: &'w str) -> Self {
        Self {
            nfa,
            text: text.as_bytes(),
            end: text.len(),
            seen: HashSet::default(),
            slots: vec![None; nfa.group_info().slot_len()],
            tasks: Vec::new(),
            visits: 0,
        }
    }

    fn matches_at(&mut self, start: usize, pay: Pay<'_>) -> Result<bool, ExprError> {
        self.tasks
            .push(Task::Visit(self.nfa.start_anchored(), start));
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Restore(slot, old) => self.slots[slot] = old,
                Task::Visit(state, at) if self.goes_through(state, at, pay)? => return Ok(true),
                Task::Visit(..) => {}
            }
        }
        Ok(false)
    }

    /// Follows one way as far as it goes; the others at each fork become tasks.
    fn goes_through(
        &mut self,
        mut state: StateID,
        mut at: usize,
        pay: Pay<'_>,
    ) -> Result<bool, ExprError> {
        loop {
            self.visits += 1;
            if self.visits.is_multiple_of(VISITS_PER_STEP) {
                pay(1)?;
            }
            if !self.seen.insert((state.as_u64() << 32) | at as u64) {
                return Ok(false);
            }
            let next = match self.nfa.state(state) {
                State::Match { .. } => return Ok(true),
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => {
                    at += 1;
                    self.read(state, at - 1)
                }
                _ => self.fork(state, at),
            };
            match next {
                Some(next) => state = next,
                None => return Ok(false),
            }
        }
    }

    fn read(&self, state: StateID, at: usize) -> Option<StateID> {
        let text = &self.text[..self.end];
        match self.nfa.state(state) {
            State::ByteRange { trans } => trans.matches(text, at).then_some(trans.next),
            State::Sparse(ways) => ways.matches(text, at),
            State::Dense(ways) => ways.matches(text, at),
            _ => None,
        }
    }

    /// A state that reads nothing: the way to go first.
    fn fork(&mut self, state: StateID, at: usize) -> Option<StateID> {
        match self.nfa.state(state) {
            State::Look { look, next } => {
                let holds = self.nfa.look_matcher().matches(*look, self.text, at);
                holds.then_some(*next)
            }
            State::Union { alternates } => {
                let (first, others) = alternates.split_first()?;
                let others = others.iter().rev();
                self.tasks
                    .extend(others.map(|other| Task::Visit(*other, at)));
                Some(*first)
            }
            State::BinaryUnion { alt1, alt2 } => {
                self.tasks.push(Task::Visit(*alt2, at));
                Some(*alt1)
            }
            State::Capture { next, slot, .. } => {
                let slot = slot.as_usize();
                if let Some(value) = self.slots.get_mut(slot) {
                    self.tasks.push(Task::Restore(slot, value.replace(at)));
                }
                Some(*next)
            }
            _ => None,
        }
    }

    fn groups(&self) -> Groups {
        let pairs = self.slots.chunks_exact(2);
        pairs.map(|pair| Some(pair[0]?..pair[1]?)).collect()
    }
}
