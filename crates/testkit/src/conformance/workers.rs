//! What workers say of themselves.

use pawl_kernel::ports::workers::WorkerRecord;

use super::{Scene, StoreCase, cases};
use crate::fixture::at;

pub(super) const CASES: &[StoreCase] = cases!["workers":
    a_report_comes_back_as_it_went_in,
    a_later_report_takes_the_place_of_the_first,
    the_silent_are_left_out_and_then_forgotten,
    one_that_leaves_is_gone,
];

fn report(name: &str, seconds: i64) -> WorkerRecord {
    WorkerRecord {
        id: name.to_owned(),
        roles: vec!["engine".into(), "timers".into()],
        node_types: vec!["start".into(), "x'\"\\,{}".into()],
        slots: 16,
        busy: 3,
        doing: vec!["019".into()],
        version: "0.1.0".into(),
        started_at: at(0),
        heartbeat_at: at(seconds),
    }
}

async fn a_report_comes_back_as_it_went_in(scene: Scene) {
    let mut empty = report("b", 2);
    empty.roles.clear();
    empty.doing.clear();
    for one in [report("c/7", 3), empty.clone()] {
        scene.store.report_worker(one, at(0)).await.unwrap();
    }
    let known = scene.store.workers(at(0)).await.unwrap();
    assert_eq!(known, [empty, report("c/7", 3)]);
}

async fn a_later_report_takes_the_place_of_the_first(scene: Scene) {
    scene
        .store
        .report_worker(report("a", 1), at(0))
        .await
        .unwrap();
    let mut later = report("a", 11);
    (later.busy, later.slots) = (0, 32);
    scene
        .store
        .report_worker(later.clone(), at(0))
        .await
        .unwrap();
    assert_eq!(scene.store.workers(at(0)).await.unwrap(), [later]);
}

async fn the_silent_are_left_out_and_then_forgotten(scene: Scene) {
    scene
        .store
        .report_worker(report("a", 1), at(0))
        .await
        .unwrap();
    scene
        .store
        .report_worker(report("b", 50), at(0))
        .await
        .unwrap();
    assert_eq!(
        scene.store.workers(at(50)).await.unwrap(),
        [report("b", 50)]
    );
    assert_eq!(scene.store.workers(at(0)).await.unwrap().len(), 2);
    scene
        .store
        .report_worker(report("b", 90), at(60))
        .await
        .unwrap();
    assert_eq!(scene.store.workers(at(0)).await.unwrap(), [report("b", 90)]);
}

async fn one_that_leaves_is_gone(scene: Scene) {
    scene
        .store
        .report_worker(report("a", 1), at(0))
        .await
        .unwrap();
    scene.store.remove_worker("b").await.unwrap();
    scene.store.remove_worker("a").await.unwrap();
    assert!(scene.store.workers(at(0)).await.unwrap().is_empty());
}
