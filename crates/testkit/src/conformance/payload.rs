//! Whatever JSON a workflow handles comes back byte for byte.

use std::sync::Arc;

use serde_json::json;

use pawl_kernel::execution::{Execution, Status, StepStatus};
use pawl_kernel::lifecycle::Command;

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, commit, new_execution, signal};

pub(super) const CASES: &[StoreCase] = cases!["payload":
    texts_come_back_byte_for_byte,
    a_megabyte_comes_back_whole,
    every_field_of_a_step_is_kept,
    big_numbers_are_kept,
    times_keep_their_microseconds,
    hostile_names_are_just_text,
];

/// NUL escaped and raw, emoji, right-to-left, spacing and key order that a JSON type would tidy away.
const TEXTS: &[&str] = &[
    r#"{"nul":"a\u0000b"}"#,
    "{\"nul\":\"a\0b\"}",
    r#"{"emoji":"😀👩‍👩‍👧‍👦","rtl":"שלום","zero":"a\u200bb"}"#,
    r#"{ "z" : 1,  "a":2, "z": 3 }"#,
    r#"{"n":12345678901234567890123,"e":1e400,"f":0.10}"#,
    "null",
    r#""""#,
    "{\"line\":\"a\\nb\"}\r\n",
];

async fn texts_come_back_byte_for_byte(scene: Scene) {
    for (n, text) in (1..).zip(TEXTS) {
        check(&scene, n, text).await;
    }
}

async fn a_megabyte_comes_back_whole(scene: Scene) {
    let text = json!({"text": "ü".repeat(1 << 19)}).to_string();
    assert!(text.len() > 1 << 20);
    check(&scene, 1, &text).await;
}

/// Puts the text everywhere a payload can be.
async fn check(scene: &Scene, n: u64, text: &str) {
    let mut new = new_execution(n);
    new.execution.record.initial = Arc::from(text);
    let id = scene.create_as(new).await;
    let mut given = signal("s", "paid", at(1));
    given.payload = text.to_owned();
    scene
        .command(id, Command::Signal(given.clone()), at(1))
        .await;
    let claimed = scene.claim(id, 10, at(2)).await;
    assert_eq!(&*claimed.execution.record.initial, text, "the start record");
    let some = || Some(text.to_owned());
    let transition = commit(&claimed.state, at(3)).steps(1).snapshot(text);
    let transition = transition.log(text).with(|t| {
        let step = &mut std::sync::Arc::make_mut(&mut t.steps)[0];
        (step.input, step.output, step.changes) = (some(), some(), some());
        (step.error, step.attempts) = (some(), some());
    });
    let step = transition.clone().build().steps[0].clone();
    scene.commit(transition.build()).await;
    assert_eq!(scene.steps(id).await[0].0, step, "the step");
    let snapshot = scene.store.history(id, 1).await.unwrap().snapshot;
    assert_eq!(snapshot.unwrap().context, text, "the snapshot");
    let logs = scene.store.logs(id, 0, 1).await.unwrap();
    assert_eq!(logs[0].1.message, text, "the log");
    assert_eq!(
        scene.store.signals(id).await.unwrap(),
        [given],
        "the signal"
    );
    let ended = end_with(scene, id, text).await;
    assert_eq!(
        (ended.record.output, ended.record.error),
        (some(), some()),
        "the ending"
    );
}

async fn end_with(scene: &Scene, id: pawl_kernel::id::ExecutionId, text: &str) -> Execution {
    let claimed = scene.claim(id, 11, at(4)).await;
    let end = commit(&claimed.state, at(5)).end(Status::Failed).with(|t| {
        if let pawl_kernel::transition::Next::End { ending, position } = &mut t.next {
            ending.output = Some(text.to_owned());
            ending.error = Some(text.to_owned());
            position.attempts = Some(text.to_owned());
        }
    });
    scene.commit(end.build()).await;
    let attempts = scene.state(id).await.position.attempts;
    assert_eq!(attempts.as_deref(), Some(text), "the tries");
    scene.execution(id).await
}

