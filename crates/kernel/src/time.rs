//! Time as the engine sees it: UTC microseconds, read from a port and never from the system.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

/// A moment, in microseconds since 1970 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Later by `duration`; sticks to the far future instead of wrapping round.
    pub fn plus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }

    pub fn minus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(micros))
    }

    /// Time from `earlier` to here, zero if the clock went backwards.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0).max(0) as u64)
    }

    /// Parses RFC 3339 with an offset, or a plain number of seconds since 1970.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(seconds) = text.parse::<f64>() {
            return seconds.is_finite().then_some(Self((seconds * 1e6) as i64));
        }
        let moment: jiff::Timestamp = text.parse().ok()?;
        Some(Self(moment.as_microsecond()))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with microseconds, always of one width so that texts sort like times.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{moment:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The clock port. Everything that waits waits here.
#[async_trait]
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Returns at `until` or later, never before.
    async fn sleep_until(&self, until: Timestamp);
}

/// Reads `30s`, `5m`, `1h30m`, `365d`, `250ms`, ISO 8601 (`PT1H30M`, `P1D`), or a number of seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("an empty duration; write 30s, 5m, 1h30m or a number of seconds".into());
    }
    if let Ok(seconds) = text.parse::<f64>() {
        return duration_from_seconds(seconds);
    }
    if text.starts_with(['P', 'p']) {
        return parse_iso_duration(text);
    }
    parse_unit_duration(text)
}

/// The longest duration accepted anywhere: a hundred years.
const LONGEST_SECONDS: f64 = 100.0 * 366.0 * 86_400.0;

pub fn duration_from_seconds(seconds: f64) -> Result<Duration, String> {
    if !seconds.is_finite() || seconds < 0.0 {
        return Err(format!(
            "{seconds} is not a valid duration; it must be zero or more seconds"
        ));
    }
    if seconds > LONGEST_SECONDS {
        return Err(format!("{seconds} seconds is longer than a hundred years"));
    }
    Ok(Duration::from_micros((seconds * 1e6).round() as u64))
}

fn parse_unit_duration(text: &str) -> Result<Duration, String> {
    let bad = || {
        format!(
            "`{text}` is not a valid duration; write 30s, 5m, 1h30m, 365d or a number of seconds"
        )
    };
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(bad)?;
        let value: f64 = rest[..digits].parse().map_err(|_| bad())?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        total += value * unit_seconds(&rest[..letters]).ok_or_else(bad)?;
        rest = rest[letters..].trim_start();
    }
    duration_from_seconds(total)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 0.001,
        "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return None,
    })
}

fn parse_iso_duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("`{text}` is no ISO 8601 duration of days, hours, minutes and seconds");
    let mut total = 0.0;
    let mut in_time = false;
    let mut number = String::new();
    let mut parts = 0;
    for letter in text.chars().skip(1) {
        match letter.to_ascii_uppercase() {
            'T' if !in_time && number.is_empty() => in_time = true,
            c if c.is_ascii_digit() || c == '.' => number.push(c),
            unit => {
                let value: f64 = number.parse().map_err(|_| bad())?;
                number.clear();
                parts += 1;
                total += value * iso_unit_seconds(unit, in_time).ok_or_else(bad)?;
            }
        }
    }
    if parts == 0 || !number.is_empty() {
        return Err(bad());
    }
    duration_from_seconds(total)
}

fn iso_unit_seconds(unit: char, in_time: bool) -> Option<f64> {
    Some(match (unit, in_time) {
        ('W', false) => 604_800.0,
        ('D', false) => 86_400.0,
        ('H', true) => 3_600.0,
        ('M', true) => 60.0,
        ('S', true) => 1.0,
        _ => return None,
    })
}

/// Writes a duration the way people write it: `1h30m`, `2.5s`, `0s`.
pub fn format_duration(duration: Duration) -> String {
    let whole = duration.as_secs();
    let micros = duration.subsec_micros();
    let (days, hours, minutes, seconds) = (
        whole / 86_400,
        whole % 86_400 / 3_600,
        whole % 3_600 / 60,
        whole % 60,
    );
    let mut text = String::new();
    for (value, unit) in [(days, "d"), (hours, "h"), (minutes, "m")] {
        if value > 0 {
            text.push_str(&format!("{value}{unit}"));
        }
    }
    if micros > 0 {
        let fraction = format!("{:06}", micros);
        text.push_str(&format!("{seconds}.{}s", fraction.trim_end_matches('0')));
    } else if seconds > 0 || text.is_empty() {
        text.push_str(&format!("{seconds}s"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, seconds: f64) {
        assert_eq!(
            parse_duration(text).map(|d| d.as_secs_f64()),
            Ok(seconds),
            "{text}"
        );
    }

    #[test]
    fn durations_in_every_spelling() {
        check("30s", 30.0);
        check("5m", 300.0);
        check("1h30m", 5_400.0);
        check("365d", 31_536_000.0);
        check("0.5", 0.5);
        check("250ms", 0.25);
        check("PT1H30M", 5_400.0);
        check("P1DT0.5S", 86_400.5);
    }

    #[test]
    fn bad_durations_are_refused() {
        for text in [
            "", "abc", "-1", "1x", "P", "PT", "NaN", "inf", "1e300", "5m!", "s",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_print_as_people_write_them() {
        for text in ["0s", "30s", "1h30m", "1d", "2.5s"] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), text);
        }
    }

    #[test]
    fn timestamps_print_with_one_width() {
        assert_eq!(
            Timestamp::from_micros(0).to_string(),
            "1970-01-01T00:00:00.000000Z"
        );
        assert_eq!(
            Timestamp::parse("1970-01-01T01:00:00+01:00"),
            Some(Timestamp::from_micros(0))
        );
    }
}
