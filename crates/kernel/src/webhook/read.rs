//! A trigger from what its author wrote, with every problem at once.

use std::time::Duration;

use serde_json::{Map, Value};

use super::path::PathPattern;
use super::{
    Auth, BODY_MAX, INPUTS, Method, Respond, TOLERANCE_DEFAULT, Trigger, WAIT_DEFAULT, WAIT_MAX,
};
use crate::schema::codes;
use crate::schema::findings::Findings;
use crate::schema::read::fields::Fields;

const FIELDS: &[&str] = &[
    "type", "path", "method", "respond", "wait", "auth", "max_body", "rate", "input", "name",
    "disabled",
];
const HEADER_FIELDS: &[&str] = &["type", "header", "secret"];
const HMAC_FIELDS: &[&str] = &["type", "header", "secret", "tolerance"];
const AUTHS: &[(&str, AuthKind)] = &[("header", AuthKind::Header), ("hmac", AuthKind::Hmac)];
const SECOND: Duration = Duration::from_secs(1);
/// A signature is remembered for a day; one from a clock that is ahead is good for twice its tolerance.
const TOLERANCE_MAX: Duration = Duration::from_secs(12 * 3_600);

#[derive(Clone, Copy)]
enum AuthKind {
    Header,
    Hmac,
}

/// `None`: it has problems, or no path yet.
pub(crate) fn read(entry: &Fields<'_>, findings: &mut Findings) -> Option<Trigger> {
    let before = findings.errors();
    entry.check_known(FIELDS, &[], findings);
    let path = path(entry, findings);
    let method = entry.choice("method", Method::CHOICES, findings);
    let respond = entry.choice("respond", Respond::CHOICES, findings);
    let wait = entry.duration("wait", SECOND..=WAIT_MAX, findings);
    let auth = auth(entry, findings);
    let max_body = entry.integer("max_body", 0..=BODY_MAX as u64, findings);
    let rate = rate(entry, findings);
    let takes_input = entry.choice("input", INPUTS, findings);
    if findings.errors() > before {
        return None;
    }
    Some(Trigger {
        method: method.unwrap_or(Method::Post),
        path: path?,
        respond: respond.unwrap_or_default(),
        wait: wait.unwrap_or(WAIT_DEFAULT),
        auth: auth?,
        max_body: max_body.map(|bytes| bytes as usize),
        rate,
        takes_input: takes_input.unwrap_or(false),
    })
}

/// One that was saved, and so was in order then.
pub fn of_value(entry: &Value) -> Option<Trigger> {
    let fields = Fields::new(entry.as_object()?, "", None);
    read(&fields, &mut Findings::default())
}

fn path(entry: &Fields<'_>, findings: &mut Findings) -> Option<PathPattern> {
    let text = entry.text("path", findings)?;
    let parsed = PathPattern::parse(&text);
    if let Err(problem) = &parsed {
        findings.add(entry.error(codes::BAD_PATH, "path", problem.clone()));
    }
    parsed.ok()
}

fn rate(entry: &Fields<'_>, findings: &mut Findings) -> Option<crate::quota::Rate> {
    let text = entry.text("rate", findings)?;
    let parsed = text.parse();
    if let Err(problem) = &parsed {
        findings.add(entry.error(codes::BAD_RATE, "rate", String::clone(problem)));
    }
    parsed.ok()
}

/// Left out, every caller may call. Written down without saying how, none may.
fn auth(entry: &Fields<'_>, findings: &mut Findings) -> Option<Auth> {
    if !entry.has("auth") {
        return Some(Auth::Open);
    }
    let map: &Map<String, Value> = entry.object("auth", findings)?;
    let pointer = entry.at("auth");
    let fields = Fields::new(map, &pointer, None);
    if !fields.has("type") {
        fields.missing("type", findings);
    }
    let kind = fields.choice("type", AUTHS, findings)?;
    let header = header(&fields, findings);
    let secret = secret(&fields, findings);
    Some(match kind {
        AuthKind::Header => {
            fields.check_known(HEADER_FIELDS, &[], findings);
            let secret = secret?;
            Auth::Header { header, secret }
        }
        AuthKind::Hmac => {
            fields.check_known(HMAC_FIELDS, &[], findings);
            let tolerance = fields.duration("tolerance", SECOND..=TOLERANCE_MAX, findings);
            Auth::Hmac {
                header,
                secret: secret?,
                tolerance: tolerance.unwrap_or(TOLERANCE_DEFAULT),
            }
        }
    })
}

