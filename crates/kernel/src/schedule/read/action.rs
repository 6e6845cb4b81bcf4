//! `action`: what to do.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{codes, missing, one_of};
use crate::schedule::spec::Action;
use crate::schema::codes::{OUT_OF_RANGE, WRONG_TYPE};
use crate::schema::findings::Findings;
use crate::schema::read::fields::{Fields, describe};

const CALLBACK_FIELDS: &[&str] = &["method", "url", "headers", "body", "timeout"];
const START_FIELDS: &[&str] = &["schema", "input"];
const PUBLISH_FIELDS: &[&str] = &["connection", "exchange", "routing_key", "message"];
const MOCK_FIELDS: &[&str] = &["fail_first", "takes"];
const METHODS: &[(&str, &str)] = &[
    ("GET", "GET"),
    ("POST", "POST"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
    ("HEAD", "HEAD"),
    ("OPTIONS", "OPTIONS"),
];
const URL_BYTES_MAX: usize = 8 * 1024;
const NAME_BYTES_MAX: usize = 255;
const HEADERS_MAX: usize = 100;
const CALLBACK_TIMES: RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(300);
const MOCK_TAKES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3_600);

pub(super) fn read(spec: &Fields<'_>, findings: &mut Findings) -> Option<Action> {
    let (kind, map) = one_of(spec, "action", Action::NAMES, findings)?;
    let pointer = format!("{}/{kind}", spec.at("action"));
    let action = Fields::new(map, &pointer, None);
    match kind {
        "http_callback" => callback(&action, findings),
        "start_execution" => start(&action, findings),
        "rabbitmq_publish" => publish(&action, findings),
        _ => mock(&action, findings),
    }
}

fn callback(action: &Fields<'_>, findings: &mut Findings) -> Option<Action> {
    action.check_known(CALLBACK_FIELDS, &[], findings);
    let method = action.choice("method", METHODS, findings);
    let url = url(action, findings);
    let headers = headers(action, findings);
    Some(Action::HttpCallback {
        method: method.unwrap_or("POST").to_owned(),
        url: url?,
        headers,
        body: value(action, "body"),
        timeout: action.duration("timeout", CALLBACK_TIMES, findings),
    })
}

/// Where it may lead is the client's to say, when it connects.
fn url(action: &Fields<'_>, findings: &mut Findings) -> Option<String> {
    if !action.has("url") {
        missing(
            action,
            "url",
            "where to call, like https://example.com/hook",
            findings,
        );
    }
    let url = action.text("url", findings)?;
    let rest = ["http://", "https://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    let has_host =
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']));
    let is_clean = !url.chars().any(|c| c.is_control() || c.is_whitespace());
    if !has_host || !is_clean || url.len() > URL_BYTES_MAX {
        let message =
            format!("this is no address of http or https with at most {URL_BYTES_MAX} bytes");
        findings.add(
            action
                .error(codes::BAD_URL, "url", message)
                .hint("like https://example.com/hook, spaces as %20"),
        );
    } else if rest.is_some_and(names_a_user) {
        // The client would refuse it when its time comes, and any user who looks at the action would see the password.
        let message = "an address must not hold a user name or a password";
        let finding = action.error(codes::BAD_URL, "url", message);
        findings.add(finding.hint("send them in the header `Authorization`"));
    }
    Some(url)
}

fn names_a_user(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next();
    authority.is_some_and(|authority| authority.contains('@'))
}

fn headers(action: &Fields<'_>, findings: &mut Findings) -> Map<String, Value> {
    let Some(map) = action.object("headers", findings) else {
        return Map::new();
    };
    if map.len() > HEADERS_MAX {
        let message = format!(
            "{} headers are too many, the limit is {HEADERS_MAX}",
            map.len()
        );
        findings.add(
            action
                .error(OUT_OF_RANGE, "headers", message)
                .hint("send them in the body"),
        );
        return Map::new();
    }
    let pointer = action.at("headers");
    let headers = Fields::new(map, &pointer, None);
    for (name, value) in map {
        check_header(&headers, name, value, findings);
    }
    map.clone()
}

fn check_header(headers: &Fields<'_>, name: &str, value: &Value, findings: &mut Findings) {
    let in_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(in_name) {
        let finding = headers.error(
            codes::BAD_HEADER,
            name,
            format!("`{name}` is no name of a header"),
        );
        findings.add(finding.key().hint("letters, digits and `-`"));
    }
    let Value::String(text) = value else {
        let message = format!("a header's value is text, this is {}", describe(value));
        return findings.add(
            headers
                .error(WRONG_TYPE, name, message)
                .hint("put it in quotes"),
        );
    };
    if let Err(message) = super::super::headers::check(text) {
        let finding = headers.error(codes::BAD_HEADER, name, message);
        findings.add(finding.hint("write it out, or name a secret of the configuration"));
    }
    if text.chars().any(|c| !(' '..='~').contains(&c) && c != '\t') {
        let message = format!("the value of `{name}` has characters that no header can hold");
        findings.add(
            headers
                .error(codes::BAD_HEADER, name, message)
                .hint("printable ASCII only; encode the rest"),
        );
    }
}

fn start(action: &Fields<'_>, findings: &mut Findings) -> Option<Action> {
    action.check_known(START_FIELDS, &[], findings);
    if !action.has("schema") {
        missing(action, "schema", "the name or the id of a schema", findings);
    }
    let schema = name(action, "schema", findings);
    if schema.as_deref() == Some("") {
        let finding = action.error(OUT_OF_RANGE, "schema", "`schema` is empty");
        findings.add(finding.hint("the name or the id of a schema"));
    }
    Some(Action::StartExecution {
        schema: schema?,
        input: value(action, "input"),
    })
}

fn publish(action: &Fields<'_>, findings: &mut Findings) -> Option<Action> {
    action.check_known(PUBLISH_FIELDS, &[], findings);
    let exchange = name(action, "exchange", findings).unwrap_or_default();
    let routing_key = name(action, "routing_key", findings).unwrap_or_default();
    if exchange.is_empty() && routing_key.is_empty() {
        missing(
            action,
            "exchange",
            "or `routing_key` alone, with the name of a queue",
            findings,
        );
    }
    if !action.has("message") {
        missing(
            action,
            "message",
            "text is sent as it is, anything else as JSON",
            findings,
        );
    }
    Some(Action::RabbitmqPublish {
        connection: name(action, "connection", findings),
        exchange,
        routing_key,
        message: value(action, "message"),
    })
}

fn mock(action: &Fields<'_>, findings: &mut Findings) -> Option<Action> {
    action.check_known(MOCK_FIELDS, &[], findings);
    let fail_first = action.integer("fail_first", 0..=u64::from(u32::MAX), findings);
    Some(Action::Mock {
        fail_first: fail_first.unwrap_or(0) as u32,
        takes: action
            .duration("takes", MOCK_TAKES, findings)
            .unwrap_or_default(),
    })
}

/// As long as brokers and catalogues take names.
fn name(action: &Fields<'_>, field: &str, findings: &mut Findings) -> Option<String> {
    let text = action.text(field, findings)?;
    if text.len() > NAME_BYTES_MAX {
        let message = format!(
            "`{field}` has {} bytes, at most {NAME_BYTES_MAX} are possible",
            text.len()
        );
        findings.add(
            action
                .error(OUT_OF_RANGE, field, message)
                .hint("use a shorter name"),
        );
    }
    Some(text)
}

fn value(action: &Fields<'_>, name: &str) -> Value {
    action.get(name).cloned().unwrap_or_default()
}
