//! A text with its escapes taken out, and the way back. Any letter may be escaped or not, in several ways, so the escapes
//! are undone rather than guessed.

use std::ops::Range;

/// What the text is without one kind of escape.
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// Where stretches of the bytes begin, and what they were made of.
    runs: Vec<CharRun>,
    source_length: usize,
}

struct CharRun {
    start: usize,
    origin: usize,
    /// All of it was made of one escape.
    is_escape: bool,
}

/// What an escape stands for.
enum Meaning {
    Byte(u8),
    Character(char),
}

/// Reads the escape that a text begins with: its meaning and its length.
type DecodedView = fn(&[u8]) -> Option<(Meaning, usize)>;

const KINDS: [(u8, DecodedView); 3] = [(b'%', percent), (b'&', entity), (b'\\', backslash)];

/// Names of what encoders of HTML write by name.
const ENTITIES: [(&str, char); 33] = [
    ("quot", '"'),
    ("amp", '&'),
    ("apos", '\''),
    ("lt", '<'),
    ("gt", '>'),
    ("sol", '/'),
    ("bsol", '\\'),
    ("plus", '+'),
    ("equals", '='),
    ("colon", ':'),
    ("semi", ';'),
    ("comma", ','),
    ("period", '.'),
    ("excl", '!'),
    ("quest", '?'),
    ("num", '#'),
    ("dollar", '$'),
    ("percnt", '%'),
    ("commat", '@'),
    ("lpar", '('),
    ("rpar", ')'),
    ("lsqb", '['),
    ("rsqb", ']'),
    ("lcub", '{'),
    ("rcub", '}'),
    ("lowbar", '_'),
    ("hyphen", '-'),
    ("grave", '`'),
    ("verbar", '|'),
    ("ast", '*'),
    ("Hat", '^'),
    ("Tab", '\t'),
    ("NewLine", '\n'),
];
/// `&#x10FFFF;`, with some zeros.
const ENTITY_LENGTH_MAX: usize = 16;

/// The text without each kind of escape that it has.
pub(super) fn of(text: &[u8]) -> impl Iterator<Item = View> {
    KINDS
        .iter()
        .filter_map(move |(mark, read)| View::without(text, *mark, *read))
}

impl View {
    fn without(text: &[u8], mark: u8, read: DecodedView) -> Option<Self> {
        if !text.contains(&mark) {
            return None;
        }
        let mut view = Self {
            bytes: Vec::new(),
            runs: Vec::new(),
            source_length: text.len(),
        };
        let mut at = 0;
        while let Some(found) = text[at..].iter().position(|byte| *byte == mark) {
            let escape = at + found;
            let (end, meaning) = match read(&text[escape..]) {
                Some((meaning, length)) => (escape + length, Some(meaning)),
                None => (escape + 1, None),
            };
            match meaning {
                Some(meaning) => {
                    view.add_plain(text, at..escape);
                    view.add_escape(escape, &meaning);
                }
                None => view.add_plain(text, at..end),
            }
            at = end;
        }
        let has_escapes = view.runs.iter().any(|run| run.is_escape);
        view.add_plain(text, at..text.len());
        has_escapes.then_some(view)
    }

    fn add_plain(&mut self, text: &[u8], range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.begin(range.start, false);
        self.bytes.extend_from_slice(&text[range]);
    }

    fn add_escape(&mut self, origin: usize, meaning: &Meaning) {
        self.begin(origin, true);
        match meaning {
            Meaning::Byte(byte) => self.bytes.push(*byte),
            Meaning::Character(character) => {
                let mut buffer = [0; 4];
                let encoded = character.encode_utf8(&mut buffer);
                self.bytes.extend_from_slice(encoded.as_bytes());
            }
        }
    }

    fn begin(&mut self, origin: usize, is_escape: bool) {
        self.runs.push(CharRun {
            start: self.bytes.len(),
            origin,
            is_escape,
        });
    }

    /// The part of the text that this part of the view was made of.
    pub(super) fn origin(&self, place: Range<usize>) -> Range<usize> {
        self.origin_of(place.start)..self.origin_of(place.end)
    }

    /// Where that begins which this byte was made of.
    fn origin_of(&self, at: usize) -> usize {
        if at >= self.bytes.len() {
            return self.source_length;
        }
        let after = self.runs.partition_point(|run| run.start <= at);
        match after.checked_sub(1).map(|index| &self.runs[index]) {
            Some(run) if run.is_escape => run.origin,
            Some(run) => run.origin + at - run.start,
            None => 0,
        }
    }
}

/// `%2F`, also in lower case.
fn percent(text: &[u8]) -> Option<(Meaning, usize)> {
    let code = hex(text.get(1..3)?)?;
    Some((Meaning::Byte(u8::try_from(code).ok()?), 3))
}

/// `&quot;`, `&#34;`, `&#x22;`
fn entity(text: &[u8]) -> Option<(Meaning, usize)> {
    let near = &text[1..text.len().min(ENTITY_LENGTH_MAX)];
    let length = near.iter().position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(&near[..length]).ok()?;
    let character = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((Meaning::Character(character), length + 2))
}

/// `\/`, `\"`, `\u0043`, `\x43`: strings of JSON and of most languages.
fn backslash(text: &[u8]) -> Option<(Meaning, usize)> {
    let (character, length) = match text.get(1)? {
        b'u' => return code_unit(text),
        b'x' => (char::from_u32(hex(text.get(2..4)?)?)?, 4),
        b'b' => ('\u{8}', 2),
        b'f' => ('\u{c}', 2),
        b'n' => ('\n', 2),
        b'r' => ('\r', 2),
        b't' => ('\t', 2),
        other if other.is_ascii_punctuation() => (char::from(*other), 2),
        _ => return None,
    };
    Some((Meaning::Character(character), length))
}

/// A character beyond the first 65,536 is two of them.
fn code_unit(text: &[u8]) -> Option<(Meaning, usize)> {
    let first = hex(text.get(2..6)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some((Meaning::Character(character), 6));
    }
    let second = text.get(6..12).filter(|text| text.starts_with(b"\\u"))?;
    let pair = [
        u16::try_from(first).ok()?,
        u16::try_from(hex(&second[2..])?).ok()?,
    ];
    let character = char::decode_utf16(pair).next()?.ok()?;
    Some((Meaning::Character(character), 12))
}

fn hex(digits: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok()?;
    let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| all)
}
