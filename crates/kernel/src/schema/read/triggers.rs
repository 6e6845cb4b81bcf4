//! `triggers`: checked for shape and kept as written.

use serde_json::Value;

use super::fields::{self, Fields};
use crate::schedule::read::{check_id, never_fires, read_cron};
use crate::schedule::{CatchUp, Overlap};
use crate::schema::codes;
use crate::schema::findings::{Finding, Findings};
use crate::time::Timestamp;
use crate::webhook::{self, Trigger};

const TYPES: &[&str] = &["webhook", "cron"];
const CRON_FIELDS: &[&str] = &[
    "type", "cron", "timezone", "overlap", "catch_up", "input", "name", "disabled",
];
pub(super) fn read(document: &Fields<'_>, findings: &mut Findings) -> Vec<Value> {
    let items = document.list("triggers", findings).unwrap_or_default();
    let mut webhooks = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let pointer = format!("/triggers/{index}");
        if let Some(webhook) = check(item, &pointer, findings) {
            check_alone(&webhook, &webhooks, &pointer, findings);
            webhooks.push(webhook);
        }
        check_own_name(&items[..index], item, &pointer, findings);
    }
    items.to_vec()
}

/// Returns it if it is a webhook that takes requests.
fn check(item: &Value, pointer: &str, findings: &mut Findings) -> Option<Trigger> {
    let map = fields::object(item, pointer, "a trigger", findings)?;
    let trigger = Fields::new(map, pointer, None);
    let kind = trigger.required_text("type", findings)?;
    check_name(&trigger, &kind, findings);
    let disabled = trigger.boolean("disabled", findings) == Some(true);
    match kind.as_str() {
        "webhook" => return webhook::read::read(&trigger, findings).filter(|_| !disabled),
        "cron" => cron(&trigger, findings),
        other => {
            let message = format!("there is no trigger type `{other}`");
            let hint = findings.suggest(other, TYPES.iter().copied());
            findings.add(
                trigger
                    .error(codes::UNKNOWN_TRIGGER, "type", message)
                    .maybe_hint(hint),
            );
        }
    }
    None
}

/// What cannot be its name would be left aside without a word, and its address would change with its place.
fn check_name(trigger: &Fields<'_>, kind: &str, findings: &mut Findings) {
    let Some(name) = trigger.text("name", findings) else {
        return;
    };
    let is_place = name.bytes().all(|byte| byte.is_ascii_digit());
    let is_good = match kind {
        // It becomes part of the id of an action.
        "cron" => !is_place && check_id(&name).is_none(),
        _ => webhook::is_trigger_name(&name),
    };
    if !is_good {
        let message = "the name of a trigger has 1 to 64 letters, digits, `-`, `_` or `.`, and not digits alone";
        findings.add(trigger.error(codes::BAD_NAME, "name", message));
    }
}

fn check_own_name(others: &[Value], item: &Value, pointer: &str, findings: &mut Findings) {
    let is_same = |other: &Value| other["name"] == item["name"] && other["type"] == item["type"];
    if item["name"].is_string() && others.iter().any(is_same) {
        let message = "another trigger of this type has the same name; give each its own, or none";
        let pointer = format!("{pointer}/name");
        findings.add(Finding::error(codes::BAD_NAME, &pointer, message));
    }
}

fn check_alone(webhook: &Trigger, others: &[Trigger], pointer: &str, findings: &mut Findings) {
    if let Some(other) = others.iter().find(|other| webhook.clashes(other)) {
        let (path, method) = (&other.path, other.method.name());
        let message = format!("requests to this path go to the webhook `{method} {path}` above");
        findings.add(Finding::error(codes::DUPLICATE_PATH, pointer, message));
    }
}

fn cron(trigger: &Fields<'_>, findings: &mut Findings) {
    trigger.check_known(CRON_FIELDS, &[], findings);
    if !trigger.has("cron") {
        trigger.missing("cron", findings);
    }
    // A line names no year: one that never fires after this moment never does.
    let any_moment = Timestamp::default();
    if let Some(cron) = read_cron(trigger, "cron", findings)
        && cron.next_after(any_moment).is_none()
    {
        findings.add(never_fires(&cron, &trigger.at("cron"), ""));
    }
    trigger.choice("overlap", Overlap::CHOICES, findings);
    trigger.choice("catch_up", CatchUp::CHOICES, findings);
}
