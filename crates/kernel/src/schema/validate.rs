//! The rules a definition must meet to be saved. Every problem is reported, not just the first.

mod config;
mod exits;
mod idle;
mod input;
mod reach;
mod references;
mod shape;

use serde_json::Value;

use self::exits::Exits;
use super::codes;
use super::definition::{Definition, NodeDefinition};
use super::exits::name_exits;
use super::findings::{Finding, Findings};
use super::graph::config::{BadText, ConfigValue, compile, compile_text};
use super::read::{Layout, MAX_EDGES, MAX_NODES, NodeLayout};
use crate::diagnostic::Diagnostic;
use crate::node::{NodeHandler, Registry};
use crate::webhook::answer;

pub use self::references::ROOTS;

pub const NODE_START: &str = "start";
pub const NODE_END: &str = "end";

/// Checks a definition against the node types; pointers are those of its stored JSON.
pub fn check(definition: &Definition, registry: &Registry) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    check_limits(definition, &mut findings);
    let mut definition = definition.clone();
    let unnamed = name_exits(&mut definition, registry);
    let layout = Layout::of(&definition);
    check_with(&definition, &unnamed, &layout, registry, &mut findings);
    findings.into_diagnostics()
}

fn check_limits(definition: &Definition, findings: &mut Findings) {
    let (nodes, edges) = (definition.nodes.len(), definition.edges.len());
    if nodes > MAX_NODES {
        let message = format!("{nodes} nodes are too many, the limit is {MAX_NODES}");
        findings.add(Finding::error(codes::TOO_MANY_NODES, "/nodes", message));
    }
    if edges > MAX_EDGES {
        let message = format!("{edges} edges are too many, the limit is {MAX_EDGES}");
        findings.add(Finding::error(codes::TOO_MANY_EDGES, "/edges", message));
    }
}

/// `unnamed` are the edges that got their exit from [`name_exits`].
pub(super) fn check_with(
    definition: &Definition,
    unnamed: &[usize],
    layout: &Layout,
    registry: &Registry,
    findings: &mut Findings,
) {
    let paths = references::Paths::new(definition, layout.incomplete);
    let mut exits = Vec::with_capacity(definition.nodes.len());
    for (node, place) in definition.nodes.iter().zip(&layout.nodes) {
        let handler = registry.get(&node.node_type);
        match handler {
            Some(handler) => {
                idle::check(node, place, handler.spec(), registry, findings);
                check_node(node, place, handler.as_ref(), &paths, findings);
            }
            None => unknown_type(node, place, registry, findings),
        }
        exits.push(handler.map(|handler| Exits::of(handler.as_ref(), &node.config)));
    }
    check_settings(definition, &paths, findings);
    input::check(definition, findings);
    check_answers(definition, findings);
    shape::check(definition, unnamed, layout, &exits, findings);
}

fn unknown_type(
    node: &NodeDefinition,
    place: &NodeLayout,
    registry: &Registry,
    findings: &mut Findings,
) {
    // A missing type was reported when it was read.
    if node.node_type.is_empty() {
        return;
    }
    let message = format!("there is no node type `{}`", node.node_type);
    let known: Vec<&str> = registry.types().collect();
    let hint = findings.suggest(&node.node_type, known.iter().copied());
    let finding = Finding::error(codes::UNKNOWN_NODE_TYPE, &place.node_type, message);
    let finding = finding.param("type", node.node_type.as_str());
    findings.add(finding.node(Some(&node.id)).maybe_hint(hint));
}

fn check_node(
    node: &NodeDefinition,
    place: &NodeLayout,
    handler: &dyn NodeHandler,
    paths: &references::Paths<'_>,
    findings: &mut Findings,
) {
    let spec = handler.spec();
    let errors_before = findings.errors();
    config::check(node, &place.config, spec, findings);
    // A handler may rely on the shape its field table promises.
    if findings.errors() == errors_before {
        check_by_handler(node, place, handler, findings);
    }
    let mut problems = Vec::new();
    let compiled = compile(&node.config, spec.fields, &mut problems);
    for problem in problems {
        findings.add(bad_text(&place.config, Some(&node.id), problem));
    }
    let reader = references::ExpressionPlace::Node {
        id: &node.id,
        pure: spec.pure,
        locals: handler.locals(),
    };
    paths.check(&compiled, &place.config, reader, findings);
}

fn check_by_handler(
    node: &NodeDefinition,
    place: &NodeLayout,
    handler: &dyn NodeHandler,
    findings: &mut Findings,
) {
    for diagnostic in handler.check(&node.config) {
        let pointer = format!("{}{}", place.config, diagnostic.pointer);
        let finding = Finding::error(diagnostic.code, pointer, diagnostic.message)
            .severity(diagnostic.severity)
            .params(diagnostic.params)
            .maybe_hint(diagnostic.hint)
            .node(Some(&node.id));
        findings.add(finding);
    }
}

pub(super) fn bad_text(config: &str, node: Option<&str>, problem: BadText) -> Finding {
    let BadText { pointer, error } = problem;
    Finding::error(
        codes::BAD_EXPRESSION,
        format!("{config}{pointer}"),
        error.message,
    )
    .maybe_hint(error.hint)
    .node(node)
    .inside(error.span.start..error.span.end)
}

/// A caller that waits for a node to answer should not wait for one that is not there.
fn check_answers(definition: &Definition, findings: &mut Findings) {
    let mut nodes = definition.nodes.iter();
    if nodes.any(|node| node.node_type == answer::NODE_TYPE) {
        return;
    }
    for (place, trigger) in definition.triggers.iter().enumerate() {
        if trigger["respond"] == "respond_node" {
            let pointer = format!("/triggers/{place}/respond");
            let message = "no node of the schema answers; the end of the execution will";
            let finding = Finding::warning(codes::NO_RESPOND_NODE, pointer, message);
            findings
                .add(finding.hint("add a node of type `respond`, or write `respond: last_node`"));
        }
    }
}

/// `tenant` and `concurrency.key` are templates too, read before the first step.
fn check_settings(definition: &Definition, paths: &references::Paths<'_>, findings: &mut Findings) {
    let settings = &definition.settings;
    let key = settings
        .concurrency
        .as_ref()
        .and_then(|limits| limits.get("key"));
    let texts = [
        ("/settings/tenant", settings.tenant.as_deref()),
        ("/settings/concurrency/key", key.and_then(Value::as_str)),
    ];
    for (pointer, text) in texts {
        let Some(text) = text else { continue };
        let compiled = compile_text(text).unwrap_or_else(|error| {
            let pointer = String::from(pointer);
            findings.add(bad_text("", None, BadText { pointer, error }));
            ConfigValue::Literal(Value::Null)
        });
        paths.check(
            &compiled,
            pointer,
            references::ExpressionPlace::Settings,
            findings,
        );
    }
}
