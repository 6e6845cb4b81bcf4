//! Nodes, as people write them and as React Flow exports them.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Map, Value};

use super::fields::{self, Fields};
use super::{Layout, MAX_NODES, NodeLayout, stray};
use crate::node::Registry;
use crate::schema::codes;
use crate::schema::definition::{Backoff, NodeDefinition, OnError, OnInterrupt, RetryPolicy};
use crate::schema::findings::{Finding, Findings, join};

const MAX_ID: usize = 100;
pub(super) const TIMEOUTS: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(24 * 3_600);
const DELAYS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(365 * 86_400);

const FIELDS: &[&str] = &[
    "id",
    "type",
    "name",
    "config",
    "timeout",
    "retry",
    "on_error",
    "on_interrupt",
    "disabled",
    "entry",
    "position",
];
const RETRY_FIELDS: &[&str] = &[
    "enabled",
    "max_attempts",
    "delay",
    "backoff",
    "max_delay",
    "jitter",
];
const CANVAS_FIELDS: &[&str] = &[
    "data",
    "ariaLabel",
    "ariaRole",
    "className",
    "connectable",
    "deletable",
    "domAttributes",
    "dragHandle",
    "draggable",
    "dragging",
    "expandParent",
    "extent",
    "focusable",
    "handles",
    "height",
    "hidden",
    "initialHeight",
    "initialWidth",
    "measured",
    "origin",
    "parentId",
    "parentNode",
    "positionAbsolute",
    "resizing",
    "selectable",
    "selected",
    "sourcePosition",
    "style",
    "targetPosition",
    "width",
    "zIndex",
];
const DATA_FIELDS: &[&str] = &[
    "type",
    "label",
    "name",
    "config",
    "timeout",
    "retry",
    "on_error",
    "on_interrupt",
    "disabled",
    "entry",
];

pub(super) fn read(
    document: &Fields<'_>,
    canvas: bool,
    registry: &Registry,
    layout: &mut Layout,
    findings: &mut Findings,
) -> Vec<NodeDefinition> {
    let Some(items) = document.list("nodes", findings) else {
        if !document.has("nodes") {
            document.missing("nodes", findings);
        }
        layout.incomplete = true;
        return Vec::new();
    };
    if items.len() > MAX_NODES {
        let message = format!(
            "{} nodes are too many, the limit is {MAX_NODES}",
            items.len()
        );
        let finding = document
            .error(codes::TOO_MANY_NODES, "nodes", message)
            .key();
        findings.add(finding.hint("split it into schemas that start each other by webhook"));
        layout.incomplete = true;
    }
    let mut nodes = Vec::with_capacity(items.len().min(MAX_NODES));
    for (index, item) in items.iter().take(MAX_NODES).enumerate() {
        let pointer = format!("/nodes/{index}");
        match node(item, &pointer, canvas, registry, findings) {
            Some((node, place)) => {
                nodes.push(node);
                layout.nodes.push(place);
            }
            None => layout.incomplete = true,
        }
    }
    nodes
}

fn node(
    item: &Value,
    pointer: &str,
    canvas: bool,
    registry: &Registry,
    findings: &mut Findings,
) -> Option<(NodeDefinition, NodeLayout)> {
    let map = fields::object(item, pointer, "a node", findings)?;
    let id = id(&Fields::new(map, pointer, None), findings);
    let outer = Fields::new(map, pointer, id.as_deref());
    let data_pointer = join(pointer, "data");
    let data = if canvas {
        outer.object("data", findings)
    } else {
        None
    };
    let parts = Parts {
        outer,
        data: data.map(|data| Fields::new(data, &data_pointer, id.as_deref())),
    };
    outer.check_known(FIELDS, if canvas { CANVAS_FIELDS } else { &[] }, findings);
    if let Some(data) = data {
        warn_unknown_data(data, &data_pointer, id.as_deref(), findings);
    }
    let (mut node, mut place) = parts.read(pointer, findings);
    node.id = id.clone()?;
    if let Some(handler) = registry.get(&node.node_type) {
        let is_written = |field: &str| parts.with(field).has(field);
        stray::lift(&mut node, &mut place, handler.spec(), is_written, findings);
    }
    Some((node, place))
}

/// An editor keeps things of its own in `data`, so what is unknown there may be meant.
fn warn_unknown_data(
    data: &Map<String, Value>,
    pointer: &str,
    node: Option<&str>,
    findings: &mut Findings,
) {
    for name in data
        .keys()
        .filter(|name| !DATA_FIELDS.contains(&name.as_str()))
    {
        let message = format!("the field `{name}` is unknown and ignored");
        let finding = Finding::warning(codes::UNKNOWN_FIELD, join(pointer, name), message);
        let hint = findings.suggest(name, DATA_FIELDS.iter().copied());
        findings.add(finding.key().node(node).maybe_hint(hint));
    }
}

