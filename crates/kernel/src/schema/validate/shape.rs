//! The graph as a graph: ids, edges, handles, and what can be reached.

use std::collections::{HashMap, HashSet};

use super::exits::Exits;
use super::reach::{self, Island};
use super::{NODE_END, NODE_START};
use crate::diagnostic::Severity;
use crate::schema::codes;
use crate::schema::definition::{
    Definition, EdgeDefinition, HANDLE_ERROR, HANDLE_SUCCESS, NodeDefinition, OnError,
};
use crate::schema::findings::{Finding, Findings, join};
use crate::schema::read::Layout;
use crate::visit::EVENT_TIMEOUT;

/// `exits` holds the exits of each node, `None` for unknown types; `unnamed` the numbers of the edges that did not say
/// by which one they leave.
pub(super) fn check(
    definition: &Definition,
    unnamed: &[usize],
    layout: &Layout,
    exits: &[Option<Exits>],
    findings: &mut Findings,
) {
    let mut shape = Shape {
        definition,
        unnamed,
        layout,
        exits,
        index: HashMap::new(),
        handles: vec![Vec::new(); definition.nodes.len()],
        targets: vec![Vec::new(); definition.nodes.len()],
        cause: None,
        other_causes: 0,
        findings,
    };
    shape.index_ids();
    shape.check_edges();
    if let Some(start) = shape.find_start() {
        shape.check_way_out(start);
        shape.check_reach();
        shape.check_end(start);
    }
    shape.check_open_exits();
    shape.check_unnamed();
    if let Some(cause) = shape.cause.take() {
        shape.findings.add(cause);
    }
}

struct Shape<'a> {
    definition: &'a Definition,
    unnamed: &'a [usize],
    layout: &'a Layout,
    exits: &'a [Option<Exits>],
    index: HashMap<&'a str, usize>,
    /// Per node, the handles that have an edge.
    handles: Vec<Vec<&'a str>>,
    /// Per node, where its edges lead.
    targets: Vec<Vec<usize>>,
    /// The first error that keeps paths from leading on, to be told with what follows from it.
    cause: Option<Finding>,
    other_causes: usize,
    findings: &'a mut Findings,
}

impl<'a> Shape<'a> {
    fn index_ids(&mut self) {
        for (index, node) in self.definition.nodes.iter().enumerate() {
            let first = *self.index.entry(&node.id).or_insert(index);
            if first != index {
                let message = format!("the id `{}` is used twice", node.id);
                let pointer = join(&self.layout.nodes[index].node, "id");
                let finding = Finding::error(codes::DUPLICATE_ID, pointer, message);
                let hint = format!("the first is node number {}", first + 1);
                let finding = finding.param("node", node.id.as_str());
                self.findings.add(finding.node(Some(&node.id)).hint(hint));
            }
        }
    }

    fn check_edges(&mut self) {
        let definition = self.definition;
        let mut taken: HashMap<(&str, &str), &EdgeDefinition> = HashMap::new();
        for (number, edge) in definition.edges.iter().enumerate() {
            let pointer = &self.layout.edges[number];
            let source = self.end_of_edge(&edge.source, pointer, "source");
            let target = self.end_of_edge(&edge.target, pointer, "target");
            let Some(source) = source else { continue };
            self.handles[source].push(&edge.source_handle);
            self.targets[source].extend(target);
            let problem = self.exit_problem(edge, source, pointer);
            let is_exit = problem
                .as_ref()
                .is_none_or(|finding| finding.diagnostic.severity != Severity::Error);
            if let Some(finding) = problem {
                self.findings.add(finding.node(Some(&edge.source)));
            }
            if !is_exit {
                continue;
            }
            if let Some(first) = taken.insert((&edge.source, &edge.source_handle), edge) {
                let exits = self.exits[source].as_ref();
                let finding = several_edges(edge, first, exits, pointer);
                self.findings.add(finding.node(Some(&edge.source)));
            }
        }
    }

    fn end_of_edge(&mut self, id: &str, pointer: &str, field: &str) -> Option<usize> {
        let found = self.index.get(id).copied();
        if found.is_none() && !self.layout.incomplete {
            let verb = if field == "source" {
                "starts at"
            } else {
                "leads to"
            };
            let message = format!("this edge {verb} `{id}`, which is not a node of this schema");
            let ids = self.definition.nodes.iter().map(|node| node.id.as_str());
            let finding = Finding::error(codes::UNKNOWN_NODE, join(pointer, field), message);
            let hint = self.findings.suggest(id, ids);
            let finding = finding.param("node", id).param("end", field);
            self.add_cause(finding.maybe_hint(hint));
        }
        found
    }

