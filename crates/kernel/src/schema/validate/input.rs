//! `input`: a schema that can be checked with, and cron triggers whose input fits it.

use serde_json::{Map, Value};

use crate::expr::Meter;
use crate::input::{INVALID_INPUT, InputCheck, examine};
use crate::schema::definition::Definition;
use crate::schema::findings::{Finding, Findings};

pub(super) fn check(definition: &Definition, findings: &mut Findings) {
    let Some(schema) = &definition.input else {
        return;
    };
    let Some(check) = examine(schema, "/input", findings) else {
        return;
    };
    // All together: a schema has as many triggers as its author likes.
    let mut meter = Meter::default();
    for (place, trigger) in definition.triggers.iter().enumerate() {
        if trigger["type"] == "cron" && trigger["disabled"] != true {
            check_trigger(trigger, place, &check, &mut meter, findings);
        }
    }
}

/// Its input is taken as it is written: expressions have no meaning there.
fn check_trigger(
    trigger: &Value,
    place: usize,
    check: &InputCheck,
    meter: &mut Meter,
    findings: &mut Findings,
) {
    let nothing = Value::Object(Map::new());
    let (input, base) = match &trigger["input"] {
        Value::Null => (&nothing, format!("/triggers/{place}")),
        given => (given, format!("/triggers/{place}/input")),
    };
    let Err(problems) = check.check(input, meter) else {
        return;
    };
    for problem in problems.list {
        let pointer = format!("{base}{}", problem.pointer);
        let message = format!("the input of the trigger does not fit: {}", problem.message);
        let finding = Finding::error(INVALID_INPUT, pointer, message);
        findings
            .add(finding.hint("every start by this trigger would fail; see `input` of the schema"));
    }
}
