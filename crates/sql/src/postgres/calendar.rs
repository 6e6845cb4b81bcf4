//! Dates and times as ISO 8601 with microseconds. PostgreSQL counts from the year 2000, further than other calendars go;
//! what lies before the year 1 or after 9999 is written the way it reads it back.

const MICROS_OF_DAY: i64 = 86_400_000_000;
/// From 0000-03-01 to 2000-01-01.
const EPOCH_DAYS: i64 = 730_425;

/// Microseconds since 2000-01-01, `zone` behind them.
pub(crate) fn timestamp(micros: i64, zone: &str) -> String {
    match micros {
        i64::MAX => "infinity".into(),
        i64::MIN => "-infinity".into(),
        _ => {
            let (day, era) = day(micros.div_euclid(MICROS_OF_DAY));
            let time = time(micros.rem_euclid(MICROS_OF_DAY));
            format!("{day}T{time}{zone}{era}")
        }
    }
}

/// Days since 2000-01-01.
pub(crate) fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".into(),
        i32::MIN => "-infinity".into(),
        _ => {
            let (day, era) = day(i64::from(days));
            format!("{day}{era}")
        }
    }
}

/// The civil date, by eras of 400 years that begin in March, so that the leap day comes last.
fn day(days: i64) -> (String, &'static str) {
    let days = days + EPOCH_DAYS;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if year > 0 {
        (format!("{year:04}-{month:02}-{day:02}"), "")
    } else {
        (format!("{:04}-{month:02}-{day:02}", 1 - year), " BC")
    }
}

/// Microseconds since midnight.
pub(crate) fn time(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    format!(
        "{:02}:{:02}:{:02}.{:06}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
        micros % 1_000_000
    )
}

/// The zone is in seconds to the west.
pub(crate) fn time_with_zone(micros: i64, west: i32) -> String {
    let sign = if west > 0 { '-' } else { '+' };
    let away = west.unsigned_abs();
    let mut text = format!(
        "{}{sign}{:02}:{:02}",
        time(micros),
        away / 3_600,
        away / 60 % 60
    );
    if !away.is_multiple_of(60) {
        text.push_str(&format!(":{:02}", away % 60));
    }
    text
}

/// `P1Y2M3DT4H5M6.5S`; each part has its own sign, as each is kept apart.
pub(crate) fn interval(micros: i64, days: i32, months: i32) -> String {
    let mut text = String::from("P");
    let part = |text: &mut String, value: i64, unit: char| {
        if value != 0 {
            text.push_str(&format!("{value}{unit}"));
        }
    };
    part(&mut text, i64::from(months / 12), 'Y');
    part(&mut text, i64::from(months % 12), 'M');
    part(&mut text, i64::from(days), 'D');
    let seconds = micros / 1_000_000;
    let fraction = micros % 1_000_000;
    if micros != 0 || text.len() == 1 {
        text.push('T');
    }
    part(&mut text, seconds / 3_600, 'H');
    part(&mut text, seconds / 60 % 60, 'M');
    if fraction != 0 {
        let sign = if micros < 0 { "-" } else { "" };
        let digits = format!("{:06}", fraction.abs());
        let digits = digits.trim_end_matches('0');
        text.push_str(&format!("{sign}{}.{digits}S", (seconds % 60).abs()));
    } else {
        part(&mut text, seconds % 60, 'S');
    }
    if text == "PT" {
        text.push_str("0S");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_far_and_near() {
        for (days, expected) in [
            (0, "2000-01-01"),
            (-1, "1999-12-31"),
            (59, "2000-02-29"),
            (-10_957, "1970-01-01"),
            (9_797, "2026-10-28"),
            (-730_119, "0001-01-01"),
            (-730_120, "0001-12-31 BC"),
            (2_921_940, "10000-01-01"),
            (i32::MAX, "infinity"),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
    }

    #[test]
    fn times_have_microseconds() {
        assert_eq!(timestamp(1, "Z"), "2000-01-01T00:00:00.000001Z");
        assert_eq!(timestamp(-1, ""), "1999-12-31T23:59:59.999999");
        assert_eq!(timestamp(i64::MIN, "Z"), "-infinity");
        assert_eq!(time_with_zone(0, -7_200), "00:00:00.000000+02:00");
        assert_eq!(time_with_zone(0, 19_801), "00:00:00.000000-05:30:01");
    }

    #[test]
    fn intervals_keep_their_parts_apart() {
        for (micros, days, months, expected) in [
            (0, 0, 0, "PT0S"),
            (14_706_500_000, 3, 14, "P1Y2M3DT4H5M6.5S"),
            (-500_000, 0, 0, "PT-0.5S"),
            (3_600_000_000, -1, 0, "P-1DT1H"),
            (0, 1, 0, "P1D"),
        ] {
            assert_eq!(interval(micros, days, months), expected);
        }
    }
}
