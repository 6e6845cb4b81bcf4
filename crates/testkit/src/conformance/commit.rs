//! The holder's commit, and what a holder may do besides.

use uuid::Uuid;

use pawl_kernel::execution::{Control, Hold, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{Command, CommitRefusal, Release};
use pawl_kernel::ports::store::ExecutionFilter;

use super::{Scene, StoreCase, cases};
use crate::fixture::{LEASE, at, commit, event, execution_id, pass, sleep, uuid};

pub(super) const CASES: &[StoreCase] = cases!["commit":
    adds_steps_and_moves_on,
    keeps_the_lease_when_told,
    a_commit_resets_recoveries_and_interruption,
    without_steps_it_moves_the_position,
    the_last_error_lasts_until_the_next_step,
    the_last_error_lasts_over_a_wait,
    fenced_by_token,
    fenced_by_seq,
    fenced_after_the_end,
    fenced_after_the_lease_was_let_go,
    fenced_for_an_unknown_execution,
    a_refused_commit_writes_nothing,
    an_expired_lease_that_nobody_took_still_commits,
    ends_with_output,
    ends_with_error,
    an_unseen_signal_refuses_a_wait,
    a_pause_during_the_run_survives_the_commit,
    a_stop_during_the_run_is_applied,
    a_stop_turns_a_wait_into_the_end,
    wait_and_timer_are_one,
    a_wait_without_wake_up_has_no_timer,
    probe_tells_what_the_commit_answered,
    probe_of_a_running_execution_names_its_holder,
    history_starts_at_the_newest_snapshot_before,
    heartbeat_extends_and_reports,
    heartbeat_ignores_what_is_lost,
    release_undoes_the_claim,
    release_needs_the_token,
    release_finds_the_lease_that_is_held,
    release_of_a_stopped_execution_ends_it,
];

async fn adds_steps_and_moves_on(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let transition = commit(&claimed.state, at(2)).steps(3).with(|t| {
        t.calls_spent = 7;
        t.bytes_spent = 8;
    });
    let transition = transition.build();
    let (commit_id, steps) = (transition.commit_id, transition.steps.clone());
    let applied = scene.commit(transition).await;
    assert_eq!(
        (applied.seq, applied.version),
        (3, claimed.state.version + 1)
    );
    assert!(applied.dispatch && !applied.lease_kept && applied.ended.is_none());
    let state = scene.state(id).await;
    assert_eq!((state.seq, state.commit_id), (3, Some(commit_id)));
    assert_eq!(&*state.position.node_id, "node_4");
    assert_eq!(state.position.prev_node_id.as_deref(), Some("node_3"));
    assert_eq!((state.calls_spent, state.bytes_spent), (7, 8));
    assert_eq!((state.lease, state.updated_at), (None, at(2)));
    let stored = scene.steps(id).await;
    assert!(
        stored
            .iter()
            .all(|(_, version)| *version == applied.version)
    );
    let stored: Vec<_> = stored.into_iter().map(|(step, _)| step).collect();
    assert_eq!(stored, *steps);
}

async fn keeps_the_lease_when_told(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let transition = commit(&claimed.state, at(2)).steps(1).keep(at(90));
    let applied = scene.commit(transition.build()).await;
    assert!(applied.lease_kept && !applied.dispatch);
    let state = scene.state(id).await;
    let lease = state.lease.clone().unwrap();
    assert_eq!((lease.token, lease.until), (uuid(10), at(90)));
    let again = scene.commit(commit(&state, at(3)).steps(1).build()).await;
    assert_eq!(again.seq, 2);
}

async fn a_commit_resets_recoveries_and_interruption(scene: Scene) {
    let id = scene.create(1).await;
    let first = scene.claim(id, 10, at(0)).await;
    let enter = commit(&first.state, at(1)).effect("k").keep(at(20));
    scene.commit(enter.build()).await;
    let second = scene.claim(id, 11, at(50)).await;
    assert!(second.state.interrupted && second.state.recoveries == 1);
    scene
        .commit(commit(&second.state, at(51)).steps(1).build())
        .await;
    let state = scene.state(id).await;
    assert!(!state.interrupted && state.recoveries == 0);
    assert_eq!(state.position.effect_key, None);
}

async fn without_steps_it_moves_the_position(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let transition = commit(&claimed.state, at(2)).effect("key").keep(at(40));
    let applied = scene.commit(transition.build()).await;
    assert_eq!(applied.seq, 0);
    let position = scene.state(id).await.position;
    assert_eq!(position.effect_key.as_deref(), Some("key"));
    assert!(scene.steps(id).await.is_empty());
}

/// The last error as every reader of the state sees it.
async fn last_error(scene: &Scene, id: ExecutionId) -> Option<String> {
    let (store, all) = (&scene.store, ExecutionFilter::default());
    let shown = scene.view(id).await;
    let listed = store.executions(all, None, 10).await.unwrap();
    let open = store.open_executions(None, 10).await.unwrap();
    for list in [listed, open] {
        let found = list
            .iter()
            .find(|view| view.execution.head.id == id)
            .unwrap();
        assert_eq!(found.state, shown.state);
    }
    shown.state.position.last_error
}

async fn the_last_error_lasts_until_the_next_step(scene: Scene) {
    let (first, second) = (r#"{"code":"FIRST"}"#, r#"{"code":"SECOND","n":1.50}"#);
    let [id, other] = [scene.create(1).await, scene.create(2).await];
    let claimed = scene.claim(id, 10, at(1)).await;
    let failed = commit(&claimed.state, at(2)).failed(first).keep(at(20));
    scene.commit(failed.build()).await;
    assert_eq!(last_error(&scene, id).await.as_deref(), Some(first));
    // The commit before the next try of an effect.
    let entered = commit(&scene.state(id).await, at(3)).effect("k");
    scene.commit(entered.keep(at(20)).build()).await;
    assert_eq!(last_error(&scene, id).await.as_deref(), Some(first));
    let again = scene.claim(id, 11, at(50)).await.state;
    assert_eq!(again.position.last_error.as_deref(), Some(first));
    let failed = commit(&again, at(51)).failed(second);
    scene.commit(failed.build()).await;
    assert_eq!(last_error(&scene, id).await.as_deref(), Some(second));
    assert_eq!(scene.state(id).await.position.attempt, 2);
    assert_eq!(last_error(&scene, other).await, None);
    scene.advance(id, 1, at(52)).await;
    assert_eq!(last_error(&scene, id).await, None);
}

async fn the_last_error_lasts_over_a_wait(scene: Scene) {
    let error = r#"{"code":"SHAKY"}"#;
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let failed = commit(&claimed.state, at(2)).failed(error);
    scene.commit(failed.wait(sleep(7, at(9))).build()).await;
    assert_eq!(last_error(&scene, id).await.as_deref(), Some(error));
    scene.command(id, Command::Pause, at(3)).await;
    scene.command(id, Command::Resume, at(4)).await;
    assert_eq!(last_error(&scene, id).await.as_deref(), Some(error));
    let shards = scene.lock_all(20, at(9)).await;
    let due = scene.due(20, &shards, at(10)).await;
    let fired = scene.store.fire(pass(uuid(20)), due, at(10)).await;
    assert_eq!(fired.unwrap().len(), 1);
    assert_eq!(last_error(&scene, id).await.as_deref(), Some(error));
    scene.advance(id, 1, at(11)).await;
    assert_eq!(last_error(&scene, id).await, None);
}

async fn fenced_by_token(scene: Scene) {
    let id = scene.create(1).await;
    let zombie = scene.claim(id, 10, at(0)).await;
    scene.claim(id, 11, at(100)).await;
    let late = commit(&zombie.state, at(101)).steps(1).build();
    assert_eq!(scene.commit_refused(late).await, CommitRefusal::Fenced);
}

async fn fenced_by_seq(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let transition = commit(&claimed.state, at(2)).steps(1).keep(at(50)).build();
    scene.commit(transition.clone()).await;
    assert_eq!(
        scene.commit_refused(transition).await,
        CommitRefusal::Fenced
    );
    assert_eq!(scene.steps(id).await.len(), 1);
}

async fn fenced_after_the_end(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(0)).await;
    scene.command(id, Command::Stop, at(100)).await;
    let late = commit(&claimed.state, at(101)).steps(1).build();
    assert_eq!(scene.commit_refused(late).await, CommitRefusal::Fenced);
    assert_eq!(scene.status(id).await, Status::Stopped);
}

async fn fenced_after_the_lease_was_let_go(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let transition = commit(&claimed.state, at(2)).build();
    scene.commit(transition.clone()).await;
    assert_eq!(
        scene.commit_refused(transition).await,
        CommitRefusal::Fenced
    );
}

async fn fenced_for_an_unknown_execution(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let lost = commit(&claimed.state, at(2)).with(|t| t.execution_id = execution_id(404));
    assert_eq!(
        scene.commit_refused(lost.build()).await,
        CommitRefusal::Fenced
    );
}

async fn a_refused_commit_writes_nothing(scene: Scene) {
    let id = scene.create(1).await;
    let zombie = scene.claim(id, 10, at(0)).await;
    scene.claim(id, 11, at(100)).await;
    let before = scene.view(id).await;
    let late = commit(&zombie.state, at(101)).steps(2).log("late");
    let late = late.snapshot("{}").wait(sleep(1, at(500))).build();
    scene.commit_refused(late).await;
    assert_eq!(scene.view(id).await, before);
    assert!(scene.steps(id).await.is_empty());
    assert!(scene.store.logs(id, 0, 10).await.unwrap().is_empty());
    assert!(scene.store.history(id, 9).await.unwrap().snapshot.is_none());
    assert_eq!(scene.timer_rows().await, 0);
}

async fn an_expired_lease_that_nobody_took_still_commits(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(0)).await;
    let late = commit(&claimed.state, at(LEASE + 50)).steps(1).build();
    assert_eq!(scene.commit(late).await.seq, 1);
}

