//! From JSON as on the wire to a [`Spec`], collecting every problem on the way. Reading goes on after a problem with a
//! harmless stand-in; the result is only to be used if no error was found.

mod action;
mod policy;

pub(crate) use policy::read_cron;

use std::time::Duration;

use serde_json::{Map, Value};

use super::calendar;
use super::codes;
use super::cron::Cron;
use super::put::Override;
use super::spec::{Policy, Spec};
use crate::diagnostic::Diagnostic;
use crate::schema::codes::{OUT_OF_RANGE, TOO_DEEP, TOO_LARGE, UNKNOWN_CHOICE};
use crate::schema::findings::{Finding, Findings, join};
use crate::schema::read::fields::{self, Fields};
use crate::time::{Timestamp, format_duration};

const REQUEST_FIELDS: &[&str] = &["spec", "override", "meta"];
const SPEC_FIELDS: &[&str] = &["start_at", "deadline", "policy", "action"];
const ID_BYTES_MAX: usize = 200;
/// Beside the actions in the API.
const RESERVED_ID: &str = "preview";
pub const SPEC_BYTES_MAX: usize = 256 * 1024;
const META_BYTES_MAX: usize = 16 * 1024;
const DEPTH_MAX: usize = 64;
/// How long ago a user's start may be.
pub const START_AGE_MAX: Duration = Duration::from_secs(600);
/// How far ahead a time may be.
const AHEAD_MAX: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Whose spec it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// `kept_start` is the start of the action that is written over, status kept: it may stay as it is, however old, and
    /// stands in for one that is left out.
    User { kept_start: Option<Timestamp> },
    /// The engine itself, which may mean any start.
    Engine,
}

/// The body of `PUT /api/scheduled-actions/{id}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub spec: Spec,
    pub mode: Override,
    pub notes: Map<String, Value>,
}

pub fn read_request(
    value: &Value,
    author: Author,
    now: Timestamp,
) -> Result<Request, Vec<Diagnostic>> {
    let mut findings = Findings::default();
    let request = request(value, author, now, &mut findings);
    finished(request, findings)
}

/// The spec alone, as it stands at a pointer of a document.
pub fn read_spec(
    value: &Value,
    pointer: &str,
    author: Author,
    now: Timestamp,
) -> Result<Spec, Vec<Diagnostic>> {
    let mut findings = Findings::default();
    let spec = checked_spec(value, pointer, author, now, &mut findings);
    finished(spec, findings)
}

impl Spec {
    /// The column `spec`. It was checked when it was written.
    pub fn from_stored(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let mut findings = Findings::default();
        let spec = spec(&value, "", Timestamp::default(), |_, _| {}, &mut findings);
        let problem = |found: &Diagnostic| format!("{}: {}", found.pointer, found.message);
        finished(spec, findings).map_err(|found| found.first().map(problem).unwrap_or_default())
    }
}

/// A value that something is missing of is found out about by its problems.
fn finished<T>(value: Option<T>, findings: Findings) -> Result<T, Vec<Diagnostic>> {
    let errors = findings.errors();
    value
        .filter(|_| errors == 0)
        .ok_or_else(|| findings.into_diagnostics())
}

/// What is wrong with an id. Ids are part of addresses and header values, and the engine has names of its own that hold a colon.
pub fn check_id(id: &str) -> Option<Diagnostic> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    if id == RESERVED_ID {
        let message = format!("`{RESERVED_ID}` is the name of a route");
        let problem = Diagnostic::error(codes::BAD_ID, "/id", message);
        return Some(problem.hint("take another id"));
    }
    if !id.is_empty() && id.len() <= ID_BYTES_MAX && id.chars().all(allowed) {
        return None;
    }
    let message =
        format!("an id has 1 to {ID_BYTES_MAX} characters out of A-Z, a-z, 0-9 and `-_.@`");
    Some(Diagnostic::error(codes::BAD_ID, "/id", message).hint("for example `invoice-17`"))
}

