//! What must hold for every node type.

use std::collections::BTreeSet;

use pawl_kernel::node::{FieldKind, FieldSpec};
use serde_json::Value;

use crate::http::{AddressPolicy, HttpLimits};
use crate::{Environment, handlers, registry};

fn environment() -> Environment {
    Environment::new(AddressPolicy::default(), HttpLimits::default())
}

#[test]
fn the_types_are_those_of_the_design() {
    let types: Vec<_> = registry(&environment()).types().collect();
    let design = "condition end fail http_request log math rabbitmq_publish respond sleep start switch transform variable_set wait_event";
    assert_eq!(types.join(" "), design);
    assert_eq!(
        handlers(&environment()).len(),
        types.len(),
        "a type is registered twice"
    );
}

#[test]
fn every_spec_is_complete() {
    for handler in handlers(&environment()) {
        let spec = handler.spec();
        for text in [
            spec.title,
            spec.category,
            spec.doc,
            spec.output,
            spec.example,
        ] {
            assert!(!text.trim().is_empty(), "{}", spec.node_type);
        }
        assert!(
            spec.summary().len() < 120,
            "{}: {}",
            spec.node_type,
            spec.summary()
        );
        assert!(
            spec.summary().ends_with('.'),
            "{}: {}",
            spec.node_type,
            spec.summary()
        );
        check_fields(spec.node_type, spec.fields);
        assert!(spec.json_schema()["properties"].is_object());
    }
}

fn check_fields(node_type: &str, fields: &[FieldSpec]) {
    let names: BTreeSet<_> = fields.iter().map(|field| field.name).collect();
    assert_eq!(names.len(), fields.len(), "{node_type}: a field twice");
    for field in fields {
        assert!(field.doc.ends_with('.'), "{node_type}.{}", field.name);
        let default = field.default.map(serde_json::from_str::<Value>);
        assert!(
            default.is_none_or(|parsed| parsed.is_ok()),
            "{node_type}.{}",
            field.name
        );
        check_kind(node_type, &field.kind);
    }
}

fn check_kind(node_type: &str, kind: &FieldKind) {
    match kind {
        FieldKind::Object(fields) => check_fields(node_type, fields),
        FieldKind::List(inner) | FieldKind::Map(inner) => check_kind(node_type, inner),
        FieldKind::Either(kinds) => kinds.iter().for_each(|kind| check_kind(node_type, kind)),
        _ => {}
    }
}

/// Every field of an example is a field of the spec; full validation is the docs test's.
#[test]
fn examples_use_only_known_fields() {
    for handler in handlers(&environment()) {
        let spec = handler.spec();
        for line in spec
            .example
            .lines()
            .filter(|line| !line.starts_with([' ', '-', '#', '{']))
        {
            let name = line.split(':').next().unwrap_or_default();
            let known = spec.fields.iter().any(|field| field.name == name);
            assert!(known, "{}: `{line}`", spec.node_type);
        }
    }
}
