//! Pause, resume, stop and the debugger.

use serde_json::json;

use pawl_kernel::execution::{DebugMode, EDIT_NODE, Hold, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{Command, ContinueMode, Refusal};

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, commit, edit, execution_id, go_on, new_execution};

pub(super) const CASES: &[StoreCase] = cases!["command":
    an_unknown_execution_is_refused,
    pause_and_resume,
    pause_twice_is_so_already,
    resume_without_pause_is_refused,
    pause_of_a_sleeper_keeps_its_wait,
    pause_after_the_end_is_refused,
    stop_of_an_idle_execution_ends_it,
    stop_twice_is_so_already,
    stop_after_another_end_is_refused,
    stop_of_a_sleeper_ends_it,
    debug_stops_after_every_step,
    continue_twice_does_one_step,
    continue_at_another_seq_is_refused,
    continue_without_debugger_is_refused,
    continue_to_a_node_stops_there,
    continue_until_several_nodes_stops_at_the_first,
    continue_and_run_stops_no_more,
    debug_lets_a_worker_end_its_node,
    debug_stands_still_at_once_where_nothing_is_under_way,
    debug_lets_a_wait_end,
    debug_of_a_paused_one_keeps_its_time,
    debug_before_the_first_node_is_as_if_started_so,
    an_edit_is_a_step,
    resume_in_debug_mode_returns_to_the_debugger,
];

async fn an_unknown_execution_is_refused(scene: Scene) {
    let id = execution_id(404);
    for command in [Command::Pause, Command::Resume, Command::Stop] {
        let refusal = scene.command_refused(id, command, at(1)).await;
        assert_eq!(refusal, Refusal::NotFound);
    }
}

async fn pause_and_resume(scene: Scene) {
    let id = scene.create(1).await;
    let version = scene.state(id).await.version;
    let paused = scene.command(id, Command::Pause, at(1)).await;
    assert_eq!((paused.status, paused.leased), (Status::Paused, false));
    let applied = paused.applied.unwrap();
    assert_eq!(
        (applied.hold, applied.version),
        (Some(Hold::Pause), version + 1)
    );
    assert_eq!(scene.status(id).await, Status::Paused);
    let resumed = scene.command(id, Command::Resume, at(2)).await;
    assert_eq!(resumed.status, Status::Queued);
    assert_eq!(resumed.dispatch.unwrap().execution_id, id);
    let state = scene.state(id).await;
    assert_eq!((state.hold, state.updated_at), (None, at(2)));
}

async fn pause_twice_is_so_already(scene: Scene) {
    let id = scene.create(1).await;
    scene.command(id, Command::Pause, at(1)).await;
    let before = scene.view(id).await;
    let again = scene.command(id, Command::Pause, at(2)).await;
    assert!(again.applied.is_none());
    assert_eq!(again.status, Status::Paused);
    assert_eq!(scene.view(id).await, before);
}

async fn resume_without_pause_is_refused(scene: Scene) {
    let id = scene.create(1).await;
    let refusal = scene.command_refused(id, Command::Resume, at(1)).await;
    assert_eq!(refusal, Refusal::NotPaused(Status::Queued));
}

async fn pause_of_a_sleeper_keeps_its_wait(scene: Scene) {
    let id = scene.create(1).await;
    scene.sleep(id, 1, at(100), at(1)).await;
    scene.command(id, Command::Pause, at(2)).await;
    assert_eq!(scene.status(id).await, Status::Paused);
    let resumed = scene.command(id, Command::Resume, at(3)).await;
    assert_eq!(resumed.status, Status::Sleeping);
    assert!(resumed.dispatch.is_none());
    assert!(scene.has_timer(id, 1).await);
}

async fn pause_after_the_end_is_refused(scene: Scene) {
    let id = scene.create(1).await;
    scene.finish(id, Status::Completed, at(1)).await;
    let before = scene.view(id).await;
    for command in [Command::Pause, Command::Resume] {
        let refusal = scene.command_refused(id, command, at(2)).await;
        assert_eq!(refusal, Refusal::Ended(Status::Completed));
    }
    assert_eq!(scene.view(id).await, before);
}

async fn stop_of_an_idle_execution_ends_it(scene: Scene) {
    let id = scene.create(1).await;
    let stopped = scene.command(id, Command::Stop, at(3)).await;
    assert_eq!((stopped.status, stopped.leased), (Status::Stopped, false));
    assert_eq!(stopped.applied.unwrap().ended, Some(Status::Stopped));
    let execution = scene.execution(id).await;
    assert_eq!(execution.head.finished_at, Some(at(3)));
    assert!(execution.record.error.unwrap().contains("CANCELLED"));
}

