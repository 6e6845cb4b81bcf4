//! `triggers`: checked for shape and kept as written.

use serde_json::Value;

use super::fields::{self, Fields};
use crate::schedule::read::{never_fires, read_cron};
use crate::schedule::{CatchUp, Overlap};
use crate::schema::codes;
use crate::schema::findings::Findings;
use crate::time::Timestamp;

const TYPES: &[&str] = &["webhook", "cron"];
const WEBHOOK_FIELDS: &[&str] = &[
    "type", "path", "method", "respond", "auth", "name", "disabled",
];
const CRON_FIELDS: &[&str] = &[
    "type", "cron", "timezone", "overlap", "catch_up", "input", "name", "disabled",
];
const METHODS: &[(&str, ())] = &[
    ("GET", ()),
    ("POST", ()),
    ("PUT", ()),
    ("PATCH", ()),
    ("DELETE", ()),
    ("HEAD", ()),
    ("OPTIONS", ()),
    ("ANY", ()),
];
pub(super) fn read(document: &Fields<'_>, findings: &mut Findings) -> Vec<Value> {
    let items = document.list("triggers", findings).unwrap_or_default();
    for (index, item) in items.iter().enumerate() {
        check(item, &format!("/triggers/{index}"), findings);
    }
    items.to_vec()
}

fn check(item: &Value, pointer: &str, findings: &mut Findings) {
    let Some(map) = fields::object(item, pointer, "a trigger", findings) else {
        return;
    };
    let trigger = Fields::new(map, pointer, None);
    let Some(kind) = trigger.required_text("type", findings) else {
        return;
    };
    trigger.text("name", findings);
    trigger.boolean("disabled", findings);
    match kind.as_str() {
        "webhook" => webhook(&trigger, findings),
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
}

fn webhook(trigger: &Fields<'_>, findings: &mut Findings) {
    trigger.check_known(WEBHOOK_FIELDS, &[], findings);
    trigger.required_text("path", findings);
    trigger.choice("method", METHODS, findings);
    trigger.text("respond", findings);
    trigger.object("auth", findings);
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
