//! Creating executions.

use futures_util::future::join;
use pawl_kernel::execution::{DebugMode, Edit, PriorityClass, Status, Wait, WaitKind};
use pawl_kernel::lifecycle::{Command, CommitRefusal};
use pawl_kernel::ports::store::{
    CommitError, CreateOutcome, ExecutionView, NewExecution, StoreError, lease,
};
use pawl_kernel::transition::Snapshot;
use serde_json::Map;

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, commit, execution_id, new_execution, pass, sleep, uuid};

pub(super) const CASES: &[StoreCase] = cases!["create":
    comes_back_as_it_went_in,
    same_key_gives_the_first_execution,
    different_keys_give_different_executions,
    executions_without_key_never_collide,
    same_key_is_found_after_the_end,
    an_unknown_execution_is_none,
    a_fork_starts_from_its_snapshot,
    an_edit_is_a_step_from_the_beginning,
    a_retry_is_named_in_its_origin,
    a_second_retry_is_refused_unless_asked_for,
    a_retry_under_its_key_is_the_same_one,
    of_retries_at_the_same_moment_one_is_made,
    a_start_in_the_future_has_its_timer,
    a_commit_may_be_sent_behind_the_create,
    a_first_commit_that_waits_has_its_timer,
    a_first_commit_may_end_it,
    a_first_commit_keeps_the_lease_for_the_next,
    a_commit_that_is_refused_leaves_the_create,
];

