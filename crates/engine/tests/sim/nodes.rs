//! Node types of the simulation. Effects tell the observer.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::node::form::FieldForm;
use pawl_kernel::node::{
    FieldKind, FieldMode, FieldSpec, NodeCall, NodeError, NodeHandler, NodeSpec, Outcome, Registry,
};
use pawl_kernel::time::Clock;
use pawl_testkit::faults::Crash;
use serde_json::{Map, Value, json};

use crate::observer::Observer;

/// The node types as one worker sees them: a poisonous node kills that worker.
pub(crate) fn registry(
    observer: &Arc<Observer>,
    clock: Arc<dyn Clock>,
    crash: Option<Arc<Crash>>,
) -> Registry {
    let pure = |spec: &'static NodeSpec,
                act: fn(&NodeCall<'_>) -> Outcome|
     -> Arc<dyn NodeHandler> { Arc::new(Pure { spec, act }) };
    Registry::new(vec![
        pure(&START, |_| Outcome::done(json!({}))),
        pure(&FINISH, |call| Outcome::End {
            success: true,
            output: json!({"at": call.seq}),
            message: None,
        }),
        pure(&NOTE, |call| {
            with_variable("note", call.config["value"].clone(), "success")
        }),
        pure(&COUNT, |call| {
            with_variable("count", json!(call.seq), "success")
        }),
        pure(&AGAIN, |call| {
            let more = call.seq < 3 * call.config["limit"].as_u64().unwrap_or(1);
            with_variable("again", json!(more), if more { "true" } else { "false" })
        }),
        pure(&NAP, |call| {
            let seconds = call.config["seconds"].as_u64().unwrap_or(0);
            Outcome::Sleep {
                until: call.entered_at.plus(Duration::from_secs(seconds)),
            }
        }),
        pure(&EVENT, |call| Outcome::Wait {
            event: call.config["name"].as_str().unwrap_or_default().to_owned(),
            timeout: call.config["seconds"].as_u64().map(Duration::from_secs),
        }),
        Arc::new(Effect {
            observer: observer.clone(),
            clock,
            crash,
        }),
    ])
}

fn with_variable(name: &str, value: Value, handle: &'static str) -> Outcome {
    let changes = Map::from_iter([(name.to_owned(), value)]);
    Outcome::Done {
        handle: handle.into(),
        output: json!({}),
        changes,
        logs: Vec::new(),
    }
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

struct Effect {
    observer: Arc<Observer>,
    clock: Arc<dyn Clock>,
    crash: Option<Arc<Crash>>,
}

#[async_trait]
impl NodeHandler for Effect {
    fn spec(&self) -> &'static NodeSpec {
        &EFFECT
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        self.observer.called(&call);
        if call.config["kills"] == true {
            if let Some(crash) = &self.crash {
                crash.raise();
            }
            return std::future::pending().await;
        }
        if let Some(seconds) = call.config["takes"].as_u64() {
            self.clock
                .sleep_until(self.clock.now().plus(Duration::from_secs(seconds)))
                .await;
        }
        let fails = call.config["fails"].as_u64().unwrap_or(0);
        if u64::from(call.attempt) <= fails {
            return Err(NodeError::new("SHAKY", "not yet").retryable());
        }
        Ok(Outcome::done(json!({"value": call.config["value"]})))
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
static FINISH: NodeSpec = spec("finish", true, &[], &[]);
static NOTE: NodeSpec = spec("note", true, &[], &[field("value")]);
static COUNT: NodeSpec = spec("count", true, &[], &[]);
static AGAIN: NodeSpec = spec("again", true, &["true", "false"], &[field("limit")]);
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
        field("fails"),
        field("takes"),
        field("kills"),
    ],
);
