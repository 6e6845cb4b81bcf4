//! Node types for engines under test. All of them are effectful and tell a [`Sink`] that they were called,
//! so that a checker can compare calls with steps.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use pawl_kernel::node::form::FieldForm;
use pawl_kernel::node::{
    FieldKind, FieldMode, FieldSpec, NodeCall, NodeError, NodeHandler, NodeSpec, Outcome,
};
use pawl_kernel::time::{Clock, Timestamp, parse_duration};

/// The outside world, as a list of what it was asked.
#[derive(Default)]
pub struct Sink {
    calls: Mutex<Vec<Call>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub effect_key: Option<String>,
    pub execution_id: String,
    pub node_id: String,
    pub node_type: &'static str,
    pub seq: u64,
    /// 1 for the first try.
    pub attempt: u32,
    /// The rendered config.
    pub config: Value,
    pub at: Timestamp,
}

impl Sink {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    fn record(&self, node_type: &'static str, call: &NodeCall<'_>) {
        self.calls.lock().unwrap().push(Call {
            effect_key: call.effect_key.map(str::to_owned),
            execution_id: call.execution_id.to_owned(),
            node_id: call.node_id.to_owned(),
            node_type,
            seq: call.seq,
            attempt: call.attempt,
            config: call.config.clone(),
            at: call.now,
        });
    }
}

/// All of them, for a registry.
pub fn handlers(sink: Arc<Sink>, clock: Arc<dyn Clock>) -> Vec<Arc<dyn NodeHandler>> {
    vec![
        Arc::new(Effect(sink.clone())),
        Arc::new(Flaky(sink.clone())),
        Arc::new(Slow {
            sink: sink.clone(),
            clock,
        }),
        Arc::new(Panic(sink)),
    ]
}

const VALUE: FieldSpec = field("value", FieldKind::Any, "What the node answers.");
const MANY: FieldKind = FieldKind::Integer { min: 0, max: 1000 };

const fn field(name: &'static str, kind: FieldKind, doc: &'static str) -> FieldSpec {
    FieldSpec {
        name,
        kind,
        mode: FieldMode::Template,
        required: false,
        default: None,
        doc,
        form: FieldForm::PLAIN,
    }
}

const fn spec(
    node_type: &'static str,
    doc: &'static str,
    fields: &'static [FieldSpec],
    example: &'static str,
) -> NodeSpec {
    NodeSpec {
        node_type,
        title: node_type,
        category: "test",
        doc,
        pure: false,
        handles: &[],
        fields,
        output: "`value`",
        example,
    }
}

fn answer(config: &Value) -> Outcome {
    Outcome::done(json!({"value": config["value"]}))
}

/// Does nothing but be seen.
pub struct Effect(pub Arc<Sink>);

#[async_trait]
impl NodeHandler for Effect {
    fn spec(&self) -> &'static NodeSpec {
        static SPEC: NodeSpec = spec("effect", "Tells the sink.", &[VALUE], "value: 1");
        &SPEC
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        self.0.record("effect", &call);
        Ok(answer(&call.config))
    }
}

/// Fails its first `times` tries in a way that may be tried again.
pub struct Flaky(pub Arc<Sink>);

#[async_trait]
impl NodeHandler for Flaky {
    fn spec(&self) -> &'static NodeSpec {
        const TIMES: FieldSpec = field("times", MANY, "How many tries fail.");
        static SPEC: NodeSpec = spec("flaky", "Fails at first.", &[TIMES, VALUE], "times: 2");
        &SPEC
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        self.0.record("flaky", &call);
        let times = call.config["times"].as_u64().unwrap_or(1);
        if u64::from(call.attempt) <= times {
            let message = format!("try {} of {times} that fail", call.attempt);
            return Err(NodeError::new("FLAKY", message).retryable());
        }
        Ok(answer(&call.config))
    }
}

/// Takes `duration`, one second unless told.
pub struct Slow {
    pub sink: Arc<Sink>,
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl NodeHandler for Slow {
    fn spec(&self) -> &'static NodeSpec {
        const HOW_LONG: FieldSpec = field("duration", FieldKind::Duration, "How long it takes.");
        static SPEC: NodeSpec = spec("slow", "Takes long.", &[HOW_LONG, VALUE], "duration: 5s");
        &SPEC
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        self.sink.record("slow", &call);
        let duration = duration(&call.config["duration"])
            .map_err(|message| NodeError::new("TYPE_ERROR", message))?;
        let until = self.clock.now().plus(duration);
        self.clock.sleep_until(until).await;
        Ok(answer(&call.config))
    }
}

fn duration(value: &Value) -> Result<Duration, String> {
    let text = match value {
        Value::Null => "1s".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    parse_duration(&text)
}

/// Panics while it runs its first `times` tries, or always.
pub struct Panic(pub Arc<Sink>);

#[async_trait]
impl NodeHandler for Panic {
    fn spec(&self) -> &'static NodeSpec {
        const TIMES: FieldSpec = field("times", MANY, "How many tries panic; all if left out.");
        static SPEC: NodeSpec = spec("panic", "Panics.", &[TIMES, VALUE], "times: 1");
        &SPEC
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        self.0.record("panic", &call);
        let times = call.config["times"].as_u64().unwrap_or(u64::MAX);
        assert!(u64::from(call.attempt) > times, "a test node panics");
        Ok(answer(&call.config))
    }
}
