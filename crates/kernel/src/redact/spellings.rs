//! The forms of a secret that can be written down beforehand.

use super::needles::Needle;

/// Shorter texts would also hide innocent ones.
pub(super) const SHORTEST: usize = 4;

const HEX: Alphabet = Alphabet {
    letters: b"0123456789abcdef",
    bits: 4,
    shifts: 1,
    any_case: true,
};
const BASE32: Alphabet = Alphabet {
    letters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    bits: 5,
    shifts: 5,
    any_case: true,
};
const BASE64: [Alphabet; 2] = [
    Alphabet {
        letters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        bits: 6,
        shifts: 3,
        any_case: false,
    },
    Alphabet {
        letters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        bits: 6,
        shifts: 3,
        any_case: false,
    },
];

pub(super) fn all(secret: &str) -> Vec<Needle> {
    let cased = [
        secret.to_owned(),
        secret.to_lowercase(),
        secret.to_uppercase(),
    ];
    let mut plain: Vec<String> = cased.into();
    // In a form a space is a plus.
    plain.extend(secret.contains(' ').then(|| secret.replace(' ', "+")));
    let plain = plain.into_iter().map(|text| Needle {
        text,
        any_case: true,
    });
    let once: Vec<Needle> = BASE64.iter().flat_map(|base| base.cores(secret)).collect();
    let twice: Vec<Needle> = BASE64
        .iter()
        .flat_map(|base| once.iter().flat_map(|inner| base.cores(&inner.text)))
        .collect();
    let mut all: Vec<Needle> = plain
        .chain(HEX.cores(secret))
        .chain(BASE32.cores(secret))
        .chain(once)
        .chain(twice)
        .filter(|needle| needle.text.len() >= SHORTEST)
        .collect();
    all.sort_by(|a, b| (&a.text, a.any_case).cmp(&(&b.text, b.any_case)));
    all.dedup_by(|a, b| a.text == b.text && a.any_case == b.any_case);
    all
}

/// Bits of bytes, written as letters.
struct Alphabet {
    letters: &'static [u8],
    bits: usize,
    /// After so many bytes a letter begins where a byte does.
    shifts: usize,
    any_case: bool,
}

impl Alphabet {
    /// The letters that depend on the secret alone, for each number of bytes that can stand before it, as in
    /// `user:secret`: those at the edges mix with their neighbours and are left out.
    fn cores(&self, secret: &str) -> impl Iterator<Item = Needle> {
        let bytes = secret.as_bytes();
        (0..self.shifts).map(move |before| {
            let start = (before * 8).div_ceil(self.bits);
            let end = (before + bytes.len()) * 8 / self.bits;
            let letter = |place: usize| self.letter(bytes, place * self.bits - before * 8);
            Needle {
                text: (start..end).map(letter).collect(),
                any_case: self.any_case,
            }
        })
    }

    /// The letter for the bits from here on.
    fn letter(&self, bytes: &[u8], from: usize) -> char {
        let bit = |place: usize| usize::from(bytes[place / 8] >> (7 - place % 8) & 1);
        let number = (from..from + self.bits).fold(0, |number, place| number << 1 | bit(place));
        self.letters[number].into()
    }
}
