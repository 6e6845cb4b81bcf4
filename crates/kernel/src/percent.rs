//! `%2F` is a slash.

/// With its escapes taken for what they stand for. What is no escape stays as it is.
pub fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let code = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_and_the_rest_stays() {
        for (text, expected) in [
            ("a%2Fb%40", b"a/b@".as_slice()),
            ("100%", b"100%"),
            ("%zz%4", b"%zz%4"),
            ("%ff%C3%a9", b"\xff\xc3\xa9"),
            ("", b""),
        ] {
            assert_eq!(decoded(text.as_bytes()), expected, "{text}");
        }
    }
}
