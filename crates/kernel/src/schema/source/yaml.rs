//! YAML with places, on top of saphyr.
//!
//! saphyr's own tree is not safe for hostile text: it recurses once per level of block nesting, and
//! copies aliased keys without counting them. So nesting is bounded before the parser runs, and a
//! first pass measures what aliases unfold to before a second one builds the tree.

mod build;
mod measure;

use std::ops::Range;

use saphyr::{LoadableYamlNode, MarkedYaml, ScanError};

use self::build::Builder;
use self::measure::Excess;
use super::{Document, MAX_DEPTH, MAX_VALUES, SourceRefusal, codes};
use crate::schema::findings::Finding;

/// More indentation levels than any text within `MAX_DEPTH` needs, few enough for any stack.
const MAX_INDENTS: usize = 256;
/// The parser stops at a repeated key; to find more, this many bytes are read again.
const MAX_READ_AGAIN: usize = 2 << 20;
const REPEATED_KEY: &str = "duplicated key in mapping";
const QUOTE_HINT: &str = "put the value in quotes: \"{{ … }}\"";

pub(super) fn read(text: &str) -> Result<Document, SourceRefusal> {
    let offsets = Offsets::new(text);
    measure(text, &offsets)?;
    let mut renamed = text.to_owned();
    let mut repeated = Vec::new();
    let mut documents = loop {
        match MarkedYaml::load_from_str(&renamed) {
            Ok(documents) => break documents,
            Err(error) if error.info() == REPEATED_KEY => {
                repeated.push(error.marker().index());
                let worth_it = repeated.len() * text.len() < MAX_READ_AGAIN;
                if !worth_it || !rename_repeated(&mut renamed, &error, repeated.len()) {
                    return Err(repeated_keys(&offsets, &repeated));
                }
            }
            Err(error) => return Err(syntax_error(text, &offsets, &error)),
        }
    };
    let document = single(&mut documents, &offsets)?;
    let mut builder = Builder::new(text, &offsets, &repeated);
    let read = builder.build(&document, "");
    if builder.refused.is_empty() {
        return Ok(read);
    }
    Err(SourceRefusal::Content(
        builder.refused,
        Some(Box::new(read)),
    ))
}

fn measure(text: &str, offsets: &Offsets) -> Result<(), SourceRefusal> {
    if let Some(at) = indents_exceeded(text) {
        return Err(SourceRefusal::Content(vec![(at..at, too_deep())], None));
    }
    let excess = measure::excess(text).map_err(|error| syntax_error(text, offsets, &error))?;
    let Some((excess, start)) = excess else {
        return Ok(());
    };
    let at = offsets.byte(start);
    let finding = match excess {
        Excess::Depth => too_deep(),
        Excess::Values => too_large(),
    };
    Err(SourceRefusal::Content(vec![(at..at + 1, finding)], None))
}

/// Gives a repeated key another name of the same length, so that the parser goes on and finds the
/// rest. Letters for private use stand in no schema.
fn rename_repeated(text: &mut String, error: &ScanError, number: usize) -> bool {
    let mut letters = text.char_indices().skip(error.marker().index());
    let first = letters.find(|(_, letter)| !matches!(letter, '"' | '\''));
    let Some((at, letter)) = first.filter(|(_, letter)| !matches!(letter, ':' | '*' | '\n')) else {
        return false;
    };
    let stand_in = u32::try_from(number)
        .ok()
        .and_then(|number| char::from_u32(0xE000 + number));
    let Some(stand_in) = stand_in else {
        return false;
    };
    text.replace_range(
        at..at + letter.len_utf8(),
        stand_in.encode_utf8(&mut [0; 4]),
    );
    true
}

fn repeated_keys(offsets: &Offsets, repeated: &[usize]) -> SourceRefusal {
    let finding = || {
        Finding::error(
            codes::DUPLICATE_KEY,
            "",
            "this key comes twice in one object",
        )
    };
    let refused = repeated.iter().map(|&character| {
        let at = offsets.byte(character);
        (at..at + 1, finding())
    });
    SourceRefusal::Content(refused.collect(), None)
}

fn single<'a>(
    documents: &mut Vec<MarkedYaml<'a>>,
    offsets: &Offsets,
) -> Result<MarkedYaml<'a>, SourceRefusal> {
    if let Some(second) = documents.get(1) {
        let at = offsets.byte(second.span.start.index());
        let message = "a second YAML document begins here";
        let finding = Finding::error(codes::SEVERAL_DOCUMENTS, "", message)
            .hint("a schema is one document: remove the `---` or split the file");
        return Err(SourceRefusal::Content(vec![(at..at + 1, finding)], None));
    }
    documents.pop().ok_or_else(|| {
        let finding = Finding::error(codes::INVALID_YAML, "", "the text is empty");
        SourceRefusal::Syntax(0..0, Box::new(finding))
    })
}

