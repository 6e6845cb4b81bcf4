use super::*;
use crate::schedule::calendar::{firings, first, next_after, preview};

fn check(expr: &str, timezone: &str, after: &str, expected: &[&str]) {
    let cron = Cron::parse(expr, timezone).unwrap();
    let next = |after: &Timestamp| cron.next_after(*after);
    let found = std::iter::successors(next(&at(after)), next).take(expected.len());
    let expected: Vec<Timestamp> = expected.iter().map(|text| at(text)).collect();
    assert_eq!(found.collect::<Vec<_>>(), expected, "{expr} in {timezone}");
}

const NEW_YORK: &str = "America/New_York";
const BERLIN: &str = "Europe/Berlin";
const KOLKATA: &str = "Asia/Kolkata";

#[test]
fn a_time_that_the_clocks_jump_over_is_moved() {
    // 8 March 2026, 02:00 becomes 03:00.
    check(
        "30 2 * * *",
        NEW_YORK,
        "2026-03-07T12:00:00Z",
        &["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"],
    );
    check(
        "0 2,3 * * *",
        NEW_YORK,
        "2026-03-08T06:00:00Z",
        &["2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"],
    );
    check(
        "*/20 2 * * *",
        NEW_YORK,
        "2026-03-08T06:00:00Z",
        &["2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"],
    );
    check(
        "15 1 * * *",
        NEW_YORK,
        "2026-03-08T00:00:00Z",
        &["2026-03-08T06:15:00Z", "2026-03-09T05:15:00Z"],
    );
    // 29 March 2026, 02:00 becomes 03:00.
    check(
        "30 2 * * *",
        BERLIN,
        "2026-03-28T12:00:00Z",
        &["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
    );
    check(
        "0 30 2 * * *",
        BERLIN,
        "2026-03-29T01:00:00Z",
        &["2026-03-30T00:30:00Z"],
    );
    // The clocks jump at midnight.
    check(
        "@daily",
        "Africa/Cairo",
        "2026-04-23T12:00:00Z",
        &["2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"],
    );
}

#[test]
fn a_time_that_comes_twice_fires_once() {
    // 1 November 2026, 02:00 becomes 01:00.
    check(
        "30 1 * * *",
        NEW_YORK,
        "2026-10-31T12:00:00Z",
        &["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"],
    );
    check(
        "0,30 1 * * *",
        NEW_YORK,
        "2026-11-01T00:00:00Z",
        &[
            "2026-11-01T05:00:00Z",
            "2026-11-01T05:30:00Z",
            "2026-11-02T06:00:00Z",
        ],
    );
    // Asked between the two.
    check(
        "30 1 * * *",
        NEW_YORK,
        "2026-11-01T05:45:00Z",
        &["2026-11-02T06:30:00Z"],
    );
    check(
        "30 1 * * *",
        NEW_YORK,
        "2026-11-01T06:15:00Z",
        &["2026-11-02T06:30:00Z"],
    );
    check(
        "0 2 * * *",
        NEW_YORK,
        "2026-11-01T05:30:00Z",
        &["2026-11-01T07:00:00Z"],
    );
    // 25 October 2026, 03:00 becomes 02:00.
    check(
        "30 2 * * *",
        BERLIN,
        "2026-10-24T12:00:00Z",
        &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
    );
    check(
        "0 2,3 * * *",
        BERLIN,
        "2026-10-24T22:00:00Z",
        &[
            "2026-10-25T00:00:00Z",
            "2026-10-25T02:00:00Z",
            "2026-10-26T01:00:00Z",
        ],
    );
}

#[test]
fn lines_for_every_hour_follow_the_passing_of_time() {
    check(
        "*/30 * * * *",
        NEW_YORK,
        "2026-03-08T06:15:00Z",
        &[
            "2026-03-08T06:30:00Z",
            "2026-03-08T07:00:00Z",
            "2026-03-08T07:30:00Z",
        ],
    );
    check(
        "*/30 * * * *",
        NEW_YORK,
        "2026-11-01T04:45:00Z",
        &[
            "2026-11-01T05:00:00Z",
            "2026-11-01T05:30:00Z",
            "2026-11-01T06:00:00Z",
            "2026-11-01T06:30:00Z",
            "2026-11-01T07:00:00Z",
        ],
    );
    check(
        "@hourly",
        BERLIN,
        "2026-10-25T00:00:00.5Z",
        &["2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"],
    );
    check(
        "0 */2 * * *",
        BERLIN,
        "2026-03-28T23:30:00Z",
        &["2026-03-29T02:00:00Z", "2026-03-29T04:00:00Z"],
    );
}

#[test]
fn a_zone_without_summer_time() {
    check(
        "30 2 * * *",
        KOLKATA,
        "2026-03-07T00:00:00Z",
        &["2026-03-07T21:00:00Z", "2026-03-08T21:00:00Z"],
    );
    check(
        "0 9 * * mon-fri",
        KOLKATA,
        "2026-05-29T04:00:00Z",
        &["2026-06-01T03:30:00Z"],
    );
    check(
        "0 0 * * *",
        "UTC",
        "2026-12-31T23:59:59.999999Z",
        &["2027-01-01T00:00:00Z"],
    );
}

#[test]
fn leap_years_and_month_ends() {
    check(
        "0 0 29 2 *",
        "UTC",
        "2026-01-01T00:00:00Z",
        &["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"],
    );
    check(
        "0 0 29 2 *",
        "UTC",
        "2096-03-01T00:00:00Z",
        &["2104-02-29T00:00:00Z"],
    );
    check(
        "0 0 31 * *",
        "UTC",
        "2026-01-31T00:00:00Z",
        &["2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"],
    );
    check(
        "0 12 L * *",
        "UTC",
        "2028-01-31T12:00:00Z",
        &["2028-02-29T12:00:00Z", "2028-03-31T12:00:00Z"],
    );
    check(
        "0 12 LW * *",
        "UTC",
        "2026-05-01T00:00:00Z",
        &["2026-05-29T12:00:00Z"],
    );
    check(
        "0 12 * * FRI#L",
        "UTC",
        "2026-06-01T00:00:00Z",
        &["2026-06-26T12:00:00Z"],
    );
    check(
        "@yearly",
        BERLIN,
        "2026-06-01T00:00:00Z",
        &["2026-12-31T23:00:00Z"],
    );
    check(
        "@monthly",
        "UTC",
        "2026-01-31T10:00:00Z",
        &["2026-02-01T00:00:00Z"],
    );
    check(
        "@weekly",
        "UTC",
        "2026-06-01T10:00:00Z",
        &["2026-06-07T00:00:00Z"],
    );
    check(
        "@midnight",
        "UTC",
        "2026-06-01T10:00:00Z",
        &["2026-06-02T00:00:00Z"],
    );
}

#[test]
fn seconds_and_names() {
    check(
        "*/20 * * * * *",
        "UTC",
        "2026-06-01T12:00:00Z",
        &[
            "2026-06-01T12:00:20Z",
            "2026-06-01T12:00:40Z",
            "2026-06-01T12:01:00Z",
        ],
    );
    check(
        "0 12 * jan,Dec Sun",
        "UTC",
        "2026-06-01T00:00:00Z",
        &["2026-12-06T12:00:00Z"],
    );
}

#[test]
fn lines_that_are_none() {
    for bad in [
        "",
        "* * * *",
        "* * * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "@reboot",
        "@dail",
        ", * * * *",
        "1,,2 * * * *",
        "MON * * * *",
        "* * * JANFEB *",
        "* * * * MONDAY",
        "*/0 * * * *",
        "a b c d e",
        "5-1 * * * *",
        "-1 * * * *",
        "1/2/3 * * * *",
        "* * * * *\u{0}",
        "é * * * *",
    ] {
        assert!(Cron::parse(bad, "UTC").is_err(), "{bad:?}");
    }
    assert!(Cron::parse(&"*,".repeat(200), "UTC").is_err());
    assert!(Cron::parse("* * * * *", "Europe/Berln").is_err());
    for never in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "59 59 23 31 2 *"] {
        assert_eq!(
            Cron::parse(never, BERLIN).unwrap().next_after(noon()),
            None,
            "{never}"
        );
    }
}

