//! The verdict: every promise checked on what is stored and what the sink saw, by code that shares nothing with the
//! engine.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::flows::Flow;
use crate::load::Order;
use crate::rows::{COMPLETED, Run, Step, TERMINAL};
use crate::sink::Request;
use crate::wreck::Wreck;

/// Everything there is to know after the storm.
pub(crate) struct Evidence {
    pub(crate) orders: Vec<Order>,
    pub(crate) runs: Vec<Run>,
    pub(crate) requests: Vec<Request>,
    /// One per life, in order; the last life was not killed and has none.
    pub(crate) wrecks: Vec<Wreck>,
    /// What the API says the context is after the last step, by execution.
    pub(crate) contexts: BTreeMap<String, Value>,
}

#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) problems: Vec<String>,
    pub(crate) steps: usize,
    pub(crate) effects: usize,
    /// Requests that a kill made necessary.
    pub(crate) repeated: usize,
    /// `on_interrupt: fail` was asked for and applied.
    pub(crate) given_up: usize,
}

pub(crate) fn judge(evidence: &Evidence) -> Verdict {
    let mut judge = Judge::new(evidence);
    judge.every_order_has_one_execution();
    for run in &evidence.runs {
        judge.check_run(run);
    }
    judge.every_request_has_a_step();
    judge.verdict
}

struct Judge<'e> {
    evidence: &'e Evidence,
    orders: BTreeMap<&'e str, &'e Order>,
    requests: BTreeMap<&'e str, Vec<&'e Request>>,
    edges: BTreeMap<&'static str, BTreeSet<(String, String)>>,
    effect_keys: BTreeSet<String>,
    verdict: Verdict,
}

impl<'e> Judge<'e> {
    fn new(evidence: &'e Evidence) -> Self {
        let mut requests: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
        for request in &evidence.requests {
            requests.entry(&request.key).or_default().push(request);
        }
        let orders = evidence.orders.iter();
        Self {
            evidence,
            orders: orders.map(|order| (order.key.as_str(), order)).collect(),
            requests,
            edges: Flow::ALL.map(|flow| (flow.name(), edges(flow))).into(),
            effect_keys: BTreeSet::new(),
            verdict: Verdict::default(),
        }
    }

