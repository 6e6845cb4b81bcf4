//! Counts and statistics.

use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ids_at;
use pawl_kernel::ports::overview::{ErrorGroup, GroupBy, GroupCounts, Look, count_by, errors_by};
use pawl_kernel::ports::store::{Along, ExecutionFilter};
use pawl_kernel::statistics::{StatisticsPeriod, gather};

use super::{Scene, StoreCase, cases};
use crate::clock::EPOCH;
use crate::fixture::{at, execution_id, new_execution, schema, schema_id};

pub(super) const CASES: &[StoreCase] = cases!["overview":
    counts_by_status_node_and_schema,
    counts_only_what_fits,
    trial_runs_count_nowhere,
    a_look_ends_at_its_limit,
    errors_by_code_schema_and_node,
    statistics_by_time,
    the_newest_of_each_schema,
];

async fn counts_by_status_node_and_schema(scene: Scene) {
    scene.store.save_schema(schema(2)).await.unwrap();
    for n in 1..=6 {
        let mut new = new_execution(n);
        if n == 6 {
            new.execution.head.schema_id = schema_id(2);
        }
        scene.create_as(new).await;
    }
    scene
        .finish(execution_id(1), Status::Completed, at(9))
        .await;
    scene
        .finish(execution_id(2), Status::Completed, at(9))
        .await;
    scene.finish(execution_id(3), Status::Failed, at(9)).await;
    let all = ExecutionFilter::default();
    let counts = told(&scene, &all, GroupBy::Status).await;
    assert_eq!(counts, "completed 2, failed 1, queued 3");
    let schemas = told(&scene, &all, GroupBy::Schema).await;
    assert_eq!(schemas, format!("{} 5, {} 1", schema_id(1), schema_id(2)));
    let queued = ExecutionFilter {
        statuses: vec![Status::Queued],
        ..Default::default()
    };
    let node = scene.view(execution_id(4)).await.state.position.node_id;
    assert_eq!(
        told(&scene, &queued, GroupBy::Node).await,
        format!("{node} 3")
    );
    for n in [1, 2] {
        let of_schema = ExecutionFilter {
            schema_id: Some(schema_id(n)),
            ..Default::default()
        };
        let expected = ["completed 2, failed 1, queued 2", "queued 1"][n as usize - 1];
        assert_eq!(told(&scene, &of_schema, GroupBy::Status).await, expected);
    }
}

async fn told(scene: &Scene, filter: &ExecutionFilter, group: GroupBy) -> String {
    let counts = count_by(&*scene.store, filter, group).await.unwrap();
    assert!(!counts.is_capped, "{counts:?}");
    in_words(&counts)
}

fn in_words(counts: &GroupCounts) -> String {
    let groups = counts.groups.iter();
    let told: Vec<String> = groups
        .map(|group| format!("{} {}", group.key, group.count))
        .collect();
    told.join(", ")
}

async fn counts_only_what_fits(scene: Scene) {
    for n in 1..=6 {
        let mut new = new_execution(n);
        new.execution.record.tenant = (n % 2 == 0).then(|| "acme".to_owned());
        let retried = n == 6;
        new.execution.record.retry_of = retried.then(|| execution_id(1));
        scene.create_as(new).await;
    }
    scene.finish(execution_id(2), Status::Failed, at(9)).await;
    scene.finish(execution_id(3), Status::Failed, at(9)).await;
    let filter = |change: fn(&mut ExecutionFilter)| {
        let mut filter = ExecutionFilter::default();
        change(&mut filter);
        filter
    };
    for (filter, expected) in [
        (
            filter(|f| f.tenant = Some("acme".into())),
            "failed 1, queued 2",
        ),
        (filter(|f| f.retry_of = Some(execution_id(1))), "queued 1"),
        (
            filter(|f| f.ids = Some([2, 3, 404].map(execution_id).to_vec())),
            "failed 2",
        ),
        (filter(|f| f.statuses = vec![Status::Failed]), "failed 2"),
        (filter(|f| f.created_after = Some(at(3))), "queued 3"),
        (
            filter(|f| f.text = Some("correlation-5".into())),
            "queued 1",
        ),
        (filter(|f| f.tenant = Some("nobody".into())), ""),
    ] {
        assert_eq!(
            told(&scene, &filter, GroupBy::Status).await,
            expected,
            "{filter:?}"
        );
    }
}

