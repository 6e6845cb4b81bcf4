//! What a key looks like: `pawl_`, its id, 256 random bits and a checksum, all in base62.
//!
//! The prefix lets scanners find keys where they do not belong, the id tells whose key it is without opening
//! anything, and the checksum tells a typo from a stranger without asking the store.

use pawl_kernel::id::{Entropy, KeyId};
use pawl_kernel::ports::keys::KeyHash;

const PREFIX: &str = "pawl_";
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 128 bits: the id once, the secret twice.
const BLOCK_DIGITS: usize = 22;
const CHECKSUM_DIGITS: usize = 6;
const LENGTH: usize = PREFIX.len() + 3 * BLOCK_DIGITS + CHECKSUM_DIGITS;
const SESSION_LENGTH: usize = 2 * BLOCK_DIGITS + CHECKSUM_DIGITS;

pub(in crate::api) fn draw(id: KeyId, entropy: &dyn Entropy) -> String {
    let mut text = beginning(id);
    for _ in 0..2 {
        text.push_str(&base62(entropy.bits(), BLOCK_DIGITS));
    }
    let sum = checksum(&text);
    text.push_str(&sum);
    text
}

/// What the cookie of a session holds: nothing but a secret.
pub(super) fn draw_session(entropy: &dyn Entropy) -> String {
    let [one, two] = [entropy.bits(), entropy.bits()].map(|bits| base62(bits, BLOCK_DIGITS));
    let mut text = one + &two;
    let sum = checksum(&text);
    text.push_str(&sum);
    text
}

/// Could it be one of ours?
pub(super) fn is_session(text: &str) -> bool {
    text.len() == SESSION_LENGTH && text.is_ascii() && has_checksum(text)
}

fn has_checksum(text: &str) -> bool {
    let (rest, sum) = text.split_at(text.len() - CHECKSUM_DIGITS);
    checksum(rest) == sum
}

/// The part of a key that may be shown: enough to find its row, useless to get in.
pub(in crate::api) fn beginning(id: KeyId) -> String {
    format!("{PREFIX}{}", base62(id.0.as_u128(), BLOCK_DIGITS))
}

/// Could it be a key of ours?
pub(super) fn is_well_formed(text: &str) -> bool {
    let ours = text.len() == LENGTH && text.is_ascii() && text.starts_with(PREFIX);
    ours && has_checksum(text)
}

fn checksum(text: &str) -> String {
    let [a, b, c, d, ..] = KeyHash::of(text).0;
    base62(u32::from_be_bytes([a, b, c, d]).into(), CHECKSUM_DIGITS)
}

fn base62(mut number: u128, digits: usize) -> String {
    let mut text = vec![DIGITS[0]; digits];
    for digit in text.iter_mut().rev() {
        *digit = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    text.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pawl_kernel::id;

    use super::*;
    use crate::system::SystemEntropy;

    fn drawn() -> String {
        draw(KeyId(id::random(&SystemEntropy)), &SystemEntropy)
    }

    #[test]
    fn every_key_is_its_own_and_looks_the_same() {
        let keys: BTreeSet<String> = (0..200).map(|_| drawn()).collect();
        assert_eq!(keys.len(), 200);
        for key in &keys {
            assert_eq!(key.len(), 77);
            assert!(is_well_formed(key), "{key}");
            let tail = key.strip_prefix("pawl_").unwrap();
            assert!(tail.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }
    }

    #[test]
    fn the_secret_is_not_in_what_is_shown() {
        let id = KeyId(id::random(&SystemEntropy));
        let key = draw(id, &SystemEntropy);
        let shown = beginning(id);
        assert!(key.starts_with(&shown));
        assert_eq!(key.len() - shown.len(), 2 * BLOCK_DIGITS + CHECKSUM_DIGITS);
    }

    #[test]
    fn a_typo_is_noticed() {
        let key = drawn();
        for place in 0..key.len() {
            let mut bytes = key.clone().into_bytes();
            bytes[place] = if bytes[place] == b'x' { b'y' } else { b'x' };
            assert!(!is_well_formed(&String::from_utf8(bytes).unwrap()));
        }
        for other in ["", "pawl_", &key[1..], &format!("{key}x"), &"é".repeat(39)] {
            assert!(!is_well_formed(other), "{other}");
        }
    }

    #[test]
    fn what_a_cookie_holds_is_random_and_checked() {
        let all: BTreeSet<String> = (0..200).map(|_| draw_session(&SystemEntropy)).collect();
        assert_eq!(all.len(), 200);
        for token in &all {
            assert!(is_session(token) && !is_well_formed(token), "{token}");
            assert!(!is_session(&token[1..]) && !is_session(&format!("{token}0")));
            let last = if token.ends_with('x') { "y" } else { "x" };
            assert!(!is_session(&format!("{}{last}", &token[..token.len() - 1])));
        }
        assert!(!is_session(&drawn()) && !is_session("") && !is_session(&"é".repeat(25)));
    }

    #[test]
    fn digits_have_their_places() {
        assert_eq!(base62(0, 3), "000");
        assert_eq!(base62(61, 2), "0z");
        assert_eq!(base62(62, 2), "10");
        assert_eq!(base62(u128::MAX, BLOCK_DIGITS), "7n42DGM5Tflk9n8mt7Fhc7");
    }
}
