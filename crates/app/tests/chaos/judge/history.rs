//! The steps: numbered without gap, each a legal move, their fold the context, their waits as long as they should be.

use serde_json::{Map, Value, json};

use super::{Case, Verdict};
use crate::flows::Flow;
use crate::orders::Order;
use crate::rows::{COMPLETED, STOPPED, Step};

pub(super) fn check(case: &Case<'_>, verdict: &mut Verdict) {
    verdict.tally.steps += case.run.steps.len();
    numbers(case, verdict);
    moves(case, verdict);
    context(case, verdict);
    signals(case, verdict);
    if case.run.status == COMPLETED {
        result(case, verdict);
    }
    for step in &case.run.steps {
        waits(case, step, verdict);
    }
}

fn numbers(case: &Case<'_>, verdict: &mut Verdict) {
    let run = case.run;
    let seqs: Vec<i64> = run.steps.iter().map(|step| step.seq).collect();
    let expected: Vec<i64> = (1..=seqs.len() as i64).collect();
    verdict.hold(seqs == expected && run.state["seq"] == seqs.len(), || {
        format!("{}: steps {seqs:?}, state at {}", run.id, run.state["seq"])
    });
}

/// An own walk over the schema: where the recorded outcome of each step leads is where the next step is.
fn moves(case: &Case<'_>, verdict: &mut Verdict) {
    let run = case.run;
    let steps: Vec<&Step> = run.steps.iter().filter(|step| !step.is_edit()).collect();
    let first = steps.first().map(|step| step.node_id.as_str());
    verdict.hold(first.is_none_or(|first| first == "start"), || {
        format!("{} begins at {first:?}", run.id)
    });
    for (place, step) in steps.iter().enumerate() {
        let next = steps.get(place + 1);
        let target = target(case, step);
        let left_by = step.next_node_id.as_deref();
        // A stop ends an execution wherever it is.
        let cut_short = run.status == STOPPED && next.is_none() && left_by.is_none();
        verdict.hold(left_by == target || cut_short, || {
            format!(
                "{}: step {} left `{}` for {left_by:?}, not {target:?}",
                run.id, step.seq, step.node_id
            )
        });
        let joined = next.is_none_or(|next| {
            left_by == Some(next.node_id.as_str())
                && next.prev_node_id.as_deref() == Some(&step.node_id)
        });
        verdict.hold(joined, || {
            format!(
                "{}: step {} is not where the one before left for",
                run.id,
                step.seq + 1
            )
        });
    }
    let ended = steps.last().is_some_and(|step| step.node_type == "end");
    verdict.hold(ended == (run.status == COMPLETED), || {
        format!(
            "{} ended as {} after {:?}",
            run.id,
            run.status,
            steps.last().map(|step| &step.node_id)
        )
    });
}

fn target<'e>(case: &Case<'e>, step: &Step) -> Option<&'e str> {
    let output = &step.output;
    let exit = match step.node_type.as_str() {
        _ if !step.succeeded() => "error",
        "condition" if output["result"] == true => "true",
        "condition" => "false",
        "switch" => output["case"].as_str().unwrap_or_default(),
        "wait_event" if output["timed_out"] == true => "timeout",
        _ => "success",
    };
    let of = |exit: &str| {
        case.exits
            .get(&(step.node_id.clone(), exit.to_owned()))
            .map(String::as_str)
    };
    match exit {
        "error" => of("error"),
        exit => of(exit).or_else(|| of("success")),
    }
}

/// The context is the start record and the fold of the steps; so is every snapshot on the way.
fn context(case: &Case<'_>, verdict: &mut Verdict) {
    let run = case.run;
    let mut context = json!({"steps": {}});
    for root in ["webhook", "input", "user", "variables"] {
        context[root] = run.initial.get(root).cloned().unwrap_or(json!({}));
    }
    for step in &run.steps {
        fold(&mut context, step);
        for snapshot in run
            .snapshots
            .iter()
            .filter(|snapshot| snapshot.seq == step.seq)
        {
            let fits = ["steps", "variables"]
                .iter()
                .all(|root| snapshot.context[root] == context[root]);
            verdict.hold(fits, || {
                format!("{}: the snapshot at {} is not the fold", run.id, step.seq)
            });
        }
    }
    if run.steps.is_empty() {
        return;
    }
    let Some(shown) = case.context else {
        return verdict
            .problems
            .push(format!("{}: nobody could see its context", run.id));
    };
    for (root, value) in context.as_object().unwrap() {
        verdict.hold(shown[root] == *value, || {
            format!(
                "{}: `{root}` is {} and the fold is {value}",
                run.id, shown[root]
            )
        });
    }
}

fn fold(context: &mut Value, step: &Step) {
    if !step.is_edit() {
        let runs = context["steps"][&step.node_id]["runs"]
            .as_u64()
            .unwrap_or(0);
        context["steps"][&step.node_id] = json!({
            "output": step.output,
            "status": if step.succeeded() { "success" } else { "failed" },
            "error": step.error,
            "runs": runs + 1,
        });
    }
    let none = Map::new();
    for (name, value) in step.changes.as_object().unwrap_or(&none) {
        context["variables"][name] = value.clone();
    }
}

