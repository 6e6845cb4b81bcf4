//! The codes that a spec's diagnostics can carry besides those of [`crate::schema::codes`]. Stable, like those.

pub const BAD_TIME: &str = "BAD_TIME";
pub const BAD_CRON: &str = "BAD_CRON";
pub const BAD_TIME_ZONE: &str = "BAD_TIME_ZONE";
pub const BAD_URL: &str = "BAD_URL";
pub const BAD_HEADER: &str = "BAD_HEADER";
pub const BAD_ID: &str = "BAD_ID";
pub const NEVER_FIRES: &str = "NEVER_FIRES";
pub const START_TOO_OLD: &str = "START_TOO_OLD";
pub const DEADLINE_BEFORE_START: &str = "DEADLINE_BEFORE_START";
pub const DEADLINE_OVER: &str = "DEADLINE_OVER";
pub const NOT_ONE_CHOICE: &str = "NOT_ONE_CHOICE";

/// What each code means, for the documentation.
pub const CODES: &[(&str, &str)] = &[
    (
        BAD_TIME,
        "The text is no time with an offset, or a time beyond what is possible.",
    ),
    (BAD_CRON, "The text is no cron line."),
    (BAD_TIME_ZONE, "There is no time zone of this name."),
    (BAD_URL, "The text is no `http` or `https` address."),
    (BAD_HEADER, "A header's name or value cannot be sent."),
    (BAD_ID, "An action cannot have this id."),
    (
        NEVER_FIRES,
        "No moment between start and deadline matches the cron line.",
    ),
    (
        START_TOO_OLD,
        "`start_at` is longer ago than users may ask for.",
    ),
    (
        DEADLINE_BEFORE_START,
        "The deadline is over before the start.",
    ),
    (DEADLINE_OVER, "The deadline is in the past."),
    (
        NOT_ONE_CHOICE,
        "Exactly one of several fields is wanted, and there are none or more.",
    ),
];
