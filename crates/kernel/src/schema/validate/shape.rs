//! The graph as a graph: ids, edges, handles, and what can be reached.

use std::collections::{HashMap, HashSet};

use super::{NODE_END, NODE_START};
use crate::schema::codes;
use crate::schema::definition::{Definition, EdgeDefinition, HANDLE_ERROR, HANDLE_SUCCESS};
use crate::schema::findings::{Finding, Findings, join};
use crate::schema::read::Layout;

/// `exits` holds what each node's handler says of its exits, `None` for unknown types.
pub(super) fn check(
    definition: &Definition,
    layout: &Layout,
    exits: &[Option<Vec<String>>],
    findings: &mut Findings,
) {
    let mut shape = Shape {
        definition,
        layout,
        exits,
        index: HashMap::new(),
        targets: vec![Vec::new(); definition.nodes.len()],
        findings,
    };
    shape.index_ids();
    shape.check_edges();
    let start = shape.find_start();
    if let Some(start) = start {
        shape.check_reach(start);
        shape.check_end(start);
    }
    shape.check_open_exits();
}

struct Shape<'a> {
    definition: &'a Definition,
    layout: &'a Layout,
    exits: &'a [Option<Vec<String>>],
    index: HashMap<&'a str, usize>,
    /// Per node, the handles that have an edge and where it leads.
    targets: Vec<Vec<(&'a str, usize)>>,
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
            if let Some(finding) = self.exit_problem(edge, source, pointer) {
                self.findings.add(finding.node(Some(&edge.source)));
            }
            if let Some(first) = taken.insert((&edge.source, &edge.source_handle), edge) {
                self.findings.add(several_edges(edge, first, pointer));
            }
            if let Some(target) = target {
                self.targets[source].push((&edge.source_handle, target));
            }
        }
    }

    fn end_of_edge(&mut self, id: &str, pointer: &str, field: &str) -> Option<usize> {
        let found = self.index.get(id).copied();
        if found.is_none() && !self.layout.incomplete {
            let message = format!("the {field} of this edge, `{id}`, is no node");
            let ids = self.definition.nodes.iter().map(|node| node.id.as_str());
            let finding = Finding::error(codes::UNKNOWN_NODE, join(pointer, field), message);
            self.findings
                .add(finding.maybe_hint(self.findings.suggest(id, ids)));
        }
        found
    }

    fn exit_problem(&self, edge: &EdgeDefinition, source: usize, pointer: &str) -> Option<Finding> {
        let node = &self.definition.nodes[source];
        if node.node_type == NODE_END {
            let message = format!(
                "no edge can leave `{}`, an `end` stops the execution",
                node.id
            );
            return Some(Finding::error(
                codes::EDGE_FROM_END,
                join(pointer, "source"),
                message,
            ));
        }
        let exits = self.exits[source].as_ref()?;
        let handle = edge.source_handle.as_str();
        let usual = [HANDLE_SUCCESS, HANDLE_ERROR];
        if usual.contains(&handle) || exits.iter().any(|exit| exit == handle) {
            return None;
        }
        let message = format!("`{}` ({}) has no exit `{handle}`", node.id, node.node_type);
        let known = exits.iter().map(String::as_str).chain(usual);
        let finding = Finding::error(
            codes::UNKNOWN_HANDLE,
            join(pointer, "sourceHandle"),
            message,
        );
        Some(finding.maybe_hint(self.findings.suggest(handle, known)))
    }

    fn find_start(&mut self) -> Option<usize> {
        let nodes = self.definition.nodes.iter().enumerate();
        let starts: Vec<usize> = nodes
            .filter(|(_, node)| node.node_type == NODE_START)
            .map(|(index, _)| index)
            .collect();
        for &index in starts.iter().skip(1) {
            let id = &self.definition.nodes[index].id;
            let message = format!("`{id}` is a second `start`; a schema has one");
            let finding = Finding::error(
                codes::SECOND_START,
                &self.layout.nodes[index].node_type,
                message,
            );
            self.findings.add(finding.node(Some(id)));
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

    fn check_reach(&mut self, start: usize) {
        let entries = self.definition.nodes.iter().enumerate();
        let entries = entries.filter(|(_, node)| node.entry || node.node_type == NODE_START);
        let reached = self.reached(entries.map(|(index, _)| index).chain([start]).collect());
        for (index, node) in self.definition.nodes.iter().enumerate() {
            // A second node of the same id was reported already, and no edge could mean it.
            let is_first = self.index.get(node.id.as_str()) == Some(&index);
            if is_first && !reached.contains(&index) {
                let message = format!("no path leads from the start to `{}`", node.id);
                let pointer = &self.layout.nodes[index].node;
                let finding = Finding::warning(codes::UNREACHABLE_NODE, pointer, message);
                self.findings.add(finding.node(Some(&node.id)));
            }
        }
    }

    fn reached(&self, mut open: Vec<usize>) -> HashSet<usize> {
        let mut reached: HashSet<usize> = open.iter().copied().collect();
        while let Some(index) = open.pop() {
            for &(_, target) in &self.targets[index] {
                if reached.insert(target) {
                    open.push(target);
                }
            }
        }
        reached
    }

    fn check_end(&mut self, start: usize) {
        let reached = self.reached(vec![start]);
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

    /// An exit without an edge ends the execution, except by `error`, which fails it.
    fn can_end(&self, index: usize) -> bool {
        if self.definition.nodes[index].node_type == NODE_END {
            return true;
        }
        let named = self.exits[index].as_deref().unwrap_or_default();
        let only_success = [HANDLE_SUCCESS.to_owned()];
        let exits = if named.is_empty() {
            &only_success
        } else {
            named
        };
        let mut ends = exits.iter().filter(|exit| *exit != HANDLE_ERROR);
        ends.any(|exit| !self.leads_on(index, exit))
    }

    /// The default edge catches what has no edge of its own.
    fn leads_on(&self, index: usize, handle: &str) -> bool {
        let has = |wanted: &str| self.targets[index].iter().any(|(name, _)| *name == wanted);
        has(handle) || has(HANDLE_SUCCESS)
    }

    fn check_open_exits(&mut self) {
        for (index, node) in self.definition.nodes.iter().enumerate() {
            if node.disabled || node.node_type == NODE_END {
                continue;
            }
            let named = self.exits[index].as_deref().unwrap_or_default();
            let open: Vec<&str> = named
                .iter()
                .map(String::as_str)
                .filter(|exit| ![HANDLE_SUCCESS, HANDLE_ERROR].contains(exit))
                .filter(|exit| !self.leads_on(index, exit))
                .collect();
            if !open.is_empty() {
                let message = format!("`{}` has no edge for {}", node.id, quoted(&open));
                let pointer = &self.layout.nodes[index].node;
                let finding = Finding::warning(codes::OPEN_EXIT, pointer, message);
                let hint = "leaving by an exit without an edge ends the execution as completed";
                self.findings.add(finding.node(Some(&node.id)).hint(hint));
            }
        }
    }
}

fn several_edges(edge: &EdgeDefinition, first: &EdgeDefinition, pointer: &str) -> Finding {
    let (source, handle) = (&edge.source, &edge.source_handle);
    let message = format!("a second edge leaves `{source}` by `{handle}`");
    let finding = Finding::error(codes::SEVERAL_EDGES, pointer, message).node(Some(source));
    if first.target == edge.target {
        return finding.hint("the same edge is written twice, remove one");
    }
    finding.hint(format!(
        "the first leads to `{}`; to do both at once, use a `parallel` node",
        first.target
    ))
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
