//! What a kill hit: read from the database before anybody repairs it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::Row;

use crate::load::{Fate, Order};
use crate::rows::{self, Copy, TERMINAL};
use crate::sink::Request;

/// Wait kinds of `execution_state`.
const SLEEP: i64 = 1;
const RETRY: i64 = 2;
const EVENT: i64 = 3;

#[derive(Debug, Default)]
pub(crate) struct Wreck {
    /// Leases of the process that was killed.
    pub(crate) claimed: usize,
    /// Effects that the sink had begun and whose result is not in the database.
    pub(crate) in_effect: usize,
    pub(crate) asleep: usize,
    pub(crate) retry_under_lease: usize,
    pub(crate) retry_waiting: usize,
    pub(crate) waiting_for_event: usize,
    /// Effect keys under a lease of that process: these effects may be repeated, no others.
    pub(crate) interrupted: BTreeSet<String>,
    /// Status and seq of every execution.
    pub(crate) heads: BTreeMap<String, (i64, i64)>,
    signals: BTreeSet<String>,
}

struct State {
    id: String,
    status: i64,
    seq: i64,
    owner: Option<String>,
    effect_key: Option<String>,
    not_before: Option<i64>,
    wait_kind: Option<i64>,
    wake_at: Option<i64>,
}

/// Process `pid` in its life number `life` is gone since `killed_at`.
pub(crate) fn inspect(
    data: &Path,
    pid: u32,
    life: usize,
    killed_at: i64,
    requests: &[Request],
) -> Wreck {
    let copy = Copy::of(data);
    let mut wreck = Wreck::default();
    // The result of this one is unknown to the engine: no answer, or one that was not recorded.
    let begun = |key: &str| {
        let mut of_key = requests.iter().filter(|request| request.key == key);
        let last = of_key.next_back().filter(|last| last.life == life);
        last.is_some_and(|last| last.answered.is_none_or(|status| status < 400))
    };
    for state in states(&copy) {
        let ahead = |at: Option<i64>| at.is_some_and(|at| at > killed_at);
        if state
            .owner
            .is_some_and(|owner| owner.ends_with(&format!("/{pid}")))
        {
            wreck.claimed += 1;
            wreck.retry_under_lease += usize::from(ahead(state.not_before));
            if let Some(key) = state.effect_key {
                wreck.in_effect += usize::from(begun(&key));
                wreck.interrupted.insert(key);
            }
        }
        if ahead(state.wake_at) {
            wreck.asleep += usize::from(state.wait_kind == Some(SLEEP));
            wreck.retry_waiting += usize::from(state.wait_kind == Some(RETRY));
            wreck.waiting_for_event += usize::from(state.wait_kind == Some(EVENT));
        }
        wreck.heads.insert(state.id, (state.status, state.seq));
    }
    wreck.signals = copy
        .all("SELECT id FROM signals", |row| row.get(0).unwrap())
        .into_iter()
        .collect();
    wreck
}

fn states(copy: &Copy) -> Vec<State> {
    let read = |row: &Row<'_>| State {
        id: rows::id(row, 0),
        status: row.get(1).unwrap(),
        seq: row.get(2).unwrap(),
        owner: row.get(3).unwrap(),
        effect_key: row.get(4).unwrap(),
        not_before: row.get(5).unwrap(),
        wait_kind: row.get(6).unwrap(),
        wake_at: row.get(7).unwrap(),
    };
    copy.all(
        "SELECT e.id, e.status, s.seq, s.lease_owner, s.effect_key, s.not_before, s.wait_kind, s.wake_at
         FROM executions e JOIN execution_state s ON s.execution_id = e.id",
        read,
    )
}

impl Wreck {
    /// What was answered before the kill is there after it, and what had ended stays as it was.
    pub(crate) fn problems(&self, before: Option<&Self>, orders: &[Order]) -> Vec<String> {
        let mut problems = Vec::new();
        for order in orders {
            let Some(id) = &order.id else { continue };
            if !self.heads.contains_key(id) {
                problems.push(format!("accepted and lost: {order:?}"));
            }
            for signal in &order.signals {
                if signal.fate == Some(Fate::Accepted) && !self.signals.contains(&signal.id) {
                    problems.push(format!("signal accepted and lost: {signal:?}"));
                }
            }
        }
        for (id, (status, seq)) in before.iter().flat_map(|before| &before.heads) {
            let Some((status_now, seq_now)) = self.heads.get(id) else {
                problems.push(format!("{id} is gone"));
                continue;
            };
            if seq_now < seq {
                problems.push(format!("{id} went back from seq {seq} to {seq_now}"));
            }
            if TERMINAL.contains(status) && (status, seq) != (status_now, seq_now) {
                problems.push(format!(
                    "{id} had ended as {status} and is {status_now} now"
                ));
            }
        }
        problems
    }
}
