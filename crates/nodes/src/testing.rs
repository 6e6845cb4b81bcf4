//! Runs handlers without an engine.

pub(crate) mod server;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, Outcome, PayloadLimits};
use pawl_kernel::schema::graph::LateTexts;
use pawl_kernel::secrets::CarriedSecrets;
use pawl_kernel::time::Timestamp;
use serde_json::{Map, Value};

static NAMES: BTreeMap<String, String> = BTreeMap::new();
static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// 2025-01-01T00:00:00Z; the position was entered ten seconds before the try.
pub(crate) const ENTERED_AT: Timestamp = Timestamp::from_micros(1_735_689_600_000_000);
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_735_689_610_000_000);

pub(crate) fn call(config: Value) -> NodeCall<'static> {
    NodeCall {
        node_id: "node_1",
        config,
        execution_id: "exe_1",
        correlation_id: "cor_1",
        seq: 7,
        attempt: 1,
        entered_at: ENTERED_AT,
        now: NOW,
        effect_key: Some("exe_1:7"),
        timeout: Duration::from_secs(30),
        limits: PayloadLimits::default(),
        context: &NOTHING,
        previous: None,
        names: &NAMES,
        late: LateTexts::default(),
        secrets: CarriedSecrets::default(),
    }
}

pub(crate) async fn run(handler: &dyn NodeHandler, config: Value) -> Result<Outcome, NodeError> {
    handler.run(call(config)).await
}

/// The output of a run that must leave by `handle`.
pub(crate) async fn output(handler: &dyn NodeHandler, config: Value, handle: &str) -> Value {
    match run(handler, config).await {
        Ok(Outcome::Done {
            handle: left,
            output,
            ..
        }) => {
            assert_eq!(left, handle);
            output
        }
        other => panic!("expected an exit by `{handle}`, got {other:?}"),
    }
}

/// The error of a run that must fail with `code`.
pub(crate) async fn error(handler: &dyn NodeHandler, config: Value, code: &str) -> NodeError {
    match run(handler, config.clone()).await {
        Err(error) => {
            assert_eq!(error.code, code, "{config}: {}", error.message);
            error
        }
        Ok(outcome) => panic!("expected {code} for {config}, got {outcome:?}"),
    }
}