async fn every_field_of_a_step_is_kept(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(2)).await;
    let transition = commit(&claimed.state, at(9)).steps(3).with(|t| {
        std::sync::Arc::make_mut(&mut t.steps)[0].prev_node_id = Some("before".into());
        std::sync::Arc::make_mut(&mut t.steps)[1].status = StepStatus::Failed;
        std::sync::Arc::make_mut(&mut t.steps)[1].error = Some(r#"{"code":"X"}"#.into());
        std::sync::Arc::make_mut(&mut t.steps)[1].attempts = Some("[1,2]".into());
        std::sync::Arc::make_mut(&mut t.steps)[1].started_at = at(4);
        std::sync::Arc::make_mut(&mut t.steps)[2].status = StepStatus::Skipped;
        let skipped = &mut std::sync::Arc::make_mut(&mut t.steps)[2];
        (skipped.input, skipped.output, skipped.changes) = (None, None, None);
        (skipped.prev_node_id, skipped.next_node_id) = (None, None);
        skipped.handle = None;
        std::sync::Arc::make_mut(&mut t.steps)[1].handle = Some("a \0 case \u{10ffff}".into());
    });
    let expected = transition.clone().build().steps;
    scene.commit(transition.build()).await;
    let stored = scene.steps(id).await.into_iter().map(|(step, _)| step);
    assert_eq!(stored.collect::<Vec<_>>(), *expected);
    assert_eq!(scene.store.history(id, 3).await.unwrap().steps, *expected);
}

async fn big_numbers_are_kept(scene: Scene) {
    let big = i64::MAX as u64 - 10;
    let mut new = new_execution(1);
    (new.execution.head.base_seq, new.state.seq) = (big, big);
    (new.state.inbox, new.state.version) = (big, big);
    new.execution.record.parent_seq = Some(big);
    new.execution.record.child_index = Some(u32::MAX);
    let id = scene.create_as(new).await;
    let claimed = scene.claim(id, 10, at(2)).await;
    let transition = commit(&claimed.state, at(3)).steps(1).with(|t| {
        t.calls_spent = big;
        t.bytes_spent = big;
    });
    let applied = scene.commit(transition.build()).await;
    assert_eq!((applied.seq, applied.inbox), (big + 1, big));
    let view = scene.view(id).await;
    assert_eq!((view.state.calls_spent, view.state.bytes_spent), (big, big));
    assert_eq!(view.execution.record.child_index, Some(u32::MAX));
    let page = scene.store.steps(id, big, 10).await.unwrap();
    assert_eq!((page[0].0.seq, page[0].1), (big + 1, big + 2));
}

async fn times_keep_their_microseconds(scene: Scene) {
    let odd = at(3).plus(std::time::Duration::from_micros(123_457));
    let mut new = new_execution(1);
    (new.execution.head.created_at, new.execution.head.queued_at) = (odd, Some(odd));
    (new.state.deadline_at, new.state.updated_at) = (odd, odd);
    new.state.position.entered_at = odd;
    new.state.position.not_before = Some(odd);
    let id = scene.create_as(new.clone()).await;
    let view = scene.view(id).await;
    assert_eq!((view.execution, view.state), (new.execution, new.state));
}

async fn hostile_names_are_just_text(scene: Scene) {
    let hostile = "'; DROP TABLE executions; --\0\u{202e}%_";
    let mut new = new_execution(1);
    new.execution.record.correlation_id = hostile.into();
    new.execution.record.created_by = hostile.into();
    new.execution.record.tenant = Some(hostile.into());
    new.execution.record.idempotency_key = Some(hostile.into());
    new.state.position.node_id = hostile.into();
    new.state.position.prev_node_id = Some(hostile.into());
    let id = scene.create_as(new.clone()).await;
    let view = scene.view(id).await;
    assert_eq!((view.execution, view.state), (new.execution, new.state));
    let signal = signal(hostile, hostile, at(1));
    scene
        .command(id, Command::Signal(signal.clone()), at(1))
        .await;
    let (_, open) = scene.store.open_signals(id).await.unwrap();
    assert_eq!(open, [signal]);
}
