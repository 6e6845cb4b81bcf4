//! Bytes as text: percent, hex.

const HEX: &[u8; 16] = b"0123456789abcdef";
const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// Everything but the unreserved characters of RFC 3986 is encoded.
pub(super) fn percent_encode_into(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => out.push(char::from(byte)),
            false => {
                out.push('%');
                push_hex(byte, HEX_UPPER, out);
            }
        }
    }
}

/// None if the escapes are broken or the bytes are not UTF-8. `+` stays `+`.
pub(super) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                bytes.push(nibble(*high)? << 4 | nibble(*low)?);
                rest = tail;
            }
            (b'%', _) => return None,
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        push_hex(*byte, HEX, &mut out);
    }
    out
}

pub(super) fn hex_decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let pairs = pairs.iter();
    pairs
        .map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?))
        .collect()
}

fn push_hex(byte: u8, digits: &[u8; 16], out: &mut String) {
    for digit in [byte >> 4, byte & 15] {
        out.push(char::from(digits[usize::from(digit)]));
    }
}

fn nibble(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
