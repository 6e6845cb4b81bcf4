//! JSON with places. Scalars are decoded by `serde_json`; this reader adds positions, finds keys that
//! come twice and numbers that would lose digits, and goes on after both.

use std::ops::Range;

use serde_json::{Map, Number, Value};

use super::{Document, MAX_DEPTH, MAX_VALUES, Mark, Refused, SourceRefusal, codes};
use crate::schema::findings::{Finding, join};

const MAX_REFUSED: usize = 100;

pub(super) fn read(text: &str) -> Result<Document, SourceRefusal> {
    let mut reader = JsonReader {
        text,
        at: 0,
        values: 0,
        refused: Vec::new(),
    };
    let read = reader.document();
    match read {
        Err(JsonStop::Syntax(at, message)) => {
            let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
            Err(SourceRefusal::Syntax(
                at..end,
                Box::new(Finding::error(codes::INVALID_JSON, "", message)),
            ))
        }
        Err(JsonStop::Limit(at, finding)) => {
            reader.refused.push((at..at + 1, *finding));
            Err(SourceRefusal::Content(reader.refused, None))
        }
        Ok(document) if !reader.refused.is_empty() => Err(SourceRefusal::Content(
            reader.refused,
            Some(Box::new(document)),
        )),
        Ok(document) => Ok(document),
    }
}

enum JsonStop {
    Syntax(usize, String),
    Limit(usize, Box<Finding>),
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    refused: Refused,
}

type JsonResult<T> = Result<T, JsonStop>;

