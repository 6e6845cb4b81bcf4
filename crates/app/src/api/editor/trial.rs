//! One node by itself, as an editor has it: checked as a schema is, run, and forgotten.

use axum::extract::State;
use pawl_engine::control::{NodeTrial, NodeTrialReport};
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::execution::StepStatus;
use pawl_kernel::node::{NodeError, Outcome};
use pawl_kernel::ports::store::SchemaRecord;
use pawl_kernel::schema::definition::{Definition, HANDLE_ERROR, HANDLE_SUCCESS};
use pawl_kernel::schema::validate::NODE_START;
use pawl_kernel::schema::{Graph, LoadedSchema, load};
use serde_json::{Map, Value, json};

use super::super::ApiState;
use super::super::body::JsonBody;
use super::super::error::{ApiError, ApiResult};
use super::super::guard::Identity;
use super::super::path::PathParts;
use super::super::schemas::{find, version};
use super::super::{fields, reply};
use crate::wire::{Name, NodeTrialLog, NodeTrialRequest, NodeTrialResult, NodeTrialWait, Time};

/// Where the node stands in the definition that it is checked in.
const PLACE: &str = "/nodes/0";

pub(in crate::api) async fn try_node(
    State(state): State<ApiState>,
    path: PathParts,
    identity: Identity,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let asked: NodeTrialRequest = fields::read(body)?;
    let record = find(&state, path.get("id")).await?;
    let latest = version(&state, &record, record.latest_version).await?;
    let stored: Definition =
        serde_json::from_str(&latest.definition).map_err(ApiError::internal)?;
    let mut context = asked.context.unwrap_or_default();
    state.runtime().redactor.object(&mut context);
    let node_id = node_id(&asked.node)?;
    let text = surrounded(&record, &stored, asked.node, &node_id, &context).to_string();
    let graph = compiled(&state, text).await?;
    let previous = asked.previous.map(|node| node.0);
    let previous = previous.or_else(|| step_before(&stored, &node_id, &context));
    let trial = NodeTrial {
        graph,
        node_id,
        context,
        previous,
        user: identity.user,
        created_by: identity.created_by,
    };
    let report = state.control.try_node(trial).await?;
    Ok(reply::ok(&shown(&state, report)))
}

fn node_id(node: &Map<String, Value>) -> ApiResult<String> {
    if node.get("type").and_then(Value::as_str) == Some(NODE_START) {
        let message = "a `start` does nothing by itself; try another node";
        return Err(ApiError::invalid_request(message));
    }
    let id = node.get("id").and_then(Value::as_str);
    let id = id.filter(|id| !id.is_empty());
    let missing = || ApiError::invalid_request("`node` needs an `id`, a text");
    id.map(str::to_owned).ok_or_else(missing)
}

/// The node with an edge to it, and a stand-in for each other node that its expressions may name.
fn surrounded(
    record: &SchemaRecord,
    stored: &Definition,
    node: Map<String, Value>,
    node_id: &str,
    context: &Map<String, Value>,
) -> Value {
    let mut others: Vec<(&str, Option<&str>)> = stored
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node.name.as_deref()))
        .collect();
    let seen = context.get("steps").and_then(Value::as_object);
    for id in seen.into_iter().flat_map(Map::keys) {
        if !others.iter().any(|(known, _)| known == id) {
            others.push((id, None));
        }
    }
    others.retain(|(id, _)| *id != node_id);
    let mut start = "start".to_owned();
    while start == node_id || others.iter().any(|(id, _)| *id == start) {
        start.push('_');
    }
    let mut nodes = vec![
        Value::Object(node),
        json!({"id": start, "type": NODE_START}),
    ];
    nodes.extend(others.into_iter().map(|(id, name)| stand_in(id, name)));
    let timeout = stored.settings.node_timeout.as_secs_f64();
    json!({
        "name": record.name,
        "settings": {"node_timeout": timeout},
        "nodes": nodes,
        "edges": [{"source": start, "target": node_id}],
    })
}

fn stand_in(id: &str, name: Option<&str>) -> Value {
    let mut node = json!({"id": id, "type": "log", "config": {"message": "-"}});
    if let Some(name) = name {
        node["name"] = name.into();
    }
    node
}

