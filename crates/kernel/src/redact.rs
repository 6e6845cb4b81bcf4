//! Secret values never reach memory that is kept, disk or a reader: they are replaced by `***` before anything enters the
//! context, in plain form and in the encodings that a service may echo them in.
//!
//! A text is searched as it is for every spelling that can be written down beforehand (`spellings`), and once more with its
//! escapes taken out (`views`), because those have too many forms to list.

mod needles;
mod spellings;
#[cfg(test)]
mod tests;
mod views;

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::json::{self, JsonRule};
use needles::Needles;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// Escapes inside escapes that are looked into: a form inside a JSON text inside a JSON text.
const DEPTH: usize = 3;

/// So many times its own length, and so many bytes, are decoded of one text. A text with all three kinds of escapes, none
/// inside another of its kind, needs 15 times; one that nests each of them as deep as is looked would need 39.
const DECODED_TIMES: usize = 16;
const DECODED_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub struct Redactor {
    needles: Needles,
    /// Can a number be a secret?
    has_numbers: bool,
}

impl Redactor {
    pub fn new<'a>(secrets: impl Iterator<Item = &'a String>) -> Self {
        let secrets: Vec<&str> = secrets.map(String::as_str).collect();
        let all = secrets.iter().flat_map(|secret| spellings::all(secret));
        Self {
            needles: all.collect(),
            has_numbers: secrets.iter().any(|secret| secret.parse::<f64>().is_ok()),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Would anything of it be replaced?
    pub fn hides(&self, text: &str) -> bool {
        !self.places(text).is_empty()
    }

    pub fn text(&self, text: &mut String) {
        let places = self.places(text);
        if places.is_empty() {
            return;
        }
        let mut hidden = String::with_capacity(text.len());
        let mut shown = 0;
        for place in places {
            hidden.push_str(&text[shown..place.start]);
            hidden.push_str(MASK);
            shown = place.end;
        }
        hidden.push_str(&text[shown..]);
        *text = hidden;
    }

    pub fn value(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => self.object(fields),
            Value::Number(number) if self.has_numbers && self.hides(&number.to_string()) => {
                *value = Value::String(MASK.to_owned());
            }
            _ => {}
        }
    }

    /// Also the names: they are as good a hiding place as any.
    pub fn object(&self, fields: &mut Map<String, Value>) {
        if self.is_empty() {
            return;
        }
        if fields.keys().any(|key| self.hides(key)) {
            let old = std::mem::take(fields);
            let mut names = FreeNames::default();
            for (mut key, value) in old {
                self.text(&mut key);
                fields.insert(names.name(key, fields), value);
            }
        }
        fields.values_mut().for_each(|value| self.value(value));
    }

    /// A text that is JSON stays JSON; one without secrets stays as it was written. One that an edge refuses because it has
    /// several meanings is hidden as text: read and written anew it would no longer show why it was refused.
    pub fn json_text(&self, text: &mut String) {
        if self.is_empty() {
            return;
        }
        let Some(written) = with_one_meaning(text) else {
            return self.text(text);
        };
        let mut shown = written.clone();
        self.value(&mut shown);
        if shown != written {
            *text = shown.to_string();
        }
    }

    /// What is to be replaced, in order, without overlaps.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.is_empty() || text.len() < spellings::SHORTEST {
            return found;
        }
        let mut left = DECODED_BYTES + DECODED_TIMES * text.len();
        let bytes = text.as_bytes();
        if !self.search(bytes, DEPTH, &|place| place, &mut left, &mut found) {
            // What was not looked into may hold a secret.
            found.clear();
            found.push(0..text.len());
        }
        found.sort_by_key(|place| place.start);
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for place in found {
            let place = whole_characters(text, place);
            match apart.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => apart.push(place),
            }
        }
        apart
    }

    /// `origin` says where in the text itself a place of this view of it is. `left` is what may still be decoded: `false`
    /// where that is not enough for all views.
    fn search(
        &self,
        view: &[u8],
        depth: usize,
        origin: &dyn Fn(Range<usize>) -> Range<usize>,
        left: &mut usize,
        found: &mut Vec<Range<usize>>,
    ) -> bool {
        self.needles.find(view, |place| found.push(origin(place)));
        let Some(depth) = depth.checked_sub(1) else {
            return true;
        };
        for inner in views::of(view) {
            let Some(rest) = left.checked_sub(inner.bytes.len()) else {
                return false;
            };
            *left = rest;
            let origin = |place| origin(inner.origin(place));
            if !self.search(&inner.bytes, depth, &origin, left, found) {
                return false;
            }
        }
        true
    }
}

fn with_one_meaning(text: &str) -> Option<Value> {
    match json::read(text.as_bytes()) {
        Ok(value) => Some(value),
        // An error that holds a whole body is deeper than a body may be.
        Err(refused) if refused.rule == JsonRule::Depth => serde_json::from_str(text).ok(),
        Err(_) => None,
    }
}

fn whole_characters(text: &str, place: Range<usize>) -> Range<usize> {
    let start = (0..=place.start)
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let end = (place.end..=text.len()).find(|at| text.is_char_boundary(*at));
    start.unwrap_or(0)..end.unwrap_or(text.len())
}

/// Two names that read alike once their secrets are hidden are still two fields. Each name counts on from its last number:
/// a secret has thousands of spellings, and a body may hold them all.
#[derive(Default)]
struct FreeNames(HashMap<String, u64>);

impl FreeNames {
    fn name(&mut self, name: String, fields: &Map<String, Value>) -> String {
        let last = self.0.entry(name.clone()).or_insert(0);
        loop {
            *last += 1;
            let free = match *last {
                1 => name.clone(),
                number => format!("{name} ({number})"),
            };
            if !fields.contains_key(&free) {
                return free;
            }
        }
    }
}
