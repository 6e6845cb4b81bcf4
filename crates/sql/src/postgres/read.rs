//! Columns as JSON, without loss. What a column becomes depends on its type alone, never on the value:
//!
//! | type | JSON |
//! |---|---|
//! | `smallint`, `integer`, `bigint`, `oid` | integer |
//! | `real`, `double precision` | number; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | `numeric` | text of its digits |
//! | `boolean` | boolean |
//! | `text`, `varchar`, `char`, `name`, `citext`, `xml`, enums | text |
//! | `uuid`, `inet`, `cidr`, `macaddr`, `bit`, `varbit` | text |
//! | `timestamptz` | `2026-01-31T12:00:00.000000Z` |
//! | `timestamp`, `date`, `time`, `timetz` | the same, as far as it goes |
//! | `interval` | ISO 8601, `P1Y2M3DT4H5M6S` |
//! | `json`, `jsonb` | the value |
//! | `bytea` | base64 text |
//! | arrays, composite types | lists, objects |
//!
//! Anything else needs a cast to `text` in the statement, and the error says so.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};
use tokio_postgres::types::{FromSql, Kind, Type};

use super::calendar;
use super::numeric;
use crate::exact::{self, DIGITS_LOST, Inexact};

/// Arrays and records inside each other.
const DEPTH_MAX: usize = 64;
/// About what the smallest item of a list takes.
const ITEM_BYTES: usize = 6;

/// A value as it was sent.
pub(crate) struct Raw<'a>(pub(crate) &'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(
        _: &Type,
        bytes: &'a [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(bytes))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Why a value does not become JSON.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Reason(String),
    /// More than there is room for.
    TooLarge,
}

impl From<String> for Unreadable {
    fn from(reason: String) -> Self {
        Self::Reason(reason)
    }
}

impl From<&str> for Unreadable {
    fn from(reason: &str) -> Self {
        Self::Reason(reason.to_owned())
    }
}

/// What a value may still grow to. A few bytes from the server can say that there are many more in memory, or that
/// there is one thing inside of the other without end.
pub(crate) struct Room {
    bytes: usize,
    depth: usize,
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes,
            depth: DEPTH_MAX,
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), Unreadable> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Unreadable::TooLarge)?;
        Ok(())
    }

    fn inside<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Unreadable>,
    ) -> Result<T, Unreadable> {
        self.depth = (self.depth.checked_sub(1))
            .ok_or_else(|| format!("it is nested deeper than {DEPTH_MAX}"))?;
        let done = read(self);
        self.depth += 1;
        done
    }
}

/// Known before a statement runs.
pub(crate) fn is_readable(ty: &Type) -> bool {
    match ty.kind() {
        Kind::Enum(_) => true,
        Kind::Array(inner) | Kind::Domain(inner) => is_readable(inner),
        Kind::Composite(fields) => fields.iter().all(|field| is_readable(field.type_())),
        _ => is_text(ty) || is_simple(ty),
    }
}

fn is_text(ty: &Type) -> bool {
    matches!(
        *ty,
        Type::TEXT
            | Type::VARCHAR
            | Type::BPCHAR
            | Type::NAME
            | Type::XML
            | Type::UNKNOWN
            | Type::CHAR
    ) || ty.name() == "citext"
}

fn is_simple(ty: &Type) -> bool {
    matches!(
        *ty,
        Type::BOOL
            | Type::INT2
            | Type::INT4
            | Type::INT8
            | Type::OID
            | Type::FLOAT4
            | Type::FLOAT8
            | Type::NUMERIC
            | Type::UUID
            | Type::TIMESTAMPTZ
            | Type::TIMESTAMP
            | Type::DATE
            | Type::TIME
            | Type::TIMETZ
            | Type::INTERVAL
            | Type::JSON
            | Type::JSONB
            | Type::BYTEA
            | Type::INET
            | Type::CIDR
            | Type::MACADDR
            | Type::BIT
            | Type::VARBIT
            | Type::VOID
            | Type::RECORD
    )
}

