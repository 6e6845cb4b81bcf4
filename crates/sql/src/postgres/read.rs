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

pub(crate) fn value(ty: &Type, bytes: &[u8]) -> Result<Value, String> {
    match ty.kind() {
        Kind::Enum(_) => return text(bytes),
        Kind::Domain(base) => return value(base, bytes),
        Kind::Array(element) => return array(element, bytes),
        Kind::Composite(fields) => {
            let names = fields.iter().map(|field| Some(field.name()));
            return record(bytes, names, |index, _| {
                fields.get(index).map(|field| field.type_().clone())
            });
        }
        _ => {}
    }
    if is_text(ty) {
        return text(bytes);
    }
    simple(ty, bytes)
}

fn simple(ty: &Type, bytes: &[u8]) -> Result<Value, String> {
    let mut reader = Reader(bytes);
    Ok(match *ty {
        Type::BOOL => Value::Bool(reader.array::<1>()? != [0]),
        Type::INT2 => Value::from(i16::from_be_bytes(reader.array()?)),
        Type::INT4 => Value::from(reader.i32()?),
        Type::INT8 => Value::from(reader.i64()?),
        Type::OID => Value::from(u32::from_be_bytes(reader.array()?)),
        Type::FLOAT4 => single(f32::from_be_bytes(reader.array()?)),
        Type::FLOAT8 => float(f64::from_be_bytes(reader.array()?)),
        Type::NUMERIC => Value::String(numeric::text(&mut reader)?),
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
        Type::BIT | Type::VARBIT => Value::String(bits(&mut reader)?),
        Type::VOID => Value::Null,
        Type::RECORD => {
            let names = std::iter::repeat(None);
            record(bytes, names, |_, oid| Type::from_oid(oid))?
        }
        _ => return Err(format!("its type is {}; write `…::text`", ty.name())),
    })
}

fn text(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".to_owned())?;
    Ok(Value::String(text.to_owned()))
}

fn json(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "its JSON cannot be kept ({:?} at {}:{}): numbers go up to 1e308, surrogates come in pairs",
            error.classify(),
            error.line(),
            error.column()
        )
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

fn bits(reader: &mut Reader<'_>) -> Result<String, String> {
    let count = reader.length()?;
    let bytes = reader.take(count.div_ceil(8))?;
    let bit = |index: usize| (bytes[index / 8] >> (7 - index % 8)) & 1;
    let digit = |index| if bit(index) == 1 { '1' } else { '0' };
    Ok((0..count).map(digit).collect())
}

/// Dimensions, whether there are nulls, the element's type, the sizes; then the elements, the last dimension first.
fn array(element: &Type, bytes: &[u8]) -> Result<Value, String> {
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
    match sizes.as_slice() {
        [] => Ok(Value::Array(Vec::new())),
        sizes => dimension(element, sizes, &mut reader),
    }
}

fn dimension(element: &Type, sizes: &[usize], reader: &mut Reader<'_>) -> Result<Value, String> {
    let Some((&size, inner)) = sizes.split_first() else {
        return reader.item(element);
    };
    // Each element has at least its length: a size that lies ends here instead of in memory.
    let mut items = Vec::with_capacity(size.min(reader.0.len()));
    for _ in 0..size {
        items.push(dimension(element, inner, reader)?);
    }
    Ok(Value::Array(items))
}

/// The number of fields; then each with its type. An object if they have names, else a list.
fn record<'n>(
    bytes: &[u8],
    mut names: impl Iterator<Item = Option<&'n str>>,
    type_of: impl Fn(usize, u32) -> Option<Type>,
) -> Result<Value, String> {
    let mut reader = Reader(bytes);
    let count = reader.length()?;
    let mut fields = Map::new();
    let mut list = Vec::new();
    for index in 0..count {
        let oid = u32::from_be_bytes(reader.array()?);
        let ty = type_of(index, oid)
            .filter(is_readable)
            .ok_or("a field of the record has a type of its own; write `…::text`")?;
        let item = reader.item(&ty)?;
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
    fn item(&mut self, ty: &Type) -> Result<Value, String> {
        match self.i32()? {
            -1 => Ok(Value::Null),
            length => {
                let length =
                    usize::try_from(length).map_err(|_| "a size is negative".to_owned())?;
                value(ty, self.take(length)?)
            }
        }
    }
}
