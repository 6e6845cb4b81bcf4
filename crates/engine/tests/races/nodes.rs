//! The node types of the races, and the world outside that effects reach.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::node::form::FieldForm;
use pawl_kernel::node::{
    FieldKind, FieldMode, FieldSpec, LogLevel, LogLine, NodeCall, NodeError, NodeHandler, NodeSpec,
    Outcome, Registry,
};
use pawl_kernel::time::{Clock, Timestamp};
use serde_json::{Map, Value, json};

use crate::clock::{Bell, Gate, ManualClock};

/// What effects were asked to do.
pub(crate) struct Outside {
    calls: Mutex<Vec<Call>>,
    dropped: AtomicUsize,
    healed: AtomicBool,
    gates: Mutex<BTreeMap<String, Arc<Gate>>>,
    bell: Bell,
    clock: Arc<ManualClock>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) node: String,
    pub(crate) key: Option<String>,
    pub(crate) config: Value,
    pub(crate) attempt: u32,
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    pub(crate) previous: Option<String>,
}

impl Outside {
    pub(crate) fn new(bell: Bell, clock: Arc<ManualClock>) -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            dropped: AtomicUsize::new(0),
            healed: AtomicBool::new(false),
            gates: Mutex::default(),
            bell,
            clock,
        })
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// The ids of the nodes called, in order.
    pub(crate) fn called(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.node).collect()
    }

    pub(crate) async fn until_called(&self, times: usize) -> Vec<Call> {
        let enough = async || Some(self.calls()).filter(|calls| calls.len() >= times);
        self.bell.until(enough).await
    }

    /// Calls that were dropped before they had an answer.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    pub(crate) fn open(&self, gate: &str) {
        self.gate(gate).open();
    }

    /// From here on nothing `breaks`.
    pub(crate) fn heal(&self) {
        self.healed.store(true, Ordering::SeqCst);
    }

    fn gate(&self, name: &str) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap();
        gates
            .entry(name.to_owned())
            .or_insert_with(Gate::shut)
            .clone()
    }
}

pub(crate) fn registry(outside: &Arc<Outside>, with_effect: bool) -> Registry {
    let mut handlers: Vec<Arc<dyn NodeHandler>> = vec![
        pure(&START, |_| Outcome::done(json!({}))),
        pure(&FINISH, |call| Outcome::End {
            success: true,
            output: call.config["output"].clone(),
            message: None,
        }),
        pure(&NOTE, |call| Outcome::Done {
            handle: "success".into(),
            output: json!({}),
            changes: Map::from_iter([("note".to_owned(), call.config["value"].clone())]),
            logs: Vec::new(),
        }),
        pure(&NAP, |call| Outcome::Sleep {
            until: call.entered_at.plus(seconds(call).unwrap_or_default()),
        }),
        pure(&EVENT, |call| Outcome::Wait {
            event: call.config["name"].as_str().unwrap_or_default().to_owned(),
            timeout: seconds(call),
        }),
    ];
    handlers.push(Arc::new(Think(outside.clone())));
    for spec in [&HTTP_REQUEST, &RABBITMQ_PUBLISH] {
        let outside = outside.clone();
        handlers.push(Arc::new(Callback { spec, outside }));
    }
    if with_effect {
        handlers.push(Arc::new(Effect(outside.clone())));
    }
    Registry::new(handlers)
}

/// Has no effect, and takes its time: of the processor, or waiting at a gate.
struct Think(Arc<Outside>);

#[async_trait]
impl NodeHandler for Think {
    fn spec(&self) -> &'static NodeSpec {
        &THINK
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        self.0.clock.advance(seconds(&call).unwrap_or_default());
        if let Some(gate) = call.config["gate"].as_str() {
            self.0.gate(gate).pass().await;
        }
        Ok(Outcome::done(json!({})))
    }
}

fn seconds(call: &NodeCall<'_>) -> Option<Duration> {
    call.config["seconds"].as_f64().map(Duration::from_secs_f64)
}

fn pure(spec: &'static NodeSpec, act: fn(&NodeCall<'_>) -> Outcome) -> Arc<dyn NodeHandler> {
    Arc::new(Pure { spec, act })
}

struct Pure {
    spec: &'static NodeSpec,
    act: fn(&NodeCall<'_>) -> Outcome,
}

#[async_trait]
impl NodeHandler for Pure {
    fn spec(&self) -> &'static NodeSpec {
        self.spec
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        Ok((self.act)(&call))
    }
}