pub(crate) fn value(ty: &Type, bytes: &[u8], room: &mut Room) -> Result<Value, Unreadable> {
    match ty.kind() {
        Kind::Enum(_) => return Ok(text(bytes)?),
        Kind::Domain(base) => return value(base, bytes, room),
        Kind::Array(element) => return room.inside(|room| array(element, bytes, room)),
        Kind::Composite(fields) => {
            let names = fields.iter().map(|field| Some(field.name()));
            let type_of = |index: usize, _| fields.get(index).map(|field| field.type_().clone());
            return room.inside(|room| record(bytes, names, type_of, room));
        }
        _ => {}
    }
    if is_text(ty) {
        return Ok(text(bytes)?);
    }
    simple(ty, bytes, room)
}

fn simple(ty: &Type, bytes: &[u8], room: &mut Room) -> Result<Value, Unreadable> {
    let mut reader = Reader(bytes);
    Ok(match *ty {
        Type::BOOL => Value::Bool(reader.array::<1>()? != [0]),
        Type::INT2 => Value::from(i16::from_be_bytes(reader.array()?)),
        Type::INT4 => Value::from(reader.i32()?),
        Type::INT8 => Value::from(reader.i64()?),
        Type::OID => Value::from(u32::from_be_bytes(reader.array()?)),
        Type::FLOAT4 => single(f32::from_be_bytes(reader.array()?)),
        Type::FLOAT8 => float(f64::from_be_bytes(reader.array()?)),
        Type::NUMERIC => {
            let digits = numeric::text(&mut reader)?;
            room.take(digits.len())?;
            Value::String(digits)
        }
        Type::UUID => Value::String(uuid(&reader.array()?)),
        Type::TIMESTAMPTZ => Value::String(calendar::timestamp(reader.i64()?, "Z")),
        Type::TIMESTAMP => Value::String(calendar::timestamp(reader.i64()?, "")),
        Type::DATE => Value::String(calendar::date(reader.i32()?)),
        Type::TIME => Value::String(calendar::time(reader.i64()?)),
        Type::TIMETZ => Value::String(calendar::time_with_zone(reader.i64()?, reader.i32()?)),
        Type::INTERVAL => Value::String(calendar::interval(
            reader.i64()?,
            reader.i32()?,
            reader.i32()?,
        )),
        Type::JSON => json(bytes)?,
        // One byte says which form follows; there is only one.
        Type::JSONB => json(bytes.get(1..).unwrap_or_default())?,
        Type::BYTEA => Value::String(STANDARD.encode(bytes)),
        Type::INET | Type::CIDR => Value::String(network(&mut reader)?),
        Type::MACADDR => Value::String(hardware(&reader.array()?)),
        Type::BIT | Type::VARBIT => Value::String(bits(&mut reader, room)?),
        Type::VOID => Value::Null,
        Type::RECORD => {
            let names = std::iter::repeat(None);
            room.inside(|room| record(bytes, names, |_, oid| Type::from_oid(oid), room))?
        }
        _ => return Err(format!("its type is {}; write `…::text`", ty.name()).into()),
    })
}

fn text(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".to_owned())?;
    Ok(Value::String(text.to_owned()))
}

fn json(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".to_owned())?;
    exact::json(text).map_err(|error| match error {
        Inexact::Number => format!("{DIGITS_LOST}; write `…::text`"),
        Inexact::Unreadable(reason) => {
            format!("its JSON cannot be kept: {reason}; write `…::text`")
        }
    })
}

/// By way of its shortest text: 0.1 stays 0.1.
fn single(number: f32) -> Value {
    float(number.to_string().parse().unwrap_or(f64::from(number)))
}

