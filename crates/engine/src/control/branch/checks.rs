//! What keeps a retry or a fork from being made, and what its caller is warned of.

use pawl_kernel::context::Context;
use pawl_kernel::expr::nearest;
use pawl_kernel::ports::store::ExecutionView;
use pawl_kernel::schema::graph::{Graph, Node};
use pawl_kernel::variables::Mentions;
use serde_json::{Map, Value};

use super::super::ControlError;
use super::Branch;

pub(super) fn retryable(view: &ExecutionView, may_be_another: bool) -> Result<(), ControlError> {
    let execution = &view.execution;
    if !execution.head.can_be_retried() {
        let status = execution.head.status.name();
        return Err(ControlError::Conflict(format!(
            "only a failed or stopped execution is retried; this one is {status}"
        )));
    }
    match execution.record.retried_as {
        // The store decides; this only spares the work.
        Some(retried_as) if !may_be_another => Err(ControlError::AlreadyRetried {
            id: execution.head.id,
            retried_as,
        }),
        _ => Ok(()),
    }
}

pub(super) fn node_exists<'g>(
    graph: &'g Graph,
    version: u32,
    id: &str,
) -> Result<&'g Node, ControlError> {
    graph.node(id).ok_or_else(|| {
        let ids = graph.nodes().iter().map(|node| &*node.id);
        let hint = nearest(id, ids).map_or_else(|| ".".to_owned(), |near| {
            format!("; did it become `{near}`?")
        });
        ControlError::Conflict(format!(
            "version {version} of the schema has no node `{id}` to go on at{hint} Name a version that has it, or fork from \
             a step before it"
        ))
    })
}

pub(super) fn has_config(graph: &Graph, id: &str) -> bool {
    let config = graph.node(id).map(|node| &node.definition.config);
    config.is_some_and(|config| config.as_object().is_some_and(|fields| !fields.is_empty()))
}

/// Would the node send the same request again? If not, it must not go out under the key of the old one.
pub(super) fn same_request(before: &Graph, key: &str, branch: &Branch) -> Result<(), ControlError> {
    let id = &branch.place.node_id;
    let (old, new) = (before.node(id), branch.graph.node(id));
    let (Some(old), Some(new)) = (old, new) else {
        return Ok(());
    };
    let handler = new.handler.as_ref();
    if handler.is_some_and(|handler| !handler.acts_outside()) {
        return Ok(());
    }
    let (old, new) = (&old.definition, &new.definition);
    if old.node_type != new.node_type || old.config != new.config {
        let what = format!(
            "its type or config is another one in version {}",
            branch.version
        );
        return Err(another_request(id, key, &what));
    }
    let mentions = Mentions::of([&new.config]);
    let known = branch.context.variables();
    let mut changed = branch.edit.variables.iter();
    let reaching = changed
        .find(|(name, value)| known.get(name.as_str()) != Some(*value) && mentions.may_read(name));
    match reaching {
        Some((name, _)) => {
            let what = format!("it may read the changed variable `{name}`");
            Err(another_request(id, key, &what))
        }
        None => Ok(()),
    }
}

fn another_request(node_id: &str, key: &str, what: &str) -> ControlError {
    ControlError::Conflict(format!(
        "node `{node_id}` may have had its effect under the key {key}, and {what}: another request must not go out \
         under the same key. Ask for a new key with `new_effect_key` (--new-effect-key), or change nothing that reaches it"
    ))
}

/// A variable that nothing in the schema speaks of is most likely a typo.
pub(super) fn unknown_variables(
    graph: &Graph,
    context: &Context,
    variables: &Map<String, Value>,
) -> Vec<String> {
    if variables.is_empty() {
        return Vec::new();
    }
    let none = Map::new();
    let known = context.variables().as_object().unwrap_or(&none);
    let mentions = Mentions::of(graph.nodes().iter().map(|node| &node.definition.config));
    let unknown = |name: &&String| !known.contains_key(name.as_str()) && !mentions.know(name);
    let warning = |name: &String| {
        let names = known.keys().map(String::as_str).chain(mentions.names());
        let hint = nearest(name, names)
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("the variable `{name}` was not there before, and no node speaks of it{hint}")
    };
    variables.keys().filter(unknown).map(warning).collect()
}

/// Steps that were taken over stay in the context; a version without their nodes may not expect them.
pub(super) fn missing_nodes<'a>(
    graph: &'a Graph,
    version: u32,
    context: &'a Context,
) -> impl Iterator<Item = String> + 'a {
    let steps = context.roots().get("steps").and_then(Value::as_object);
    let ids = steps.into_iter().flat_map(Map::keys);
    let missing = ids.filter(|id| graph.node(id).is_none());
    missing.map(move |id| {
        format!("the step `{id}` was taken over, and version {version} has no such node")
    })
}