    fn add_cause(&mut self, finding: Finding) {
        if self.cause.is_none() {
            self.cause = Some(finding);
        } else {
            self.other_causes += 1;
            self.findings.add(finding);
        }
    }

    fn exit_problem(&self, edge: &EdgeDefinition, source: usize, pointer: &str) -> Option<Finding> {
        let node = &self.definition.nodes[source];
        if node.node_type == NODE_END {
            let message = format!(
                "no edge can leave `{}`, an `end` stops the execution",
                node.id
            );
            let finding = Finding::error(codes::EDGE_FROM_END, join(pointer, "source"), message);
            return Some(finding.param("node", node.id.as_str()));
        }
        let exits = self.exits[source].as_ref()?;
        let handle = edge.source_handle.as_str();
        if handle == HANDLE_ERROR || exits.has(handle) {
            return None;
        }
        if handle == HANDLE_SUCCESS {
            return Some(nameless(edge, exits, pointer));
        }
        let at = join(pointer, "sourceHandle");
        if exits.has_otherwise(handle) {
            let message = format!("`{}` never leaves by `{handle}`", node.id);
            let hint = format!("set `{handle}` in its config, or remove this edge");
            let finding = Finding::warning(codes::UNUSED_EDGE, at, message).hint(hint);
            return Some(on_exit(finding, &node.id, handle));
        }
        let message = format!("`{}` ({}) has no exit `{handle}`", node.id, node.node_type);
        let known = exits.names().filter(|name| *name != HANDLE_ERROR);
        let hint = self.findings.suggest(handle, known.chain([HANDLE_ERROR]));
        let finding = Finding::error(codes::UNKNOWN_HANDLE, at, message).maybe_hint(hint);
        Some(on_exit(finding, &node.id, handle))
    }

    fn find_start(&mut self) -> Option<usize> {
        let starts: Vec<usize> = self.starts().collect();
        for &index in starts.iter().skip(1) {
            let id = &self.definition.nodes[index].id;
            let message = format!("`{id}` is a second `start`; a schema has one");
            let finding = Finding::error(
                codes::SECOND_START,
                &self.layout.nodes[index].node_type,
                message,
            );
            self.findings
                .add(finding.param("node", id.as_str()).node(Some(id)));
        }
        // A node whose type is missing may be meant as the start.
        let untyped = self
            .definition
            .nodes
            .iter()
            .any(|node| node.node_type.is_empty());
        if starts.is_empty() && !untyped && !self.layout.incomplete {
            let finding = Finding::error(codes::NO_START, "/nodes", "no node has the type `start`");
            self.findings.add(
                finding
                    .key()
                    .hint("add `{ id: start, type: start }` and an edge from it"),
            );
        }
        starts.first().copied()
    }

    fn check_way_out(&mut self, start: usize) {
        let node = &self.definition.nodes[start];
        let is_only = self.starts().count() == 1;
        if !is_only || self.leads_on(start, HANDLE_SUCCESS) || self.layout.lacks_edges() {
            return;
        }
        let message = format!("`{}` leads nowhere: no edge leaves it", node.id);
        let pointer = &self.layout.nodes[start].node;
        let finding = Finding::error(codes::START_LEADS_NOWHERE, pointer, message);
        let hint = format!(
            "add an edge to the node that comes first: `{{ source: {}, target: … }}`",
            node.id
        );
        let finding = finding.param("node", node.id.as_str());
        self.add_cause(finding.node(Some(&node.id)).hint(hint));
    }

    fn check_reach(&mut self) {
        // What is missing may have been the way.
        if self.layout.lacks_edges() {
            return;
        }
        let nodes = self.definition.nodes.iter().enumerate();
        let entries = nodes.clone().filter(|(_, node)| node.entry);
        let entries = entries.map(|(index, _)| index).chain(self.starts());
        let reached = reach::reached(&self.targets, entries.collect());
        // A second node of the same id was reported already, and no edge could mean it.
        let is_first = |index: usize, id: &str| self.index.get(id) == Some(&index);
        let lost: Vec<usize> = nodes
            .filter(|(index, node)| is_first(*index, &node.id) && !reached.contains(index))
            .map(|(index, _)| index)
            .collect();
        let others = self.other_causes;
        match &mut self.cause {
            Some(cause) if !lost.is_empty() => cause.because(&consequence(lost.len(), others)),
            Some(_) => {}
            None => {
                let islands = reach::islands(&self.targets, &lost);
                islands.iter().for_each(|island| self.report(island));
            }
        }
    }

