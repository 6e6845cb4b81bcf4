//! What is checked of `input` when a schema is saved: that it is a JSON Schema, that it needs no other document, and that no
//! value can make it long to check.
//!
//! Parts of a schema that hold for one and the same value (`allOf`, `$ref`, …) are the dangerous ones: through references a
//! few lines become a million of them, and nothing in the value limits that. So they are counted here. What holds for the
//! values inside (`properties`, `items`, …) is limited by the value, and paid for when it is checked.

mod parts;
mod weight;

use std::collections::HashMap;

use serde_json::{Map, Value};

use self::parts::{Reach, Subschema, parts};
use self::weight::{Fault, Weights};
use super::gauge::Prices;
use super::pattern::PatternShelf;
use super::{InputCheck, defects, options};
use crate::schema::codes::BAD_INPUT_SCHEMA;
use crate::schema::findings::{Finding, Findings, join};

const BYTES_MAX: usize = 256 * 1024;
/// Parts that are schemas of their own.
const PARTS_MAX: usize = 5_000;
/// All patterns together, compiled.
const PATTERN_BYTES: usize = 4 * 1024 * 1024;
/// Patterns for the names of fields. The name of each field is matched with every one of them.
const NAME_PATTERNS_MAX: usize = 50;
/// What a byte of a name costs for each pattern, in looks.
const LOOKS_PER_NAME_BYTE: usize = 4;
/// Parts that are gone through while a value costs one look.
const PARTS_PER_LOOK: usize = 32;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Their meaning depends on the way by which they were reached, or on another document.
const REFUSED: &[&str] = &[
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$vocabulary",
];

/// A part of the document, by where it stands.
struct Site<'a> {
    pointer: String,
    schema: &'a Value,
}

/// All parts of a document, with what is wrong with them.
struct Survey<'a, 'f> {
    root: &'a Value,
    /// Of the document, in the text that is diagnosed.
    base: &'f str,
    places: Vec<Site<'a>>,
    anchors: HashMap<&'a str, (String, &'a Value)>,
    weights: Weights,
    /// Bytes of the patterns so far.
    pattern_bytes: usize,
    name_patterns: usize,
    findings: &'f mut Findings,
}

/// Reports every problem of the document that stands at `base`; returns it ready to use if there is none.
pub(crate) fn examine(root: &Value, base: &str, findings: &mut Findings) -> Option<InputCheck> {
    let before = findings.errors();
    if !root.is_object() {
        let message = "`input` is a JSON Schema, written as an object";
        let finding = Finding::error(BAD_INPUT_SCHEMA, base, message);
        findings.add(finding.hint("for example `input: { type: object, required: [order_id] }`"));
        return None;
    }
    if root.to_string().len() > BYTES_MAX {
        let message = format!("`input` is longer than {} KiB", BYTES_MAX / 1024);
        findings.add(Finding::error(BAD_INPUT_SCHEMA, base, message));
        return None;
    }
    survey(root, base, findings);
    for (pointer, message) in defects(root) {
        let finding = Finding::error(BAD_INPUT_SCHEMA, format!("{base}{pointer}"), message);
        findings.add(finding.hint("`input` is a JSON Schema, draft 2020-12"));
    }
    if findings.errors() > before {
        return None;
    }
    let compiled = InputCheck::compile(root);
    compiled
        .map_err(|message| findings.add(Finding::error(BAD_INPUT_SCHEMA, base, message)))
        .ok()
}

/// What looks cost with a document that was examined.
pub(super) fn prices(root: &Value) -> Prices {
    let mut findings = Findings::default();
    survey(root, "", &mut findings)
}

fn survey(root: &Value, base: &str, findings: &mut Findings) -> Prices {
    let mut survey = Survey {
        root,
        base,
        places: Vec::new(),
        anchors: parts::anchors(root),
        weights: Weights::default(),
        pattern_bytes: 0,
        name_patterns: 0,
        findings,
    };
    survey.run();
    Prices {
        value: (survey.weights.heaviest() / PARTS_PER_LOOK + 1) as u64,
        name_byte: (survey.name_patterns * LOOKS_PER_NAME_BYTE) as u64,
    }
}

