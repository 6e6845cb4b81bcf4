//! `triggers`: checked for shape and kept as written.

use serde_json::Value;

use super::fields::{self, Fields};
use crate::schedule::read::{never_fires, read_cron};
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
    }
    items.to_vec()
}

/// Returns it if it is a webhook that takes requests.
fn check(item: &Value, pointer: &str, findings: &mut Findings) -> Option<Trigger> {
    let map = fields::object(item, pointer, "a trigger", findings)?;
    let trigger = Fields::new(map, pointer, None);
    let kind = trigger.required_text("type", findings)?;
    trigger.text("name", findings);
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
