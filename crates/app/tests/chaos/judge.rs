//! The verdict: every promise checked on what is stored, on what triggers saw and on what the sink saw, by code that
//! shares nothing with the engine.

#[path = "judge/effects.rs"]
mod effects;
#[path = "judge/history.rs"]
mod history;
#[path = "judge/journal.rs"]
mod journal;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::flows::Flow;
use crate::orders::{Order, Treatment};
use crate::rows::{COMPLETED, Run, STOPPED, STUCK, TERMINAL};
use crate::sink::Request;
use crate::tally::Tally;

/// Everything there is to know about some executions after they have ended.
pub(crate) struct Evidence {
    pub(crate) orders: Vec<Order>,
    pub(crate) runs: Vec<Run>,
    /// All that the sink ever got.
    pub(crate) requests: Vec<Request>,
    /// What the API says the context is after the last step, by execution.
    pub(crate) contexts: BTreeMap<String, Value>,
    /// Names of processes by their number.
    pub(crate) names: BTreeMap<u32, String>,
}

/// One execution and what was wanted of it.
struct Case<'e> {
    order: &'e Order,
    run: &'e Run,
    /// By effect key, in the order of arrival.
    requests: BTreeMap<&'e str, Vec<&'e Request>>,
    context: Option<&'e Value>,
    names: &'e BTreeMap<u32, String>,
    exits: &'e Exits,
}

/// Where each exit of each node leads to.
type Exits = BTreeMap<(String, String), String>;

/// What is wrong, and what was counted on the way.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) problems: Vec<String>,
    pub(crate) tally: Tally,
}

impl Verdict {
    fn hold(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(problem());
        }
    }
}

pub(crate) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    let exits: BTreeMap<Flow, Exits> = Flow::ALL.map(|flow| (flow, exits(flow))).into();
    let runs: BTreeMap<&str, &Run> = evidence
        .runs
        .iter()
        .map(|run| (run.id.as_str(), run))
        .collect();
    let mut seen = BTreeSet::new();
    for order in &evidence.orders {
        // Whoever was not accepted is somebody else's complaint.
        let Some(id) = order.id.as_deref() else {
            continue;
        };
        verdict.hold(seen.insert(id), || {
            format!("{id} was the answer to two orders")
        });
        let Some(run) = runs.get(id) else {
            verdict
                .problems
                .push(format!("accepted and lost: {order:?}"));
            continue;
        };
        let case = Case {
            order,
            run,
            requests: requests_of(id, &evidence.requests),
            context: evidence.contexts.get(id),
            names: &evidence.names,
            exits: &exits[&order.flow],
        };
        check(&case, &mut verdict);
    }
    verdict
}

fn check(case: &Case<'_>, verdict: &mut Verdict) {
    let run = case.run;
    verdict.tally.executions += 1;
    verdict.tally.completed += usize::from(run.status == COMPLETED);
    verdict.tally.stopped += usize::from(run.status == STOPPED);
    verdict.tally.stuck += usize::from(run.status == STUCK);
    check_end(case, verdict);
    if TERMINAL.contains(&run.status) {
        history::check(case, verdict);
        effects::check(case, verdict);
        journal::check(case, verdict);
    }
}

/// The status is one that the order can end with, and nothing is left behind.
fn check_end(case: &Case<'_>, verdict: &mut Verdict) {
    let Case { order, run, .. } = case;
    let fits = match run.status {
        COMPLETED => true,
        STOPPED => matches!(order.treatment, Treatment::Stopped { .. }),
        STUCK => order.flow == Flow::Brittle,
        _ => false,
    };
    verdict.hold(fits, || {
        format!(
            "{} ended as {} with {}: {order:?}; state {}",
            run.id, run.status, run.error, run.state
        )
    });
    let letters = i64::from(run.status == STUCK);
    verdict.hold(run.letters == letters, || {
        format!(
            "{} ended as {} and has {} dead letters",
            run.id, run.status, run.letters
        )
    });
    for column in ["lease_token", "wait_kind", "hold", "control"] {
        verdict.hold(run.state[column].is_null(), || {
            format!(
                "{} ended as {} with {column} {}",
                run.id, run.status, run.state[column]
            )
        });
    }
    let key = run.key.as_deref() == Some(order.key.as_str());
    verdict.hold(key, || {
        format!("{} has the key {:?}: {order:?}", run.id, run.key)
    });
}

fn requests_of<'e>(id: &str, all: &'e [Request]) -> BTreeMap<&'e str, Vec<&'e Request>> {
    let mut requests: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    let of_run = all
        .iter()
        .filter(|request| request.key.split(':').next() == Some(id));
    for request in of_run {
        requests.entry(&request.key).or_default().push(request);
    }
    requests
}

fn exits(flow: Flow) -> Exits {
    let schema = flow.schema("");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let edges = schema["edges"].as_array().unwrap();
    edges
        .iter()
        .map(|edge| {
            (
                (text(&edge["source"]), text(&edge["sourceHandle"])),
                text(&edge["target"]),
            )
        })
        .collect()
}