async fn stop_twice_is_so_already(scene: Scene) {
    let id = scene.create(1).await;
    scene.command(id, Command::Stop, at(3)).await;
    let before = scene.view(id).await;
    let again = scene.command(id, Command::Stop, at(4)).await;
    assert!(again.applied.is_none());
    assert_eq!(again.status, Status::Stopped);
    assert_eq!(scene.view(id).await, before);
}

async fn stop_after_another_end_is_refused(scene: Scene) {
    let id = scene.create(1).await;
    scene.finish(id, Status::Failed, at(1)).await;
    let refusal = scene.command_refused(id, Command::Stop, at(2)).await;
    assert_eq!(refusal, Refusal::Ended(Status::Failed));
}

async fn stop_of_a_sleeper_ends_it(scene: Scene) {
    let id = scene.create(1).await;
    scene.sleep(id, 1, at(100), at(1)).await;
    let stopped = scene.command(id, Command::Stop, at(2)).await;
    assert_eq!(stopped.status, Status::Stopped);
    assert!(scene.state(id).await.wait.is_none());
}

async fn debug_stops_after_every_step(scene: Scene) {
    let id = in_debugger(&scene).await;
    assert_eq!(scene.status(id).await, Status::WaitingDebug);
    let state = scene.state(id).await;
    assert_eq!((state.hold, state.lease), (Some(Hold::Debug), None));
    let refusal = scene.command_refused(id, Command::Resume, at(3)).await;
    assert_eq!(refusal, Refusal::InDebugger);
}

async fn continue_twice_does_one_step(scene: Scene) {
    let id = in_debugger(&scene).await;
    let go = go_on(ContinueMode::Step, Some(1));
    let first = scene.command(id, go.clone(), at(3)).await;
    assert!(first.dispatch.is_some());
    let refusal = scene.command_refused(id, go, at(3)).await;
    assert_eq!(refusal, Refusal::NotInDebugger(Status::Running));
    scene.advance(id, 1, at(4)).await;
    assert_eq!(scene.status(id).await, Status::WaitingDebug);
    assert_eq!(scene.state(id).await.seq, 2);
}

async fn continue_at_another_seq_is_refused(scene: Scene) {
    let id = in_debugger(&scene).await;
    let stale = go_on(ContinueMode::Step, Some(0));
    let refusal = scene.command_refused(id, stale, at(3)).await;
    assert_eq!(refusal, Refusal::OtherSeq { at: 1, expected: 0 });
}

async fn continue_without_debugger_is_refused(scene: Scene) {
    let id = scene.create(1).await;
    let go = go_on(ContinueMode::Run, None);
    let refusal = scene.command_refused(id, go, at(1)).await;
    assert_eq!(refusal, Refusal::NotInDebugger(Status::Queued));
}

async fn continue_to_a_node_stops_there(scene: Scene) {
    let id = in_debugger(&scene).await;
    let go = go_on(ContinueMode::Until(vec!["node_4".into()]), None);
    scene.command(id, go, at(3)).await;
    let until = DebugMode::Until(vec!["node_4".into()]);
    assert_eq!(scene.state(id).await.debug, until);
    let on_the_way = scene.advance(id, 1, at(4)).await;
    assert!(on_the_way.dispatch && on_the_way.hold.is_none());
    let there = scene.advance(id, 1, at(5)).await;
    assert_eq!(there.hold, Some(Hold::Debug));
    assert_eq!(scene.state(id).await.debug, DebugMode::Step);
}

async fn continue_until_several_nodes_stops_at_the_first(scene: Scene) {
    let id = in_debugger(&scene).await;
    let nodes = vec!["node_9".to_owned(), "a \"node\"".into(), "node_4".into()];
    let go = go_on(ContinueMode::Until(nodes.clone()), None);
    scene.command(id, go, at(3)).await;
    assert_eq!(scene.state(id).await.debug, DebugMode::Until(nodes));
    assert!(scene.advance(id, 1, at(4)).await.hold.is_none());
    let there = scene.advance(id, 1, at(5)).await;
    assert_eq!(there.hold, Some(Hold::Debug));
}

async fn debug_lets_a_worker_end_its_node(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let asked = scene.command(id, Command::Debug, at(2)).await;
    assert!(asked.applied.is_some() && asked.leased && asked.dispatch.is_none());
    assert_eq!(scene.state(id).await.hold, None);
    let again = scene.command(id, Command::Debug, at(3)).await;
    assert!(again.applied.is_none());
    let report = scene.commit(commit(&claimed.state, at(4)).steps(1).keep(at(50)).build());
    assert_eq!(report.await.hold, Some(Hold::Debug));
    assert_eq!(scene.status(id).await, Status::WaitingDebug);
    let step = scene.command(id, go_on(ContinueMode::Step, Some(1)), at(5));
    assert!(step.await.dispatch.is_some());
}

