//! Scripts in real child processes.
#![allow(clippy::unwrap_used)]

mod errors;
mod hostile;
mod lazy;
mod names;
mod node;
mod pool;
mod results;
mod sandbox;

use std::borrow::Cow;
use std::sync::Arc;

use pawl_script::{Answer, Data, Document, Job, Options, Pool, ScriptError};
use serde_json::{Value, json};

/// 2026-11-16T05:00:00.250Z
const NOW_MS: i64 = 1_794_805_200_250;

fn options(children: usize) -> Options {
    let mut options = Options::new(env!("CARGO_BIN_EXE_pawl-script-child"));
    options.children = children;
    options
}

fn pool() -> Pool {
    Pool::new(options(1)).unwrap()
}

fn job(source: &str, data: impl Data + 'static) -> Job<'static> {
    Job {
        source: source.into(),
        data: Arc::new(data),
        entered_at_ms: NOW_MS,
        seed: 7,
        time: None,
        until: None,
        owner: None,
    }
}

fn bare(source: &str) -> Job<'static> {
    job(source, Document::default())
}

/// A context after a webhook and two steps, the last of them `load_1`, named "Load order".
fn document() -> Document<'static> {
    let Value::Object(context) = json!({
        "webhook": {
            "payload": {"target_atom_id": "atom_1"},
            "headers": {"x-a": "1"}, "query": {"q": "2"}, "params": {"id": "3"}, "method": "POST",
        },
        "input": {"n": 1},
        "user": {"id": 2, "email": "user@example.com"},
        "execution": {"id": "exec-1", "schema": "order-check", "version": 3},
        "steps": {
            "first": {"output": [{"a": 1}, {"a": 2}, {"a": 3}], "status": "success", "error": null, "runs": 1},
            "load_1": {"output": {"total": 5, "list": [1, 2]}, "status": "success", "error": null, "runs": 1},
        },
        "variables": {"user_age": 25},
        "env": {"region": "eu"},
        "secrets": {"token": "hush"},
    }) else {
        unreachable!()
    };
    let names = [("Load order".to_owned(), "load_1".to_owned())].into();
    Document::new(
        Cow::Owned(context),
        Some("load_1".into()),
        Cow::Owned(names),
    )
}

async fn run(source: &str) -> Result<Answer, ScriptError> {
    pool().run(job(source, document())).await
}

#[track_caller]
fn assert_value(answer: Result<Answer, ScriptError>, expected: Value) {
    assert_eq!(answer.unwrap().value, expected);
}