async fn comes_back_as_it_went_in(scene: Scene) {
    let mut new = new_execution(1);
    let execution = &mut new.execution;
    execution.record.tenant = Some("acme".into());
    execution.record.labels = Some(r#"{"team":"a"}"#.into());
    execution.head.priority = PriorityClass::High;
    execution.head.debug_mode = true;
    execution.record.idempotency_key = Some("key-1".into());
    execution.record.parent_id = Some(execution_id(50));
    execution.record.parent_seq = Some(3);
    execution.record.child_index = Some(7);
    execution.record.retry_of = Some(execution_id(51));
    execution.record.forked_from = Some(execution_id(52));
    new.state.debug = DebugMode::Until(vec!["node_3".into()]);
    new.state.calls_spent = 4;
    new.state.bytes_spent = 5;
    new.state.position.attempt = 2;
    new.state.position.attempts = Some("[]".into());
    new.state.position.effect_key = Some("k".into());
    new.state.position.not_before = Some(at(3));
    new.state.position.last_error = Some(r#"{"code":"X"}"#.into());
    let id = scene.create_as(new.clone()).await;
    let view = scene.view(id).await;
    assert_eq!(view.execution, new.execution);
    assert_eq!(view.state, new.state);
    assert_eq!(view.schema_name, "flow-1");
}

/// Created with the lease of the worker that will run it.
fn leased(n: u64) -> NewExecution {
    let mut new = new_execution(n);
    new.execution.head.status = Status::Running;
    new.execution.head.started_at = Some(at(1));
    new.state.lease = Some(lease("w1", uuid(77), at(30)));
    new.state.recoveries = 1;
    new
}

async fn a_commit_may_be_sent_behind_the_create(scene: Scene) {
    let (one, mut other) = (leased(1), leased(1));
    other.execution.head.id = execution_id(2);
    other.state.execution_id = execution_id(2);
    let first = |new: &NewExecution| commit(&new.state, at(2)).steps(2).log("hello").build();
    let at_once = scene.create_and_commit(&one, first(&one)).await;
    scene.create_as(other.clone()).await;
    let apart = scene.commit(first(&other)).await;
    assert_eq!(at_once, apart);
    let (born, made) = (
        scene.view(one.execution.head.id).await,
        scene.view(other.execution.head.id).await,
    );
    let like = |mut view: ExecutionView| {
        view.execution.head.id = one.execution.head.id;
        view.state.execution_id = one.execution.head.id;
        view.state.commit_id = None;
        view
    };
    assert_eq!(like(born.clone()).execution, like(made.clone()).execution);
    assert_eq!(like(born).state, like(made).state);
    for id in [one.execution.head.id, other.execution.head.id] {
        assert_eq!(scene.store.steps(id, 0, 9).await.unwrap().len(), 2);
        assert_eq!(scene.store.logs(id, 0, 9).await.unwrap().len(), 1);
    }
}

async fn a_first_commit_that_waits_has_its_timer(scene: Scene) {
    let new = leased(1);
    let first = commit(&new.state, at(2)).steps(1).wait(sleep(5, at(60)));
    let applied = scene.create_and_commit(&new, first.build()).await;
    assert_eq!((applied.wake_at, applied.lease_kept), (Some(at(60)), false));
    assert_eq!(
        scene.execution(new.execution.head.id).await.head.status,
        Status::Sleeping
    );
    assert!(scene.has_timer(new.execution.head.id, 5).await);
}

async fn a_first_commit_may_end_it(scene: Scene) {
    let new = leased(1);
    let first = commit(&new.state, at(2)).steps(3).end(Status::Completed);
    let applied = scene.create_and_commit(&new, first.build()).await;
    assert_eq!((applied.ended, applied.seq), (Some(Status::Completed), 3));
    let view = scene.view(new.execution.head.id).await;
    assert_eq!(view.execution.head.status, Status::Completed);
    assert_eq!(view.execution.head.finished_at, Some(at(2)));
    assert_eq!(view.execution.head.started_at, Some(at(1)));
    assert!(view.state.lease.is_none());
}

async fn a_first_commit_keeps_the_lease_for_the_next(scene: Scene) {
    let new = leased(1);
    let first = commit(&new.state, at(2)).steps(1).keep(at(40)).build();
    assert!(scene.create_and_commit(&new, first).await.lease_kept);
    let state = scene.view(new.execution.head.id).await.state;
    let last = commit(&state, at(3)).steps(1).end(Status::Failed).build();
    assert_eq!(scene.commit(last).await.seq, 2);
    let first = commit(&new.state, at(4)).build();
    let again = join(scene.store.create(new), scene.store.commit(first)).await;
    assert!(
        matches!(
            again,
            (
                Err(StoreError::Rejected(_)),
                Err(CommitError::Refused(CommitRefusal::Fenced))
            )
        ),
        "{again:?}"
    );
}

async fn a_commit_that_is_refused_leaves_the_create(scene: Scene) {
    let new = leased(1);
    let mut first = commit(&new.state, at(2)).steps(1).build();
    first.lease_token = uuid(78);
    let (created, committed) =
        join(scene.store.create(new.clone()), scene.store.commit(first)).await;
    assert_eq!(created.unwrap(), CreateOutcome::New);
    assert!(
        matches!(committed, Err(CommitError::Refused(CommitRefusal::Fenced))),
        "{committed:?}"
    );
    let view = scene.view(new.execution.head.id).await;
    assert_eq!((view.execution, view.state), (new.execution, new.state));
}

async fn same_key_gives_the_first_execution(scene: Scene) {
    let mut first = new_execution(1);
    first.execution.record.idempotency_key = Some("order-1".into());
    let id = scene.create_as(first).await;
    let mut second = new_execution(2);
    second.execution.record.idempotency_key = Some("order-1".into());
    let answer = scene.store.create(second).await.unwrap();
    assert_eq!(answer, CreateOutcome::Existing(id));
    let second = scene.store.execution(execution_id(2)).await.unwrap();
    assert!(second.is_none(), "nothing else was made");
}

async fn different_keys_give_different_executions(scene: Scene) {
    for n in 1..=3 {
        let mut new = new_execution(n);
        new.execution.record.idempotency_key = Some(format!("order-{n}"));
        scene.create_as(new).await;
    }
    let count = scene.store.count_executions(Default::default()).await;
    assert_eq!(count.unwrap(), 3);
}

async fn executions_without_key_never_collide(scene: Scene) {
    scene.create(1).await;
    scene.create(2).await;
}

async fn same_key_is_found_after_the_end(scene: Scene) {
    let mut first = new_execution(1);
    first.execution.record.idempotency_key = Some("order-1".into());
    let id = scene.create_as(first).await;
    scene.finish(id, Status::Completed, at(2)).await;
    let mut second = new_execution(2);
    second.execution.record.idempotency_key = Some("order-1".into());
    let answer = scene.store.create(second).await.unwrap();
    assert_eq!(answer, CreateOutcome::Existing(id));
}

async fn an_unknown_execution_is_none(scene: Scene) {
    let id = execution_id(404);
    assert!(scene.store.execution(id).await.unwrap().is_none());
    assert!(scene.store.probe(id).await.unwrap().is_none());
    assert!(scene.steps(id).await.is_empty());
    let history = scene.store.history(id, 9).await.unwrap();
    assert!(history.snapshot.is_none() && history.steps.is_empty());
    let (inbox, signals) = scene.store.open_signals(id).await.unwrap();
    assert!(inbox == 0 && signals.is_empty());
}

async fn a_fork_starts_from_its_snapshot(scene: Scene) {
    let mut new = new_execution(1);
    new.execution.head.base_seq = 5;
    new.state.seq = 5;
    let snapshot = Snapshot {
        seq: 5,
        context: r#"{"variables":{"a":1}}"#.into(),
    };
    new.snapshot = Some(snapshot.clone());
    let id = scene.create_as(new).await;
    scene.advance(id, 2, at(1)).await;
    let history = scene.store.history(id, 7).await.unwrap();
    assert_eq!(history.snapshot, Some(snapshot));
    let seqs: Vec<u64> = history.steps.iter().map(|step| step.seq).collect();
    assert_eq!(seqs, [6, 7]);
}

async fn an_edit_is_a_step_from_the_beginning(scene: Scene) {
    let mut new = new_execution(1);
    new.execution.head.base_seq = 5;
    new.state.seq = 6;
    new.snapshot = Some(Snapshot {
        seq: 5,
        context: "{}".into(),
    });
    let edit = Edit {
        variables: Map::from_iter([("a".to_owned(), 1.into())]),
        input: Some(2.into()),
    };
    let step = edit.step(6, &new.state.position, at(1));
    new.edit = Some(step.clone());
    let id = scene.create_as(new).await;
    assert_eq!(scene.store.steps(id, 0, 9).await.unwrap(), [(step, 1)]);
    assert_eq!(scene.status(id).await, Status::Queued);
    scene.command(id, Command::Pause, at(2)).await;
    let resumed = scene.command(id, Command::Resume, at(3)).await;
    assert_eq!(resumed.status, Status::Queued, "no node has run yet");
    scene.advance(id, 2, at(4)).await;
    let history = scene.store.history(id, 8).await.unwrap();
    let seqs: Vec<u64> = history.steps.iter().map(|step| step.seq).collect();
    assert_eq!(seqs, [6, 7, 8]);
}

fn retry_of(origin: u64, n: u64) -> NewExecution {
    let mut new = new_execution(n);
    new.execution.record.retry_of = Some(execution_id(origin));
    new
}

async fn failed(scene: &Scene, n: u64) -> ExecutionView {
    let id = scene.create(n).await;
    scene.finish(id, Status::Failed, at(2)).await;
    scene.view(id).await
}

async fn a_retry_is_named_in_its_origin(scene: Scene) {
    let before = failed(&scene, 1).await;
    let retry = scene.create_as(retry_of(1, 2)).await;
    let after = scene.view(execution_id(1)).await;
    assert_eq!(after.execution.record.retried_as, Some(retry));
    let mut but_for_that = after;
    but_for_that.execution.record.retried_as = None;
    assert_eq!(but_for_that, before);
    assert_eq!(
        scene.execution(retry).await.record.retry_of,
        Some(execution_id(1))
    );
}

async fn a_second_retry_is_refused_unless_asked_for(scene: Scene) {
    failed(&scene, 1).await;
    let first = scene.create_as(retry_of(1, 2)).await;
    let refused = scene.store.create(retry_of(1, 3)).await.unwrap();
    assert_eq!(refused, CreateOutcome::AlreadyRetried(first));
    let nothing = scene.store.execution(execution_id(3)).await.unwrap();
    assert!(nothing.is_none());
    assert_eq!(
        scene.execution(execution_id(1)).await.record.retried_as,
        Some(first)
    );
    let mut again = retry_of(1, 3);
    again.again = true;
    let second = scene.create_as(again).await;
    assert_eq!(
        scene.execution(execution_id(1)).await.record.retried_as,
        Some(second)
    );
    let of_nothing = scene.create_as(retry_of(404, 4)).await;
    assert_eq!(
        scene.execution(of_nothing).await.record.retry_of,
        Some(execution_id(404))
    );
}

async fn a_retry_under_its_key_is_the_same_one(scene: Scene) {
    failed(&scene, 1).await;
    let keyed = |n, key: &str| {
        let mut new = retry_of(1, n);
        new.execution.record.idempotency_key = Some(key.into());
        new
    };
    let first = scene.create_as(keyed(2, "once")).await;
    let same = scene.store.create(keyed(3, "once")).await.unwrap();
    assert_eq!(same, CreateOutcome::Existing(first));
    let other = scene.store.create(keyed(3, "twice")).await.unwrap();
    assert_eq!(other, CreateOutcome::AlreadyRetried(first));
}

async fn of_retries_at_the_same_moment_one_is_made(scene: Scene) {
    failed(&scene, 1).await;
    let tries = (2..10).map(|n| scene.store.create(retry_of(1, n)));
    let answers = futures_util::future::join_all(tries).await;
    let answers: Vec<CreateOutcome> = answers.into_iter().map(Result::unwrap).collect();
    let made = answers
        .iter()
        .filter(|answer| **answer == CreateOutcome::New);
    assert_eq!(made.count(), 1, "{answers:?}");
    let named = scene
        .execution(execution_id(1))
        .await
        .record
        .retried_as
        .unwrap();
    let refused = CreateOutcome::AlreadyRetried(named);
    assert_eq!(
        answers.iter().filter(|answer| **answer == refused).count(),
        7
    );
    assert_eq!(
        scene.execution(named).await.record.retry_of,
        Some(execution_id(1))
    );
}

async fn a_start_in_the_future_has_its_timer(scene: Scene) {
    let mut new = new_execution(1);
    new.execution.head.status = Status::Pending;
    new.state.wait = Some(Wait {
        kind: WaitKind::Start,
        id: uuid(1),
        wake_at: Some(at(60)),
        name: None,
    });
    let id = scene.create_as(new).await;
    assert!(scene.has_timer(id, 1).await);
    let shards = scene.lock_all(9, at(1)).await;
    let due = scene.due(9, &shards, at(61)).await;
    let dispatches = scene.store.fire(pass(uuid(9)), due, at(60)).await.unwrap();
    assert_eq!(dispatches.len(), 1);
    assert_eq!(scene.status(id).await, Status::Queued);
}