async fn trial_runs_count_nowhere(scene: Scene) {
    for n in 1..=3 {
        let mut new = new_execution(n);
        // The id of a fixture says as many milliseconds as its number.
        new.execution.head.created_at = EPOCH.plus(Duration::from_millis(n));
        new.execution.record.trial = n == 2;
        scene.create_as(new).await;
    }
    scene.finish(execution_id(2), Status::Failed, at(9)).await;
    let counted = |trial, statuses| ExecutionFilter {
        trial,
        statuses,
        ..Default::default()
    };
    let failed = vec![Status::Failed];
    for (filter, expected) in [
        (counted(None, vec![]), "failed 1, queued 2"),
        (counted(Some(false), vec![]), "queued 2"),
        (counted(Some(true), vec![]), "failed 1"),
        (counted(Some(false), failed.clone()), ""),
        (counted(Some(true), failed), "failed 1"),
    ] {
        let told = told(&scene, &filter, GroupBy::Status).await;
        assert_eq!(told, expected, "{filter:?}");
    }
    let real = counted(Some(false), vec![]);
    let errors = errors_by(&*scene.store, &real).await.unwrap();
    assert_eq!(errors.groups, []);
    let newest = scene.store.newest_of(vec![schema_id(1)], 5).await.unwrap();
    let newest: Vec<_> = newest[0].iter().map(|one| one.id).collect();
    assert_eq!(newest, [3, 1].map(execution_id));
    let period = StatisticsPeriod {
        since: EPOCH.plus(Duration::from_millis(1)),
        until: EPOCH.plus(Duration::from_millis(4)),
        step: Duration::from_millis(3),
    };
    for schema in [None, Some(schema_id(1))] {
        let statistics = gather(&*scene.store, period, schema).await.unwrap();
        assert_eq!(statistics.buckets[0].started, 2, "{schema:?}");
    }
}

async fn a_look_ends_at_its_limit(scene: Scene) {
    for n in 1..=5 {
        scene.create(n).await;
    }
    let look = |along, tenant: Option<&str>| Look {
        filter: ExecutionFilter {
            statuses: vec![Status::Queued],
            schema_id: Some(schema_id(1)),
            tenant: tenant.map(str::to_owned),
            ..Default::default()
        },
        along,
    };
    let by_status = || Along::Statuses(vec![Status::Queued]);
    let looks = vec![
        look(by_status(), None),
        look(Along::Schema, None),
        look(Along::Newest, Some("nobody")),
        Look {
            filter: ExecutionFilter {
                statuses: vec![Status::Queued],
                ..Default::default()
            },
            along: by_status(),
        },
    ];
    for (limit, expected) in [(3, 3), (50, 5)] {
        let tallies = scene.store.tally(looks.clone(), GroupBy::Status, limit);
        let tallies = tallies.await.unwrap();
        let found = tallies
            .iter()
            .map(|tally| tally.groups.values().sum::<u64>());
        let found: Vec<u64> = found.collect();
        assert_eq!(found, [expected, expected, 0, expected]);
        assert!(
            tallies.iter().all(|tally| tally.looked_at == expected),
            "{tallies:?}"
        );
    }
}

