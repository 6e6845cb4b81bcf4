//! How values travel: times as PostgreSQL counts them, texts that may contain NUL, and columns of many rows.

use std::borrow::Cow;
use std::error::Error;

use bytes::BytesMut;
use pawl_kernel::time::Timestamp;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

type Failed = Box<dyn Error + Sync + Send>;

/// PostgreSQL counts microseconds from the year 2000.
const YEAR_2000: i64 = 946_684_800_000_000;
/// Its times end before the largest numbers, which mean infinity.
const LAST: i64 = 9_223_371_331_200_000_000 - 1;
const FIRST: i64 = -211_813_488_000_000_000;

/// A `timestamptz`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(pub(crate) Timestamp);

impl ToSql for Time {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        let micros = self.0.as_micros().saturating_sub(YEAR_2000);
        out.extend_from_slice(&micros.clamp(FIRST, LAST).to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Time {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(Timestamp::from_micros(
            micros.saturating_add(YEAR_2000),
        )))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }
}

/// A text or json value. PostgreSQL takes any Unicode but NUL, so NUL is written as a pair that begins with the last
/// code point there is, and that code point as another pair.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a>(Cow<'a, str>);

const MARK: char = '\u{10ffff}';

impl<'a> Text<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        if !text.contains(['\0', MARK]) {
            return Self(Cow::Borrowed(text));
        }
        let mut escaped = String::with_capacity(text.len() + 8);
        for letter in text.chars() {
            match letter {
                '\0' => escaped.extend([MARK, '0']),
                MARK => escaped.extend([MARK, '1']),
                other => escaped.push(other),
            }
        }
        Self(Cow::Owned(escaped))
    }

    fn decode(text: &str) -> String {
        if !text.contains(MARK) {
            return text.to_owned();
        }
        let mut plain = String::with_capacity(text.len());
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                MARK => match letters.next() {
                    Some('0') => plain.push('\0'),
                    _ => plain.push(MARK),
                },
                other => plain.push(other),
            }
        }
        plain
    }
}

fn is_textual(kind: &Type) -> bool {
    matches!(*kind, Type::TEXT | Type::VARCHAR | Type::NAME | Type::JSON)
}

impl ToSql for Text<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        is_textual(kind)
    }

    to_sql_checked!();
}

/// What [`Text`] wrote, as it was.
pub(crate) struct Plain(pub(crate) String);

impl<'a> FromSql<'a> for Plain {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        Ok(Self(Text::decode(std::str::from_utf8(raw)?)))
    }

    fn accepts(kind: &Type) -> bool {
        is_textual(kind)
    }
}

/// One parameter of a statement that takes its rows as arrays, one array per column.
#[derive(Debug)]
enum Column<'a> {
    Uuid(Vec<Option<Uuid>>),
    Time(Vec<Option<Time>>),
    Text(Vec<Option<Text<'a>>>),
    Small(Vec<Option<i16>>),
    Int(Vec<Option<i32>>),
    Big(Vec<Option<i64>>),
    Bool(Vec<Option<bool>>),
}

impl Column<'_> {
    fn of(kind: &Type) -> Self {
        match *kind {
            Type::UUID_ARRAY => Self::Uuid(Vec::new()),
            Type::TIMESTAMPTZ_ARRAY => Self::Time(Vec::new()),
            Type::INT2_ARRAY => Self::Small(Vec::new()),
            Type::INT4_ARRAY => Self::Int(Vec::new()),
            Type::INT8_ARRAY => Self::Big(Vec::new()),
            Type::BOOL_ARRAY => Self::Bool(Vec::new()),
            _ => Self::Text(Vec::new()),
        }
    }
}

impl ToSql for Column<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match self {
            Self::Uuid(values) => values.to_sql(kind, out),
            Self::Time(values) => values.to_sql(kind, out),
            Self::Text(values) => values.to_sql(kind, out),
            Self::Small(values) => values.to_sql(kind, out),
            Self::Int(values) => values.to_sql(kind, out),
            Self::Big(values) => values.to_sql(kind, out),
            Self::Bool(values) => values.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Rows to be sent as arrays. Fill them row by row, each value in the order of the statement's parameters; the kinds
/// of the columns are the statement's.
pub(crate) struct Columns<'a> {
    columns: Vec<Column<'a>>,
    at: usize,
    misfit: Option<usize>,
}

macro_rules! put {
    ($(#[$doc:meta])* $name:ident($value:ty) -> $variant:ident, $wrap:expr) => {
        $(#[$doc])*
        pub(crate) fn $name(&mut self, value: impl Into<Option<$value>>) {
            let wrap: fn($value) -> _ = $wrap;
            match self.next() {
                Some(Column::$variant(values)) => values.push(value.into().map(wrap)),
                _ => self.misfit = Some(self.at),
            }
        }
    };
}

impl<'a> Columns<'a> {
    pub(crate) fn new(kinds: &[Type]) -> Self {
        Self {
            columns: kinds.iter().map(Column::of).collect(),
            at: 0,
            misfit: None,
        }
    }

    fn next(&mut self) -> Option<&mut Column<'a>> {
        let place = self.at % self.columns.len().max(1);
        self.at += 1;
        self.columns.get_mut(place)
    }

    put!(uuid(Uuid) -> Uuid, |id| id);
    put!(time(Timestamp) -> Time, Time);
    put!(text(&'a str) -> Text, Text::new);
    put!(bool(bool) -> Bool, |value| value);
    put!(
        /// A code of the kernel.
        code(i64) -> Small, |code| i16::try_from(code).unwrap_or(i16::MAX)
    );
    put!(int(u32) -> Int, |value| i32::try_from(value).unwrap_or(i32::MAX));
    put!(
        /// PostgreSQL has signed integers only; no counter of ours comes near the difference.
        count(u64) -> Big, |value| i64::try_from(value).unwrap_or(i64::MAX)
    );

    /// A text that has to be made first.
    pub(crate) fn owned_text(&mut self, value: Option<String>) {
        let value = value.map(|text| Text(Text::new(&text).0.into_owned().into()));
        match self.next() {
            Some(Column::Text(values)) => values.push(value),
            _ => self.misfit = Some(self.at),
        }
    }

    /// `None` if nothing was put in.
    pub(crate) fn non_empty(self) -> Option<Self> {
        (self.at > 0).then_some(self)
    }

    /// The parameters.
    pub(crate) fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        debug_assert!(
            self.misfit.is_none() && self.at.is_multiple_of(self.columns.len().max(1)),
            "values do not fit the statement's parameters (misfit at {:?}, {} values)",
            self.misfit,
            self.at
        );
        self.columns
            .iter()
            .map(|column| column as &(dyn ToSql + Sync))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_nul_come_back() {
        for text in [
            "",
            "plain",
            "a\0b",
            "\0",
            "\u{10ffff}",
            "\u{10ffff}0\0\u{10ffff}1",
            "käse",
        ] {
            let sent = Text::new(text);
            assert!(!sent.0.contains('\0'));
            assert_eq!(Text::decode(&sent.0), text);
        }
    }

    #[test]
    fn times_come_back_to_the_microsecond() {
        for micros in [0, 1, -1, 1_700_000_000_123_457, YEAR_2000] {
            let mut out = BytesMut::new();
            let time = Time(Timestamp::from_micros(micros));
            assert!(time.to_sql(&Type::TIMESTAMPTZ, &mut out).is_ok());
            let back = Time::from_sql(&Type::TIMESTAMPTZ, &out).unwrap();
            assert_eq!(back.0.as_micros(), micros);
        }
    }
}
