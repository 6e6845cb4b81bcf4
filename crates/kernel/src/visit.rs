//! What follows from one try of a node: leave by an edge, try again, block or end. Pure: the engine runs the
//! node, this decides, the engine acts.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::execution::{Ending, Status, StepStatus};
use crate::node::{LogLine, NodeError, Outcome};
use crate::schema::definition::{HANDLE_ERROR, HANDLE_SUCCESS, HANDLE_TIMEOUT, OnError};
use crate::schema::graph::{Graph, Node};
use crate::time::Timestamp;

/// An event did not come in time, and the schema does not say what then.
pub const EVENT_TIMEOUT: &str = "EVENT_TIMEOUT";

/// What a finished visit leaves behind: the contents of its step.
#[derive(Clone, Debug, PartialEq)]
pub struct VisitResult {
    pub status: StepStatus,
    /// The exit it leaves by, with or without an edge there.
    pub handle: Option<Cow<'static, str>>,
    pub output: Value,
    pub error: Value,
    pub changes: Map<String, Value>,
    pub logs: Vec<LogLine>,
}

impl VisitResult {
    pub fn success(output: Value) -> Self {
        Self {
            status: StepStatus::Success,
            handle: None,
            output,
            error: Value::Null,
            changes: Map::new(),
            logs: Vec::new(),
        }
    }

    fn by(self, handle: impl Into<Cow<'static, str>>) -> Self {
        Self {
            handle: Some(handle.into()),
            ..self
        }
    }

    pub fn failed(error: &NodeError) -> Self {
        Self {
            status: StepStatus::Failed,
            error: error.to_value(),
            logs: error.logs().to_vec(),
            ..Self::success(Value::Null)
        }
    }
}

pub enum Move<'g> {
    /// The visit is over and the execution goes on at a node.
    Leave(VisitResult, &'g Node),
    /// The visit is over and so is the execution.
    End(VisitResult, Ending),
    /// The try failed; another one is allowed after the delay. What it logged is with the error.
    Retry(NodeError, Duration),
    Sleep(Timestamp),
    Await {
        event: String,
        timeout: Option<Duration>,
    },
}

/// `failures` counts the failed tries before this one; `jitter` is a draw from 0..1.
pub fn settle<'g>(
    graph: &'g Graph,
    node: &'g Node,
    result: Result<Outcome, NodeError>,
    failures: u32,
    jitter: f64,
) -> Move<'g> {
    match result {
        Ok(Outcome::Done {
            handle,
            output,
            changes,
            logs,
        }) => {
            let finished = VisitResult {
                status: StepStatus::Success,
                handle: None,
                output,
                error: Value::Null,
                changes,
                logs,
            };
            leave(graph, node, handle, finished)
        }
        Ok(Outcome::Respond { answer }) => {
            leave(graph, node, HANDLE_SUCCESS, VisitResult::success(answer))
        }
        Ok(Outcome::End {
            success: true,
            output,
            ..
        }) => {
            let ending = completed(&output);
            End::with(StepStatus::Success, output, Value::Null, ending)
        }
        Ok(Outcome::End {
            success: false,
            output,
            message,
        }) => failed_end(node, output, message),
        Ok(Outcome::Sleep { until }) => Move::Sleep(until),
        Ok(Outcome::Wait { event, timeout }) => Move::Await { event, timeout },
        Err(error) => match retry_delay(node, &error, failures, jitter) {
            Some(delay) => Move::Retry(error, delay),
            None => give_up(graph, node, &error),
        },
    }
}

/// Leaves by `handle`. No exit falls back to another one's edge: without an edge of its own it ends the execution as
/// completed.
pub fn leave<'g>(
    graph: &'g Graph,
    node: &'g Node,
    handle: impl Into<Cow<'static, str>>,
    finished: VisitResult,
) -> Move<'g> {
    let handle = handle.into();
    let next = graph.target(node, &handle);
    let finished = finished.by(handle);
    match next {
        Some(next) => Move::Leave(finished, next),
        None => {
            let ending = completed(&finished.output);
            Move::End(finished, ending)
        }
    }
}

