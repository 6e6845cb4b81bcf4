//! What one execution did, as people look through it.

use std::sync::Arc;

use pawl_kernel::execution::{Status, StepStatus};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::node::LogLevel;
use pawl_kernel::ports::history::{BRIEF_ERROR_MAX, LogQuery, StepOutline};

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, commit, execution_id, log_line, new_execution};

pub(super) const CASES: &[StoreCase] = cases!["history":
    an_outline_is_the_steps_without_payloads,
    an_outline_has_only_what_was_asked_for,
    logs_by_level_and_node,
    logs_newest_first,
    signals_in_the_order_of_arrival,
    briefs_are_the_same_executions_without_what_is_large,
];

async fn an_outline_is_the_steps_without_payloads(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(2)).await;
    let transition = commit(&claimed.state, at(9)).steps(4).with(|t| {
        let steps = Arc::make_mut(&mut t.steps);
        steps[0].started_at = at(3);
        steps[1].status = StepStatus::Failed;
        steps[1].attempts = Some(r#"[{"error":"a, b"},{"error":[1]},{}]"#.into());
        steps[1].handle = Some("error".into());
        steps[2].attempts = Some("[]".into());
        (steps[2].handle, steps[2].next_node_id) = (None, None);
        steps[3].input = Some("{}".into());
    });
    let steps = transition.clone().build().steps;
    scene.commit(transition.build()).await;
    let found = scene.store.outline(id, 0, u64::MAX, 100).await.unwrap();
    let expected: Vec<StepOutline> = steps.iter().map(StepOutline::from).collect();
    assert_eq!(found, expected);
    let tries: Vec<u32> = found.iter().map(|step| step.tries).collect();
    assert_eq!(tries, [1, 3, 1, 1]);
}

async fn an_outline_has_only_what_was_asked_for(scene: Scene) {
    let (id, other) = (scene.create(1).await, scene.create(2).await);
    scene.advance(id, 5, at(3)).await;
    scene.advance(other, 2, at(3)).await;
    for (after, up_to, limit, expected) in [
        (0, u64::MAX, 2, &[1, 2][..]),
        (2, u64::MAX, 100, &[3, 4, 5]),
        (1, 3, 100, &[2, 3]),
        (5, u64::MAX, 100, &[]),
    ] {
        let found = scene.store.outline(id, after, up_to, limit).await.unwrap();
        let seqs: Vec<u64> = found.iter().map(|step| step.seq).collect();
        assert_eq!(seqs, expected, "{after} to {up_to}");
    }
    let nothing = scene.store.outline(execution_id(9), 0, 9, 9).await;
    assert_eq!(nothing.unwrap(), []);
}

/// Lines 1 to 4: debug, info, warn, error; all but the second of `node_1`.
async fn with_lines(scene: &Scene) -> ExecutionId {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(2)).await;
    let transition = commit(&claimed.state, at(3)).steps(2).with(|t| {
        let lines = ["debug", "info", "warn", "error"].map(|level| {
            let mut line = log_line(if level == "info" { 2 } else { 1 }, level, at(3));
            line.level = level;
            line
        });
        t.logs = Arc::new(lines.into());
    });
    scene.commit(transition.build()).await;
    id
}

fn query(id: ExecutionId, least: LogLevel) -> LogQuery {
    LogQuery {
        id,
        beyond: None,
        least,
        node_id: None,
        newest_first: false,
        limit: 10,
    }
}

#[track_caller]
fn check_lines(found: &[(u64, pawl_kernel::execution::LogRecord)], expected: &[u64]) {
    let numbers: Vec<u64> = found.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, expected);
}

async fn logs_by_level_and_node(scene: Scene) {
    let id = with_lines(&scene).await;
    for (least, expected) in [
        (LogLevel::Debug, &[1, 2, 3, 4][..]),
        (LogLevel::Info, &[2, 3, 4]),
        (LogLevel::Warn, &[3, 4]),
        (LogLevel::Error, &[4]),
    ] {
        check_lines(
            &scene.store.log_page(query(id, least)).await.unwrap(),
            expected,
        );
    }
    let of_node = LogQuery {
        node_id: Some("node_1".into()),
        ..query(id, LogLevel::Info)
    };
    let found = scene.store.log_page(of_node).await.unwrap();
    check_lines(&found, &[3, 4]);
    assert_eq!((found[0].1.level, &*found[0].1.message), ("warn", "warn"));
    let second = LogQuery {
        beyond: Some(2),
        limit: 1,
        ..query(id, LogLevel::Debug)
    };
    check_lines(&scene.store.log_page(second).await.unwrap(), &[3]);
}