/// Calls the outside: waits at its `gate`, takes `seconds`, panics, `fails` so many tries, `breaks` with this
/// text until the outside is healed, `says` a line, and answers with `value`.
struct Effect(Arc<Outside>);

#[async_trait]
impl NodeHandler for Effect {
    fn spec(&self) -> &'static NodeSpec {
        &EFFECT
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let unanswered = Unanswered::call(&self.0, &call);
        if let Some(gate) = call.config["gate"].as_str() {
            self.0.gate(gate).pass().await;
        }
        if let Some(time) = seconds(&call) {
            let until = self.0.clock.now().plus(time);
            self.0.clock.sleep_until(until).await;
        }
        unanswered.answered();
        self.answer(&call)
    }
}

impl Effect {
    fn answer(&self, call: &NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config = &call.config;
        assert!(config["panics"] != true, "a test node panics");
        let line = config["says"].as_str().map(|text| LogLine {
            level: LogLevel::Info,
            message: text.to_owned(),
        });
        let logs: Vec<LogLine> = line.into_iter().collect();
        if u64::from(call.attempt) <= config["fails"].as_u64().unwrap_or(0) {
            return Err(NodeError::new("SHAKY", "not yet")
                .retryable()
                .with_logs(logs));
        }
        if let Some(text) = config["breaks"].as_str()
            && !self.0.healed.load(Ordering::SeqCst)
        {
            let details = json!({"echo": config["value"]});
            return Err(NodeError::new("BROKEN", text)
                .details(details)
                .with_logs(logs));
        }
        Ok(Outcome::Done {
            handle: "success".into(),
            output: json!({"value": config["value"]}),
            changes: Map::new(),
            logs,
        })
    }
}

/// What scheduled actions call: fails and tells all it knows if its config says `fail` anywhere.
struct Callback {
    spec: &'static NodeSpec,
    outside: Arc<Outside>,
}

#[async_trait]
impl NodeHandler for Callback {
    fn spec(&self) -> &'static NodeSpec {
        self.spec
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        Unanswered::call(&self.outside, &call).answered();
        let config = call.config.to_string();
        match config.contains("fail") {
            true => Err(NodeError::new("HTTP_STATUS", format!("500 for {config}"))),
            false => Ok(Outcome::done(json!({}))),
        }
    }
}

/// A call under way; counts as dropped unless it is answered.
struct Unanswered<'a>(Option<&'a Outside>);

impl<'a> Unanswered<'a> {
    fn call(outside: &'a Outside, call: &NodeCall<'_>) -> Self {
        outside.calls.lock().unwrap().push(Call {
            node: call.node_id.to_owned(),
            key: call.effect_key.map(str::to_owned),
            config: call.config.clone(),
            attempt: call.attempt,
            seq: call.seq,
            at: call.now,
            previous: call.previous.map(str::to_owned),
        });
        outside.bell.ring();
        Self(Some(outside))
    }

    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(outside) = self.0 {
            outside.dropped.fetch_add(1, Ordering::SeqCst);
            outside.bell.ring();
        }
    }
}

const fn field(name: &'static str) -> FieldSpec {
    FieldSpec {
        name,
        kind: FieldKind::Any,
        mode: FieldMode::Template,
        required: false,
        default: None,
        doc: "",
        form: FieldForm::PLAIN,
    }
}

const fn spec(
    node_type: &'static str,
    pure: bool,
    handles: &'static [&'static str],
    fields: &'static [FieldSpec],
) -> NodeSpec {
    NodeSpec {
        node_type,
        title: node_type,
        category: "test",
        doc: "",
        pure,
        handles,
        fields,
        output: "",
        example: "{}",
    }
}

static START: NodeSpec = spec("start", true, &[], &[]);
static FINISH: NodeSpec = spec("finish", true, &[], &[field("output")]);
static NOTE: NodeSpec = spec("note", true, &[], &[field("value")]);
static HTTP_REQUEST: NodeSpec = spec("http_request", false, &[], &[]);
static RABBITMQ_PUBLISH: NodeSpec = spec("rabbitmq_publish", false, &[], &[]);
static THINK: NodeSpec = spec("think", true, &[], &[field("seconds"), field("gate")]);
static NAP: NodeSpec = spec("nap", true, &[], &[field("seconds")]);
static EVENT: NodeSpec = spec(
    "event",
    true,
    &["success", "timeout"],
    &[field("name"), field("seconds")],
);
static EFFECT: NodeSpec = spec(
    "effect",
    false,
    &[],
    &[
        field("value"),
        field("gate"),
        field("seconds"),
        field("panics"),
        field("fails"),
        field("breaks"),
        field("says"),
    ],
);
