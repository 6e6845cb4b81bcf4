//! Digests, message authentication codes, and their hexadecimal form.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// HMAC with SHA-256 (RFC 2104).
pub(crate) fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let keyed = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    keyed.chain_update(message).finalize().into_bytes().into()
}

/// Takes as long for texts that differ early as for those that differ late.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

/// Of a JSON value: equal values have the same one, others do not.
pub type Mark = [u8; 16];

/// The order of an object's keys makes no difference.
pub fn mark(value: &Value) -> Mark {
    let mut digest = Sha256::new();
    feed(&mut digest, value);
    let whole: [u8; 32] = digest.finalize().into();
    let mut mark = Mark::default();
    mark.copy_from_slice(&whole[..16]);
    mark
}

fn feed(to: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_unstable();
            to.update(format!("{{{}:", keys.len()));
            for key in keys {
                feed_text(to, key);
                feed(to, &members[key]);
            }
        }
        Value::Array(items) => {
            to.update(format!("[{}:", items.len()));
            items.iter().for_each(|item| feed(to, item));
        }
        Value::String(text) => feed_text(to, text),
        scalar => to.update(format!("={scalar};")),
    }
}

/// With its length, so that no text can pass for the end of another.
fn feed_text(to: &mut Sha256, text: &str) {
    to.update(format!("\"{}:", text.len()));
    to.update(text);
}

/// In small letters.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from(DIGITS[usize::from(nibble)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_vectors_of_rfc_4231() {
        let cases: [(&[u8], &[u8], &str); 3] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, message, expected) in cases {
            assert_eq!(hex(&hmac_sha256(key, message)), expected);
        }
    }

    #[test]
    fn marks_tell_values_apart() {
        let same = json!({"a": [1, "x"], "b": null});
        let turned: Value = serde_json::from_str(r#"{"b": null, "a": [1, "x"]}"#).unwrap();
        assert_eq!(mark(&same), mark(&turned));
        let others = [
            json!({"a": [1, "x"], "b": false}),
            json!({"a": ["1", "x"], "b": null}),
            json!({"a": [[1], "x"], "b": null}),
            json!({"a": [1, "x", "b"]}),
            json!([["a", 1], "x"]),
            json!(["a", [1, "x"], "b", null]),
        ];
        for other in others {
            assert_ne!(mark(&same), mark(&other), "{other}");
        }
    }

    #[test]
    fn texts_are_the_same_or_not() {
        assert!(same(b"", b"") && same(b"abc", b"abc"));
        assert!(!same(b"abc", b"abd") && !same(b"abc", b"ab") && !same(b"", b"a"));
    }
}