    fn hold(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.verdict.problems.push(problem());
        }
    }

    fn every_order_has_one_execution(&mut self) {
        let mut made: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for run in &self.evidence.runs {
            made.entry(&run.key).or_default().push(&run.id);
        }
        for order in &self.evidence.orders {
            let ids = made.remove(order.key.as_str()).unwrap_or_default();
            let accepted: Vec<&str> = order.id.as_deref().into_iter().collect();
            self.hold(ids == accepted, || {
                format!("{} was answered {accepted:?} and made {ids:?}", order.key)
            });
        }
        self.hold(made.is_empty(), || format!("nobody ordered {made:?}"));
    }

    fn check_run(&mut self, run: &Run) {
        let Some(order) = self.orders.get(run.key.as_str()).copied() else {
            return;
        };
        self.hold(run.status == COMPLETED && !run.blocked, || {
            format!(
                "{} ended as {} with {}: {order:?}",
                run.id, run.status, run.error
            )
        });
        if !TERMINAL.contains(&run.status) {
            return;
        }
        self.check_path(run, order);
        self.check_context(run);
        self.check_signals(run);
        self.check_result(run, order);
        for step in &run.steps {
            self.verdict.steps += 1;
            match step.node_type.as_str() {
                "http_request" => self.check_effect(run, step),
                "sleep" => self.check_sleep(run, step, order),
                _ => {}
            }
        }
    }

    /// Seq without gap or double, and every move along an edge.
    fn check_path(&mut self, run: &Run, order: &Order) {
        let seqs: Vec<i64> = run.steps.iter().map(|step| step.seq).collect();
        let expected: Vec<i64> = (1..=seqs.len() as i64).collect();
        self.hold(
            seqs == expected && run.state_seq == seqs.len() as i64,
            || format!("{}: seq {seqs:?}, state {}", run.id, run.state_seq),
        );
        let first = run.steps.first().map(|step| step.node_id.as_str());
        self.hold(first == Some("start"), || {
            format!("{} begins at {first:?}", run.id)
        });
        for (step, next) in run.steps.iter().zip(run.steps.iter().skip(1)) {
            let joined = step.next_node_id.as_ref() == Some(&next.node_id)
                && next.prev_node_id.as_ref() == Some(&step.node_id);
            let step_taken = (step.node_id.clone(), next.node_id.clone());
            let legal = self.edges[order.flow.name()].contains(&step_taken);
            self.hold(joined && legal, || {
                format!("{}: {step_taken:?} after seq {}", run.id, step.seq)
            });
        }
        let last = run.steps.last().map(|step| step.node_type.as_str());
        self.hold(last == Some("end"), || {
            format!("{} ends with {last:?}", run.id)
        });
    }

    /// The context is the start record and the fold of the steps; so is every snapshot on the way.
    fn check_context(&mut self, run: &Run) {
        let mut context = start_of(&run.initial);
        for step in &run.steps {
            fold(&mut context, step);
            let stored = run.snapshots.iter().find(|(seq, _)| *seq == step.seq);
            if let Some((seq, snapshot)) = stored {
                let fits = ["steps", "variables"]
                    .iter()
                    .all(|root| snapshot[root] == context[root]);
                self.hold(fits, || {
                    format!("{}: the snapshot at {seq} is not the fold", run.id)
                });
            }
        }
        let shown = &self.evidence.contexts[&run.id];
        for (root, value) in context.as_object().unwrap() {
            self.hold(shown[root] == *value, || {
                format!(
                    "{}: `{root}` is {} and the fold is {value}",
                    run.id, shown[root]
                )
            });
        }
        let id = &shown["execution"]["id"];
        self.hold(*id == run.id.as_str(), || format!("{}: id {id}", run.id));
    }

    /// The same request for every try; one request per recorded try; one more only where a kill came between.
    fn check_effect(&mut self, run: &Run, step: &Step) {
        let key = format!("{}:{}", run.id, step.seq);
        let requests = self.requests.get(key.as_str()).cloned().unwrap_or_default();
        self.effect_keys.insert(key.clone());
        self.verdict.effects += 1;
        for request in &requests {
            let same = same_request(request, requests[0])
                && request.correlation_id == run.correlation_id
                && request.target.starts_with(&format!("/{}?", step.node_id));
            self.hold(same, || {
                format!("{key}: {request:?} is not {:?}", requests[0])
            });
            let in_time = (step.started_at..=step.finished_at).contains(&request.arrived_at);
            self.hold(in_time, || {
                format!("{key}: {request:?} came before or after its step")
            });
        }
        let interrupted = step.error["code"] == "INTERRUPTED";
        self.hold(step.success || interrupted, || {
            format!("{key} failed: {}", step.error)
        });
        let recorded = match interrupted {
            true => BTreeSet::new(),
            false => self.recorded_requests(&key, step, &requests),
        };
        self.verdict.given_up += usize::from(interrupted);
        for (place, request) in requests.iter().enumerate() {
            if !recorded.contains(&place) {
                self.check_repeat(&key, request, requests.get(place + 1).copied());
            }
        }
        if step.node_id == "pay" {
            self.hold(requests.len() <= 1, || {
                format!("{key} was to be sent once: {requests:?}")
            });
        }
    }

    /// Which of the requests are the tries that the step has on record.
    fn recorded_requests(
        &mut self,
        key: &str,
        step: &Step,
        requests: &[&Request],
    ) -> BTreeSet<usize> {
        let hit = requests.len();
        self.hold(step.output["body"]["hit"] == hit, || {
            format!("{key}: the answer to the last request is not the one recorded")
        });
        let Some(attempts) = step.attempts.as_array() else {
            return hit.checked_sub(1).into_iter().collect();
        };
        let mut recorded = BTreeSet::new();
        let cut_off = |attempt: &&serde_json::Value| attempt["error"]["code"] == "INTERRUPTED";
        if attempts.iter().any(|attempt| cut_off(&attempt)) {
            let hit = self
                .evidence
                .wrecks
                .iter()
                .any(|wreck| wreck.interrupted.contains(key));
            self.hold(hit, || {
                format!("{key} lists an interruption that no kill made")
            });
        }
        for attempt in attempts.iter().filter(|attempt| !cut_off(attempt)) {
            let time = moment(&attempt["started_at"])..=moment(&attempt["finished_at"]);
            let sent: Vec<usize> = (0..hit)
                .filter(|place| time.contains(&requests[*place].arrived_at))
                .collect();
            self.hold(sent.len() == 1, || {
                format!("{key}: {attempt} sent the requests {sent:?}")
            });
            recorded.extend(sent);
        }
        recorded
    }

    /// A request that no try has on record: a kill must have come between it and its result.
    fn check_repeat(&mut self, key: &str, request: &Request, next: Option<&Request>) {
        self.verdict.repeated += 1;
        let wreck = self.evidence.wrecks.get(request.life);
        let hit = wreck.is_some_and(|wreck| wreck.interrupted.contains(key));
        self.hold(hit, || {
            format!("{key}: {request:?} was repeated although no kill interrupted it")
        });
        let last_of_life = next.is_none_or(|next| next.life > request.life);
        self.hold(last_of_life, || {
            format!("{key}: repeated within one life: {request:?}, {next:?}")
        });
    }

    fn every_request_has_a_step(&mut self) {
        for key in self.requests.keys() {
            let known = self.effect_keys.contains(*key);
            if !known {
                let problem = format!("no step belongs to the requests under {key:?}");
                self.verdict.problems.push(problem);
            }
        }
    }

    /// Never early. How late depends on how long nobody was running.
    fn check_sleep(&mut self, run: &Run, step: &Step, order: &Order) {
        let nap = order.input["nap"].as_str().unwrap();
        let millis: i64 = nap.strip_suffix("ms").unwrap().parse().unwrap();
        let slept = step.finished_at - step.started_at;
        self.hold(slept >= millis * 1_000, || {
            format!("{}: {nap} took {slept} µs", run.id)
        });
    }

    /// Each signal once and in order, taken by the step that has it as its output.
    fn check_signals(&mut self, run: &Run) {
        let waits = run.steps.iter().filter(|step| {
            step.node_type == "wait_event" && step.output["timed_out"] != Value::Bool(true)
        });
        let taken: Vec<(Value, Option<i64>, Value)> = waits
            .map(|step| {
                let output = &step.output;
                (
                    output["id"].clone(),
                    Some(step.seq),
                    output["payload"].clone(),
                )
            })
            .collect();
        let stored = run.signals.iter();
        let consumed: Vec<(Value, Option<i64>, Value)> = stored
            .filter(|signal| signal.consumed_seq.is_some())
            .map(|signal| {
                (
                    json!(signal.id),
                    signal.consumed_seq,
                    signal.payload.clone(),
                )
            })
            .collect();
        self.hold(taken == consumed, || {
            format!("{}: signals {consumed:?}, steps {taken:?}", run.id)
        });
    }

    fn check_result(&mut self, run: &Run, order: &Order) {
        let output = &run.output;
        let payload = |which: usize| &order.signals[which].payload;
        let fits = match order.flow {
            Flow::Chain => output["hit"].as_u64() >= Some(1),
            Flow::Events => output["first"] == *payload(0) && output["second"] == *payload(1),
            Flow::Deadline => output["in_time"].is_boolean(),
            Flow::Loop => output["i"] == order.input["rounds"],
            Flow::Once => output["paid"] == true || output["paid"] == "INTERRUPTED",
            Flow::Nap | Flow::ShortRetry | Flow::LongRetry => true,
        };
        self.hold(fits && output["n"] == order.input["n"], || {
            format!("{}: {output} for {order:?}", run.id)
        });
    }
}