    fn report(&mut self, island: &Island) {
        let node = &self.definition.nodes[island.first];
        let behind = match island.behind {
            0 => String::new(),
            1 => ", nor to the node behind it".to_owned(),
            many => format!(", nor to the {many} nodes behind it"),
        };
        let message = format!("no path leads from the start to `{}`{behind}", node.id);
        let pointer = &self.layout.nodes[island.first].node;
        let finding = Finding::warning(codes::UNREACHABLE_NODE, pointer, message)
            .param("node", node.id.as_str())
            .param("behind", island.behind);
        self.findings.add(finding.node(Some(&node.id)));
    }

    fn check_end(&mut self, start: usize) {
        // The way to the end may be what is missing.
        if self.layout.lacks_edges() || self.cause.is_some() {
            return;
        }
        let reached = reach::reached(&self.targets, vec![start]);
        if reached.iter().any(|&index| self.can_end(index)) {
            return;
        }
        let node = &self.definition.nodes[start];
        let message =
            "no path leads from the start to an end: only a limit could stop the execution";
        let finding = Finding::error(codes::NO_END, &self.layout.nodes[start].node, message);
        self.findings.add(
            finding
                .node(Some(&node.id))
                .hint("let one path lead to a node of type `end`"),
        );
    }

    /// An exit without an edge ends the execution, except where that fails it.
    fn can_end(&self, index: usize) -> bool {
        let node = &self.definition.nodes[index];
        if node.node_type == NODE_END {
            return true;
        }
        match &self.exits[index] {
            Some(exits) if !node.disabled => exits
                .names()
                .any(|exit| !exits.fails(exit) && !self.leads_on(index, exit)),
            Some(exits) => !self.leads_on(index, self.passed_by(index, exits)),
            None => !self.leads_on(index, HANDLE_SUCCESS),
        }
    }

    /// The exit of a node that is disabled.
    fn passed_by(&self, index: usize, exits: &Exits) -> &'static str {
        match self.leads_on(index, HANDLE_SUCCESS) {
            true => HANDLE_SUCCESS,
            false => exits.unnamed().unwrap_or(HANDLE_SUCCESS),
        }
    }

    fn leads_on(&self, index: usize, handle: &str) -> bool {
        self.handles[index].contains(&handle)
    }

    fn starts(&self) -> impl Iterator<Item = usize> + use<'a> {
        let nodes = self.definition.nodes.iter().enumerate();
        nodes
            .filter(|(_, node)| node.node_type == NODE_START)
            .map(|(index, _)| index)
    }

    fn check_open_exits(&mut self) {
        let definition = self.definition;
        let edges = self.unnamed.iter().map(|&number| &definition.edges[number]);
        let unnamed: HashSet<&str> = edges.map(|edge| edge.source.as_str()).collect();
        for (index, node) in definition.nodes.iter().enumerate() {
            let Some(exits) = &self.exits[index] else {
                continue;
            };
            if node.node_type == NODE_END {
                continue;
            }
            if !exits.has(HANDLE_SUCCESS) {
                self.check_passing_by(index, node, exits);
            }
            // An edge without a name brings a warning that says this too.
            let is_told = unnamed.contains(node.id.as_str());
            if exits.are_several() && !node.disabled && !is_told {
                self.check_exits(index, node, exits);
            }
        }
    }

    fn check_exits(&mut self, index: usize, node: &NodeDefinition, exits: &Exits) {
        let open = exits
            .names()
            .filter(|exit| *exit != HANDLE_ERROR && !self.leads_on(index, exit));
        let (failing, ending): (Vec<&str>, Vec<&str>) = open.partition(|exit| exits.fails(exit));
        if !ending.is_empty() {
            self.open_exit(index, &ending, ENDS.into());
        }
        if !failing.is_empty() {
            let then = match self.leads_on(index, HANDLE_ERROR) {
                true => "it leaves by `error`",
                false => "the execution fails",
            };
            let hint = format!(
                "if `{}` is not left in time, {then} with {EVENT_TIMEOUT}",
                node.id
            );
            self.open_exit(index, &failing, hint);
        }
    }

    fn open_exit(&mut self, index: usize, open: &[&str], hint: String) {
        let id = &self.definition.nodes[index].id;
        let message = format!("`{id}` has no edge for {}", quoted(open));
        let pointer = &self.layout.nodes[index].node;
        let finding = Finding::warning(codes::OPEN_EXIT, pointer, message);
        let finding = finding.param("node", id.as_str()).param("exits", open);
        self.findings.add(finding.node(Some(id)).hint(hint));
    }

    /// A node that is passed by, or goes on after a failure, does so by `success`.
    fn check_passing_by(&mut self, index: usize, node: &NodeDefinition, exits: &Exits) {
        let (field, exit) = match (node.disabled, node.on_error) {
            (true, _) => ("disabled: true", self.passed_by(index, exits)),
            (false, OnError::Continue) if !self.leads_on(index, HANDLE_ERROR) => {
                ("on_error: continue", HANDLE_SUCCESS)
            }
            _ => return,
        };
        let (id, node_type) = (&node.id, &node.node_type);
        let why = match exits.has(exit) {
            true if self.leads_on(index, exit) => return,
            true => format!("an exit of `{id}` without an edge"),
            false => format!("an exit that `{id}` ({node_type}) does not have"),
        };
        let message = format!("with `{field}` a node is left by `{exit}`, {why}");
        let pointer = &self.layout.nodes[index].node;
        let finding = Finding::warning(codes::OPEN_EXIT, pointer, message);
        self.findings.add(finding.node(Some(id)).hint(ENDS));
    }

    fn check_unnamed(&mut self) {
        for &number in self.unnamed {
            let edge = &self.definition.edges[number];
            let (source, taken) = (&edge.source, &edge.source_handle);
            let index = self.index.get(source.as_str()).copied();
            let Some((index, exits)) =
                index.and_then(|index| Some((index, self.exits[index].as_ref()?)))
            else {
                continue;
            };
            let others: Vec<&str> = exits.names().filter(|name| name != taken).collect();
            let is_open = others.iter().any(|exit| !self.leads_on(index, exit));
            let message = format!(
                "this edge does not say by which exit it leaves `{source}`; it is read as `{taken}`, not {}",
                quoted(&others)
            );
            let more = match is_open {
                true => format!(", and give {} an edge too: {ENDS}", quoted(&others)),
                false => String::new(),
            };
            let pointer = &self.layout.edges[number];
            let finding = Finding::warning(codes::UNNAMED_EXIT, pointer, message);
            let finding = on_exit(finding, source, taken);
            let hint = format!("write `sourceHandle: \"{taken}\"`{more}");
            self.findings.add(finding.node(Some(source)).hint(hint));
        }
    }
}

