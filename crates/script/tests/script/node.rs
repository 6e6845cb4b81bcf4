//! The node: what of a visit reaches the code, and what of the code the visit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::node::{
    LogLevel, LogLine, NodeCall, NodeError, NodeHandler, Outcome, PayloadLimits,
};
use pawl_kernel::schema::graph::LateTexts;
use pawl_kernel::secrets::CarriedSecrets;
use pawl_kernel::time::Timestamp;
use pawl_script::CodeNode;
use serde_json::{Map, Value, json};

use super::pool;

struct Visit {
    context: Map<String, Value>,
    previous: Option<&'static str>,
    timeout: Duration,
}

fn visit(context: Value) -> Visit {
    let Value::Object(context) = context else {
        unreachable!()
    };
    Visit {
        context,
        previous: None,
        timeout: Duration::from_secs(30),
    }
}

impl Visit {
    async fn run(&self, source: &str) -> Result<Outcome, NodeError> {
        let names = BTreeMap::from([("Third step".to_owned(), "step_3".to_owned())]);
        let call = NodeCall {
            node_id: "code_1",
            config: json!({"source": source}),
            execution_id: "exe_1",
            correlation_id: "cor_1",
            seq: 7,
            attempt: 1,
            entered_at: Timestamp::from_micros(1_000),
            now: Timestamp::from_micros(2_000),
            effect_key: Some("exe_1:7"),
            timeout: self.timeout,
            limits: PayloadLimits::default(),
            context: &self.context,
            previous: self.previous,
            names: &names,
            late: LateTexts::default(),
            secrets: CarriedSecrets::default(),
        };
        CodeNode::new(Arc::new(pool())).run(call).await
    }

    async fn output(&self, source: &str) -> Value {
        match self.run(source).await {
            Ok(Outcome::Done { output, .. }) => output,
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn steps_are_found_however_their_name_is_put_together() {
    let steps: Map<String, Value> = (1..=3)
        .map(|index| (format!("step_{index}"), json!({"output": {"n": index}})))
        .collect();
    let visit = visit(json!({"steps": steps, "execution": {"schema": "s"}}));
    for (source, expected) in [
        (
            "return [1, 2, 3].map(i => $('step_' + i).item.json.n)",
            json!([1, 2, 3]),
        ),
        ("return $(\"st\" + 'ep_2').item.json.n", json!(2)),
        (
            "const all = ['step_1', 'step_2'].map($); return all.map(x => x.json.n)",
            json!([1, 2]),
        ),
        (
            "const find = $; return find(`step_${1 + 2}`).item.json.n",
            json!(3),
        ),
        ("return $ ('Third' + ' step').item.json.n", json!(3)),
        ("return $node['step_' + 1].json.n", json!(1)),
        (
            "const g = globalThis; return Object.keys(g['st' + 'eps']).length",
            json!(3),
        ),
    ] {
        assert_eq!(visit.output(source).await, expected, "{source}");
    }
}

#[tokio::test]
async fn the_first_node_gets_what_came_in() {
    let steps = json!({"start_1": {"output": {}}});
    let by_hand = visit(json!({"webhook": {}, "input": {"n": 1}, "steps": steps}));
    assert_eq!(by_hand.output("return $json").await, json!({"n": 1}));
    let payload = json!({"payload": {"n": 2}, "method": "POST"});
    let called = visit(json!({"webhook": payload, "input": {}, "steps": steps}));
    assert_eq!(
        called.output("return $input.item.json").await,
        json!({"n": 2})
    );
}

#[tokio::test]
async fn the_console_of_a_failed_run_reaches_the_log() {
    let lines = |messages: &[(LogLevel, &str)]| -> Vec<LogLine> {
        let line = |(level, message): &(LogLevel, &str)| LogLine {
            level: *level,
            message: (*message).to_owned(),
        };
        messages.iter().map(line).collect()
    };
    let visit = visit(json!({}));
    let error = visit
        .run("console.log('one'); console.warn('two'); throw new Error('three')")
        .await
        .unwrap_err();
    let expected = lines(&[(LogLevel::Info, "one"), (LogLevel::Warn, "two")]);
    assert_eq!(error.logs(), expected);
    let done = visit.run("console.error('four'); return 1").await.unwrap();
    let Outcome::Done { logs, .. } = done else {
        panic!("{done:?}")
    };
    assert_eq!(logs, lines(&[(LogLevel::Error, "four")]));
}

#[tokio::test]
async fn code_of_a_node_with_little_time_has_some_of_it() {
    let mut visit = visit(json!({}));
    visit.timeout = Duration::from_millis(400);
    // The first start of a process may take longer than that.
    for _ in 0..20 {
        match visit.run("return 1").await {
            Ok(_) => return,
            Err(error) => assert_eq!(error.code, "CODE_BUSY", "{error:?}"),
        }
    }
    panic!("it never ran");
}