/// A failure that is final: by the edge `error`, or on by `success`, or the end.
pub fn give_up<'g>(graph: &'g Graph, node: &'g Node, error: &NodeError) -> Move<'g> {
    let finished = VisitResult::failed(error);
    if let Some(next) = graph.target(node, HANDLE_ERROR) {
        return Move::Leave(finished.by(HANDLE_ERROR), next);
    }
    if node.definition.on_error == OnError::Continue {
        return leave(graph, node, HANDLE_SUCCESS, finished);
    }
    let ending = failed(error, &node.id);
    Move::End(finished, ending)
}

/// The event did not come in time: by `timeout`, or the visit has failed, and then not even `on_error: continue` leads
/// on by `success`, where the event is taken for granted.
pub fn time_out<'g>(graph: &'g Graph, node: &'g Node, event: &str) -> Move<'g> {
    if let Some(next) = graph.target(node, HANDLE_TIMEOUT) {
        let output = json!({"name": event, "timed_out": true});
        return Move::Leave(VisitResult::success(output).by(HANDLE_TIMEOUT), next);
    }
    let error = event_timeout(node, event);
    let finished = VisitResult::failed(&error);
    match graph.target(node, HANDLE_ERROR) {
        Some(next) => Move::Leave(finished.by(HANDLE_ERROR), next),
        None => Move::End(finished, failed(&error, &node.id)),
    }
}

fn event_timeout(node: &Node, event: &str) -> NodeError {
    let message = format!(
        "`{}` waited for `{event}`, which did not come in time, and no edge leaves it by `timeout`",
        node.id
    );
    NodeError::new(EVENT_TIMEOUT, message)
}

pub fn completed(output: &Value) -> Ending {
    let output = (!output.is_null()).then(|| output.to_string());
    Ending {
        status: Status::Completed,
        output,
        error: None,
    }
}

/// The ending of an execution that failed at `node_id`.
pub fn failed(error: &NodeError, node_id: &str) -> Ending {
    let mut value = error.to_value();
    value["node_id"] = node_id.into();
    Ending {
        status: Status::Failed,
        output: None,
        error: Some(value.to_string()),
    }
}

struct End;

impl End {
    fn with<'g>(status: StepStatus, output: Value, error: Value, ending: Ending) -> Move<'g> {
        Move::End(
            VisitResult {
                status,
                handle: None,
                output,
                error,
                changes: Map::new(),
                logs: Vec::new(),
            },
            ending,
        )
    }
}

fn failed_end<'g>(node: &Node, output: Value, message: Option<String>) -> Move<'g> {
    let message = message.unwrap_or_else(|| format!("the schema ended as failed at `{}`", node.id));
    let error = NodeError::new("FAILED", message);
    let mut ending = failed(&error, &node.id);
    ending.output = completed(&output).output;
    End::with(StepStatus::Failed, output, error.to_value(), ending)
}

