//! Functions over points in time, which are written as RFC 3339 text in UTC.
//!
//! There is no clock here: `now()` is a field of the scope.

use jiff::civil::{DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::*;

/// A directive of two characters can ask for a field this wide.
const FORMAT_BYTES_PER_BYTE: usize = 128;
const NANOS_PER_SECOND: i128 = 1_000_000_000;

pub(super) const TABLE: &[Row] = &[
    (
        "now()",
        "The time this position of the workflow was entered.",
        "type(now())",
        r#""string""#,
        Body::Eager(now),
    ),
    (
        "date(value)",
        "A point in time from text (UTC unless it says otherwise) or from Unix seconds.",
        "date('2024-05-01T10:00:00+02:00')",
        r#""2024-05-01T08:00:00Z""#,
        Body::Eager(|call| Ok(written(instant(call, 0)?))),
    ),
    (
        "format_date(date, pattern, zone?)",
        "The date in the form of a strftime pattern, in UTC or the zone.",
        "format_date('2024-05-01T22:30:00Z', '%d.%m.%Y %H:%M', 'Europe/Berlin')",
        r#""02.05.2024 00:30""#,
        Body::Eager(format_date),
    ),
    (
        "add_duration(date, duration, zone?)",
        "The date plus a duration such as `1h30m`, `-2d`, `1 month` or `PT15M`.",
        "add_duration('2024-01-31', '1 month')",
        r#""2024-02-29T00:00:00Z""#,
        Body::Eager(add_duration),
    ),
    (
        "diff_seconds(from, to)",
        "The seconds from the first date to the second.",
        "diff_seconds('2024-05-01', '2024-05-02')",
        "86400",
        Body::Eager(diff_seconds),
    ),
    (
        "unix(date)",
        "Whole seconds since 1970.",
        "unix('1970-01-02')",
        "86400",
        Body::Eager(|call| Ok(Val::int(instant(call, 0)?.as_second()))),
    ),
    (
        "from_unix(seconds)",
        "The date so many seconds after 1970 began.",
        "from_unix(86400)",
        r#""1970-01-02T00:00:00Z""#,
        Body::Eager(from_unix),
    ),
    (
        "start_of(date, unit, zone?)",
        "When the minute, hour, day, week (Monday), month or year began.",
        "start_of('2024-05-17T10:00:00Z', 'month')",
        r#""2024-05-01T00:00:00Z""#,
        Body::Eager(start_of),
    ),
    (
        "date_part(date, part, zone?)",
        "The year, month, day, hour, minute, second or weekday (Monday is 1) as a number.",
        "date_part('2024-05-17', 'weekday')",
        "5",
        Body::Eager(date_part),
    ),
];

fn now<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let micros = call.evaluator.scope.now_micros;
    let now = Timestamp::from_microsecond(micros);
    now.map(written)
        .map_err(|_| call.math("the time is out of range"))
}

fn format_date<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let pattern = call.text(1)?;
    let date = zoned(call, 2)?;
    call.allocate(pattern.len().saturating_mul(FORMAT_BYTES_PER_BYTE))?;
    match jiff::fmt::strtime::format(&*pattern, &date) {
        Ok(text) => Ok(new_text(text)),
        Err(_) => Err(call.invalid("the pattern is not a strftime pattern")),
    }
}

fn add_duration<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let duration = call.text(1)?;
    let date = zoned(call, 2)?;
    call.scan(duration.len())?;
    let Ok(duration) = duration.parse::<jiff::Span>() else {
        return Err(call.invalid("the duration is not of a form such as `1h30m` or `PT15M`"));
    };
    let later = date.checked_add(duration);
    let later = later.map_err(|_| call.math("the date is out of range"))?;
    Ok(written(later.timestamp()))
}

