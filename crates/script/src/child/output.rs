//! The result of a script as JSON text, by the rules of `JSON.stringify` but with none of its code: nothing that
//! user code replaced is called, sizes are bounded while writing, and a refusal says at which place.
//!
//! As there: `undefined`, functions and symbols are left out (null in a list), numbers that are not finite are
//! null, `toJSON` is called. Unlike there: a BigInt of 64 bits is written as an integer with all its digits.

use std::fmt::Write as _;
use std::time::Instant;

use rquickjs::atom::PredefinedAtom;
use rquickjs::function::This;
use rquickjs::object::Filter;
use rquickjs::{Array, Atom, Coerced, Ctx, FromJs, Function, Object, Value};

use crate::wire::SAFE_INTEGER_MAX;

/// What one level of a `{json: …}` may have beside `json`, as items of n8n do.
const ITEM_FIELDS: [&str; 5] = ["json", "binary", "pairedItem", "error", "index"];
/// Reading the clock costs as much as writing a number.
const VALUES_PER_CLOCK: u32 = 64;

#[derive(Debug)]
pub(super) enum Fault {
    /// User code threw while it was asked for a value; the exception is pending.
    Thrown,
    TimedOut,
    /// Not JSON, or too much: what, where and how to fix it.
    Refused(String),
}

impl From<rquickjs::Error> for Fault {
    fn from(error: rquickjs::Error) -> Self {
        match error {
            rquickjs::Error::Utf8(_) => Self::Refused(
                "text with half a surrogate pair, which is no Unicode; cut text with Array.from(text), not with slice"
                    .to_owned(),
            ),
            _ => Self::Thrown,
        }
    }
}

/// Tells native loops of ours when the time is over.
pub(super) struct Clock {
    deadline: Option<Instant>,
    calls: u32,
}

impl Clock {
    pub(super) fn until(deadline: Option<Instant>) -> Self {
        Self { deadline, calls: 0 }
    }

    pub(super) fn never() -> Self {
        Self::until(None)
    }

    fn is_over(&mut self) -> bool {
        self.calls = self.calls.wrapping_add(1);
        self.calls.is_multiple_of(VALUES_PER_CLOCK)
            && self
                .deadline
                .is_some_and(|deadline| Instant::now() > deadline)
    }
}

enum Step {
    Name(String),
    Index(u32),
}

pub(super) struct Output<'js> {
    text: String,
    /// `Array.isArray` from before user code; without it a proxy of a list is an object.
    is_array: Option<Function<'js>>,
    bytes_max: usize,
    depth_max: usize,
    clock: Clock,
    path: Vec<Step>,
}

impl<'js> Output<'js> {
    pub(super) fn new(bytes_max: usize, depth_max: usize, clock: Clock) -> Self {
        Self {
            text: String::new(),
            is_array: None,
            bytes_max,
            depth_max,
            clock,
            path: Vec::new(),
        }
    }