fn retry_delay(node: &Node, error: &NodeError, failures: u32, jitter: f64) -> Option<Duration> {
    let policy = node.definition.retry.as_ref()?;
    if !error.retryable || failures + 1 >= policy.max_attempts {
        return None;
    }
    let delay = policy.delay_after(failures + 1, jitter);
    Some(error.retry_after.map_or(delay, |asked| asked.max(delay)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;

    use super::*;
    use crate::node::{LogLevel, NodeCall, NodeHandler, NodeSpec, Registry};

    const fn spec(node_type: &'static str, handles: &'static [&'static str]) -> NodeSpec {
        NodeSpec {
            node_type,
            title: "",
            category: "",
            doc: "",
            pure: false,
            handles,
            fields: &[],
            output: "",
            example: "",
        }
    }

    static TYPES: [NodeSpec; 5] = [
        spec("start", &[]),
        spec("work", &[]),
        spec("end", &[]),
        spec("choice", &["true", "false"]),
        spec("wait", &["success", "timeout"]),
    ];

    struct Type(&'static NodeSpec);

    #[async_trait]
    impl NodeHandler for Type {
        fn spec(&self) -> &'static NodeSpec {
            self.0
        }

        async fn run(&self, _: NodeCall<'_>) -> Result<Outcome, NodeError> {
            Ok(Outcome::done(Value::Null))
        }
    }

    fn graph() -> Graph {
        leaving("work, retry: {max_attempts: 2, delay: 1s}", &["success"])
    }

    /// A node `b` of the type, with an edge from each of the handles to a node of the handle's name.
    fn leaving(node_type: &str, handles: &[&str]) -> Graph {
        let types = TYPES
            .iter()
            .map(|spec| Arc::new(Type(spec)) as Arc<dyn NodeHandler>);
        let registry = Registry::new(types.collect());
        let ends: String = handles
            .iter()
            .map(|handle| format!("- {{id: '{handle}', type: end}}\n"))
            .collect();
        let edges: String = handles
            .iter()
            .map(|handle| format!("- {{source: b, target: '{handle}', sourceHandle: {handle}}}\n"))
            .collect();
        let text = format!(
            "name: t\nnodes:\n- {{id: a, type: start}}\n- {{id: b, type: {node_type}}}\n{ends}edges:\n\
             - {{source: a, target: b}}\n{edges}"
        );
        let loaded = crate::schema::load(Some("t.yaml"), &text, &registry);
        let definition = loaded
            .definition
            .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        Graph::compile(definition, &registry).unwrap()
    }

    /// Whether it is tried again or not.
    #[test]
    fn what_a_failed_try_logged_goes_on() {
        let lines = vec![LogLine {
            level: LogLevel::Warn,
            message: "before it failed".into(),
        }];
        let graph = graph();
        let node = graph.node("b").unwrap();
        let error = NodeError::new("SHAKY", "not yet").with_logs(lines.clone());
        match settle(&graph, node, Err(error.clone().retryable()), 0, 0.0) {
            Move::Retry(error, _) => assert_eq!(error.logs(), lines),
            _ => panic!("not retried"),
        }
        match settle(&graph, node, Err(error.clone()), 0, 0.0) {
            Move::End(finished, _) => assert_eq!(finished.logs, lines),
            _ => panic!("not ended"),
        }
        assert!(!error.to_value().to_string().contains("before it failed"));
    }

    /// Where a move leads, or how it ends.
    fn told(decision: Move<'_>) -> String {
        match decision {
            Move::Leave(finished, next) => format!("{:?} to {}", finished.status, next.id),
            Move::End(finished, ending) => {
                let error: Value =
                    serde_json::from_str(ending.error.as_deref().unwrap_or("{}")).unwrap();
                let code = error["code"].as_str().unwrap_or("no error");
                format!("{:?}, {:?}: {code}", finished.status, ending.status)
            }
            _ => "goes on".into(),
        }
    }

    #[track_caller]
    fn check_exit(edges: &[&str], handle: &str, expected: &str) {
        let graph = leaving("choice", edges);
        let done = Ok(Outcome::exit(handle.to_owned(), json!({"result": true})));
        let node = graph.node("b").unwrap();
        assert_eq!(
            told(settle(&graph, node, done, 0, 0.0)),
            expected,
            "{edges:?}"
        );
    }

    #[test]
    fn no_exit_falls_back_to_another() {
        check_exit(&["true", "false"], "false", "Success to false");
        check_exit(&["true"], "false", "Success, Completed: no error");
        check_exit(&["false", "error"], "true", "Success, Completed: no error");
    }

    /// Not even for a version that was stored when it did.
    #[test]
    fn an_old_default_edge_is_not_taken() {
        let mut definition = leaving("choice", &["true"]).definition().clone();
        definition.edges[1].source_handle = HANDLE_SUCCESS.into();
        let graph = Graph::compile(definition, &Registry::default()).unwrap();
        let node = graph.node("b").unwrap();
        let left = leave(&graph, node, "false", VisitResult::success(json!(1)));
        assert_eq!(told(left), "Success, Completed: no error");
    }

    #[track_caller]
    fn check_timeout(fields: &str, edges: &[&str], expected: &str) {
        let graph = leaving(&format!("wait{fields}"), edges);
        let node = graph.node("b").unwrap();
        assert_eq!(
            told(time_out(&graph, node, "approved")),
            expected,
            "{edges:?}"
        );
    }

    #[test]
    fn an_event_that_never_came_is_no_success() {
        check_timeout("", &["success", "timeout"], "Success to timeout");
        check_timeout("", &["success"], "Failed, Failed: EVENT_TIMEOUT");
        check_timeout("", &["success", "error"], "Failed to error");
        check_timeout(
            ", on_error: continue",
            &["success"],
            "Failed, Failed: EVENT_TIMEOUT",
        );
    }
}
