//! Values while an expression runs.
//!
//! Lists, objects and texts of the context are borrowed; what an expression builds is shared by
//! reference count. Copying a value is therefore always cheap, and a condition over a large
//! document never copies the document.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::ast::Arrow;
use super::number::Number;

#[derive(Clone)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Text<'a>),
    List(List<'a>),
    Object(Object<'a>),
    /// Only ever an argument of a function, never a result.
    Arrow(&'a Arrow),
}

#[derive(Clone)]
pub(super) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Rc<str>),
}

#[derive(Clone)]
pub(super) enum List<'a> {
    Json(&'a [Value]),
    Built(Rc<BuiltList<'a>>),
}

pub(super) struct BuiltList<'a> {
    items: Vec<Val<'a>>,
    depth: usize,
}

#[derive(Clone)]
pub(super) enum Object<'a> {
    Json(&'a Map<String, Value>),
    Built(Rc<BuiltObject<'a>>),
}

/// An object in the order of insertion. Small objects are searched, large ones are indexed.
#[derive(Default)]
pub(super) struct BuiltObject<'a> {
    entries: Vec<(Text<'a>, Val<'a>)>,
    index: HashMap<Text<'a>, usize>,
    depth: usize,
}

impl<'a> Val<'a> {
    pub(super) fn from_json(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => Self::Number(Number::from_json(number)),
            Value::String(text) => Self::borrowed(text),
            Value::Array(items) => Self::List(List::Json(items)),
            Value::Object(map) => Self::Object(Object::Json(map)),
        }
    }

    pub(super) fn borrowed(text: &'a str) -> Self {
        Self::Text(Text::Borrowed(text))
    }

    pub(super) fn int(number: i64) -> Self {
        Self::Number(Number::Int(number))
    }

    /// A length or position as a value.
    pub(super) fn count(number: usize) -> Self {
        Self::Number(Number::from_u64(number as u64))
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(Number::Decimal(_)) => "decimal",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Object(_) => "object",
            Self::Arrow(_) => "function",
        }
    }

    pub(super) fn member(&self, key: &str) -> Option<Val<'a>> {
        match self {
            Self::Object(object) => object.get(key),
            _ => None,
        }
    }

    /// The element at `index`, counted from the end when negative.
    pub(super) fn element(&self, index: i64) -> Option<Val<'a>> {
        let Self::List(list) = self else {
            return None;
        };
        let position = match usize::try_from(index) {
            Ok(position) => position,
            Err(_) => list
                .len()
                .checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
        };
        list.get(position)
    }

    /// How deep the built part is nested. Borrowed parts are as deep as the context allows.
    pub(super) fn built_depth(&self) -> usize {
        match self {
            Self::List(List::Built(list)) => list.depth,
            Self::Object(Object::Built(object)) => object.depth,
            _ => 0,
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::borrow::Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Shared(text.into())
    }
}

impl<'a> List<'a> {
    /// Use `Evaluator::build_list`, which charges and bounds the depth.
    pub(super) fn build(items: Vec<Val<'a>>) -> Self {
        let below = items.iter().map(Val::built_depth).max().unwrap_or(0);
        let depth = below + 1;
        Self::Built(Rc::new(BuiltList { items, depth }))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Built(list) => list.items.len(),
        }
    }

    pub(super) fn get(&self, position: usize) -> Option<Val<'a>> {
        match self {
            Self::Json(items) => items.get(position).map(Val::from_json),
            Self::Built(list) => list.items.get(position).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Val<'a>> + '_ {
        (0..self.len()).filter_map(|position| self.get(position))
    }
}

impl<'a> Object<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(map) => map.len(),
            Self::Built(object) => object.entries.len(),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<Val<'a>> {
        match self {
            Self::Json(map) => map.get(key).map(Val::from_json),
            Self::Built(object) => object.get(key),
        }
    }

    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (Text<'a>, Val<'a>)> + '_> {
        match self {
            Self::Json(map) => Box::new(
                map.iter()
                    .map(|(key, value)| (Text::Borrowed(key.as_str()), Val::from_json(value))),
            ),
            Self::Built(object) => Box::new(object.entries.iter().cloned()),
        }
    }
}

impl<'a> BuiltObject<'a> {
    /// Up to here searching is faster than hashing.
    const SEARCHED_MAX: usize = 8;

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn depth(&self) -> usize {
        self.depth.max(1)
    }

    pub(super) fn position(&self, key: &str) -> Option<usize> {
        match self.index.is_empty() {
            true => self.entries.iter().position(|(name, _)| **name == *key),
            false => self.index.get(key).copied(),
        }
    }

    fn get(&self, key: &str) -> Option<Val<'a>> {
        let (_, value) = self.entries.get(self.position(key)?)?;
        Some(value.clone())
    }

    /// The last value given for a key wins, at the place of the first.
    pub(super) fn insert(&mut self, key: Text<'a>, value: Val<'a>) {
        self.depth = self.depth.max(value.built_depth() + 1);
        let known = self.position(&key);
        match known.and_then(|position| self.entries.get_mut(position)) {
            Some(entry) => entry.1 = value,
            None => self.append(key, value),
        }
    }

    fn append(&mut self, key: Text<'a>, value: Val<'a>) {
        let position = self.entries.len();
        if position == Self::SEARCHED_MAX {
            let known = self.entries.iter().enumerate();
            self.index = known.map(|(at, (name, _))| (name.clone(), at)).collect();
        }
        if position >= Self::SEARCHED_MAX {
            self.index.insert(key.clone(), position);
        }
        self.entries.push((key, value));
    }
}