/// Where the indentation goes deeper than `MAX_INDENTS`, if anywhere. Each level of block nesting needs
/// a column of its own, given by a line's start or by the `- `, `? ` and `: ` it begins with.
fn indents_exceeded(text: &str) -> Option<usize> {
    let mut columns: Vec<usize> = Vec::new();
    let mut line_start = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        let mut column = 0;
        while let Some((start, end)) = next_token(line, column) {
            columns.retain(|&other| other < start || column > 0);
            columns.push(start);
            if columns.len() > MAX_INDENTS {
                return Some(line_start + start);
            }
            match &line[start..end] {
                "-" | "?" | ":" => column = end,
                properties if properties.starts_with(['&', '!']) => column = end,
                _ => break,
            }
        }
        line_start += line.len();
    }
    None
}

fn next_token(line: &str, from: usize) -> Option<(usize, usize)> {
    let rest = line.get(from..)?;
    let start = from + rest.find(|c: char| !c.is_ascii_whitespace())?;
    let end = line[start..]
        .find(|c: char| c.is_ascii_whitespace())
        .map_or(line.len(), |length| start + length);
    Some((start, end))
}

fn too_deep() -> Finding {
    let message = format!("nested more than {MAX_DEPTH} levels deep");
    Finding::error(codes::TOO_DEEP, "", message)
}

fn too_large() -> Finding {
    Finding::error(
        codes::TOO_LARGE,
        "",
        "the aliases unfold to too many values",
    )
}

/// saphyr counts characters, Rust slices by bytes.
struct Offsets {
    /// Empty for ASCII text, where both are the same.
    bytes: Vec<usize>,
    length: usize,
}

impl Offsets {
    fn new(text: &str) -> Self {
        let bytes = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(at, _)| at).collect()
        };
        Self {
            bytes,
            length: text.len(),
        }
    }

    fn byte(&self, character: usize) -> usize {
        if self.bytes.is_empty() {
            return character.min(self.length);
        }
        self.bytes.get(character).copied().unwrap_or(self.length)
    }
}

fn syntax_error(text: &str, offsets: &Offsets, error: &ScanError) -> SourceRefusal {
    let at = last_written(text, offsets.byte(error.marker().index()));
    if let Some(range) = unquoted_expression(text, at) {
        let finding = Finding::error(
            codes::UNQUOTED_EXPRESSION,
            "",
            "a value that begins with `{{` needs quotes, because `{` opens a mapping in YAML",
        );
        return SourceRefusal::Syntax(range, Box::new(finding.hint(QUOTE_HINT)));
    }
    let info = error.info();
    if info.contains("alias expansion") {
        return SourceRefusal::Content(vec![(at..at + 1, too_large())], None);
    }
    if info.contains("recursion limit") {
        return SourceRefusal::Content(vec![(at..at + 1, too_deep())], None);
    }
    let finding = Finding::error(codes::INVALID_YAML, "", plain_words(info));
    SourceRefusal::Syntax(at..at + 1, Box::new(finding.maybe_hint(hint_for(info))))
}

/// At the end of the text the problem is what stands before, not the empty line.
fn last_written(text: &str, at: usize) -> usize {
    if !text[at..].trim().is_empty() {
        return at;
    }
    let written = text[..at].trim_end();
    written
        .char_indices()
        .next_back()
        .map_or(0, |(last, _)| last)
}

/// An unquoted `{{` on the line of the error or the one before it.
fn unquoted_expression(text: &str, at: usize) -> Option<Range<usize>> {
    let before = text.get(..at)?;
    let line_start = before.rfind('\n').map_or(0, |found| found + 1);
    let line_end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    let previous = text[..line_start.saturating_sub(1)]
        .rfind('\n')
        .map_or(0, |found| found + 1);
    unquoted_in(text, line_start..line_end).or_else(|| unquoted_in(text, previous..line_start))
}

fn unquoted_in(text: &str, line: Range<usize>) -> Option<Range<usize>> {
    let content = text.get(line.clone())?;
    let at = content.find("{{")?;
    let opens_value = content[..at].trim_end().ends_with([':', '-', ',', '[']);
    let end = content[at..]
        .find("}}")
        .map_or(content.len(), |end| at + end + 2);
    opens_value.then(|| line.start + at..line.start + end)
}

fn plain_words(info: &str) -> String {
    let reason = match info {
        "simple key expected" | "simple key expect ':'" => {
            "a `key: value` should be here; a `:` is missing"
        }
        other => other,
    };
    reason.to_owned()
}

fn hint_for(info: &str) -> Option<String> {
    let hint = if info.contains("tab") {
        "YAML indents with spaces, never with tabs"
    } else if info.contains("unexpected character") {
        "put the value in quotes"
    } else if info.contains("mapping values are not allowed") {
        "a text with `: ` in it needs quotes"
    } else if info.contains("unknown anchor") {
        "`*name` is an alias in YAML; put a text that begins with `*` in quotes"
    } else if info.contains("quoted scalar") {
        "is the quote closed?"
    } else if info.contains("flow mapping") || info.contains("flow sequence") {
        "is a bracket or brace never closed?"
    } else if info.contains("block mapping") || info.contains("block collection") {
        "check the indentation of this line and the one before"
    } else {
        return None;
    };
    Some(hint.to_owned())
}