fn request(
    value: &Value,
    author: Author,
    now: Timestamp,
    findings: &mut Findings,
) -> Option<Request> {
    let map = fields::object(value, "", "a scheduled action", findings)?;
    let document = Fields::new(map, "", None);
    document.check_known(REQUEST_FIELDS, &[], findings);
    let mode = document.choice("override", Override::CHOICES, findings);
    let notes = document
        .object("meta", findings)
        .cloned()
        .unwrap_or_default();
    check_size(&document, "meta", META_BYTES_MAX, findings);
    let Some(value) = document.get("spec") else {
        missing(
            &document,
            "spec",
            "it says when and what: {\"start_at\", \"policy\", \"action\"}",
            findings,
        );
        return None;
    };
    check_size(&document, "spec", SPEC_BYTES_MAX, findings);
    Some(Request {
        spec: checked_spec(value, "/spec", author, now, findings)?,
        mode: mode.unwrap_or_default(),
        notes,
    })
}

fn check_size(document: &Fields<'_>, name: &str, most: usize, findings: &mut Findings) {
    let Some(value) = document.get(name) else {
        return;
    };
    if depth_exceeds(value, DEPTH_MAX) {
        let message = format!("`{name}` is nested more than {DEPTH_MAX} deep");
        return findings.add(
            document
                .error(TOO_DEEP, name, message)
                .hint("make it flatter"),
        );
    }
    let bytes = value.to_string().len();
    if bytes > most {
        let message = format!("`{name}` has {bytes} bytes, at most {most} are possible");
        findings.add(
            document
                .error(TOO_LARGE, name, message)
                .hint("keep the data elsewhere and send its address"),
        );
    }
}

fn depth_exceeds(value: &Value, most: usize) -> bool {
    let deeper = |value: &Value| most == 0 || depth_exceeds(value, most - 1);
    match value {
        Value::Array(items) => items.iter().any(deeper),
        Value::Object(fields) => fields.values().any(deeper),
        _ => false,
    }
}

fn checked_spec(
    value: &Value,
    pointer: &str,
    author: Author,
    now: Timestamp,
    findings: &mut Findings,
) -> Option<Spec> {
    let kept_start = match author {
        Author::User { kept_start } => kept_start,
        Author::Engine => None,
    };
    let before = findings.errors();
    let check = |times: &Times, findings: &mut Findings| {
        check_times(times, pointer, now, findings);
        if author != Author::Engine && kept_start != Some(times.start_at) {
            check_age(times.start_at, pointer, now, findings);
        }
        if author != Author::Engine {
            check_deadline_ahead(times, pointer, now, findings);
        }
    };
    let spec = spec(value, pointer, kept_start.unwrap_or(now), check, findings)?;
    // A stand-in proves nothing.
    if findings.errors() == before {
        check_fires(&spec, pointer, findings);
    }
    Some(spec)
}

struct Times {
    start_at: Timestamp,
    deadline: Option<Timestamp>,
}

/// The times are checked here, because without a policy or an action there is no spec to check them in.
fn spec(
    value: &Value,
    pointer: &str,
    default_start: Timestamp,
    check: impl Fn(&Times, &mut Findings),
    findings: &mut Findings,
) -> Option<Spec> {
    let map = fields::object(value, pointer, "a spec", findings)?;
    let spec = Fields::new(map, pointer, None);
    spec.check_known(SPEC_FIELDS, &[], findings);
    let start_at = time(&spec, "start_at", findings);
    let times = Times {
        start_at: start_at.unwrap_or(default_start),
        deadline: time(&spec, "deadline", findings),
    };
    check(&times, findings);
    let policy = policy::read(&spec, findings);
    let action = action::read(&spec, findings);
    Some(Spec {
        start_at: times.start_at,
        deadline: times.deadline,
        policy: policy?,
        action: action?,
    })
}

fn time(fields: &Fields<'_>, name: &str, findings: &mut Findings) -> Option<Timestamp> {
    let text = fields.text(name, findings)?;
    match text.parse::<jiff::Timestamp>() {
        Ok(moment) => Some(Timestamp::from_micros(moment.as_microsecond())),
        Err(_) => {
            let message = format!("`{text}` is no time");
            let finding = fields.error(codes::BAD_TIME, name, message);
            findings.add(finding.hint(
                "write it with its offset, like 2026-12-01T09:00:00Z or 2026-12-01T10:00:00+01:00",
            ));
            None
        }
    }
}

