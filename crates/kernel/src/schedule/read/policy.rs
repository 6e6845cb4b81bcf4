//! `policy`: how often, and how often again.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{codes, missing, one_of};
use crate::schedule::cron::{Cron, Line, Zone};
use crate::schedule::retry::Retry;
use crate::schedule::spec::{CatchUp, Overlap, Policy, Repeat};
use crate::schema::codes::{OUT_OF_RANGE, WRONG_TYPE};
use crate::schema::findings::Findings;
use crate::schema::read::fields::Fields;

const POLICIES: &[&str] = &["once", "periodic", "cron"];
const ONCE_FIELDS: &[&str] = &["retry"];
const PERIODIC_FIELDS: &[&str] = &["period", "retry", "overlap", "catch_up"];
const CRON_FIELDS: &[&str] = &["expr", "timezone", "overlap", "catch_up", "retry"];
const RETRY_FIELDS: &[&str] = &["max_retries", "min", "max", "scale", "backoff"];

const PERIODS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(3_660 * 86_400);
const DELAYS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(365 * 86_400);
const RETRIES_MAX: u64 = 1_000_000;
const BACKOFFS: RangeInclusive<f64> = 1.0..=100.0;
const LINE_HINT: &str = "minute hour day month weekday, as in `*/5 * * * *`, with seconds first if there are six, or `@daily`";

pub(super) fn read(spec: &Fields<'_>, findings: &mut Findings) -> Option<Policy> {
    let (kind, map) = one_of(spec, "policy", POLICIES, findings)?;
    let pointer = format!("{}/{kind}", spec.at("policy"));
    let policy = Fields::new(map, &pointer, None);
    match kind {
        "once" => {
            policy.check_known(ONCE_FIELDS, &[], findings);
            let retry = retry(&policy, findings);
            Some(Policy::Once { retry })
        }
        "periodic" => periodic(&policy, findings),
        _ => cron(&policy, findings),
    }
}

fn periodic(policy: &Fields<'_>, findings: &mut Findings) -> Option<Policy> {
    policy.check_known(PERIODIC_FIELDS, &[], findings);
    if !policy.has("period") {
        missing(
            policy,
            "period",
            "the time between two firings, like 1m",
            findings,
        );
    }
    let period = policy.duration("period", PERIODS, findings);
    let (retry, repeat) = (retry(policy, findings), repeat(policy, findings));
    Some(Policy::Periodic {
        period: period?,
        retry,
        repeat,
    })
}

fn cron(policy: &Fields<'_>, findings: &mut Findings) -> Option<Policy> {
    policy.check_known(CRON_FIELDS, &[], findings);
    if !policy.has("expr") {
        missing(policy, "expr", LINE_HINT, findings);
    }
    let cron = read_cron(policy, "expr", findings);
    let (retry, repeat) = (retry(policy, findings), repeat(policy, findings));
    Some(Policy::Cron {
        cron: Arc::new(cron?),
        retry,
        repeat,
    })
}

/// The line in the field `name`, in the zone of the field `timezone`.
pub(crate) fn read_cron(fields: &Fields<'_>, name: &str, findings: &mut Findings) -> Option<Cron> {
    let (line, zone) = (line(fields, name, findings), zone(fields, findings));
    Some(Cron::new(line?, zone?))
}

fn line(fields: &Fields<'_>, name: &str, findings: &mut Findings) -> Option<Line> {
    let parsed = Line::parse(&fields.text(name, findings)?);
    if let Err(message) = &parsed {
        let finding = fields.error(codes::BAD_CRON, name, message.clone());
        findings.add(finding.hint(LINE_HINT));
    }
    parsed.ok()
}

fn zone(policy: &Fields<'_>, findings: &mut Findings) -> Option<Zone> {
    if !policy.has("timezone") {
        return Some(Zone::utc());
    }
    let name = policy.text("timezone", findings)?;
    let zone = Zone::parse(&name);
    if let Err(message) = &zone {
        let hint = match Zone::nearest(&name) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "names are those of the IANA database, like Europe/Berlin, or UTC".to_owned(),
        };
        findings.add(
            policy
                .error(codes::BAD_TIME_ZONE, "timezone", message.clone())
                .hint(hint),
        );
    }
    zone.ok()
}

fn repeat(policy: &Fields<'_>, findings: &mut Findings) -> Repeat {
    let overlap = policy.choice("overlap", Overlap::CHOICES, findings);
    let catch_up = policy.choice("catch_up", CatchUp::CHOICES, findings);
    Repeat {
        overlap: overlap.unwrap_or_default(),
        catch_up: catch_up.unwrap_or_default(),
    }
}

fn retry(policy: &Fields<'_>, findings: &mut Findings) -> Retry {
    let empty = Map::new();
    let map = policy.object("retry", findings).unwrap_or(&empty);
    let pointer = policy.at("retry");
    let fields = Fields::new(map, &pointer, None);
    fields.check_known(RETRY_FIELDS, &[], findings);
    let default = Retry::default();
    let max_retries = fields.integer("max_retries", 0..=RETRIES_MAX, findings);
    let max = fields
        .duration("max", DELAYS, findings)
        .unwrap_or(default.max);
    let min = fields.duration("min", DELAYS, findings);
    if min.is_some_and(|min| max < min) {
        let finding = fields.error(OUT_OF_RANGE, "min", "`min` is longer than `max`");
        findings.add(finding.hint("no delay is longer than `max`, which is 1h if left out"));
    }
    Retry {
        max_retries: max_retries.unwrap_or(u64::from(default.max_retries)) as u32,
        // A shorter limit says that the usual least delay is not wanted.
        min: min.unwrap_or(default.min).min(max),
        max,
        scale: fields
            .duration("scale", DELAYS, findings)
            .unwrap_or(default.scale),
        backoff: backoff(&fields, findings).unwrap_or(default.backoff),
    }
}

fn backoff(retry: &Fields<'_>, findings: &mut Findings) -> Option<f64> {
    let value = retry.get("backoff")?;
    let number = value.as_f64();
    let fitting = number.filter(|number| BACKOFFS.contains(number));
    if fitting.is_none() {
        let code = if matches!(value, Value::Number(_)) {
            OUT_OF_RANGE
        } else {
            WRONG_TYPE
        };
        let message = format!(
            "`backoff` must be a number from {} to {}",
            BACKOFFS.start(),
            BACKOFFS.end()
        );
        findings.add(
            retry
                .error(code, "backoff", message)
                .hint("1 keeps the delay the same, 2 doubles it"),
        );
    }
    fitting
}