fn same_request(one: &Request, other: &Request) -> bool {
    (&one.method, &one.target, &one.body) == (&other.method, &other.target, &other.body)
}

fn edges(flow: Flow) -> BTreeSet<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let schema = flow.schema("");
    let edges = schema["edges"].as_array().unwrap();
    edges
        .iter()
        .map(|edge| (text(&edge["source"]), text(&edge["target"])))
        .collect()
}

fn moment(text: &Value) -> i64 {
    let moment: jiff::Timestamp = text.as_str().unwrap().parse().unwrap();
    moment.as_microsecond()
}

fn start_of(initial: &Value) -> Value {
    let mut context = json!({"steps": {}});
    for root in ["webhook", "input", "user", "variables"] {
        context[root] = initial.get(root).cloned().unwrap_or(json!({}));
    }
    context
}

fn fold(context: &mut Value, step: &Step) {
    let runs = context["steps"][&step.node_id]["runs"]
        .as_u64()
        .unwrap_or(0);
    context["steps"][&step.node_id] = json!({
        "output": step.output,
        "status": if step.success { "success" } else { "failed" },
        "error": step.error,
        "runs": runs + 1,
    });
    let none = Map::new();
    for (name, value) in step.changes.as_object().unwrap_or(&none) {
        context["variables"][name] = value.clone();
    }
}