async fn ends_with_output(scene: Scene) {
    let id = scene.create(1).await;
    let applied = scene.finish(id, Status::Completed, at(4)).await;
    assert_eq!(applied.ended, Some(Status::Completed));
    assert!(!applied.dispatch && !applied.lease_kept);
    let execution = scene.execution(id).await;
    assert_eq!(execution.record.output.as_deref(), Some(r#"{"done":true}"#));
    assert_eq!(
        (execution.record.error, execution.head.finished_at),
        (None, Some(at(4)))
    );
    assert!(scene.state(id).await.lease.is_none());
}

async fn ends_with_error(scene: Scene) {
    let id = scene.create(1).await;
    scene.finish(id, Status::Failed, at(4)).await;
    let execution = scene.execution(id).await;
    assert_eq!(
        (execution.head.status, execution.record.output),
        (Status::Failed, None)
    );
    assert!(execution.record.error.unwrap().contains("BROKEN"));
}

async fn an_unseen_signal_refuses_a_wait(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    scene.signal(id, "s1", "paid").await;
    let wait = commit(&claimed.state, at(6)).wait(event(1, "paid", None));
    let blind = wait.clone().with(|t| t.inbox_seen = Some(0)).build();
    assert_eq!(
        scene.commit_refused(blind).await,
        CommitRefusal::InboxChanged
    );
    let (inbox, open) = scene.store.open_signals(id).await.unwrap();
    assert_eq!((inbox, open.len()), (1, 1));
    scene
        .commit(wait.with(|t| t.inbox_seen = Some(1)).build())
        .await;
}

async fn a_pause_during_the_run_survives_the_commit(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let paused = scene.command(id, Command::Pause, at(2)).await;
    assert!(paused.leased && paused.dispatch.is_none());
    let transition = commit(&claimed.state, at(3)).steps(1).keep(at(50));
    let applied = scene.commit(transition.build()).await;
    assert_eq!(applied.hold, Some(Hold::Pause));
    assert!(!applied.lease_kept && !applied.dispatch);
    assert_eq!(scene.status(id).await, Status::Paused);
}

async fn a_stop_during_the_run_is_applied(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let stop = scene.command(id, Command::Stop, at(2)).await;
    assert!(stop.leased);
    assert_eq!(stop.status, Status::Running);
    let running = scene.state(id).await;
    assert_eq!(running.control, Some(Control::Stop));
    let transition = commit(&claimed.state, at(3)).steps(1).keep(at(50));
    let applied = scene.commit(transition.build()).await;
    assert_eq!(applied.ended, Some(Status::Stopped));
    assert_eq!(scene.steps(id).await.len(), 1, "what was done is recorded");
    let execution = scene.execution(id).await;
    assert_eq!(execution.head.finished_at, Some(at(3)));
    assert!(execution.record.error.unwrap().contains("CANCELLED"));
}

async fn a_stop_turns_a_wait_into_the_end(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    scene.command(id, Command::Stop, at(2)).await;
    let wait = commit(&claimed.state, at(3)).wait(sleep(1, at(90)));
    let applied = scene.commit(wait.build()).await;
    assert_eq!(
        (applied.ended, applied.wake_at),
        (Some(Status::Stopped), None)
    );
    assert_eq!(scene.timer_rows().await, 0);
}

async fn wait_and_timer_are_one(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let wait = sleep(1, at(90));
    let transition = commit(&claimed.state, at(2)).wait(wait.clone()).build();
    let applied = scene.commit(transition).await;
    assert_eq!(applied.wake_at, Some(at(90)));
    assert!(!applied.lease_kept && !applied.dispatch);
    assert_eq!(scene.state(id).await.wait, Some(wait));
    assert_eq!(scene.status(id).await, Status::Sleeping);
    assert!(scene.has_timer(id, 1).await);
    assert!(!scene.has_timer(id, 2).await);
}

async fn a_wait_without_wake_up_has_no_timer(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let wait = commit(&claimed.state, at(2)).wait(event(1, "paid", None));
    let applied = scene.commit(wait.build()).await;
    assert_eq!(applied.wake_at, None);
    assert_eq!(scene.status(id).await, Status::Waiting);
    assert_eq!(scene.timer_rows().await, 0);
}

async fn probe_tells_what_the_commit_answered(scene: Scene) {
    for n in 1..=4 {
        let id = scene.create(n).await;
        let claimed = scene.claim(id, 10, at(1)).await;
        let base = commit(&claimed.state, at(2)).steps(2);
        let transition = match n {
            1 => base,
            2 => base.keep(at(60)),
            3 => base.wait(sleep(70 + n, at(60))),
            _ => base.end(Status::Completed),
        };
        let transition = transition.build();
        let commit_id = transition.commit_id;
        let applied = scene.commit(transition).await;
        let probe = scene.store.probe(id).await.unwrap().unwrap();
        assert_eq!((probe.seq, probe.commit_id), (2, Some(commit_id)));
        assert_eq!(probe.applied, applied);
    }
}

async fn probe_of_a_running_execution_names_its_holder(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(1)).await;
    let probe = scene.store.probe(id).await.unwrap().unwrap();
    assert_eq!((probe.seq, probe.commit_id), (0, None));
    assert_eq!(probe.lease_token, Some(uuid(10)));
    assert!(probe.applied.lease_kept && !probe.applied.dispatch);
}

async fn history_starts_at_the_newest_snapshot_before(scene: Scene) {
    let id = scene.create(1).await;
    for (n, context) in [(1, "[2]"), (2, "[4]"), (3, "[6]")] {
        let claimed = scene.claim(id, 10 + n, at(n as i64)).await;
        let base = commit(&claimed.state, at(n as i64)).steps(2);
        scene.commit(base.snapshot(context).build()).await;
    }
    for (seq, context, steps) in [
        (1, None, vec![1]),
        (2, Some("[2]"), vec![]),
        (5, Some("[4]"), vec![5]),
        (6, Some("[6]"), vec![]),
        (99, Some("[6]"), vec![]),
    ] {
        let history = scene.store.history(id, seq).await.unwrap();
        let found = history.snapshot.as_ref().map(|s| s.context.as_str());
        assert_eq!(found, context, "at {seq}");
        let seqs: Vec<u64> = history.steps.iter().map(|step| step.seq).collect();
        assert_eq!(seqs, steps, "at {seq}");
    }
}

async fn heartbeat_extends_and_reports(scene: Scene) {
    let [quiet, paused, stopped] = [1, 2, 3].map(execution_id);
    for n in 1..=3 {
        let id = scene.create(n).await;
        scene.claim(id, 10 + n, at(4)).await;
    }
    scene.command(paused, Command::Pause, at(5)).await;
    scene.command(stopped, Command::Stop, at(5)).await;
    let version = scene.state(quiet).await.version;
    let leases = vec![(quiet, uuid(11)), (paused, uuid(12)), (stopped, uuid(13))];
    let mut beats = scene.store.heartbeat(leases, at(77)).await.unwrap();
    beats.sort_by_key(|beat| beat.execution_id);
    let told: Vec<_> = beats
        .iter()
        .map(|beat| (beat.execution_id, beat.until, beat.stop_requested))
        .collect();
    let expected = [
        (quiet, at(77), false),
        (paused, at(77), false),
        (stopped, at(77), true),
    ];
    assert_eq!(told, expected);
    let state = scene.state(quiet).await;
    assert_eq!(state.lease.unwrap().until, at(77));
    assert_eq!(state.version, version, "a heartbeat is no news");
}

async fn heartbeat_ignores_what_is_lost(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(0)).await;
    scene.claim(id, 11, at(100)).await;
    let leases = vec![(id, uuid(10)), (execution_id(404), uuid(10))];
    let beats = scene.store.heartbeat(leases, at(500)).await.unwrap();
    assert!(beats.is_empty());
    assert_eq!(scene.state(id).await.lease.unwrap().until, at(100 + LEASE));
}

