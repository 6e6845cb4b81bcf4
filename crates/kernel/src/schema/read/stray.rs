//! `timeout` and `retry` in the config, where some editors put them: they are read as fields of the node.

use serde_json::{Map, Value};

use super::NodeLayout;
use super::fields::Fields;
use super::nodes::{TIMEOUTS, retry};
use crate::diagnostic::Severity;
use crate::node::NodeSpec;
use crate::schema::codes;
use crate::schema::definition::NodeDefinition;
use crate::schema::findings::{Finding, Findings, join};

/// `is_written` says whether the node itself has the field; then the one in the config is a mistake, and stays one.
pub(super) fn lift(
    node: &mut NodeDefinition,
    place: &mut NodeLayout,
    spec: &NodeSpec,
    is_written: impl Fn(&str) -> bool,
    findings: &mut Findings,
) {
    let strays = take(&mut node.config, |field| {
        !spec.has_field(field) && !is_written(field)
    });
    for field in strays.keys() {
        findings.add(note(field, node, place, spec));
    }
    if spec.pure {
        return;
    }
    let strays = Fields::new(&strays, &place.config, Some(&node.id));
    if strays.has("timeout") {
        node.timeout = strays.duration("timeout", TIMEOUTS, findings);
        place.timeout = strays.at("timeout");
    }
    if strays.has("retry") {
        node.retry = retry(&strays, findings);
        place.retry = strays.at("retry");
    }
}

fn take(config: &mut Value, is_stray: impl Fn(&str) -> bool) -> Map<String, Value> {
    let mut strays = Map::new();
    for field in ["timeout", "retry"]
        .into_iter()
        .filter(|field| is_stray(field))
    {
        let config = config.as_object_mut();
        if let Some((name, value)) = config.and_then(|config| config.shift_remove_entry(field)) {
            strays.insert(name, value);
        }
    }
    strays
}

fn note(field: &str, node: &NodeDefinition, place: &NodeLayout, spec: &NodeSpec) -> Finding {
    let (code, message) = match spec.pure {
        false => (
            codes::MOVED_FIELD,
            format!("`{field}` in the config is read as the `{field}` of the node"),
        ),
        true => (
            codes::DROPPED_FIELD,
            format!(
                "`{field}` has no effect on a `{}` and is left out",
                spec.node_type
            ),
        ),
    };
    let pointer = join(&place.config, field);
    Finding::error(code, pointer, message)
        .severity(Severity::Note)
        .key()
        .node(Some(&node.id))
}
