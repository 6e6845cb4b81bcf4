//! `Retry-After`: seconds, or a date in any of the three spellings of RFC 9110.

use std::time::Duration;

use ::http::HeaderMap;
use ::http::header::RETRY_AFTER;
use jiff::fmt::strtime;
use pawl_kernel::time::Timestamp;

pub(super) fn read(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<u32>() {
        Ok(seconds) => Some(Duration::from_secs(seconds.into())),
        Err(_) => Some(date(text)?.since(now)),
    }
}

fn date(text: &str) -> Option<Timestamp> {
    let spellings = [
        "%a, %d %b %Y %H:%M:%S GMT",
        "%A, %d-%b-%y %H:%M:%S GMT",
        "%a %b %e %H:%M:%S %Y",
    ];
    let civil = spellings
        .iter()
        .find_map(|spelling| strtime::parse(spelling, text).ok()?.to_datetime().ok())?;
    let moment = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some(Timestamp::from_micros(moment.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ::http::HeaderMap;

    use super::read;
    use crate::testing::NOW;

    fn check(text: &str, seconds: Option<u64>) {
        let headers = HeaderMap::from_iter([(::http::header::RETRY_AFTER, text.parse().unwrap())]);
        assert_eq!(
            read(&headers, NOW),
            seconds.map(Duration::from_secs),
            "{text}"
        );
    }

    #[test]
    fn seconds_and_dates() {
        check("120", Some(120));
        check(" 0 ", Some(0));
        check("Wed, 01 Jan 2025 00:01:10 GMT", Some(60));
        check("Wednesday, 01-Jan-25 00:01:10 GMT", Some(60));
        check("Wed Jan  1 00:01:10 2025", Some(60));
    }

    #[test]
    fn a_date_that_is_past_means_now() {
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(0));
    }

    #[test]
    fn nonsense_is_ignored() {
        for text in [
            "",
            "soon",
            "-5",
            "1e9",
            "99999999999999",
            "Wed, 32 Jan 2025 00:00:00 GMT",
        ] {
            check(text, None);
        }
        assert_eq!(read(&HeaderMap::new(), NOW), None);
    }
}
