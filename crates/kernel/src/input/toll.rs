//! JSON that costs something to look at.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};
use serde_json::{Map, Number, Value};

use super::message::named_type;
use super::{gauge, same};

/// The bytes of a text that are read for one look.
const BYTES_PER_LOOK: usize = 64;

/// Values of `serde_json`, each look paid for. Once nothing is left they read as null, and problems show null.
pub(super) struct Toll;

impl Json for Toll {
    type Node<'a> = &'a Value;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, text: &str, f: impl FnOnce(&Value) -> T) -> T {
        *buffer = Value::String(text.to_owned());
        f(buffer)
    }
}

impl<'a> Node<'a, Toll> for &'a Value {
    type Object = Members<'a>;
    type Array = Elements<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        match *self {
            Value::Object(map) if gauge::pay(1) => Some(Members(map)),
            _ => None,
        }
    }

    fn as_array(&self) -> Option<Elements<'a>> {
        match *self {
            Value::Array(items) if gauge::pay(1) => Some(Elements(items)),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match *self {
            Value::String(text) if gauge::pay(looks_at(text)) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<&'a Number> {
        match *self {
            Value::Number(number) if gauge::pay(1) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match *self {
            Value::Bool(flag) if gauge::pay(1) => Some(*flag),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Value::Null) || gauge::is_over()
    }

    fn json_type(&self) -> JsonType {
        match *self {
            _ if !gauge::pay(1) => JsonType::Null,
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        same::is_equal(self, expected)
    }

    /// Only asked for to say what was found: its type is enough, and holds no value of the input.
    fn to_value(&self) -> Cow<'a, Value> {
        let shown = match gauge::pay_for_problem() && !gauge::is_over() {
            true => Value::String(named_type(self).to_owned()),
            false => Value::Null,
        };
        Cow::Owned(shown)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(address(self))
    }

    fn container_identity(&self) -> Option<NodeIdentity> {
        match *self {
            Value::Array(_) | Value::Object(_) => Some(address(self)),
            _ => None,
        }
    }
}

fn address(value: &Value) -> NodeIdentity {
    NodeIdentity::new(std::ptr::from_ref(value) as usize)
}

fn looks_at(text: &str) -> u64 {
    1 + (text.len() / BYTES_PER_LOOK) as u64
}

pub(super) struct Members<'a>(&'a Map<String, Value>);

impl<'a> Object<'a, Toll> for Members<'a> {
    type Node = &'a Value;
    type MemberName = &'a str;
    type MembersIter = MemberWalk<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<&'a Value> {
        self.0.get(key).filter(|_| gauge::pay_for_value(0))
    }

    fn members(&self) -> MemberWalk<'a> {
        MemberWalk(self.0.iter())
    }
}

pub(super) struct MemberWalk<'a>(serde_json::map::Iter<'a>);

impl<'a> Iterator for MemberWalk<'a> {
    type Item = (&'a str, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.0.next()?;
        gauge::pay_for_value(name.len()).then_some((name, value))
    }
}

pub(super) struct Elements<'a>(&'a [Value]);

impl<'a> Array<'a, Toll> for Elements<'a> {
    type Node = &'a Value;
    type ElementsIter = ElementWalk<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> ElementWalk<'a> {
        ElementWalk(self.0.iter())
    }

    /// Not by the crate's hashes, which many values can be made to share.
    fn is_unique(&self) -> bool {
        same::all_differ(self.0)
    }
}

pub(super) struct ElementWalk<'a>(std::slice::Iter<'a, Value>);

impl<'a> Iterator for ElementWalk<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().filter(|_| gauge::pay_for_value(0))
    }
}
