//! From a JSON value to a [`Definition`], collecting every problem on the way.
//!
//! Reading goes on after a problem with a harmless stand-in, so that the checks that follow can find
//! the rest. The result is only to be used if no error was found.

pub(crate) mod fields;
mod nodes;
mod settings;
mod stray;
mod triggers;

use serde_json::Value;

use self::fields::Fields;
pub(super) use self::fields::{describe, duration};
use super::codes;
use super::definition::{Definition, EdgeDefinition, HANDLE_SUCCESS, LANGUAGE};
use super::findings::{Finding, Findings, join};
use crate::node::Registry;

pub const MAX_NODES: usize = 2_000;
pub const MAX_EDGES: usize = 20_000;
const MAX_NAME: usize = 100;
/// For a document without a name that comes from a place whose name has nothing that can stay.
const UNNAMED: &str = "unnamed";

const FIELDS: &[&str] = &[
    "language",
    "name",
    "description",
    "external_id",
    "input",
    "settings",
    "triggers",
    "nodes",
    "edges",
];
const EDGE_FIELDS: &[&str] = &["source", "target", "sourceHandle"];
/// What a React Flow export has besides, without meaning for a run.
const CANVAS_FIELDS: &[&str] = &["viewport", "id"];
const CANVAS_EDGE_FIELDS: &[&str] = &[
    "id",
    "type",
    "animated",
    "ariaLabel",
    "className",
    "data",
    "deletable",
    "domAttributes",
    "focusable",
    "hidden",
    "interactionWidth",
    "label",
    "labelBgBorderRadius",
    "labelBgPadding",
    "labelBgStyle",
    "labelShowBg",
    "labelStyle",
    "markerEnd",
    "markerStart",
    "pathOptions",
    "reconnectable",
    "selectable",
    "selected",
    "sourceX",
    "sourceY",
    "style",
    "targetHandle",
    "targetX",
    "targetY",
    "updatable",
    "zIndex",
];

/// Where the parts of a definition stood in the document.
#[derive(Default)]
pub(super) struct Layout {
    pub nodes: Vec<NodeLayout>,
    pub edges: Vec<String>,
    /// Nodes were left out for problems already reported, so a missing node proves nothing.
    pub incomplete: bool,
    /// The same of edges.
    pub incomplete_edges: bool,
}

#[derive(Clone, Debug)]
pub(super) struct NodeLayout {
    pub node: String,
    pub node_type: String,
    pub config: String,
    pub timeout: String,
    pub retry: String,
}

impl Layout {
    /// The layout of a definition in its stored form.
    pub(super) fn of(definition: &Definition) -> Self {
        let nodes = (0..definition.nodes.len()).map(|index| {
            let node = format!("/nodes/{index}");
            NodeLayout {
                node_type: join(&node, "type"),
                config: join(&node, "config"),
                timeout: join(&node, "timeout"),
                retry: join(&node, "retry"),
                node,
            }
        });
        Self {
            nodes: nodes.collect(),
            edges: (0..definition.edges.len())
                .map(|index| format!("/edges/{index}"))
                .collect(),
            incomplete: false,
            incomplete_edges: false,
        }
    }

    /// Where no path leads on, there may have been one.
    pub(super) fn lacks_edges(&self) -> bool {
        self.incomplete || self.incomplete_edges
    }
}

/// `default_name` is for a document without a name.
pub(super) fn read(
    value: &Value,
    default_name: Option<&str>,
    registry: &Registry,
    findings: &mut Findings,
) -> Option<(Definition, Layout)> {
    let Value::Object(map) = value else {
        let message = format!("a schema is an object, this is {}", fields::describe(value));
        let finding = Finding::error(codes::WRONG_TYPE, "", message);
        findings.add(finding.hint("begin with `name:`, `nodes:` and `edges:`"));
        return None;
    };
    let document = Fields::new(map, "", None);
    let canvas = is_canvas_export(value);
    document.check_known(FIELDS, if canvas { CANVAS_FIELDS } else { &[] }, findings);
    let mut layout = Layout::default();
    let definition = Definition {
        language: language(&document, findings),
        name: name(&document, default_name, findings),
        description: document.text("description", findings),
        external_id: external_id(&document, findings),
        input: document.get("input").cloned(),
        settings: settings::read(&document, findings),
        triggers: triggers::read(&document, findings),
        nodes: nodes::read(&document, canvas, registry, &mut layout, findings),
        edges: edges(&document, canvas, &mut layout, findings),
    };
    Some((definition, layout))
}