/// Each signal once and in order, taken by the step that has it as its output.
fn signals(case: &Case<'_>, verdict: &mut Verdict) {
    let run = case.run;
    let waits = run.steps.iter().filter(|step| {
        step.node_type == "wait_event" && step.succeeded() && step.output["timed_out"] != true
    });
    let taken: Vec<(Option<&str>, Option<i64>, &Value)> = waits
        .map(|step| {
            (
                step.output["id"].as_str(),
                Some(step.seq),
                &step.output["payload"],
            )
        })
        .collect();
    let stored = run
        .signals
        .iter()
        .filter(|signal| signal.consumed_seq.is_some());
    let consumed: Vec<_> = stored
        .map(|signal| {
            (
                Some(signal.id.as_str()),
                signal.consumed_seq,
                &signal.payload,
            )
        })
        .collect();
    verdict.hold(taken == consumed, || {
        format!("{}: signals {consumed:?}, steps {taken:?}", run.id)
    });
    let known = |id: &str| case.order.signals.iter().any(|signal| signal.id == id);
    let foreign = run.signals.iter().find(|signal| !known(&signal.id));
    verdict.hold(foreign.is_none(), || {
        format!("{}: nobody sent {:?}", run.id, foreign.map(|one| &one.id))
    });
}

/// What the flow computes, computed here.
fn result(case: &Case<'_>, verdict: &mut Verdict) {
    let Case { order, run, .. } = case;
    let output = &run.output;
    let variable = |name: &str| {
        let mut steps = run.steps.iter().rev();
        steps
            .find_map(|step| step.changes.get(name))
            .unwrap_or(&Value::Null)
    };
    let fits = match order.flow {
        Flow::Pure => *output == counted(order),
        Flow::Chain | Flow::Strict => variable("hit").as_u64() >= Some(1),
        Flow::Events => {
            let sent: Vec<&Value> = order.signals.iter().map(|signal| &signal.payload).collect();
            *variable("both") == json!(sent)
        }
        Flow::Deadline => output["in_time"].is_boolean(),
        Flow::Once => output["paid"] == true || output["paid"] == "INTERRUPTED",
        Flow::ShortRetry | Flow::LongRetry | Flow::Nap | Flow::Brittle => true,
    };
    verdict.hold(fits && output["n"] == order.input["n"], || {
        format!("{}: {output} for {order:?}", run.id)
    });
}

fn counted(order: &Order) -> Value {
    let rounds = order.input["rounds"].as_i64().unwrap();
    let rests = [0, 1, 2].map(|rest| (1..=rounds).filter(|round| round % 3 == rest).count());
    json!({"n": order.input["n"], "i": rounds, "rests": rests})
}

/// Never early. How late depends on how long nobody was running.
fn waits(case: &Case<'_>, step: &Step, verdict: &mut Verdict) {
    let input = &case.order.input;
    let timed_out = step.output["timed_out"] == true;
    let least = match (step.node_type.as_str(), &case.order.flow) {
        ("sleep", _) if step.succeeded() => micros(&input["nap"]),
        ("wait_event", Flow::Deadline) if timed_out => micros(&input["patience"]),
        _ => return retry_delays(case, step, verdict),
    };
    let took = step.finished_at - step.started_at;
    verdict.tally.waits += 1;
    verdict.hold(took >= least, || {
        format!(
            "{}: step {} took {took} µs, not {least}",
            case.run.id, step.seq
        )
    });
}

fn retry_delays(case: &Case<'_>, step: &Step, verdict: &mut Verdict) {
    let delay = match case.order.flow {
        Flow::ShortRetry => 300_000,
        Flow::LongRetry => 2_000_000,
        _ => return,
    };
    let Some(attempts) = step.attempts.as_array() else {
        return;
    };
    for pair in attempts.windows(2) {
        // A try that a crash cut off ended when nobody knows.
        if pair
            .iter()
            .any(|attempt| attempt["error"]["code"] == "INTERRUPTED")
        {
            continue;
        }
        let waited = moment(&pair[1]["started_at"]) - moment(&pair[0]["finished_at"]);
        verdict.tally.waits += 1;
        verdict.hold(waited >= delay, || {
            format!(
                "{}: step {} was tried again after {waited} µs, not {delay}",
                case.run.id, step.seq
            )
        });
    }
}

fn micros(text: &Value) -> i64 {
    let millis: i64 = text
        .as_str()
        .unwrap()
        .strip_suffix("ms")
        .unwrap()
        .parse()
        .unwrap();
    millis * 1_000
}

pub(super) fn moment(text: &Value) -> i64 {
    let moment: jiff::Timestamp = text.as_str().unwrap().parse().unwrap();
    moment.as_microsecond()
}