impl JsonReader<'_> {
    fn document(&mut self) -> JsonResult<Document> {
        let document = self.value("", 0)?;
        match self.peek() {
            None => Ok(document),
            Some(_) => self.fail("the text goes on after the end of the JSON value"),
        }
    }

    fn value(&mut self, pointer: &str, depth: usize) -> JsonResult<Document> {
        self.values += 1;
        let first = self.peek();
        if depth > MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(JsonStop::Limit(
                self.at,
                Box::new(Finding::error(codes::TOO_DEEP, pointer, message)),
            ));
        }
        if self.values > MAX_VALUES {
            let message = format!("more than {MAX_VALUES} values");
            return Err(JsonStop::Limit(
                self.at,
                Box::new(Finding::error(codes::TOO_LARGE, pointer, message)),
            ));
        }
        let start = self.at;
        let (value, children) = match first {
            Some(b'{') => self.object(pointer, depth)?,
            Some(b'[') => self.list(pointer, depth)?,
            Some(b'"') => (Value::String(self.string()?), Vec::new()),
            Some(b'-' | b'0'..=b'9') => (self.number(pointer)?, Vec::new()),
            Some(_) => (self.word()?, Vec::new()),
            None => return self.fail("the text ends where a value should be"),
        };
        let mark = Mark {
            key: None,
            value: start..self.at,
            children,
        };
        Ok((value, mark))
    }

    fn object(&mut self, pointer: &str, depth: usize) -> JsonResult<(Value, Vec<Mark>)> {
        self.at += 1;
        let mut map = Map::new();
        let mut marks: Vec<Mark> = Vec::new();
        if self.eat(b'}') {
            return Ok((Value::Object(map), marks));
        }
        loop {
            let (key, key_range) = self.key()?;
            let child = join(pointer, &key);
            self.expect(b':', "a `:` after the key")?;
            let (value, mut mark) = self.value(&child, depth + 1)?;
            mark.key = Some(key_range.clone());
            if map.contains_key(&key) {
                let first = map.keys().position(|other| *other == key);
                let first = first.and_then(|index| marks[index].key.clone());
                self.duplicate(&key, child, key_range, first);
            } else {
                map.insert(key, value);
                marks.push(mark);
            }
            if self.eat(b'}') {
                return Ok((Value::Object(map), marks));
            }
            self.expect(b',', "a `,` or `}`")?;
        }
    }

    fn key(&mut self) -> JsonResult<(String, Range<usize>)> {
        match self.peek() {
            Some(b'"') => {
                let start = self.at;
                let key = self.string()?;
                Ok((key, start..self.at))
            }
            Some(b'}') => self.fail("a comma before `}` is not JSON"),
            _ => self.fail("a key in double quotes should be here"),
        }
    }

    fn list(&mut self, pointer: &str, depth: usize) -> JsonResult<(Value, Vec<Mark>)> {
        self.at += 1;
        let (mut items, mut marks) = (Vec::new(), Vec::new());
        if self.eat(b']') {
            return Ok((Value::Array(items), marks));
        }
        loop {
            if self.peek() == Some(b']') {
                return self.fail("a comma before `]` is not JSON");
            }
            let (value, mark) = self.value(&join(pointer, items.len()), depth + 1)?;
            items.push(value);
            marks.push(mark);
            if self.eat(b']') {
                return Ok((Value::Array(items), marks));
            }
            self.expect(b',', "a `,` or `]`")?;
        }
    }

    fn string(&mut self) -> JsonResult<String> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                b'\n' => {
                    return Err(JsonStop::Syntax(
                        start,
                        "a string is not closed on its line".into(),
                    ));
                }
                _ => end += 1,
            }
        }
        let Some(spelling) = self.text.get(start..=end) else {
            return Err(JsonStop::Syntax(start, "a string is never closed".into()));
        };
        self.at = end + 1;
        serde_json::from_str(spelling).map_err(|error| {
            JsonStop::Syntax(
                start + string_error_offset(spelling, &error),
                reason(&error),
            )
        })
    }

    fn number(&mut self, pointer: &str) -> JsonResult<Value> {
        let start = self.at;
        let length = self.text[start..]
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')))
            .unwrap_or(self.text.len() - start);
        self.at += length;
        let spelling = &self.text[start..self.at];
        let whole = spelling.strip_prefix('-').unwrap_or(spelling).bytes();
        if whole.clone().all(|byte| byte.is_ascii_digit()) && integer(spelling).is_none() {
            self.refuse_number(
                pointer,
                start,
                "is an integer beyond 64 bits and would be rounded",
            );
            return Ok(Value::Null);
        }
        match serde_json::from_str::<Number>(spelling) {
            Ok(number) => Ok(Value::Number(number)),
            Err(error) if error.to_string().starts_with("number out of range") => {
                self.refuse_number(pointer, start, "is too large for a number");
                Ok(Value::Null)
            }
            Err(_) => Err(JsonStop::Syntax(
                start,
                format!("`{}` is no JSON number", brief(spelling)),
            )),
        }
    }

    fn refuse_number(&mut self, pointer: &str, start: usize, problem: &str) {
        let message = format!("{} {problem}", brief(&self.text[start..self.at]));
        let finding = Finding::error(codes::NUMBER_OUT_OF_RANGE, pointer, message)
            .hint("write it in quotes to keep its digits");
        self.refuse(start..self.at, finding);
    }

    fn word(&mut self) -> JsonResult<Value> {
        let rest = &self.text[self.at..];
        for (word, value) in [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        let length = rest
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(rest.len());
        let found = brief(if length == 0 {
            rest.get(..1).unwrap_or("?")
        } else {
            &rest[..length]
        });
        self.fail(&format!("`{found}` is no JSON value"))
    }

    fn duplicate(
        &mut self,
        key: &str,
        pointer: String,
        range: Range<usize>,
        first: Option<Range<usize>>,
    ) {
        let finding = super::duplicate_key(self.text, key, pointer, first);
        self.refuse(range, finding);
    }

    fn refuse(&mut self, range: Range<usize>, finding: Finding) {
        if self.refused.len() < MAX_REFUSED {
            self.refused.push((range, finding));
        }
    }

    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, what: &str) -> JsonResult<()> {
        if self.eat(byte) {
            return Ok(());
        }
        self.fail(&format!("{what} should be here"))
    }

    fn fail<T>(&self, message: &str) -> JsonResult<T> {
        Err(JsonStop::Syntax(self.at, message.to_owned()))
    }
}

fn integer(spelling: &str) -> Option<Number> {
    let signed = spelling.parse::<i64>().ok().map(Number::from);
    signed.or_else(|| spelling.parse::<u64>().ok().map(Number::from))
}

fn string_error_offset(spelling: &str, error: &serde_json::Error) -> usize {
    let mut offset = error.column().saturating_sub(1).min(spelling.len() - 1);
    while !spelling.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The message of `serde_json` without the position it appends, which is relative to the string.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.find(" at line ").unwrap_or(text.len());
    format!("in a string: {}", &text[..end])
}

fn brief(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