async fn release_undoes_the_claim(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(1)).await;
    let leases = vec![(id, uuid(10))];
    let dispatches = scene
        .store
        .release(leases, Release::Unbegun, at(2))
        .await
        .unwrap();
    assert_eq!(dispatches.len(), 1);
    assert_eq!((dispatches[0].execution_id, dispatches[0].seq), (id, 0));
    let view = scene.view(id).await;
    assert_eq!(view.execution.head.status, Status::Queued);
    assert_eq!((view.state.lease, view.state.recoveries), (None, 0));
}

async fn release_needs_the_token(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(1)).await;
    for wrong in [
        (id, uuid(11)),
        (id, Uuid::nil()),
        (execution_id(404), uuid(10)),
    ] {
        let dispatches = scene
            .store
            .release(vec![wrong], Release::Unbegun, at(2))
            .await
            .unwrap();
        assert!(dispatches.is_empty());
    }
    assert!(scene.state(id).await.lease.is_some());
}

/// A worker that lost an execution and got it again gives both leases back.
async fn release_finds_the_lease_that_is_held(scene: Scene) {
    for (n, tokens) in [(1, [10, 11]), (2, [11, 10])] {
        let id = scene.create(n).await;
        scene.claim(id, 10, at(1)).await;
        let leases = tokens.map(|token| (id, uuid(token))).to_vec();
        let released = scene.store.release(leases, Release::Unbegun, at(2)).await;
        assert_eq!(released.unwrap().len(), 1, "{tokens:?}");
        assert_eq!(scene.state(id).await.lease, None);
    }
}

async fn release_of_a_stopped_execution_ends_it(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(1)).await;
    scene.command(id, Command::Stop, at(2)).await;
    let leases = vec![(id, uuid(10))];
    let dispatches = scene
        .store
        .release(leases, Release::Unbegun, at(3))
        .await
        .unwrap();
    assert!(dispatches.is_empty());
    assert_eq!(scene.status(id).await, Status::Stopped);
}