/// Over two years with all their changes of the clocks: strictly onward, the same from any moment in between.
#[test]
fn firings_only_go_forward() {
    for (expr, zone) in [
        ("30 2 * * *", NEW_YORK),
        ("*/7 1-3 * * *", BERLIN),
        ("0 */3 * * *", BERLIN),
        ("15 0,2 * * *", "Australia/Lord_Howe"),
        ("0 0 * * *", "America/Santiago"),
    ] {
        let cron = Cron::parse(expr, zone).unwrap();
        let mut last = at("2026-01-01T00:00:00Z");
        while last < at("2028-01-01T00:00:00Z") {
            let next = cron.next_after(last).unwrap();
            assert!(next > last, "{expr} {zone} {last}");
            let between = Timestamp::from_micros((last.as_micros() + next.as_micros()) / 2);
            assert_eq!(
                cron.next_after(between),
                Some(next),
                "{expr} {zone} {between}"
            );
            last = next;
        }
    }
}

#[test]
fn periods_keep_their_phase() {
    let spec = spec(json!({"periodic": {"period": "90s"}}));
    assert_eq!(first(&spec), Some(noon()));
    assert_eq!(next_after(&spec, noon()), Some(noon().plus(seconds(90))));
    let late = noon().plus(seconds(3_601));
    assert_eq!(next_after(&spec, late), Some(noon().plus(seconds(3_690))));
    let long_before = noon().minus(seconds(1_000));
    assert_eq!(next_after(&spec, long_before), Some(noon()));
}

#[test]
fn the_preview_stops_at_the_deadline() {
    let mut spec = spec(json!({"cron": {"expr": "0 * * * *"}}));
    spec.deadline = Some(at("2026-06-01T14:30:00Z"));
    let row = row(spec);
    let hours = ["12", "13", "14"].map(|hour| at(&format!("2026-06-01T{hour}:00:00Z")));
    assert_eq!(preview(&row.spec, &row.status, 10), hours);
    assert_eq!(preview(&row.spec, &row.status, 2), hours[..2]);
    assert_eq!(firings(&row.spec, None).count(), 0);
}

#[test]
fn the_last_sunday_has_two_numbers() {
    let zero = Cron::parse("0 0 * * 0L", "UTC").unwrap();
    let seven = Cron::parse("0 0 * * 7L", "UTC").unwrap();
    let mut now = at("2026-01-01T00:00:00Z");
    for _ in 0..24 {
        let next = zero.next_after(now).unwrap();
        assert_eq!(seven.next_after(now), Some(next));
        now = next;
    }
    let both = Cron::parse("0 0 15 * 7L", "UTC").unwrap();
    assert_eq!(
        both.next_after(at("2026-06-16T00:00:00Z")),
        Some(at("2026-06-28T00:00:00Z"))
    );
    assert!(
        Cron::parse("0 0 * * L", "UTC")
            .unwrap_err()
            .contains("needs a day")
    );
}
