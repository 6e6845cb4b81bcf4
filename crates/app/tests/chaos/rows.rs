//! Reading the database without the engine: own statements, own types.

use serde::Deserialize;
use serde_json::Value;

use crate::services::Services;

/// Status codes of `executions`.
pub(crate) const COMPLETED: i64 = 4;
pub(crate) const STOPPED: i64 = 6;
pub(crate) const STUCK: i64 = 11;
/// Completed, failed, stopped, failed as stuck.
pub(crate) const TERMINAL: [i64; 4] = [COMPLETED, 5, STOPPED, STUCK];

/// An execution with all it did and all that was done to it.
#[derive(Deserialize)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) status: i64,
    pub(crate) key: Option<String>,
    pub(crate) correlation_id: String,
    pub(crate) initial: Value,
    pub(crate) output: Value,
    pub(crate) error: Value,
    /// The row of `execution_state`.
    pub(crate) state: Value,
    pub(crate) letters: i64,
    pub(crate) steps: Vec<Step>,
    pub(crate) signals: Vec<Signal>,
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) journal: Vec<Entry>,
}

#[derive(Deserialize)]
pub(crate) struct Step {
    pub(crate) seq: i64,
    pub(crate) node_id: String,
    pub(crate) node_type: String,
    pub(crate) prev_node_id: Option<String>,
    pub(crate) next_node_id: Option<String>,
    pub(crate) output: Value,
    pub(crate) changes: Value,
    pub(crate) status: i64,
    pub(crate) error: Value,
    pub(crate) attempts: Value,
    pub(crate) started_at: i64,
    pub(crate) finished_at: i64,
}

impl Step {
    pub(crate) fn succeeded(&self) -> bool {
        self.status == 1
    }

    /// An edit by a person in the debugger.
    pub(crate) fn is_edit(&self) -> bool {
        self.node_id == "$edit"
    }
}

#[derive(Deserialize)]
pub(crate) struct Signal {
    pub(crate) id: String,
    pub(crate) payload: Value,
    pub(crate) consumed_seq: Option<i64>,
}

#[derive(Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) seq: i64,
    pub(crate) context: Value,
}

/// One change of a row, as a trigger saw it.
#[derive(Deserialize)]
pub(crate) struct Entry {
    pub(crate) at: i64,
    /// The name of the process.
    pub(crate) writer: String,
    /// `state`, `status`; anything else must not be.
    pub(crate) what: String,
    pub(crate) before: Value,
    pub(crate) after: Value,
}

/// Sets up the journal; the tables must be there.
pub(crate) async fn prepare(services: &Services) {
    services.script(include_str!("journal.sql")).await;
}

pub(crate) async fn runs(services: &Services, ids: &[String]) -> Vec<Run> {
    let sql = include_str!("evidence.sql").replace("$IDS", &ids.join(","));
    serde_json::from_value(services.json(&sql).await).unwrap()
}
