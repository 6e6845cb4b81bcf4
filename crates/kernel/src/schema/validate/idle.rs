//! Fields of a node that have no effect on its type.

use crate::node::{NodeSpec, Registry};
use crate::schema::codes;
use crate::schema::definition::NodeDefinition;
use crate::schema::findings::{Finding, Findings};
use crate::schema::read::NodeLayout;

/// What runs in memory can neither take too long nor be worth a second try, and waits have their own limits.
pub(super) fn check(
    node: &NodeDefinition,
    place: &NodeLayout,
    spec: &NodeSpec,
    registry: &Registry,
    findings: &mut Findings,
) {
    if !spec.pure {
        return;
    }
    let written = [
        ("timeout", node.timeout.is_some(), &place.timeout),
        ("retry", node.retry.is_some(), &place.retry),
    ];
    for (field, is_set, pointer) in written {
        if is_set {
            let message = format!("`{field}` has no effect on a `{}`", spec.node_type);
            let finding = Finding::error(codes::INVALID_FIELD, pointer, message).key();
            let hint = where_it_belongs(field, spec, registry);
            findings.add(finding.node(Some(&node.id)).hint(hint));
        }
    }
}

fn where_it_belongs(field: &str, spec: &NodeSpec, registry: &Registry) -> String {
    if spec.has_field(field) {
        return format!("the `{field}` of a `{}` goes into `config`", spec.node_type);
    }
    let types = registry.iter().map(|handler| handler.spec());
    let types: Vec<&str> = types
        .filter(|spec| !spec.pure)
        .map(|spec| spec.node_type)
        .collect();
    format!(
        "remove it; it belongs to nodes that act on the outside: {}",
        types.join(", ")
    )
}
