//! Lists and details.

use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{ExecutionFilter, MinimumDuration};

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, commit, execution_id, new_execution, schema, schema_id};

pub(super) const CASES: &[StoreCase] = cases!["query":
    newest_first_page_by_page,
    by_status,
    by_schema,
    by_time,
    by_tenant,
    without_those_that_were_retried,
    trial_runs_or_none_of_them,
    by_text,
    text_is_no_pattern,
    filters_work_together,
    by_what_a_record_says,
    by_where_it_stands_and_how_it_ended,
    by_origin,
    counts_what_it_would_list,
    steps_page_by_page,
    logs_page_by_page,
    open_executions_in_order,
    tells_about_itself,
];

async fn newest_first_page_by_page(scene: Scene) {
    for n in [3, 1, 5, 2, 4] {
        scene.create(n).await;
    }
    let list = |before, limit| scene.store.executions(Default::default(), before, limit);
    let first = list(None, 2).await.unwrap();
    let ids: Vec<ExecutionId> = first.iter().map(|view| view.execution.head.id).collect();
    assert_eq!(ids, [5, 4].map(execution_id));
    let second = list(Some(execution_id(4)), 2).await.unwrap();
    let ids: Vec<ExecutionId> = second.iter().map(|view| view.execution.head.id).collect();
    assert_eq!(ids, [3, 2].map(execution_id));
    assert_eq!(list(Some(execution_id(1)), 2).await.unwrap(), []);
    assert_eq!(first[0], scene.view(execution_id(5)).await);
}

async fn by_status(scene: Scene) {
    for n in 1..=4 {
        scene.create(n).await;
    }
    scene
        .finish(execution_id(1), Status::Completed, at(9))
        .await;
    scene.finish(execution_id(2), Status::Failed, at(9)).await;
    scene.claim(execution_id(3), 1, at(9)).await;
    for (statuses, expected) in [
        (vec![Status::Failed], vec![2]),
        (vec![Status::Queued, Status::Running], vec![4, 3]),
        (vec![Status::Paused], vec![]),
        (vec![], vec![4, 3, 2, 1]),
    ] {
        let filter = ExecutionFilter {
            statuses,
            ..Default::default()
        };
        check(&scene, filter, &expected).await;
    }
}

async fn by_schema(scene: Scene) {
    scene.store.save_schema(schema(2)).await.unwrap();
    scene.create(1).await;
    let mut new = new_execution(2);
    new.execution.head.schema_id = schema_id(2);
    let id = scene.create_as(new).await;
    assert_eq!(scene.view(id).await.schema_name, "flow-2");
    for (n, expected) in [(1, vec![1]), (2, vec![2]), (404, vec![])] {
        let filter = ExecutionFilter {
            schema_id: Some(schema_id(n)),
            ..Default::default()
        };
        check(&scene, filter, &expected).await;
    }
}

async fn by_time(scene: Scene) {
    for n in 1..=4 {
        scene.create(n).await;
    }
    // Between the seconds at which they were made.
    let half = Duration::from_millis(500);
    let filter = ExecutionFilter {
        created_after: Some(at(1).plus(half)),
        created_before: Some(at(3).plus(half)),
        ..Default::default()
    };
    check(&scene, filter, &[3, 2]).await;
}

async fn by_tenant(scene: Scene) {
    for (n, tenant) in [(1, None), (2, Some("acme")), (3, Some("other"))] {
        let mut new = new_execution(n);
        new.execution.record.tenant = tenant.map(str::to_owned);
        scene.create_as(new).await;
    }
    let filter = ExecutionFilter {
        tenant: Some("acme".into()),
        ..Default::default()
    };
    check(&scene, filter, &[2]).await;
}

async fn without_those_that_were_retried(scene: Scene) {
    for n in 1..=3 {
        let id = scene.create(n).await;
        scene.finish(id, Status::Failed, at(5)).await;
    }
    let mut retry = new_execution(4);
    retry.execution.record.retry_of = Some(execution_id(2));
    scene.create_as(retry).await;
    for (statuses, expected) in [
        (vec![Status::Failed, Status::FailedStuck], &[3, 1][..]),
        (vec![Status::Failed, Status::Completed], &[3, 1]),
        (vec![], &[4, 3, 1]),
    ] {
        for schema_id in [None, Some(schema_id(1))] {
            let filter = ExecutionFilter {
                statuses: statuses.clone(),
                schema_id,
                not_retried: true,
                ..Default::default()
            };
            check(&scene, filter, expected).await;
        }
    }
}