async fn errors_by_code_schema_and_node(scene: Scene) {
    for n in 1..=5 {
        scene.create(n).await;
    }
    for (n, status) in [
        (1, Status::Failed),
        (2, Status::FailedStuck),
        (3, Status::Failed),
        (4, Status::Completed),
    ] {
        scene.finish(execution_id(n), status, at(9)).await;
    }
    let mut retry = new_execution(6);
    retry.execution.record.retry_of = Some(execution_id(1));
    scene.create_as(retry).await;
    let view = scene.view(execution_id(3)).await;
    let error: serde_json::Value =
        serde_json::from_str(view.execution.record.error.as_deref().unwrap()).unwrap();
    let found = errors_by(&*scene.store, &ExecutionFilter::default())
        .await
        .unwrap();
    let expected = ErrorGroup {
        code: error["code"].as_str().unwrap().to_owned(),
        schema_id: schema_id(1),
        node_id: view.state.position.node_id.to_string(),
        count: 3,
        unresolved: 2,
        last: execution_id(3),
    };
    assert_eq!(found.groups, [expected]);
    assert_eq!((found.total, found.is_capped), (3, false));
    let none = ExecutionFilter {
        error_code: Some("OTHER".into()),
        ..Default::default()
    };
    assert_eq!(errors_by(&*scene.store, &none).await.unwrap().groups, []);
}

async fn statistics_by_time(scene: Scene) {
    scene.store.save_schema(schema(2)).await.unwrap();
    for n in 1..=6 {
        let mut new = new_execution(n);
        // The id of a fixture says as many milliseconds as its number.
        new.execution.head.created_at = EPOCH.plus(Duration::from_millis(n));
        if n == 5 {
            new.execution.head.schema_id = schema_id(2);
        }
        scene.create_as(new).await;
    }
    scene
        .finish(execution_id(1), Status::Completed, at(9))
        .await;
    scene.finish(execution_id(2), Status::Failed, at(9)).await;
    let period = StatisticsPeriod {
        since: EPOCH.plus(Duration::from_millis(1)),
        until: EPOCH.plus(Duration::from_millis(6)),
        step: Duration::from_millis(2),
    };
    let statistics = gather(&*scene.store, period, None).await.unwrap();
    let started: Vec<u64> = statistics.buckets.iter().map(|one| one.started).collect();
    assert_eq!(started, [2, 2, 1]);
    assert_eq!(statistics.looked_at, 5);
    assert_eq!(statistics.sampled(), 1.0);
    let first = &statistics.buckets[0];
    let ended: Vec<u64> = first.ended.iter().map(|(_, count)| *count).collect();
    assert_eq!((ended, first.open), (vec![1, 1, 0, 0], 0));
    assert_eq!(first.p95, Some(at(9).since(period.since)));
    assert_eq!(statistics.buckets[1].open, 2);
    let one = gather(&*scene.store, period, Some(schema_id(2)))
        .await
        .unwrap();
    let started: Vec<u64> = one.buckets.iter().map(|one| one.started).collect();
    assert_eq!(started, [0, 0, 1]);
    let (from, to) = (ids_at(period.since).0, ids_at(period.until).0);
    let cut = scene.store.samples(vec![(to, from), (from, to)], None, 2);
    let cut = cut.await.unwrap();
    let ids = |at: usize| -> Vec<_> { cut[at].iter().map(|one| one.id).collect() };
    assert_eq!(
        (ids(0), ids(1)),
        (vec![], [1, 2].map(execution_id).to_vec())
    );
}

async fn the_newest_of_each_schema(scene: Scene) {
    scene.store.save_schema(schema(2)).await.unwrap();
    for n in 1..=4 {
        let mut new = new_execution(n);
        if n == 2 {
            new.execution.head.schema_id = schema_id(2);
        }
        scene.create_as(new).await;
    }
    let schemas = [2, 404, 1].map(schema_id).to_vec();
    let found = scene.store.newest_of(schemas, 2).await.unwrap();
    let ids: Vec<Vec<_>> = found
        .iter()
        .map(|list| list.iter().map(|one| one.id).collect())
        .collect();
    let expected = [vec![2], vec![], vec![4, 3]];
    assert_eq!(
        ids,
        expected.map(|list| list.into_iter().map(execution_id).collect::<Vec<_>>())
    );
}
