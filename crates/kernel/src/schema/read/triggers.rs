//! `triggers`: checked for shape and kept as written.

use serde_json::Value;

use super::fields::{self, Fields};
use crate::schema::codes;
use crate::schema::findings::Findings;

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
const OVERLAPS: &[(&str, ())] = &[
    ("skip", ()),
    ("queue", ()),
    ("allow", ()),
    ("cancel_previous", ()),
];
const CATCH_UPS: &[(&str, ())] = &[("none", ()), ("last", ()), ("all", ())];

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
    if let Some(text) = trigger.required_text("cron", findings) {
        let fields = text.split_whitespace().count();
        if fields != 5 && !text.starts_with('@') {
            let message = format!("a cron line has five fields, this has {fields}");
            let finding = trigger.error(codes::WRONG_TYPE, "cron", message);
            findings.add(finding.hint("minute hour day month weekday, as in `*/5 * * * *`"));
        }
    }
    trigger.text("timezone", findings);
    trigger.choice("overlap", OVERLAPS, findings);
    trigger.choice("catch_up", CATCH_UPS, findings);
}
