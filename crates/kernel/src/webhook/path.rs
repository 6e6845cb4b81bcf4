//! Paths of webhooks: `orders/:id/check`. A part is fixed or a parameter; there are no wildcards.

use std::fmt;

pub const PARTS_MAX: usize = 16;
const BYTES_MAX: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    parts: Vec<PathPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    Fixed(String),
    Param(String),
}

impl PathPattern {
    /// A slash at the beginning may be written or not.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > BYTES_MAX {
            return Err(format!("a path has at most {BYTES_MAX} bytes"));
        }
        let text = text.strip_prefix('/').unwrap_or(text);
        let parts = text.split('/').map(part).collect::<Result<Vec<_>, _>>()?;
        if parts.len() > PARTS_MAX {
            return Err(format!("a path has at most {PARTS_MAX} parts"));
        }
        let pattern = Self { parts };
        let mut names: Vec<&str> = pattern.params().collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("the parameter `:{}` comes twice", pair[0])),
            None => Ok(pattern),
        }
    }

    pub fn parts(&self) -> &[PathPart] {
        &self.parts
    }

    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            PathPart::Param(name) => Some(name.as_str()),
            PathPart::Fixed(_) => None,
        })
    }

    /// The path without the names of its parameters: two of one shape take the same requests.
    pub fn shape(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            PathPart::Fixed(text) => text.as_str(),
            PathPart::Param(_) => ":",
        });
        parts.collect::<Vec<_>>().join("/")
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.parts.iter().enumerate() {
            let slash = if place == 0 { "" } else { "/" };
            match part {
                PathPart::Fixed(text) => write!(f, "{slash}{text}")?,
                PathPart::Param(name) => write!(f, "{slash}:{name}")?,
            }
        }
        Ok(())
    }
}

fn part(text: &str) -> Result<PathPart, String> {
    if let Some(name) = text.strip_prefix(':') {
        return match is_name(name) {
            true => Ok(PathPart::Param(name.to_owned())),
            false => Err(format!(
                "`:{name}` is no parameter; write `:` and a name of letters, digits and _"
            )),
        };
    }
    match text {
        "" => Err("a path has no empty parts and no slash at its end".into()),
        "." | ".." => Err(format!("`{text}` cannot be part of a path")),
        text if text.contains('*') => {
            Err("there are no wildcards; write `:name` for a part that varies".into())
        }
        text if text.bytes().all(is_plain) => Ok(PathPart::Fixed(text.to_owned())),
        text => Err(format!(
            "`{text}` cannot be part of a path: letters, digits and `-._~` can"
        )),
    }
}

/// What needs no percent-encoding, so that a path has one spelling.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Readable as `webhook.params.NAME`.
fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The parts of a requested path, decoded once. `None`: not what any caller could have meant.
pub fn requested(path: &str) -> Option<Vec<String>> {
    let parts = path.split('/').map(decoded);
    let parts: Vec<String> = parts.take(PARTS_MAX + 1).collect::<Option<_>>()?;
    (parts.len() <= PARTS_MAX && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

fn decoded(part: &str) -> Option<String> {
    if !part.contains('%') {
        return Some(part.to_owned());
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_their_shapes() {
        let pattern = PathPattern::parse("/orders/:id/check").unwrap();
        assert_eq!(pattern.to_string(), "orders/:id/check");
        assert_eq!(pattern.shape(), "orders/:/check");
        assert_eq!(pattern.params().collect::<Vec<_>>(), ["id"]);
        let long = ["p"; PARTS_MAX + 1].join("/");
        for bad in [
            "",
            "/",
            "a/",
            "a//b",
            "a/:",
            "a/:1",
            "a/:b-c",
            ":a/:a",
            "a/*",
            "*",
            "a/..",
            "a b",
            "a%20b",
            "ä",
            "a?b",
            "a#b",
            "a{b}",
            &long,
            &"a".repeat(257),
        ] {
            assert!(PathPattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn requested_paths_are_decoded_once() {
        let parts = |path: &str| requested(path);
        assert_eq!(parts("a/b%20c"), Some(vec!["a".into(), "b c".into()]));
        assert_eq!(parts("%2e%2e"), Some(vec!["..".into()]));
        assert_eq!(parts("a%2Fb"), Some(vec!["a/b".into()]));
        assert_eq!(parts("%252f"), Some(vec!["%2f".into()]));
        assert_eq!(parts("%D0%B6"), Some(vec!["ж".into()]));
        for bad in ["", "a/", "a//b", "%", "%2", "%zz", "%ff", "%+1"] {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }
}
