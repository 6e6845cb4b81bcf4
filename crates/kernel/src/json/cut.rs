//! Large JSON made small enough to be looked at: what does not fit is replaced by a note of how large it is. Small values
//! go first, so that one large list does not hide its neighbours.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

/// Characters of a long text that are shown.
const TEXT_SHOWN: usize = 200;
/// About how much the note takes that stands for a value; nothing smaller is cut.
const NOTE_BYTES: usize = 80;

/// Cuts values, and remembers where.
#[derive(Debug, Default)]
pub struct Cutter {
    /// Objects and lists deeper than this are cut.
    depth: Option<usize>,
    /// JSON pointers of what was cut.
    pub places: Vec<String>,
}

/// A value, where it stands, and how large it is.
struct Piece {
    place: String,
    value: Value,
    bytes: usize,
}

impl Cutter {
    pub fn new(depth: Option<usize>) -> Self {
        let places = Vec::new();
        Self { depth, places }
    }

    /// The value in about so many bytes. `place` is its JSON pointer.
    pub fn fit(&mut self, value: Value, bytes: usize, place: String) -> Value {
        let piece = Piece::new(place, value);
        self.fit_piece(piece, bytes, self.depth)
    }

    /// Several values that share the bytes.
    pub fn fit_all(&mut self, values: Vec<(String, Value)>, bytes: usize) -> Vec<Value> {
        let pieces = values.into_iter();
        let pieces = pieces.map(|(place, value)| Piece::new(place, value));
        self.share(pieces.collect(), bytes, self.depth)
    }

    fn fit_piece(&mut self, piece: Piece, bytes: usize, depth: Option<usize>) -> Value {
        let fits = piece.bytes <= bytes && !depth.is_some_and(|depth| exceeds(&piece.value, depth));
        if fits || piece.bytes <= NOTE_BYTES {
            return piece.value;
        }
        let members = match &piece.value {
            Value::Object(members) => members.len(),
            Value::Array(items) => items.len(),
            _ => return self.cut(piece),
        };
        if depth == Some(0) || members > bytes / NOTE_BYTES {
            return self.cut(piece);
        }
        self.inside(piece, bytes, depth.map(|depth| depth - 1))
    }

    /// Cuts the members of an object or a list.
    fn inside(&mut self, piece: Piece, bytes: usize, depth: Option<usize>) -> Value {
        let Piece { place, value, .. } = piece;
        match value {
            Value::Object(members) => {
                let (keys, pieces): (Vec<String>, Vec<Piece>) = members
                    .into_iter()
                    .map(|(key, value)| {
                        let inner = format!("{place}/{}", escape(&key));
                        (key, Piece::new(inner, value))
                    })
                    .unzip();
                let names: usize = keys.iter().map(|key| key.len() + 4).sum();
                let shown = self.share(pieces, bytes.saturating_sub(names), depth);
                Value::Object(keys.into_iter().zip(shown).collect::<Map<_, _>>())
            }
            Value::Array(items) => {
                let pieces = items.into_iter().enumerate();
                let pieces = pieces.map(|(at, value)| Piece::new(format!("{place}/{at}"), value));
                Value::Array(self.share(pieces.collect(), bytes, depth))
            }
            whole => whole,
        }
    }

    /// The smallest first: what they leave over is for the larger ones.
    fn share(&mut self, pieces: Vec<Piece>, bytes: usize, depth: Option<usize>) -> Vec<Value> {
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|at| pieces[*at].bytes);
        let mut pieces: Vec<Option<Piece>> = pieces.into_iter().map(Some).collect();
        let mut shown = vec![Value::Null; pieces.len()];
        let mut left = bytes;
        for (done, at) in order.iter().enumerate() {
            let Some(piece) = pieces[*at].take() else {
                continue;
            };
            let part = left / (order.len() - done);
            shown[*at] = self.fit_piece(piece, part, depth);
            left = left.saturating_sub(size(&shown[*at]));
        }
        shown
    }

    fn cut(&mut self, piece: Piece) -> Value {
        self.places.push(piece.place);
        let bytes = piece.bytes;
        match piece.value {
            Value::Object(members) => {
                json!({"$cut": bytes, "type": "object", "items": members.len()})
            }
            Value::Array(items) => json!({"$cut": bytes, "type": "array", "items": items.len()}),
            Value::String(text) => {
                let start: String = text.chars().take(TEXT_SHOWN).collect();
                json!({"$cut": bytes, "type": "string", "start": start})
            }
            other => other,
        }
    }
}

