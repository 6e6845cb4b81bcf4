//! Reading the database without the engine: own statements on a copy, so that the original stays as the kill left it.

use std::path::Path;

use rusqlite::{Connection, Row};
use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;

/// Status codes of `executions`.
pub(crate) const COMPLETED: i64 = 4;
/// Completed, failed, stopped, failed as stuck.
pub(crate) const TERMINAL: [i64; 4] = [4, 5, 6, 11];

pub(crate) struct Copy {
    pub(crate) connection: Connection,
    _folder: TempDir,
}

impl Copy {
    /// Of a data folder that no process is using. The log of writes comes along; its index is made anew.
    pub(crate) fn of(data: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["pawl.db", "pawl.db-wal"] {
            if data.join(name).exists() {
                std::fs::copy(data.join(name), folder.path().join(name)).unwrap();
            }
        }
        Self {
            connection: Connection::open(folder.path().join("pawl.db")).unwrap(),
            _folder: folder,
        }
    }

    pub(crate) fn all<T>(&self, sql: &str, read: impl Fn(&Row<'_>) -> T) -> Vec<T> {
        let mut statement = self.connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok(read(row))).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

pub(crate) fn id(row: &Row<'_>, column: usize) -> String {
    Uuid::from_bytes(row.get(column).unwrap()).to_string()
}

/// JSON in a column; null for none.
fn json(row: &Row<'_>, column: usize) -> Value {
    let text: Option<String> = row.get(column).unwrap();
    text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

/// An execution with all it did.
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) status: i64,
    pub(crate) key: String,
    pub(crate) correlation_id: String,
    pub(crate) initial: Value,
    pub(crate) output: Value,
    pub(crate) error: Value,
    pub(crate) state_seq: i64,
    /// A lease or a wait is left.
    pub(crate) blocked: bool,
    pub(crate) steps: Vec<Step>,
    pub(crate) signals: Vec<Signal>,
    /// Seq and text.
    pub(crate) snapshots: Vec<(i64, Value)>,
}

pub(crate) struct Step {
    pub(crate) seq: i64,
    pub(crate) node_id: String,
    pub(crate) node_type: String,
    pub(crate) prev_node_id: Option<String>,
    pub(crate) next_node_id: Option<String>,
    pub(crate) output: Value,
    pub(crate) changes: Value,
    pub(crate) success: bool,
    pub(crate) error: Value,
    pub(crate) attempts: Value,
    pub(crate) started_at: i64,
    pub(crate) finished_at: i64,
}

pub(crate) struct Signal {
    pub(crate) id: String,
    pub(crate) payload: Value,
    pub(crate) consumed_seq: Option<i64>,
}

pub(crate) fn runs(copy: &Copy) -> Vec<Run> {
    let mut runs = copy.all(
        "SELECT e.id, e.status, e.idempotency_key, e.correlation_id, e.initial, e.output, e.error, s.seq,
                s.lease_token IS NOT NULL OR s.wait_kind IS NOT NULL
         FROM executions e JOIN execution_state s ON s.execution_id = e.id ORDER BY e.id",
        |row| Run {
            id: id(row, 0),
            status: row.get(1).unwrap(),
            key: row.get::<_, Option<String>>(2).unwrap().unwrap_or_default(),
            correlation_id: row.get(3).unwrap(),
            initial: json(row, 4),
            output: json(row, 5),
            error: json(row, 6),
            state_seq: row.get(7).unwrap(),
            blocked: row.get(8).unwrap(),
            steps: Vec::new(),
            signals: Vec::new(),
            snapshots: Vec::new(),
        },
    );
    for (id, step) in steps(copy) {
        find(&mut runs, &id).steps.push(step);
    }
    for (id, signal) in signals(copy) {
        find(&mut runs, &id).signals.push(signal);
    }
    let snapshots = copy.all(
        "SELECT execution_id, seq, context FROM execution_snapshots",
        |row| (id(row, 0), row.get(1).unwrap(), json(row, 2)),
    );
    for (id, seq, context) in snapshots {
        find(&mut runs, &id).snapshots.push((seq, context));
    }
    runs
}

fn find<'r>(runs: &'r mut [Run], id: &str) -> &'r mut Run {
    let place = runs.binary_search_by(|run| run.id.as_str().cmp(id));
    let place = place.unwrap_or_else(|_| panic!("a row of an execution {id} that is not there"));
    &mut runs[place]
}

fn steps(copy: &Copy) -> Vec<(String, Step)> {
    copy.all(
        "SELECT execution_id, seq, node_id, node_type, prev_node_id, next_node_id, output, changes, status = 1,
                error, attempts, started_at, finished_at
         FROM execution_steps ORDER BY execution_id, seq",
        |row| {
            let step = Step {
                seq: row.get(1).unwrap(),
                node_id: row.get(2).unwrap(),
                node_type: row.get(3).unwrap(),
                prev_node_id: row.get(4).unwrap(),
                next_node_id: row.get(5).unwrap(),
                output: json(row, 6),
                changes: json(row, 7),
                success: row.get(8).unwrap(),
                error: json(row, 9),
                attempts: json(row, 10),
                started_at: row.get(11).unwrap(),
                finished_at: row.get(12).unwrap(),
            };
            (id(row, 0), step)
        },
    )
}

fn signals(copy: &Copy) -> Vec<(String, Signal)> {
    copy.all(
        "SELECT execution_id, id, payload, consumed_seq FROM signals ORDER BY execution_id, inbox",
        |row| {
            let signal = Signal {
                id: row.get(1).unwrap(),
                payload: json(row, 2),
                consumed_seq: row.get(3).unwrap(),
            };
            (id(row, 0), signal)
        },
    )
}