/// React Flow keeps everything of ours in `data`, and has a `viewport` beside the nodes.
fn is_canvas_export(document: &Value) -> bool {
    let nodes = document.get("nodes").and_then(Value::as_array);
    let has_data = |node: &Value| node.get("data").is_some_and(Value::is_object);
    document.get("viewport").is_some() || nodes.is_some_and(|nodes| nodes.iter().any(has_data))
}

fn language(document: &Fields<'_>, findings: &mut Findings) -> u32 {
    let written = document.integer("language", 1..=u64::from(u32::MAX), findings);
    if let Some(level) = written.filter(|level| *level > u64::from(LANGUAGE)) {
        let message =
            format!("language level {level} is newer than this program, which knows {LANGUAGE}");
        let finding = document.error(codes::UNKNOWN_LANGUAGE, "language", message);
        findings.add(finding.hint("update pawl"));
    }
    LANGUAGE
}

fn name(document: &Fields<'_>, default: Option<&str>, findings: &mut Findings) -> String {
    let default = default.filter(|_| !document.has("name"));
    if let Some(name) = default {
        return fitting_name(name).unwrap_or_else(|| UNNAMED.to_owned());
    }
    let Some(name) = document.required_text("name", findings) else {
        return String::new();
    };
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(allowed) {
        let message = "a name has 1 to 100 characters out of a-z, 0-9 and `-`";
        findings.add(
            document
                .error(codes::BAD_NAME, "name", message)
                .maybe_hint(fitting_name(&name).map(|name| format!("for example `{name}`"))),
        );
    }
    name
}

/// What a column of both databases holds.
fn external_id(document: &Fields<'_>, findings: &mut Findings) -> Option<i64> {
    let number = document.integer("external_id", 0..=i64::MAX as u64, findings)?;
    i64::try_from(number).ok()
}

/// The nearest name that a schema can have; `None` if nothing of it can stay.
fn fitting_name(name: &str) -> Option<String> {
    let fitting: String = name
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(MAX_NAME)
        .collect();
    let fitting = fitting.trim_matches('-');
    (!fitting.is_empty()).then(|| fitting.to_owned())
}

fn edges(
    document: &Fields<'_>,
    canvas: bool,
    layout: &mut Layout,
    findings: &mut Findings,
) -> Vec<EdgeDefinition> {
    let Some(items) = document.list("edges", findings) else {
        layout.incomplete_edges = document.has("edges");
        return Vec::new();
    };
    layout.incomplete_edges = items.len() > MAX_EDGES;
    if items.len() > MAX_EDGES {
        let message = format!(
            "{} edges are too many, the limit is {MAX_EDGES}",
            items.len()
        );
        findings.add(
            document
                .error(codes::TOO_MANY_EDGES, "edges", message)
                .key(),
        );
    }
    let mut edges = Vec::with_capacity(items.len().min(MAX_EDGES));
    for (index, item) in items.iter().take(MAX_EDGES).enumerate() {
        let pointer = format!("/edges/{index}");
        match edge(item, &pointer, canvas, findings) {
            Some(edge) => {
                edges.push(edge);
                layout.edges.push(pointer);
            }
            None => layout.incomplete_edges = true,
        }
    }
    edges
}

fn edge(
    item: &Value,
    pointer: &str,
    canvas: bool,
    findings: &mut Findings,
) -> Option<EdgeDefinition> {
    let map = fields::object(item, pointer, "an edge", findings)?;
    let edge = Fields::new(map, pointer, None);
    edge.check_known(
        EDGE_FIELDS,
        if canvas { CANVAS_EDGE_FIELDS } else { &[] },
        findings,
    );
    let source = edge.required_text("source", findings);
    let target = edge.required_text("target", findings);
    let source_handle = handle(&edge, findings);
    Some(EdgeDefinition {
        source: source?,
        target: target?,
        source_handle,
    })
}

/// YAML reads `sourceHandle: true` as a boolean; the author means the handle of that name.
fn handle(edge: &Fields<'_>, findings: &mut Findings) -> String {
    let name = match edge.get("sourceHandle") {
        Some(Value::Bool(truth)) => Some(truth.to_string()),
        Some(Value::Number(number)) if number.is_i64() => Some(number.to_string()),
        _ => edge.text("sourceHandle", findings),
    };
    match name.as_deref() {
        None | Some("" | "output" | HANDLE_SUCCESS) => HANDLE_SUCCESS.to_owned(),
        Some(name) => name.to_owned(),
    }
}