/// Problems of the node are told with pointers into it; what surrounds it has none that a user could fix.
async fn compiled(state: &ApiState, text: String) -> ApiResult<Graph> {
    let registry = state.runtime().registry.clone();
    let work = move || {
        let LoadedSchema {
            definition,
            diagnostics,
        } = load(None, &text, &registry);
        let Some(definition) = definition else {
            return Err(diagnostics);
        };
        Graph::compile(definition, &registry)
    };
    let compiled = tokio::task::spawn_blocking(work).await;
    compiled.map_err(ApiError::internal)?.map_err(|found| {
        let errors = found.into_iter().filter(Diagnostic::is_error);
        let own: Vec<Diagnostic> = errors.map(of_node).collect();
        ApiError::diagnosed("INVALID_SCHEMA", "node", &own)
    })
}

fn of_node(mut found: Diagnostic) -> Diagnostic {
    found.place = None;
    if let Some(rest) = found.pointer.strip_prefix(PLACE) {
        found.pointer = rest.to_owned();
    }
    found
}

/// The node before it, of which the context knows a step.
fn step_before(stored: &Definition, node_id: &str, context: &Map<String, Value>) -> Option<String> {
    let steps = context.get("steps")?.as_object()?;
    let mut before = stored.edges.iter().filter(|edge| edge.target == node_id);
    let known = before.find(|edge| steps.contains_key(&edge.source))?;
    Some(known.source.clone())
}

/// What a visit would come to.
#[derive(Default)]
struct Visit {
    handle: Option<String>,
    output: Value,
    changes: Map<String, Value>,
    error: Value,
    waits: Option<NodeTrialWait>,
}

fn shown(state: &ApiState, report: NodeTrialReport) -> NodeTrialResult<'static> {
    let mut visit = visit(report.outcome);
    let redactor = &state.runtime().redactor;
    redactor.value(&mut visit.output);
    redactor.value(&mut visit.error);
    redactor.object(&mut visit.changes);
    let status = match visit.error.is_null() {
        true => StepStatus::Success,
        false => StepStatus::Failed,
    };
    let logs = report.logs.into_iter();
    NodeTrialResult {
        status: status.into(),
        handle: visit.handle.map(Into::into),
        input: report.input,
        output: visit.output,
        changes: visit.changes,
        error: visit.error,
        waits: visit.waits,
        logs: logs
            .map(|line| NodeTrialLog {
                level: Name::new(line.level.name()),
                message: line.message,
            })
            .collect(),
        started_at: Time(report.started_at),
        finished_at: Time(report.finished_at),
        duration_ms: report.finished_at.since(report.started_at).as_secs_f64() * 1e3,
    }
}

fn visit(outcome: Result<Outcome, NodeError>) -> Visit {
    let success = Some(HANDLE_SUCCESS.to_owned());
    match outcome {
        Ok(Outcome::Done {
            handle,
            output,
            changes,
            ..
        }) => Visit {
            handle: Some(handle.into_owned()),
            output,
            changes,
            ..Visit::default()
        },
        Ok(Outcome::Respond { answer }) => Visit {
            handle: success,
            output: answer,
            ..Visit::default()
        },
        Ok(Outcome::End {
            success,
            output,
            message,
        }) => Visit {
            output,
            error: match success {
                true => Value::Null,
                false => {
                    let message = message.unwrap_or_else(|| "the run would end as failed".into());
                    NodeError::new("FAILED", message).to_value()
                }
            },
            ..Visit::default()
        },
        Ok(Outcome::Sleep { until }) => waiting(Some(Time(until)), None),
        Ok(Outcome::Wait { event, .. }) => waiting(None, Some(event)),
        Err(error) => Visit {
            handle: Some(HANDLE_ERROR.to_owned()),
            error: error.to_value(),
            ..Visit::default()
        },
    }
}

fn waiting(until: Option<Time>, event: Option<String>) -> Visit {
    Visit {
        waits: Some(NodeTrialWait { until, event }),
        ..Visit::default()
    }
}