fn id(node: &Fields<'_>, findings: &mut Findings) -> Option<String> {
    let id = node.required_text("id", findings)?;
    let problem = if id.is_empty() || id.chars().count() > MAX_ID {
        "an id has 1 to 100 characters"
    } else if id.starts_with('$') {
        "ids that begin with `$` are the engine's own"
    } else if id.chars().any(is_invisible) || id.trim() != id {
        "an id has no control, invisible or surrounding white-space characters"
    } else {
        return Some(id);
    };
    findings.add(node.error(codes::BAD_NAME, "id", problem));
    // Kept, so that the edges to it are not reported as well.
    Some(id)
}

/// Characters that make two ids look the same or a line read backwards. U+200D stays: emoji need it.
fn is_invisible(c: char) -> bool {
    (c.is_whitespace() && c != ' ')
        || c.is_control()
        || matches!(
            c,
            '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
}

/// A node's own object, and React Flow's `data` inside it.
struct Parts<'a> {
    outer: Fields<'a>,
    data: Option<Fields<'a>>,
}

impl<'a> Parts<'a> {
    /// The object that holds the field; `data` goes first, as the outer `type` only names a drawing.
    fn with(&self, name: &str) -> &Fields<'a> {
        self.data
            .as_ref()
            .filter(|data| data.has(name))
            .unwrap_or(&self.outer)
    }

    fn read(&self, pointer: &str, findings: &mut Findings) -> (NodeDefinition, NodeLayout) {
        let place = NodeLayout {
            node: pointer.to_owned(),
            node_type: self.with("type").at("type"),
            config: self.with("config").at("config"),
            timeout: self.with("timeout").at("timeout"),
            retry: self.with("retry").at("retry"),
        };
        let node = NodeDefinition {
            id: String::new(),
            node_type: self
                .with("type")
                .required_text("type", findings)
                .unwrap_or_default(),
            name: self.name(findings),
            config: Value::Object(self.config(findings)),
            timeout: self.with("timeout").duration("timeout", TIMEOUTS, findings),
            retry: retry(self.with("retry"), findings),
            on_error: self
                .with("on_error")
                .choice(
                    "on_error",
                    &[("fail", OnError::Fail), ("continue", OnError::Continue)],
                    findings,
                )
                .unwrap_or_default(),
            on_interrupt: self
                .with("on_interrupt")
                .choice(
                    "on_interrupt",
                    &[("rerun", OnInterrupt::Rerun), ("fail", OnInterrupt::Fail)],
                    findings,
                )
                .unwrap_or_default(),
            disabled: self
                .with("disabled")
                .boolean("disabled", findings)
                .unwrap_or(false),
            entry: self
                .with("entry")
                .boolean("entry", findings)
                .unwrap_or(false),
            position: self
                .outer
                .object("position", findings)
                .cloned()
                .map(Value::Object),
        };
        (node, place)
    }

    fn name(&self, findings: &mut Findings) -> Option<String> {
        let name = self.with("name").text("name", findings);
        name.or_else(|| self.data?.text("label", findings))
    }

    fn config(&self, findings: &mut Findings) -> Map<String, Value> {
        self.with("config")
            .object("config", findings)
            .cloned()
            .unwrap_or_default()
    }
}

/// The field `retry` of `holder`.
pub(super) fn retry(holder: &Fields<'_>, findings: &mut Findings) -> Option<RetryPolicy> {
    let map = holder.object("retry", findings)?;
    let pointer = holder.at("retry");
    let retry = Fields::new(map, &pointer, holder.node());
    retry.check_known(RETRY_FIELDS, &[], findings);
    let enabled = retry.boolean("enabled", findings).unwrap_or(true);
    let delay = retry
        .duration("delay", DELAYS, findings)
        .unwrap_or(Duration::from_secs(5));
    let policy = RetryPolicy {
        max_attempts: retry
            .integer("max_attempts", 1..=1_000, findings)
            .unwrap_or(3) as u32,
        delay,
        backoff: retry
            .choice(
                "backoff",
                &[
                    ("fixed", Backoff::Fixed),
                    ("linear", Backoff::Linear),
                    ("exponential", Backoff::Exponential),
                ],
                findings,
            )
            .unwrap_or_default(),
        // A first delay above the default limit says that the limit is not wanted.
        max_delay: retry
            .duration("max_delay", DELAYS, findings)
            .unwrap_or(Duration::from_secs(60).max(delay)),
        jitter: retry.boolean("jitter", findings).unwrap_or(true),
    };
    enabled.then_some(policy)
}
