//! Bytes as text: percent, hex.

const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// Everything but the unreserved characters of RFC 3986 is encoded.
pub(super) fn percent_encode_into(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => out.push(char::from(byte)),
            false => {
                out.push('%');
                push_hex(byte, out);
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

pub(super) fn hex_decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(pairs.len());
    for [high, low] in pairs {
        bytes.push(nibble(*high)? << 4 | nibble(*low)?);
    }
    Some(bytes)
}

fn push_hex(byte: u8, out: &mut String) {
    for digit in [byte >> 4, byte & 15] {
        out.push(char::from(HEX_UPPER[usize::from(digit)]));
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