async fn trial_runs_or_none_of_them(scene: Scene) {
    for n in 1..=4 {
        let mut new = new_execution(n);
        new.execution.record.trial = n % 2 == 0;
        scene.create_as(new).await;
    }
    scene.finish(execution_id(2), Status::Failed, at(5)).await;
    for (trial, expected) in [
        (None, &[4, 3, 2, 1][..]),
        (Some(false), &[3, 1]),
        (Some(true), &[4, 2]),
    ] {
        let filter = ExecutionFilter {
            trial,
            ..Default::default()
        };
        check(&scene, filter.clone(), expected).await;
        let of_schema = ExecutionFilter {
            schema_id: Some(schema_id(1)),
            ..filter.clone()
        };
        check(&scene, of_schema, expected).await;
        let failed = ExecutionFilter {
            statuses: vec![Status::Failed],
            ..filter
        };
        let kept = if trial == Some(false) { &[][..] } else { &[2] };
        check(&scene, failed, kept).await;
    }
    assert!(scene.view(execution_id(2)).await.execution.record.trial);
    assert!(!scene.view(execution_id(1)).await.execution.record.trial);
}

async fn by_text(scene: Scene) {
    let mut new = new_execution(1);
    new.execution.record.correlation_id = "trace-alpha".into();
    new.execution.record.idempotency_key = Some("order-17".into());
    new.execution.record.created_by = "cron:nightly".into();
    new.execution.record.labels = Some(r#"{"team":"payments"}"#.into());
    scene.create_as(new).await;
    scene.finish(execution_id(1), Status::Failed, at(2)).await;
    scene.create(2).await;
    let id = execution_id(1).to_string();
    for text in ["alpha", "order-17", "nightly", "payments", "it broke", &id] {
        check(&scene, text_filter(text), &[1]).await;
    }
    check(&scene, text_filter("correlation-2"), &[2]).await;
    check(&scene, text_filter("nowhere"), &[]).await;
}

async fn text_is_no_pattern(scene: Scene) {
    for (n, key) in [
        (1, "100% sure"),
        (2, "a_b"),
        (3, "axb"),
        (4, r"back\slash"),
        (5, "o'hara"),
    ] {
        let mut new = new_execution(n);
        new.execution.record.idempotency_key = Some(key.into());
        scene.create_as(new).await;
    }
    for (text, expected) in [
        ("0% s", vec![1]),
        ("a_b", vec![2]),
        ("100%x", vec![]),
        (r"k\s", vec![4]),
        ("o'h", vec![5]),
    ] {
        check(&scene, text_filter(text), &expected).await;
    }
}

async fn filters_work_together(scene: Scene) {
    for n in 1..=4 {
        let mut new = new_execution(n);
        new.execution.record.tenant = (n % 2 == 0).then(|| "acme".to_owned());
        scene.create_as(new).await;
    }
    scene
        .finish(execution_id(2), Status::Completed, at(9))
        .await;
    let filter = ExecutionFilter {
        tenant: Some("acme".into()),
        statuses: vec![Status::Queued],
        text: Some("correlation".into()),
        ..Default::default()
    };
    check(&scene, filter, &[4]).await;
}

async fn counts_what_it_would_list(scene: Scene) {
    assert_eq!(count(&scene, ExecutionFilter::default()).await, 0);
    for n in 1..=5 {
        scene.create(n).await;
    }
    assert_eq!(count(&scene, ExecutionFilter::default()).await, 5);
    assert_eq!(count(&scene, text_filter("correlation-3")).await, 1);
}

async fn steps_page_by_page(scene: Scene) {
    let id = scene.create(1).await;
    let first = scene.advance(id, 3, at(2)).await;
    let second = scene.advance(id, 2, at(3)).await;
    assert!(second.version > first.version);
    let page = scene.store.steps(id, 1, 3).await.unwrap();
    let told: Vec<_> = page.iter().map(|(step, v)| (step.seq, *v)).collect();
    let (v1, v2) = (first.version, second.version);
    assert_eq!(told, [(2, v1), (3, v1), (4, v2)]);
    assert_eq!(scene.store.steps(id, 4, 3).await.unwrap().len(), 1);
    assert_eq!(scene.store.steps(id, 5, 3).await.unwrap(), []);
}

async fn logs_page_by_page(scene: Scene) {
    for n in 1..=2 {
        let id = scene.create(n).await;
        let claimed = scene.claim(id, 10, at(3)).await;
        let mut transition = commit(&claimed.state, at(4)).steps(1);
        for line in 1..=4 {
            transition = transition.log(&format!("line {n}.{line}"));
        }
        scene.commit(transition.build()).await;
    }
    let id = execution_id(2);
    let page = scene.store.logs(id, 0, 3).await.unwrap();
    let lines: Vec<&str> = page.iter().map(|(_, log)| log.message.as_str()).collect();
    assert_eq!(lines, ["line 2.1", "line 2.2", "line 2.3"]);
    let log = &page[0].1;
    assert_eq!((log.seq, log.level, log.at), (1, "info", at(4)));
    assert_eq!(&*log.node_id, "node_1");
    let rest = scene.store.logs(id, page[2].0, 3).await.unwrap();
    let lines: Vec<&str> = rest.iter().map(|(_, log)| log.message.as_str()).collect();
    assert_eq!(lines, ["line 2.4"]);
    assert_eq!(scene.store.logs(id, rest[0].0, 3).await.unwrap(), []);
}

async fn open_executions_in_order(scene: Scene) {
    for n in 1..=5 {
        scene.create(n).await;
    }
    scene
        .finish(execution_id(2), Status::Completed, at(9))
        .await;
    scene.sleep(execution_id(3), 1, at(100), at(9)).await;
    let first = scene.store.open_executions(None, 2).await.unwrap();
    let ids: Vec<ExecutionId> = first.iter().map(|view| view.execution.head.id).collect();
    assert_eq!(ids, [1, 3].map(execution_id));
    assert_eq!(first[1], scene.view(execution_id(3)).await);
    let rest = scene.store.open_executions(Some(execution_id(3)), 9).await;
    let ids: Vec<ExecutionId> = rest
        .unwrap()
        .iter()
        .map(|view| view.execution.head.id)
        .collect();
    assert_eq!(ids, [4, 5].map(execution_id));
}

async fn tells_about_itself(scene: Scene) {
    let facts = scene.store.about().await.unwrap();
    assert!(
        facts
            .iter()
            .any(|(name, value)| !name.is_empty() && !value.is_empty())
    );
}

fn text_filter(text: &str) -> ExecutionFilter {
    ExecutionFilter {
        text: Some(text.to_owned()),
        ..Default::default()
    }
}

async fn count(scene: &Scene, filter: ExecutionFilter) -> u64 {
    scene.store.count_executions(filter).await.unwrap()
}

/// Listed and counted alike.
async fn check(scene: &Scene, filter: ExecutionFilter, expected: &[u64]) {
    let views = scene.store.executions(filter.clone(), None, 100).await;
    let ids: Vec<ExecutionId> = views
        .unwrap()
        .iter()
        .map(|view| view.execution.head.id)
        .collect();
    let expected: Vec<ExecutionId> = expected.iter().copied().map(execution_id).collect();
    assert_eq!(ids, expected, "{filter:?}");
    assert_eq!(count(scene, filter).await, expected.len() as u64);
}

async fn by_what_a_record_says(scene: Scene) {
    for (n, labels, by) in [
        (1, Some(r#"{"team":"red","a.b \"c\"":"x:y"}"#), "user:1"),
        (
            2,
            Some(r#"{"team":7,"on":true,"off":false,"long":1.50}"#),
            "user:2",
        ),
        (3, Some(r#"{"other":"red"}"#), "cron:red"),
        (4, None, "user:1"),
    ] {
        let mut new = new_execution(n);
        new.execution.record.labels = labels.map(str::to_owned);
        new.execution.record.created_by = by.to_owned();
        new.execution.head.schema_version = 1 + (n as u32) % 2;
        scene.create_as(new).await;
    }
    for (name, value, expected) in [
        ("team", "red", &[1][..]),
        ("a.b \"c\"", "x:y", &[1]),
        ("team", "7", &[2]),
        ("on", "true", &[2]),
        ("off", "false", &[2]),
        ("long", "1.50", &[2]),
        ("team", "re", &[]),
        ("nothing", "red", &[]),
    ] {
        let label = Some((name.to_owned(), value.to_owned()));
        check(
            &scene,
            ExecutionFilter {
                label,
                ..Default::default()
            },
            expected,
        )
        .await;
    }
    let created_by = Some("user:1".to_owned());
    check(
        &scene,
        ExecutionFilter {
            created_by,
            ..Default::default()
        },
        &[4, 1],
    )
    .await;
    let version = Some(2);
    check(
        &scene,
        ExecutionFilter {
            version,
            ..Default::default()
        },
        &[3, 1],
    )
    .await;
    let ids = Some([3, 1, 404, 3].map(execution_id).to_vec());
    let filter = ExecutionFilter {
        ids,
        ..Default::default()
    };
    check(&scene, filter.clone(), &[3, 1]).await;
    let version = Some(1);
    check(
        &scene,
        ExecutionFilter {
            version,
            ..filter.clone()
        },
        &[],
    )
    .await;
    let page = scene
        .store
        .executions(filter, Some(execution_id(3)), 5)
        .await;
    assert_eq!(page.unwrap().len(), 1);
    let ids = Some(Vec::new());
    check(
        &scene,
        ExecutionFilter {
            ids,
            ..Default::default()
        },
        &[],
    )
    .await;
}

async fn by_where_it_stands_and_how_it_ended(scene: Scene) {
    for n in 1..=4 {
        scene.create(n).await;
    }
    // Ten and twenty-five seconds under way.
    for (n, begun, ended, status) in [(1, 10, 20, Status::Failed), (2, 15, 40, Status::Completed)] {
        let claimed = scene.claim(execution_id(n), n, at(begun)).await;
        let end = commit(&claimed.state, at(ended)).steps(1).end(status);
        scene.commit(end.build()).await;
    }
    let node = scene.view(execution_id(3)).await.state.position.node_id;
    let standing = ExecutionFilter {
        node: Some(node.to_string()),
        statuses: vec![Status::Queued],
        ..Default::default()
    };
    check(&scene, standing, &[4, 3]).await;
    let node = Some("nowhere".to_owned());
    check(
        &scene,
        ExecutionFilter {
            node,
            ..Default::default()
        },
        &[],
    )
    .await;
    let error: serde_json::Value = {
        let view = scene.view(execution_id(1)).await;
        serde_json::from_str(&view.execution.record.error.unwrap()).unwrap()
    };
    let error_code = Some(error["code"].as_str().unwrap().to_owned());
    check(
        &scene,
        ExecutionFilter {
            error_code,
            ..Default::default()
        },
        &[1],
    )
    .await;
    let error_code = Some("OTHER".to_owned());
    check(
        &scene,
        ExecutionFilter {
            error_code,
            ..Default::default()
        },
        &[],
    )
    .await;
    for (since, expected) in [(20, &[2, 1][..]), (21, &[2]), (41, &[])] {
        let finished_since = Some(at(since));
        check(
            &scene,
            ExecutionFilter {
                finished_since,
                ..Default::default()
            },
            expected,
        )
        .await;
    }
    // Open ones last until now.
    for (than, expected) in [
        (5, &[4, 3, 2, 1][..]),
        (20, &[4, 3, 2]),
        (60, &[4, 3]),
        (2_000, &[]),
    ] {
        let longer_than = Some(MinimumDuration {
            than: Duration::from_secs(than),
            now: at(1_000),
        });
        check(
            &scene,
            ExecutionFilter {
                longer_than,
                ..Default::default()
            },
            expected,
        )
        .await;
    }
}

async fn by_origin(scene: Scene) {
    for n in 1..=2 {
        let id = scene.create(n).await;
        scene.finish(id, Status::Failed, at(5)).await;
    }
    let mut retry = new_execution(3);
    retry.execution.record.retry_of = Some(execution_id(1));
    scene.create_as(retry).await;
    let mut fork = new_execution(4);
    fork.execution.record.forked_from = Some(execution_id(1));
    scene.create_as(fork).await;
    for (origin, retries, forks) in [(1, &[3][..], &[4][..]), (2, &[], &[])] {
        let retry_of = Some(execution_id(origin));
        check(
            &scene,
            ExecutionFilter {
                retry_of,
                ..Default::default()
            },
            retries,
        )
        .await;
        let forked_from = Some(execution_id(origin));
        check(
            &scene,
            ExecutionFilter {
                forked_from,
                ..Default::default()
            },
            forks,
        )
        .await;
    }
}
