//! Many texts searched for at once, in one pass: the first bytes of each are looked up at every place.

use std::collections::HashMap;
use std::ops::Range;

use super::spellings::SHORTEST;

/// How many bits a window is hashed to.
const BITS: u32 = 16;

pub(super) struct Needle {
    pub(super) text: String,
    /// Letters of ASCII are the same in both cases.
    pub(super) any_case: bool,
}

impl Needle {
    fn begins(&self, text: &[u8]) -> bool {
        let Some(text) = text.get(..self.text.len()) else {
            return false;
        };
        match self.any_case {
            true => text.eq_ignore_ascii_case(self.text.as_bytes()),
            false => text == self.text.as_bytes(),
        }
    }
}

#[derive(Default)]
pub(super) struct Needles {
    /// By their first bytes in lower case, the longest first.
    by_start: HashMap<u32, Vec<Needle>>,
    /// One bit for each hash that a beginning has: most places of a text are passed with one look at it.
    hashes: Vec<u64>,
}

impl FromIterator<Needle> for Needles {
    fn from_iter<I: IntoIterator<Item = Needle>>(all: I) -> Self {
        let mut needles = Self::default();
        for needle in all {
            let start = needle.text.bytes().take(SHORTEST).fold(0, shifted);
            let known = needles.by_start.entry(start).or_default();
            known.push(needle);
        }
        if !needles.by_start.is_empty() {
            needles.hashes = vec![0; 1 << (BITS - 6)];
        }
        for (start, known) in &mut needles.by_start {
            known.sort_by_key(|needle| std::cmp::Reverse(needle.text.len()));
            let (word, bit) = hash(*start);
            needles.hashes[word] |= bit;
        }
        needles
    }
}

impl Needles {
    pub(super) fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }

    /// Every place where one begins; of several at a place the longest.
    pub(super) fn find(&self, text: &[u8], mut tell: impl FnMut(Range<usize>)) {
        if self.is_empty() {
            return;
        }
        let mut window = 0;
        for (end, byte) in (1..).zip(text) {
            window = shifted(window, *byte);
            let (word, bit) = hash(window);
            if self.hashes[word] & bit == 0 || end < SHORTEST {
                continue;
            }
            let start = end - SHORTEST;
            let mut known = self.by_start.get(&window).into_iter().flatten();
            if let Some(needle) = known.find(|needle| needle.begins(&text[start..])) {
                tell(start..start + needle.text.len());
            }
        }
    }
}

/// The last [`SHORTEST`] bytes, in lower case.
fn shifted(window: u32, byte: u8) -> u32 {
    window << 8 | u32::from(byte.to_ascii_lowercase())
}

fn hash(window: u32) -> (usize, u64) {
    let hash = window.wrapping_mul(0x9E37_79B1) >> (32 - BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}