async fn debug_stands_still_at_once_where_nothing_is_under_way(scene: Scene) {
    let id = scene.create(1).await;
    scene.advance(id, 1, at(2)).await;
    let asked = scene.command(id, Command::Debug, at(3)).await;
    assert_eq!(asked.status, Status::WaitingDebug);
    let state = scene.state(id).await;
    assert_eq!(
        (state.hold, state.debug),
        (Some(Hold::Debug), DebugMode::Step)
    );
}

async fn debug_lets_a_wait_end(scene: Scene) {
    let id = scene.create(1).await;
    scene.advance(id, 1, at(2)).await;
    let claimed = scene.claim(id, 11, at(3)).await;
    let wait = crate::fixture::event(7, "go", None);
    // The step before it and the wait come in one commit of a worker that was asked meanwhile.
    scene.command(id, Command::Debug, at(4)).await;
    let asleep = commit(&claimed.state, at(5)).steps(1).wait(wait);
    scene.commit(asleep.build()).await;
    assert_eq!(scene.status(id).await, Status::Waiting);
    assert_eq!(scene.state(id).await.hold, None);
    let woken = scene.signal(id, "s1", "go").await;
    assert!(woken.dispatch.is_some());
    let after = scene.advance(id, 1, at(9)).await;
    assert_eq!(after.hold, Some(Hold::Debug));
}

async fn debug_of_a_paused_one_keeps_its_time(scene: Scene) {
    let id = scene.create(1).await;
    scene.advance(id, 1, at(2)).await;
    let entered = scene.state(id).await.position.entered_at;
    scene.command(id, Command::Pause, at(3)).await;
    let asked = scene.command(id, Command::Debug, at(4)).await;
    assert_eq!(asked.status, Status::WaitingDebug);
    scene
        .command(id, go_on(ContinueMode::Step, None), at(60))
        .await;
    assert_eq!(scene.state(id).await.position.entered_at, entered);

    let sleeper = scene.create(2).await;
    scene.advance(sleeper, 1, at(2)).await;
    scene.sleep(sleeper, 5, at(90), at(3)).await;
    scene.command(sleeper, Command::Pause, at(4)).await;
    let asked = scene.command(sleeper, Command::Debug, at(5)).await;
    assert_eq!(asked.status, Status::Paused);
    assert_eq!(scene.state(sleeper).await.debug, DebugMode::Step);
}

async fn debug_before_the_first_node_is_as_if_started_so(scene: Scene) {
    let id = scene.create(1).await;
    let asked = scene.command(id, Command::Debug, at(1)).await;
    assert_eq!(asked.status, Status::Queued);
    assert_eq!(scene.state(id).await.hold, None);
    assert_eq!(scene.advance(id, 1, at(2)).await.hold, Some(Hold::Debug));
    scene.command(id, Command::Stop, at(3)).await;
    let refusal = scene.command_refused(id, Command::Debug, at(4)).await;
    assert_eq!(refusal, Refusal::Ended(Status::Stopped));
}

async fn continue_and_run_stops_no_more(scene: Scene) {
    let id = in_debugger(&scene).await;
    scene
        .command(id, go_on(ContinueMode::Run, None), at(3))
        .await;
    assert_eq!(scene.state(id).await.debug, DebugMode::Off);
    let applied = scene.advance(id, 2, at(4)).await;
    assert!(applied.hold.is_none() && applied.dispatch);
}

async fn an_edit_is_a_step(scene: Scene) {
    let id = in_debugger(&scene).await;
    let applied = scene.command(id, edit("limit", json!(5)), at(3)).await;
    let dispatch = applied.dispatch.unwrap();
    assert_eq!(dispatch.seq, 2);
    let (step, version) = scene.steps(id).await.pop().unwrap();
    assert_eq!((step.seq, &*step.node_id), (2, EDIT_NODE));
    assert_eq!(step.changes.as_deref(), Some(r#"{"limit":5}"#));
    assert_eq!(version, applied.applied.unwrap().version);
    let state = scene.state(id).await;
    assert_eq!((state.seq, &*state.position.node_id), (2, "node_2"));
}

async fn resume_in_debug_mode_returns_to_the_debugger(scene: Scene) {
    let id = in_debugger(&scene).await;
    scene.command(id, Command::Pause, at(3)).await;
    assert_eq!(scene.status(id).await, Status::Paused);
    let resumed = scene.command(id, Command::Resume, at(4)).await;
    assert_eq!(resumed.status, Status::WaitingDebug);
    assert!(resumed.dispatch.is_none());
}

/// An execution in debug mode that has done its first step.
pub(super) async fn in_debugger(scene: &Scene) -> ExecutionId {
    let mut new = new_execution(1);
    new.execution.head.debug_mode = true;
    new.state.debug = DebugMode::Step;
    let id = scene.create_as(new).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let step = commit(&claimed.state, at(1)).steps(1).keep(at(50));
    scene.commit(step.build()).await;
    id
}