impl<'a> Survey<'a, '_> {
    fn run(&mut self) {
        self.place(String::new(), self.root);
        let mut next = 0;
        while next < self.places.len() {
            if self.places.len() > PARTS_MAX {
                let message = format!("`input` has more than {PARTS_MAX} parts");
                return self.error("", message, "split the workflow, or check less");
            }
            let Site { pointer, schema } = &self.places[next];
            if let Value::Object(fields) = schema {
                self.look_at(next, &pointer.clone(), fields);
            }
            next += 1;
        }
        self.weigh();
    }

    /// The number of a part, which is new or known.
    fn place(&mut self, pointer: String, schema: &'a Value) -> usize {
        let (number, is_new) = self.weights.number(schema);
        if is_new {
            self.places.push(Site { pointer, schema });
        }
        number
    }

    fn look_at(&mut self, number: usize, pointer: &str, fields: &'a Map<String, Value>) {
        self.check_words(pointer, fields);
        self.check_patterns(pointer, fields);
        for Subschema {
            pointer: below,
            schema,
            reach,
        } in parts(fields)
        {
            let part = self.place(format!("{pointer}{below}"), schema);
            if reach == Reach::SameValue {
                self.weights.holds_too(number, part);
            }
        }
        let Some(reference) = fields.get("$ref").and_then(Value::as_str) else {
            return;
        };
        match self.target(reference) {
            Ok((below, schema)) => {
                let part = self.place(below, schema);
                self.weights.holds_too(number, part);
            }
            Err(message) => {
                let hint = "a `$ref` begins with `#`: `#/$defs/NAME`, or `#ANCHOR`; copy other documents into `$defs`";
                self.error(&join(pointer, "$ref"), message, hint);
            }
        }
    }

    fn target(&self, reference: &str) -> Result<(String, &'a Value), String> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err("the `$ref` leads out of the schema; nothing is fetched".to_owned());
        };
        let decoded = crate::percent::decoded(fragment.as_bytes());
        let fragment = String::from_utf8_lossy(&decoded).into_owned();
        let found = match fragment.is_empty() || fragment.starts_with('/') {
            true => self
                .root
                .pointer(&fragment)
                .map(|schema| (fragment, schema)),
            false => self.anchors.get(fragment.as_str()).cloned(),
        };
        found.ok_or_else(|| "the `$ref` leads nowhere".to_owned())
    }

    /// Words that would change what a `$ref` means, and words that mean nothing.
    fn check_words(&mut self, pointer: &str, fields: &Map<String, Value>) {
        for word in fields.keys() {
            let place = join(pointer, word);
            if REFUSED.contains(&word.as_str()) {
                let hint = "write the part into `$defs` and refer to it with `$ref`";
                self.error(&place, format!("`{word}` is not supported"), hint);
            } else if word == "$id" && !pointer.is_empty() {
                let hint = "leave it out, and refer to the part by `#/…`";
                self.error(&place, "a part has no `$id` of its own", hint);
            } else if word == "$schema" {
                self.check_draft(&place, &fields[word]);
            } else if !parts::is_known(word) && !word.starts_with("x-") {
                self.doubt(&place, word);
            }
        }
    }

    fn check_draft(&mut self, place: &str, draft: &Value) {
        let is_ours = draft
            .as_str()
            .is_some_and(|draft| draft.trim_end_matches('#') == DRAFT);
        if !is_ours {
            let message = "the draft of JSON Schema is 2020-12, and no other";
            self.error(place, message, "leave `$schema` out");
        }
    }

    fn doubt(&mut self, place: &str, word: &str) {
        let hint = self.findings.suggest(word, parts::known());
        let message = format!("`{word}` is no word of JSON Schema, and has no effect");
        let finding = Finding::warning(BAD_INPUT_SCHEMA, self.at(place), message);
        self.findings.add(finding.key().maybe_hint(hint));
    }

    fn check_patterns(&mut self, pointer: &str, fields: &Map<String, Value>) {
        if let Some(pattern) = fields.get("pattern").and_then(Value::as_str) {
            self.check_pattern(&join(pointer, "pattern"), pattern);
        }
        let names = fields.get("patternProperties").and_then(Value::as_object);
        for pattern in names.into_iter().flat_map(Map::keys) {
            let place = join(&join(pointer, "patternProperties"), pattern);
            self.check_name_pattern(&place, pattern);
        }
    }

    fn check_pattern(&mut self, place: &str, pattern: &str) {
        if self.pattern_bytes > PATTERN_BYTES {
            return;
        }
        match PatternShelf::compile(pattern) {
            Ok(shelf) => self.pattern_bytes += shelf.bytes(),
            Err(message) => {
                // One that is refused may have been compiled for as long as a good one.
                self.pattern_bytes += PATTERN_BYTES / 100;
                self.error(place, message, PATTERN_HINT);
            }
        }
        if self.pattern_bytes > PATTERN_BYTES {
            let message = format!(
                "all patterns together need more than {} MiB",
                PATTERN_BYTES >> 20
            );
            self.error(place, message, "use fewer or shorter patterns");
        }
    }

    fn check_name_pattern(&mut self, place: &str, pattern: &str) {
        self.name_patterns += 1;
        if self.name_patterns > NAME_PATTERNS_MAX {
            if self.name_patterns == NAME_PATTERNS_MAX + 1 {
                let message =
                    format!("`input` has more than {NAME_PATTERNS_MAX} patterns for names");
                self.error(place, message, "use fewer patterns");
            }
            return;
        }
        let alone = Map::from_iter([(pattern.to_owned(), Value::Bool(true))]);
        let alone = Map::from_iter([("patternProperties".to_owned(), Value::Object(alone))]);
        let is_good = PatternShelf::compile(pattern).is_ok()
            && options().build(&Value::Object(alone)).is_ok();
        if !is_good {
            let message = "this is no pattern that can be used, or it is too large";
            self.error(place, message, PATTERN_HINT);
        }
    }

    fn weigh(&mut self) {
        if let Err((number, excess)) = self.weights.weigh() {
            let pointer = self.places[number].pointer.clone();
            let (message, hint) = match excess {
                Fault::Circle => (
                    "a `$ref` leads back to where it stands, for the same value",
                    "a schema may refer to itself only below `properties`, `items` and the like",
                ),
                Fault::Depth | Fault::Count => (
                    "too many parts hold for one value here, through `$ref`, `allOf`, `anyOf`, `oneOf`, `not`, `if`",
                    "unfold the references, and name fewer alternatives",
                ),
            };
            self.error(&pointer, message, hint);
        }
    }

    fn at(&self, pointer: &str) -> String {
        format!("{}{pointer}", self.base)
    }

    fn error(&mut self, pointer: &str, message: impl Into<String>, hint: &str) {
        let finding = Finding::error(BAD_INPUT_SCHEMA, self.at(pointer), message);
        self.findings.add(finding.hint(hint));
    }
}

const PATTERN_HINT: &str = "look-around and back-references are not supported; for lengths there are `minLength` and `maxLength`";
