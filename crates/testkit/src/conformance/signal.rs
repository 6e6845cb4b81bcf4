//! Signals: kept in order, counted once, never lost between a look and a wait.

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{Command, Refusal};

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, commit, event, signal};

pub(super) const CASES: &[StoreCase] = cases!["signal":
    before_the_wait_it_is_kept,
    during_the_wait_it_wakes,
    another_name_does_not_wake,
    while_paused_it_ends_the_wait_and_no_more,
    an_id_counts_once,
    one_id_may_serve_two_executions,
    they_keep_their_order,
    taken_by_a_step_it_is_no_longer_open,
    after_the_end_it_is_refused,
    while_running_it_needs_no_message,
];

async fn before_the_wait_it_is_kept(scene: Scene) {
    let id = scene.create(1).await;
    let applied = scene.signal(id, "s1", "paid").await;
    assert!(
        applied.dispatch.is_none(),
        "its message is under way already"
    );
    assert_eq!(applied.status, Status::Queued);
    assert_eq!(scene.state(id).await.inbox, 1);
    let (inbox, open) = scene.store.open_signals(id).await.unwrap();
    assert_eq!((inbox, open), (1, vec![signal("s1", "paid", at(5))]));
}

async fn during_the_wait_it_wakes(scene: Scene) {
    let id = waiting(&scene).await;
    assert_eq!(scene.status(id).await, Status::Waiting);
    let applied = scene.signal(id, "s1", "paid").await;
    assert_eq!(applied.dispatch.unwrap().execution_id, id);
    assert!(!applied.leased);
    assert!(scene.state(id).await.wait.is_none());
    scene.claim(id, 11, at(6)).await;
}

async fn another_name_does_not_wake(scene: Scene) {
    let id = waiting(&scene).await;
    let applied = scene.signal(id, "s1", "shipped").await;
    assert!(applied.dispatch.is_none());
    let state = scene.state(id).await;
    assert!(state.wait.is_some() && state.inbox == 1);
    assert_eq!(scene.status(id).await, Status::Waiting);
}

async fn while_paused_it_ends_the_wait_and_no_more(scene: Scene) {
    let id = waiting(&scene).await;
    scene.command(id, Command::Pause, at(4)).await;
    let applied = scene.signal(id, "s1", "paid").await;
    assert!(applied.dispatch.is_none());
    assert!(scene.state(id).await.wait.is_none());
    assert_eq!(scene.status(id).await, Status::Paused);
}

async fn an_id_counts_once(scene: Scene) {
    let id = scene.create(1).await;
    let first = scene.signal(id, "s1", "paid").await;
    assert!(first.applied.is_some());
    let before = scene.state(id).await;
    let second = scene.signal(id, "s1", "paid").await;
    assert!(second.applied.is_none() && second.dispatch.is_none());
    assert_eq!(scene.state(id).await, before);
    assert_eq!(scene.store.signals(id).await.unwrap().len(), 1);
}

async fn one_id_may_serve_two_executions(scene: Scene) {
    let (one, two) = (scene.create(1).await, scene.create(2).await);
    scene.signal(one, "s1", "paid").await;
    let other = scene.signal(two, "s1", "paid").await;
    assert!(other.applied.is_some());
}

async fn they_keep_their_order(scene: Scene) {
    let id = scene.create(1).await;
    // Ids that sort the other way round, all at one moment.
    for (signal_id, name) in [("c", "paid"), ("b", "shipped"), ("a", "paid")] {
        scene.signal(id, signal_id, name).await;
    }
    let (inbox, open) = scene.store.open_signals(id).await.unwrap();
    let ids: Vec<&str> = open.iter().map(|signal| signal.id.as_str()).collect();
    assert_eq!((inbox, ids), (3, vec!["c", "b", "a"]));
    assert_eq!(scene.store.signals(id).await.unwrap(), open);
}

async fn taken_by_a_step_it_is_no_longer_open(scene: Scene) {
    let id = scene.create(1).await;
    scene.signal(id, "s1", "paid").await;
    scene.signal(id, "s2", "paid").await;
    let claimed = scene.claim(id, 10, at(6)).await;
    let transition = commit(&claimed.state, at(7)).steps(1).take("s1");
    scene
        .commit(transition.with(|t| t.inbox_seen = Some(2)).build())
        .await;
    let (inbox, open) = scene.store.open_signals(id).await.unwrap();
    assert_eq!((inbox, open.len(), open[0].id.as_str()), (2, 1, "s2"));
    let all = scene.store.signals(id).await.unwrap();
    let consumed: Vec<_> = all.iter().map(|signal| signal.consumed_seq).collect();
    assert_eq!(consumed, [Some(1), None]);
    let again = scene.signal(id, "s1", "paid").await;
    assert!(again.applied.is_none(), "taken is still known");
}

async fn after_the_end_it_is_refused(scene: Scene) {
    let id = scene.create(1).await;
    scene.finish(id, Status::Completed, at(1)).await;
    let late = Command::Signal(signal("s1", "paid", at(5)));
    let refusal = scene.command_refused(id, late, at(5)).await;
    assert_eq!(refusal, Refusal::Ended(Status::Completed));
    assert!(scene.store.signals(id).await.unwrap().is_empty());
}

async fn while_running_it_needs_no_message(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(4)).await;
    let applied = scene.signal(id, "s1", "paid").await;
    assert!(applied.leased && applied.dispatch.is_none());
    let state = scene.state(id).await;
    assert_eq!(state.inbox, 1);
    assert!(state.lease.is_some());
}

async fn waiting(scene: &Scene) -> ExecutionId {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(2)).await;
    let wait = commit(&claimed.state, at(3)).wait(event(1, "paid", Some(at(500))));
    scene.commit(wait.build()).await;
    id
}
