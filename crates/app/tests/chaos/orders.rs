//! What people want of the cluster in one schedule: executions, and what they do to them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::flows::Flow;
use crate::rng::Rng;

/// An execution that somebody wants, and what became of the wish.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) key: String,
    pub(crate) flow: Flow,
    pub(crate) input: Value,
    pub(crate) priority: &'static str,
    /// After the start of the schedule.
    pub(crate) starts_after: Duration,
    pub(crate) treatment: Treatment,
    pub(crate) signals: Vec<Signal>,
    /// Draws of whoever handles it.
    pub(crate) seed: u64,
    /// Known once it was accepted.
    pub(crate) id: Option<String>,
    /// When each command was answered, in UTC microseconds.
    pub(crate) answered: Vec<(Verb, i64)>,
}

/// What is done to an execution while it runs. Times count from its acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    Undisturbed,
    /// Paused, and resumed later.
    Paused {
        after: Duration,
        for_long: Duration,
    },
    Stopped {
        after: Duration,
    },
    /// Stepped through by the debugger.
    Debugged,
    /// Asked for again under the same key.
    AskedTwice,
    /// Paused, or without its signal, until the storm is over.
    Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Pause,
    Resume,
    Stop,
}

impl Verb {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Stop => "stop",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Signal {
    pub(crate) id: String,
    pub(crate) payload: Value,
    /// After the acceptance of the order.
    pub(crate) after: Duration,
}

impl Order {
    pub(crate) fn is_kept(&self) -> bool {
        self.treatment == Treatment::Kept
    }

    pub(crate) fn body(&self) -> Value {
        json!({
            "schema": self.flow.name(),
            "input": self.input,
            "variables": {"kept": self.key},
            "priority": self.priority,
            "debug_mode": self.treatment == Treatment::Debugged,
            "idempotency_key": self.key,
        })
    }
}

/// The orders of one schedule. Every second seed leaves two executions behind for the end of the storm.
pub(crate) fn draw(seed: u64, rng: &mut Rng) -> Vec<Order> {
    let count = rng.between(30, 48) as usize;
    let mut orders: Vec<Order> = (0..count)
        .map(|number| draw_order(&format!("{seed}-{number}"), number, rng))
        .collect();
    if seed.is_multiple_of(2) {
        for (order, flow) in orders.iter_mut().zip([Flow::Events, Flow::Chain]) {
            order.flow = flow;
            order.treatment = Treatment::Kept;
            order.signals = signals(flow, &order.key, rng);
        }
    }
    orders
}

fn draw_order(key: &str, number: usize, rng: &mut Rng) -> Order {
    let flow = draw_flow(rng);
    let input = json!({
        "n": number,
        "ms": rng.between(10, 250),
        "nap": format!("{}ms", rng.between(300, 2_500)),
        "patience": format!("{}ms", rng.between(300, 2_500)),
        "rounds": rng.between(3, 30),
    });
    Order {
        key: key.to_owned(),
        flow,
        input,
        priority: ["high", "normal", "normal", "normal", "low"][rng.between(0, 4) as usize],
        starts_after: start(rng),
        treatment: draw_treatment(flow, rng),
        signals: signals(flow, key, rng),
        seed: rng.between(0, u64::MAX - 1),
        id: None,
        answered: Vec::new(),
    }
}

/// Most come at once, so that messages wait in the queue; the others while the faults are at work.
fn start(rng: &mut Rng) -> Duration {
    let latest = [200, 200, 2_500][rng.between(0, 2) as usize];
    millis(rng, 0, latest)
}

fn draw_flow(rng: &mut Rng) -> Flow {
    match rng.between(0, 99) {
        0..15 => Flow::Pure,
        15..40 => Flow::Chain,
        40..52 => Flow::Strict,
        52..62 => Flow::ShortRetry,
        62..70 => Flow::LongRetry,
        70..80 => Flow::Nap,
        80..88 => Flow::Events,
        88..93 => Flow::Deadline,
        93..97 => Flow::Once,
        _ => Flow::Brittle,
    }
}

fn draw_treatment(flow: Flow, rng: &mut Rng) -> Treatment {
    let draw = rng.between(0, 99);
    if flow == Flow::Brittle || flow == Flow::Once {
        return Treatment::Undisturbed;
    }
    match draw {
        0..55 => Treatment::Undisturbed,
        55..70 => Treatment::Paused {
            after: millis(rng, 0, 1_500),
            for_long: millis(rng, 0, 2_500),
        },
        // Not ended is one execution in ten at most, so few are stopped.
        70..74 => Treatment::Stopped {
            after: millis(rng, 0, 2_000),
        },
        74..84
            if matches!(
                flow,
                Flow::Chain | Flow::Strict | Flow::Nap | Flow::ShortRetry
            ) =>
        {
            Treatment::Debugged
        }
        84..94 => Treatment::AskedTwice,
        _ => Treatment::Undisturbed,
    }
}

/// At once: before anybody waits for it. Later: while it is waited for, or too late.
fn signals(flow: Flow, key: &str, rng: &mut Rng) -> Vec<Signal> {
    let count = match flow {
        Flow::Events => 2,
        Flow::Deadline => 1,
        _ => 0,
    };
    let latest = rng.between(0, 2) * 1_200;
    let signal = |which: usize, rng: &mut Rng| Signal {
        id: format!("{key}/{which}"),
        payload: json!({"order": key, "which": which}),
        after: millis(rng, 0, latest),
    };
    (0..count).map(|which| signal(which, rng)).collect()
}

fn millis(rng: &mut Rng, low: u64, high: u64) -> Duration {
    Duration::from_millis(rng.between(low, high))
}