fn diff_seconds<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (from, to) = (instant(call, 0)?, instant(call, 1)?);
    let nanos = to.as_nanosecond() - from.as_nanosecond();
    if nanos % NANOS_PER_SECOND == 0 {
        // The whole range of dates is 20 000 years, far less than i64 seconds.
        return Ok(Val::int((nanos / NANOS_PER_SECOND) as i64));
    }
    call.math_result(Number::finite(nanos as f64 / NANOS_PER_SECOND as f64))
}

fn from_unix<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let seconds = call.number(0)?;
    from_seconds(call, seconds).map(written)
}

fn start_of<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let unit = call.text(1)?;
    let date = zoned(call, 2)?;
    let start = match &*unit {
        "minute" => date.with().second(0).subsec_nanosecond(0).build(),
        "hour" => date.with().minute(0).second(0).subsec_nanosecond(0).build(),
        "day" => date.start_of_day(),
        "week" => {
            let since_monday = i64::from(date.weekday().to_monday_zero_offset());
            let monday = date.checked_sub(jiff::Span::new().days(since_monday));
            monday.and_then(|monday| monday.start_of_day())
        }
        "month" => date.first_of_month().and_then(|first| first.start_of_day()),
        "year" => date.first_of_year().and_then(|first| first.start_of_day()),
        _ => return Err(call.invalid("the unit is minute, hour, day, week, month or year")),
    };
    let start = start.map_err(|_| call.math("the date is out of range"))?;
    Ok(written(start.timestamp()))
}

fn date_part<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let part = call.text(1)?;
    let date = zoned(call, 2)?;
    Ok(Val::int(match &*part {
        "year" => i64::from(date.year()),
        "month" => i64::from(date.month()),
        "day" => i64::from(date.day()),
        "hour" => i64::from(date.hour()),
        "minute" => i64::from(date.minute()),
        "second" => i64::from(date.second()),
        "weekday" => i64::from(Weekday::to_monday_one_offset(date.weekday())),
        _ => {
            let parts = "the part is year, month, day, hour, minute, second or weekday";
            return Err(call.invalid(parts));
        }
    }))
}

fn written<'a>(instant: Timestamp) -> Val<'a> {
    new_text(instant.to_string())
}

/// The first argument, in the zone that the argument at `zone` names.
fn zoned(call: &mut Call<'_, '_>, zone: usize) -> Result<Zoned, ExprError> {
    let date = instant(call, 0)?;
    let name = call.text_or(zone, "UTC")?;
    let zone = match &*name {
        "UTC" => Ok(TimeZone::UTC),
        name => TimeZone::get(name),
    };
    match zone {
        Ok(zone) => Ok(date.to_zoned(zone)),
        Err(_) => Err(call.invalid("the time zone is not known, write one like Europe/Berlin")),
    }
}

fn instant(call: &mut Call<'_, '_>, position: usize) -> Result<Timestamp, ExprError> {
    call.allocate(32)?;
    match call.value(position) {
        Val::Text(text) => {
            call.scan(text.len())?;
            parse(&text)
                .ok_or_else(|| call.invalid("the text is not a date such as 2024-05-01T10:00:00Z"))
        }
        Val::Number(seconds) => from_seconds(call, seconds),
        _ => Err(call.wrong_type(position, "a date")),
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    if let Ok(instant) = text.parse() {
        return Some(instant);
    }
    let local: DateTime = text.parse().ok()?;
    Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

fn from_seconds(call: &Call<'_, '_>, seconds: Number) -> Result<Timestamp, ExprError> {
    let instant = match seconds {
        Number::Int(seconds) => Timestamp::from_second(seconds).ok(),
        // Microseconds are what a float of today's seconds still holds.
        other => {
            let micros = (other.to_f64() * 1e6).round();
            let range = -9e17..9e17;
            let micros = range.contains(&micros).then_some(micros as i64);
            micros.and_then(|micros| Timestamp::from_microsecond(micros).ok())
        }
    };
    instant.ok_or_else(|| call.math("the date is out of range"))
}
