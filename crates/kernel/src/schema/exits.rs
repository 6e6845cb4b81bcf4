//! Which exit an edge leaves by, if it does not say.

use std::collections::HashMap;

use super::definition::{Definition, HANDLE_SUCCESS};
use crate::node::Registry;

/// Gives every edge without a name the exit it means, and returns the numbers of those that changed. What has to be
/// named and is not stays as it is: validation refuses it.
pub(super) fn name_exits(definition: &mut Definition, registry: &Registry) -> Vec<usize> {
    let found = unnamed_edges(definition, registry);
    for (number, exit) in &found {
        definition.edges[*number].source_handle = (*exit).to_owned();
    }
    found.into_iter().map(|(number, _)| number).collect()
}

/// The same for a stored version, which was saved when an edge without a name stood in for every exit that had none: beside
/// an edge that names the exit it stays as it is, and is never taken.
pub(super) fn name_stored_exits(definition: &mut Definition, registry: &Registry) {
    for (number, exit) in unnamed_edges(definition, registry) {
        let source = definition.edges[number].source.clone();
        let mut edges = definition.edges.iter();
        if !edges.any(|edge| edge.source == source && edge.source_handle == exit) {
            definition.edges[number].source_handle = exit.to_owned();
        }
    }
}

fn unnamed_edges(definition: &Definition, registry: &Registry) -> Vec<(usize, &'static str)> {
    let nodes = definition.nodes.iter();
    let unnamed: HashMap<&str, &'static str> = nodes
        .filter_map(|node| {
            let exit = registry.get(&node.node_type)?.unnamed_exit()?;
            (exit != HANDLE_SUCCESS).then_some((node.id.as_str(), exit))
        })
        .collect();
    let edges = definition.edges.iter().enumerate();
    edges
        .filter(|(_, edge)| edge.source_handle == HANDLE_SUCCESS)
        .filter_map(|(number, edge)| Some((number, *unnamed.get(edge.source.as_str())?)))
        .collect()
}
