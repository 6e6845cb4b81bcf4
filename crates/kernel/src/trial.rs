//! Trial runs: an editor's tests of a schema. Outputs that were pinned stand in for nodes, and the run may end behind one.
//!
//! A trial is a part of the start record, so it is the same for every worker and after every crash. Nodes without a pin run
//! as they always do, with their effects.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::node::{LogLevel, LogLine};
use crate::operations::Pin;
use crate::schema::definition::HANDLE_SUCCESS;
use crate::schema::graph::{Graph, Node};
use crate::visit::{self, Move, VisitResult};

/// The name of a trial in the start record.
pub const FIELD: &str = "trial";

/// How an execution is tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// By node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pins: BTreeMap<String, PinOutput>,
    /// It ends as completed, with the output of this node, once the node was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_after: Option<String>,
    /// The pins of the schema are to be added at the start.
    #[serde(skip)]
    pub with_stored_pins: bool,
}

/// What stands in for a visit to a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PinOutput {
    /// The exit; `None`: the one that an edge without a name means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    #[serde(default)]
    pub output: Value,
}

impl Trial {
    /// The trial of a start record. Of one that cannot be read nothing is known; the store keeps what was checked.
    pub fn of_record(record: &Value) -> Option<Self> {
        serde_json::from_value(record.get(FIELD)?.clone()).ok()
    }

    pub fn to_value(&self) -> Value {
        // Names and values can always be written.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Adds pins of the schema. Those that came with the start go before them; those of nodes that this version does not
    /// have stay behind.
    pub fn add_stored(&mut self, pins: Vec<Pin>, graph: &Graph) {
        for pin in pins {
            if graph.node(&pin.node_id).is_none() {
                continue;
            }
            let Ok(output) = serde_json::from_str(&pin.output) else {
                continue;
            };
            let handle = pin.handle;
            let known = self.pins.entry(pin.node_id);
            known.or_insert(PinOutput { handle, output });
        }
    }

    /// A node that the trial names and the version does not have.
    pub fn unknown_node(&self, graph: &Graph) -> Option<&str> {
        let mut named = self.pins.keys().chain(&self.stop_after);
        let unknown = named.find(|node| graph.node(node).is_none());
        unknown.map(String::as_str)
    }

    /// Leaves a pinned node without running it.
    pub fn stand_in<'g>(&self, graph: &'g Graph, node: &'g Node) -> Option<Move<'g>> {
        let pin = self.pins.get(&*node.id)?;
        let unnamed = node.handler.as_ref().and_then(|node| node.unnamed_exit());
        let handle = match &pin.handle {
            Some(handle) => Cow::from(handle.clone()),
            None => Cow::from(unnamed.unwrap_or(HANDLE_SUCCESS)),
        };
        let told = LogLine {
            level: LogLevel::Info,
            message: "its pinned output was used; the node was not run".into(),
        };
        let finished = VisitResult {
            logs: vec![told],
            changes: Map::new(),
            ..VisitResult::success(pin.output.clone())
        };
        Some(visit::leave(graph, node, handle, finished))
    }

    /// Ends the run behind the node that it was to stop after.
    pub fn cut_short<'g>(&self, node: &Node, decision: Move<'g>) -> Move<'g> {
        match decision {
            Move::Leave(finished, _) if self.stop_after.as_deref() == Some(&*node.id) => {
                let ending = visit::completed(&finished.output);
                Move::End(finished, ending)
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use serde_json::json;

    use super::*;
    use crate::execution::Status;
    use crate::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome, Registry};
    use crate::schema::load;

    struct Typed(&'static NodeSpec);

    #[async_trait]
    impl NodeHandler for Typed {
        fn spec(&self) -> &'static NodeSpec {
            self.0
        }

        fn unnamed_exit(&self) -> Option<&'static str> {
            match self.0.handles {
                [first, ..] => Some(first),
                [] => Some(HANDLE_SUCCESS),
            }
        }

        async fn run(&self, _call: NodeCall<'_>) -> Result<Outcome, NodeError> {
            Ok(Outcome::done(Value::Null))
        }
    }

