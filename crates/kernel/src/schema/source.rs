//! A schema's text, read into a JSON value that still knows where everything stood.
//!
//! JSON is read by a reader of its own, because YAML differs from it in surrogate pairs, long keys
//! and line folding. Everything else is YAML 1.2 (core schema: `no` is a word, not `false`). Nothing is
//! ever rounded, dropped or merged silently.

mod json;
mod place;
mod yaml;

use std::ops::Range;

use serde_json::Value;

use super::codes;
use super::findings::{At, Finding, Findings};
use crate::diagnostic::{Diagnostic, Place, Severity};

pub const MAX_BYTES: usize = 4 << 20;
pub const MAX_DEPTH: usize = 64;
/// Values in one text, counted after aliases are unfolded.
pub const MAX_VALUES: usize = 500_000;

pub struct Source {
    value: Value,
    marks: Mark,
    text: String,
    file: Option<String>,
    line_starts: Vec<usize>,
}

/// Where a value and its key stand, in bytes of the text. `children` follow the order of the value's
/// own children, so that no pointer has to be stored.
#[derive(Default)]
struct Mark {
    key: Option<Range<usize>>,
    value: Range<usize>,
    children: Vec<Mark>,
}

type Document = (Value, Mark);
type Refused = Vec<(Range<usize>, Finding)>;

/// Why a text was refused.
enum SourceRefusal {
    /// Not this language; another reader may still try.
    Syntax(Range<usize>, Box<Finding>),
    /// Understood, but not acceptable. With stand-ins for what was refused, there may be a document in
    /// which to look for more problems.
    Content(Refused, Option<Box<Document>>),
}

impl Source {
    pub fn parse(file: Option<&str>, text: &str) -> Result<Self, Vec<Diagnostic>> {
        match Self::parse_on(file, text) {
            (Some(source), problems) if problems.is_empty() => Ok(source),
            (_, problems) => Err(problems),
        }
    }

    /// As [`Source::parse`], but keeps what could be read beside the problems.
    pub(super) fn parse_on(file: Option<&str>, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut source = Self {
            value: Value::Null,
            marks: Mark::default(),
            text: String::new(),
            file: file.map(str::to_owned),
            line_starts: vec![0],
        };
        if text.len() > MAX_BYTES {
            let message = format!(
                "the text has {} bytes, the limit is {MAX_BYTES}",
                text.len()
            );
            let finding = Finding::error(codes::TOO_LARGE, "", message);
            return (None, source.refused(vec![(0..0, finding)]));
        }
        text.clone_into(&mut source.text);
        source.line_starts = place::line_starts(text);
        let (document, refused) = match read_any(file, text) {
            Ok(document) => (Some(Box::new(document)), Vec::new()),
            Err(SourceRefusal::Syntax(at, finding)) => (None, vec![(at, *finding)]),
            Err(SourceRefusal::Content(refused, document)) => (document, refused),
        };
        let problems = source.refused(refused);
        let source = document.map(|document| {
            let (value, marks) = *document;
            Self {
                value,
                marks,
                ..source
            }
        });
        (source, problems)
    }

    fn refused(&self, findings: Refused) -> Vec<Diagnostic> {
        findings
            .into_iter()
            .map(|(range, finding)| {
                let place = self.place(&range);
                self.located(finding.diagnostic, Some(place))
            })
            .collect()
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The text without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    pub fn value_place(&self, pointer: &str) -> Option<Place> {
        let (_, mark) = self.find(pointer)?;
        Some(self.place(&mark.value))
    }

    pub fn key_place(&self, pointer: &str) -> Option<Place> {
        let (_, mark) = self.find(pointer)?;
        Some(self.place(mark.key.as_ref().unwrap_or(&mark.value)))
    }

    /// The place of some bytes of a string value; the start of the value where the text spells the
    /// string in a way that cannot be followed (folded over lines).
    pub fn place_in_string(&self, pointer: &str, bytes: Range<usize>) -> Option<Place> {
        let (value, mark) = self.find(pointer)?;
        let exact = value
            .as_str()
            .and_then(|string| place::inside_string(&self.text, &mark.value, string, &bytes));
        Some(self.place(&exact.unwrap_or_else(|| mark.value.clone())))
    }

    /// The value at the pointer, or its nearest ancestor that is in the text.
    fn find(&self, pointer: &str) -> Option<(&Value, &Mark)> {
        let mut found = (&self.value, &self.marks);
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            match child(found.0, found.1, &token) {
                Some(deeper) => found = deeper,
                None => break,
            }
        }
        Some(found)
    }

    /// Turns findings into diagnostics with file, line and column.
    pub(super) fn locate(&self, findings: Findings) -> Vec<Diagnostic> {
        findings
            .into_list()
            .into_iter()
            .map(|finding| {
                let pointer = &finding.diagnostic.pointer;
                let place = match finding.at {
                    At::Value => self.value_place(pointer),
                    At::Key => self.key_place(pointer),
                    At::Inside(bytes) => self.place_in_string(pointer, bytes),
                };
                self.located(finding.diagnostic, place)
            })
            .collect()
    }

    fn located(&self, diagnostic: Diagnostic, place: Option<Place>) -> Diagnostic {
        Diagnostic {
            file: self.file.clone(),
            place,
            ..diagnostic
        }
    }

    fn place(&self, range: &Range<usize>) -> Place {
        place::place(&self.text, &self.line_starts, range)
    }
}

/// Sorts diagnostics: what forbids saving first, then by place.
pub(super) fn order(found: &Diagnostic) -> (bool, Severity, Option<(usize, usize)>) {
    let last = found.code == codes::TOO_MANY_PROBLEMS;
    let place = found.place.map(|place| (place.line, place.column));
    (last, found.severity, place)
}

fn child<'a>(value: &'a Value, mark: &'a Mark, token: &str) -> Option<(&'a Value, &'a Mark)> {
    match value {
        Value::Object(map) => {
            let index = map.keys().position(|key| key == token)?;
            Some((map.get(token)?, mark.children.get(index)?))
        }
        Value::Array(items) => {
            let index: usize = token.parse().ok()?;
            Some((items.get(index)?, mark.children.get(index)?))
        }
        _ => None,
    }
}

/// Flow-style YAML may begin with a brace too, so text that is not JSON gets a second chance, unless
/// the file's name says JSON.
fn read_any(file: Option<&str>, text: &str) -> Result<Document, SourceRefusal> {
    let named_json = file.is_some_and(|name| name.to_ascii_lowercase().ends_with(".json"));
    if !named_json && !text.trim_start().starts_with(['{', '[']) {
        return yaml::read(text);
    }
    match json::read(text) {
        Err(SourceRefusal::Syntax(..)) if !named_json && !looks_like_json(text) => yaml::read(text),
        Err(refusal @ SourceRefusal::Syntax(..)) if !named_json => {
            yaml::read(text).map_err(|_| refusal)
        }
        result => result,
    }
}

/// Whether an error message about JSON will make more sense than one about YAML.
fn looks_like_json(text: &str) -> bool {
    let mut letters = text.trim_start().chars();
    letters.next();
    letters
        .as_str()
        .trim_start()
        .starts_with(['"', '{', '[', ']', '}'])
}

fn duplicate_key(text: &str, key: &str, pointer: String, first: Option<Range<usize>>) -> Finding {
    let finding = Finding::error(
        codes::DUPLICATE_KEY,
        pointer,
        format!("the key `{key}` comes twice"),
    );
    match first {
        Some(first) => {
            let before = &text[..first.start];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            finding.hint(format!("the first is in line {line}, column {column}"))
        }
        None => finding,
    }
}