    pub(super) fn lists_by(mut self, is_array: Function<'js>) -> Self {
        self.is_array = Some(is_array);
        self
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Where the value is that could not be written, from the top: ` at items[3].name`.
    pub(super) fn place(&self) -> String {
        let mut place = String::new();
        for step in self.path.iter().take(self.depth_max + 1) {
            let _ = match step {
                Step::Index(index) => write!(place, "[{index}]"),
                Step::Name(name) if place.is_empty() => write!(place, "{name}"),
                Step::Name(name) => write!(place, ".{name}"),
            };
        }
        match place.is_empty() {
            true => String::new(),
            false => format!(" at `{}`", super::failure::cut(place, 200)),
        }
    }

    /// Writes the value; `false` if there is nothing to write for it.
    pub(super) fn write(&mut self, ctx: &Ctx<'js>, value: Value<'js>) -> Result<bool, Fault> {
        if self.clock.is_over() {
            return Err(Fault::TimedOut);
        }
        let value = self.replaced(value)?;
        if let Some(number) = value.as_number() {
            self.number(number);
        } else if let Some(text) = value.as_string() {
            self.string(&text.to_string()?)?;
        } else if value.is_null() {
            self.text.push_str("null");
        } else if let Some(truth) = value.as_bool() {
            self.text.push_str(if truth { "true" } else { "false" });
        } else if value.is_big_int() {
            self.big_int(ctx, value)?;
        } else if value.is_function() {
            return Ok(false);
        } else if let Some(object) = value.as_object() {
            self.nested(ctx, object)?;
        } else {
            return Ok(false);
        }
        self.within()?;
        Ok(true)
    }

    /// What `toJSON` makes of an object.
    fn replaced(&self, value: Value<'js>) -> Result<Value<'js>, Fault> {
        let Some(object) = value.as_object() else {
            return Ok(value);
        };
        let method: Value<'js> = object.get(PredefinedAtom::ToJSON)?;
        let Some(method) = method.as_function() else {
            return Ok(value);
        };
        let key = match self.path.last() {
            Some(Step::Name(name)) => name.clone(),
            Some(Step::Index(index)) => index.to_string(),
            None => String::new(),
        };
        Ok(method.call((This(object.clone()), key))?)
    }

    fn within(&self) -> Result<(), Fault> {
        self.room_for(0)
    }

    fn room_for(&self, bytes: usize) -> Result<(), Fault> {
        if self.text.len() + bytes > self.bytes_max {
            return Err(Fault::Refused(format!(
                "more than {} bytes of JSON; return less (code.output), or keep large data in a database and return its key",
                self.bytes_max
            )));
        }
        Ok(())
    }

    fn number(&mut self, number: f64) {
        // Writing to a String does not fail.
        let _ = if !number.is_finite() {
            write!(self.text, "null")
        } else if number.fract() == 0.0 && number.abs() <= SAFE_INTEGER_MAX as f64 {
            write!(self.text, "{}", number as i64)
        } else {
            write!(self.text, "{}", serde_json::Value::from(number))
        };
    }

    fn string(&mut self, text: &str) -> Result<(), Fault> {
        self.room_for(text.len())?;
        let quoted = serde_json::to_string(text).map_err(|_| Fault::Thrown)?;
        self.text.push_str(&quoted);
        Ok(())
    }

    fn big_int(&mut self, ctx: &Ctx<'js>, value: Value<'js>) -> Result<(), Fault> {
        let Coerced(digits) = Coerced::<String>::from_js(ctx, value)?;
        if digits.parse::<i64>().is_err() && digits.parse::<u64>().is_err() {
            return Err(Fault::Refused(
                "a BigInt of more than 64 bits; return it as text with String(x)".to_owned(),
            ));
        }
        self.text.push_str(&digits);
        Ok(())
    }

    fn nested(&mut self, ctx: &Ctx<'js>, object: &Object<'js>) -> Result<(), Fault> {
        if self.path.len() >= self.depth_max {
            return Err(Fault::Refused(format!(
                "nested more than {} levels deep; is there a reference from an object back to itself?",
                self.depth_max
            )));
        }
        if self.is_list(object)? {
            self.list(ctx, object)
        } else {
            self.fields(ctx, object)
        }
    }

    fn is_list(&self, object: &Object<'js>) -> Result<bool, Fault> {
        match &self.is_array {
            Some(is_array) if object.is_proxy() => Ok(is_array.call((object.clone(),))?),
            _ => Ok(object.is_array()),
        }
    }

    fn list(&mut self, ctx: &Ctx<'js>, list: &Object<'js>) -> Result<(), Fault> {
        let length = length(list)?;
        self.text.push('[');
        for index in 0..length {
            if index > 0 {
                self.text.push(',');
            }
            self.path.push(Step::Index(index));
            let item: Value<'js> = list.get(index)?;
            if !self.write(ctx, item)? {
                self.text.push_str("null");
                self.within()?;
            }
            self.path.pop();
        }
        self.text.push(']');
        Ok(())
    }

    fn fields(&mut self, ctx: &Ctx<'js>, object: &Object<'js>) -> Result<(), Fault> {
        self.text.push('{');
        let start = self.text.len();
        for name in object.own_keys::<Atom<'js>>(Filter::new().string().enum_only()) {
            let name = name?;
            // Not `Atom::to_string`: that one ends at a NUL and trusts its bytes.
            let shown = name.to_js_string()?.to_string()?;
            let before = self.text.len();
            if before > start {
                self.text.push(',');
            }
            self.string(&shown)?;
            self.text.push(':');
            self.path.push(Step::Name(shown));
            let value: Value<'js> = object.get(name)?;
            if !self.write(ctx, value)? {
                self.text.truncate(before);
            }
            self.path.pop();
        }
        self.text.push('}');
        Ok(())
    }
}

/// Takes the wrapping of n8n items off: `{json: x}` is x, a list of such is a list of their values.
pub(super) fn unwrapped<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Value<'js>, Fault> {
    if let Some(list) = value.as_array() {
        return unwrapped_list(ctx, list);
    }
    match value.as_object() {
        Some(object) if is_item(object)? => Ok(object.get("json")?),
        _ => Ok(value),
    }
}

/// All of them or none: a mixture is data of its own.
fn unwrapped_list<'js>(ctx: &Ctx<'js>, list: &Array<'js>) -> Result<Value<'js>, Fault> {
    let bare = Array::new(ctx.clone())?;
    for index in 0..length(list)? {
        let item: Value<'js> = list.as_object().get(index)?;
        match item.as_object() {
            Some(object) if is_item(object)? => {
                bare.set(index as usize, object.get::<_, Value<'js>>("json")?)?;
            }
            _ => return Ok(list.clone().into_value()),
        }
    }
    Ok(bare.into_value())
}

/// Not `Array::len`: that one takes a length beyond 2^31 for a broken engine and panics.
fn length(list: &Object<'_>) -> Result<u32, Fault> {
    let length: f64 = list.get(PredefinedAtom::Length)?;
    Ok(length.clamp(0.0, f64::from(u32::MAX)) as u32)
}

fn is_item(object: &Object<'_>) -> Result<bool, Fault> {
    if object.is_function() || object.is_array() {
        return Ok(false);
    }
    let mut found = false;
    for name in object.own_keys::<Atom<'_>>(Filter::new().string().enum_only()) {
        let name = name?.to_js_string()?.to_string()?;
        if !ITEM_FIELDS.contains(&name.as_str()) {
            return Ok(false);
        }
        found |= name == "json";
    }
    Ok(found)
}