    const fn spec(node_type: &'static str, handles: &'static [&'static str]) -> NodeSpec {
        NodeSpec {
            node_type,
            title: "",
            category: "",
            doc: "",
            pure: true,
            handles,
            fields: &[],
            output: "",
            example: "",
        }
    }

    static TYPES: [NodeSpec; 3] = [
        spec("start", &[]),
        spec("choice", &["true", "false"]),
        spec("end", &[]),
    ];

    fn graph() -> Graph {
        let handlers = TYPES
            .iter()
            .map(|spec| Arc::new(Typed(spec)) as Arc<dyn NodeHandler>);
        let registry = Registry::new(handlers.collect());
        let text = r#"{"name": "flow", "nodes": [{"id": "a", "type": "start"}, {"id": "b", "type": "choice"}, {"id": "c", "type": "end"}],
            "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "c", "sourceHandle": "true"}]}"#;
        let loaded = load(None, text, &registry);
        let definition = loaded.definition.expect("a valid schema");
        Graph::compile(definition, &registry).expect("a graph")
    }

    fn told(decision: Option<Move<'_>>) -> String {
        match decision {
            None => "runs".into(),
            Some(Move::Leave(finished, next)) => format!("{} to {}", finished.output, next.id),
            Some(Move::End(finished, ending)) => {
                format!("{} ends {}", finished.output, ending.status.name())
            }
            Some(_) => "blocks".into(),
        }
    }

    fn pinned(handle: Option<&str>) -> Trial {
        let pin = PinOutput {
            handle: handle.map(str::to_owned),
            output: json!(7),
        };
        Trial {
            pins: BTreeMap::from([("b".to_owned(), pin)]),
            ..Trial::default()
        }
    }

    #[test]
    fn a_pin_leaves_by_its_exit_or_by_the_one_without_a_name() {
        let graph = graph();
        let stands_in =
            |trial: &Trial, node| told(trial.stand_in(&graph, graph.node(node).expect("a node")));
        assert_eq!(stands_in(&pinned(None), "b"), "7 to c");
        assert_eq!(stands_in(&pinned(Some("true")), "b"), "7 to c");
        assert_eq!(stands_in(&pinned(Some("false")), "b"), "7 ends completed");
        assert_eq!(stands_in(&pinned(None), "a"), "runs");
    }

    #[test]
    fn a_trial_ends_behind_the_node_it_names() {
        let graph = graph();
        let trial = Trial {
            stop_after: Some("a".into()),
            ..Trial::default()
        };
        let leaves = |id| {
            let node = graph.node(id).expect("a node");
            let exit = if id == "b" { "true" } else { HANDLE_SUCCESS };
            let left = visit::leave(&graph, node, exit, VisitResult::success(json!(1)));
            told(Some(trial.cut_short(node, left)))
        };
        assert_eq!(leaves("a"), format!("1 ends {}", Status::Completed.name()));
        assert_eq!(leaves("b"), "1 to c");
    }

    #[test]
    fn stored_pins_come_behind_those_of_the_start_and_unknown_nodes_are_named() {
        let graph = graph();
        let stored = |node: &str| Pin {
            node_id: node.into(),
            handle: None,
            output: "8".into(),
            updated_by: "user:1".into(),
            updated_at: crate::time::Timestamp::from_micros(0),
        };
        let mut trial = pinned(None);
        trial.add_stored(vec![stored("a"), stored("b"), stored("gone")], &graph);
        assert_eq!(trial.pins["a"].output, json!(8));
        assert_eq!(trial.pins["b"].output, json!(7));
        assert_eq!(
            trial.unknown_node(&graph),
            None,
            "a stored pin of a node that is gone"
        );
        trial.stop_after = Some("nowhere".into());
        assert_eq!(trial.unknown_node(&graph), Some("nowhere"));
        let record = json!({ FIELD: trial.to_value() });
        assert_eq!(Trial::of_record(&record), Some(trial));
        assert_eq!(Trial::of_record(&json!({})), None);
    }
}
