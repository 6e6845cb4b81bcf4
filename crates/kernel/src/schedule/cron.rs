//! Cron lines. Which wall-clock times match is the cron crate's to say; which moments those are in a time zone is decided
//! here, because its rule changes with the number of hours in the line.
//!
//! Lines that name their hours (`30 2 * * *`, `0 9,17 * * *`) mean the wall clock: a time that the clocks jump over fires
//! when they have jumped, a time that comes twice fires the first time only. Lines with `*` in the hours (`*/30 * * * *`)
//! mean the passing of time: nothing is moved, and an hour that comes twice is two hours.

use std::fmt;

use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use crate::time::Timestamp;

/// A cron line in a time zone.
#[derive(Clone)]
pub struct Cron {
    line: Line,
    timezone: String,
    zone: TimeZone,
}

impl PartialEq for Cron {
    /// Two lines are the same if they read the same.
    fn eq(&self, other: &Self) -> bool {
        self.expr() == other.expr() && self.timezone == other.timezone
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.expr(), self.timezone)
    }
}

impl Cron {
    /// What is wrong is said about the line first.
    pub fn parse(expr: &str, timezone: &str) -> Result<Self, String> {
        Ok(Self::new(Line::parse(expr)?, Zone::parse(timezone)?))
    }

    pub(super) fn new(line: Line, Zone(timezone, zone): Zone) -> Self {
        Self {
            line,
            timezone,
            zone,
        }
    }

    pub fn expr(&self) -> &str {
        &self.line.expr
    }

    pub fn timezone(&self) -> &str {
        &self.timezone
    }

    /// The first firing strictly after a moment. `None`: there is none within the search limit, some thousand years.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = jiff::Timestamp::from_microsecond(after.as_micros()).ok()?;
        let next = match self.line.hours {
            Hours::Named => self.next_on_the_wall(after),
            Hours::Every => self.next_in_time(after),
        };
        next.map(|moment| Timestamp::from_micros(moment.as_microsecond()))
    }

    /// Later wall-clock times never mean earlier moments here, so the first that lies ahead is the next.
    fn next_on_the_wall(&self, after: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let mut wall = self.zone.to_datetime(after);
        loop {
            wall = self.line.pattern.find_next_occurrence(&wall, false).ok()?;
            let moment = self.moment(wall)?;
            if moment > after {
                return Some(moment);
            }
        }
    }

    fn moment(&self, wall: DateTime) -> Option<jiff::Timestamp> {
        let ambiguous = self.zone.to_ambiguous_timestamp(wall);
        let is_gap = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
        let earlier = ambiguous.earlier().ok()?;
        if !is_gap {
            return Some(earlier);
        }
        // Before the jump by as much as the time lies after its begin: the next change of the clocks is the jump.
        let jump = self.zone.following(earlier).next()?;
        Some(jump.timestamp())
    }

    fn next_in_time(&self, after: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let mut from = after.to_zoned(self.zone.clone());
        loop {
            let next = self.line.pattern.find_next_occurrence(&from, false).ok()?;
            if next.timestamp() > after {
                return Some(next.timestamp());
            }
            from = from.checked_add(jiff::Span::new().seconds(1)).ok()?;
        }
    }
}