async fn logs_newest_first(scene: Scene) {
    let id = with_lines(&scene).await;
    let page = |beyond, least| LogQuery {
        beyond,
        newest_first: true,
        limit: 2,
        ..query(id, least)
    };
    for (beyond, least, expected) in [
        (None, LogLevel::Debug, &[4, 3][..]),
        (Some(3), LogLevel::Debug, &[2, 1]),
        (Some(1), LogLevel::Debug, &[]),
        (Some(4), LogLevel::Warn, &[3]),
    ] {
        let found = scene.store.log_page(page(beyond, least)).await.unwrap();
        check_lines(&found, expected);
    }
}

async fn signals_in_the_order_of_arrival(scene: Scene) {
    let (id, other) = (scene.create(1).await, scene.create(2).await);
    for (n, name) in [("c", "paid"), ("a", "shipped"), ("b", "paid")] {
        scene.signal(id, n, name).await;
    }
    scene.signal(other, "a", "paid").await;
    let claimed = scene.claim(id, 10, at(6)).await;
    let taking = commit(&claimed.state, at(7)).steps(1).take("c");
    scene.commit(taking.build()).await;
    let first = scene.store.signal_page(id, 0, 2).await.unwrap();
    let shown: Vec<(&str, &str, Option<u64>)> = first
        .iter()
        .map(|(_, signal)| (&*signal.id, &*signal.name, signal.consumed_seq))
        .collect();
    assert_eq!(shown, [("c", "paid", Some(1)), ("a", "shipped", None)]);
    let second = scene.store.signal_page(id, first[1].0, 2).await.unwrap();
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].1, scene.store.signals(id).await.unwrap()[2]);
    let third = scene.store.signal_page(id, second[0].0, 2).await.unwrap();
    assert_eq!(third, []);
}

async fn briefs_are_the_same_executions_without_what_is_large(scene: Scene) {
    for n in 1..=4 {
        scene.create_as(new_execution(n)).await;
    }
    scene
        .finish(execution_id(1), Status::Completed, at(9))
        .await;
    scene.finish(execution_id(2), Status::Failed, at(9)).await;
    let claimed = scene.claim(execution_id(3), 10, at(9)).await;
    let failed = commit(&claimed.state, at(10)).failed(r#"{"code":"SHAKY"}"#);
    scene.commit(failed.keep(at(99)).build()).await;
    let whole = scene.store.executions(Default::default(), None, 10).await;
    let mut whole = whole.unwrap();
    let briefs = |before, limit| {
        scene
            .store
            .execution_briefs(Default::default(), before, limit)
    };
    let brief = briefs(None, 10).await.unwrap();
    for view in &mut whole {
        view.execution.record.initial = "{}".into();
        view.execution.record.output = None;
        view.state.position.attempts = None;
    }
    assert_eq!(brief, whole);
    assert!(
        brief
            .iter()
            .any(|view| view.execution.record.error.is_some())
    );
    let page = briefs(Some(execution_id(3)), 1).await.unwrap();
    assert_eq!(page[0].execution.head.id, execution_id(2));

    let claimed = scene.claim(execution_id(4), 11, at(11)).await;
    let long = format!(
        r#"{{"code":"X","message":"{}"}}"#,
        "ж".repeat(BRIEF_ERROR_MAX)
    );
    let begin: String = long.chars().take(BRIEF_ERROR_MAX).collect();
    let mut transition = commit(&claimed.state, at(12))
        .steps(1)
        .end(Status::Failed)
        .build();
    if let pawl_kernel::transition::Next::End { ending, .. } = &mut transition.next {
        ending.error = Some(long);
    }
    scene.commit(transition).await;
    let cut = briefs(None, 1).await.unwrap();
    assert_eq!(cut[0].execution.record.error, Some(begin));
}