impl Piece {
    fn new(place: String, value: Value) -> Self {
        let bytes = size(&value);
        Self {
            place,
            value,
            bytes,
        }
    }
}

/// Bytes of the value as compact JSON.
pub fn size(value: &Value) -> usize {
    let mut count = Count(0);
    // Counting does not fail, and a value has no keys but texts.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Is there an object or a list with members below so many levels?
fn exceeds(value: &Value, depth: usize) -> bool {
    match value {
        Value::Object(members) => {
            !members.is_empty()
                && (depth == 0 || members.values().any(|value| exceeds(value, depth - 1)))
        }
        Value::Array(items) => {
            !items.is_empty() && (depth == 0 || items.iter().any(|value| exceeds(value, depth - 1)))
        }
        _ => false,
    }
}

/// A key as a part of a JSON pointer.
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(depth: Option<usize>, bytes: usize, value: Value, expected: Value, places: &[&str]) {
        let mut cutter = Cutter::new(depth);
        assert_eq!(cutter.fit(value, bytes, String::new()), expected);
        cutter.places.sort();
        assert_eq!(cutter.places, places);
    }

    #[test]
    fn what_fits_stays_whole() {
        let value =
            json!({"a": [1, 2, {"b": null}], "c": "text", "big": 18_446_744_073_709_551_615_u64});
        check(None, 1_000, value.clone(), value.clone(), &[]);
        check(Some(3), 1_000, value.clone(), value, &[]);
    }

    #[test]
    fn one_large_value_does_not_hide_the_small_ones() {
        let long = "x".repeat(5_000);
        let value = json!({"a/b": long, "small": {"n": 1}, "list": vec![0; 3_000]});
        let expected = json!({
            "a/b": {"$cut": 5_002, "type": "string", "start": "x".repeat(200)},
            "small": {"n": 1},
            "list": {"$cut": 6_001, "type": "array", "items": 3_000},
        });
        check(None, 1_000, value, expected, &["/a~1b", "/list"]);
    }

    #[test]
    fn only_the_large_part_of_an_inner_object_is_cut() {
        let long = "ü".repeat(600);
        let value = json!({"out": {"status": 200, "body": long, "more": [long]}});
        let note = json!({"$cut": 1_202, "type": "string", "start": "ü".repeat(200)});
        let expected = json!({"out": {"status": 200, "body": note, "more": [note]}});
        check(None, 1_000, value, expected, &["/out/body", "/out/more/0"]);
    }

    #[test]
    fn depth_cuts_what_is_deeper_and_not_tiny() {
        let list: Vec<u32> = (0..100).collect();
        let value = json!({"a": {"b": list}, "tiny": {"b": {"c": 1}}});
        let note = |bytes, kind, items| json!({"$cut": bytes, "type": kind, "items": items});
        let deep = json!({"a": {"b": note(291, "array", 100)}, "tiny": {"b": {"c": 1}}});
        check(Some(2), 10_000, value.clone(), deep, &["/a/b"]);
        let flat = json!({"a": note(297, "object", 1), "tiny": {"b": {"c": 1}}});
        check(Some(1), 10_000, value.clone(), flat, &["/a"]);
        let root = note(size(&value), "object", 2);
        check(Some(0), 10_000, value, root, &[""]);
    }

    #[test]
    fn what_comes_out_is_not_much_larger_than_asked_for() {
        let item =
            json!({"id": 7, "text": "y".repeat(300), "deep": {"list": vec![json!({"k": 1}); 50]}});
        let value = json!({"items": vec![item; 40], "note": "z".repeat(9_000)});
        for bytes in [1_000, 5_000, 20_000, 100_000] {
            let mut cutter = Cutter::new(None);
            let shown = cutter.fit(value.clone(), bytes, String::new());
            let (shown, whole) = (size(&shown), size(&value));
            assert!(shown <= whole.min(bytes * 3 + 2_000), "{shown} for {bytes}");
            assert_eq!(cutter.places.is_empty(), bytes >= whole);
        }
    }
}