const ENDS: &str = "leaving by an exit without an edge ends the execution as completed";

fn consequence(lost: usize, other_causes: usize) -> String {
    let with = match other_causes {
        0 => String::new(),
        1 => ", with the other edge that leads nowhere,".to_owned(),
        _ => ", with the other edges that lead nowhere,".to_owned(),
    };
    let nodes = if lost == 1 { "node" } else { "nodes" };
    format!(", so{with} {lost} {nodes} cannot be reached")
}

fn nameless(edge: &EdgeDefinition, exits: &Exits, pointer: &str) -> Finding {
    let source = &edge.source;
    let message = format!("this edge does not say by which exit it leaves `{source}`");
    let names: Vec<&str> = exits.names().collect();
    let hint = format!(
        "name one with `sourceHandle`; the exits of `{source}` are {}",
        quoted(&names)
    );
    let finding = Finding::error(codes::UNNAMED_EXIT, pointer, message).hint(hint);
    finding.param("node", source.as_str())
}

fn on_exit(finding: Finding, node: &str, exit: &str) -> Finding {
    finding.param("node", node).param("exit", exit)
}

fn several_edges(
    edge: &EdgeDefinition,
    first: &EdgeDefinition,
    exits: Option<&Exits>,
    pointer: &str,
) -> Finding {
    let (source, handle) = (&edge.source, &edge.source_handle);
    let message = format!("a second edge leaves `{source}` by `{handle}`");
    let finding = Finding::error(codes::SEVERAL_EDGES, pointer, message);
    let finding = on_exit(finding, source, handle);
    if first.target == edge.target {
        return finding.hint("the same edge is written twice, remove one");
    }
    let several = exits.filter(|exits| !exits.has(HANDLE_SUCCESS));
    let hint = match several.filter(|_| handle != HANDLE_ERROR) {
        Some(exits) => format!(
            "`{source}` leaves by {}; say by which with `sourceHandle`",
            quoted(&exits.names().collect::<Vec<_>>())
        ),
        None => format!(
            "the first leads to `{}`; an exit leads to one node, so put one behind the other",
            first.target
        ),
    };
    finding.hint(hint)
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
