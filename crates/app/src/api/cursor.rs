//! Where a page ended, as text that clients hand back untouched: base64url of a kind and the last id.

use std::str::FromStr;

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::error::{ApiError, ApiResult};
use super::query::Query;

/// The kind keeps a cursor of one list from meaning something in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CursorKind {
    Execution,
    Schema,
    Step,
    Log,
    DeadLetter,
    /// The list that begins with the newest.
    NewestLetter,
    Key,
    Quota,
    Action,
    /// The list that begins with what is due next.
    DueAction,
    Attempt,
    Signal,
}

impl CursorKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Execution => "e:",
            Self::Schema => "s:",
            Self::Step => "t:",
            Self::Log => "l:",
            Self::DeadLetter => "d:",
            Self::NewestLetter => "n:",
            Self::Key => "k:",
            Self::Quota => "q:",
            Self::Action => "a:",
            Self::DueAction => "u:",
            Self::Attempt => "h:",
            Self::Signal => "g:",
        }
    }
}

pub(super) fn write(kind: CursorKind, last: impl std::fmt::Display) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}{last}", kind.prefix()))
}

pub(super) fn read<T: FromStr>(kind: CursorKind, text: &str) -> ApiResult<T> {
    decode(kind, text).ok_or_else(|| {
        let message = "this cursor was not given out for this list; start without one";
        ApiError::new(StatusCode::BAD_REQUEST, "INVALID_CURSOR", message)
    })
}

/// The cursor of a query, if it has one.
pub(super) fn from_query<T: FromStr>(kind: CursorKind, query: &Query) -> ApiResult<Option<T>> {
    query.get("cursor").map(|text| read(kind, text)).transpose()
}

fn decode<T: FromStr>(kind: CursorKind, text: &str) -> Option<T> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let plain = String::from_utf8(bytes).ok()?;
    plain.strip_prefix(kind.prefix())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_went_and_only_to_its_list() {
        let text = write(CursorKind::Step, 17_u64);
        assert_eq!(read::<u64>(CursorKind::Step, &text).unwrap(), 17);
        assert!(read::<u64>(CursorKind::Log, &text).is_err());
        for forged in [
            "",
            "!",
            "MTc",
            "dDotMQ",
            "dDoxOA==",
            "dDo5OTk5OTk5OTk5OTk5OTk5OTk5OTk",
        ] {
            assert!(read::<u64>(CursorKind::Step, forged).is_err(), "{forged}");
        }
    }
}