fn check_times(times: &Times, pointer: &str, now: Timestamp, findings: &mut Findings) {
    for (name, at) in [
        ("start_at", Some(times.start_at)),
        ("deadline", times.deadline),
    ] {
        if at.is_some_and(|at| at > now.plus(AHEAD_MAX)) {
            let message = format!("`{name}` is more than a hundred years ahead");
            let finding = Finding::error(OUT_OF_RANGE, join(pointer, name), message);
            findings.add(finding.hint("check the year"));
        }
    }
    if let Some(deadline) = times
        .deadline
        .filter(|deadline| *deadline <= times.start_at)
    {
        let message = format!(
            "the deadline {deadline} is not after the start {}",
            times.start_at
        );
        let finding = Finding::error(
            codes::DEADLINE_BEFORE_START,
            join(pointer, "deadline"),
            message,
        );
        findings.add(finding.hint("set a later deadline, or null for none"));
    }
}

/// What is over before it can begin is hardly meant.
fn check_deadline_ahead(times: &Times, pointer: &str, now: Timestamp, findings: &mut Findings) {
    let Some(deadline) = times
        .deadline
        .filter(|at| *at <= now && *at > times.start_at)
    else {
        return;
    };
    let message = format!("the deadline {deadline} is over already");
    let place = join(pointer, "deadline");
    let finding = Finding::error(codes::DEADLINE_OVER, place, message);
    findings.add(finding.hint("set a later deadline, or null for none"));
}

fn check_age(start_at: Timestamp, pointer: &str, now: Timestamp, findings: &mut Findings) {
    if start_at < now.minus(START_AGE_MAX) {
        let most = format_duration(START_AGE_MAX);
        let message = format!("`start_at` is {}, more than {most} ago", start_at);
        let finding = Finding::error(codes::START_TOO_OLD, join(pointer, "start_at"), message);
        findings.add(finding.hint("leave it out to start now"));
    }
}

fn check_fires(spec: &Spec, pointer: &str, findings: &mut Findings) {
    let Policy::Cron { cron, .. } = &spec.policy else {
        return;
    };
    if calendar::first(spec).is_none() {
        let until = spec
            .deadline
            .map(|at| format!(" before the deadline {at}"))
            .unwrap_or_default();
        let place = join(&join(&join(pointer, "policy"), "cron"), "expr");
        findings.add(never_fires(cron, &place, &until));
    }
}

pub(crate) fn never_fires(cron: &Cron, place: &str, until: &str) -> Finding {
    let message = format!("`{}` never fires{until}", cron.expr());
    let hint = "check day and month: there is no 30 February";
    Finding::error(codes::NEVER_FIRES, place, message).hint(hint)
}

fn missing(fields: &Fields<'_>, name: &str, hint: &str, findings: &mut Findings) {
    let message = format!("the field `{name}` is missing");
    let code = crate::schema::codes::MISSING_FIELD;
    findings.add(fields.error(code, name, message).hint(hint));
}

/// What to choose from. What only pretends is for tests, and not offered.
fn offered(kinds: &[&str]) -> String {
    let real: Vec<&str> = kinds
        .iter()
        .copied()
        .filter(|kind| *kind != "mock")
        .collect();
    real.join(", ")
}

/// The one field of an object that says which kind it is, as in `{"once": {…}}`.
fn one_of<'a>(
    parent: &Fields<'a>,
    name: &str,
    kinds: &'static [&'static str],
    findings: &mut Findings,
) -> Option<(&'static str, &'a Map<String, Value>)> {
    if !parent.has(name) {
        missing(
            parent,
            name,
            &format!("one of {}", offered(kinds)),
            findings,
        );
        return None;
    }
    let map = parent.object(name, findings)?;
    let pointer = parent.at(name);
    let choice = Fields::new(map, &pointer, None);
    let mut keys = map.keys();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        let message = format!("`{name}` has {} fields, it must have one", map.len());
        let finding = parent.error(codes::NOT_ONE_CHOICE, name, message);
        findings.add(finding.hint(format!("one of {}", offered(kinds))));
        return None;
    };
    let Some(kind) = kinds.iter().find(|kind| *kind == key) else {
        let real = kinds.iter().copied().filter(|kind| *kind != "mock");
        let hint = findings.suggest(key, real);
        let message = format!("`{name}` cannot be `{key}`");
        findings.add(
            choice
                .error(UNKNOWN_CHOICE, key, message)
                .key()
                .maybe_hint(hint),
        );
        return None;
    };
    let fields = fields::object(
        &map[key.as_str()],
        &choice.at(key),
        &format!("`{key}`"),
        findings,
    )?;
    Some((*kind, fields))
}