/// The line alone, without its time zone.
#[derive(Clone)]
pub(super) struct Line {
    expr: String,
    pattern: croner::Cron,
    hours: Hours,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hours {
    Named,
    Every,
}

const LINE_BYTES_MAX: usize = 256;
const NICKNAMES: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];
const MONTHS: &[&str] = &[
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Line {
    pub(super) fn parse(expr: &str) -> Result<Self, String> {
        let expr = expr.trim();
        if expr.len() > LINE_BYTES_MAX {
            return Err(format!("a cron line has at most {LINE_BYTES_MAX} bytes"));
        }
        let written_out = written_out(expr)?;
        let fields: Vec<&str> = written_out.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = without_seconds(&fields)?;
        for (field, name, words) in [
            (fields[0], "first", &[][..]),
            (minute, "minute", &[]),
            (hour, "hour", &[]),
            (day, "day", &["L", "W", "LW"]),
            (month, "month", MONTHS),
            (weekday, "weekday", WEEKDAYS),
        ] {
            check_field(field, name, words)?;
        }
        check_last_weekday(weekday)?;
        let parser = CronParser::builder()
            .seconds(Seconds::Optional)
            .year(Year::Disallowed)
            .build();
        let pattern = parser
            .parse(&sunday_as_zero(&fields))
            .map_err(|problem| format!("`{expr}`: {problem}"))?;
        let hours = if hour.contains('*') {
            Hours::Every
        } else {
            Hours::Named
        };
        Ok(Self {
            expr: expr.to_owned(),
            pattern,
            hours,
        })
    }
}

fn written_out(expr: &str) -> Result<String, String> {
    if !expr.starts_with('@') {
        return Ok(expr.to_ascii_uppercase());
    }
    let known = NICKNAMES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(expr));
    let (_, line) = known.ok_or_else(|| {
        let names: Vec<&str> = NICKNAMES.iter().map(|(name, _)| *name).collect();
        format!("there is no `{expr}`; there are {}", names.join(", "))
    })?;
    Ok((*line).to_owned())
}

fn without_seconds<'a>(fields: &[&'a str]) -> Result<[&'a str; 5], String> {
    let last_five = match fields.len() {
        5 => fields,
        6 => &fields[1..],
        count => {
            return Err(format!(
                "a cron line has five fields, or six with seconds first; this has {count}"
            ));
        }
    };
    last_five
        .try_into()
        .map_err(|_| "a cron line has five fields".to_owned())
}

/// What the crate would take for something else: it replaces names wherever they stand, and drops empty places in lists.
fn check_field(field: &str, name: &str, words: &[&str]) -> Result<(), String> {
    for piece in field.split(',') {
        if piece.is_empty() {
            return Err(format!(
                "the {name} field `{field}` has a comma with nothing beside it"
            ));
        }
        let runs = piece.split(|c: char| !c.is_ascii_alphabetic());
        for word in runs.filter(|word| !word.is_empty()) {
            let is_last_weekday = words.contains(&"SUN")
                && (word == "L" || words.contains(&word.trim_end_matches('L')));
            if !words.contains(&word) && !is_last_weekday {
                return Err(format!("`{word}` means nothing in the {name} field"));
            }
        }
    }
    Ok(())
}

/// `L` alone would match no day: the last what?
fn check_last_weekday(weekday: &str) -> Result<(), String> {
    match weekday.split(',').any(|piece| piece == "L") {
        true => Err("`L` in the weekday field needs a day, like `5L` for the last Friday".into()),
        false => Ok(()),
    }
}

/// Sunday is 0 or 7; together with `L` the crate knows only the first.
fn sunday_as_zero(fields: &[&str]) -> String {
    let mut fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
    if let Some(weekday) = fields.last_mut() {
        let pieces = weekday.split(',').map(|piece| match piece {
            "7L" => "0L",
            "7#L" => "0#L",
            other => other,
        });
        *weekday = pieces.collect::<Vec<_>>().join(",");
    }
    fields.join(" ")
}

/// A time zone and the name it was asked for by.
pub(super) struct Zone(String, TimeZone);

impl Zone {
    /// The rules come with the program, so that every process of a cluster plans alike.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let zone = TimeZoneDatabase::bundled().get(name);
        let zone = zone.map_err(|_| format!("there is no time zone `{name}`"))?;
        Ok(Self(name.to_owned(), zone))
    }

    pub(super) fn utc() -> Self {
        Self("UTC".into(), TimeZone::UTC)
    }

    /// The name that was probably meant.
    pub(super) fn nearest(name: &str) -> Option<String> {
        let database = TimeZoneDatabase::bundled();
        let names: Vec<String> = database.available().map(|zone| zone.to_string()).collect();
        crate::expr::nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
    }
}