fn header(fields: &Fields<'_>, findings: &mut Findings) -> Option<String> {
    let name = fields.text("header", findings)?;
    if super::answer::is_header_name(&name) {
        return Some(name.to_ascii_lowercase());
    }
    let message = format!("`{name}` is no name of a header");
    findings.add(fields.error(codes::BAD_NAME, "header", message));
    None
}

/// The name of one, in lower case as secrets have it: a value would be read by all who may see the schema.
fn secret(fields: &Fields<'_>, findings: &mut Findings) -> Option<String> {
    let name = fields.required_text("secret", findings)?;
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !name.is_empty() && name.len() <= 100 && name.bytes().all(letters) {
        return Some(name.to_ascii_lowercase());
    }
    let finding = fields.error(codes::BAD_NAME, "secret", "this is no name of a secret");
    findings.add(
        finding.hint("name a secret of the configuration; its value never stands in a schema"),
    );
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(entry: Value) -> Vec<String> {
        let mut findings = Findings::default();
        let fields = Fields::new(entry.as_object().unwrap(), "", None);
        let read = read(&fields, &mut findings);
        let found = findings.into_diagnostics();
        assert!(read.is_none() || found.is_empty());
        let line = |one: &crate::diagnostic::Diagnostic| format!("{} {}", one.pointer, one.code);
        found.iter().map(line).collect()
    }

    #[test]
    fn what_is_left_out_has_a_meaning() {
        let trigger = of_value(&json!({"type": "webhook", "path": "a"})).unwrap();
        assert_eq!(trigger.method, Method::Post);
        assert_eq!(trigger.respond, Respond::Immediately);
        assert_eq!((trigger.wait, &trigger.auth), (WAIT_DEFAULT, &Auth::Open));
        assert_eq!((trigger.max_body, trigger.rate), (None, None));
        assert_eq!(problems(json!({"type": "webhook"})), [""; 0]);
        assert_eq!(of_value(&json!({"type": "webhook"})), None);
    }

    #[test]
    fn everything_written_is_read() {
        let entry = json!({
            "type": "webhook", "path": "orders/:id", "method": "ANY", "respond": "respond_node", "wait": "5m",
            "auth": {"type": "hmac", "secret": "SHOP_KEY", "header": "X-Sign", "tolerance": "1m"},
            "max_body": 1024, "rate": "100/s", "name": "orders", "disabled": false,
        });
        let trigger = of_value(&entry).unwrap();
        let auth = Auth::Hmac {
            header: Some("x-sign".into()),
            secret: "shop_key".into(),
            tolerance: Duration::from_secs(60),
        };
        assert_eq!((trigger.method, trigger.auth), (Method::Any, auth));
        assert_eq!(trigger.wait, WAIT_MAX);
        assert_eq!(trigger.rate.unwrap().to_string(), "100/s");
        let plain = json!({"path": "a", "auth": {"type": "header", "secret": "S"}});
        let auth = of_value(&plain).unwrap().auth;
        assert_eq!(
            (auth.secret(), &auth),
            (
                Some("s"),
                &Auth::Header {
                    header: None,
                    secret: "s".into()
                }
            )
        );
    }

    #[test]
    fn every_problem_is_named() {
        let entry = json!({
            "path": "a/*", "method": "BREW", "respond": "later", "wait": "6m", "max_body": -1, "rate": "fast", "pth": 1,
            "auth": {"type": "header", "header": "a b", "secret": "s3cr3t value", "tolerance": 5},
        });
        assert_eq!(
            problems(entry),
            [
                "/pth UNKNOWN_FIELD",
                "/path BAD_PATH",
                "/method UNKNOWN_CHOICE",
                "/respond UNKNOWN_CHOICE",
                "/wait OUT_OF_RANGE",
                "/auth/header BAD_NAME",
                "/auth/secret BAD_NAME",
                "/auth/tolerance UNKNOWN_FIELD",
                "/max_body OUT_OF_RANGE",
                "/rate BAD_RATE",
            ]
        );
        // An author who writes `auth` wants one: nothing in it must not mean that every caller may call.
        assert_eq!(
            problems(json!({"path": "a", "auth": {}})),
            ["/auth MISSING_FIELD"]
        );
        assert_eq!(
            problems(json!({"path": "a", "auth": {"type": "none"}})),
            ["/auth/type UNKNOWN_CHOICE"]
        );
        assert_eq!(
            problems(json!({"path": "a", "auth": {"type": "hmac"}})),
            ["/auth MISSING_FIELD"]
        );
    }
}
