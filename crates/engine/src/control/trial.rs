//! Trial runs, and one node by itself. Of a node that is tried nothing is stored; its effect happens.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use pawl_kernel::effect;
use pawl_kernel::expr::Scope;
use pawl_kernel::id::{self, SchemaId};
use pawl_kernel::node::{LogLine, NodeCall, NodeError, Outcome};
use pawl_kernel::operations::{ReadPins, perform};
use pawl_kernel::schema::graph::{Graph, Node};
use pawl_kernel::secrets::Reader;
use pawl_kernel::time::{Timestamp, format_duration};
use pawl_kernel::trial::Trial;
use serde_json::{Map, Value, json};

use super::{Control, ControlError};
use crate::evaluation::SharedTime;
use crate::pass::panic_text;

/// A caller waits for the answer, over a connection that may not stay open for longer.
const NODE_TIME_MAX: Duration = Duration::from_secs(60);
/// Nodes that a process tries at once; the others wait.
pub(super) const NODES_AT_ONCE: usize = 4;

/// One node to be tried, with what it is to see.
pub struct NodeTrial {
    pub graph: Graph,
    pub node_id: String,
    /// Roots of the context; those that a run always has are added.
    pub context: Map<String, Value>,
    /// The node whose output is the step before's.
    pub previous: Option<String>,
    pub user: Value,
    pub created_by: String,
}

/// What a node did that was tried.
pub struct NodeTrialReport {
    /// The config that it was given; null if it could not be rendered.
    pub input: Value,
    pub outcome: Result<Outcome, NodeError>,
    pub logs: Vec<LogLine>,
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
}

/// What the node is told of the run that it is not part of.
struct TrialCall<'a> {
    node: &'a Node,
    graph: &'a Graph,
    context: &'a Map<String, Value>,
    previous: Option<&'a str>,
    id: &'a str,
    effect_key: Option<&'a str>,
    now: Timestamp,
}

impl Control {
    /// Adds the pins of the schema, and checks that the version has the nodes that the trial names.
    pub(super) async fn complete_trial(
        &self,
        schema_id: SchemaId,
        graph: &Graph,
        trial: &mut Trial,
    ) -> Result<(), ControlError> {
        if let Some(node) = trial.unknown_node(graph) {
            let message = format!(
                "`trial` names the node `{node}`, which this version of the schema does not have"
            );
            return Err(ControlError::Invalid {
                code: "INVALID_REQUEST",
                message,
            });
        }
        if trial.with_stored_pins {
            let pins = perform(&*self.runtime.store, ReadPins { schema_id }).await?;
            trial.add_stored(pins, graph);
        }
        Ok(())
    }

    /// Runs one node by itself. Dropping the future cancels it.
    pub async fn try_node(&self, mut trial: NodeTrial) -> Result<NodeTrialReport, ControlError> {
        let id = format!(
            "trial-{}",
            id::time_ordered(self.runtime.now(), &*self.runtime.entropy)
        );
        self.fill_context(&mut trial, &id);
        let Some(node) = trial.graph.node(&trial.node_id) else {
            let message = format!("there is no node `{}`", trial.node_id);
            return Err(ControlError::NotFound(message));
        };
        // Never closed.
        let _place = self.trials.acquire().await;
        let effect_key = (!node.pure).then(|| effect::of_trial(&id));
        let call = TrialCall {
            node,
            graph: &trial.graph,
            context: &trial.context,
            previous: trial.previous.as_deref(),
            id: &id,
            effect_key: effect_key.as_deref(),
            now: self.runtime.now(),
        };
        Ok(self.run_alone(call).await)
    }

    fn fill_context(&self, trial: &mut NodeTrial, id: &str) {
        let (roots, definition) = (&mut trial.context, trial.graph.definition());
        // Secrets come from the configuration alone.
        roots.shift_remove("secrets");
        for name in ["webhook", "input", "variables", "steps"] {
            roots.entry(name).or_insert_with(|| json!({}));
        }
        roots.insert("user".into(), trial.user.clone());
        roots.insert("env".into(), self.runtime.options.env.clone().into());
        roots.insert(
            "execution".into(),
            json!({
                "id": id,
                "schema": definition.name,
                "version": 0,
                "started_by": trial.created_by,
                "correlation_id": id,
            }),
        );
    }

    async fn run_alone(&self, call: TrialCall<'_>) -> NodeTrialReport {
        let mut input = Value::Null;
        let mut outcome = match call.node.definition.disabled {
            true => Ok(Outcome::done(Value::Null)),
            false => self.rendered_and_run(&call, &mut input).await,
        };
        let mut logs = match &mut outcome {
            Ok(Outcome::Done { logs, .. }) => std::mem::take(logs),
            Ok(_) => Vec::new(),
            Err(error) => error.logs().to_vec(),
        };
        let redactor = &self.runtime.redactor;
        redactor.value(&mut input);
        logs.iter_mut()
            .for_each(|line| redactor.text(&mut line.message));
        NodeTrialReport {
            input,
            outcome,
            logs,
            started_at: call.now,
            finished_at: self.runtime.now(),
        }
    }

    async fn rendered_and_run(
        &self,
        call: &TrialCall<'_>,
        input: &mut Value,
    ) -> Result<Outcome, NodeError> {
        let node = call.node;
        let handler = node.handler.clone().ok_or_else(|| {
            let message = format!("this process has no node type `{}`", node.node_type);
            NodeError::new("UNKNOWN_NODE_TYPE", message)
        })?;
        let reader = Reader {
            name: &call.graph.definition().name,
            guards: handler.guards_secrets(),
        };
        let mut roots = call.context.clone();
        let mut carried = Default::default();
        if !node.pure {
            let given = self.runtime.secrets(node.secret_reads(), reader)?;
            roots.insert("secrets".into(), given.0.into());
            carried = given.1;
        }
        let scope = Scope::new(&roots, call.now.as_micros(), call.id, 1);
        let evaluations = &self.runtime.evaluations;
        let config = evaluations.evaluate_in_turn(|meter| node.render(&scope, meter));
        let config = config.await?;
        input.clone_from(&config);
        let late = node.late(&scope).with_long_runs(|| {
            let (evaluations, time) = (evaluations.clone(), SharedTime::default());
            move |work: &mut dyn FnMut(&mut _)| evaluations.long_together(&time, work)
        });
        let timeout = node.timeout.min(NODE_TIME_MAX);
        let work = handler.run(NodeCall {
            node_id: &node.id,
            config,
            execution_id: call.id,
            correlation_id: call.id,
            seq: 1,
            attempt: 1,
            entered_at: call.now,
            now: call.now,
            effect_key: call.effect_key,
            timeout,
            limits: self.runtime.options.payload,
            context: call.context,
            previous: call.previous,
            names: call.graph.names(),
            late,
            secrets: carried,
        });
        tokio::select! {
            biased;
            ended = AssertUnwindSafe(work).catch_unwind() => ended.unwrap_or_else(|panic| {
                let text = panic_text(&*panic);
                tracing::error!(node_id = %node.id, panic = text, "a node handler panicked");
                Err(NodeError::new("INTERNAL_ERROR", format!("the node type `{}` has a bug: {text}", node.node_type)))
            }),
            () = self.runtime.clock.sleep_until(call.now.plus(timeout)) => {
                let message = format!("`{}` did not finish within {}", node.id, format_duration(timeout));
                Err(NodeError::new("NODE_TIMEOUT", message).retryable())
            }
        }
    }
}