pub(crate) fn float(number: f64) -> Value {
    match Number::from_f64(number) {
        Some(number) => Value::Number(number),
        None if number.is_nan() => "NaN".into(),
        None if number > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

fn uuid(bytes: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Family, bits of the network, whether it is one, and the address.
fn network(reader: &mut Reader<'_>) -> Result<String, String> {
    let [_family, bits, is_network, length] = reader.array()?;
    let (address, all) = match length {
        4 => (Ipv4Addr::from(reader.array::<4>()?).to_string(), 32),
        16 => (Ipv6Addr::from(reader.array::<16>()?).to_string(), 128),
        _ => return Err("it is no address".into()),
    };
    if is_network != 0 || bits != all {
        return Ok(format!("{address}/{bits}"));
    }
    Ok(address)
}

fn hardware(bytes: &[u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

fn bits(reader: &mut Reader<'_>, room: &mut Room) -> Result<String, Unreadable> {
    let count = reader.length()?;
    let bytes = reader.take(count.div_ceil(8))?;
    room.take(count)?;
    let bit = |index: usize| (bytes[index / 8] >> (7 - index % 8)) & 1;
    let digit = |index| if bit(index) == 1 { '1' } else { '0' };
    Ok((0..count).map(digit).collect())
}

/// Dimensions, whether there are nulls, the element's type, the sizes; then the elements, the last dimension first.
fn array(element: &Type, bytes: &[u8], room: &mut Room) -> Result<Value, Unreadable> {
    let mut reader = Reader(bytes);
    let dimensions = reader.length()?;
    reader.i32()?;
    reader.i32()?;
    if dimensions > 6 {
        return Err("it has more than six dimensions".into());
    }
    let mut sizes = Vec::with_capacity(dimensions);
    for _ in 0..dimensions {
        sizes.push(reader.length()?);
        reader.i32()?;
    }
    if sizes.is_empty() {
        return Ok(Value::Array(Vec::new()));
    }
    // Each element has at least its length: sizes that lie end here instead of in memory.
    let count = sizes
        .iter()
        .try_fold(1, |all: usize, size| all.checked_mul(*size));
    let count = count.filter(|count| (1..=reader.0.len() / 4).contains(count));
    let count = count.ok_or("its sizes do not fit what was sent")?;
    room.take(count.saturating_mul(ITEM_BYTES))?;
    dimension(element, &sizes, &mut reader, room)
}

fn dimension(
    element: &Type,
    sizes: &[usize],
    reader: &mut Reader<'_>,
    room: &mut Room,
) -> Result<Value, Unreadable> {
    let Some((&size, inner)) = sizes.split_first() else {
        return reader.item(element, room);
    };
    let mut items = Vec::with_capacity(size);
    for _ in 0..size {
        items.push(dimension(element, inner, reader, room)?);
    }
    Ok(Value::Array(items))
}

/// The number of fields; then each with its type. An object if they have names, else a list.
fn record<'n>(
    bytes: &[u8],
    mut names: impl Iterator<Item = Option<&'n str>>,
    type_of: impl Fn(usize, u32) -> Option<Type>,
    room: &mut Room,
) -> Result<Value, Unreadable> {
    let mut reader = Reader(bytes);
    let count = reader.length()?;
    // Each has its type and its length.
    if count > reader.0.len() / 8 {
        return Err("it has fewer fields than it says".into());
    }
    room.take(count * ITEM_BYTES)?;
    let mut fields = Map::new();
    let mut list = Vec::new();
    for index in 0..count {
        let oid = u32::from_be_bytes(reader.array()?);
        let ty = type_of(index, oid)
            .filter(is_readable)
            .ok_or("a field of the record has a type of its own; write `…::text`")?;
        let item = reader.item(&ty, room)?;
        match names.next().flatten() {
            Some(name) => drop(fields.insert(name.to_owned(), item)),
            None => list.push(item),
        }
    }
    if list.is_empty() && count > 0 {
        return Ok(Value::Object(fields));
    }
    Ok(Value::Array(list))
}

/// Takes bytes from the front, and notices when there are none.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (front, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| "the server sent less than it said".to_owned())?;
        self.0 = rest;
        Ok(front)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let bytes = self.take(N)?;
        bytes
            .try_into()
            .map_err(|_| "a value has a wrong size".to_owned())
    }

    pub(crate) fn i32(&mut self) -> Result<i32, String> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, String> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    fn length(&mut self) -> Result<usize, String> {
        usize::try_from(self.i32()?).map_err(|_| "a size is negative".to_owned())
    }

    /// Its length, -1 for null, and itself.
    fn item(&mut self, ty: &Type, room: &mut Room) -> Result<Value, Unreadable> {
        match self.i32()? {
            -1 => Ok(Value::Null),
            length => {
                let length =
                    usize::try_from(length).map_err(|_| "a size is negative".to_owned())?;
                value(ty, self.take(length)?, room)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn numbers(numbers: &[i32]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_be_bytes()).collect()
    }

    fn read(ty: &Type, bytes: &[u8]) -> Result<Value, Unreadable> {
        value(ty, bytes, &mut Room::new(10_000))
    }

    fn is_refused(ty: &Type, bytes: &[u8]) -> bool {
        matches!(read(ty, bytes), Err(Unreadable::Reason(_)))
    }

    #[test]
    fn arrays_are_as_large_as_what_was_sent() {
        let element = 23;
        let good = numbers(&[2, 0, element, 2, 1, 1, 1, 4, 7, -1]);
        assert_eq!(read(&Type::INT4_ARRAY, &good), Ok(json!([[7], [null]])));
        let empty = numbers(&[0, 0, element]);
        assert_eq!(read(&Type::INT4_ARRAY, &empty), Ok(json!([])));
        for sizes in [
            &[2, 0, element, i32::MAX, 1, 0, 1][..],
            &[2, 0, element, 0, 1, i32::MAX, 1],
            &[1, 0, element, 0, 1],
            &[1, 0, element, i32::MAX, 1, -1, -1],
            &[
                6, 0, element, 9999, 1, 9999, 1, 9999, 1, 9999, 1, 9999, 1, 9999, 1,
            ],
            &[1, 0, element, -1, 1],
            &[7, 0, element],
            &[1, 0],
        ] {
            assert!(is_refused(&Type::INT4_ARRAY, &numbers(sizes)), "{sizes:?}");
        }
    }

    #[test]
    fn records_have_as_many_fields_as_was_sent_and_end_somewhere() {
        let good = numbers(&[1, 23, 4, 7]);
        assert_eq!(read(&Type::RECORD, &good), Ok(json!([7])));
        assert!(is_refused(&Type::RECORD, &numbers(&[i32::MAX, 23, -1])));
        let nested = |depth: usize| {
            let mut bytes = numbers(&[0]);
            for _ in 1..depth {
                let length = i32::try_from(bytes.len()).unwrap();
                bytes = [numbers(&[1, 2249, length]), bytes].concat();
            }
            bytes
        };
        assert!(read(&Type::RECORD, &nested(DEPTH_MAX)).is_ok());
        assert!(is_refused(&Type::RECORD, &nested(DEPTH_MAX + 1)));
        assert!(is_refused(&Type::RECORD, &nested(10_000)));
    }

    #[test]
    fn policy_of_json_columns() {
        let cases = include_str!("../../../../tests/json_policy.json");
        for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
            let read = read(&Type::JSON, case["text"].as_str().unwrap().as_bytes());
            match case.get("kept") {
                Some(kept) => assert_eq!(read.as_ref(), Ok(kept), "{case}"),
                None => assert!(read.is_err(), "{case}"),
            }
        }
    }

    #[test]
    fn what_grows_in_memory_needs_room_before_it_does() {
        let many = [numbers(&[1, 1, 23, 5_000, 1]), numbers(&[-1; 5_000])].concat();
        assert_eq!(read(&Type::INT4_ARRAY, &many), Err(Unreadable::TooLarge));
        let long = [numbers(&[80_000]), vec![0xff; 10_000]].concat();
        assert_eq!(read(&Type::VARBIT, &long), Err(Unreadable::TooLarge));
        assert_eq!(read(&Type::VARBIT, &[0, 0, 0, 3, 0xa0]), Ok(json!("101")));
        assert!(is_refused(&Type::VARBIT, &numbers(&[i32::MAX])));
    }
}
